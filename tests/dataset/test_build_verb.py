"""What a dataset carries of its source beside facts: popularity with buckets, and the texts in which facts are said."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from almanac import tables
from almanac.cli import main
from almanac.dataset.templates import SHIPPED
from almanac.planting.options import WorldOptions
from almanac.planting.world import invent
from almanac.rows import Draft, Entity, Evidence, Exposure, Fact, Popularity, Relation, Template

SMALL = ("--min-facts", "6", "--min-objects", "3", "--train", "1", "--test", "2", "--choices", "2")
# Ten scores of which head, torso and tail hold a third each as nearly as can be: 60 = 20 + 10+10 + 6+5+4+2+1+1+1.
SCORES = (20, 10, 10, 6, 5, 4, 2, 1, 1, 1)
BUCKETS = ("head", "torso", "torso", *["tail"] * 7)


def written(folder: Path, **own: list[dict]) -> Path:
    """Ten subjects of a large relation, two of one that is too small, each fact with a text."""
    folder.mkdir()
    rows = {
        "entities": [{"entity_id": f"s{at}", "label": f"subject {at}"} for at in range(10)]
        + [{"entity_id": f"o{at}", "label": f"object {at}"} for at in range(4)],
        "facts": [{"relation_id": "large", "subject_id": f"s{at}", "object_id": f"o{at % 4}"} for at in range(10)]
        + [{"relation_id": "small", "subject_id": f"s{at}", "object_id": "o0"} for at in range(2)],
        "popularity": [{"entity_id": f"s{at}", "score": score, "type": "subject"} for at, score in enumerate(SCORES)],
        "evidence": [{"fact_id": f"large|s{at}|o{at % 4}", "text": f"Text {at}."} for at in range(10)]
        + [{"fact_id": "small|s0|o0", "text": "Text of a fact that is left out."}],
    } | own
    for table, records in rows.items():
        (folder / f"{table}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


def build(folder: Path, output: Path, *words: str) -> Path:
    assert main(["build", "dataset", "--facts", str(folder), "--output", str(output), *(words or SMALL)]) == 0
    return output


def test_popularity_gets_its_buckets_and_evidence_is_that_of_the_datasets_facts(tmp_path):
    more = {
        "relations": [{"relation_id": "large", "label": "capital", "property": "P36"}],
        "templates": [
            {"relation_id": name, "text": "[X] is [Y].", "style": "statement"} for name in ("large", "small")
        ],
        "exposures": [{"fact_id": name, "dose": 1} for name in ("large|s0|o0", "small|s0|o0")],
    }
    more["relations"].append({"relation_id": "small", "label": "seat"})
    made = build(written(tmp_path / "mine", **more), tmp_path / "dataset")
    assert [row.fact_id for row in tables.read(made / "exposures.parquet", Exposure)] == ["large|s0|o0"]
    templates = tables.read(made / "templates.parquet", Template)
    assert {row.relation_id for row in templates} == {"large"} and SHIPPED in {row.origin for row in templates}
    assert tables.read(made / "popularity.parquet", Popularity) == [
        Popularity(f"s{at}", "mine", "subject", score, bucket)
        for at, (score, bucket) in enumerate(zip(SCORES, BUCKETS, strict=True))
    ]
    evidence = tables.read(made / "evidence.parquet", Evidence)
    facts = {row.fact_id for row in tables.read(made / "facts.parquet", Fact)}
    assert {row.fact_id for row in evidence} == facts
    assert sorted(row.text for row in evidence) == [f"Text {at}." for at in range(10)]


def test_a_file_of_texts_must_be_of_these_facts(tmp_path, capsys):
    mine, path = written(tmp_path / "mine"), tmp_path / "texts.parquet"
    [known, *_] = tables.read(build(mine, tmp_path / "all") / "evidence.parquet", Evidence)
    words = [*SMALL, "--evidence", str(path)]
    tables.write(path, Evidence, [Evidence("r|S|o", "A"), known])
    made = build(mine, tmp_path / "some", *words)
    assert tables.read(made / "evidence.parquet", Evidence) == [known]
    assert "1 texts belong to no known fact, such as 'r|S|o'; they are left out" in capsys.readouterr().err
    tables.write(path, Evidence, [Evidence("r|S|o", "A")])
    build_of = ["build", "dataset", "--facts", str(mine), "--output", str(tmp_path / "none")]
    assert main([*build_of, *words]) == 1
    assert "no text belongs to a known fact" in capsys.readouterr().err
    assert main([*build_of, *SMALL, "--evidence", str(mine / "evidence.csv")]) == 1
    assert "is not called .parquet" in capsys.readouterr().err


def test_rows_that_stand_twice_are_merged_where_that_is_said(tmp_path):
    facts = [{"relation_id": "large", "subject_id": f"s{at}", "object_id": f"o{at % 4}"} for at in range(10)]
    folder = written(tmp_path / "mine", facts=[*facts, facts[0]], evidence=[{"fact_id": "large|s0|o0", "text": "T."}])
    assert main(["build", "dataset", "--facts", str(folder), "--output", str(tmp_path / "refused"), *SMALL]) == 1
    made = build(folder, tmp_path / "dataset", *SMALL, "--merge", "true")
    assert tables.count(made / "facts.parquet", Fact) == 10


def test_buckets_that_a_source_gives_stay_as_they_are(tmp_path):
    given = [
        {"entity_id": "s0", "score": 1, "type": "subject", "bucket": "head"},  # it saw more entities than it wrote
        {"entity_id": "s1", "score": 9, "type": "subject"},
        {"entity_id": "o0", "score": 1, "type": "object"},
        {"entity_id": "o1", "score": 1, "type": "object"},
        {"entity_id": "o2", "score": 0, "type": "nothing"},
    ]
    made = build(written(tmp_path / "mine", popularity=given), tmp_path / "dataset")
    found = {row.entity_id: row.bucket for row in tables.read(made / "popularity.parquet", Popularity)}
    assert found == {"s0": "head", "s1": None, "o0": "tail", "o1": "tail", "o2": None}


def test_both_tables_are_there_and_empty_where_the_source_has_none(tmp_path):
    folder = written(tmp_path / "mine")
    (folder / "popularity.jsonl").unlink()
    (folder / "evidence.jsonl").unlink()
    made = build(folder, tmp_path / "dataset")
    assert tables.count(made / "popularity.parquet", Popularity) == 0
    assert tables.count(made / "evidence.parquet", Evidence) == 0


def test_a_mistake_in_either_table_stops_the_build(tmp_path, capsys):
    folder = written(tmp_path / "mine", evidence=[{"fact_id": "large|s0|o9", "text": "No."}])
    assert main(["build", "dataset", "--facts", str(folder), "--output", str(tmp_path / "dataset"), *SMALL]) == 1
    assert f"{folder}/evidence.jsonl: line 1: fact_id 'large|s0|o9' is no fact" in capsys.readouterr().err
    assert not (tmp_path / "dataset").exists()


def test_files_that_are_pulled_keep_both_tables(tmp_path):
    folder = written(tmp_path / "mine")
    assert main(["pull", "files", "--from", str(folder), "--output", str(tmp_path / "pulled" / "mine")]) == 0
    one, two = build(folder, tmp_path / "one"), build(tmp_path / "pulled" / "mine", tmp_path / "two")
    for table in ("popularity", "evidence"):
        assert (one / f"{table}.parquet").read_bytes() == (two / f"{table}.parquet").read_bytes()


def test_a_planted_world_brings_its_popularity_and_no_evidence(tmp_path):
    world = invent(WorldOptions(features=("popularity",)), 1)
    folder = tmp_path / "world"
    for table, row in (
        ("entities", Entity),
        ("relations", Relation),
        ("facts", Fact),
        ("templates", Template),
        ("exposures", Exposure),
        ("popularity", Popularity),
    ):
        tables.write(folder / f"{table}.parquet", row, getattr(world, table))
    words = ("--min-facts", "1", "--min-objects", "2", "--train", "4", "--test", "4", "--choices", "2")
    made = build(folder, tmp_path / "dataset", *words)
    found = tables.read(made / "popularity.parquet", Popularity)
    assert found
    assert set(found) == set(world.popularity)
    assert tables.count(made / "evidence.parquet", Evidence) == 0


def test_texts_of_elsewhere_stand_for_the_folders_own(tmp_path):
    texts = [Evidence("large|s3|o3", "Said elsewhere."), Evidence("strange|a|b", "Of no fact of the dataset.")]
    tables.write(tmp_path / "evidence.parquet", Evidence, texts)
    out = build(written(tmp_path / "facts"), tmp_path / "out", *SMALL, "--evidence", str(tmp_path / "evidence.parquet"))
    assert tables.read(out / "evidence.parquet", Evidence) == texts[:1]


def test_a_text_of_elsewhere_that_stands_twice_is_refused(tmp_path, capsys):
    text = {"fact_id": ["large|s3|o3"] * 2, "text": ["Said twice."] * 2}
    pq.write_table(pa.table(text), tmp_path / "evidence.parquet")
    words = ["--evidence", str(tmp_path / "evidence.parquet"), "--output", str(tmp_path / "out"), *SMALL]
    assert main(["build", "dataset", "--facts", str(written(tmp_path / "facts")), *words]) == 1
    assert "evidence.parquet: the fact large|s3|o3 has this text twice; keep one row" in capsys.readouterr().err


def test_without_a_relation_that_qualifies_the_counts_are_printed_and_nothing_is_written(tmp_path, capsys):
    words = ["--facts", str(written(tmp_path / "facts")), "--output", str(tmp_path / "out"), "--min-facts", "11"]
    assert main(["build", "dataset", *words, "--min-objects", "2"]) == 1
    said = capsys.readouterr()
    assert "0 of 2 relations qualify. 12 facts in: 12 in relations that do not" in said.out
    assert "refused large: 10 facts and 4 objects; needed are 11 and 2" in said.err
    assert not (tmp_path / "out").exists()


def test_a_dataset_of_which_nothing_can_be_asked_is_an_error_that_says_what_to_set(tmp_path, capsys):
    words = ["build", "dataset", "--facts", str(written(tmp_path / "facts")), "--output", str(tmp_path / "out")]
    few = ["--min-facts", "10", "--min-objects", "4", "--train", "1"]
    assert main([*words, *few[:2], "--train", "1"]) == 1
    assert "min_facts: 10, min_objects: 4, fewer_choices: true" in capsys.readouterr().err
    assert main([*words, *few]) == 1
    assert "no fact is left to be asked: of the relations that qualify each is refused" in capsys.readouterr().err
    assert main([*words, *few, "--fewer-choices", "true"]) == 0


def test_kept_drafts_join_a_folders_templates_and_never_stand_beside_them_in_a_second_table(tmp_path, capsys):
    folder = written(tmp_path / "mine")
    csv = folder / "templates.csv"
    csv.write_text("relation_id,text,style\nlarge,[X] is of [Y].,statement\n")
    draft = Draft("large/d", "large", "[Y] has [X].", "statement", None, 1, None, "keep", None)
    tables.write_jsonl(tmp_path / "drafts.jsonl", [draft])
    words = ["build", "templates", "--drafts", str(tmp_path / "drafts.jsonl"), "--frozen", str(folder), "--output"]
    before = csv.read_text()
    assert main([*words, str(folder / "templates.jsonl")]) == 1
    assert f"{csv} is there, and both would be the same table twice" in capsys.readouterr().err
    assert main([*words, str(csv)]) == 1
    assert "templates.csv: would be written as JSON Lines" in capsys.readouterr().err
    assert csv.read_text() == before
    assert not (folder / "templates.jsonl").exists()
    assert main([*words, str(tmp_path / "templates.jsonl")]) == 0
    csv.unlink()
    (tmp_path / "templates.jsonl").rename(folder / "templates.jsonl")
    assert main([*words, str(folder / "templates.jsonl")]) == 0, "a table of JSON Lines is written anew"
    made = build(folder, tmp_path / "dataset")
    assert {row.text for row in tables.read(made / "templates.parquet", Template)} == {"[X] is of [Y].", "[Y] has [X]."}
