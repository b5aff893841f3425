"""How answers change with what is read before the question: relevant, irrelevant and antifactual passages."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from almanac.rows import Item, Measure, Question
from almanac.statistics.intervals import Estimate
from almanac.suites.facteval.questions import NONE, SUITE
from almanac.suites.facteval.scored import Scored, scores, share
from almanac.suites.judging import Sheet

BOTH = ("f1_without", "f1_with", "kept", "gained", "followed")  # numbers of questions that were asked both ways


def robustness(dataset: str, mode: str, groups: Mapping[tuple[str, str], Sequence[Scored]]) -> list[Measure]:
    """Compare each kind of passage with none, over the questions that were asked both ways and answered.

    Questions whose antifactual replacement changed nothing are left out of every row.

    Args:
        dataset: its name.
        mode: of the verdicts.
        groups: `scored.joined` of one model.

    Returns:
        Rows by experiment and the setting of the passage: ``f1_without`` and ``f1_with`` over the same questions,
        ``kept`` (of what is right without, the share that stays right), ``gained`` (of what is not, the share that
        becomes right), ``followed`` (the share that names the wrong object that the passage states) and ``no_ops`` (the
        share of questions left out).
    """
    plain: dict[tuple[str, str], dict[tuple[str, str | None, bool | None, str], Scored]] = {}
    for (experiment, setting), group in groups.items():
        if group[0].question.context == NONE:
            plain[experiment, setting] = {_asked(one): one for one in group}
    rows = []
    for (experiment, setting), group in groups.items():
        context = group[0].question.context
        without = plain.get((experiment, setting.replace(f"context={context}", f"context={NONE}")))
        if context == NONE or without is None:
            continue
        changed = [one for one in group if one.question.changed is not False]
        pairs = [(without[_asked(one)], one) for one in changed if _asked(one) in without]
        sheet = Sheet(SUITE, dataset, experiment, group[0].verdict.model, f"{setting},mode={mode}")
        for metric, (estimate, behind) in _compared(pairs).items():
            rows.append(sheet.row(metric, estimate, [one.judged for one in behind]))
        own = [one.judged for one in group]
        rows.append(sheet.row("no_ops", share([one.question.changed is False for one in group], own), own))
    return rows


def asks(item: Item, question: Question) -> tuple[str, str | None, bool | None, str]:
    """Return what a question asks, whatever is read before it: its fact, template, truth and text."""
    return item.fact_id, item.template_id, question.truth, question.text


def _asked(one: Scored) -> tuple[str, str | None, bool | None, str]:
    return asks(one.judged.item, one.question)


def _compared(pairs: Sequence[tuple[Scored, Scored]]) -> dict[str, tuple[Estimate, list[Scored]]]:
    """Return the numbers of pairs (without, with), each with the questions behind it."""
    kept = [pair for pair in pairs if "error" not in (pair[0].verdict.outcome, pair[1].verdict.outcome)]
    by_first: dict[bool, list[Scored]] = defaultdict(list)
    for without, behind in kept:
        by_first[without.judged.hit > 0].append(behind)
    named = [behind for _, behind in kept if behind.verdict.follows is not None]
    found = {
        "f1_without": (scores([one.judged for one, _ in kept])["f1"], [one for one, _ in kept]),
        "f1_with": (scores([one.judged for _, one in kept])["f1"], [one for _, one in kept]),
        "kept": (_hits(by_first[True]), by_first[True]),
        "gained": (_hits(by_first[False]), by_first[False]),
    }
    if named:
        follows = [bool(one.verdict.follows) for one in named]
        found["followed"] = (share(follows, [one.judged for one in named]), named)
    return found


def _hits(group: Sequence[Scored]) -> Estimate:
    return share([one.judged.hit > 0 for one in group], [one.judged for one in group])
