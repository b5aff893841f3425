"""T-REx in its three forms: documents in a zip, LAMA's lines, and bare tables."""

import json
import os
import zipfile
from pathlib import Path

import pytest

from almanac.errors import AlmanacError
from almanac.rows import Entity, Evidence, Fact, Omission, Popularity, Relation, Template
from almanac.sources import source_tables, trex
from almanac.sources.options import TrexOptions
from almanac.tables import read

ENTITY, DIRECT, XSD = (
    "http://www.wikidata.org/entity/",
    "http://www.wikidata.org/prop/direct/",
    "http://www.w3.org/2001/XMLSchema#",
)


def mention(uri: str, surface: str | None, annotator="Wikidata_Spotlight_Entity_Linker") -> dict:
    return {"uri": uri, "surfaceform": surface, "boundaries": [0, 3] if surface else None, "annotator": annotator}


def triple(subject, predicate, found, sentence=0, /, **more) -> dict:
    names = {"Q1": "Douglas Adams", "Q2": "Cambridge", "Q3": "UK"}
    item = mention(ENTITY + found, names[found]) if found in names else mention(found, found[:4], "Date_Linker")
    out = {"subject": mention(ENTITY + subject, names[subject]), "predicate": mention(DIRECT + predicate, None)}
    return out | {"object": item, "sentence_id": sentence, "dependency_path": None, "confidence": None} | more


TEXT = "Adams was born in Cambridge.  He lived\nin the UK. Born 1952."
DOCUMENT = {
    "docid": "http://www.wikidata.org/entity/Q1",
    "title": "Douglas Adams",
    "uri": "http://www.wikidata.org/entity/Q1",
    "text": TEXT,
    "words_boundaries": [[0, 5]],
    "sentences_boundaries": [[0, 28], [30, 49], [50, 60]],
    "entities": [],
    "triples": [
        triple("Q1", "P19", "Q2"),
        triple("Q1", "P19", "Q2", subject=mention(ENTITY + "Q1", "Adams")),
        triple("Q1", "P27", "Q3", 1, subject=mention(ENTITY + "Q1", "He", "Simple_Coreference")),
        triple("Q1", "P27", "Q3", 9),
        triple("Q1", "P569", f"1952-03-11T00:00:00Z^^{XSD}dateTime", 2),
        triple("Q1", "P570", f"2001-01-01T00:00:00Z^^{XSD}dateTime", 2),
        triple("Q1", "P2048", f"+1.96^^{XSD}decimal", 2),
        triple("Q1", "P31", "nonsense", 2),
        triple("Q1", "P1", "Q2", predicate=mention("http://www.w3.org/2000/01/rdf-schema#label", None)),
    ],
}
OTHER = DOCUMENT | {"uri": ENTITY + "Q9", "title": "NA", "triples": [triple("Q2", "P17", "Q3", 1)]}


def zipped(folder: Path, files: dict[str, object], name="TREx.zip") -> Path:
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content if isinstance(content, str) else json.dumps(content))
    return folder


def tables(folder: Path, tmp_path: Path, **options):
    source_tables.write(tmp_path / "out", trex.read(TrexOptions(**options), folder))
    return {name: read(tmp_path / "out" / f"{name}.parquet", row) for name, row in source_tables.ROWS.items()}


def test_what_is_called_by_nothing_that_one_sees_has_no_name(tmp_path):
    unseen = triple("Q1", "P19", "Q2", object=mention(ENTITY + "Q2", "\u200b \u200b"))
    month = triple("Q1", "P569", f"1990-05-00T00:00:00Z^^{XSD}dateTime", 2)
    found = tables(zipped(tmp_path / "raw", {"a.json": [DOCUMENT | {"triples": [unseen, month]}]}), tmp_path)
    assert [row.entity_id for row in found["entities"]] == ["Q1"]
    assert [(row.value, row.precision) for row in found["facts"]] == [("1990-05", "month")]


def test_documents_become_facts_with_their_sentences(tmp_path):
    raw = zipped(tmp_path / "raw", {"re-nlg_0-10000.json": [DOCUMENT], "re-nlg_10000-20000.json": [OTHER, DOCUMENT]})
    found = tables(raw, tmp_path)
    facts = {row.fact_id: row for row in found["facts"]}
    assert set(facts) == {
        "P19|Q1|Q2",
        "P27|Q1|Q3",
        "P17|Q2|Q3",
        "P569|Q1|1952-03-11",
        "P570|Q1|2001",
        "P2048|Q1|1.96",
    }
    born = facts["P569|Q1|1952-03-11"]
    assert born == Fact(born.fact_id, "P569", "Q1", None, "1952-03-11", "date", "day", (), None, "trex")
    assert facts["P570|Q1|2001"].precision == "year"
    assert (facts["P2048|Q1|1.96"].datatype, facts["P19|Q1|Q2"].object_id) == ("quantity", "Q2")
    assert {(row.fact_id, row.text) for row in found["evidence"]} == {
        ("P19|Q1|Q2", "Adams was born in Cambridge."),
        ("P27|Q1|Q3", "He lived in the UK."),
        ("P17|Q2|Q3", "He lived in the UK."),
        *((name, "Born 1952.") for name in ("P569|Q1|1952-03-11", "P570|Q1|2001", "P2048|Q1|1.96")),
    }
    entities = {row.entity_id: row for row in found["entities"]}
    assert entities["Q1"] == Entity("Q1", "Douglas Adams", ("Adams",), None), "a pronoun is no name"
    assert (entities["Q2"].label, entities["Q9"].label) == ("Cambridge", "NA")
    assert {row.entity_id: row.score for row in found["popularity"]} == {"Q1": 14, "Q2": 5, "Q3": 5}
    assert all(isinstance(row, Popularity) and row.bucket is None for row in found["popularity"])
    assert {row.relation_id for row in found["relations"]} == {"P19", "P27", "P17", "P569", "P570", "P2048"}
    reasons = {(row.table, row.reason): row.count for row in found["omissions"]}
    assert reasons == {
        ("evidence", "sentence lies outside its document"): 2,
        ("facts", "object is none of Wikidata's"): 2,
        ("facts", "predicate is none of Wikidata's"): 2,
    }


def test_what_has_no_name_but_pronouns_is_left_out_with_its_facts(tmp_path):
    him, nothing = mention(ENTITY + "Q8", "him", "Simple_Coreference"), mention(ENTITY + "Q7", " ")
    triples = [triple("Q1", "P19", "Q2"), triple("Q1", "P19", "Q2", subject=him)]
    triples += [triple("Q1", "P19", "Q2", object=nothing), triple("Q2", "P17", "Q3", object=him)]
    found = tables(zipped(tmp_path / "raw", {"a.json": [DOCUMENT | {"triples": triples}]}), tmp_path)
    assert [row.fact_id for row in found["facts"]] == ["P19|Q1|Q2"]
    assert [row.fact_id for row in found["evidence"]] == ["P19|Q1|Q2"]
    assert (
        {row.entity_id for row in found["entities"]} == {row.entity_id for row in found["popularity"]} == {"Q1", "Q2"}
    )
    [left_out] = found["omissions"]
    assert (left_out.table, left_out.reason, left_out.count) == ("facts", "subject or object has no name", 3)


def test_dates_can_be_written_as_the_texts_write_them(tmp_path):
    """The day is told apart by its number, whatever the wording, and the most frequent wording is shown."""
    day = f"1968-10-24T00:00:00Z^^{XSD}dateTime"
    said = ["24 October 1968", "October 24, 1968", "24 October 1968"]
    triples = [triple("Q1", "P569", day, object=mention(day, text, "Date_Linker")) for text in said]
    triples.append(triple("Q2", "P569", f"1968-01-01T00:00:00Z^^{XSD}dateTime", object=mention("x", "1968")))
    triples[-1]["object"]["uri"] = f"1968-01-01T00:00:00Z^^{XSD}dateTime"
    triples.append(triple("Q1", "P2048", f"+1.96^^{XSD}decimal"))
    raw = zipped(tmp_path / "raw", {"a.json": [DOCUMENT | {"triples": triples}]})
    found = tables(raw, tmp_path, dates="text")
    assert {(row.fact_id, row.object_id, row.value) for row in found["facts"]} == {
        ("P569|Q1|1968-10-24", "1968-10-24", None),
        ("P569|Q2|1968", "1968", None),
        ("P2048|Q1|1.96", None, "1.96"),
    }
    dates = {row.entity_id: row for row in found["entities"] if row.type == "date"}
    assert dates["1968-10-24"] == Entity("1968-10-24", "24 October 1968", ("1968-10-24", "October 24, 1968"), "date")
    assert dates["1968"] == Entity("1968", "1968", (), "date")
    assert {row.entity_id for row in found["popularity"]} == {"Q1", "Q2"}
    assert {row.fact_id for row in tables(raw, tmp_path / "iso")["facts"]} == {row.fact_id for row in found["facts"]}


@pytest.mark.parametrize("dates", ["iso", "text"])
def test_dates_before_christ_are_years_counted_as_people_count_them(tmp_path, dates):
    """0 is 1 BC in RDF, and a day before Christ has no form here."""
    days = {"Q1": "-0044-03-15", "Q2": "-0043-01-01", "Q3": "0000-05-01"}
    uris = {subject: f"{day}T00:00:00Z^^{XSD}dateTime" for subject, day in days.items()}
    triples = [triple(one, "P570", "", object=mention(uri, "long ago")) for one, uri in uris.items()]
    raw = zipped(tmp_path / "raw", {"a.json": [DOCUMENT | {"triples": triples}]})
    found = tables(raw, tmp_path, dates=dates)
    assert {row.fact_id: row.precision for row in found["facts"]} == dict.fromkeys(
        ("P570|Q1|45 BC", "P570|Q2|44 BC", "P570|Q3|1 BC"), "year" if dates == "iso" else None
    )
    things = {row.entity_id: (row.label, row.aliases) for row in found["entities"] if row.type == "date"}
    assert things == ({} if dates == "iso" else {f"{at} BC": ("long ago", (f"{at} BC",)) for at in (1, 44, 45)})


def test_a_number_that_is_written_like_a_date_which_is_a_thing_is_left_out_and_counted(tmp_path):
    """Of one id there is one thing: a dataset could not be built of both."""
    born = triple("Q2", "P569", "", object=mention(f"1968-01-01T00:00:00Z^^{XSD}dateTime", "1968"))
    people = [triple("Q1", "P1082", f"{count}^^{XSD}integer") for count in (1968, 1969)]
    raw = zipped(tmp_path / "raw", {"a.json": [DOCUMENT | {"triples": [born, *people]}]})
    found = tables(raw, tmp_path, dates="text")
    assert {row.fact_id for row in found["facts"]} == {"P569|Q2|1968", "P1082|Q1|1969"}
    assert {row.fact_id for row in found["evidence"]} == {"P569|Q2|1968", "P1082|Q1|1969"}
    [omitted] = [row for row in found["omissions"] if row.reason == "number is written like a date"]
    assert omitted.count == 1
    assert len(tables(raw, tmp_path / "iso")["facts"]) == 3


@pytest.mark.parametrize(
    ("literal", "kind"),
    [("13798000000-01-01T00:00:00Z", "date"), ("1990-02-30T00:00:00Z", "date"), ("INF", "quantity")],
)
def test_a_literal_that_no_dataset_can_compare_is_left_out_and_counted(tmp_path, literal, kind):
    form = "dateTime" if kind == "date" else "double"
    own = [triple("Q1", "P569", f"{literal}^^{XSD}{form}"), triple("Q1", "P19", "Q2")]
    found = tables(zipped(tmp_path / "raw", {"a.json": [DOCUMENT | {"triples": own}]}), tmp_path)
    assert [row.fact_id for row in found["facts"]] == ["P19|Q1|Q2"]
    assert [row.reason for row in found["omissions"]] == [f"object is no {kind} that can be compared"]


def test_two_spellings_of_one_value_are_one_fact(tmp_path):
    spelt = {"P569": ["1903-00-00T00:00:00Z", "1903-01-01T00:00:00Z"], "P570": ["0987-05-04T00:00:00Z"] * 2}
    own = [triple("Q1", name, f"{text}^^{XSD}dateTime") for name, texts in spelt.items() for text in texts]
    own += [triple("Q1", "P2048", f"{text}^^{XSD}decimal") for text in ("4", "+4.0", "4.00")]
    found = tables(zipped(tmp_path / "raw", {"a.json": [DOCUMENT | {"triples": own}]}), tmp_path)
    assert {row.fact_id: row.precision for row in found["facts"]} == {
        "P569|Q1|1903": "year",
        "P570|Q1|987-05-04": "day",
        "P2048|Q1|4": None,
    }
    assert {row.fact_id for row in found["evidence"]} == {row.fact_id for row in found["facts"]}


def test_relations_bear_their_properties_names(tmp_path):
    raw = zipped(tmp_path / "raw", {"a.json": [DOCUMENT]})
    labels = {row.relation_id: row.label for row in tables(raw, tmp_path)["relations"]}
    assert (labels["P19"], labels["P569"], labels["P2048"]) == ("place of birth", "date of birth", "P2048")


def test_relations_and_the_number_of_sentences_can_be_chosen(tmp_path):
    many = [DOCUMENT | {"text": f"{number} " + TEXT} for number in range(9)]
    raw = zipped(tmp_path / "raw", {"a.json": many})
    found = tables(raw, tmp_path, relations=["P19"], evidence=2)
    assert [row.fact_id for row in found["facts"]] == ["P19|Q1|Q2"]
    again = tables(zipped(tmp_path / "turned", {"b.json": many[::-1]}), tmp_path / "turned", evidence=2)
    both = {row.text for row in found["evidence"]}
    assert len(both) == 2
    assert both == {row.text for row in again["evidence"] if row.fact_id == "P19|Q1|Q2"}, "order does not matter"
    assert tables(raw, tmp_path / "none", evidence=0)["evidence"] == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"docid": 1}', "a.json is not what is expected (Expected `array`, got `object`)"),
        ('[{"triples": [{}]}]', "Object missing required field `subject`"),
        ("[", "Input data was truncated"),
    ],
)
def test_a_member_that_is_not_t_rex_is_named(tmp_path, content, message):
    with pytest.raises(AlmanacError) as error:
        tables(zipped(tmp_path / "raw", {"a.json": content}), tmp_path)
    assert "TREx.zip: " in str(error.value)
    assert message in str(error.value)


def test_a_cut_or_missing_archive_is_named(tmp_path):
    raw = zipped(tmp_path / "raw", {"a.json": [DOCUMENT]})
    (raw / "TREx.zip").write_bytes((raw / "TREx.zip").read_bytes()[:-30])
    with pytest.raises(AlmanacError, match=r"TREx\.zip: cannot be read"):
        tables(raw, tmp_path)
    (raw / "TREx.zip").unlink()
    with pytest.raises(AlmanacError, match="there is no such file"):
        tables(raw, tmp_path)


def test_a_member_larger_than_any_is_not_decoded(tmp_path, monkeypatch):
    monkeypatch.setattr("almanac.sources.reading.LARGEST_MEMBER", 1000)
    with pytest.raises(AlmanacError, match="has more than 1000 bytes"):
        tables(zipped(tmp_path / "raw", {"a.json": [DOCUMENT]}), tmp_path)


LAMA = {
    "data/relations.jsonl": json.dumps(
        {"relation": "P19", "template": "[X] was born in [Y] .", "label": "place of birth", "type": "N-1"}
    )
    + "\n"
    + json.dumps({"relation": "P36", "template": "The capital of [X] is [Y] .", "label": "capital", "type": "1-1"}),
    "data/TREx/P19.jsonl": "\n".join(
        json.dumps(
            {
                "uuid": str(number),
                "sub_uri": f"Q{number}",
                "sub_label": label,
                "obj_uri": "Q90",
                "obj_label": "Paris",
                "predicate_id": "P19",
                "evidences": [
                    {"sub_surface": "x", "obj_surface": "Paree", "masked_sentence": f"{label} came from [MASK]."}
                ],
            }
        )
        for number, label in ((7, "NA"), (8, '"Quote'), (9, ""))
    ),
}


def test_lamas_lines_become_facts_with_its_templates(tmp_path):
    found = tables(zipped(tmp_path / "raw", LAMA, "data.zip"), tmp_path, form="lama")
    assert [row.fact_id for row in found["facts"]] == ["P19|Q7|Q90", "P19|Q8|Q90"]
    assert {row.entity_id: row.label for row in found["entities"]} == {"Q7": "NA", "Q8": '"Quote', "Q90": "Paris"}
    assert found["relations"] == [Relation("P19", "place of birth", "P19", "N-1", None, None)]
    text = "[X] was born in [Y] ."
    assert found["templates"] == [Template("P19/source/0", "P19", text, "statement", "written", None, ())]
    assert found["evidence"][0] == Evidence("P19|Q7|Q90", "NA came from Paree.")
    assert found["omissions"] == [
        Omission("facts", "subject has no label", 1, "Q9"),
        Omission("templates", "relation has no facts", 1, "P36/source/0"),
    ]


def test_relations_of_bare_tables_bear_their_properties_names_unless_the_tables_name_them(tmp_path):
    relations = ("P19", "P27", "P9999")
    files = {
        "facts.csv": "relation_id,subject_id,object_id\n" + "".join(f"{name},Q1,Q2\n" for name in relations),
        "entities.csv": "entity_id,label\nQ1,Adams\nQ2,Cambridge\n",
        "relations.csv": "relation_id,label\nP27,citizen of\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    found = tables(tmp_path, tmp_path, form="tables")
    assert [(row.relation_id, row.label, row.property) for row in found["relations"]] == [
        ("P19", "place of birth", "P19"),
        ("P27", "citizen of", None),
        ("P9999", "P9999", None),
    ]


def test_bare_tables_of_t_rex(tmp_path):
    folder = os.environ.get("ALMANAC_TREX")
    if folder is None:
        pytest.skip("set ALMANAC_TREX to a folder of T-REx facts")
    found = tables(Path(folder), tmp_path, form="tables")
    assert len(found["facts"]) > 30_000
    assert len(found["relations"]) == 41
