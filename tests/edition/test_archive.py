"""A frozen edition is the same bytes every time, travels whole, and what was changed in it is found and named."""

import hashlib
import json
import re
import shutil
import subprocess
import zipfile
from dataclasses import replace
from functools import partial

import pytest
import yaml
from tests.edition.forging import TOO_DEEP

from almanac import tables, versions
from almanac.cli import main
from almanac.edition.archive import freeze
from almanac.edition.layout import Layout
from almanac.edition.manifest import digest
from almanac.edition.measuring import entrant
from almanac.edition.unpacking import manifest_of, unpack
from almanac.errors import AlmanacError
from almanac.report import drawing, making
from almanac.rows import Item, Measure, Outcome, Response, Setting
from almanac.versions import MAKER, maker_of


@pytest.fixture(scope="module")
def archive(small, tmp_path_factory):
    path = tmp_path_factory.mktemp("frozen") / "small.zip"
    freeze(small, path)
    return path


@pytest.fixture
def own(small, tmp_path):
    """A copy of the edition that may be changed."""
    shutil.copytree(small.root, tmp_path / "own")
    return Layout.open(tmp_path / "own")


def capped(layout, megabytes):
    """Set how many megabytes of responses an archive carries."""
    config = layout.config.model_copy(update={"freeze_megabytes": megabytes})
    layout.record().write_text(config.model_dump_json())
    return Layout(layout.root, config)


def written_again(archive, target, change):
    """Write an archive again, its members changed: ``change`` gets them by their names."""
    with zipfile.ZipFile(archive) as old:
        members = {name: old.read(name) for name in old.namelist()}
    change(members)
    with zipfile.ZipFile(target, "w") as new:
        for name, content in members.items():
            new.writestr(name, content)
    return target


def test_the_same_edition_is_the_same_bytes(small, archive, tmp_path):
    manifest = freeze(small, tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == archive.read_bytes()
    with zipfile.ZipFile(archive) as frozen:
        assert json.loads(frozen.read("manifest.json")) == manifest
        for entry in manifest["files"]:
            content = frozen.read(entry["path"])
            assert (entry["bytes"], entry["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())
            assert entry.get("rows", content.count(b"\n")) == content.count(b"\n")


def test_an_archive_that_is_named_by_its_edition_alone_stays_where_another_is_frozen_into_its_folder(small, tmp_path):
    earlier = tmp_path / f"{small.config.edition}.zip"
    earlier.write_text("cited")
    digest = freeze(small, tmp_path)["digest"]
    assert {path.name for path in tmp_path.iterdir()} == {earlier.name, f"{earlier.stem}-{digest[:12]}.zip"}
    assert earlier.read_text() == "cited"


def test_a_run_that_has_not_ended_or_goes_on_meanwhile_is_not_frozen(own, tmp_path):
    changed = next(path for path, row in own.tables().items() if row is Response and tables.count(path, row))

    def anew():
        tables.write(changed, Response, list(tables.read(changed, Response)), tables.read_metadata(changed))

    with pytest.raises(AlmanacError, match=r"was changed meanwhile; wait until the run has ended"):
        freeze(own, tmp_path / "meanwhile", anew)
    assert not list((tmp_path / "meanwhile").iterdir())
    tables.write(changed, Response, list(tables.read(changed, Response))[:-1], tables.read_metadata(changed))
    with pytest.raises(AlmanacError, match=r"does not match the responses that are there; run again, whole"):
        freeze(own, tmp_path / "unfinished")


def test_what_a_person_has_put_beside_the_report_is_not_frozen_with_it(own, tmp_path, capsys):
    (own.shown("tables") / "notes.csv").write_text("mine")
    (own.shown("figures") / "drafts").mkdir()
    gone = min(own.shown("tables").glob("*.csv"), key=lambda path: path.name != "measures.csv")
    gone.unlink()
    assert main(["freeze", "--edition", str(own.root), "--output", str(tmp_path / "own.zip")]) == 1
    said = capsys.readouterr().err
    for name in ("tables/notes.csv", "figures/drafts"):
        assert f"{own.root / name}: is no part of the report; move it elsewhere" in said
    assert f"{gone}: is gone; delete {own.page()} and run again" in said and not (tmp_path / "own.zip").exists()


def test_what_other_code_has_made_is_not_frozen_and_its_name_alone_is_no_difference(own, tmp_path, capsys, monkeypatch):
    page = own.page().read_text("utf-8")
    assert maker_of(own.page()) == MAKER
    other = "Almanac 0.0.1, measure 1, report 2"
    own.page().write_text(page.replace(MAKER, other), "utf-8")
    with pytest.raises(AlmanacError, match=rf"report\.html: was made by {other}, and this is {MAKER}, which may"):
        freeze(own, tmp_path / "own.zip")
    monkeypatch.setattr("almanac.edition.archive.MAKER", other)
    monkeypatch.setattr("almanac.edition.archive.commit", lambda: "0" * 40)
    freeze(own, tmp_path / "own.zip")
    assert main(["verify", "edition", str(tmp_path / "own.zip")]) == 0
    said = f"it was made by {other} (commit {'0' * 40}), and this is {MAKER}, which may measure or draw something else"
    assert said in capsys.readouterr().err
    own.page().write_text(own.page().read_text("utf-8").replace("<h1", "<h1 id='drawn'", 1), "utf-8")
    freeze(own, tmp_path / "drawn.zip")
    assert main(["verify", "edition", str(tmp_path / "drawn.zip")]) == 1
    said = capsys.readouterr().err
    assert f"report.html: is another file when the report is made again by {MAKER}; it was made by {other}" in said


def test_an_archive_says_which_commit_froze_it_and_has_the_same_digest_by_any(small, tmp_path, monkeypatch):
    commits = iter(["0" * 40, f"{'1' * 40}-dirty", None])
    monkeypatch.setattr("almanac.edition.archive.commit", lambda: next(commits))
    found = [freeze(small, tmp_path / f"{at}.zip") for at in range(3)]
    assert [one.get("commit") for one in found] == ["0" * 40, f"{'1' * 40}-dirty", None]
    assert len({one["digest"] for one in found}) == 1
    for at, one in enumerate(found):
        assert manifest_of(tmp_path / f"{at}.zip", tmp_path) == one
        with zipfile.ZipFile(tmp_path / f"{at}.zip") as frozen:
            [software] = yaml.safe_load(frozen.read("CITATION.cff"))["references"]
        assert software.get("commit") == one.get("commit")


def test_the_commit_is_that_of_the_project(tmp_path, monkeypatch):
    def git(*words):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True, capture_output=True)

    monkeypatch.setattr(versions, "PROJECT", tmp_path)
    assert versions.commit() is None
    git("init")
    assert versions.commit() is None, "nothing is committed yet"
    (tmp_path / "file").write_text("one")
    git("add", "file")
    git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-m", "one")
    assert re.fullmatch("[0-9a-f]{40}", versions.commit())
    (tmp_path / "file").write_text("two")
    assert re.fullmatch("[0-9a-f]{40}-dirty", versions.commit())


@pytest.mark.parametrize("cited", [{}, {"cited": True}])
def test_an_archive_with_another_digest_than_is_cited_is_refused(archive, tmp_path, capsys, cited):
    manifest = manifest_of(archive, tmp_path)
    name, digest = manifest["edition"], manifest["digest"]
    here = shutil.copy(archive, tmp_path / f"{name}-{digest[:12]}.zip")
    assert main(["verify", "edition", str(here), "--digest", f"sha256:{digest}"]) == 0
    other = "0" * 12
    named = shutil.copy(archive, tmp_path / f"{name}-{other}.zip")
    arguments = [str(here), "--digest", other] if cited else [str(named)]
    assert main(["verify", "edition", *arguments]) == 1
    what = "--digest" if cited else "the name of the file"
    assert f"{what} says {other}, and the digest of its content is {digest}" in capsys.readouterr().err


def test_unpacked_it_has_the_same_tables_row_by_row(small, archive, tmp_path):
    unpack(archive, tmp_path / "there")
    there = Layout.open(tmp_path / "there", unpacked=True)
    assert len(small.tables()) == len(there.tables()) > 50
    for path, row in small.tables().items():
        moved = there.root / path.relative_to(small.root)
        assert tables.read(moved, row) == tables.read(path, row), path
    assert there.page().read_bytes() == small.page().read_bytes()
    assert not list(there.root.rglob("*.jsonl"))


def test_the_record_in_it_has_its_keys_in_the_configurations_order(small, archive):
    with zipfile.ZipFile(archive) as frozen:
        record = json.loads(frozen.read("edition.json"))
    assert list(record) == list(small.config.model_dump())
    assert list(record["suites"]) == list(small.config.suites.model_dump()) != sorted(record["suites"])


def test_it_verifies_and_says_meanwhile_what_it_does(small, archive, capsys):
    assert main(["verify", "edition", str(archive)]) == 0
    said, asked = capsys.readouterr(), len(list(small.config.asked()))
    assert "measures and the validation, measured again, agree" in said.out
    assert said.err.count(" …\n") == 4, "each step that may take minutes is named when it begins"
    at = (" unpacked …", " built again …", f"measured again: {asked} of {asked} ", "methods are compared", "the page ")
    assert sorted(at, key=said.err.index) == list(at)


def with_weights(layout):
    """Give each model weights, which no archive holds; return how many parameters they have."""
    counts = {}
    for width, name in enumerate(("base", "large"), 3):
        header = json.dumps({"w": {"dtype": "F32", "shape": [width, 10**6], "data_offsets": [0, 0]}}).encode()
        layout.model(name).mkdir(parents=True, exist_ok=True)
        (layout.model(name) / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
        counts[name] = width * 10**6
    main(["measure", "across", "--edition", str(layout.root)])
    return counts


def test_the_figures_of_an_archive_are_printed_as_those_of_its_folder(own, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(drawing, "PRINT", {"pdf": drawing.PRINT["pdf"]})
    with_weights(own)
    making.report_page(own)
    freeze(own, tmp_path / "own-0.1.zip")
    for edition in (own.root, tmp_path / "own-0.1.zip"):
        assert main(["report", "print", "--edition", str(edition)]) == 0
    one, other = (
        {path.name: path.read_bytes() for path in folder.iterdir()}
        for folder in (own.root / "print", tmp_path / "own-0.1-print")
    )
    assert one == other and {path.with_suffix(".pdf").name for path in own.shown("figures").glob("[!.]*")} == set(one)
    with zipfile.ZipFile(tmp_path / "own-0.1.zip") as archive:
        archive.extractall(tmp_path / "by-hand")
    capsys.readouterr()
    assert main(["report", "print", "--edition", str(tmp_path / "by-hand")]) == 1
    assert "by-hand: is an archive that was unpacked; name the archive itself" in capsys.readouterr().err


def test_every_part_of_the_page_counts_the_parameters_of_the_weights_also_where_these_are_not_there(own, tmp_path):
    counts = with_weights(own)
    making.report_page(own)
    assert {one.name: one.parameters for one in map(partial(entrant, own), own.config.asked())} == counts
    assert [row["parameters"] for row in making.model_rows(own)] == ["3.00 M", "4.00 M"]
    assert ">3 M<" in (own.shown("figures") / "karr-invented-size.svg").read_text()
    for name in counts:
        (own.model(name) / "model.safetensors").unlink()
    assert freeze(own, tmp_path / "own.zip")["parameters"] == counts, "weights may be removed"
    assert main(["verify", "edition", str(tmp_path / "own.zip")]) == 0


def test_the_page_says_which_models_are_let_think(own):
    first, *others = own.config.models
    config = own.config.model_copy(update={"models": (first.model_copy(update={"thinking_tokens": 2048}), *others)})
    told = [row["origin"].partition("; ")[2] for row in making.model_rows(Layout(own.root, config))]
    assert told == ["may think with at most 2,048 tokens", ""]


def test_items_in_files_next_to_the_page_travel_and_are_held_against_the_tables(own, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(making, "MOST", 0)
    making.report_page(own)
    [first, *more] = sorted(own.shown("items").iterdir())
    names = {entry["path"] for entry in freeze(own, tmp_path / "aside.zip")["files"]}
    assert more and {f"items/{path.name}" for path in (first, *more)} <= names
    assert main(["verify", "edition", str(tmp_path / "aside.zip")]) == 0
    first.write_text("another")
    freeze(own, tmp_path / "forged.zip")
    assert main(["verify", "edition", str(tmp_path / "forged.zip")]) != 0
    assert f"items/{first.name}: is another file when the report is made again" in capsys.readouterr().err


def test_large_responses_are_known_by_digest_and_the_numbers_are_measured_from_outcomes(own, tmp_path, capsys):
    whole = {entry["path"]: entry for entry in freeze(own, tmp_path / "whole.zip")["files"]}
    manifest = freeze(capped(own, 0), tmp_path / "small.zip")
    with zipfile.ZipFile(tmp_path / "small.zip") as frozen:
        assert not [name for name in frozen.namelist() if name.startswith("responses/")]
    withheld = {entry["path"]: entry for entry in manifest["files"] if entry.get("withheld")}
    assert set(withheld) == {name for name in whole if name.startswith("responses/")}
    for name, entry in withheld.items():
        assert entry == whole[name] | {"withheld": True}
    more = {entry["path"] for entry in manifest["files"]} - set(whole)
    assert more == {f"outcomes/{model}/karr/invented/leaves.jsonl" for model in ("base", "large")}, (
        "what was judged travels, so that numbers can be made of it"
    )
    capsys.readouterr()
    assert main(["verify", "edition", str(tmp_path / "small.zip")]) == 0
    said = capsys.readouterr().out
    for asking in own.config.asked():
        assert f"{asking.model}, {asking.suite} of {asking.dataset}: the edition has digests of its responses" in said


def forge(path, row, change):
    """Change rows of a table; return the place of the file."""
    tables.write(path, row, [change(one) for one in tables.read(path, row)], tables.read_metadata(path))


@pytest.mark.parametrize("megabytes", [500, 0])
@pytest.mark.parametrize("suite", ["ic_lke", "karr", "facteval"])
def test_forged_numbers_are_found_by_measuring_again(own, tmp_path, capsys, suite, megabytes):
    asking = next(one for one in own.config.asked() if one.suite == suite)
    metric = tables.read(own.measures(asking), Measure)[0].metric
    forge(own.measures(asking), Measure, lambda row: replace(row, value=0.999) if row.metric == metric else row)
    freeze(capped(own, megabytes), tmp_path / "forged.zip")
    assert main(["verify", "edition", str(tmp_path / "forged.zip")]) == 1
    said = capsys.readouterr().err
    assert f"measures/base/{suite}/invented: value is 0.999, measured again it is" in said
    assert "Traceback" not in said


def test_forged_outcomes_are_found_where_the_responses_travel(own, tmp_path, capsys):
    asking = next(iter(own.config.asked()))
    forge(own.judged(asking, "outcomes"), Outcome, lambda row: replace(row, outcome="correct"))
    freeze(own, tmp_path / "forged.zip")
    assert main(["verify", "edition", str(tmp_path / "forged.zip")]) == 1
    assert "outcomes/base/ic_lke/invented/outcomes: outcome is 'correct', measured again" in capsys.readouterr().err


def test_a_forged_number_between_models_is_found(own, tmp_path, capsys):
    forge(own.between("across"), Measure, lambda row: replace(row, n=row.n + 1))
    freeze(own, tmp_path / "forged.zip")
    assert main(["verify", "edition", str(tmp_path / "forged.zip")]) == 1
    assert "measures/across: n is" in capsys.readouterr().err


OUTCOMES = "outcomes/base/ic_lke/invented/outcomes.jsonl"
OUTCOME = b'{"item":0,"outcome":"correct","reading":""}\n'
CHANGES = {
    "outcomes/base/ic_lke/invented/outcomes.jsonl: has sha256": lambda members: members.update(
        {OUTCOMES: members[OUTCOMES].replace(b"incorrect", b"Incorrect", 1)}
    ),
    "outcomes/base/ic_lke/invented/outcomes.jsonl: has 3 bytes, the manifest says": lambda members: members.update(
        {OUTCOMES: b"{}\n"}
    ),
    "report.html: is in the manifest and not in the archive": lambda members: members.pop("report.html"),
    "more.txt: is in the archive and not in the manifest": lambda members: members.update({"more.txt": b""}),
    "has no manifest.json, so it is no edition; name the archive": lambda members: members.pop("manifest.json"),
    "manifest.json: its files and fields give the digest": lambda members: members.update(
        {"manifest.json": re.sub(rb'"digest": "[^"]*"', b'"digest": "' + b"0" * 64 + b'"', members["manifest.json"])}
    ),
    "manifest.json is damaged: about.0.bytes: must be at least 0; found -1": lambda members: members.update(
        {"manifest.json": re.sub(rb'"bytes": \d+', b'"bytes": -1', members["manifest.json"], count=1)}
    ),
    "manifest.json is damaged: files: is missing; add this key": lambda members: members.update(
        {"manifest.json": b"{}"}
    ),
    f"manifest.json: is damaged ({TOO_DEEP}": lambda members: members.update({"manifest.json": b"[" * 10**6}),
    "manifest.json: has 33554433 bytes, at most 33554432 are read": lambda members: members.update(
        {"manifest.json": b" " * (2**25 + 1)}
    ),
    "outcomes.jsonl: has 2 rows": lambda members: listed(members, OUTCOMES, OUTCOME * 2, rows=3),
    "would be written outside its folder": lambda members: listed(members, "../outside.txt", b"text"),
    "outcomes.jsonl: a line after row 0 is no row of Outcome": lambda members: listed(
        members, OUTCOMES, b'{"item":"first"}\n'
    ),
    "outcomes.jsonl: a line has more than": lambda members: listed(members, OUTCOMES, b" " * (2**26 + 2**23)),
    "more.txt: is no part of an edition of this configuration": lambda members: listed(members, "more.txt", b"text"),
    "files/0123/more.txt: is no part of an edition of this configuration": lambda members: listed(
        members, "files/0123/more.txt", b"text"
    ),
    "report.html: an edition has it, and this one has not": lambda members: unlisted(members, "report.html"),
    "dataset/invented/facts.jsonl: may not be withheld": lambda members: listed(
        members, "dataset/invented/facts.jsonl", members.pop("dataset/invented/facts.jsonl"), withheld=True
    ),
}


def unlisted(members, name):
    """Take a file out of an archive, and out of its manifest."""
    members.pop(name)
    manifest = json.loads(members["manifest.json"])
    manifest["files"] = [entry for entry in manifest["files"] if entry["path"] != name]
    members["manifest.json"] = json.dumps(manifest | {"digest": digest(manifest)}).encode()


def listed(members, name, content, **more):
    """Put a file into an archive, and into its manifest."""
    members[name] = content
    unlisted(members, name)
    manifest = json.loads(members["manifest.json"])
    entry = {"path": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest(), **more}
    manifest["files"].append(entry)
    manifest["digest"] = digest(manifest)
    if more.get("withheld"):
        members["manifest.json"] = json.dumps(manifest).encode()
        return
    members |= {name: content, "manifest.json": json.dumps(manifest).encode()}


@pytest.mark.parametrize("message", CHANGES)
def test_what_was_changed_in_an_archive_is_named(archive, tmp_path, message):
    changed = written_again(archive, tmp_path / "changed.zip", CHANGES[message])
    with pytest.raises(AlmanacError) as error:
        unpack(changed, tmp_path / "there" / "deep")
    assert message in str(error.value)
    assert not list((tmp_path / "there").rglob("outside.txt"))


@pytest.mark.parametrize("damage", ["no zip", "half", "a byte"])
def test_a_damaged_archive_is_said_to_be(archive, tmp_path, damage):
    content = bytearray(archive.read_bytes())
    if damage == "no zip":
        content = bytearray(b"text")
    elif damage == "half":
        del content[len(content) // 2 :]
    else:
        content[2000] ^= 255  # within the first member
    (tmp_path / "damaged.zip").write_bytes(content)
    with pytest.raises(
        AlmanacError, match=r"damaged\.zip: .*(is no readable archive|cannot be read) .*get the archive again"
    ):
        unpack(tmp_path / "damaged.zip", tmp_path / "there")


def test_an_archive_that_is_not_there_and_a_folder_are_no_damaged_archive(archive, tmp_path):
    (tmp_path / "demo-12.zip").write_bytes(b"")
    with pytest.raises(AlmanacError, match=r"there is no archive .*demo-1\.zip; did you mean .*demo-12\.zip\?$"):
        unpack(tmp_path / "demo-1.zip", tmp_path / "there")
    with pytest.raises(AlmanacError, match="is a folder; name the archive that `make edition`"):
        unpack(tmp_path, tmp_path / "there")


def test_a_number_that_json_cannot_say_is_named(own, tmp_path):
    asking = next(iter(own.config.asked()))
    forge(own.judged(asking, "outcomes"), Outcome, lambda row: replace(row, score=float("inf")))
    with pytest.raises(AlmanacError, match=r"outcomes\.parquet: one of the rows 1 to .* is not finite"):
        freeze(own, tmp_path / "small.zip")
    assert not (tmp_path / "small.zip").exists()


def test_the_names_of_settings_change_no_number_no_button_and_no_verdict(own, tmp_path, capsys):
    before = {asking: tables.read(own.measures(asking), Measure) for asking in own.config.asked()}
    across, page = tables.read(own.between("across"), Measure), own.page().read_text()
    folders = {one.folder for one in own.every_round()}
    for folder in folders:
        rows = tables.read(folder / "settings.parquet", Setting)
        # One name of a suite through all its rounds, as its items may be judged in a later one.
        opaque = {row.setting: tables.identity(row.setting)[:8] + "?" for row in rows}
        forge(folder / "settings.parquet", Setting, lambda row, names=opaque: replace(row, setting=names[row.setting]))
        forge(folder / "items.parquet", Item, lambda row, names=opaque: replace(row, setting=names[row.setting]))
    for model in ("base", "large"):
        assert main(["measure", "model", "--edition", str(own.root), "--model", model]) == 0
    assert main(["measure", "across", "--edition", str(own.root)]) == 0
    assert {asking: tables.read(own.measures(asking), Measure) for asking in own.config.asked()} == before
    assert tables.read(own.between("across"), Measure) == across
    assert main(["report", "page", "--edition", str(own.root)]) == 0
    assert own.page().read_text() == page
    freeze(own, tmp_path / "opaque.zip")
    assert main(["verify", "edition", str(tmp_path / "opaque.zip")]) == 0


@pytest.mark.parametrize("suites", [3, [], {"gone": 3}, {"gone": []}])
def test_a_record_of_other_types_is_refused_in_words(own, suites):
    record = json.loads(own.record().read_text()) | {"suites": suites}
    own.record().write_text(json.dumps(record))
    with pytest.raises(AlmanacError, match=r"edition\.json: suites.*"):
        Layout.open(own.root)


@pytest.mark.parametrize(("asked", "opens"), [({}, True), ({"d": {}}, False)])
def test_a_suite_that_is_not_installed_here_is_missed_only_where_it_is_asked(own, asked, opens):
    record = json.loads(own.record().read_text())
    record["suites"]["gone"] = asked
    own.record().write_text(json.dumps(record))
    if opens:
        assert Layout.open(own.root).config == own.config
    else:
        told = (
            r"suites\.gone: is unknown.*\nIt was made by another version \(read it with that one, .*not installed here"
        )
        with pytest.raises(AlmanacError, match=f"{re.escape(str(own.record()))}: {told}"):
            Layout.open(own.root)
        # An archive is unpacked into a folder of which its reader knows nothing.
        with pytest.raises(AlmanacError, match=rf"^edition\.json: {told}"):
            Layout.open(own.root, unpacked=True)
