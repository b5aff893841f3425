"""FactEval on the page, and in a frozen edition's second measuring: a tiny edition that asks FactEval alone."""

import collections
import html
import re
import shutil

import editions
import pytest

from almanac import tables
from almanac.config import EditionConfig
from almanac.edition.layout import Layout
from almanac.edition.remeasure import measured
from almanac.report import facteval
from almanac.report.page import share
from almanac.rows import Entity, Exposure, FactEvalVerdict, Measure, Relation, Response, Template, Validation
from almanac.suites.facteval.measures import measure

SCRIPT = "<script>alert('answer')</script>"
ASKED = {"sample": 8, "contexts": ["none", "relevant", "irrelevant", "antifactual"], "pairs": ["plain:tuned"]}
CONFIGURATION = {
    "planting": {"worlds": {"invented": {"seed": 1}}},
    "datasets": {"invented": {"world": "invented", **editions.SIZES}},
    "suites": {"facteval": {"invented": ASKED}},
    "models": [{"name": name, "planted": {}} for name in ("plain", "tuned", "shy", "silent")],
    "shards": 1,
}


def number_of(request):
    """Return the number of the subject that a request asks about."""
    subject = re.search(r"thing (\d+)", request.text)
    return int(subject.group(1)) if subject else 0


def answer(model, request):
    """Answer by the text alone: one knows no format, one knows some facts and says so, one abstains, one is silent."""
    if model == "silent":
        return Response(request.request_id, "unsupported", "it fills blanks only")
    if model == "tuned" and request.context_id and number_of(request) % 5 == 0:
        return Response(request.request_id, "too_long", "its passage leaves no room")
    if model == "tuned" and request.context_id and number_of(request) % 5 == 1:
        return Response(request.request_id, "refused", "not said")
    if model == "shy":
        return Response(request.request_id, "ok", None, texts=("I don't know.",))
    number = number_of(request)
    truth = f"place {number % 12}"
    if request.options is not None or "MASK" in request.text or "?" in request.text:
        text = truth if number % 3 else f"{SCRIPT} somewhere"
        if model == "tuned":
            text = truth if number % 3 else "unsure"
    else:
        verdict = "CORRECT" if f"{truth}." in request.text else "INCORRECT"
        text = verdict if model == "tuned" else "\x07thing"
    return Response(request.request_id, "ok", None, texts=(text,))


@pytest.fixture(scope="module")
def layout(tmp_path_factory):
    facts = editions.facts_of(("P1", "P2"))
    names = {"Q": "thing", "O": "place"}
    entities = [Entity(f"{kind}{at}", f"{names[kind]} {at}", (), kind) for kind in "QO" for at in range(60)]
    relations = [
        Relation("P1", "maker", None, "N-1", "O", "<b>crafts</b>"),
        Relation("P2", "home", None, "N-1", "O", "places"),
    ]
    templates = [
        Template("t1", "P1", "[X] was made by [Y].", "statement", "x", None, ()),
        Template("t2", "P1", "Who made [X]?", "question", "x", None, ()),
        Template("t3", "P2", "[X] lives in [Y].", "statement", "x", None, ()),
    ]
    known = editions.Known(relations, facts, entities, templates)
    layout = editions.asked(tmp_path_factory.mktemp("tiny"), CONFIGURATION, known)
    exposures = [Exposure(fact.fact_id, editions.DOSES[at % 3]) for at, fact in enumerate(facts)]
    return editions.finish(layout, answer, exposures)


@pytest.fixture(scope="module")
def section(layout):
    [chapter] = facteval.chapters(layout)
    return chapter.values["section"]


@pytest.fixture(scope="module")
def page(layout):
    return (layout.root / "report.html").read_text("utf-8")


def test_every_table_of_the_edition_is_there_and_is_what_it_says(layout):
    for path, row in layout.tables().items():
        assert tables.read(path, row) is not None, path
    assert layout.beside_outcomes(next(layout.config.asked()), "verdicts") in layout.tables()


def test_measuring_again_gives_the_same(layout):
    for asking in layout.config.asked():
        found = measured(layout, asking)
        read = tables.read(layout.measures(asking), Measure)
        assert sorted(map(str, found.measures)) == sorted(map(str, read))
        again = tables.read(layout.beside_outcomes(asking, "verdicts"), FactEvalVerdict)
        assert sorted(map(str, found.beside["verdicts"])) == sorted(map(str, again))


def test_true_or_false_is_not_applicable_to_a_model_that_never_learned_the_format(section, page):
    found = {(board.model, board.experiment): board.applicable for board in section.plain if board.answered}
    assert not found["plain", "tfq-statement"]
    assert found["tuned", "tfq-statement"]
    assert all(found[model, "saq-fib"] for model in ("plain", "tuned"))
    chapter = page[page.index('id="facteval-invented"') :]
    [row] = re.findall(r"<tr><th>plain</th><td>tfq-statement .*?</tr>", chapter[: chapter.index("</table>")], re.DOTALL)
    assert "not applicable" in row
    assert "figures" not in row


@pytest.mark.parametrize(("counts", "applicable"), [((3, 0, 97, 0), True), ((1, 0, 60, 39), False)])
def test_abstentions_do_not_tell_whether_the_format_is_known(counts, applicable):
    valid = Measure("facteval", "d", "tfq-statement", "valid", "m", "s", None, None, None, 0.5, 0, 1, 100, *counts, 0)
    assert facteval.FactEvalBoard("m", "tfq-statement", "s", {"paper": {"valid": valid}}).applicable == applicable


def test_a_model_that_only_abstains_is_said_to(section, page):
    [board] = [one for one in section.plain if (one.model, one.experiment) == ("shy", "saq-fib")]
    assert board.number("paper", "f1").value == 0
    chapter = page[page.index('id="facteval-invented"') :]
    [row] = re.findall(r"<tr><th>shy</th><td>saq-fib .*?</tr>", chapter[: chapter.index("</table>")], re.DOTALL)
    assert "not applicable: it abstains always" in row
    assert section.untaught == ["shy"]
    assert "shy: planted models that abstain always where a blank is to be filled" in chapter


def test_who_fills_some_blanks_was_not_left_untaught():
    def board(model, experiment, missing, errors=0):
        counts = (10, 10 - missing - errors, 0, missing, 0, errors)
        row = Measure("facteval", "d", experiment, "f1", model, "s", None, None, None, 0.5, 0, 1, *counts)
        return facteval.FactEvalBoard(model, experiment, "s", {"paper": {"f1": row}})

    never = [board("never", "saq-fib", 10), board("never", "mcq-fib", 10), board("never", "saq-wh", 0)]
    some = [board("some", "saq-fib", 10), board("some", "mcq-fib", 0)]
    unasked = [board("short", "saq-fib", 10), board("short", "mcq-fib", 0, 10)]
    assert facteval.without_blanks([*never, *some, *unasked]) == {"never", "short"}


def test_without_a_model_for_it_the_page_says_that_no_wordings_are_compared(page):
    assert "no model is configured for it (<code>suites.facteval.invented.embedder</code>)" in page


def test_a_silent_model_is_named_and_has_no_number(section, page):
    assert "Without any answer: silent" in page
    assert not [board for board in section.boards if board.model == "silent" and board.answered]


def test_the_page_shows_both_modes_and_what_answers_say_is_escaped(section, page):
    [board] = [one for one in section.plain if (one.model, one.experiment) == ("plain", "saq-fib")]
    assert set(board.numbers) == {"paper", "official"}
    assert board.number("paper", "f1").value > 0
    # What is taken for a name in the released scorer is not: "somewhere" is no place.
    assert "<script>alert" not in page
    assert "\\u003cscript>alert" in page  # in the items that the page carries
    assert "domain=<b>crafts" not in page and "domain=&lt;b&gt;crafts" in page


def test_models_are_compared_before_and_after_tuning(section, page):
    assert {(pair.before.model, pair.after.model) for pair in section.pairs} == {("plain", "tuned")}
    assert "plain → tuned" in page


@pytest.fixture(scope="module")
def buttons(page):
    body = page[page.index('id="facteval-invented"') :].partition("</section>")[0]
    found = re.findall(r"<button ([^>]*)>([^<]*)</button>", body)
    return [(dict(re.findall(r'data-(\w+)="([^"]*)"', html.unescape(named))), words) for named, words in found]


@pytest.mark.skipif(shutil.which("node") is None, reason="runs the page's script, with node")
def test_each_number_of_both_modes_opens_its_items_and_they_count_up(layout, page, buttons):
    """A button is known by what its number counts: as many items, as many of them correct."""
    rows = collections.defaultdict(set)
    for asking in layout.config.asked():
        for row in layout.read(layout.measures(asking), Measure):
            mode = re.search("mode=([a-z]+)", row.setting)[1]
            if row.value is not None:
                key = (row.model, row.experiment, row.metric, row.relation_id, mode, share(row.value))
                rows[key].add((row.n, row.n_correct))
    shown = set()
    found = editions.opened(page, [wanted for wanted, _ in buttons])
    for (wanted, words), items in zip(buttons, found, strict=True):
        mode, metric = wanted.get("reading", "paper"), wanted["metric"]
        experiment = "all" if metric == "average_f1" else wanted["experiment"]
        counted = len(items), sum(outcome == "correct" for _, outcome in items)
        key = (wanted["model"], experiment, metric, wanted.get("relation"), mode, words)
        shown.add((metric, mode, "=" in wanted.get("marks", "")))
        if metric in ("kept", "gained"):  # of these both ways are shown, whatever was right without
            assert {setting.rpartition("=")[2] for setting, _ in items} > {"none"}
            assert counted[0] / 2 >= max(n for n, _ in rows[key])
        else:
            assert counted in rows[key], (wanted, words)
    assert {(metric, mode) for metric, mode, _ in shown} >= {
        *((metric, "paper") for metric in ("precision", "recall", "f1", "valid", "abstained", "average_f1")),
        *((metric, "paper") for metric in ("f1_with", "f1_without", "kept", "gained", "followed", "no_ops")),
        *((metric, "official") for metric in ("f1", "average_f1")),
    }
    assert ("f1", "paper", True) in shown  # of a domain, say


def test_there_are_three_figures(layout):
    for name in ("types", "abstention", "contexts"):
        assert (layout.root / f"figures/invented-facteval-{name}.svg").is_file()


def test_passages_are_compared_with_none(section):
    contexts = {setting.rpartition("context=")[2] for _, _, setting in section.robust}
    assert contexts == {"relevant", "irrelevant", "antifactual"}
    for own in section.robust.values():
        assert own["no_ops"].value == 0


def test_the_validation_has_short_answers_without_passages_and_none_is_judged(layout):
    rows = layout.read(layout.validation(), Validation)
    assert {row.suite for row in rows} == {"facteval"}
    assert {row.experiment for row in rows} == {"saq-fib", "saq-wh"}
    assert {row.model for row in rows} == {"plain", "tuned", "shy"}
    assert not any(row.judged or row.failed for row in rows)
    assert all(row.chance == 0 for row in rows)


def test_an_edition_in_which_nothing_was_asked_has_no_chapter(layout):
    bare = layout.config.model_copy(update={"suites": EditionConfig(edition="bare").suites})
    assert facteval.chapters(Layout(layout.root, bare)) == []
    assert measure("d", [], [], [], []) == []
