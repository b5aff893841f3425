"""What cites and describes a frozen edition is as its readers expect: CFF, and Croissant by its own library."""

import hashlib
import html
import json
import os
import re
import subprocess
import sys
import zipfile

import pytest
import yaml

from almanac.cli import main
from almanac.config import EditionConfig
from almanac.edition.archive import LOCKED
from almanac.edition.citation import citation, croissant, licence_text
from almanac.report.evidence import EvidenceFiles
from almanac.report.page import Page, render
from almanac.suites.chapter import Chapter

# Of the Croissant format 1.1 and of its extension for responsible AI.
REQUIRED = {"@context", "@type", "conformsTo", "name", "description", "license", "url", "creator", "version"}
REQUIRED |= {"distribution", "recordSet", "citeAs", "prov:wasDerivedFrom", "prov:wasGeneratedBy"}
REQUIRED |= {
    f"rai:{name}"
    for name in (
        "dataLimitations",
        "dataBiases",
        "personalSensitiveInformation",
        "dataUseCases",
        "dataSocialImpact",
        "hasSyntheticData",
    )
}
# The Python that has mlcroissant, which needs packages that Almanac does not.
READER = os.environ.get("ALMANAC_MLCROISSANT", sys.executable)
READ = """
import json, sys
import mlcroissant
found = mlcroissant.Dataset(sys.argv[1])
rows = {one.uuid: sum(1 for _ in found.records(one.uuid)) for one in found.metadata.record_sets}
print(json.dumps({"errors": list(found.metadata.issues.errors), "rows": rows}))
"""


@pytest.fixture(scope="module")
def folder(small, tmp_path_factory):
    """An archive as any program unpacks it, in the folder in which it was frozen."""
    there = tmp_path_factory.mktemp("cited")
    assert main(["freeze", "--edition", str(small.root), "--output", str(there)]) == 0
    [archive] = there.glob("*.zip")
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(there / archive.stem)
    return there / archive.stem


def read(folder, name):
    return json.loads((folder / name).read_text())


def test_the_archive_is_named_by_the_edition_and_its_digest(folder):
    assert folder.name == f"tiny-{read(folder, 'manifest.json')['digest'][:12]}"


def test_the_lock_travels(folder):
    assert (folder / "lock.txt").read_bytes() == LOCKED.read_bytes()


def test_the_citation_names_the_digest(folder):
    said = yaml.safe_load((folder / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= set(said), "what the format requires"
    assert said["identifiers"][0]["value"] == f"sha256:{read(folder, 'manifest.json')['digest']}"
    assert (said["type"], said["version"], said["license"]) == ("dataset", "tiny", ["MIT"])


@pytest.mark.parametrize(("credit", "who"), [({}, "The Almanac authors"), ({"credit": ["A & B", "C"]}, "A & B, C")])
def test_the_page_cites_whom_and_what_croissant_does(small, tmp_path, credit, who):
    config = EditionConfig.model_validate(small.config.model_dump() | {"title": "Who <made> it?"} | credit)
    manifest = {"digest": "0" * 64, "almanac": "1", "sources": [], "files": []}
    said = f"{who}: Who <made> it? (Almanac, edition tiny)"
    assert json.loads(croissant(config, manifest, {}))["citeAs"] == f"{said}, sha256 {'0' * 64}"
    first = Page("answer", "", "", Chapter("What was found", "", []))
    parts = ([first], [], {}, {"root": "results/e"}, EvidenceFiles(tmp_path / "items"), [], [])
    assert f"To cite: <q>{html.escape(said)}</q>" in render(config, *parts)


def test_croissant_has_what_is_required_and_every_file_by_its_digest(folder):
    said = read(folder, "croissant.json")
    assert set(said) >= REQUIRED
    assert said["conformsTo"] == ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]
    files = {one["contentUrl"]: one["sha256"] for one in said["distribution"]}
    assert files == {entry["path"]: entry["sha256"] for entry in read(folder, "manifest.json")["files"]}
    for name, sha256 in files.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == sha256
    inside = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert inside - set(files) == {"CITATION.cff", "croissant.json", "manifest.json"}


def mlcroissant(folder):
    """What the format's own library says of an edition; skip where it is not."""
    there = subprocess.run([READER, "-c", "import mlcroissant"], capture_output=True, check=False)
    if there.returncode:
        pytest.skip("mlcroissant is not installed; ALMANAC_MLCROISSANT names a Python that has it")
    words = [READER, "-c", READ, str(folder / "croissant.json")]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_croissants_own_library_loads_every_table_to_its_last_row(folder):
    ran = mlcroissant(folder)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout.splitlines()[-1])
    entries = read(folder, "manifest.json")["files"]
    assert found["errors"] == []
    assert found["rows"] == {one["path"].removesuffix(".jsonl"): one["rows"] for one in entries if one.get("rows")}


def test_croissants_own_library_finds_a_changed_file(folder):
    path = folder / "dataset" / "invented" / "facts.jsonl"
    before = path.read_bytes()
    path.write_bytes(before.replace(b"test", b"tset", 1))
    try:
        assert mlcroissant(folder).returncode != 0
    finally:
        path.write_bytes(before)


@pytest.mark.parametrize(
    ("licence", "cff", "address"),
    [
        ("CC-BY-SA-4.0", ["CC-BY-SA-4.0", "MIT"], "https://spdx.org/licenses/CC-BY-SA-4.0.html"),
        ("our own terms", None, "our own terms"),
    ],
)
def test_each_source_keeps_its_terms(small, licence, cff, address):
    source = {"name": "own", "kind": "files", "licence": licence}
    manifest = {"digest": "0" * 64, "almanac": "1", "sources": [source], "files": []}
    assert address in licence_text(source).decode()
    assert address in json.loads(croissant(small.config, manifest, {}))["license"]
    assert yaml.safe_load(citation(small.config, manifest)).get("license") == cff


@pytest.mark.parametrize("terms", [{"licence": "IMDb: personal"}, {"redistributable": True}])
def test_facts_that_may_not_be_passed_on_are_refused(small, tmp_path, capsys, terms):
    settings = json.loads(small.record().read_text())
    settings["sources"] = {"own": {"kind": "files", "path": "facts", **terms}}
    settings["datasets"]["invented"] |= {"world": None, "source": "own"}
    (tmp_path / "edition.json").write_text(json.dumps(settings))
    assert main(["freeze", "--edition", str(tmp_path), "--output", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert "sources.own: its facts may not be passed on, and an edition carries them" in said
    settings["sources"]["own"] |= yaml.safe_load(re.search(r"ARGS=\"sources='(.*)'\"", said)[1])["own"]
    assert EditionConfig.model_validate(settings).sources["own"].redistributable, "the remedy as it is printed"
    assert not (tmp_path / "out").exists()


def test_a_source_that_has_changed_since_it_was_pulled_is_refused(small, tmp_path, capsys):
    folder = tmp_path / "facts"
    folder.mkdir()
    (folder / "facts.csv").write_text("relation_id,subject_id,object_id\nP1,Q1,Q2\n")
    (folder / "entities.csv").write_text("entity_id,label\nQ1,one\nQ2,two\n")
    source = tmp_path / "source"
    assert main(["pull", "files", "--from", str(folder), "--output", str(source)]) == 0
    (source / "facts.csv").write_text("relation_id,subject_id,object_id\nP1,Q2,Q1\n")
    words = ["--min-facts", "4", "--min-objects", "2", "--train", "2", "--test", "2", "--choices", "2"]
    assert main(["build", "dataset", "--facts", str(source), *words, "--output", str(tmp_path / "dataset")]) == 1
    assert f"{source / 'facts.csv'}: has sha256" in capsys.readouterr().err
    assert not (tmp_path / "dataset").exists()
