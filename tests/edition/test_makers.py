"""A frozen edition says what made its responses, and a record that its rows contradict is refused."""

import json
import zipfile

import pytest
from tests.edition.forging import members_of, mended
from tests.report import editions
from tests.suites.ic_lke.small_world import tiny_model

from almanac import tables
from almanac.cli import main
from almanac.models.answering import LocalAnswerer
from almanac.rows import Entity, Exposure, Relation, Response, Template

CONFIGURATION = {
    "planting": {"worlds": {"invented": {"seed": 1}}},
    "datasets": {"invented": {"world": "invented", **editions.SIZES}},
    "suites": {"ic_lke": {"invented": {"shots": 2, "sample": 4}}},
    "models": [{"name": "base", "planted": {}}],
    "shards": 2,
}


@pytest.fixture(scope="module")
def layout(tmp_path_factory):
    """An edition that a tiny model of random weights has answered."""
    facts = editions.facts_of(["P1"])
    entities = [Entity(f"{kind}{at}", f"{kind}{at}", (), None) for kind in "QO" for at in range(60)]
    template = Template("t", "P1", "[X] was made by [Y].", "statement", "x", None, ())
    known = editions.Known([Relation("P1", "maker", *[None] * 4)], facts, entities, [template])
    layout = editions.asked(tmp_path_factory.mktemp("tiny"), CONFIGURATION, known)
    [asking] = layout.config.asked()
    tables.write(layout.exposures(asking), Exposure, [Exposure(fact.fact_id, 4) for fact in facts])
    editions.answered(layout, lambda _: LocalAnswerer(tiny_model()))
    return editions.measure(layout)


@pytest.fixture(scope="module")
def archive(layout, tmp_path_factory):
    path = tmp_path_factory.mktemp("frozen") / "tiny.zip"
    assert main(["freeze", "--edition", str(layout.root), "--output", str(path)]) == 0
    return path


def manifest_of(archive):
    with zipfile.ZipFile(archive) as opened:
        return json.loads(opened.read("manifest.json"))


@pytest.fixture
def forged(layout, archive, tmp_path):
    """Return an archive with another record of what made the responses."""

    def change_by(change):
        def mend(members, manifest):
            for entry in manifest["files"]:
                if "made_by" in entry:
                    entry["made_by"] = change(entry["made_by"])

        return mended(layout, members_of(archive), tmp_path / "forged.zip", mend)

    return change_by


def test_each_response_file_keeps_its_record(layout, archive):
    [asking] = layout.config.asked()
    entries = {entry["path"]: entry for entry in manifest_of(archive)["files"]}
    named = set()
    for path in layout.responses(asking):
        record = entries.pop(path.relative_to(layout.root).with_suffix(".jsonl").as_posix())["made_by"]
        assert {f"almanac.{name}": value for name, value in record.items()} == tables.read_metadata(path)
        assert record["model"] == tiny_model().digest
        assert record["weights"] == tiny_model().identity["weights"]
        named |= {row.model_digest for row in tables.read(path, Response)}
        assert {"tokenizer", "dtype", "device", "engine", "self_test", "requests", "contexts", "torch"} <= set(record)
    assert named == {tiny_model().digest}
    assert not any("made_by" in entry for entry in entries.values())


def test_verifying_prints_once_what_made_a_models_responses(archive, capsys):
    assert main(["verify", "edition", str(archive)]) == 0
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("base: ")]
    for name in ("model", "weights", "tokenizer"):
        assert f"{name} {tiny_model().identity[name][:12]}" in line
    assert "dtype float32" in line and "device cpu" in line and "engine forest/" in line


def test_a_record_that_names_another_model_than_the_rows_is_refused(forged, capsys):
    other = forged(lambda record: record | {"model": "0" * 64})
    assert main(["verify", "edition", other]) == 1
    said = capsys.readouterr().err
    assert "responses/base/ic_lke/invented/asked/all/responses-" in said
    assert f"the manifest says that the model {'0' * 64} made it" in said
    assert tiny_model().digest in said


@pytest.mark.parametrize("record", ["me", {"weights": "w"}, {"model": None}])
def test_a_damaged_record_is_named(forged, capsys, record):
    damaged = forged(lambda _: record)
    assert main(["verify", "edition", damaged]) == 1
    assert "made_by in the manifest is" in capsys.readouterr().err


def test_an_edition_whose_files_say_nothing_verifies_and_that_is_said(forged, capsys):
    assert main(["verify", "edition", forged(lambda _: {})]) == 0
    assert "2 response files do not say what made them" in capsys.readouterr().out
