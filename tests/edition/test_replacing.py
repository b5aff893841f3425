"""What a run replaces in an edition's folder is said before it begins, and what it cannot know of is refused."""

import json
import os
import re
from base64 import urlsafe_b64encode
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.persistence.file import FilePersistence
from tests.models.servers import Reply, Wire

from almanac import tables
from almanac.config import EditionConfig
from almanac.edition.jobs import Jobs
from almanac.edition.layout import Layout
from almanac.edition.replacing import (
    LONG_AGO,
    _remembered,
    check_copied,
    check_served,
    doubt,
    remember,
    replaced,
)
from almanac.errors import AlmanacError
from almanac.rows import Response
from almanac.sealed import sealed
from almanac.versions import MAKER, VERSIONS


def config(*models, **values):
    entries = [{"name": path.rpartition("/")[2], "path": path} for path in models]
    return EditionConfig.model_validate({"edition": "own", "facts": "ours", "models": entries, **values})


def of(*models):
    return [{"name": f"m{at}", **model} for at, model in enumerate(models)]


def test_what_a_run_replaces_is_said_and_what_it_adds_is_not(tmp_path, monkeypatch):
    root = tmp_path / "own"
    for name in ("MAKELEVEL", "MODEL"):
        monkeypatch.delenv(name, raising=False)

    def said(*models, **values):
        return replaced(Layout(root, config(*models, **values)))

    assert said("/a/mine") == [], "nothing is there"
    root.mkdir()
    (root / "edition.json").write_text(config("/a/mine", "/a/kept").model_dump_json())
    assert said("/a/mine", "/a/kept") == said("/a/kept", "/a/mine", "/a/more") == []
    keep = "keep both with --config edition=NAME"
    assert said("/b/mine", "/a/kept", size="full") == [
        f"{root} was made for model /a/mine; size quick; it is made anew for model /b/mine, /a/kept; size full; {keep}"
    ]
    assert said("/a/kept") == [f"/a/mine leaves the page of {root}; answers are kept"]
    assert said("/a/mine", "/a/kept", facts="others") == [
        f"{root} was made for facts ours; it is made anew for facts others; {keep}"
    ]
    assert said() == [], "without models only questions are made"
    assert said("/a/mine", "/a/kept", facts=None) == [
        f"{root} was made for facts ours; it is made anew for facts of another source; {keep}"
    ]
    both = ({"hub": "o/m", "revision": "a" * 40}, {"api": "http://h:1/v1", "api_model": "one"})
    others = ({"hub": "o/m", "revision": "b" * 40}, {"api": "http://h:1/v1", "api_model": "other"})
    (root / "edition.json").write_text(config(models=of(*both)).model_dump_json())
    assert said(models=of(*both)) == []
    was, now = (f"o/m@{letter * 40}, {name} at http://h:1/v1" for letter, name in (("a", "one"), ("b", "other")))
    assert said(models=of(*others)) == [f"{root} was made for model {was}; it is made anew for model {now}; {keep}"]
    (root / "edition.json").write_text(config("/a/mine", "/a/kept").model_dump_json())
    monkeypatch.setenv("MAKELEVEL", "1")
    for model, remedy in (("/a/mine", '"edition=NAME" of `make own`'), ("", '"--config edition=NAME" of `make`')):
        monkeypatch.setenv("MODEL", model)  # which make exports empty to what is no `make own`
        [line] = said("/a/mine", "/a/kept", facts="others")
        assert line.endswith(f"keep both with ARGS={remedy}")
    (root / "report.html").write_text(f'<meta name="generator" content="{MAKER}">')
    assert said("/a/mine", "/a/kept") == []
    (root / "report.html").write_text('<meta name="generator" content="Almanac 0.0.1, measure 1, report 2">')
    [other, anew] = said("/b/mine", "/a/kept")
    assert other == (
        f"{root} was made by Almanac 0.0.1, measure 1, report 2, and this is {MAKER}: whatever that changes is "
        "made anew; keep both with another edition=NAME"
    )
    assert "was made for model /a/mine" in anew
    (root / "report.html").unlink()
    (root / "edition.json").write_text("{")
    assert said("/b/mine") == [], "a damaged one is told by those who read it"


def test_copied_results_of_other_settings_are_not_taken_for_finished(tmp_path):
    """Snakemake remembers the settings of its own runs, by the base64 of a file's path."""
    root, memory = tmp_path / "own", tmp_path / ".snakemake"
    sources = {"mine": {"path": "/a/facts"}}
    about = {"sources": sources, "datasets": {"real": {"source": "mine", "train": 50}}}
    asked = {"suites": {"ic_lke": {"real": {"shots": 8}}}}
    check_copied(Layout(root, config("/a/mine", **about, **asked)), memory)
    for folder in (root, memory):
        folder.mkdir()
    made = config("/a/mine", **about, **asked)
    (root / "edition.json").write_text(json.dumps(sealed(made.model_dump(mode="json"))))
    check_copied(Layout(root, config("/a/mine", **about, **asked, title="Other words")), memory)
    moved = about | {"sources": {"mine": {"path": "/b/facts"}}}
    check_copied(Layout(root, config("/b/mine", **moved, **asked)), memory)  # a path says nothing
    changed = Layout(root, config("/a/mine", **about, suites={"ic_lke": {"real": {"shots": 2}}}))
    refusal = r"made elsewhere with other settings \(suites.ic_lke.real.shots: 8, now 2\)"
    with pytest.raises(AlmanacError, match=refusal):
        check_copied(changed, memory)
    name = urlsafe_b64encode(str(root / "edition.json").encode()).decode()
    for folder in ("metadata", "incomplete"):
        (memory / folder).mkdir(parents=True)

    def remembered(settings):
        params = [repr(settings.model_dump_json()), "10"]
        (memory / "metadata" / name).write_text(json.dumps({"params": params}))

    remembered(made)
    check_copied(changed, memory)  # made here: what has changed is made again
    remembered(changed.config)  # made here were others, in whose place these were put
    with pytest.raises(AlmanacError, match=refusal):
        check_copied(changed, memory)
    others = config("/a/yours", **about, **asked), config("/a/mine", **about, **asked, title="Other words")
    for other in others:  # in whose place a run elsewhere has since put what it was asked
        remembered(other)
        check_copied(Layout(root, other), memory)
        doubt(Layout(root, other), Jobs(other, Layout(root, other)), memory)
        assert not (root / "edition.json").exists(), "it is made anew, and what is shown with it"
        (root / "edition.json").write_text(json.dumps(sealed(made.model_dump(mode="json"))))
    (memory / "incomplete" / name).touch()  # a run was killed when it had written the record, and makes it again
    check_copied(changed, memory)


@pytest.mark.parametrize(
    ("now", "doubted"),
    [
        ({"title": "Other words"}, set()),
        ({"facts": "/b/facts"}, {"facts"}),
        ({"sources": {"mine": {"path": "/b/facts"}}}, {"facts"}),
        ({"mine": {"path": "/b/mine"}}, {"mine"}),
        ({"mine": {"dtype": "bfloat16", "series": "s"}}, {"mine"}),
        ({"mine": {"series": "s"}, "more": [{"name": "more", "path": "/a/more"}]}, set()),
        ({"mine": {"path": None, "hub": "a/b", "revision": "0" * 40}}, "models.mine.hub: null, now"),
        ({"sources": {"mine": {"kind": "imdb"}}, "contact": "a@b.org"}, "(sources.mine."),
    ],
)
def test_copied_results_of_a_model_or_facts_at_another_place_are_looked_at_again(tmp_path, now, doubted):
    """Answers keep what they hold: their job finds out whether the model is another."""

    def settings(mine=None, more=(), **values):
        both = [{"name": name, "path": f"/a/{name}"} for name in ("mine", "other")]
        both[0] |= mine or {}
        kept = {"sources": {"mine": {}}, "datasets": {"real": {"source": "mine"}}, "suites": {"ic_lke": {"real": {}}}}
        whole = {"edition": "own", "facts": "/a/facts", "models": [*both, *more], **kept, **values}
        return EditionConfig.model_validate(whole)

    layout, memory = Layout(tmp_path / "own", settings()), tmp_path / ".snakemake"
    files = {one.answerer: one.responses[0] for one in layout.every_round()}
    files |= {
        "facts": layout.source("mine") / "pull.json",
        "record": layout.record(),
        "pairs": layout.between("across"),
        "page": layout.page(),
    }
    for path in [*files.values(), *dict(Jobs(layout.config, layout).updated())]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    layout.record().write_text(json.dumps(sealed(layout.config.model_dump(mode="json"))))
    layout.page().write_text(PAGE)
    asked = Layout(layout.root, settings(**now))
    if isinstance(doubted, str):
        with pytest.raises(AlmanacError, match=re.escape(doubted)):
            check_copied(asked, memory)
        return
    check_copied(asked, memory)
    doubt(layout, Jobs(layout.config, layout), memory)  # as they were made
    assert all(path.stat().st_mtime > LONG_AGO for path in files.values())
    doubt(asked, Jobs(asked.config, asked), memory)
    assert {name for name, path in files.items() if path.exists() and path.stat().st_mtime == LONG_AGO} == doubted
    assert not layout.record().exists(), "it is made by the run, with what is asked now"
    check_copied(asked, memory)
    assert layout.record().exists(), "a run that ended while it was planned has made nothing"
    assert not layout.between("across").exists(), "who is compared may be others"


@pytest.fixture
def finished(tmp_path, monkeypatch):
    """The jobs of an edition whose files are all there, as Snakemake remembers; they are named as by its rules."""
    monkeypatch.chdir(tmp_path)
    values = {"sources": {"mine": {}}, "datasets": {"real": {"source": "mine"}}, "suites": {"ic_lke": {"real": {}}}}
    models = [{"name": name, "path": f"/a/{name}"} for name in ("mine", "other")]
    config = EditionConfig.model_validate({"edition": "own", "facts": "/a/facts", "models": models, **values})
    jobs = Jobs(config, Layout(Path("results/own"), config))
    updated = dict(jobs.updated())
    made = [path for path in (*jobs.made(), *jobs.begun()) if path.suffix]
    assert {path for own in updated.values() for path in own} <= {*made}
    for path in [*updated, *made, *(_remembered(path, MEMORY) for path in made)]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    jobs.layout.page().write_text(PAGE)
    jobs.layout.record().unlink()  # it would be one of another place
    return jobs


MEMORY = Path(".snakemake")
PAGE = f'<meta name="generator" content="{MAKER}">'


def test_what_a_failed_job_would_have_made_is_doubted(finished):
    """Each file that a job is given as it is, where the marker is missing that it has ended well."""
    jobs, updated = finished, dict(finished.updated())
    assert len(updated) == 2 * (1 + jobs.config.shards)
    for lost in (jobs.layout.ended(jobs.layout.numbers("mine")), next(iter(reversed(updated)))):
        lost.unlink()
        doubt(jobs.layout, jobs, MEMORY)
        for path in filter(Path.exists, jobs.made()):
            _remembered(path, MEMORY).touch()  # else the next turn would doubt it for that
        doubted = {path for own in updated.values() for path in own if path.stat().st_mtime == LONG_AGO}
        assert doubted == {path for mark, own in updated.items() if not mark.exists() for path in own} != set()


def test_what_another_user_has_made_is_doubted_too(finished, monkeypatch):
    """Files that both may write, but that only their owner may date."""
    marker, files = next(iter(finished.updated()))
    utime = os.utime

    def of_owner(path, times):
        if path in files:
            raise PermissionError(1, "Operation not permitted")
        utime(path, times)

    monkeypatch.setattr(os, "utime", of_owner)
    marker.unlink()
    doubt(finished.layout, finished, MEMORY)
    assert {path.stat().st_mtime for path in files} == {LONG_AGO}


def test_what_has_ended_after_its_run_is_made_again(finished):
    """As a job of a cluster does, when Snakemake is killed on the login node: it remembers nothing of its files."""
    layout = finished.layout
    [asking, _] = finished.config.asked()
    [answers, *_] = layout.responses(asking)
    requests = layout.rounds(asking)[0].requests[0]
    pulled = layout.source("mine") / "pull.json"
    made = [*filter(Path.exists, finished.made())]
    doubt(layout, finished, MEMORY)
    assert made and pulled.exists() and all(path.stat().st_mtime > LONG_AGO for path in made)
    for path in (answers, requests, pulled):
        _remembered(path, MEMORY).unlink()
    doubt(layout, finished, MEMORY)
    assert {path for path in made if path.stat().st_mtime == LONG_AGO} == {answers, requests}
    assert not pulled.exists(), "its job reads no file that would be newer"


class Made:
    """A job."""

    def __init__(self, output):
        self.output = output


def test_a_run_lets_snakemake_forget_what_it_makes_anew_and_remember_what_it_does_not(finished):
    """Killed later, it may have made what was remembered of other settings."""
    anew, old, copied = (Made([path]) for path in list(filter(Path.is_file, finished.made()))[:3])
    _remembered(copied.output[0], MEMORY).unlink()
    dag = SimpleNamespace(jobs=[anew, old, copied], needrun_jobs=lambda: [anew])
    seen = []
    keeper = SimpleNamespace(finished=lambda job: job)
    remember(SimpleNamespace(dag=dag, persistence=keeper, async_run=seen.append), finished.layout, MEMORY)
    assert seen == [copied]
    kept = [_remembered(one.output[0], MEMORY).exists() for one in (anew, old)]
    assert kept == [False, True]


@pytest.mark.parametrize("page", [None, PAGE.replace("Almanac", "Almanac 0.0")])
def test_the_record_of_a_copy_that_was_not_finished_or_other_code_made_says_nothing_of_the_rest(finished, page):
    """It is among the first that a run makes, so that answers may be there of the settings before."""
    layout = finished.layout
    layout.record().write_text(json.dumps(sealed(layout.config.model_dump(mode="json"))))
    begun, made = ([*filter(Path.exists, paths)] for paths in (finished.begun(), finished.made()))
    for path in (*begun, *made):
        _remembered(path, MEMORY).unlink(missing_ok=True)
    doubt(layout, finished, MEMORY)
    assert all(path.stat().st_mtime > LONG_AGO for path in (*begun, *made))
    layout.page().unlink()
    if page is not None:
        layout.page().write_text(page)
    doubt(layout, finished, MEMORY)
    assert {path.stat().st_mtime for path in made if path.exists()} == {LONG_AGO}
    assert begun and not any(map(Path.exists, begun))


@pytest.mark.parametrize("length", [20, 180, 181, 191, 200, 600])
def test_what_is_remembered_of_a_file_lies_where_snakemake_puts_it(tmp_path, monkeypatch, length):
    """In folders, where the name would be too long."""
    monkeypatch.chdir(tmp_path)
    path = Path("results") / ("a" * (length - 8))
    keeper = FilePersistence(nolock=True)
    assert _remembered(path, Path(keeper.path)) == Path(keeper._record_path(keeper._metadata_path, str(path)))


def response_files(folder, url, **more):
    """Return an edition that asks a server, and the first file of its answers."""
    model = {"name": "far", "api": url, "kinds": ["generate"], **more}
    values = {"edition": "own", "sources": {"ours": {"path": "ours"}}, "datasets": {"real": {"source": "ours"}}}
    suites = {"facteval": {"real": {}}}
    layout = Layout(folder, EditionConfig.model_validate({**values, "suites": suites, "models": [model]}))
    [one] = layout.every_round()
    one.responses[0].parent.mkdir(parents=True)
    return layout, one.responses[0]


@pytest.mark.parametrize(("version", "again"), [(VERSIONS["answer"] - 1, True), (VERSIONS["answer"], False)])
def test_before_what_was_paid_for_is_asked_again_for_a_new_version_it_is_said(tmp_path, version, again):
    layout, path = response_files(tmp_path, "http://far/v1")
    assert replaced(layout) == []
    path.write_bytes(b"damaged")
    assert replaced(layout) == [], "the job that reads it says so"
    tables.write(path, Response, [], metadata={"almanac.version": str(version)})
    assert ["far has answered a version of Almanac that asked" in said for said in replaced(layout)] == [True] * again


@pytest.mark.parametrize(
    ("served", "more", "message"),
    [
        (["a"], {}, None),
        (["b"], {}, "holds answers of a, and {url} serves b now; keep both with"),
        (["a", "b"], {}, None),  # which is asked then is a matter of the run
        (["b"], {"api_model": "a"}, None),
        ([], {}, None),
    ],
)
def test_a_server_that_serves_another_model_now_is_not_taken_for_the_one_that_answered(tmp_path, served, more, message):
    with Wire(lambda call: Reply.of({"data": [{"id": one} for one in served]})).running() as url:
        layout, path = response_files(tmp_path, url, **more)
        check_served(layout)  # nothing was answered yet
        tables.write(path, Response, [], metadata={"almanac.weights": f"a, revision undeclared, by the word of {url}"})
        if message is None:
            check_served(layout)
        else:
            with pytest.raises(AlmanacError, match=re.escape(message.format(url=url))):
                check_served(layout)
    check_served(layout)  # nobody is there any more
