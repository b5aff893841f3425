"""Which items the page opens for a number: as many as it counts, of the questions that it speaks of."""

import pytest

from almanac.suites.facteval.behind import behind, marks, readings
from almanac.suites.facteval.judging import Answer
from almanac.suites.facteval.measuring import VERDICTS, measured
from almanac.suites.facteval.options import FactEvalOptions
from almanac.suites.facteval.robustness import BOTH, asks

from .judged import question
from .test_measures import asked

OPTIONS = FactEvalOptions()


def row(name, context="none", answer="Paris", **other):
    return (name, "a", question("saq", "Paris", context=context, text=f"{name}?", **other), answer)


ROWS = [
    row("u", domain="places"),
    row("v", answer="p", domain="people"),
    row("w", domain="people"),
    row("u", "antifactual", "Rome", stated="Rome", changed=True, domain="places"),
    row("v", "antifactual", stated="Rome", changed=False, domain="people"),  # nothing was replaced
    row("x", "antifactual", stated="Rome", changed=True),  # was never asked without a passage
    row("y"),
    row("y", "antifactual", Answer(None, "error"), stated="Rome", changed=True),  # too long with its passage
    row("z"),
    row("z", "antifactual", Answer(None, "missing"), stated="Rome", changed=True),  # refused: it follows nothing
]


@pytest.fixture(scope="module")
def answered():
    return asked(ROWS)


@pytest.fixture(scope="module")
def found(answered):
    return measured(answered, OPTIONS)


def opened(answered, found, one):
    """Return the items behind a number, each with what is shown of it."""
    questions = answered.beside["questions"]
    wanted = behind(one, OPTIONS, {item.setting for item in answered.items})
    borne = marks(answered.items, answered.beside)
    outcomes = {row.item_id: row.outcome for row in found.outcomes}
    shown = {
        name: pair[0] for name, pair in readings(found.beside, OPTIONS).get(wanted.reading, {}).items()
    } or outcomes
    asked_of = {one.item_id: asks(item, one) for item, one in zip(answered.items, questions, strict=True)}
    # As the page does: of what was asked both ways, what has an answer both ways.
    unpaired = {asked_of[name] for name, outcome in outcomes.items() if outcome == "error" and one.metric in BOTH}
    silent = {row.item_id for row in found.outcomes if one.metric == "followed" and row.prediction is None}
    return [
        shown[item.item_id]
        for item in answered.items
        if (not wanted.experiments or item.experiment in wanted.experiments)
        and item.setting in wanted.settings
        and set(wanted.marks) <= set(borne[item.item_id])
        and one.relation_id in (None, item.relation_id)
        and asked_of[item.item_id] not in unpaired
        and item.item_id not in silent
    ]


def test_every_number_of_both_modes_opens_what_it_counts(answered, found):
    seen = set()
    for one in found.measures:
        items = opened(answered, found, one)
        if one.metric not in ("kept", "gained"):
            assert (len(items), items.count("correct")) == (one.n, one.n_correct), (one.metric, one.setting)
        seen.add((one.metric, one.setting.partition("mode=")[2]))
    assert {("f1", "paper"), ("f1", "official"), ("f1", "paper,domain=people"), ("no_ops", "official")} <= seen
    assert {VERDICTS} == set(found.beside)


def test_what_became_of_answers_is_shown_both_ways(answered, found):
    for metric in ("kept", "gained"):
        [one] = [row for row in found.measures if row.metric == metric and row.setting.endswith("mode=paper")]
        # u and z, without and with the passage
        assert opened(answered, found, one) == ["correct", "incorrect", "correct", "missing"]


def test_a_mode_has_its_own_outcomes(answered, found):
    of = {mode: next(one for one in found.measures if one.metric == "f1" and one.setting.endswith(f"none,mode={mode}"))
          for mode in ("paper", "official")}  # fmt: skip
    assert opened(answered, found, of["paper"]) == ["correct", "incorrect", "correct", "correct", "correct"]
    assert opened(answered, found, of["official"]) == ["correct"] * 5  # "p" is a part of Paris
