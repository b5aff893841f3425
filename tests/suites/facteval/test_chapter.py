"""FactEval on the page, as data: what is not applicable and why, passages, pairs of models, figures."""

import re
from dataclasses import replace

import pytest
from matplotlib.figure import Figure

from almanac import tables
from almanac.frames import read_frame
from almanac.rows import Measure, NotAsked, Relation, Template
from almanac.suites.chapter import NOT_TAUGHT, Drawing, Entrant, Shown, Table
from almanac.suites.facteval.chapter import FormBoard, boards, chapter
from almanac.suites.facteval.questions import NAMES as LABELS
from almanac.suites.facteval.rows import QuestionTexts
from almanac.suites.judged import conditions_of

from .running import SUITE, measured, respond, write
from .tables import data, entity, fact

OPTIONS = {"contexts": ["none", "relevant", "irrelevant", "antifactual"], "pairs": ["plain:tuned"]}
NAMES = ("plain", "tuned", "shy", "silent")
FACTS = [fact(relation, f"Q{at}", f"O{at % 12}") for relation in ("P1", "P2") for at in range(24)]
TABLES = data(
    FACTS,
    [
        *(entity(f"Q{at}", label=f"thing {at}", kind="Q") for at in range(24)),
        *(entity(f"O{at}", label=f"place {at}", kind="O") for at in range(12)),
    ],
    relations=[
        Relation("P1", "maker", None, "N-1", "O", "<b>crafts</b>"),
        Relation("P2", "home", None, "N-1", "O", "places"),
    ],
    templates=[
        Template("t1", "P1", "[X] was made by [Y].", "statement", "x", None, ()),
        Template("t2", "P1", "Who made [X]?", "question", "x", None, ()),
        Template("t3", "P2", "[X] lives in [Y].", "statement", "x", None, ()),
    ],
)


def answer(model, request):
    """Answer by the text alone: one knows no format, one knows some facts and says so, one abstains, one is silent."""
    number = int((re.search(r"thing (\d+)", request.text) or ["", 0])[1])
    if model == "silent":
        return ("unsupported", "it fills blanks only")
    if model == "tuned" and request.context_id and number % 5 == 0:
        return ("too_long", "its passage leaves no room")
    if model == "tuned" and request.context_id and number % 5 == 1:
        return ("refused", "not said")
    if model == "shy":
        return "I don't know."
    truth = f"place {number % 12}"
    if request.options is not None or "MASK" in request.text or "?" in request.text:
        return truth if number % 3 else "unsure" if model == "tuned" else "somewhere"
    verdict = "CORRECT" if f"{truth}." in request.text else "INCORRECT"
    return "thing" if model == "plain" else verdict if number else "unsure"


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    folder = write(tmp_path_factory.mktemp("asked"), TABLES, **OPTIONS)
    doses = {one.fact_id: (0, 4, 64)[at % 3] for at, one in enumerate(FACTS)}
    found = {}
    for name in NAMES:
        said = respond(folder, lambda request, name=name: answer(name, request), name)
        found[name] = measured([folder], TABLES, [said], doses, name, **OPTIONS)
    across = SUITE.across({name: own.judged for name, own in found.items()}, None, SUITE.options(**OPTIONS))
    return Shown(
        "invented",
        6,
        [Entrant(name, name) for name in NAMES],
        {"P1": "maker", "P2": "home"},
        [row for own in found.values() for row in own.measures] + across,
        tables.read(folder / "refused.parquet", NotAsked),
        {"texts": read_frame(folder / "texts.parquet", QuestionTexts)},
    )


@pytest.fixture(scope="module")
def found(shown):
    return chapter(shown, SUITE.options(**OPTIONS))


@pytest.fixture(scope="module")
def plain(shown):
    return {(one.model, one.where["experiment"]): one for one in boards(shown) if one.where["context"] == "none"}


def table(found, name):
    """Return the rows of a table by their names for the columns."""
    [one] = [part for part in found.parts if isinstance(part, Table) and part.name == name]
    assert all(len(row) == len(one.head) for row in one.rows)
    return [dict(zip(one.head, row, strict=True)) for row in one.rows]


def scores(found, model, experiment):
    said = f"{LABELS[experiment]}, "
    [row] = [row for row in table(found, "scores") if row["model"] == model and row["question"].startswith(said)]
    return row


def test_true_or_false_is_not_applicable_to_a_model_that_never_learned_the_format(found, plain):
    assert not plain["plain", "tfq-statement"].applicable
    assert plain["tuned", "tfq-statement"].applicable
    assert all(plain[model, "saq-fib"].applicable for model in ("plain", "tuned"))
    row = scores(found, "plain", "tfq-statement")
    assert row["precision"] == "not applicable: its answers contain no verdict"
    assert (row["F1"], row["no verdict"]) == (None, row["asked"])
    row = scores(found, "tuned", "tfq-statement")
    assert row["no verdict"] == 0 < row["abstained"].n_missing, "as the scores count them, and not the released code"


@pytest.mark.parametrize(("counts", "applicable"), [((3, 0, 97, 0), True), ((1, 0, 60, 39), False)])
def test_abstentions_do_not_tell_whether_the_format_is_known(counts, applicable):
    valid = Measure(*["x"] * 3, None, "valid", "{}", "mean", (), 0.5, 0, 1, None, 100, *counts, 0)
    assert FormBoard("m", {}, {"strict": {"valid": valid}}).applicable == applicable


def test_a_model_that_only_abstains_is_said_to(found, plain):
    assert plain["shy", "saq-fib"].number("strict", "f1").value == 0
    assert scores(found, "shy", "saq-fib")["precision"] == "not applicable: it always abstains"


def test_a_planted_model_that_read_no_blanks_has_no_number_of_them(shown, plain):
    models = [replace(one, read=("prose", "question")) if one.name == "plain" else one for one in shown.models]
    found = chapter(replace(shown, models=models), SUITE.options(**OPTIONS))
    assert scores(found, "plain", "saq-fib")["precision"] == NOT_TAUGHT
    assert scores(found, "plain", "tfq-statement")["precision"] == NOT_TAUGHT, "no documents teach that"
    assert scores(found, "plain", "saq-wh")["precision"] is plain["plain", "saq-wh"].number("strict", "precision")
    assert scores(found, "tuned", "saq-fib")["precision"] is plain["tuned", "saq-fib"].number("strict", "precision")
    for name in ("parts", "relations"):
        told = {(row["model"], row["question"].split(",")[0]) for row in table(found, name)}
        assert ("plain", "question") in told and ("tuned", "blank") in told and ("plain", "blank") not in told


def test_a_silent_model_is_named_and_has_no_number(found):
    assert not [row for row in table(found, "scores") if row["model"] == "silent"]
    notes = [part for part in found.parts if isinstance(part, str) and part.startswith("silent, ")]
    assert len(notes) == 5 and all("without an answer" in note for note in notes)


def test_both_modes_stand_side_by_side(found, plain):
    row = scores(found, "plain", "saq-fib")
    assert row["F1"] is plain["plain", "saq-fib"].number("strict", "f1")
    assert row["F1, official"] is plain["plain", "saq-fib"].number("official", "f1")
    assert row["F1"].value > 0


def test_models_are_compared_before_and_after_tuning(found):
    rows = {row["question"].split(",")[0]: row for row in table(found, "tuning")}
    assert {row["models"] for row in rows.values()} == {"plain → tuned"}
    row = rows["question"]
    assert (row["F1 before"].model, row["F1 after"].model) == ("plain", "tuned")
    assert row["F1 difference"].value == row["F1 after"].value - row["F1 before"].value
    verdicts = rows["true or false"]
    assert (verdicts["F1 before"], verdicts["F1 difference"]) == (
        "not applicable: its answers contain no verdict",
        None,
    )
    assert [verdicts[f"abstained {when}"].value for when in ("before", "difference")] == [0, 1 / 24]


def test_passages_are_compared_with_none(found):
    rows = table(found, "passages")
    assert {re.search(r"(\w+) passage$", row["question"])[1] for row in rows} == {
        "relevant",
        "irrelevant",
        "antifactual",
    }
    assert {row["left out"].value for row in rows if "antifactual" in row["question"]} == {0}
    assert all(row["F1 with"].n == row["F1 without"].n for row in rows)


def test_parts_and_relations_are_named(found):
    assert {row["part"] for row in table(found, "parts")} >= {"domain: <b>crafts</b>", "truth: True", "answers: single"}
    assert {row["relation"] for row in table(found, "relations")} == {"maker", "home"}
    assert {row["mean F1"].metric for row in table(found, "averages")} == {"average_f1"}


def test_the_questions_are_there_as_texts_and_no_wordings_compared(found):
    assert {row["question"] for row in table(found, "texts")} >= {"question", "true or false"}
    assert [part for part in found.parts if isinstance(part, str) and "no model is named for it" in part]


def test_there_are_three_figures(found):
    drawn = {part.name: part.draw() for part in found.parts if isinstance(part, Drawing)}
    assert set(drawn) == {"types", "abstention", "contexts"}
    assert all(isinstance(figure, Figure) for figure in drawn.values())
    forms, places = ({one.get_title() for one in drawn["contexts"].axes}, drawn["contexts"].axes[0].get_xticklabels())
    assert {"choice for a blank", "blank", "question"} <= forms, "a panel a type and style"
    assert [label.get_text() for label in places] == ["none", "relevant", "irrelevant", "antifactual"]


def test_questions_asked_only_with_passages_leave_no_empty_table(shown):
    """As of an edition whose `contexts` lack none."""
    kept = [row for row in shown.measures if conditions_of(row).get("context") != "none"]
    found = chapter(replace(shown, measures=kept), SUITE.options(contexts=["relevant"]))
    named = [part.name for part in found.parts if isinstance(part, Table)]
    assert "scores" not in named and "relations" in named
    assert all(part.rows for part in found.parts if isinstance(part, Table))


def test_without_numbers_there_is_no_chapter():
    assert chapter(Shown("d", 6, []), SUITE.options()) is None
