"""A folder of the user's own facts: equal however it is written, and refused whole with every mistake named."""

import csv
import datetime
import gzip
import io
import json
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from almanac.errors import AlmanacError
from almanac.rows import Entity, Evidence, Popularity, Relation, Template
from almanac.sources import records
from almanac.sources.files import check_folder, read_columns, read_folder, table_files
from almanac.sources.records import TABLES
from almanac.verbs.pull import copy_tables

Records = list[dict[str, Any]]

ENTITIES: Records = [
    {"entity_id": "Q1", "label": 'The "Old", Town\non two lines', "aliases": ["Old Town", "O, T"], "type": "city"},
    {"entity_id": "Q2", "label": "NA", "aliases": ["null", "nan"], "type": "country"},
    {"entity_id": "Q3", "label": "None", "aliases": [], "type": None},
    {"entity_id": "Q4", "label": "Zoë 東京", "aliases": ["0012"], "type": "1"},
]
FACTS: Records = [
    {"relation_id": "P17", "subject_id": "Q1", "object_id": "Q2", "value": None, "datatype": None, "precision": None},
    {"relation_id": "P17", "subject_id": "Q1", "object_id": "Q3", "value": None, "datatype": None, "precision": None},
    {
        "relation_id": "P571",
        "subject_id": "Q2",
        "object_id": None,
        "value": "1990",
        "datatype": "date",
        "precision": "year",
    },
    {
        "relation_id": "P1",
        "subject_id": "Q4",
        "object_id": None,
        "value": "007, or 7",
        "datatype": None,
        "precision": None,
    },
]
for number, fact in enumerate(FACTS):
    fact |= {"qualifiers": ["P585=1991", "P1=x"] if number == 0 else [], "split": "train" if number == 1 else None}
    fact["source"] = "bought" if number == 2 else None
RELATIONS: Records = [{"relation_id": "P17", "label": "country", "property": "P17", "popularity": "12"}]
TEMPLATES: Records = [
    {"relation_id": "P17", "text": "[X] lies in [Y].", "style": "statement", "entails": []},
    {"relation_id": "P17", "text": "Where, then, is [X]?", "style": "question", "entails": ["P17/0", "P17/2"]},
    {"relation_id": "P17", "text": "[X] lies in", "style": "prefix", "entails": []},
]
POPULARITY: Records = [
    {"entity_id": "Q2", "score": 12, "source": "votes", "type": "country", "bucket": "tail"},
    {"entity_id": "Q1", "score": 10**15, "source": None, "type": None, "bucket": None},
    {"entity_id": "Q2", "score": 0, "source": None, "type": None, "bucket": None},
]
EVIDENCE: Records = [
    {"fact_id": "P571|Q2|1990", "text": 'It was "founded", in 1990.\nSo they say.'},
    {"fact_id": "P17|Q1|Q2", "text": "Old Town lies in NA."},
    {"fact_id": "P17|Q1|Q2", "text": "NA"},
]
EXPOSURES: Records = [{"fact_id": "P571|Q2|1990", "dose": 64}, {"fact_id": "P17|Q1|Q2", "dose": 0}]
WHOLE = {
    "entities": ENTITIES,
    "facts": FACTS,
    "relations": RELATIONS,
    "templates": TEMPLATES,
    "popularity": POPULARITY,
    "evidence": EVIDENCE,
    "exposures": EXPOSURES,
}


def as_csv(records: Records) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(records[0]))
    writer.writeheader()
    for record in records:
        writer.writerow({name: "|".join(value) if isinstance(value, list) else value for name, value in record.items()})
    return text.getvalue().encode()


def as_jsonl(records: Records) -> bytes:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


def as_parquet(records: Records) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(records), sink)
    return sink.getvalue().to_pybytes()


FORMS = {
    "csv": as_csv,
    "csv.gz": lambda records: gzip.compress(as_csv(records)),
    "jsonl": as_jsonl,
    "jsonl.gz": lambda records: gzip.compress(as_jsonl(records)),
    "parquet": as_parquet,
}


def folder(path: Path, form: str = "jsonl", **tables: Records) -> Path:
    path.mkdir(exist_ok=True)
    for name, rows in tables.items():
        (path / f"{name}.{form}").write_bytes(FORMS[form](rows))
    return path


def written(path: Path, **files: str | bytes) -> Path:
    """Write the whole folder as CSV, then the given tables over it: ``facts="…"`` as CSV, ``facts_jsonl`` by ending."""
    folder(path, "csv", entities=ENTITIES, facts=FACTS)
    for name, content in files.items():
        table, _, ending = name.partition("_")
        (path / f"{table}.csv").unlink(missing_ok=True)
        raw = content.encode() if isinstance(content, str) else content
        (path / f"{table}.{(ending or 'csv').replace('_', '.')}").write_bytes(raw)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(AlmanacError) as error:
        read_folder(path, "mine")
    return str(error.value)


def test_every_form_gives_the_same_rows(tmp_path):
    read = {form: read_folder(folder(tmp_path / form.replace(".", "_"), form, **WHOLE), "mine") for form in FORMS}
    for form in FORMS:
        assert read[form] == read["jsonl"], form
    tables = read["csv"]
    assert [entity.label for entity in tables.entities] == [record["label"].replace("\n", " ") for record in ENTITIES]
    assert [list(entity.aliases) for entity in tables.entities] == [record["aliases"] for record in ENTITIES]
    assert tables.entities[2] == Entity("Q3", "None", (), None)
    assert [fact.fact_id for fact in tables.facts] == ["P17|Q1|Q2", "P17|Q1|Q3", "P1|Q4|007, or 7", "P571|Q2|1990"]
    assert tables.facts[0].qualifiers == ("P585=1991", "P1=x")
    assert [fact.qualifiers for fact in tables.facts[1:]] == [(), (), ()]
    assert [fact.datatype for fact in tables.facts] == [None, None, "string", "date"]
    assert [fact.source for fact in tables.facts] == ["mine", "mine", "mine", "bought"]
    assert tables.relations[1] == Relation("P17", "country", "P17", None, None, None, 12)
    assert tables.relations[0].label == "P1", "a relation that no table describes bears its id"
    assert tables.templates[1] == Template(
        "P17/1", "P17", "Where, then, is [X]?", "question", "written", None, ("P17/0", "P17/2")
    )
    assert tables.popularity == [
        Popularity("Q1", "mine", "city", 10**15, None),
        Popularity("Q2", "mine", "country", 0, None),
        Popularity("Q2", "votes", "country", 12, "tail"),
    ]
    assert tables.evidence == [
        Evidence("P17|Q1|Q2", "NA"),
        Evidence("P17|Q1|Q2", "Old Town lies in NA."),
        Evidence("P571|Q2|1990", 'It was "founded", in 1990.\nSo they say.'),
    ]


def test_a_file_of_many_parts_gives_the_same_rows(tmp_path, monkeypatch):
    whole = {form: read_folder(folder(tmp_path / form, form, **WHOLE), "mine") for form in FORMS}
    monkeypatch.setattr(records, "PART", 2)
    assert {form: read_folder(tmp_path / form, "mine") for form in FORMS} == whole


@pytest.mark.parametrize("form", FORMS)
def test_how_often_facts_were_taught_is_read_from_every_form(tmp_path, form):
    read = read_columns(folder(tmp_path / "f", form, **WHOLE), "mine").exposures
    assert read.rows() == [("P17|Q1|Q2", 0), ("P571|Q2|1990", 64)]


@pytest.mark.parametrize("form", FORMS)
def test_a_mistake_in_a_later_part_is_named_by_its_row(tmp_path, monkeypatch, form):
    monkeypatch.setattr(records, "PART", 2)
    wrong = [{**ENTITIES[3], "entity_id": f"R{at}", "label": "" if at in (1, 4) else "a"} for at in range(6)]
    lines = refusal(folder(tmp_path / "f", form, entities=ENTITIES + wrong, facts=FACTS)).splitlines()
    reason = "label is empty; every entity needs an entity_id and a label"
    wanted = {
        "csv": ("line", 8, 11),
        "jsonl": ("line", 6, 9),
        "parquet": ("row", 6, 9),
    }  # of CSV with a cell of two lines
    word, *numbers = wanted[form.partition(".")[0]]
    path = tmp_path / "f" / f"entities.{form}"
    assert lines[:-1] == [f"{path}: {word} {number}: {reason}" for number in numbers]


def test_mistakes_of_a_table_come_in_the_order_of_its_rows_whatever_they_are(tmp_path):
    rows = ['{"entity_id":"Q1","label":["A"]}', '{"entity_id":"Q2"}', '{"entity_id":"Q3","label":"C"}']
    rows += ['{"entity_id":"Q3","label":"D"}', '{"label":"E"}', '{"entity_id":"Q6","label":{}}']
    path = written(tmp_path / "f", entities_jsonl="\n".join(rows), facts="relation_id,subject_id,object_id\nP,Q3,Q3\n")
    found = [line.partition(": ")[2] for line in refusal(path).splitlines()[:-1]]
    assert found == [
        "line 1: label is ['A']; a text is expected",
        "line 2: label is empty; every entity needs an entity_id and a label",
        "line 4: entity 'Q3' is also in line 3; keep one row, or set datasets.NAME.merge: true",
        "line 5: entity_id is empty; every entity needs an entity_id and a label",
        "line 6: label is {}; a text is expected",
    ]


def test_a_byte_that_is_no_text_is_named_by_its_line(tmp_path):
    before = "".join(f"Q{at},thing {at}\n" for at in range(3000)).encode()
    path = written(tmp_path / "f", entities=b"entity_id,label\n" + before + b"R1,\xff\n" + before)
    assert "entities.csv: line 3002 is no UTF-8 (byte 0xff); save the file as UTF-8" in refusal(path)


def test_popularity_without_a_type_has_that_of_its_entity(tmp_path):
    path = written(
        tmp_path / "f",
        entities="entity_id,label,type\nQ1,A,person\nQ2,B,city\nQ3,C,\n",
        facts="relation_id,subject_id,object_id\nP,Q1,Q2\n",
        popularity="entity_id,score,type\nQ1,1,\nQ2,2,\nQ3,3,\nQ1,4,votes\n",
    )
    found = {(row.entity_id, row.score): row.type for row in read_folder(path, "mine").popularity}
    assert found == {("Q1", 1): "person", ("Q2", 2): "city", ("Q3", 3): "entity", ("Q1", 4): "votes"}


def test_a_folder_needs_neither_popularity_nor_evidence(tmp_path):
    tables = read_folder(folder(tmp_path / "f", entities=ENTITIES, facts=FACTS), "mine")
    assert (tables.popularity, tables.evidence) == ([], [])


def test_the_order_of_rows_does_not_matter(tmp_path):
    turned = {name: records[::-1] for name, records in WHOLE.items() if name != "templates"}
    straight = {name: records for name, records in WHOLE.items() if name != "templates"}
    one = read_folder(folder(tmp_path / "one", **straight), "mine")
    assert read_folder(folder(tmp_path / "two", **turned), "mine") == one


def test_byte_order_mark_and_windows_line_ends_are_no_part_of_the_facts(tmp_path):
    plain = read_folder(
        written(
            tmp_path / "plain",
            entities="entity_id,label\nQ1,A\nQ2,B\n",
            facts="relation_id,subject_id,object_id\nP,Q1,Q2\n",
        ),
        "s",
    )
    windows = read_folder(
        written(
            tmp_path / "windows",
            entities="\ufeffentity_id,label\r\nQ1,A\r\nQ2,B\r\n",
            facts="\ufeffrelation_id,subject_id,object_id\r\nP,Q1,Q2\r\n",
        ),
        "s",
    )
    assert windows == plain


def test_numbers_and_dates_of_parquet_are_their_text(tmp_path):
    path = written(tmp_path / "f")
    (path / "facts.csv").unlink()
    table = pa.table({"relation_id": ["P", "P"], "subject_id": ["Q1", "Q2"], "value": pa.array([1990, 7], pa.int32())})
    pq.write_table(table, path / "facts.parquet")
    assert [fact.value for fact in read_folder(path, "s").facts] == ["1990", "7"]


def test_an_alias_that_repeats_is_one_and_nothing_is_no_alias(tmp_path):
    first = '{"entity_id":"Q1","label":"A","aliases":["B","A","B",null,""]}'
    rows = first + '\n{"entity_id":"Q2","label":"C","aliases":null}\n'
    path = written(tmp_path / "f", entities_jsonl=rows, facts="relation_id,subject_id,object_id\nP,Q1,Q2\n")
    assert [entity.aliases for entity in read_folder(path, "s").entities] == [("B",), ()]


E = "entity_id,label,aliases\nQ1,A,\nQ2,B,\n"
F = "relation_id,subject_id,object_id,value,datatype,split\n"
MISTAKES = {
    "missing column": (
        {"entities": "entity_id,name\nQ1,A\n"},
        "entities.csv: lacks the column label; it has entity_id, name",
    ),
    "unknown column": (
        {"entities": "entity_id,label,colour\nQ1,A,red\n"},
        "entities.csv: has the unknown column 'colour'",
    ),
    "column twice": ({"entities": "entity_id,label,label\nQ1,A,B\n"}, "entities.csv: has the column 'label' twice"),
    "no header": ({"entities": "\n"}, "entities.csv: lacks the column entity_id, label; it has none"),
    "empty label": ({"entities": E + "Q3,  ,\n"}, "entities.csv: line 4: label is empty"),
    "empty id": ({"entities": E + ",C,\n"}, "entities.csv: line 4: entity_id is empty"),
    "duplicate entity": (
        {"entities": E + "Q1,C,\n"},
        "entities.csv: line 4: entity 'Q1' is also in line 2; keep one row, or set",
    ),
    "ragged, short": ({"entities": E + "Q3,C\n"}, "entities.csv: line 4: has more or fewer cells"),
    "ragged, long": ({"entities": E + "Q3,C,,D\n"}, "entities.csv: line 4: has more or fewer cells"),
    "duplicate fact": (
        {"entities": E, "facts": F + "P,Q1,Q2,,,\nP,Q2,Q1,,,\nP,Q1,Q2,,,\n"},
        "facts.csv: line 4: the fact P|Q1|Q2 is also in line 2; keep one row, or set",
    ),
    "object without entity": (
        {"entities": E, "facts": F + "P,Q1,Q9,,,\n"},
        "facts.csv: line 2: object_id 'Q9' is no entity",
    ),
    "subject without entity": (
        {"entities": E, "facts": F + "P,Q9,Q1,,,\n"},
        "facts.csv: line 2: subject_id 'Q9' is no entity",
    ),
    "object and value": ({"entities": E, "facts": F + "P,Q1,Q2,3,,\n"}, "facts.csv: line 2: needs either an object_id"),
    "no object": ({"entities": E, "facts": F + "P,Q1,,,,\n"}, "facts.csv: line 2: needs either an object_id"),
    "a value that is an entity": (
        {"entities": E, "facts": F + "P,Q1,,Q2,,\n"},
        "facts.csv: line 2: value 'Q2' is the id of",
    ),
    "empty relation": ({"entities": E, "facts": F + ",Q1,Q2,,,\n"}, "facts.csv: line 2: relation_id is empty"),
    "bar in an id": ({"entities": E, "facts": F + "P|1,Q1,Q2,,,\n"}, "facts.csv: line 2: relation_id 'P|1' holds '|'"),
    "wrong datatype": (
        {"entities": E, "facts": F + "P,Q1,,3,number,\n"},
        "facts.csv: line 2: datatype 'number' is unknown; allowed are date",
    ),
    "wrong split": (
        {"entities": E, "facts": F + "P,Q1,Q2,,,dev\n"},
        "facts.csv: line 2: split 'dev' is unknown; allowed are train, test",
    ),
    "a precision that there is not": (
        {"entities": E, "facts": "relation_id,subject_id,value,datatype,precision\nP,Q1,1990-01-01,date,9\n"},
        "facts.csv: line 2: precision '9' is unknown; allowed are year, month, day or nothing",
    ),
    "a prefix that holds its object": (
        {"templates": "relation_id,text,style\nP17,[X] lies in [Y],prefix\n"},
        "templates.csv: line 2: '[X] lies in [Y]' holds [Y], which comes after a prefix; write style statement",
    ),
    "a relation's popularity of too many digits": (
        {"relations": f"relation_id,label,popularity\nP17,country,{'9' * 30}\n"},
        "relations.csv: line 2: popularity '999999999999999999999999999999' is no whole number of at most 18 digits",
    ),
    "after a blank row": (
        {"entities": E, "facts": F + "P,Q1,Q2,,,\n\nP,Q1,Q9,,,\n"},
        "facts.csv: line 4: object_id 'Q9'",
    ),
    "after a quoted newline": ({"entities": E + 'Q3,"C\nC",\nQ4,,\n'}, "entities.csv: line 6: label is empty"),
    "popularity": (
        {"relations": "relation_id,label,popularity\nP17,c,many\n"},
        "relations.csv: line 2: popularity 'many' is no whole number",
    ),
    "bucket of a relation": (
        {"relations": "relation_id,label,bucket\nP17,c,middle\n"},
        "relations.csv: line 2: bucket 'middle' is unknown; allowed are head, torso, tail or nothing",
    ),
    "popularity of nobody": (
        {"popularity": "entity_id,score\nQ1,3\nQ9,3\n"},
        "popularity.csv: line 3: entity_id 'Q9' is no entity",
    ),
    "popularity below nothing": (
        {"popularity": "entity_id,score\nQ1,-3\n"},
        "popularity.csv: line 2: score '-3' is no whole number",
    ),
    "popularity in parts": (
        {"popularity": "entity_id,score\nQ1,1.5\n"},
        "popularity.csv: line 2: score '1.5' is no whole number",
    ),
    "no popularity": (
        {"popularity": "entity_id,score\nQ1,\n"},
        "popularity.csv: line 2: score is empty; write how often something is counted",
    ),
    "bucket of an entity": (
        {"popularity": "entity_id,score,bucket\nQ1,1,Head\n"},
        "popularity.csv: line 2: bucket 'Head' is unknown; allowed are head, torso, tail or nothing",
    ),
    "popularity twice": (
        {"popularity": "entity_id,score,source\nQ1,1,mine\nQ2,1,\nQ1,2,\n"},
        "popularity.csv: line 4: the popularity of entity 'Q1' (source 'mine', type 'city') is also in line 2",
    ),
    "evidence of no fact": (
        {"evidence": "fact_id,text\nP17|Q1|Q2,a\nP17|Q2|Q1,b\n"},
        "evidence.csv: line 3: fact_id 'P17|Q2|Q1' is no fact",
    ),
    "evidence without text": (
        {"evidence": "fact_id,text\nP17|Q1|Q2,\n"},
        "evidence.csv: line 2: text is empty",
    ),
    "evidence twice": (
        {"evidence": "fact_id,text\nP17|Q1|Q2,a\nP17|Q1|Q2, a \n"},
        "evidence.csv: line 3: this text of the fact P17|Q1|Q2 is also in line 2; keep one row, or set",
    ),
    "evidence with a page": (
        {"evidence": "fact_id,text,page\nP17|Q1|Q2,a,3\n"},
        "evidence.csv: has the unknown column 'page'; known are fact_id, text",
    ),
    "exposure of no fact": (
        {"exposures": "fact_id,dose\nP17|Q1|Q2,1\nP17|Q2|Q1,1\n"},
        "exposures.csv: line 3: fact_id 'P17|Q2|Q1' is no fact",
    ),
    "half a dose": (
        {"exposures": "fact_id,dose\nP17|Q1|Q2,0.5\n"},
        "exposures.csv: line 2: dose '0.5' is no whole number",
    ),
    "two doses": (
        {"exposures": "fact_id,dose\nP17|Q1|Q2,1\nP17|Q1|Q2,2\n"},
        "exposures.csv: line 3: the dose of P17|Q1|Q2 is also in line 2; keep one row, or set datasets.NAME.merge",
    ),
    "template twice": (
        {"templates": "relation_id,text,style\nP17,[X] is in [Y].,statement\nP17, [X] is  IN [Y].,statement\n"},
        "templates.csv: line 3: the template '[X] is  IN [Y].' is also in line 2; keep one row, or",
    ),
    "day without hyphens": (
        {"facts": "relation_id,subject_id,value,datatype\nP571,Q1,20000101,date\n"},
        "facts.csv: line 2: date '20000101' has no hyphens; write YYYY-MM-DD",
    ),
    "infinite number": (
        {"facts_jsonl": '{"relation_id": "P", "subject_id": "Q1", "value": -Infinity}\n'},
        "facts.jsonl: line 1: value is -Infinity, which is no number",
    ),
    "relation twice": (
        {"relations": "relation_id,label\nP,a\nP,b\n"},
        "relations.csv: line 3: relation 'P' is also in line 2; keep one row",
    ),
    "relation without label": (
        {"relations": "relation_id,label\nP,\n"},
        "relations.csv: line 2: relation_id and label",
    ),
    "template without relation": (
        {"templates": "relation_id,text,style\nP9,[X] [Y],statement\n"},
        "templates.csv: line 2: relation 'P9' is in no facts",
    ),
    "template without object": (
        {"templates": "relation_id,text,style\nP17,[X] is,statement\n"},
        "templates.csv: line 2: '[X] is' must hold [X] once",
    ),
    "question with its answer": (
        {"templates": "relation_id,text,style\nP17,Is [Y] the land of [X]?,question\n"},
        "templates.csv: line 2: 'Is [Y] the land of [X]?' names its own answer; a question asks for [Y]",
    ),
    "template without subject": (
        {"templates": "relation_id,text,style\nP17,It is,prefix\n"},
        "templates.csv: line 2: 'It is' must hold [X] once",
    ),
    "template of no style": (
        {"templates": "relation_id,text,style\nP17,[X] [Y],\n"},
        "templates.csv: line 2: style None is unknown; allowed are statement",
    ),
    "a list as text": (
        {"entities_jsonl": '{"entity_id":"Q1","label":["A"]}\n'},
        "entities.jsonl: line 1: label is ['A']; a text is expected",
    ),
    "objects in one row": (
        {"facts_jsonl": '{"relation_id":"P","subject_id":"Q1","object_id":["Q2","Q3"]}\n'},
        "facts.jsonl: line 1: object_id is ['Q2', 'Q3']; a text is expected; give each object a row of its own",
    ),
    "a number as list": (
        {"entities_jsonl": '{"entity_id":"Q1","label":"A","aliases":5}\n'},
        "entities.jsonl: line 1: aliases is 5; a list of texts is expected",
    ),
    "half a character": (
        {"entities_jsonl": '{"entity_id":"Q1","label":"A","aliases":["B","C\\ud800"]}\n'},
        "entities.jsonl: line 1: aliases is 'C\\ud800', which holds half a character (a surrogate); correct it",
    ),
    "popularity of many digits": (
        {"popularity": f"entity_id,score\nQ1,{10**18 - 1}\nQ2,{10**18}\n"},
        "popularity.csv: line 3: score '1000000000000000000' has more than 18 digits",
    ),
    "an object as list": (
        {"entities_jsonl": '\n{"entity_id":"Q1","label":"A","aliases":{"en":"B"}}\n'},
        "entities.jsonl: line 2: aliases is {'en': 'B'}; a list of texts is expected",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_by_file_and_row_and_nothing_is_read(tmp_path, mistake):
    files, expected = MISTAKES[mistake]
    path = tmp_path / "my facts"
    message = refusal(written(path, **files))
    assert f"{path}/{expected}" in message
    assert "Nothing was read" in message


OPEN = "a quotation mark is opened there and not closed; close it"
ENDED = "a quotation mark is closed before its cell ends; quote the whole cell, and double the ones within it"
BROKEN = {
    "a line that is no JSON": (
        "facts_jsonl",
        b'{"relation_id":"P"}\n{"relation_id"\n',
        "facts.jsonl: line 2 is no JSON that can be read",
    ),
    "a key twice": (
        "facts_jsonl",
        b'{"relation_id":"P","subject_id":"Q1","object_id":"Q2"}\n{"relation_id":"P","subject_id":"Q1","subject_id":"Q2"}\n',
        "facts.jsonl: line 2 is no JSON that can be read (the key 'subject_id' is given twice)",
    ),
    "a line that is no object": ("facts_jsonl", b'\n["P","Q1","Q2"]\n', 'facts.jsonl: line 2 is \'["P","Q1","Q2"]\''),
    "an open quote": ("entities", b'entity_id,label\nQ0,"A\nB"\nQ1,"A\nQ2,B\n', f"entities.csv: line 4: {OPEN}"),
    "a quote within a cell": ("entities", b'entity_id,label\nQ1, "A" B\n', f"entities.csv: line 2: {ENDED}"),
    "no byte": ("facts", b"", "facts.csv: is empty; save it again with its rows"),
    "no byte of JSON": ("facts_jsonl", b"", "facts.jsonl: is empty"),
    "a truncated gzip": ("facts_csv_gz", gzip.compress(as_csv(FACTS))[:-12], "facts.csv.gz: cannot be read"),
    "a gzip with a wrong block": (
        "facts_jsonl_gz",
        gzip.compress(b"x")[:10] + bytes([7] * 30),
        "facts.jsonl.gz: cannot be read",
    ),
    "no gzip at all": ("facts_csv_gz", as_csv(FACTS), "facts.csv.gz: cannot be read"),
    "a truncated Parquet": ("facts_parquet", as_parquet(FACTS)[:-20], "facts.parquet: cannot be read"),
    "another encoding": (
        "entities",
        "entity_id,label\nQ1,Zoë\n".encode("latin-1"),
        "entities.csv: line 2 is no UTF-8 (byte 0xeb)",
    ),
}


@pytest.mark.parametrize("damage", BROKEN)
def test_a_file_that_cannot_be_read_is_named(tmp_path, damage):
    name, content, expected = BROKEN[damage]
    path = tmp_path / "f"
    assert f"{path}/{expected}" in refusal(written(path, **{name: content}))


@pytest.mark.parametrize(("label", "said"), [("\0a" * 20, True), ("\0ab" * 20, False)])
def test_a_file_of_which_more_than_a_quarter_are_zeros_is_taken_for_utf_16(tmp_path, label, said):
    path = written(tmp_path / "f", entities=f"entity_id,label\nQ1,{label}\n".encode())
    assert ("entities.csv: is no UTF-8, but looks like UTF-16" in refusal(path)) == said


def test_no_changed_byte_of_a_gzip_passes_unseen(tmp_path):
    whole = gzip.compress(as_csv(FACTS), mtime=0)
    path = written(tmp_path / "f", facts_csv_gz=whole)
    good = read_folder(path, "s")
    for place in range(0, len(whole), 7):
        (path / "facts.csv.gz").write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            assert read_folder(path, "s") == good, "a byte of the header that says nothing of the content"
        except AlmanacError as error:
            assert "facts.csv.gz: cannot be read" in str(error)


@pytest.mark.parametrize("table", ["facts", "entities", "templates"])
def test_two_files_for_one_table_are_refused(tmp_path, table):
    path = folder(folder(tmp_path / "f", "csv", **WHOLE), "jsonl.gz", **{table: WHOLE[table]})
    assert f"{path}: {table}.csv, {table}.jsonl.gz are the same table twice" in refusal(path)


def test_what_has_the_name_of_a_table_and_is_no_file_is_not_passed_over(tmp_path):
    """A link whose file was moved away would leave the dataset without its templates, and nobody would know."""
    path = written(tmp_path / "f")
    (path / "templates.csv").symlink_to(tmp_path / "gone.csv")
    assert f"{path}/templates.csv: is no file, but a folder or a link that leads nowhere" in refusal(path)
    (path / "templates.csv").unlink()
    (path / "popularity.jsonl").mkdir()
    assert f"{path}/popularity.jsonl: is no file" in refusal(path)


@pytest.mark.parametrize("table", ["facts", "entities"])
def test_a_missing_table_is_named_with_the_files_it_could_be(tmp_path, table):
    path = written(tmp_path / "f")
    (path / f"{table}.csv").unlink()
    message = refusal(path)
    assert f"{path}: has no table '{table}'" in message
    assert f"put {table}.csv there, or {table}.csv.gz, {table}.jsonl, {table}.jsonl.gz, {table}.parquet" in message


def test_a_missing_folder_is_named(tmp_path):
    assert f"there is no folder {tmp_path / 'gone'}" in refusal(tmp_path / "gone")
    path = written(tmp_path / "facts")
    assert f"there is no folder {tmp_path / 'fact'}; did you mean {path}?" in refusal(tmp_path / "fact")
    (tmp_path / "good.csv").write_text("")
    said = f"there is no file {tmp_path / 'god.csv'}; did you mean {tmp_path / 'good.csv'}?"
    assert said in refusal(tmp_path / "god.csv")


def csv_folder(path: Path, separator: str = ",", encoding: str = "utf-8") -> Path:
    """Write the facts that every form of the same rows gives, as a spreadsheet program would."""
    texts = {
        "entities": "entity_id,label,aliases\nQ1,Zoë,A|B\nQ2,C,\n",
        "facts": "relation_id,subject_id,object_id\nP,Q1,Q2\n",
    }
    return written(path, **{name: text.replace(",", separator).encode(encoding) for name, text in texts.items()})


@pytest.mark.parametrize("separator", [";", "\t"])
def test_cells_may_be_separated_as_some_spreadsheet_programs_do(tmp_path, separator):
    assert read_folder(csv_folder(tmp_path / "a", separator), "s") == read_folder(csv_folder(tmp_path / "b"), "s")


@pytest.mark.parametrize("first", ["sep=;\r\n", '"sep=;"\n', "SEP=;\n"])
def test_the_line_that_names_the_separator_for_excel_is_no_header(tmp_path, first):
    path = csv_folder(tmp_path / "a", ";")
    for table in path.iterdir():
        table.write_text(first + table.read_text("utf-8"), "utf-8")
    check_folder(path)
    assert read_folder(path, "s") == read_folder(csv_folder(tmp_path / "b"), "s")
    (path / "entities.csv").write_text(f"{first}entity_id;label\nQ1;A\nQ2;\n")
    assert "entities.csv: line 4: " in refusal(path)


@pytest.mark.parametrize("empty", ["\n", "\r\n \r\n", ",,\n"])
def test_empty_lines_above_the_header_are_passed_over_but_counted(tmp_path, empty):
    path = csv_folder(tmp_path / "a")
    for table in path.iterdir():
        table.write_bytes(empty.encode() + table.read_bytes())
    check_folder(path)
    assert read_folder(path, "s") == read_folder(csv_folder(tmp_path / "b"), "s")
    (path / "entities.csv").write_text(f"{empty}entity_id,label\nQ1,A\nQ2,\n", newline="")
    assert f"entities.csv: line {empty.count(chr(10)) + 3}: " in refusal(path)


@pytest.mark.parametrize("look", [check_folder, lambda path: read_folder(path, "s")])
def test_a_header_without_facts_is_refused_by_the_name_of_the_file(tmp_path, look):
    path, file = csv_folder(tmp_path / "f"), tmp_path / "mine.csv"
    (path / "facts.csv").write_text("relation_id,subject_id,object_id\n")
    file.write_text("subject,relation,object\n")
    for place, named in ((path, path / "facts.csv"), (file, file)):
        with pytest.raises(AlmanacError, match=f"{named}: has no facts; write a row for each below its header"):
            look(place)


MISNAMED = {  # the file of the facts, and what is said of it
    "facts.xlsx": "facts.xlsx is a spreadsheet program's own file; save each sheet as CSV in UTF-8",
    "facts.ods": "facts.ods is a spreadsheet program's own file",
    "Facts.CSV": "rename Facts.CSV to facts.csv",
    "fact.csv": "rename fact.csv to facts.csv",
    "facts.tsv": "rename facts.tsv to facts.csv (cells may be separated by tabs)",
    "facts.json": "facts.json is read as JSON Lines alone: write one object a line, and name it facts.jsonl",
}


@pytest.mark.parametrize("name", MISNAMED)
def test_a_file_that_was_meant_is_named_with_what_to_do(tmp_path, name):
    path = csv_folder(tmp_path / "f")
    (path / "facts.csv").rename(path / name)
    assert f"{path}: {MISNAMED[name]}" in refusal(path)


def test_a_table_that_may_be_absent_is_not_passed_over_for_its_name(tmp_path):
    path = csv_folder(tmp_path / "f")
    (path / "template.csv").write_text("relation_id,style,text\nP,statement,[X] is [Y].\n")
    assert "rename template.csv to templates.csv" in refusal(path)
    (path / "template.csv").rename(path / "notes.csv")
    assert len(read_folder(path, "s").facts) == 1, "other files are the user's"


@pytest.mark.parametrize("name", ["vorlagen.csv", "Namen.XLSX", "more.jsonl.gz", "raw.tsv"])
def test_a_file_that_looks_like_a_table_and_is_none_is_said_to_be_passed_over(tmp_path, capsys, name):
    path = csv_folder(tmp_path / "f")
    for other in (name, "README.md", "omissions.parquet"):
        (path / other).touch()
    note = f"{path / name}: not read, for it is none of the tables facts, entities, relations, templates, popularity"
    assert read_columns(path, "s").notes[0].startswith(note)
    assert sum("not read" in found for found in read_columns(path, "s").notes) == 1
    copy_tables(path, tmp_path / "copy")
    assert f"note: {note}" in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "latin-1"])
def test_another_encoding_is_to_be_saved_as_utf_8(tmp_path, encoding):
    message = refusal(csv_folder(tmp_path / "f", encoding=encoding))
    assert "entities.csv: " in message and "save the file as UTF-8" in message and "codec" not in message


def test_a_spreadsheet_under_the_name_of_csv_is_seen(tmp_path):
    path = csv_folder(tmp_path / "f")
    (path / "facts.csv").write_bytes(b"PK\x03\x04 and so on")
    assert "facts.csv: is a spreadsheet or an archive, whatever its ending says; save each sheet as CSV" in refusal(
        path
    )


@pytest.mark.parametrize("name", ["facts.csv", "book.xlsx"])
def test_one_table_is_no_folder_of_facts(tmp_path, name):
    path = csv_folder(tmp_path / "f")
    (path / "book.xlsx").write_bytes(b"PK\x03\x04 and so on")
    with pytest.raises(AlmanacError, match=r"name the folder"):
        check_folder(path / name)


@pytest.mark.parametrize("column", ["subject", "Subject_ID", "subjectid"])
def test_a_column_under_another_name_is_to_be_renamed(tmp_path, column):
    path = written(tmp_path / "f", entities=E, facts=f"relation_id,{column},object_id\nP,Q1,Q2\n")
    for read in (check_folder, lambda folder: read_folder(folder, "s")):
        with pytest.raises(AlmanacError, match=f"lacks the column subject_id; .*; rename '{column}' to subject_id"):
            read(path)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("a|b|c\n", "cells are not separated by commas, semicolons or tabs, of which one must be used"),
        ("a b c\n", "cells are not separated by commas"),
        ('"a,b,c"\n', "lines stand in quotation marks as a whole, each as one cell: take these marks off"),
    ],
)
def test_a_table_of_one_column_is_told_why(tmp_path, table, told):
    names = {"a": "subject", "b": "relation", "c": "object"}
    path = tmp_path / "inventory.csv"
    path.write_text("".join(names.get(one, one) for one in table) + "x\n")
    with pytest.raises(AlmanacError, match=f"it has subject.*; its {told}"):
        read_folder(path, "s")


def test_a_table_without_a_header_is_told_to_have_one(tmp_path):
    path = tmp_path / "inventory.csv"
    path.write_text("actinium,chemical symbol,Ac\nargon,chemical symbol,Ar\n")
    with pytest.raises(AlmanacError) as found:
        read_folder(path, "s")
    assert "it has actinium, chemical symbol, Ac; its first line must hold these names;" in str(found.value)


def test_mistakes_of_all_tables_come_together(tmp_path):
    path = written(
        tmp_path / "f",
        entities=E + "Q3,,\n",
        facts=F + "P,Q1,Q9,,,\n",
        templates="relation_id,text,style\nP9,[X] [Y],statement\n",
    )
    lines = refusal(path).splitlines()
    assert [line.removeprefix(f"{path}/").partition(": ")[0] for line in lines[:-1]] == [
        "entities.csv",
        "facts.csv",
        "templates.csv",
    ]


@pytest.mark.parametrize(("wrong", "shown", "more"), [(19, 19, 0), (20, 20, 0), (21, 20, 1), (500, 20, 480)])
def test_up_to_twenty_mistakes_are_shown_and_the_rest_counted(tmp_path, wrong, shown, more):
    rows = "".join(f"P,Q1,Q{number + 100},,,\n" for number in range(wrong))
    lines = refusal(written(tmp_path / "f", entities=E, facts=F + "P,Q1,Q2,,,\n" + rows)).splitlines()
    assert sum("is no entity" in line for line in lines) == shown
    assert (f"... and {more} more" in lines) == (more > 0)


def test_the_files_of_a_folder_are_those_of_its_tables_only(tmp_path):
    path = folder(tmp_path / "f", "csv", **WHOLE)
    (path / "README.md").write_text("notes")
    (path / "facts.csv.bak").write_text("old")
    assert [file.name for file in table_files(path)] == [f"{table}.csv" for table in TABLES]


def read_values(path: Path, rows: Records, form: str = "jsonl", table: pa.Table | None = None) -> Any:
    folder(path, "jsonl", entities=[{"entity_id": f"Q{at}", "label": f"thing {at}"} for at in range(len(rows) + 1)])
    if table is not None:
        pq.write_table(table, path / "facts.parquet")
    else:
        folder(path, form, facts=[{"relation_id": "P", "subject_id": f"Q{at}"} | row for at, row in enumerate(rows)])
    return read_columns(path, "s")


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary(2), pa.binary_view()])
def test_binary_strings_of_parquet_are_their_text(tmp_path, kind):
    path = folder(tmp_path / "f", "jsonl", facts=[{"relation_id": "P", "subject_id": "Q1", "value": "x"}])
    ids, labels = pa.array([b"Q1"]).cast(kind), pa.array(["Zoë".encode()])
    pq.write_table(
        pa.table({"entity_id": ids, "label": labels, "aliases": pa.array([[b"Z"]], pa.list_(pa.binary()))}),
        path / "entities.parquet",
    )
    assert read_folder(path, "s").entities == [Entity("Q1", "Zoë", ("Z",), None)]
    pq.write_table(pa.table({"entity_id": ids, "label": pa.array([b"\xff"])}), path / "entities.parquet")
    assert "entities.parquet: cannot be read" in refusal(path)


def test_equal_quantities_and_dates_are_equal_texts_and_what_was_changed_is_said(tmp_path):
    written = {
        "quantity": ["1000", "1000.0", "+1000", "01000", "1e3", "1000.000"],
        "date": ["1990-05-22", "+1990-05-22T00:00:00Z", "1990-05-22 00:00:00", "01990-05-22"],
    }
    rows = [{"datatype": kind, "value": text} for kind, texts in written.items() for text in texts]
    found = read_values(tmp_path / "f", rows)
    assert set(found.facts["value"]) == {"1000", "1990-05-22"}
    assert found.facts["fact_id"].to_list() == sorted(f"P|Q{at}|{'1990-05-22' if at > 5 else 1000}" for at in range(10))
    facts = tmp_path / "f" / "facts.jsonl"
    assert found.notes[:2] == (
        f"{facts}: line 2: the quantity '1000.0' is read as '1000' (and 4 more rows so)",
        f"{facts}: line 8: the date '+1990-05-22T00:00:00Z' is read as '1990-05-22' (and 2 more rows so)",
    )


@pytest.mark.parametrize(
    ("text", "precision", "becomes"),
    [
        ("1990-00-00", None, "1990"),
        ("1990-05-22", "year", "1990"),
        ("1990-05-22", "month", "1990-05"),
        ("1990-05-22", "day", "1990-05-22"),
        ("0622", "year", "622"),
        ("44 BC", "year", "44 BC"),
        ("2000-02-29", None, "2000-02-29"),
    ],
)
def test_a_date_is_as_fine_as_it_says(tmp_path, text, precision, becomes):
    found = read_values(tmp_path / "f", [{"datatype": "date", "value": text, "precision": precision}])
    assert found.facts["value"].to_list() == [becomes]


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        ("date", "1990-02-30", "has an impossible day"),
        ("date", "1900-02-29", "has an impossible day"),
        ("date", "1990-13-01", "has an impossible month"),
        ("date", "22.5.1990", "is no date; write YYYY"),
        ("date", "1990-05-22T10:30:00Z", "has a time of day"),
        ("date", "tomorrow", "is no date"),
        ("date", "-0044-03-15", "has a year below 1; write a year before Christ as NN BC"),
        ("date", "0000", "has a year below 1; write a year before Christ as NN BC"),
        ("date", "0", "has a year below 1; write a year before Christ as NN BC"),
        ("quantity", "1,000", "is no number; write digits"),
        ("quantity", "a lot", "is no number"),
        ("quantity", "nan", "is no number"),
        ("quantity", "1e999999999", "is no number"),
        ("quantity", "9" * 5000, "is no number"),
    ],
)
def test_a_value_that_is_none_of_its_datatype_is_refused(tmp_path, kind, text, reason):
    with pytest.raises(AlmanacError, match=r"facts\.jsonl: line 2: ") as error:
        read_values(tmp_path / "f", [{"value": "x"}, {"datatype": kind, "value": text}])
    assert reason in str(error.value)


def test_one_value_written_twice_is_one_fact_twice(tmp_path):
    rows = [{"subject_id": "Q0", "datatype": "quantity", "value": text} for text in ("5", "5.0")]
    with pytest.raises(AlmanacError, match=r"line 2: the fact P\|Q0\|5 is also in line 1"):
        read_values(tmp_path / "f", rows)


def test_the_text_of_a_fact_finds_it_however_its_value_is_written(tmp_path):
    path = tmp_path / "f"
    folder(path, evidence=[{"fact_id": "P|Q0|5.0", "text": "Five."}])
    found = read_values(path, [{"datatype": "quantity", "value": "5.0"}])
    assert found.evidence.rows() == [("P|Q0|5", "Five.")]


def test_the_text_of_a_fact_of_exactly_its_id_is_of_that_and_of_two_facts_of_neither(tmp_path):
    path = tmp_path / "f"
    folder(path, evidence=[{"fact_id": "P|Q0|1990-05-22", "text": "The day."}])
    dates = [{"datatype": "date", "value": "1990-05-22", "precision": one} for one in ("year", "day")]
    for rows in (dates, dates[::-1]):
        assert read_values(path, [row | {"subject_id": "Q0"} for row in rows]).evidence.rows() == [
            ("P|Q0|1990-05-22", "The day.")
        ]
    dates[1]["precision"] = "month"
    with pytest.raises(AlmanacError, match=r"fact_id 'P\|Q0\|1990-05-22' is no fact"):
        read_values(path, [row | {"subject_id": "Q0"} for row in dates])


def test_numbers_are_as_short_as_others_write_them(tmp_path):
    columns = {"relation_id": ["P"] * 3, "subject_id": ["Q0", "Q1", "Q2"]}
    for at, kind in enumerate((pa.float32(), pa.float64())):
        cells = pa.array([8848.86, 0.1, 1e10], kind)
        found = read_values(tmp_path / str(at), [{}] * 3, table=pa.table({**columns, "value": cells}))
        assert found.facts["value"].to_list() == ["8848.86", "0.1", "10000000000"]
    rows = "".join(
        f'{{"relation_id": "P", "subject_id": "Q{at}", "value": {text}}}\n'
        for at, text in enumerate(("12345678901234567890.5", "3.14159265358979323846", "true"))
    )
    found = read_columns(written(tmp_path / "json", facts_jsonl=rows, entities=ENTITIES_OF_THREE), "s")
    assert found.facts["value"].to_list() == ["12345678901234567890.5", "3.14159265358979323846", "true"]


def test_a_date_that_python_has_not_is_refused_with_its_file(tmp_path):
    cells = pa.array([-800000, 0], pa.int32()).cast(pa.date32())
    table = pa.table({"relation_id": ["P", "P"], "subject_id": ["Q0", "Q1"], "value": cells})
    with pytest.raises(AlmanacError, match=r"facts.parquet: holds a date or a duration that is out of range"):
        read_values(tmp_path / "f", [{}], table=table)


def test_a_line_of_blanks_is_an_empty_row(tmp_path):
    facts = "relation_id,subject_id,object_id\nP17,Q1,Q2\n   \nP17,Q2,Q1\n"
    assert len(read_columns(written(tmp_path / "f", facts=facts), "s").facts) == 2


ENTITIES_OF_THREE = "entity_id,label\nQ0,a\nQ1,b\nQ2,c\n"


def test_numbers_and_times_of_cells_are_written_as_one_writes_them(tmp_path):
    moments = [datetime.datetime(1990, 5, 22), datetime.datetime(1990, 5, 22)]
    columns = {"relation_id": ["P", "P"], "subject_id": ["Q0", "Q1"]}
    for at, (values, text) in enumerate([([1000.0, 2.5], ["1000", "2.5"]), (moments, ["1990-05-22"] * 2)]):
        found = read_values(tmp_path / str(at), [{}], table=pa.table({**columns, "value": values}))
        assert found.facts["value"].to_list() == text
    moments[1] = datetime.datetime(1990, 5, 22, 10, 30)
    with pytest.raises(AlmanacError, match=r"row 2: value is 1990-05-22 10:30:00, with a time of day; write the day"):
        read_values(tmp_path / "later", [{}], table=pa.table({**columns, "value": moments}))


@pytest.mark.parametrize("number", ["1e5000", "1e-5000", "-1E+101"])
def test_a_number_that_nobody_would_write_out_is_refused(tmp_path, number):
    rows = f'{{"relation_id": "P", "subject_id": "Q0", "value": {number}}}\n'
    path = written(tmp_path / "f", facts_jsonl=rows, entities=ENTITIES_OF_THREE)
    assert "facts.jsonl: line 1: value is " in (said := refusal(path))
    assert "which is no number; write one, or a text" in said


@pytest.mark.parametrize("buckets", [["head", "", ""], ["", "", ""], ["head", "torso", "tail"]])
def test_scores_without_a_bucket_where_others_have_one_are_said(tmp_path, buckets):
    rows = "".join(f"Q{at},{at},{bucket}\n" for at, bucket in enumerate(buckets))
    facts = "relation_id,subject_id,object_id\nP17,Q0,Q1\n"
    popularity = f"entity_id,score,bucket\n{rows}"
    path = written(tmp_path / "f", facts=facts, entities=ENTITIES_OF_THREE, popularity=popularity)
    said = [note for note in read_columns(path, "s").notes if "bucket" in note]
    assert said == [
        f"{path}/popularity.csv: line 3: the popularity of entity 'Q1' (source 's', type 'entity') has no bucket where "
        "others of its source and type have one, and is in none; fill all, or leave all empty (and 1 more rows so)"
    ] * (buckets == ["head", "", ""])


@pytest.mark.parametrize("unseen", ["\u200b", "\u200e", "\u202e", "\x00", "\ufeff", "\u00ad", "\x1b"])
@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_characters_that_nobody_sees_are_left_out_and_said(tmp_path, unseen, form):
    rows = [
        {"entity_id": f"Q1{unseen}", "label": f"Ro{unseen}me", "aliases": [f"{unseen}Roma", unseen]},
        {"entity_id": "Q2", "label": "Paris", "aliases": []},
    ]
    facts = [{"relation_id": "P", "subject_id": "Q1", "object_id": "Q2"}]
    found = read_columns(folder(tmp_path / "f", form, entities=rows, facts=facts), "s")
    assert found.entities.rows() == [("Q1", "Rome", ["Roma"], None), ("Q2", "Paris", [], None)]
    said = f"U+{ord(unseen):04X}, an invisible character; it is left out"
    path, first = tmp_path / "f" / f"entities.{form}", {"csv": "line 2", "jsonl": "line 1", "parquet": "row 1"}[form]
    assert found.notes[:-1] == tuple(
        f"{path}: {first}: {name} holds {said}" for name in ("entity_id", "label", "aliases")
    )


def test_work_does_not_grow_with_the_square_of_the_templates(tmp_path):
    """20,000 templates took 20 seconds, and a quarter of them an eighth of it."""
    texts = "".join(f"P17,[X] {at} [Y].,statement\n" for at in range(20_000))
    path = written(tmp_path / "f", templates=f"relation_id,text,style\n{texts}")
    begun = time.process_time()
    assert len(read_columns(path, "s").templates) == 20_000
    assert time.process_time() - begun < 8


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_white_space_inside_a_name_is_one_space_and_said(tmp_path, form):
    rows = [
        {"entity_id": "Q1", "label": "Mexico\nCity", "aliases": ["Ciudad  de\u00a0M\u00e9xico", "CDMX"]},
        {"entity_id": "Q2", "label": "New \x1f\tYork", "aliases": ["Big Apple", "NYC"]},
    ]
    facts = [{"relation_id": "P", "subject_id": "Q1", "object_id": "Q2"}]
    found = read_columns(folder(tmp_path / "f", form, entities=rows, facts=facts), "s")
    aliases = ["Ciudad de M\u00e9xico", "CDMX"], ["Big Apple", "NYC"]
    assert found.entities.rows() == [("Q1", "Mexico City", aliases[0], None), ("Q2", "New York", aliases[1], None)]
    label, alias = found.notes[:2]
    assert label.endswith("label 'Mexico\\nCity' is read with single spaces (and 1 more rows so)")
    assert alias.endswith("aliases 'Ciudad  de\\xa0M\u00e9xico CDMX' is read with single spaces")


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_names_that_are_alike_to_the_eye_are_one_however_their_accents_are_written(tmp_path, form):
    composed, apart = "Per\u00fa", "Peru\u0301"
    rows = [
        {"entity_id": apart, "label": apart, "aliases": [f"{apart}!"]},
        {"entity_id": "Lima", "label": "Lima", "aliases": []},
    ]
    facts = [{"relation_id": "P", "subject_id": composed, "object_id": "Lima"}]
    found = read_columns(folder(tmp_path / "f", form, entities=rows, facts=facts), "s")
    assert found.entities.rows() == [("Lima", "Lima", [], None), (composed, composed, [f"{composed}!"], None)]
    assert [note.split(": ")[2].split()[0] for note in found.notes[:-1]] == ["entity_id", "label", "aliases"]
    assert all(note.endswith("is read with its accents composed") for note in found.notes[:-1])


def test_sentences_have_their_accents_as_the_names_that_stand_in_them(tmp_path):
    names = {"Q1": "Peru\u0301", "Q2": "Bogota\u0301"}
    entities = [{"entity_id": key, "label": name} for key, name in names.items()]
    facts = [{"relation_id": "P", "subject_id": "Q1", "object_id": "Q2"}]
    texts = [{"fact_id": "P|Q1|Q2", "text": "{Q1} is near {Q2}.\u200b".format(**names)}]
    sentences = [{"relation_id": "P", "style": "statement", "text": "[X] esta\u0301 cerca de [Y]"}]
    path = folder(tmp_path / "f", entities=entities, facts=facts, evidence=texts, templates=sentences)
    found = read_columns(path, "s")
    assert found.evidence["text"].to_list() == ["Per\u00fa is near Bogot\u00e1.\u200b"]
    assert [row.text for row in found.templates] == ["[X] est\u00e1 cerca de [Y]"]


def test_letters_that_are_joined_stay_so(tmp_path):
    rows = [{"entity_id": "Q1", "label": "می\u200cخواهم"}, {"entity_id": "Q2", "label": "👩\u200d🔬"}]
    facts = [{"relation_id": "P", "subject_id": "Q1", "object_id": "Q2"}]
    found = read_columns(folder(tmp_path / "f", entities=rows, facts=facts), "s")
    assert (found.entities["label"].to_list(), len(found.notes)) == ([row["label"] for row in rows], 1)


def test_a_list_of_json_in_a_cell_is_a_list_and_may_hold_a_bar(tmp_path):
    rows = 'entity_id,label,aliases\nQ1,A,"[""B|C"", ""D""]"\nQ2,[B],[sic]|x\nQ3,C,[]\nQ4,D,E|F\n'
    rows += 'Q5,E,"[1990, ""MCMXC""]"\nQ6,F,"[null, 2.5]"\nQ7,G,[1\n'
    path = written(tmp_path / "f", entities=rows, facts="relation_id,subject_id,object_id\nP,Q1,Q2\n")
    found = [entity.aliases for entity in read_folder(path, "s").entities]
    assert found == [("B|C", "D"), ("[sic]", "x"), (), ("E", "F"), ("1990", "MCMXC"), ("2.5",), ("[1",)]
    (path / "entities.csv").write_text("entity_id,label,aliases\nQ1,A,\"['B', 'C']\"\nQ2,B,\n")
    assert "entities.csv: line 2: aliases is \"['B', 'C']\", a list that is no JSON; write a list of JSON" in refusal(
        path
    )


def test_a_mistake_is_told_once_and_not_again_of_what_names_the_row(tmp_path):
    path = written(
        tmp_path / "f",
        entities="entity_id,label\nQ1,A\nQ2,\n",
        facts="relation_id,subject_id,object_id,split\nP,Q1,Q2,\nP,Q2,Q1,dev\n",
        relations="relation_id,label\nR,\n",
        templates="relation_id,text,style\nR,[X] [Y],statement\n",
        popularity="entity_id,score\nQ2,1\n",
        evidence="fact_id,text\nP|Q2|Q1,a\n",
    )
    lines = [line.removeprefix(f"{path}/").partition(":")[0] for line in refusal(path).splitlines()[:-1]]
    assert lines == ["entities.csv", "facts.csv", "relations.csv"]
    (path / "entities.csv").write_text("entity_id,name\nQ1,A\n")
    assert len(refusal(path).splitlines()) == 2, "without entities, nothing is said of the facts"


@pytest.mark.parametrize("ending", ["csv", "jsonl", "csv.gz", "jsonl.gz"])
def test_a_line_without_end_is_refused_before_it_fills_memory(tmp_path, ending, monkeypatch):
    monkeypatch.setattr(records, "LONGEST", 200_000)
    raw = b"relation_id,subject_id,value\nP,Q1," + b"0" * 3_000_000
    path = written(
        tmp_path / "f", **{f"facts_{ending.replace('.', '_')}": gzip.compress(raw) if "gz" in ending else raw}
    )
    found = refusal(path)
    assert f"facts.{ending}: " in found
    assert "has more than 200000 characters" in found or "is no JSON" in found


def test_a_cell_may_be_long(tmp_path):
    long = "x" * 200_000
    path = written(tmp_path / "f", facts=f"relation_id,subject_id,value\nP,Q1,{long}\n")
    assert [fact.value for fact in read_folder(path, "s").facts] == [long]


@pytest.mark.parametrize("value", ["1" * 5000, "[" * 100_000, "1" * 5000 + "]"], ids=["digits", "brackets", "both"])
def test_a_number_or_brackets_without_end_are_no_json(tmp_path, value):
    path = written(tmp_path / "f", facts_jsonl='{"relation_id":"P","subject_id":"Q1","value":' + value + "}\n")
    assert "facts.jsonl: line 1 is no JSON that can be read (" in refusal(path)


ODD_LINES = [
    '{"entity_id":"Q5","label":"A","label":"B"}',  # a key twice
    '{"entity_id":"Q5","label":"A"} {"entity_id":"Q6","label":"B"}',  # two objects
    '{"entity_id":"Q5","label":"A"}}',
    '{"entity_id":"Q5",\n"label":"A"}',  # one on two lines
    '{"entity_id":"Q5"}{"label":"A"\n}',
    '{"entity_id":"Q5","label":"A"}\0}',
    '{"entity_id":"Q5","label":"A\0"}',
    '{"entity_id":"Q5","label":"A\tB"}',
    '{"entity_id":"Q5","label":"\\ud800"}',
    '{"entity_id":"Q5","label":"\\ud83d\\ude00 \\/ \\u0041\u2028\\n"}',
    ' { "label" : "A" , "entity_id" : " Q5 " , "aliases" : [ "B" , "" , null ] } ',
    '{"entity_id":"Q5","label":"A","aliases":"B|C"}',
    '{"entity_id":"Q5","label":"A","aliases":[1,2.50,true]}',
    '{"entity_id":5,"label":1.0}',
    '{"entity_id":12345678901234567890123,"label":NaN}',
    '{"entity_id":"Q5","label":"1990-05-22","type":null}',
    '{"entity_id":"Q5","label":"A","kind":"B"}',  # an unknown column
    '{"entity_id":"Q5","label":{"en":"A"}}',
    '{"entity_id":"Q5"}',
    "{}",
    "{'entity_id':'Q5','label':'A'}",
    '{"entity_id":"Q5","label":"A",}',
    '["Q5","A"]',
    "null",
    "",
    "\r",
]


@pytest.mark.parametrize("odd", ODD_LINES)
@pytest.mark.parametrize("lines", ["{odd}", "{odd}\n{plain}", "{plain}\n{odd}\n{plain}\n", "{plain}\n{odd}"])
def test_arrow_reads_json_as_python_does_or_leaves_it_to_python(tmp_path, monkeypatch, odd, lines):
    plain = '{"entity_id":"Q%s","label":"A","aliases":["B"]}'
    text = lines.replace("{plain}", plain).replace("{odd}", odd)
    text = text.replace("Q%s", "Q7", 1).replace("Q%s", "Q8")
    path = written(tmp_path / "f", entities_jsonl=text, facts="relation_id,subject_id,object_id\nP,Q5,Q5\n")

    def found() -> Any:
        try:
            return read_columns(path, "s").entities.to_dicts()
        except AlmanacError as error:
            return str(error)

    by_arrow = found()
    monkeypatch.setattr(records, "_plain", lambda lines, known: None)
    assert by_arrow == found()


def test_lines_as_they_are_expected_are_read_by_arrow(tmp_path, monkeypatch):
    path = folder(tmp_path / "f", **{name: rows for name, rows in WHOLE.items() if name != "relations"})
    monkeypatch.setattr(records, "_objects", lambda *_: pytest.fail("a line is read alone"))
    assert len(read_columns(path, "s").facts) == len(FACTS)


def test_the_rows_that_do_not_fit_are_counted_and_not_all_kept(tmp_path):
    path = written(tmp_path / "f", facts="relation_id,subject_id,value\n" + "x\n" * 70_000)
    lines = refusal(path).splitlines()
    assert (len(lines), lines[-2]) == (22, "... and 69980 more")


def test_rows_that_stand_twice_are_one_where_they_are_merged_and_all_is_said(tmp_path):
    path = written(
        tmp_path / "f",
        entities="entity_id,label,aliases,type\nQ1,A,B,\nQ2,C,,\nQ1,D,E|A,city\nQ1,F,,town\n",
        facts="relation_id,subject_id,object_id\nP,Q1,Q2\nP,Q2,Q1\nP,Q1,Q2\n",
        relations="relation_id,label\nP,lies in\n",
        templates="relation_id,text,style\nP,[X] in [Y],statement\nR,[X] of [Y],statement\n",
        popularity="entity_id,score\nQ1,9\nQ2,1\nQ1,10\nQ2,1\n",
        evidence="fact_id,text\nP|Q1|Q2,a\nP|Q1|Q2,a\n",
    )
    assert refusal(path).count("or set datasets.NAME.merge: true") == 7
    found = read_columns(path, "s", merge=True)
    assert found.entities.rows() == [("Q1", "A", ["B", "D", "E", "F"], "city"), ("Q2", "C", [], None)]
    assert found.facts["fact_id"].to_list() == ["P|Q1|Q2", "P|Q2|Q1"]
    assert [row.relation_id for row in found.templates] == ["P"]
    assert found.popularity.select("entity_id", "score").rows() == [("Q1", 10), ("Q2", 1)]
    assert found.evidence.rows() == [("P|Q1|Q2", "a")]
    assert [note.removeprefix(f"{path}/") for note in found.notes] == [
        "entities.csv: line 4: entity 'Q1' occurs again; its names become aliases (and 1 more rows so)",
        "facts.csv: line 4: the fact P|Q1|Q2 occurs again; it counts once",
        "templates.csv: line 3: relation 'R' has no facts; its template is left out",
        "popularity.csv: line 2: the popularity of entity 'Q1' (source 's', type 'city') occurs again; "
        "the largest score counts (and 1 more rows so)",
        "evidence.csv: line 3: the fact P|Q1|Q2 has this text again; it counts once",
    ]


def test_a_relation_without_a_label_is_warned_of(tmp_path):
    path = written(tmp_path / "f", relations="relation_id,label\nP17,country\nP571,begin\n")
    assert [note.removeprefix(f"{path}/") for note in read_columns(path, "s").notes if "spaces" not in note] == [
        "relations.csv: relation 'P1' has no label; suites would ask 'The P1 of …'; give it a label in words"
    ]


@pytest.mark.parametrize(
    ("subject", "relations", "label", "number"),
    [
        ("Q1", None, "capital", "P36"),
        ("Peru", None, "P36", None),  # whose P36 that is, nobody knows
        ("Q1", "relation_id,label\nP36,P36\n", "capital", "P36"),
        ("Peru", "relation_id,label\nP36,Capital\n", "Capital", "P36"),
        ("Peru", "relation_id,label\nP36,shares border with\n", "shares border with", None),
        ("Q1", "relation_id,label\nP36,Hauptstadt\n", "Hauptstadt", None),
        ("Peru", "relation_id,label,property\nP36,Hauptstadt,P36\n", "Hauptstadt", "P36"),
        ("Peru", "relation_id,label,property\nP36,Hauptstadt,wdt:p36\n", "Hauptstadt", "P36"),
        ("Peru", "relation_id,label,property\nP36,x,http://www.wikidata.org/entity/P36\n", "x", "P36"),
        ("Peru", "relation_id,label,property\nP36,x,P166/P585\n", "x", "P166/P585"),
    ],
)
def test_a_relation_with_a_number_of_wikidata_is_that_property_where_its_subjects_are_items(
    tmp_path, subject, relations, label, number
):
    rows = {"entities": f"entity_id,label\n{subject},Peru\nQ2,Lima\n", "relations": relations}
    rows["facts"] = f"relation_id,subject_id,object_id\nP36,{subject},Q2\n"
    (tmp_path / "f").mkdir()
    for table, text in rows.items():
        if text:
            (tmp_path / "f" / f"{table}.csv").write_text(text)
    found = read_columns(tmp_path / "f", "s")
    assert found.relations == [Relation("P36", label, number, None, None, None)]
    assert len(found.notes) == (label == "P36")


def test_two_relations_of_one_label_are_warned_of(tmp_path):
    relations = "relation_id,label\nP17,country\nP571,begin\nP1,Country\n"
    path = written(tmp_path / "f", relations=relations)
    assert [note.removeprefix(f"{path}/") for note in read_columns(path, "s").notes if "spaces" not in note] == [
        "relations.csv: relations 'P1' and 'P17' are both called 'country', and may be asked by the same words; "
        "give one another label"
    ]
