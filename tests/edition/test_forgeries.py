"""Whoever changes a part of a frozen edition, and mends its manifest and citation too, is found by verifying."""

import json
import resource
import zipfile

import pytest
from tests.edition.forging import TOO_DEEP, members_of, mended, state, write

from almanac.cli import main
from almanac.edition.archive import freeze
from almanac.edition.manifest import MANIFEST, written

FACTS = "dataset/invented/facts.jsonl"
REQUESTS = "requests/ic_lke/invented/asked/all/requests-1.jsonl"
CONTEXTS = "requests/ic_lke/invented/asked/all/contexts.jsonl"


@pytest.fixture(scope="module")
def members(small, tmp_path_factory):
    """What an archive holds, by name."""
    path = tmp_path_factory.mktemp("frozen") / "small.zip"
    freeze(small, path)
    return members_of(path)


def replaced(name, old, new):
    """Change the first place of a member where a text stands."""

    def change(members, manifest):
        assert old in members[name]
        members[name] = members[name].replace(old, new, 1)

    return change


def lost(name):
    def change(members, manifest):
        del members[name]
        manifest["files"] = [entry for entry in manifest["files"] if entry["path"] != name]

    return change


def field(**values):
    return lambda members, manifest: manifest.update(values)


def other_model(members, manifest):
    next(entry for entry in manifest["files"] if "made_by" in entry)["made_by"] = {"model": "0" * 64}


RESPONSES = "responses/large/karr/invented/asked/all/responses-0.jsonl"


def again(members, manifest):
    """Let a response stand twice."""
    members[RESPONSES] = members[RESPONSES].partition(b"\n")[0] + b"\n" + members[RESPONSES]
    next(entry for entry in manifest["files"] if entry["path"] == RESPONSES)["rows"] += 1


SETTINGS = "requests/karr/invented/expected/large/settings.jsonl"
FORGERIES = {
    "cannot be made again (ComputeError": replaced(SETTINGS, b'"fields":"{', b'"fields":"z{'),
    "responses to": again,
    "manifest.json: sources are [('own', 'files', 'CC0-1.0')], the configuration says []": field(
        sources=[{"name": "own", "kind": "files", "licence": "CC0-1.0"}]
    ),
    "manifest.json: is of edition 'other', edition.json of 'tiny'": field(edition="other"),
    "manifest.json: parameters are of nobody": field(parameters={"nobody": 7}),
    "the manifest says that the model 0000": other_model,
    "report.html: an edition has it, and this one has not": lost("report.html"),
    f"{FACTS}: built again from world, it is another table": replaced(FACTS, b'"split":"test"', b'"split":"train"'),
    "planting/invented/world/facts.jsonl: an edition has it": lost("planting/invented/world/facts.jsonl"),
    f"{REQUESTS}: the text of": replaced(REQUESTS, b'"text":" Q', b'"text":" P'),
    f"{CONTEXTS}: the text of": replaced(CONTEXTS, b"O11", b"O10"),
}


@pytest.fixture
def forged(small, members, tmp_path):
    """Return an archive changed by a function."""
    return lambda change: mended(small, members, tmp_path / "forged.zip", change)


@pytest.mark.parametrize("message", FORGERIES)
def test_a_forger_who_mends_the_manifest_is_found(forged, capsys, message):
    assert main(["verify", "edition", forged(FORGERIES[message])]) == 1
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said


def test_what_is_shown_is_held_against_what_the_tables_give(forged, members, capsys):
    figure = min(name for name in members if name.startswith("figures/"))

    def change(members, manifest):
        replaced("report.html", b"<h1>", b"<h1>Best: ")(members, manifest)
        replaced(figure, b"<svg", b"<svg ")(members, manifest)
        lost("tables/validation.csv")(members, manifest)

    assert main(["verify", "edition", forged(change)]) == 1
    said = capsys.readouterr().err
    for message in ("report.html: is another", f"{figure}: is another", "tables/validation.csv: is missing"):
        assert message in said
    assert said.count("report is made again") == 3


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("CITATION.cff", b"The Almanac authors", b"Somebody else", "CITATION.cff: is not what the manifest and"),
        ("croissant.json", b"cr:RecordSet", b"cr:Record", "croissant.json: is not what the manifest and"),
        # Another version of Almanac may describe a column in other words.
        ("croissant.json", b"the fact's id", b"which fact", "made again, agrees"),
    ],
)
def test_what_cites_and_describes_an_archive_follows_from_it_but_for_words(
    members, tmp_path, capsys, name, old, new, said
):
    changed = dict(members)
    manifest = json.loads(changed.pop(MANIFEST))
    [entry] = [entry for entry in manifest["about"] if entry["path"] == name]
    assert old in changed[name]
    changed[name] = changed[name].replace(old, new)
    state(entry, changed[name])
    archive = write(tmp_path / "forged.zip", {**changed, MANIFEST: written(manifest)})
    assert main(["verify", "edition", archive]) == ("is not" in said)
    captured = capsys.readouterr()
    assert said in captured.out + captured.err


def verified(members, path, capsys):
    """Return what verifying an archive of some members says, and the MiB that it added to this process."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert main(["verify", "edition", str(path)]) == 1
    return capsys.readouterr().err, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def test_an_archive_that_would_unpack_to_far_more_than_its_size_is_refused(members, tmp_path, capsys):
    said, added = verified({**members, "tables/empty.csv": bytes(96 << 20)}, tmp_path / "dense.zip", capsys)
    assert "times its size; editions have less than 30 times; get the archive again, or add --dense" in said
    assert added < 32
    assert main(["verify", "edition", str(tmp_path / "dense.zip"), "--dense"]) == 1
    assert "tables/empty.csv: is in the archive and not in the manifest" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        (b'{"files": [' + b"{}," * 10_000_000 + b"{}]}", "holds 20000003 values, at most 1000000 are read"),
        (b'{"files": ' + b"[" * 900_000, f"manifest.json: is damaged ({TOO_DEEP}"),
        (b'{"files": [' + b"{}," * 400_000 + b"{}]}", "manifest.json is damaged: edition: is missing"),
    ],
    ids=["values", "brackets", "mistakes"],
)
def test_a_manifest_of_a_few_kilobytes_takes_little_memory(members, tmp_path, capsys, manifest, reason):
    """Read as Python's objects the first took more than eight gigabytes."""
    said, added = verified({**members, MANIFEST: manifest}, tmp_path / "empty.zip", capsys)
    assert reason in said
    assert added < 200


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name_are_refused(members, tmp_path, capsys):
    with zipfile.ZipFile(tmp_path / "twice.zip", "w") as archive:
        for name, text in [*members.items(), ("report.html", b"another page")]:
            archive.writestr(name, text)
    assert main(["verify", "edition", str(tmp_path / "twice.zip")]) == 1
    assert "report.html: is in the archive 2 times" in capsys.readouterr().err
