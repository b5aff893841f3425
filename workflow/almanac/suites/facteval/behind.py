"""Which items stand behind FactEval's numbers, and what the modes make of them: what the page opens at a click."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from almanac.rows import FactEvalVerdict, Item, Measure, Question
from almanac.suites.facteval.measures import ALL, PARTS
from almanac.suites.facteval.options import FactEvalOptions
from almanac.suites.facteval.questions import NONE, parts
from almanac.suites.facteval.requests import QUESTIONS
from almanac.suites.facteval.robustness import BOTH, asks
from almanac.suites.method import Behind

COUNTED = "counted"  # no passage in which nothing was replaced


def behind(row: Measure, options: FactEvalOptions, settings: Collection[str]) -> Behind:
    """Return the items that a number counts.

    A number of robustness counts questions that were asked and answered both ways; of those that say what became of
    answers, both ways are shown.
    """
    asked, _, rest = row.setting.partition("mode=")
    mode, _, part = rest.partition(",")
    setting, context = asked.rstrip(","), parts(asked)["context"]
    own: tuple[str, ...] = (setting,)
    marks: tuple[str, ...] = (COUNTED, *([part] if part else []))
    both: tuple[str, ...] = ()
    if row.experiment == ALL:
        own = tuple(one for one in settings if _averaged(parts(one), parts(asked)))
    elif row.metric in BOTH:
        without = setting.replace(f"context={context}", f"context={NONE}")
        marks = (f"pairs={context}",)
        both = (without, setting)
        own = {"f1_with": own, "followed": own, "f1_without": (without,)}.get(row.metric, both)
    elif row.metric == "no_ops":
        marks = ()
    experiments = () if row.experiment == ALL else (row.experiment,)
    return Behind(experiments, own, marks=marks, reading=None if mode == options.modes[0] else mode, both=both)


def _averaged(setting: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    """Whether an average counts a setting: of its context and kind of wrong objects, or without any."""
    return setting["context"] == wanted["context"] and setting.get("negatives") in (None, wanted.get("negatives"))


def marks(items: Sequence[Item], beside: Mapping[str, Sequence[Any]]) -> dict[str, tuple[str, ...]]:
    """Return by item what numbers count it by, beside experiment and setting.

    These are its domain, cardinality and so on (`measures.PARTS`), whether it is counted at all, and with which passage
    it makes a pair of the same question.
    """
    questions: Mapping[str, Question] = {row.item_id: row for row in beside[QUESTIONS]}
    same: dict[tuple[Any, ...], list[Item]] = defaultdict(list)
    found: dict[str, list[str]] = {}
    for item in items:
        one = questions[item.item_id]
        own = [f"{name}={part}" for name, part_of in PARTS.items() if (part := part_of(one)) is not None]
        found[item.item_id] = [COUNTED, *own] if one.changed is not False else own
        if one.changed is not False:
            same[item.experiment, one.origin, one.negatives, asks(item, one)].append(item)
    for group in same.values():
        contexts = {questions[item.item_id].context: item.item_id for item in group}
        for context, item_id in contexts.items():
            if context != NONE and NONE in contexts:
                found[item_id].append(f"pairs={context}")
                found[contexts[NONE]].append(f"pairs={context}")
    return {item_id: tuple(own) for item_id, own in found.items()}


def readings(
    found: Mapping[str, Sequence[Any]], options: FactEvalOptions
) -> dict[str, dict[str, tuple[str, float | None]]]:
    """Return outcome and credit of every item in the modes after the first, whose outcomes stand for themselves."""
    out: dict[str, dict[str, tuple[str, float | None]]] = {mode: {} for mode in options.modes[1:]}
    verdicts: Sequence[FactEvalVerdict] = found["verdicts"]
    for row in verdicts:
        if row.mode in out:
            out[row.mode][row.item_id] = row.outcome, row.credit
    return out
