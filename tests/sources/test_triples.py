"""One file of subject, relation and object says what a folder of the same facts says; mistakes have its own lines."""

import csv
import gzip
import io
import json
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from almanac.cli import main
from almanac.errors import AlmanacError
from almanac.sources.files import FactTables, check_folder, read_columns, read_folder
from almanac.verbs.pull import copy_tables

Triple = tuple[str, str, str]
TRIPLES = [(f"City {at}", "lies in", f"Land {at % 9}") for at in range(30)]
TRIPLES += [(f"Land {at}", "borders", f"Land {(at + 1) % 9}") for at in range(9)]
SMALL = ["--min-facts", "30", "--min-objects", "9", "--train", "5", "--test", "10", "--choices", "4"]


def as_csv(triples: list[Triple], separator: str = ",", header: Triple = ("subject", "relation", "object")) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=separator, lineterminator="\n").writerows([header, *triples])
    return text.getvalue().encode()


def as_excel(triples: list[Triple]) -> bytes:
    """What Excel saves as CSV UTF-8 in much of Europe: a mark at the start, semicolons, empty rows, a column more."""
    rows = [f"{subject} ;{relation};{thing};" for subject, relation, thing in triples]
    lines = ["Subject; Relation;OBJECT;Remark, if any", "", *rows, ";;;", ";;;"]
    return ("\ufeff" + "\r\n".join(lines) + "\r\n").encode()


def as_jsonl(triples: list[Triple]) -> bytes:
    rows = (dict(zip(("Subject", "relation", "object"), triple, strict=True)) for triple in triples)
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def as_parquet(triples: list[Triple]) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(
        pa.table(dict(zip(("subject", "relation", "object"), zip(*triples, strict=True), strict=True))), sink
    )
    return sink.getvalue().to_pybytes()


FORMS = {
    "facts.csv": as_csv(TRIPLES),
    "export.csv": as_excel(TRIPLES),
    "Export.CSV": as_csv(TRIPLES, ";", ("SUBJECT", " Relation ", "Object")),
    "facts.tsv": as_csv(TRIPLES, "\t"),
    "facts.txt": as_csv(TRIPLES, "\t"),
    "facts.csv.gz": gzip.compress(as_csv(TRIPLES)),
    "facts.jsonl": as_jsonl(TRIPLES),
    "facts.parquet": as_parquet(TRIPLES),
}


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def as_folder(folder: Path) -> Path:
    """Write the same facts as a person would who makes the tables by hand."""
    names = sorted({name for subject, _, thing in TRIPLES for name in (subject, thing)})
    folder.mkdir()
    written(folder, "entities.csv", "entity_id,label\n" + "".join(f"{name},{name}\n" for name in names))
    facts = "".join(f"{relation.replace(' ', '_')},{subject},{thing}\n" for subject, relation, thing in TRIPLES)
    written(folder, "facts.csv", "relation_id,subject_id,object_id\n" + facts)
    written(folder, "relations.csv", "relation_id,label\nlies_in,lies in\nborders,borders\n")
    return folder


def dataset(folder: Path, facts: Path) -> dict[str, bytes]:
    """Build a dataset as the workflow does: of the copy that a pull makes."""
    assert main(["pull", "files", "--from", str(facts), "--output", str(folder / "pulled")]) == 0
    words = ["build", "dataset", "--facts", str(folder / "pulled"), "--output", str(folder / "built"), "--name", "s"]
    assert main([*words, *SMALL]) == 0
    return {path.name: path.read_bytes() for path in sorted((folder / "built").iterdir())}


def refusal(path: Path) -> str:
    with pytest.raises(AlmanacError) as error:
        read_folder(path, "mine")
    return str(error.value)


def mistakes(path: Path) -> list[str]:
    return [line.removeprefix(f"{path}: ") for line in refusal(path).splitlines()[:-1]]


def test_a_folder_and_one_file_of_the_same_facts_build_the_same_dataset(tmp_path):
    built = {}
    for name in ("by hand", "facts.csv", "export.csv"):
        work = tmp_path / f"work of {name}"
        work.mkdir()
        facts = as_folder(tmp_path / name) if name == "by hand" else written(tmp_path, name, FORMS[name])
        built[name] = dataset(work, facts)
    assert len(built["by hand"]) > 3
    assert built["facts.csv"] == built["export.csv"] == built["by hand"]


@pytest.mark.parametrize("name", FORMS)
def test_however_the_file_is_written_it_says_what_the_folder_says(tmp_path, name):
    path = written(tmp_path, name, FORMS[name])
    check_folder(path)
    assert read_folder(path, "s") == read_folder(as_folder(tmp_path / "folder"), "s")


def test_names_are_labels_and_ids_and_a_relation_is_its_words(tmp_path):
    rows = ["Peru,Capital city,Lima", '"Korea, South",capital  city,Seoul', "Lima,located in,Peru", "Peru,size,007"]
    found = read_columns(written(tmp_path, "a.csv", "\n".join(["subject,relation,object", *rows])), "s")
    assert found.facts["fact_id"].to_list() == [
        "capital_city|Korea, South|Seoul",
        "capital_city|Peru|Lima",
        "located_in|Lima|Peru",
        "size|Peru|007",
    ]
    assert found.entities["label"].to_list() == ["007", "Korea, South", "Lima", "Peru", "Seoul"]
    assert [(one.relation_id, one.label) for one in found.relations] == [
        ("capital_city", "capital city"),
        ("located_in", "located in"),
        ("size", "size"),
    ]
    assert found.notes == (
        f"{tmp_path}/a.csv: line 3: relation 'capital  city' is read with single spaces",
        f"{tmp_path}/a.csv: line 2: the relation 'Capital city' is read as 'capital city'",
    )


def test_the_file_may_say_which_facts_are_asked_and_which_are_shown(tmp_path):
    said = ["Peru,capital,Lima,test", "Chile,capital,Santiago,train", "Cuba,capital,Havana,"]
    path = written(tmp_path, "a.csv", "\n".join(["Subject,Relation,Object,Split", *said]))
    splits = {fact.subject_id: fact.split for fact in read_folder(path, "s").facts}
    assert splits == {"Peru": "test", "Chile": "train", "Cuba": None}
    copy_tables(path, tmp_path / "out")
    assert read_folder(tmp_path / "out", "s") == read_folder(path, "s")
    copy_tables(written(tmp_path, "plain.csv", FORMS["facts.csv"]), tmp_path / "plain")
    assert (tmp_path / "plain" / "facts.csv").read_text().startswith("relation_id,subject_id,object_id\n")
    other = written(tmp_path, "b.csv", "subject,relation,object,split\nPeru,capital,Lima,validation\n")
    assert "line 2: split 'validation' is unknown; allowed are train, test or nothing (a column of" in refusal(other)


def test_the_most_frequent_spelling_of_a_relation_is_its_label_in_whatever_order(tmp_path):
    rows = ["Peru,CAPITAL,Lima", "Chile,Capital,Santiago", "Cuba,Capital,Havana", "Iran,capital,Tehran"]
    for at, order in enumerate((rows, rows[::-1])):
        path = written(tmp_path, f"{at}.csv", "\n".join(["subject,relation,object", *order]))
        assert [one.label for one in read_columns(path, "s").relations] == ["Capital"]


def test_what_is_not_read_of_the_file_is_said(tmp_path):
    path = written(tmp_path, "a.csv", FORMS["export.csv"])
    assert read_columns(path, "s").notes == (
        f"{path}: columns not read: 'Remark, if any'; read: subject, relation, object",
        f"{path}: line 42: is an empty row; it is left out (and 1 more rows so)",
    )


def test_a_property_keeps_its_number_and_is_warned_of(tmp_path):
    path = written(tmp_path, "a.csv", "subject,relation,object\nPeru,p36,Lima\nPeru,P47,Chile\n")
    found = read_columns(path, "s")
    assert [(row.relation_id, row.label) for row in found.relations] == [("P36", "P36"), ("P47", "P47")]
    for note, name in zip(found.notes, ("P36", "P47"), strict=True):
        assert note.startswith(f"{path}: relation {name!r} has a name that is not in plain words")


@pytest.mark.parametrize("words", ["राजधानी", "เมืองหลวง", "தலைநகரம்", "mother-in-law", "capital"])
def test_a_word_of_any_script_is_a_label(tmp_path, words):
    path = written(tmp_path, "a.csv", f"subject,relation,object\nPeru,{words},Lima\n")
    assert read_columns(path, "s").notes == ()


def test_spaces_before_a_quotation_mark_are_none_of_the_name(tmp_path):
    path = written(tmp_path, "a.csv", 'subject, relation, object\n"Peru", "capital", "Lima"\nChile, borders, "Peru"\n')
    found = read_columns(path, "s")
    assert found.facts["fact_id"].to_list() == ["borders|Chile|Peru", "capital|Peru|Lima"]
    assert found.entities["label"].to_list() == ["Chile", "Lima", "Peru"]


@pytest.mark.parametrize("name", ["capital_city", "capital/city", "capital?"])
def test_a_relation_that_is_no_words_is_warned_of(tmp_path, name):
    path = written(tmp_path, "a.csv", f"subject,relation,object\nPeru,{name},Lima\nPeru,border,Chile\n")
    says = f"has a name that is not in plain words; suites would ask 'The {name} of …'; write its name in words"
    assert read_columns(path, "s").notes == (f"{path}: relation {name!r} {says}",)


MESSY = """Subject;Relation;Object
Peru;capital;Lima

Chile;capital;
;capital;
Peru ;Capital;Lima
Peru;capital;Lima
A|B;capital;Quito
Ecuador;capital;Quito;Guayaquil
Bolivia;is|was;"Sucre
on two lines"
;border;Peru
"""
WRONG = "a fact needs subject, relation and object: write it, or remove the row"
BAR = "holds '|', which separates the parts of a fact's id; write it in another way"
TWICE = "the fact capital|Peru|Lima is also in line 2; keep one row, or set datasets.NAME.merge: true"


def test_several_objects_in_a_cell_are_no_object(tmp_path):
    path = written(tmp_path, "a.csv", "subject,relation,object\nPeru,language,Spanish|Quechua\nPeru,capital,Lima\n")
    says = "holds '|', which separates the parts of a fact's id; give each object a row of its own"
    assert mistakes(path) == [f"line 2: object 'Spanish|Quechua' {says}"]


def test_all_mistakes_are_named_by_the_lines_of_the_file(tmp_path):
    path = written(tmp_path, "inventory.csv", MESSY)
    assert mistakes(path) == [
        f"line 4: has no object; {WRONG}",
        f"line 5: has no subject and no object; {WRONG}",
        f"line 6: {TWICE}",
        f"line 7: {TWICE}",
        f"line 8: subject 'A|B' {BAR}",
        'line 9: has more or fewer cells than the header; quote a cell that holds a separator ("…")',
        f"line 10: relation 'is|was' {BAR}",
        f"line 12: has no subject; {WRONG}",
    ]
    assert """add ARGS="datasets='{facts: {merge: true}}'"; with `almanac run` --config in""" in refusal(path)
    assert "with `build dataset`, --merge true;" in refusal(path)


def test_a_relation_is_named_and_no_sentence(tmp_path):
    path = written(tmp_path, "a.csv", "subject,relation,object\nPeru,The capital of [X] is [Y].,Lima\n")
    says = "is a sentence; name the relation here (capital), and write sentences into the `templates` of a folder"
    assert mistakes(path) == [f"line 2: relation 'The capital of [X] is [Y].' {says}"]


def test_an_object_of_json_lines_is_one_name(tmp_path):
    path = written(tmp_path, "a.jsonl", '\n{"subject":"Peru","relation":"border","object":["Chile","Brazil"]}\n')
    says = "object is ['Chile', 'Brazil']; a text is expected; give each object a row of its own"
    assert mistakes(path) == [f"line 2: {says}"]


def test_triples_that_stand_twice_can_be_merged(tmp_path):
    path = written(tmp_path, "a.csv", "subject,relation,object\nPeru,capital,Lima\nPeru,Capital,Lima\n")
    found = read_columns(path, "s", merge=True)
    assert found.facts["fact_id"].to_list() == ["capital|Peru|Lima"]
    assert f"{path}: line 3: the fact capital|Peru|Lima occurs again; it counts once" in found.notes


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ("Subject;Relation;Objekt", "object; it has subject, relation, Objekt; rename 'Objekt' to object"),
        ("Peru;capital;Lima", "subject, relation, object; it has Peru, capital, Lima"),
        ("", "subject, relation, object; it has Peru, capital, "),
        ("relation_id,subject_id,object_id", "subject, relation, object; it has relation_id, subject_id, object_id"),
    ],
)
def test_a_missing_column_is_one_mistake_before_any_job(tmp_path, header, says):
    path = written(tmp_path, "a.csv", f"{header}\nPeru;capital;\n")
    needs = "one file of facts needs subject, relation, object; of a folder of tables name the folder"
    for read in (check_folder, lambda path: read_folder(path, "s")):
        with pytest.raises(AlmanacError) as error:
            read(path)
        first = str(error.value).splitlines()[0]
        assert first.startswith(f"{path}: lacks the column {says}") and first.endswith(needs)


def test_lines_that_are_quoted_as_a_whole_are_told(tmp_path):
    path = written(tmp_path, "a.csv", '"Subject,Relation,Object"\n"Peru,capital,Lima"\n')
    with pytest.raises(AlmanacError, match="it has Subject,Relation,Object; its lines stand in quotation marks"):
        read_folder(path, "s")


def test_a_column_twice_is_refused_and_one_that_is_not_read_is_not(tmp_path):
    rows = "subject,relation,object,,\nPeru,capital,Lima,,\n"
    assert len(read_folder(written(tmp_path, "a.csv", rows), "s").facts) == 1
    path = written(tmp_path, "b.csv", "subject,relation,object,Object\nPeru,capital,Lima,Cusco\n")
    assert "has the column 'object' twice; keep one of them" in refusal(path)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("book.xlsx", "save the sheet of subject, relation, object as CSV in UTF-8 and name that file"),
        ("facts.json", "is no file of facts by its ending; allowed are .csv, .tsv, .tab, .txt, "),
    ],
)
def test_a_file_of_another_kind_is_refused_with_what_can_be_named(tmp_path, name, says):
    with pytest.raises(AlmanacError, match=says):
        check_folder(written(tmp_path, name, "{}"))


def test_an_excel_file_under_the_name_of_csv_is_seen(tmp_path):
    assert "is a spreadsheet or an archive, whatever its ending says" in refusal(
        written(tmp_path, "a.csv", b"PK\x03\x04 and so on")
    )


def test_what_is_pulled_of_a_file_is_what_is_read_of_it_and_no_more(tmp_path, capsys):
    path, out = written(tmp_path, "a.csv", "subject,relation,object,secret\nPeru,capital,Lima,4711\n"), tmp_path / "out"
    assert main(["pull", "files", "--from", str(path), "--output", str(out)]) == 0
    assert sorted(one.name for one in out.iterdir()) == ["entities.csv", "facts.csv", "pull.json", "relations.csv"]
    assert "4711" not in "".join(one.read_text() for one in out.iterdir())
    assert "columns not read: 'secret'" in capsys.readouterr().err
    assert json.loads((out / "pull.json").read_text())["from"] == str(path)


@pytest.mark.parametrize(("name", "says"), [("templates.csv", "holds templates.csv"), ("entities.csv", "has sha256")])
def test_a_pull_replaces_no_table_that_a_person_went_on_with(tmp_path, capsys, name, says):
    path, out = written(tmp_path, "a.csv", "subject,relation,object\nPeru,capital,Lima\n"), tmp_path / "out"
    words = ["pull", "files", "--from", str(path), "--output", str(out)]
    assert (main(words), main(words)) == (0, 0)
    written(out, name, "mine")
    assert main(words) == 1 and says in capsys.readouterr().err
    assert (out / name).read_text() == "mine"
    assert main([*words, "--replace"]) == 0
    assert "mine" not in "".join(one.read_text() for one in out.glob("*.csv"))


def test_a_pull_replaces_no_file_and_no_tables_of_a_persons_own(tmp_path, capsys):
    path, own = written(tmp_path, "a.csv", "subject,relation,object\nPeru,capital,Lima\n"), tmp_path / "own"
    own.mkdir()
    table = written(own, "facts.csv", "by hand")
    words = ["pull", "files", "--from", str(path), "--output"]
    assert main([*words, str(own)]) == 1 and "holds facts.csv, which no pull has" in capsys.readouterr().err
    for replace in ([], ["--replace"]):
        assert main([*words, str(table), *replace]) == 1 and "is a file, and tables go" in capsys.readouterr().err
    assert table.read_text() == "by hand"


NAMES = st.text(st.characters(exclude_characters="|", exclude_categories=["Cs"]), min_size=1)


@settings(max_examples=50)
@given(st.lists(st.tuples(NAMES, NAMES, NAMES), min_size=1))
def test_the_folder_that_a_pull_makes_says_what_the_file_says(triples):
    def read(path: Path) -> FactTables | None:
        try:
            return read_folder(path, "s")
        except AlmanacError:
            return None

    with tempfile.TemporaryDirectory() as work:
        path = written(Path(work), "a.csv", as_csv(triples))
        found = read(path)
        if found is not None:
            copy_tables(path, Path(work) / "out")
            assert read(Path(work) / "out") == found
