"""Measuring a model a second time: what depends on nothing that has changed stays, and nothing else does."""

import os
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.report import editions

from almanac import tables
from almanac.cli import main
from almanac.config import Asking, EditionConfig
from almanac.edition import measuring
from almanac.edition.jobs import Jobs
from almanac.edition.layout import Layout
from almanac.errors import AlmanacError
from almanac.rows import Entity, Item, Outcome, Relation, Response, Template
from almanac.suites.chapter import Table
from almanac.suites.facteval.reading import scoring
from almanac.suites.listing import SUITES
from almanac.versions import MAKER


@pytest.fixture
def layout(tmp_path):
    (tmp_path / "phrases.yaml").write_text("version: 1\nphrases: [dunno]\n")
    relations = [Relation("P1", "maker", *[None] * 4)]
    entities = [Entity(f"{kind}{at}", f"{kind} {at}", (), None) for kind in "QO" for at in range(60)]
    texts = {"statement": "[X] was made by [Y].", "question": "Who made [X]?"}
    templates = [Template(style, "P1", text, style, "written", None, ()) for style, text in texts.items()]
    known = editions.Known(relations, editions.facts_of(("P1",), "real"), entities, templates)
    short = {"types": ["saq"], "styles": ["wh"], "sample": 3, "abstentions": str(tmp_path / "phrases.yaml")}
    config = {
        "sources": {"real": {"path": "facts"}},
        "datasets": {"real": {"source": "real", **editions.SIZES}},
        "suites": {"ic_lke": {"real": {"shots": 4, "sample": 3}}, "facteval": {"real": short}},
        "models": [{"name": "mine", "path": "models/mine", "parameters": 1}],
    }

    def answer(model, request):
        if request.kind == "generate":
            return Response(request.request_id, "ok", None, texts=("dunno",))
        values = tuple(-float(at) for at in range(len(request.choices)))
        return Response(request.request_id, "ok", None, values, (1,) * len(values))

    return editions.finish(editions.asked(tmp_path, config, known), answer)


def measured(layout, capsys):
    """Measure the model again; return of each suite what is said of it, and what became of FactEval's items."""
    capsys.readouterr()
    scoring.load_phrases.cache_clear()  # as in a process of its own
    assert main(["measure", "model", "--edition", str(layout.root), "--model", "mine"]) == 0
    said = (line.partition(" of real: ") for line in capsys.readouterr().err.splitlines() if " of real: " in line)
    path = layout.judged(Asking("mine", "facteval", "real"), "outcomes")
    return {name: words.split(":")[0] for name, _, words in said}, {row.outcome for row in layout.read(path, Outcome)}


def changed(layout, **settings):
    """Record the edition with other settings of FactEval."""
    values = layout.config.model_dump(mode="json")
    values["suites"]["facteval"]["real"] |= settings
    layout.record().write_text(EditionConfig.model_validate(values).model_dump_json())
    return Layout.open(layout.root)


def test_what_depends_on_nothing_that_has_changed_stays(layout, capsys):
    stays = {"ic_lke": "kept", "facteval": "kept"}
    assert measured(layout, capsys) == (stays, {"missing"})
    layout = changed(layout, models=["mine"])
    assert measured(layout, capsys) == (stays, {"missing"}), "whom else a suite asks is no concern of a model's numbers"
    (layout.root / "phrases.yaml").write_text("version: 1\nphrases: [no idea]\n")
    said, outcomes = measured(layout, capsys)
    assert (said["ic_lke"], outcomes) == ("kept", {"incorrect"}), "the file that answers are judged by has changed"
    said, _ = measured(changed(layout, modes=["strict"]), capsys)
    assert said["ic_lke"] == "kept" and said["facteval"] != "kept"


def test_what_was_judged_by_settings_that_were_undone_is_judged_again(layout, capsys, monkeypatch):
    """A run with others was killed when its outcomes were there and its numbers were not."""

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(measuring, "measure", killed)
        (layout.root / "others.yaml").write_text("version: 1\nphrases: [no idea]\n")
        layout = changed(layout, abstentions=str(layout.root / "others.yaml"))
        words = ["measure", "model", "--edition", str(layout.root), "--model", "mine"]
        assert main(words) == 130
    path = layout.judged(Asking("mine", "facteval", "real"), "outcomes")
    assert {row.outcome for row in layout.read(path, Outcome)} == {"incorrect"}
    said, outcomes = measured(changed(layout, abstentions=str(layout.root / "phrases.yaml")), capsys)
    assert said["facteval"] != "kept" and outcomes == {"missing"}


def test_what_is_gone_or_damaged_is_made_again(layout, capsys):
    asking = Asking("mine", "ic_lke", "real")
    for path in (layout.judged(asking, "outcomes"), layout.measures(asking)):
        kept = path.read_bytes()
        for content in (None, kept[:-20]):
            path.unlink()
            if content is not None:
                path.write_bytes(content)
            said, _ = measured(layout, capsys)
            assert (said["facteval"], path.read_bytes()) == ("kept", kept)


@pytest.mark.parametrize(
    ("returned", "message"), [(None, "a list of Measure, found None"), ([1], "a list of Measure, found 1")]
)
def test_what_measure_must_return_is_said(layout, monkeypatch, returned, message):
    monkeypatch.setattr(type(SUITES["facteval"]), "measure", lambda *_: returned)
    with pytest.raises(AlmanacError, match=f"suite facteval: its `measure` must return {message}"):
        list(measuring.measure_model(changed(layout, modes=["strict"]), "mine"))


def test_the_suite_that_fails_is_named_below_the_traceback(layout, monkeypatch):
    monkeypatch.setattr(type(SUITES["facteval"]), "measure", lambda *_: [] + None)
    with pytest.raises(TypeError) as found:
        list(measuring.measure_model(changed(layout, modes=["strict"]), "mine"))
    assert found.value.__notes__ == ["in suite facteval, dataset real, model mine"]


def test_no_page_is_drawn_over_numbers_of_other_answers(small, tmp_path, capsys):
    """As where facts were changed and the run that asks them was stopped."""
    copy = replace(small, root=Path(shutil.copytree(small.root, tmp_path / "small")))
    first, *_ = copy.config.asked()
    path = copy.rounds(first)[0].folder / "items.parquet"
    rows = tables.read(path, Item)
    tables.write(path, Item, [replace(rows[0], name="Rome"), *rows[1:]])
    os.utime(path, (after := copy.measures(first).stat().st_mtime + 1, after))
    assert main(["report", "page", "--edition", str(copy.root)]) == 1
    message = f"{copy.measures(first)}: does not match the responses that are there; run again, whole"
    assert message in capsys.readouterr().err
    page = copy.page().read_text(encoding="utf-8")
    copy.page().write_text(page.replace(MAKER, "Almanac 0.0.1, measure 1, report 2"), encoding="utf-8")
    assert main(["report", "page", "--edition", str(copy.root)]) == 0, "numbers of an earlier version are no mixture"


def test_after_a_run_the_findings_stand_as_a_table_with_the_place_of_the_page(small, capsys):
    assert main(["report", "after", "--edition", str(small.root)]) == 0
    said = capsys.readouterr().out
    heads = next(line for line in said.splitlines() if "| known" in line or "known |" in line)
    rows = [line for line in said.splitlines() if line.startswith(("| base |", "| large |"))]
    assert rows and {row.count("|") for row in rows} == {heads.count("|")}
    assert said.rstrip().endswith(str(small.page()))


def test_no_page_is_drawn_of_settings_that_the_numbers_are_not_of(layout, capsys):
    """As where a run with other settings was stopped after it had recorded them."""
    later = changed(layout, modes=["strict"])
    os.utime(later.record(), (after := later.measures(Asking("mine", "facteval", "real")).stat().st_mtime + 1, after))
    assert main(["report", "page", "--edition", str(later.root)]) == 1
    assert "facteval/real.parquet: does not match the responses that are there; run again" in capsys.readouterr().err
    os.utime(changed(layout, modes=layout.options(Asking("mine", "facteval", "real")).modes).record(), (after, after))
    assert main(["report", "page", "--edition", str(layout.root)]) == 0
    os.utime(later.record(), (after, after))
    (later.root / "phrases.yaml").unlink()
    assert main(["report", "page", "--edition", str(later.root)]) == 0, "as on another machine"


@pytest.mark.parametrize(
    ("chapter", "message"),
    [
        (lambda *_: ("a",), "suite facteval: its `chapter` must return a Chapter or None, found ('a',)"),
        (lambda *_: Table("board", "", ("model", "n"), [("m",)]), "table board: 2 columns (model, n), but a row of 1"),
    ],
)
def test_whose_chapter_cannot_be_shown_is_said(small, monkeypatch, capsys, chapter, message):
    monkeypatch.setattr(type(SUITES["facteval"]), "chapter", chapter)
    assert main(["report", "page", "--edition", str(small.root)]) == 1
    said = capsys.readouterr().err
    assert message in said and "\nin the chapter of suite facteval, dataset " in said


def test_numbers_without_a_page_are_said_to_have_none(small, tmp_path, capsys):
    """As after the target of a suite, whose run removes the page of earlier numbers."""
    copy = replace(small, root=Path(shutil.copytree(small.root, tmp_path / "small")))
    copy.page().unlink()
    assert main(["report", "after", "--edition", str(copy.root)]) == 0
    said = capsys.readouterr().out.rstrip()
    assert said.endswith(f"{copy.root} has no page of these numbers: a run without a target draws it")


def test_a_page_that_is_older_than_the_numbers_is_said_to_be_so(small, tmp_path, capsys):
    copy = replace(small, root=Path(shutil.copytree(small.root, tmp_path / "small")))
    os.utime(copy.page(), (1, 1))
    first, *_ = copy.config.asked()
    copy.measures(first).unlink()  # as where a suite was added since
    assert main(["report", "found", "--edition", str(copy.root)]) == 0
    assert (
        capsys.readouterr()
        .out.rstrip()
        .endswith("report.html (is older than these numbers; a run without a target draws it again)")
    )


def test_where_nothing_was_found_that_is_said_without_a_table(small, tmp_path, capsys):
    copy = replace(small, root=Path(shutil.copytree(small.root, tmp_path / "small")))
    for asking in copy.config.asked():
        copy.measures(asking).unlink()
    assert main(["report", "found", "--edition", str(copy.root)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("\nNothing can be said: no method was answered by enough facts")
    assert "| model |" not in said


def test_after_a_model_has_written_texts_their_file_is_named_and_no_findings(small, tmp_path, capsys):
    log = Layout(tmp_path, small.config).log("write_drafting/two")
    log.parent.mkdir(parents=True)
    log.write_text("4 drafts: 3 kept, 1 empty; read two.jsonl\nalmanac build: 1.0 s wall, 1.0 s CPU, 99 MiB\n")
    path = tmp_path / "drafting" / "two.jsonl"
    assert main(["report", "found", "--edition", str(small.root), "--written", str(path)]) == 0
    assert capsys.readouterr().out == f"\n{path}\n", "without a log"
    assert main(["report", "found", "--edition", str(tmp_path), "--written", str(path)]) == 0
    assert capsys.readouterr().out == "\n4 drafts: 3 kept, 1 empty; read two.jsonl\n"


def test_a_file_that_measuring_alone_reads_asks_nothing_again(layout):
    wildcards = SimpleNamespace(about="all", dataset="real")
    settings = layout.config.model_dump(mode="json")
    assert settings["suites"]["facteval"]["real"]["abstentions"]
    flags = Jobs(layout.config, layout).asks(SUITES["facteval"], wildcards)
    settings["suites"]["facteval"]["real"]["abstentions"] = None
    config = EditionConfig.model_validate(settings)
    assert flags == Jobs(config, Layout(layout.root, config)).asks(SUITES["facteval"], wildcards)
    settings["suites"]["facteval"]["real"]["sample"] = 2
    config = EditionConfig.model_validate(settings)
    assert flags != Jobs(config, Layout(layout.root, config)).asks(SUITES["facteval"], wildcards)
