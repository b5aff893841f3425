"""KaRR on the page, and in a frozen edition's second measuring: a tiny edition that asks KaRR alone."""

import random
import re
import shutil
from dataclasses import replace
from html import unescape

import editions
import pandas
import pytest

from almanac import tables
from almanac.cli import main
from almanac.edition.remeasure import measured
from almanac.report import karr
from almanac.report.explorer import follower
from almanac.report.page import share
from almanac.rows import Entity, Exposure, Measure, Outcome, Rating, Relation, Response, Template, Validation
from almanac.suites.karr.method import METHOD
from almanac.suites.karr.requests import SUITE
from almanac.suites.methods import METHODS

KARR = {"sample": 6, "templates": 1, "resamples": 3, "spurious": True}


def configuration(labels):
    return {
        "planting": {"worlds": {"invented": {"seed": 1}}},
        "datasets": {"invented": {"world": "invented", **editions.SIZES}},
        "suites": {"karr": {"invented": KARR | {"labels": labels}}},
        "models": [
            {"name": "base", "planted": {}, "parameters": 2_000_000},
            {"name": "large", "planted": {}, "parameters": 9_000_000},
            {"name": "silent", "planted": {}},
        ],
        "shards": 2,
    }


def answer(model, request):
    """Answer with numbers that depend on the text alone; one model answers nothing, one not everything."""
    if model == "silent":
        return Response(request.request_id, "unsupported", "it fills blanks only")
    rng = random.Random(model + request.text + str(request.pieces))
    if model == "large" and request.kind == "spans" and rng.random() < 0.005:
        return Response(request.request_id, "failed", "now and then")
    if request.kind == "fill":
        logs = tuple(rng.gauss(-4, 1) for _ in request.choices)
        return Response(
            request.request_id,
            "ok",
            None,
            logs,
            (1,) * len(logs),
            ranks=(0,) * len(logs),
            tokens=("x",),
            probabilities=(0.5,),
        )
    if request.pieces is not None:
        return Response(request.request_id, "ok", None, (-1.0,), (1,))
    last = rng.gauss(-5, 1)
    spans = [(last,) if start else (-3.0, last) for start in request.span_starts]
    values = tuple(value for span in spans for value in span)
    return Response(request.request_id, "ok", None, tuple(map(sum, spans)), tuple(map(len, spans)), values)


@pytest.fixture(scope="module")
def layout(tmp_path_factory):
    facts = editions.facts_of(("P1", "P2"))
    entities = [Entity(f"{kind}{at}", f"{kind} <{at}>", (), kind) for kind in "QO" for at in range(60)]
    relations = [Relation("P1", "maker", *[None] * 4), Relation("P2", "home", *[None] * 4)]
    templates = [
        Template("t1", "P1", "[X] was made by [Y].", "statement", "x", None, ()),
        Template("t2", "P1", "[Y] made [X].", "statement", "x", None, ()),
        Template("t3", "P1", "[X] comes from [Y].", "statement", "x", None, ()),
    ]
    labels = tmp_path_factory.mktemp("labels") / "labels.jsonl"
    rated = [Rating(fact.fact_id, "r", ("known", "unknown")[at % 2], None) for at, fact in enumerate(facts)]
    tables.write_jsonl(labels, rated)
    known = editions.Known(relations, facts, entities, templates)
    layout = editions.asked(tmp_path_factory.mktemp("tiny"), configuration(str(labels)), known)
    labels.unlink()  # what was asked holds the labels, so that a frozen edition is measured again without the file
    exposures = [Exposure(fact.fact_id, editions.DOSES[at // 12 % 3]) for at, fact in enumerate(facts)]
    return editions.finish(layout, answer, exposures)


def test_every_table_of_the_edition_is_there_and_is_what_it_says(layout):
    for path, row in layout.tables().items():
        assert tables.read(path, row) is not None, path
    second = {layout.second_folder(asking) / "items.parquet" for asking in layout.config.asked()}
    assert len(second) == 3 and second <= layout.tables().keys()
    leaves = layout.beside_outcomes(next(layout.config.asked()), "leaves")
    assert leaves.is_file() and leaves not in layout.tables()


def test_measuring_again_gives_the_same(layout):
    for asking in layout.config.asked():
        found = measured(layout, asking)
        outcomes, measures = found.outcomes, found.measures
        order = lambda rows: sorted(map(str, rows))  # noqa: E731
        assert order(outcomes) == order(tables.read(layout.outcomes(asking), Outcome))
        assert order(measures) == order(tables.read(layout.measures(asking), Measure))


def test_the_page_shows_what_was_measured(layout):
    [section] = karr.sections(layout)
    text = (layout.root / "report.html").read_text("utf-8")
    assert 'id="karr-invented"' in text
    assert "Without any value: silent" in text
    assert "does not end in [Y]" in text
    shown = {(board.model, board.experiment) for board in section.boards if board.value("known") is not None}
    for model in ("base", "large"):
        assert {name for own, name in shown if own == model} == set(karr.NAMES)
    assert not [model for model, _ in shown if model == "silent"]
    for name in karr.CAPTIONS:
        assert (layout.root / f"figures/invented-karr-{name}.svg").is_file()
        assert f"invented-karr-{name}-" in text
        assert karr.CAPTIONS[name] in unescape(text)


def test_the_analyses_are_on_the_page_and_in_its_tables(layout):
    text = (layout.root / "report.html").read_text("utf-8")
    [section] = karr.sections(layout)
    titles = ("Objects expected of any subject", "What the score owes to the draw", "Agreement with human labels")
    for title in titles:
        assert f"<h3>{title}</h3>" in text
    by_name = {(board.model, board.experiment): board for board in section.boards}
    for method in karr.NAMES:
        board = by_name["base", method]
        for name in (
            "spurious:known",
            "spurious:spurious_delta",
            "spurious:spurious_control",
            "templates:score_deviation",
            "recall_labels",
        ):
            assert board.value(name) is not None, (method, name)
        recall = board.numbers["recall_labels"]
        assert recall.n == 6  # known to the labels, half of those tested
        assert board.numbers["kendall_labels"].n == 12  # every tested fact is labelled
    delta = by_name["base", "paper"].value("spurious:spurious_delta")
    body = text[text.index("<h3>Objects expected of any subject</h3>") :]
    [row] = re.findall(r"<tr><th>base</th><td>KaRR</td>.*?</tr>", body[: body.index("</table>")])
    assert row.endswith(f'<td class="n">{share(delta)}</td></tr>') and "<b>ΔP</b>" in body
    # Who does not say what it expects is asked no second time, and each fact says so.
    assert "silent: 12 facts not asked with an expected object; the first: fact P1|" in text
    assert "(the object that the model expects is not known: unsupported: it fills blanks only)" in text
    rows = pandas.read_csv(layout.root / "tables" / "measures.csv")
    assert {"score_variance", "spurious_delta", "kendall_labels"} <= set(rows.metric)


def test_both_rounds_can_be_measured_by_hand(layout, tmp_path):
    """Without what was taught no threshold is calibrated; the other methods' numbers are the edition's."""
    asking = next(one for one in layout.config.asked() if one.model == "large")
    first, second = layout.request_folders(asking)
    words = ["--requests", str(first), "--again", str(second), "--responses", *map(str, layout.responses(asking))]
    words += ["--facts", str(layout.root / "dataset" / "invented"), "--templates", "1", "--output", str(tmp_path)]
    assert main(["measure", "karr", *words, "--model", "large", "--dataset", "invented"]) == 0
    wanted, found = (
        {(row.experiment, row.metric): row for row in rows if row.setting == "spurious" and row.experiment != "paper"}
        for rows in (tables.read(layout.measures(asking), Measure), tables.read(tmp_path / "measures.parquet", Measure))
    )
    assert found == wanted and len(found) == 4 * (len(karr.NAMES) - 1)


def test_what_cannot_be_measured_by_hand_is_refused_in_words(layout, tmp_path, capsys):
    asking = next(one for one in layout.config.asked() if one.model == "large")
    first, second = layout.request_folders(asking)
    words = ["measure", "karr", "--requests", str(first), "--output", str(tmp_path / "out"), "--templates", "1"]
    answered = list(map(str, layout.responses(asking)))
    assert main([*words, "--spurious", "true", "--responses", *answered[:2]]) == 1
    assert "these settings want a second round; give its folder (--again)" in capsys.readouterr().err
    for name, paths in (("a", answered[:2]), ("b", answered[2:])):
        for at, path in enumerate(paths):
            rows = [replace(row, model_digest=name * 64) for row in tables.read(path, Response)]
            tables.write(tmp_path / f"{name}{at}.parquet", Response, rows)
    mixed = [str(tmp_path / f"{name}{at}.parquet") for name in "ab" for at in (0, 1)]
    assert main([*words, "--again", str(second), "--responses", *mixed]) == 1
    told = f"the responses are of 2 models: {mixed[0]} (of aaaaaaaaaaaa…), {mixed[2]} (of bbbbbbbbbbbb…); give those"
    assert told in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_second_round_that_cannot_be_asked_is_refused_in_words(layout, tmp_path, capsys):
    asking = next(layout.config.asked())
    after = ["--after", str(layout.request_folder("karr", "invented"))]
    answered = ["--responses", *map(str, layout.responses(asking)[:2])]
    ask = ["ask", "karr", "--dataset", str(layout.root / "dataset" / "invented"), "--output", str(tmp_path / "out")]
    for words, message in (
        (["--spurious", "true", *after], "--after needs --responses"),
        (["--spurious", "true", *answered], "--responses is for a second round; add --after"),
        ([*after, *answered], "these settings want no second round"),
        (["--spurious", "true", "--sample", "6", *after, "--responses", answered[1]], "requests have no response"),
    ):
        assert main([*ask, *words]) == 1
        assert message in capsys.readouterr().err
    assert main(["ask", "karr", "--draws", "mine.jsonl", *after, "--output", str(tmp_path / "out")]) == 1
    assert "draws made elsewhere have no second round" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_suite_is_told_the_settings_of_every_round_where_it_says_what_a_number_counts(layout, monkeypatch):
    told = []
    asked = replace(METHOD, behind=lambda row, options, settings: told.append(settings))
    monkeypatch.setitem(METHODS, SUITE, asked)
    follower(layout, [SUITE], "invented")(karr.sections(layout)[0].measures[0])
    assert told == [["facts", "null", "spurious"]]


@pytest.mark.skipif(shutil.which("node") is None, reason="runs the page's script, with node")
def test_the_share_known_leads_to_its_items(layout):
    """Every button opens as many items as the number rests on, as many of them correct."""
    text = (layout.root / "report.html").read_text("utf-8")
    [section] = karr.sections(layout)
    number = {
        (row.model, row.experiment, row.setting, row.metric, row.relation_id): row
        for row in section.measures
        if row.metric in ("known", "recovery_auc", "recall", "kendall")
    }
    body = text[text.index('id="karr-invented"') :]
    buttons = [dict(re.findall(r'data-(\w+)="([^"]*)"', one)) for one in re.findall(r"<button ([^>]*)>", body)]
    buttons = [one for one in buttons if one.get("suite") == "karr"]
    assert {one["model"] for one in buttons} == {"base", "large"}
    for one, found in zip(buttons, editions.opened(text, buttons), strict=True):
        row = number[one["model"], one["experiment"], one["setting"], one["metric"], one.get("relation")]
        # What is held against doses leaves out facts without a value, which the page shows all the same.
        outcomes = [outcome for _, outcome in found if one["metric"] == "known" or outcome not in ("error", "invalid")]
        assert (len(outcomes), outcomes.count("correct")) == (row.n, row.n_correct), one
    assert {one["metric"] for one in buttons} == {"known", "recovery_auc", "recall", "kendall"}
    assert {one["setting"] for one in buttons} == {"facts", "null", "spurious"}
    assert any("relation" in one for one in buttons)
    # Facts that lack a value with one of the objects are neither counted nor shown.
    lacking = number["large", "paper", "spurious", "known", None].n
    assert 0 < lacking < number["base", "paper", "spurious", "known", None].n == 12


def test_recall_is_on_the_page_with_what_it_is(layout):
    """Of what was taught 64 times, the share called known: the same number as the end of the curve by exposure."""
    text = (layout.root / "report.html").read_text("utf-8")
    assert "<b>Recall</b>: of the facts that were taught most often (64 times), the share called known" in text
    rows = {(row.model, row.experiment, row.metric, row.exposure): row for row in karr.sections(layout)[0].measures}
    for model in ("base", "large"):
        for method in karr.NAMES:
            recall, curve = rows[model, method, "recall", None], rows[model, method, "accuracy_by_exposure", 64]
            assert (recall.value, recall.n) == (curve.value, curve.n)
            assert f'data-experiment="{method}" data-setting="facts" data-metric="recall" data-doses="64"' in text


def test_the_validation_has_a_row_a_method_and_none_is_judged(layout):
    rows = layout.read(layout.validation(), Validation)
    assert {(row.suite, row.model) for row in rows} == {("karr", "base"), ("karr", "large")}
    assert {row.experiment for row in rows} == set(karr.NAMES)
    assert not any(row.judged or row.failed for row in rows)
    assert all(row.setting == "facts" for row in rows)
