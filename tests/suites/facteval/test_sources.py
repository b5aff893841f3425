"""Questions come out of every source: T-REx, Google-RE and its texts, BioLAMA with several objects, UMLS and types."""

import io
import json
import os
import tarfile
import zipfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from almanac import tables
from almanac.dataset.multiple_choice import build
from almanac.dataset.options import DatasetOptions
from almanac.sources import biolama, google_re, source_tables, umls
from almanac.sources.files import read_folder
from almanac.sources.options import BiolamaOptions, GoogleReOptions, UmlsOptions
from almanac.suites.data import Data
from almanac.suites.facteval.distractors import alike

from .running import questions

REPOSITORY = Path(__file__).parents[3]
TREX = Path(os.environ.get("ALMANAC_TREX") or REPOSITORY.parent / "shared" / "data" / "trex")
ALL = ("none", "relevant", "irrelevant", "antifactual")


def asked_of(source, folder, **options):
    """Write a source's tables, read them again, and ask every fact of them."""
    source_tables.write(folder, source)
    found = {name: tables.read(folder / f"{name}.parquet", row) for name, row in source_tables.ROWS.items()}
    facts = [replace(row, split="test") for row in found["facts"]]
    return questions(Data.of(**found | {"facts": facts}), **options)


def people(relation, objects):
    """Return lines of Google-RE: one person an object."""
    return [
        {
            "pred": f"/people/person/{relation}",
            "sub": f"/m/{number}",
            "obj": key,
            "sub_label": f"Person {number}",
            "sub_aliases": [f"P. {number}"],
            "obj_label": label,
            "obj_aliases": [f"Old {label}"] if relation != "date_of_birth" else [],
            "evidences": [{"snippet": f"Person {number}, {'of' if number else 'not'} {label if number else 'here'}."}],
            "judgments": [{"judgment": "yes"}],
        }
        for number, (key, label) in enumerate(objects)
    ]


def test_google_re_gives_dates_places_and_passages(tmp_path):
    days = ["1982-05-22", "1982-06-01", "1900-01-01", "1901-02-03", "1950-07-08", "1960-01-02"]
    lines = {
        "date_of_birth": people("date_of_birth", [(day, day[:4]) for day in days]),
        "place_of_birth": people("place_of_birth", [(f"/m/p{n}", f"Town {n}") for n in range(5)]),
    }
    (tmp_path / "raw").mkdir()
    with zipfile.ZipFile(tmp_path / "raw" / "data.zip", "w") as archive:
        for name, rows in lines.items():
            archive.writestr(f"data/Google_RE/{name}_test.jsonl", "\n".join(map(json.dumps, rows)))
    found, refused = asked_of(google_re.read(GoogleReOptions(), tmp_path / "raw"), tmp_path / "out", contexts=ALL)
    dates = [row for row in found.values() if row.relation_id == "google_re.date_of_birth"]
    # Two people were born in 1982, on different days: the year is one choice, and never wrong for either.
    for row in dates:
        assert row.choices is None or len(set(row.choices)) == 4
        assert row.datatype == "date" and (row.truth is not False or f"is {row.shown}." in row.text)
    assert Counter(row.context for row in found.values() if row.type == "saq" and row.style == "wh") == {
        "none": 11,
        "relevant": 11,
        "irrelevant": 11,
        "antifactual": 9,
    }
    assert {row.passage_origin for row in found.values()} == {None, "evidence"}
    assert [thing for thing in refused if "antifactual" in thing] == [
        "fact google_re.date_of_birth|/m/0|1982: antifactual",
        "fact google_re.place_of_birth|/m/0|/m/p0: antifactual",
    ]
    said = next(row for row in found.values() if row.context == "antifactual" and "|/m/1|" in row.fact_id)
    assert said.passage == f"Person 1, of {said.stated}."


def test_biolama_gives_questions_with_several_answers(tmp_path):
    def line(subject, drugs):
        objects = [f"D{n}" for n in drugs]
        return {
            "predicate_id": "P2176", "sub_uri": subject, "sub_label": f"disease {subject}", "obj_uris": objects,
            "obj_labels": [f"drug-{one}" for one in objects], "obj_types": ["drug"] * len(objects),
            "obj_aliases": [[f"{one}, salt"] for one in objects],
        }  # fmt: skip

    lines = [line("Q1", [1, 2]), line("Q2", [3]), line("Q3", [4, 5]), line("Q4", [1, 6])]
    files = {
        "wikidata/triples_processed/P2176/test.jsonl": lines,
        "wikidata/prompts/manual.jsonl": [
            {"relation": "P2176", "template": "[X] is treated with [Y].", "property": "drug used for treatment"}
        ],
    }
    with tarfile.open(tmp_path / "data.tar.gz", "w:gz") as archive:
        for name, rows in files.items():
            data = "".join(json.dumps(row) + "\n" for row in rows).encode()
            member = tarfile.TarInfo(f"data/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    found, refused = asked_of(biolama.read(BiolamaOptions(), tmp_path), tmp_path / "out", negatives=["type"])
    assert refused == {}
    short = [row for row in found.values() if row.type == "saq" and row.style == "wh"]
    assert [row.text for row in short] == [
        f"What is the drug used for treatment of disease Q{n}?" for n in (1, 2, 3, 4)
    ]
    assert short[0].gold == ("drug-D1", "D1, salt", "drug-D2", "D2, salt")
    for row in found.values():
        if row.type == "mcq":
            subject = row.fact_id.split("|")[1]
            true = {f"drug-{one}" for one in next(line["obj_uris"] for line in lines if line["sub_uri"] == subject)}
            assert len(true & set(row.choices)) == 1


def test_umls_gives_questions_by_semantic_type(tmp_path):
    def cells(width, **values):
        out = [""] * width
        for place, value in values.items():
            out[int(place[1:])] = value
        return "|".join(out) + "|\n"

    drugs = {f"C{n}": f"Drug {n}" for n in range(6)} | {f"S{n}": f"Sign, {n}" for n in range(6)}
    names = [cells(18, _0=key, _1="ENG", _2="P", _4="PF", _6="Y", _14=label, _16="N") for key, label in drugs.items()]
    related = [cells(16, _0=f"C{n}", _3="RO", _4=f"S{n}", _7="may_treat") for n in range(6)]
    kinds = [cells(6, _0=key, _3="Sign or Symptom" if key[0] == "S" else "Drug") for key in drugs]
    for file, lines in ((umls.NAMES, names), (umls.RELATED, related), (umls.TYPES, kinds)):
        (tmp_path / file).write_text("".join(lines))
    source = umls.read(UmlsOptions(relations=["may_treat"]), tmp_path)
    found, refused = asked_of(source, tmp_path / "out", negatives=["relation", "type"])
    assert refused == {}
    assert Counter((row.type, row.negatives) for row in found.values() if row.style != "fib") == {
        ("tfq", "relation"): 12,
        ("tfq", "type"): 12,
        ("mcq", "relation"): 6,
        ("mcq", "type"): 6,
        ("saq", None): 6,
    }
    assert {row.domain for row in found.values()} == {"biomedicine"}
    assert {row.object_type for row in found.values()} == {"Sign or Symptom"}
    kinds_shown = {name.split(" ")[0] for row in found.values() for name in row.choices or ()}
    assert kinds_shown == {"Sign,"}


def check(data, found):
    """Hold wrong objects against all true objects of their subject's label, by any name: an independent count."""
    label = {row.entity_id: " ".join(row.label.casefold().split()) for row in data.entities}
    names = {row.entity_id: {row.label, *row.aliases} for row in data.entities}
    true = {}
    for row in data.facts:
        called = names.get(row.object_key, {row.object_key})
        true.setdefault((row.relation_id, label[row.subject_id]), set()).update(map(alike, called))
    for row in found.values():
        truth = true[row.relation_id, label[row.fact_id.split("|")[1]]]
        if row.type == "mcq":
            assert len({alike(name) for name in row.choices}) == 4
            assert sum(alike(name) in truth for name in row.choices) == 1
        if row.truth is not None:
            assert (alike(row.shown) in truth) is row.truth
        if row.type == "saq":
            assert set(map(alike, row.gold)) == truth
        if row.context == "antifactual":
            assert row.changed and row.stated in row.passage
        if row.stated is not None:
            assert alike(row.stated) not in truth


def test_the_facts_that_ship_give_questions_of_every_relation():
    source = read_folder(REPOSITORY / "resources" / "facts", "shipped")
    facts = [replace(row, split="test") for row in source.facts]
    data = Data.of(entities=source.entities, relations=source.relations, facts=facts, templates=source.templates)
    found, refused = questions(data, sample=4, negatives=["relation", "type"], contexts=ALL)
    assert {row.relation_id for row in found.values()} == {row.relation_id for row in facts}
    check(data, found)
    assert not any("label" in row.template_id for row in found.values()), "every relation has templates"
    short = Counter((row.context, row.relation_id) for row in found.values() if (row.type, row.style) == ("saq", "wh"))
    assert all(count <= 4 for count in short.values())
    assert len(refused) < 30 and all("needed are" in why or "could replace" in why for why in refused.values())


@pytest.fixture(scope="module")
def trex():
    if not TREX.is_dir():
        pytest.skip(f"no T-REx folder at {TREX}; set ALMANAC_TREX")
    source = read_folder(TREX, "trex")
    dataset = build(source.relations, source.facts, source.entities, DatasetOptions(choices=100))
    own = {"entities": source.entities, "templates": source.templates}
    return Data.of(relations=dataset.relations, facts=dataset.facts, **own)


@pytest.mark.whole
def test_t_rex_gives_questions_of_its_21_large_relations(trex):
    found, _ = questions(trex, sample=20, contexts=["none", "antifactual"])
    assert len({row.relation_id for row in found.values()}) == 21
    check(trex, found)
    counts = Counter((row.type, row.context) for row in found.values())
    assert counts["saq", "none"] > 800 and counts["tfq", "none"] >= counts["mcq", "none"]
