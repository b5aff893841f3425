"""Judged questions together with their verdicts, and precision, recall and F1 of any group of them.

How each status counts: correct answers count above; incorrect and invalid ones below in precision and recall;
abstentions (missing) below in recall alone; errors are left out. F1 is 2c / (2c + 2i + a).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from almanac.rows import Exposure, Fact, FactEvalVerdict, Item, Outcome, Question
from almanac.statistics.intervals import NOTHING, Estimate, ratio
from almanac.suites.judging import Judged, gather

UNDEFINED = Estimate(0.0, None, None)  # where nothing was answered precision, recall and F1 are 0, as the paper counts


@dataclass(frozen=True)
class Scored:
    """A judged item with its question and verdict."""

    judged: Judged
    question: Question
    verdict: FactEvalVerdict


def joined(
    items: Sequence[Item],
    questions: Sequence[Question],
    verdicts: Sequence[FactEvalVerdict],
    facts: Sequence[Fact],
    exposures: Sequence[Exposure] | None,
) -> dict[tuple[str, str], list[Scored]]:
    """Join items with questions and the verdicts of one mode, by (experiment, setting), sorted."""
    question_of = {question.item_id: question for question in questions}
    verdict_of = {verdict.item_id: verdict for verdict in verdicts}
    found = [Outcome(row.model, row.item_id, row.said, row.outcome, row.credit, None) for row in verdicts]
    return {
        key: [Scored(one, question_of[one.item.item_id], verdict_of[one.item.item_id]) for one in group]
        for key, group in gather(items, found, facts, exposures).items()
    }


def scores(group: Sequence[Judged]) -> dict[str, Estimate]:
    """Return precision, recall and F1 of a group, the facts of one subject counted as one draw.

    Intervals need an answer; where there is none the three are 0 without one, and nothing where there are errors alone.
    """
    kept = [one for one in group if one.outcome.outcome != "error"]
    if not kept:
        return dict.fromkeys(("precision", "recall", "f1"), NOTHING)
    if all(one.outcome.outcome == "missing" for one in kept):
        return dict.fromkeys(("precision", "recall", "f1"), UNDEFINED)
    hits = [one.hit for one in kept]
    answered = [float(one.outcome.outcome != "missing") for one in kept]
    subjects = [one.subject for one in kept]
    return {
        "precision": ratio(hits, answered, subjects),
        "recall": ratio(hits, [1.0] * len(kept), subjects),
        "f1": ratio([2 * hit for hit in hits], [1 + one for one in answered], subjects),
    }


def share_of(group: Sequence[Judged], *outcomes: str) -> Estimate:
    """Return the share of some outcomes among those that are no error."""
    kept = [one for one in group if one.outcome.outcome != "error"]
    return share([one.outcome.outcome in outcomes for one in kept], kept)


def share(found: Sequence[bool], group: Sequence[Judged]) -> Estimate:
    """Return the share of a group that something is found of, the facts of one subject counted as one draw."""
    return ratio(list(map(float, found)), [1.0] * len(group), [one.subject for one in group])
