"""A pull is frozen once and read for ever; asking again makes another, and says what changed."""

import bz2
import http.server
import importlib
import inspect
import json
import threading
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import pytest
from tests.sources.sparql_servers import oxigraph, proxy
from tests.sources.wikidata_rdf import WikidataShape, shipped

from almanac.cli import main
from almanac.rows import Entity, Fact
from almanac.sealed import sha256
from almanac.sources import frozen, snapshots
from almanac.sources import wikidata_queries as queries
from almanac.sources.answers import Answer, Recorder
from almanac.sources.files import FactTables, read_folder
from almanac.sources.options import KINDS, DbpediaOptions, DumpOptions, WikidataOptions
from almanac.tables import write

QUICK = ("--pause", "0", "--wait", "0.01", "--attempts", "2")


@pytest.fixture(scope="module")
def tables():
    return shipped("P36", "P569")


@pytest.fixture(scope="module")
def servers(tables):
    """A server today, and one later: ten facts are gone, one thing has another name and one other aliases."""
    today = WikidataShape(tables)
    own = list(tables.entities)
    own[3:5] = [type(own[3])(own[3].entity_id, "Renamed", own[3].aliases, None),
                type(own[4])(own[4].entity_id, own[4].label, ("Also",), None)]  # fmt: skip
    later = WikidataShape(FactTables(own, tables.relations, tables.facts[10:], []))
    with oxigraph(today.triples()) as one, oxigraph(later.triples()) as other, proxy(one) as between:
        yield between, one, other


def pull(url, tmp_path, *words, output="out"):
    """Run the command as a user would; the address stays the same, as it is part of the settings."""
    flags = ("--endpoint", url, "--contact", "me@example.org", "--snapshots", str(tmp_path / "snapshots"))
    return main(
        ["pull", "wikidata", "--relations", "P36", "P569", *flags, *QUICK, *words, "--output", str(tmp_path / output)]
    )


def test_the_network_is_asked_once_and_then_never_again(servers, tables, tmp_path):
    between, _, _ = servers
    between.script(lambda number: None)
    assert pull(between.url, tmp_path) == 0
    asked = len(between.seen)
    assert asked > 5
    first = {path.name: sha256(path) for path in (tmp_path / "out").glob("*.parquet")}
    between.script(lambda number: "500")
    assert pull(between.url, tmp_path) == 0
    assert between.seen == []
    assert {path.name: sha256(path) for path in (tmp_path / "out").glob("*.parquet")} == first
    assert len(read_folder(tmp_path / "out", "wikidata").facts) == len(tables.facts)


def test_a_record_says_from_where_when_and_under_which_terms(servers, tmp_path):
    between, _, _ = servers
    between.script(lambda number: None)
    pull(between.url, tmp_path)
    record = json.loads((tmp_path / "out" / "pull.json").read_text())
    assert (record["source"], record["licence"], record["redistributable"]) == ("wikidata", "CC0-1.0", True)
    assert record["raw"]["requests"] == len(between.seen)
    assert record["raw"]["settings"]["endpoint"] == between.url
    assert record["rows"]["facts"] > 0
    snapshot = next((tmp_path / "snapshots").glob("*/*/manifest.json")).parent
    assert record["raw"]["manifest_sha256"] == sha256(snapshot / "manifest.json")
    manifest = snapshots.verified(snapshot)
    assert manifest["tools"]["SPARQLWrapper"]
    assert "me@example.org" not in json.dumps(manifest) + json.dumps(record), "who asked is nobody's business"
    assert {path.relative_to(snapshot).as_posix() for path in snapshot.rglob("*") if path.is_file()} == {
        "manifest.json", *(entry["path"] for entry in manifest["files"])
    }  # fmt: skip


def test_asking_again_makes_another_snapshot_and_says_what_changed(servers, tables, tmp_path, capsys):
    between, one, other = servers
    between.script(lambda number: None)
    assert pull(between.url, tmp_path) == 0
    before = (tmp_path / "out" / "pull.json").read_bytes()
    between.upstream = other
    try:
        assert pull(between.url, tmp_path, "--again", "2999-01-01", output="changes.json") == 0
        printed = capsys.readouterr().out
        assert pull(between.url, tmp_path, "--again", "2999-01-01", output="changes.json") == 1
        assert "snapshots are never changed; give another date, or wait a minute" in capsys.readouterr().err
    finally:
        between.upstream = one
    changes = json.loads((tmp_path / "changes.json").read_text())
    gone = tables.facts[:10]
    assert sum(len(each["removed"]) for each in changes["facts"].values()) == len(gone)
    assert sum(len(each["added"]) for each in changes["facts"].values()) == 0
    assert len(changes["renamed"]) == 1
    assert "Renamed" in changes["renamed"][0]
    assert len(changes["other_aliases"]) == 1
    assert changes["to"] == "2999-01-01"
    assert f"{len(gone)} removed" in printed
    assert (tmp_path / "out" / "pull.json").read_bytes() == before, "the edition keeps its snapshot"
    assert pull(between.url, tmp_path, output="as_it_was") == 0
    assert pull(between.url, tmp_path, "--snapshot", "2999-01-01", output="later") == 0
    counts = [len(read_folder(tmp_path / name, "w").facts) for name in ("out", "as_it_was", "later")]
    assert counts == [len(tables.facts), len(tables.facts), len(tables.facts) - len(gone)]


@pytest.mark.parametrize("date", ["tomorrow", "2027-13-45", "2027-1-5", "2027-01-05T2460Z", "../../evil", ""])
def test_another_snapshot_is_called_by_a_date(tmp_path, capsys, date):
    assert pull("http://127.0.0.1:9", tmp_path, "--again", date) == 1
    assert f"--again: {date!r} is no date; give the day, as 2026-12-01" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_another_snapshot_is_called_by_no_date_before_the_newest(servers, tmp_path, capsys):
    """The one read is the first made, which is the one with the first date."""
    between, _, _ = servers
    between.script(lambda number: None)
    assert pull(between.url, tmp_path) == 0
    made = next((tmp_path / "snapshots").glob("*/*")).name
    assert pull(between.url, tmp_path, "--again", made[:10], output="changes.json") == 1
    assert f"--again: {made[:10]} comes before {made}, the newest snapshot" in capsys.readouterr().err


@pytest.mark.parametrize(("place", "message"), [("", "is a folder"), ("notes.txt/changes.json", "cannot be written")])
def test_a_place_for_the_report_is_looked_for_before_anything_is_pulled(servers, tmp_path, capsys, place, message):
    between, _, _ = servers
    between.script(lambda number: None)
    assert pull(between.url, tmp_path) == 0
    (tmp_path / "notes.txt").touch()
    asked = len(between.seen)
    assert pull(between.url, tmp_path, "--again", "2999-01-01", output=place) == 1
    assert message in capsys.readouterr().err
    assert len(between.seen) == asked


def test_what_is_new_or_gone_is_neither_renamed_nor_otherwise_known(tmp_path):
    for folder, keys in (("old", ("gone", "kept")), ("new", ("kept", "new"))):
        write(tmp_path / folder / "facts.parquet", Fact, [])
        write(
            tmp_path / folder / "entities.parquet", Entity, [Entity(key, f"{folder} {key}", (), None) for key in keys]
        )
    found = snapshots.changes(tmp_path / "old", tmp_path / "new")
    assert found == {"facts": {}, "renamed": ["kept: old kept -> new kept"], "other_aliases": []}


def test_a_pull_that_broke_off_goes_on_in_the_same_snapshot(servers, tmp_path, capsys):
    between, _, _ = servers
    between.script(lambda number: "503" if number > 4 else None)
    assert pull(between.url, tmp_path) == 1
    assert "fails (HTTP 503)" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert [path.suffix for path in (tmp_path / "snapshots").glob("*/*")] == [".partial"]
    between.script(lambda number: None)
    assert pull(between.url, tmp_path) == 0
    manifest = json.loads(next((tmp_path / "snapshots").glob("*/*/manifest.json")).read_text())
    assert manifest["requests"] == len(between.seen) + 5


def test_a_snapshot_whose_making_ended_at_the_last_line_is_made_whole(servers, tmp_path):
    between, _, _ = servers
    between.script(lambda number: None)
    assert pull(between.url, tmp_path) == 0
    whole = next((tmp_path / "snapshots").glob("*/*"))
    whole.rename(whole.with_name("2000-01-01.partial"))
    assert [pull(between.url, tmp_path) for _ in range(2)] == [0, 0]
    record = snapshots.verified(next((tmp_path / "snapshots").glob("*/*")))
    assert all(entry["path"] != "manifest.json" for entry in record["files"])


def test_asking_again_goes_on_with_what_was_interrupted(servers, tmp_path, capsys):
    between, _, _ = servers
    between.script(lambda number: None)
    assert pull(between.url, tmp_path) == 0
    whole = len(between.seen)
    between.script(lambda number: "503" if number > 4 else None)
    assert pull(between.url, tmp_path, "--again", "2999-01-01", output="changes.json") == 1
    between.script(lambda number: None)
    assert pull(between.url, tmp_path, "--again", "2999-01-01T0001Z", output="changes.json") == 0
    said = capsys.readouterr().err
    assert "fails (HTTP 503)" in said
    assert len(between.seen) == whole - 5, "what was answered before is not asked for again"
    assert json.loads((tmp_path / "changes.json").read_text())["to"] == "2999-01-01T0001Z"
    assert not list((tmp_path / "snapshots").glob("*/*.partial"))
    assert "going on with what was begun on 2999-01-01" in said
    home = next((tmp_path / "snapshots").glob("*"))
    for begun, date in (("2999-01-01", "2999-01-02"), ("2999-01-03", "2999-02-01")):
        (home / f"{begun}.partial").mkdir()
        (home / f"{begun}.partial" / "left over").touch()
        assert pull(between.url, tmp_path, "--again", date, output="changes.json") == 0
        assert (home / f"{begun}.partial" / "left over").is_file(), "older than the newest snapshot, or than a week"


@pytest.mark.parametrize(("begun", "resumed"), [("2026-12-01", True), ("2026-11-30", False), ("2026-11-02", False)])
def test_what_was_begun_a_week_ago_is_gone_on_with_and_older_is_not(tmp_path, begun, resumed):
    (tmp_path / "2026-11-03").mkdir()
    (tmp_path / "2026-11-03" / "manifest.json").touch()
    (tmp_path / f"{begun}.partial").mkdir()
    assert snapshots.begin(tmp_path, "2026-12-08") == tmp_path / "2026-12-08.partial"
    assert (tmp_path / f"{begun}.partial").exists() != resumed


def test_a_snapshot_of_another_version_can_be_replaced(servers, tmp_path, capsys, monkeypatch):
    between, _, _ = servers
    between.script(lambda number: None)
    assert pull(between.url, tmp_path) == 0
    later = replace(queries.PROPERTIES, prefixes=f"{queries.PROPERTIES.prefixes} ")
    monkeypatch.setattr(queries, "PROPERTIES", later)
    assert pull(between.url, tmp_path) == 1
    assert "pull again (`snakemake … -- repull`), and name the new one: `snapshot`" in capsys.readouterr().err
    assert pull(between.url, tmp_path, "--again", "2999-01-01", output="changes.json") == 0
    printed = capsys.readouterr().out
    assert "not compared with " in printed
    assert "there is 2999-01-01 now, which `snapshot` selects" in printed
    assert "holds no answer" in json.loads((tmp_path / "changes.json").read_text())["not_compared"]
    assert pull(between.url, tmp_path, "--snapshot", "2999-01-01") == 0


def test_a_pull_that_waited_for_another_reads_its_snapshot(servers, tmp_path, monkeypatch):
    between, _, _ = servers
    between.script(lambda number: None)
    asked = []

    @contextmanager
    def another_comes_first(*_):
        monkeypatch.undo()
        assert pull(between.url, tmp_path, output="first") == 0
        asked.append(len(between.seen))
        yield

    monkeypatch.setattr(frozen, "one_at_a_time", another_comes_first)
    assert pull(between.url, tmp_path) == 0
    assert asked == [len(between.seen)]
    assert len(list((tmp_path / "snapshots").glob("*/*"))) == 1


def test_a_snapshot_that_was_changed_is_refused(servers, tmp_path, capsys):
    between, _, _ = servers
    between.script(lambda number: None)
    pull(between.url, tmp_path)
    query = next((tmp_path / "snapshots").rglob("queries/*"))
    query.write_text(query.read_text() + " ")
    assert pull(between.url, tmp_path) == 1
    said = capsys.readouterr().err
    assert f"{query}: has sha256" in said
    assert "a snapshot may not change: pull again, or take it from where it was made" in said


def test_a_snapshot_that_is_not_there_is_named_with_those_that_are(servers, tmp_path, capsys):
    between, _, _ = servers
    between.script(lambda number: None)
    assert pull(between.url, tmp_path, "--snapshot", "2020-01-01") == 1
    assert "no snapshot '2020-01-01' with these settings; there are none" in capsys.readouterr().err
    assert pull(between.url, tmp_path, "--again", "2020-01-01", output="changes.json") == 1
    assert "there is no snapshot yet to pull again" in capsys.readouterr().err


def test_settings_that_ask_for_the_same_share_a_snapshot(tmp_path):
    same = [
        WikidataOptions(relations=["P36"]), WikidataOptions(relations=["P36"], pause=9, licence="mine", attempts=1),
    ]  # fmt: skip
    assert snapshots.home(tmp_path, same[0]) == snapshots.home(tmp_path, same[1])
    assert snapshots.home(tmp_path, same[0]) != snapshots.home(tmp_path, WikidataOptions(relations=["P37"]))
    dump = [DbpediaOptions(), DbpediaOptions(relations=["capital"])]
    assert snapshots.home(tmp_path, dump[0]) == snapshots.home(tmp_path, dump[1]), "one download serves both"


@pytest.fixture
def files(tmp_path):
    """A server of the files in a folder."""
    folder = tmp_path / "www"
    folder.mkdir()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *words):
            server.seen.append(self.path)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=folder)) as server:
        server.seen = []
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield server, folder
        server.shutdown()


DBPEDIA = "<http://dbpedia.org/{}>".format
LINE = f"{DBPEDIA('resource/France')} {DBPEDIA('ontology/capital')} {DBPEDIA('resource/Paris')} .\n".encode()


def test_a_dump_is_downloaded_once_for_all_ways_to_read_it(files, tmp_path, monkeypatch):
    server, folder = files
    name = DbpediaOptions.DOWNLOADS[0].name
    (folder / "dump.bz2").write_bytes(bz2.compress(LINE))
    url = f"http://127.0.0.1:{server.server_port}/dump.bz2"
    monkeypatch.setattr(DbpediaOptions, "DOWNLOADS", (DbpediaOptions.DOWNLOADS[0]._replace(url=url),))
    base = ["pull", "dbpedia", "--contact", "me@example.org", "--snapshots", str(tmp_path / "snapshots"), *QUICK]
    assert main([*base, "--output", str(tmp_path / "all")]) == 0
    assert main([*base, "--relations", "capital", "--output", str(tmp_path / "some")]) == 0
    assert server.seen == ["/dump.bz2"]
    assert [fact.fact_id for fact in read_folder(tmp_path / "some", "d").facts] == ["capital|France|Paris"]
    record = json.loads((tmp_path / "all" / "pull.json").read_text())
    assert record["raw"]["downloads"][name]["url"] == url
    assert record["raw"]["downloads"][name]["headers"]["Last-Modified"]


def test_files_of_the_users_own_are_read_where_they_lie_and_recorded(tmp_path, capsys):
    name = DbpediaOptions.DOWNLOADS[0].name
    words = ["pull", "dbpedia", "--path", str(tmp_path / "mine"), "--output", str(tmp_path / "out")]
    assert main(words) == 1
    assert f"path: there is no folder {tmp_path / 'mine'}; correct its path" in capsys.readouterr().err
    (tmp_path / "mine").mkdir()
    assert main(words) == 1
    assert f"lacks {name}" in capsys.readouterr().err
    (tmp_path / "mine" / name).write_bytes(bz2.compress(LINE))
    assert main(words) == 0
    record = json.loads((tmp_path / "out" / "pull.json").read_text())
    assert record["raw"][name]["sha256"] == sha256(tmp_path / "mine" / name)
    assert main([*words, "--again", "2027-01-01", "--output", str(tmp_path / "changes.json")]) == 1
    assert "put newer ones there" in capsys.readouterr().err


def test_what_only_a_person_can_fetch_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(DbpediaOptions, "DOWNLOADS", (DbpediaOptions.DOWNLOADS[0]._replace(url=None),))
    words = ["pull", "dbpedia", "--contact", "me@example.org", "--snapshots", str(tmp_path / "s")]
    assert main([*words, "--output", str(tmp_path / "out")]) == 1
    assert "put it into a folder and set `path` to that folder" in capsys.readouterr().err


def test_without_a_contact_nothing_is_asked(servers, tmp_path, capsys):
    between, _, _ = servers
    between.script(lambda number: None)
    words = ["pull", "wikidata", "--relations", "P36", "--endpoint", between.url, "--snapshots", str(tmp_path / "s")]
    assert main([*words, "--output", str(tmp_path / "out")]) == 1
    assert "give an e-mail address or a page" in capsys.readouterr().err
    assert between.seen == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_that_can_be_configured_can_be_read(kind):
    module = importlib.import_module(f"almanac.sources.{kind}")
    assert len(inspect.signature(module.read).parameters) == 2
    comes_in_files = issubclass(KINDS[kind], DumpOptions)
    assert comes_in_files or list(inspect.signature(module.fetch).parameters)[:3] == ["options", "folder", "contact"]


def test_a_body_that_cannot_be_counted_is_not_kept(tmp_path):
    class Server:
        def ask(self, query):
            return Answer("http://x", query, b"no JSON", "2026-01-01", {})

    with pytest.raises(ValueError, match="Expecting value"):
        Recorder(tmp_path, Server(), lambda body: len(json.loads(body))).ask("Q")
    assert not list(tmp_path.rglob("*.gz"))
