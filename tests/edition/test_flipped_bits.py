"""No single flipped bit in what one step leaves for the next is read as different data: it is refused or harmless."""

import json
import random
import shutil

import pytest
from tests.edition.test_portable import checkpoint

from almanac import sealed, tables
from almanac.cli import main
from almanac.edition.layout import Layout
from almanac.errors import AlmanacError
from almanac.models.options import AnswerOptions
from almanac.models.registry import load
from almanac.sources.files import read_folder
from almanac.verbs.plant import _record

FLIPS = 1000


def flipped(path, chance):
    """Flip one bit of a file."""
    content = bytearray(path.read_bytes())
    at = chance.randrange(len(content))
    content[at] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def verdicts(path, read, flips, tmp_path, seed):
    """What becomes of a file with one bit flipped, that many times: refused, the same, or different data."""
    chance, before, found = random.Random(seed), read(path), []
    kept = path.read_bytes()
    for _ in range(flips):
        flipped(path, chance)
        sealed._intact.clear()  # each time as a new process would see it
        try:
            found.append("same" if read(path) == before else "DIFFERENT")
        except AlmanacError as error:
            assert str(path.parent) in str(error), error
            found.append("refused")
        finally:
            path.write_bytes(kept)
    return found


def test_tables_of_every_kind(small, tmp_path):
    shutil.copytree(small.root, tmp_path / "own")
    own = Layout.open(tmp_path / "own")
    kinds = {}
    for path, row in {**own.tables(), **own.facts_tables()}.items():
        kinds.setdefault((path.name if tables.count(path, row) else "empty", row), path)
    assert len(kinds) > 20
    found = []
    for (_, row), path in kinds.items():

        def read(path, row=row):
            return tables.read(path, row), tables.read_metadata(path)

        found += verdicts(path, read, FLIPS // len(kinds) + 1, tmp_path, path.name)
    assert len(found) > FLIPS
    assert set(found) <= {"refused", "same"}
    assert found.count("refused") > 0.9 * len(found)


@pytest.fixture
def records(small, tmp_path):
    """An edition's record, a source that was pulled, and a model that was made."""
    settings = small.config.model_dump_json()
    assert main(["build", "edition", "--settings", settings, "--output", str(tmp_path / "edition.json")]) == 0
    facts = tmp_path / "facts"
    facts.mkdir()
    (facts / "facts.csv").write_text("relation_id,subject_id,object_id\nP1,Q1,Q2\nP1,Q2,Q1\n")
    (facts / "entities.csv").write_text("entity_id,label\nQ1,one\nQ2,two\n")
    assert main(["pull", "files", "--from", str(facts), "--output", str(tmp_path / "source")]) == 0
    checkpoint(tmp_path / "model", 1)
    _record(tmp_path / "model", {"made_of": "a corpus"})
    return tmp_path


def test_the_record_of_an_edition(records):
    found = verdicts(records / "edition.json", lambda path: Layout.open(path.parent).config, 200, records, 1)
    assert set(found) <= {"refused", "same"}


@pytest.mark.parametrize("name", ["facts.csv", "entities.csv", "pull.json"])
def test_what_was_pulled(records, name):
    def read(path):
        sealed.checked_record(path.parent / "pull.json")
        return read_folder(path.parent, "own")

    assert set(verdicts(records / "source" / name, read, 50, records, name)) <= {"refused", "same"}


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json", "files.json"])
def test_weights(records, name):
    def read(path):
        return load(str(path.parent), AnswerOptions(device="cpu")).digest

    found = verdicts(records / "model" / name, read, 10, records, name)
    assert set(found) <= {"refused", "same"}
    assert name == "files.json" or set(found) == {"refused"}


def test_responses_of_two_models_under_one_name_are_refused(small, tmp_path, capsys):
    """A user's own checkpoint has no record: what changes in it between two jobs shows in what they say of it."""
    shutil.copytree(small.root, tmp_path / "own")
    own = Layout.open(tmp_path / "own")
    paths = own.responses(next(own.config.asked()))
    for digest, path in zip("ab", paths, strict=False):
        row = small.tables()[small.root / path.relative_to(own.root)]
        tables.write(path, row, tables.read(path, row), {"almanac.model": digest * 64})
    assert main(["measure", "model", "--edition", str(own.root), "--model", "base"]) == 1
    said = capsys.readouterr().err
    assert f"model base: its responses are of 2 models: {paths[0]} (aaaaaaaaaaaa…), {paths[1]} (bbbbbbbbbbbb…)" in said


def test_a_record_without_its_digest_is_read_as_a_users_own(tmp_path):
    assert sealed.opened(json.loads('{"files": []}')) == {"files": []}
    with pytest.raises(ValueError, match="does not give its sha256"):
        sealed.opened({"files": [], "sha256": "0" * 64})
