"""Every kind of files goes the whole way: from the publisher's shape through the commands to a dataset's tables."""

import json
import re
from pathlib import Path

import pytest
from pydantic import TypeAdapter
from tests.sources import (
    test_bear,
    test_biolama,
    test_dblp,
    test_dbpedia,
    test_goodreads,
    test_google_re,
    test_imdb,
    test_kamel,
    test_kassess,
    test_lpaqa,
    test_mag,
    test_myriadlama,
    test_openalex,
    test_trex,
    test_umls,
)

from almanac import tables
from almanac.cli import main
from almanac.rows import Entity, Evidence, Fact, Popularity
from almanac.sources.options import KINDS, AnySource, DumpOptions
from almanac.sources.source_tables import ROWS

BORN = [
    test_trex.DOCUMENT,
    test_trex.DOCUMENT | {"uri": f"{test_trex.ENTITY}Q2", "triples": [test_trex.triple("Q2", "P19", "Q3")]},
]
# Kind: who writes its small files, the flags, whether facts have texts, the types of popularity.
KIND = {
    "bear": (test_bear.write, (), False, {"mention"}),
    "biolama": (test_biolama.write, (), False, {"mention"}),
    "dblp": (test_dblp.write, ("--release", "2024-11-01"), False, {"person"}),
    "dbpedia": (test_dbpedia.dumped, (), False, {"thing"}),
    "goodreads": (test_goodreads.write, (), False, {"book"}),
    "google_re": (test_google_re.write, (), True, {"mention"}),
    "imdb": (test_imdb.write, (), False, {"title", "person"}),
    "kamel": (test_kamel.write, (), False, {"mention"}),
    "kassess": (test_kassess.write, (), False, {"mention"}),
    "lpaqa": (test_lpaqa.write, (), False, {"mention"}),
    "mag": (test_mag.write, (), False, {"paper", "journal", "conference"}),
    "myriadlama": (test_myriadlama.write, (), False, {"mention"}),
    "openalex": (test_openalex.write, ("--parts", *test_openalex.PARTS), False, {"paper", "journal"}),
    "trex": (lambda folder: test_trex.zipped(folder, {"a.json": BORN}), (), True, {"entity"}),
    "trex, as LAMA has it": (
        lambda folder: test_trex.zipped(folder, test_trex.LAMA, "data.zip"),
        ("--form", "lama"),
        True,
        {"mention"},
    ),
    "umls": (test_umls.write, ("--relations", "may_treat"), False, {"mention"}),
}


def test_a_configuration_can_name_every_kind_by_the_kinds_own_name():
    named = TypeAdapter(AnySource).json_schema()["$defs"].values()
    assert {options["properties"]["kind"]["const"] for options in named} == {"files", *KINDS}


def test_no_kind_of_files_is_forgotten():
    assert {name.partition(",")[0] for name in KIND} == {
        kind for kind, options in KINDS.items() if issubclass(options, DumpOptions)
    }


def test_the_document_says_of_every_kind_whether_an_edition_may_contain_it():
    page = (Path(__file__).parents[2] / "docs" / "sources.md").read_text(encoding="utf-8")
    lines = page[page.index("| kind | what |") :].partition("\n\n")[0].splitlines()[2:]
    said = {}
    for kinds, *_, terms in (line.strip("| ").split(" | ") for line in lines):
        # "`trex`, `bear`: yes; the others: no", or of all of the line "CC0, yes"
        own = [(re.findall(r"`(\w+)`", part), part.endswith("yes")) for part in terms.split("; ")]
        for kind in re.findall(r"`(\w+)`", kinds):
            said[kind] = next((may for named, may in own if kind in named), own[-1][1])
    assert said.pop("files") is False, "as you say"
    assert said == {kind: options.model_fields["redistributable"].default for kind, options in KINDS.items()}


@pytest.mark.parametrize("name", KIND)
def test_from_the_publishers_files_to_a_dataset(tmp_path, name):
    write, flags, texts, types = KIND[name]
    kind, raw = name.partition(",")[0], tmp_path / "raw"
    raw.mkdir()
    write(raw)
    pulled, dataset = tmp_path / "pulled", tmp_path / "dataset"
    assert main(["pull", kind, "--path", str(raw), *flags, "--output", str(pulled)]) == 0
    words = ("--min-facts", "1", "--min-objects", "2", "--train", "0", "--test", "1", "--choices", "2")
    # Where no fact has an object of its relation that is wrong for it, nothing can be built.
    built = main(["build", "dataset", "--facts", str(pulled), "--output", str(dataset), *words]) == 0
    facts, entities = tables.read(pulled / "facts.parquet", Fact), tables.read(pulled / "entities.parquet", Entity)
    popularity = tables.read(pulled / "popularity.parquet", Popularity)
    named = {row.entity_id for row in entities}
    assert facts
    assert {row.entity_id for row in popularity} <= named
    assert {row.type for row in popularity} == types
    assert {row.source for row in popularity} == {kind}
    counts = json.loads((pulled / "pull.json").read_text())["rows"]
    assert counts == {table: tables.count(pulled / f"{table}.parquet", row) for table, row in ROWS.items()}
    assert bool(tables.count(pulled / "evidence.parquet", Evidence)) == texts
    objects = {(fact.relation_id, fact.subject_id): set() for fact in facts}
    for fact in facts:
        objects[fact.relation_id, fact.subject_id].add(fact.object_key)
    assert built == any(
        own - true
        for (relation, _), true in objects.items()
        for (other, _), own in objects.items()
        if other == relation
    )
    if name == "trex":
        said = tables.read(dataset / "evidence.parquet", Evidence)
        assert [row.fact_id for row in said] == ["P19|Q1|Q2", "P19|Q2|Q3"]
    if built:
        kept = {row.fact_id for row in tables.read(dataset / "facts.parquet", Fact)}
        assert {row.fact_id for row in tables.read(dataset / "evidence.parquet", Evidence)} == kept & {
            row.fact_id for row in tables.read(pulled / "evidence.parquet", Evidence)
        }
        assert set(tables.read(dataset / "popularity.parquet", Popularity)) == set(popularity)


def turned_into_a_folder(path):
    path.unlink()
    path.mkdir()


DAMAGES = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3]),
    "empty": lambda path: path.write_bytes(b""),
    "a page": lambda path: path.write_bytes(b"<!DOCTYPE html><title>Sorry</title>"),
    "a folder": turned_into_a_folder,
    "gone": lambda path: path.unlink(),
}


@pytest.mark.parametrize("name", KIND)
def test_each_file_that_is_not_what_it_should_be_is_named_and_nothing_is_left(tmp_path, name, capsys):
    write, flags, *_ = KIND[name]
    raw, out = tmp_path / "raw", tmp_path / "out" / "here"
    raw.mkdir()
    write(raw)
    files = sorted(raw.iterdir())
    for file in files:
        whole = file.read_bytes()
        for damage, strike in DAMAGES.items():
            if damage == "cut" and file.suffix == ".dtd":
                continue  # a plain list of characters has no end: what it lacks is missed where it is needed
            strike(file)
            code = main(["pull", name.partition(",")[0], "--path", str(raw), *flags, "--output", str(out)])
            said = capsys.readouterr().err
            assert (code, f"almanac pull: {raw}" in said, file.name in said) == (1, True, True), (damage, said)
            assert not list(tmp_path.glob("out/*"))
            if file.is_dir():
                file.rmdir()
            file.write_bytes(whole)


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("umls", ("--relations", "may_treat", "may_teat")),
        ("trex", ("--relations", "P19", "P18")),
        ("trex, as LAMA has it", ("--form", "lama", "--relations", "P19", "P18")),
        ("dbpedia", ("--relations", "capital", "capitol")),
    ],
)
def test_a_relation_of_which_there_are_no_facts_is_named(tmp_path, name, flags, capsys):
    raw = tmp_path / "raw"
    raw.mkdir()
    KIND[name][0](raw)
    code = main(["pull", name.partition(",")[0], "--path", str(raw), *flags, "--output", str(tmp_path / "out")])
    assert code == 1
    assert re.search(
        r": has no facts of (may_teat|P18|capitol|\S+/capitol); correct `relations`", capsys.readouterr().err
    )


def test_a_source_without_any_facts_is_refused_with_what_was_left_out(tmp_path, capsys):
    raw = tmp_path / "raw"
    test_google_re.write(raw, {"date_of_birth": [test_google_re.line("date_of_birth", "soon", "soon")]})
    assert main(["pull", "google_re", "--path", str(raw), "--output", str(tmp_path / "out")]) == 1
    assert f"{raw}: gives no facts; left out were: date is no date: 1" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["raw"]
