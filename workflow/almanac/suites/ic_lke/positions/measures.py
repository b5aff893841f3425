"""The probability of the objects by their place, and by what stands before them.

An item is correct where its object, as it is shown, is more likely than all else together (probability above one half).
Means leave out items without an answer; a sequence that is too long leaves all of its own without (``n_error``).
"""

import math
from collections import defaultdict
from collections.abc import Sequence

from almanac.rows import Item, Link, Measure, Outcome, Request, Response
from almanac.statistics.intervals import Estimate, macro_share
from almanac.suites.ic_lke.averages import by_relation
from almanac.suites.ic_lke.measures import judge_each
from almanac.suites.ic_lke.positions.options import PositionOptions
from almanac.suites.ic_lke.positions.requests import AS_IS, FOLLOWING, REPLACED, REST, SUITE
from almanac.suites.ic_lke.requests import DRAW
from almanac.suites.judging import Judged, Sheet, gather
from almanac.suites.method import Answered, Measured, Verdict

CORRECT = "correct"  # the pairs that are not replaced
CLASSES = {CORRECT: (FOLLOWING, REST), REPLACED: (REPLACED,), FOLLOWING: (FOLLOWING,), REST: (REST,)}
PROBABILITY = "probability_"  # begins the metric of a class; the class follows
IN_BIN = "probability_in_bin"
HALF = 0.5


def measure(answered: Answered, options: PositionOptions) -> Measured:
    """Judge and measure one model on one dataset.

    Returns:
        By experiment (``as_is``, ``unknown``, ``incorrect``) and arrangement, all draws together: the mean probability
        of the objects of ``correct`` pairs and by class (``probability_replaced``, ``_following``, ``_rest``, over all
        relations and in each); ``probability_at`` each place (``level``, from 0) of the correct pairs and
        ``replaced_at`` of the replaced ones, without interval, since there are few; and ``probability_in_bin`` of the
        correct pairs by part of the sequence (``level`` is its first place), with exposures also by dose where
        nothing is replaced.
    """
    outcomes = judge(answered)
    place_of = {link.item_id: (link.role, link.index or 0) for link in answered.links}
    groups: dict[tuple[str, str], list[Judged]] = defaultdict(list)
    gathered = gather(answered.items, outcomes, answered.data.facts, answered.exposures)
    for (experiment, setting), group in gathered.items():
        groups[experiment, setting.partition(DRAW)[0]] += group
    rows: list[Measure] = []
    for (experiment, arrangement), group in groups.items():
        sheet = Sheet(SUITE, answered.dataset, experiment, answered.model, arrangement)
        rows += _class_rows(sheet, [(one, place_of[one.item.item_id][0]) for one in group])
        rows += _place_rows(sheet, [(one, *place_of[one.item.item_id]) for one in group])
        kept = [(one, place) for one in group for role, place in [place_of[one.item.item_id]] if role != REPLACED]
        rows += _bin_rows(sheet, kept, options)
    return Measured(outcomes, rows)


def judge(answered: Answered) -> list[Outcome]:
    """Return one outcome an item, in order: ``score`` is its object's log-probability (nats), ``confidence`` that as
    a probability, ``prediction`` the object where it is correct.

    Raises:
        AlmanacError: a request has no response.
    """  # noqa: D205
    model = answered.model

    def by_probability(item: Item, link: Link, request: Request, response: Response) -> Outcome | None:
        if response.logprobs is None or link.index is None:
            return None
        value = response.logprobs[link.index]
        correct = math.exp(value) > HALF
        prediction, outcome = (item.accepted[0], "correct") if correct else (None, "incorrect")
        return Outcome(model, item.item_id, prediction, outcome, value, math.exp(value))

    return judge_each(model, answered.items, answered.links, answered.requests, answered.responses, by_probability)


def probability(group: Sequence[Judged]) -> Estimate:
    """Return the mean probability of the objects, a mean over relations, values of one subject counted as one draw."""
    relations = [[one for one in own if one.answered] for own in by_relation(group).values()]
    values = [[math.exp(one.score) for one in own] for own in relations]
    return macro_share(values, [[one.subject for one in own] for own in relations])


def roles(metric: str) -> tuple[str, ...]:
    """Return the roles of the pairs that a mean probability is of."""
    return CLASSES[CORRECT if metric == IN_BIN else metric.removeprefix(PROBABILITY)]


def _class_rows(sheet: Sheet, group: Sequence[tuple[Judged, str]]) -> list[Measure]:
    classes = {name: [one for one, role in group if role in own] for name, own in CLASSES.items()}
    if not classes[REPLACED]:
        classes = {CORRECT: classes[CORRECT]}
    rows = []
    for name, own in classes.items():
        rows.append(sheet.row(f"{PROBABILITY}{name}", probability(own), own))
        for relation, members in by_relation(own).items():
            rows.append(sheet.row(f"{PROBABILITY}{name}", probability(members), members, relation))
    return rows


def _place_rows(sheet: Sheet, group: Sequence[tuple[Judged, str, int]]) -> list[Measure]:
    places: dict[tuple[int, bool], list[Judged]] = defaultdict(list)
    for one, role, place in group:
        places[place, role == REPLACED].append(one)
    rows = []
    for (place, replaced), own in sorted(places.items()):
        metric = "replaced_at" if replaced else "probability_at"
        rows.append(sheet.row(metric, Estimate(probability(own).value, None, None), own, level=float(place)))
    return rows


def _bin_rows(sheet: Sheet, group: Sequence[tuple[Judged, int]], options: PositionOptions) -> list[Measure]:
    """Return the means over parts of the sequence, of all and by dose."""
    bins: dict[tuple[int, int | None], list[Judged]] = defaultdict(list)
    for one, place in group:
        start = options.starts[place * options.bins // options.pairs]
        bins[start, None].append(one)
        if one.dose is not None and one.item.experiment == AS_IS:
            bins[start, one.dose].append(one)
    order = sorted(bins.items(), key=lambda row: (row[0][0], -1 if row[0][1] is None else row[0][1]))
    return [sheet.row(IN_BIN, probability(own), own, exposure=dose, level=float(start)) for (start, dose), own in order]


def bars(measures: Sequence[Measure], options: PositionOptions) -> list[Verdict]:
    """Hold each part of the sequence as it is against the bar, where the study is judged.

    It is met where the interval of the facts taught most lies above that of the facts never taught, and both are there.
    """
    if not options.judged:
        return []
    by_dose = {
        (row.exposure, int(row.level or 0)): row
        for row in measures
        if row.metric == IN_BIN and row.exposure is not None and row.value is not None
    }
    most = max((dose for dose, _ in by_dose), default=0)
    return [_verdict(start, most, by_dose.get((most, start)), by_dose.get((0, start))) for start in options.starts]


def _verdict(start: int, dose: int, most: Measure | None, never: Measure | None) -> Verdict:
    if not dose or most is None or never is None:
        return Verdict(f"from place {start}: no answers of facts often taught, or of facts never taught", False)
    said = [f"{row.value:.3f} [{row.low:.3f}, {row.high:.3f}]" for row in (most, never)]
    apart = most.low is not None and never.high is not None and most.low > never.high
    return Verdict(f"from place {start}: taught {dose} times {said[0]}, never {said[1]}", apart)
