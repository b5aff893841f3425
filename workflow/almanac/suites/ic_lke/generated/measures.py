"""Whether the object stands in what the model wrote.

Every metric leaves out items without an answer (too long, unsupported, failed: ``n_error``; refused: ``n_missing``). An
empty text is an answer, and incorrect.
"""

import re
from collections.abc import Sequence

from almanac.dataset.text import normalise
from almanac.rows import Item, Link, Measure, Outcome, Request, Response
from almanac.suites.ic_lke.averages import accuracy_rows
from almanac.suites.ic_lke.generated.options import GeneratedOptions
from almanac.suites.ic_lke.generated.requests import BEGINS, NAMES, OFFICIAL, SUITE
from almanac.suites.ic_lke.measures import judge_each
from almanac.suites.judging import Sheet, gather, recovery_rows, times_taught
from almanac.suites.method import Answered, Measured

STRIPPED = ":,. "  # what the released code takes off the ends of the object, and of nothing else


def measure(answered: Answered, options: GeneratedOptions) -> Measured:
    """Judge and measure one model on one dataset.

    Returns:
        By experiment (`requests.EXPERIMENTS`) ``present``: the share of facts whose object is there, over all relations
        and in each; with exposures the recovery of ``names`` and ``begins``.
    """
    outcomes = judge(answered)
    facts, exposures = answered.data.facts, answered.exposures
    taught = times_taught(exposures or (), {fact.fact_id: fact for fact in facts})
    rows: list[Measure] = []
    for (experiment, setting), group in gather(answered.items, outcomes, facts, exposures).items():
        sheet = Sheet(SUITE, answered.dataset, experiment, answered.model, setting)
        rows += accuracy_rows(sheet, group, "present")
        if exposures is not None and experiment in (NAMES, BEGINS):
            rows += recovery_rows(sheet, group, taught)
    return Measured(outcomes, rows)


def judge(answered: Answered) -> list[Outcome]:
    """Return one outcome an item, in order; ``prediction`` is the text, ``score`` 1 where it holds the object, else 0.

    Raises:
        AlmanacError: a request has no response.
    """
    model = answered.model

    def by_text(item: Item, link: Link, request: Request, response: Response) -> Outcome | None:
        if response.texts is None:
            return None
        text = response.texts[0]
        correct = present(text, item.accepted, item.experiment)
        return Outcome(model, item.item_id, text, "correct" if correct else "incorrect", float(correct), None)

    return judge_each(model, answered.items, answered.links, answered.requests, answered.responses, by_text)


def present(text: str, accepted: Sequence[str], experiment: str) -> bool:
    """Return whether one of the accepted names stands in a text.

    ``official`` does as the released code: both in lower case, colons, commas, full stops and spaces taken off the
    ends of the name alone, and a name may stand within another word (*Iran* in *Tirana*). Otherwise both are normalised
    and the name must stand as words of its own; for ``begins``, first in the text.
    """
    if experiment == OFFICIAL:
        return any(name.lower().strip(STRIPPED) in text.lower() for name in accepted)
    place = r"\A\W*" if experiment == BEGINS else r"(?<!\w)"
    return any(re.search(f"{place}{re.escape(normalise(name))}(?!\\w)", normalise(text)) for name in accepted)
