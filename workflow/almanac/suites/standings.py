"""Rank the methods by how well they recover what planted models were taught, and check how stable the ranking is.

Planted models were taught each fact a known number of times, its dose. A method recovers this if it scores facts of the
highest dose above facts never taught: the AUC. All methods are compared on the same facts of the same models. Their
order is then computed again on parts and variants of the data (`CalledFacts.axis`), for facts of lower doses, and from
what each method calls known in the place of its scores.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from statistics import NormalDist, fmean
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from almanac.rows import Standing
from almanac.statistics.intervals import LEVEL, Estimate, normal_quantile
from almanac.statistics.paired import correlated_difference
from almanac.statistics.ranks import (
    DIGITS,
    Placements,
    Sides,
    average_precision,
    kendall,
    mean_of_placed,
    placements,
    spearman,
    variance,
)
from almanac.suites.agreement import Called, called
from almanac.suites.headline import FEW
from almanac.suites.judged import Judged

ALL, WORLD, MODEL, TEMPLATES, CHOICES, FORMAT = "all", "world", "model", "templates", "choices", "format"
DOSE, CRITERION, BALANCED = "dose", "criterion", "balanced accuracy"
HALVES = ("first half", "second half")
SINGLE = 0.01  # the share of wrong answers whose score may differ by accident, such as a text with part of a true name
MOST = 0.5  # methods that were asked of a smaller share of worlds and models are not compared

Key = tuple[str, str, str]  # identifies a method: its suite, its name, and the items that it counts


class CalledFacts(NamedTuple):
    """The scores and verdicts of one method for the facts of one planted model in one world.

    Attributes:
        model: the model's name, the same in every world.
        axis: how these data differ from the main comparison: ``all`` not at all; ``templates``: half of the templates
            of each relation with several; ``choices``: another number of choices; ``format``: the model read no
            documents of a kind that others read.
        level: which half, how many choices, or which model.
        found: the scores and verdicts.
        decoder: whether the model is a decoder. Other models have no bars to meet, and their methods are not compared.
        chance: how often the method is right where nothing is known; not computed for halves of the templates.
    """

    world: str
    model: str
    axis: str
    level: str
    found: Called
    decoder: bool = True
    chance: float = 0.0

    @property
    def key(self) -> Key:
        """Return the method."""
        return self.found.key


def called_facts(
    found: Iterable[Called],
    judged: Judged,
    world: str,
    model: str,
    choices: int,
    axis: str = ALL,
    level: str = "",
    decoder: bool = True,
) -> Iterator[CalledFacts]:
    """Yield the scores and verdicts of a suite's methods for one model; on the axis ``all`` by half of templates too.

    ``choices`` is the largest number of choices of a fact of the dataset; for the rest see `CalledFacts`.
    """
    validated = [one for one in found if one.method.validated]
    for one in validated:
        yield CalledFacts(world, model, axis, level, one, decoder, _chance(one, judged, choices))
    for one in validated if decoder and axis == ALL else ():
        for half, items in _halves(judged.where(one.conditions)):
            for own in called(items, [one.method]):
                yield CalledFacts(world, model, TEMPLATES, half, own)


def _chance(found: Called, judged: Judged, choices: int) -> float:
    """Return how often a method is right where nothing is known (`Method.guess`)."""
    guess = found.method.guess
    if isinstance(guess, float | int):
        return float(guess)
    if guess is None:
        own = judged.where(found.conditions).frame.filter(pl.col("hit").is_not_null())
        offered = own["offered"].drop_nulls().to_list() if "offered" in own.columns else []
        return fmean(1 / count for count in offered or [choices])
    asked_so = judged.where({name: found.conditions[name] for name in found.method.by})
    hits = asked_so.where(guess).frame["hit"].drop_nulls().to_list()
    return sum(hits) / len(hits) if hits else 0.0


def _halves(judged: Judged) -> Iterator[tuple[str, Judged]]:
    """Yield the items of each half of a relation's templates, all items if it has one; nothing if all have one."""
    name = pl.col("template").cast(pl.String)
    count, index = name.n_unique().over("relation"), (name.rank("dense") - 1).over("relation")
    if judged.frame.filter(count > 1).is_empty():
        return
    single, first = index.is_null() | (count == 1), index * 2 < count
    for half, own in zip(HALVES, (first, ~first), strict=True):
        yield half, replace(judged, frame=judged.frame.filter(single | own))


def standings(found: Sequence[CalledFacts]) -> list[Standing]:
    """Return the ranking of the methods on decoders; nothing if no two methods were asked the same facts.

    Args:
        found: scores and verdicts. If a world has several datasets, those of the axis ``all`` are of one of them.
    """
    found = [one for one in found if one.decoder]
    plain = [one for one in found if one.axis == ALL]
    methods = _compared(plain)
    if len(methods) < 2:
        return []
    every = [one for one in plain if one.key in methods]
    full = {place for place, own in _places(every).items() if {one.key for one in own} == methods}
    every = [one for one in every if (one.world, one.model) in full]
    rows = _level(ALL, "", every, {})
    if not rows:
        return []
    order = {(row.suite, row.method, row.where): row.auc for row in rows}
    rows += _level(CRITERION, BALANCED, every, order)
    doses = {dose for one in every for dose in one.found.facts["dose"].drop_nulls().unique()}
    for dose in sorted(doses)[1:-1]:  # all but never and most often
        rows += _level(DOSE, str(dose), every, order, dose)
    for axis, names in ((WORLD, [one.world for one in every]), (MODEL, [one.model for one in every])):
        levels = dict.fromkeys(names)
        for level in levels if len(levels) > 1 else ():
            rows += _level(axis, level, [one for one in every if getattr(one, axis) == level], order)
    for axis, level in dict.fromkeys((one.axis, one.level) for one in found if one.axis != ALL):
        own = [one for one in found if (one.axis, one.level) == (axis, level) and one.key in methods]
        if axis in (TEMPLATES, CHOICES):
            own = [one for one in own if (one.world, one.model) in full]
        rows += _level(axis, level, own, order)
    return rows


def _compared(plain: Iterable[CalledFacts]) -> set[Key]:
    """Return the methods that were asked of most worlds and models."""
    places = _places(plain)
    count = Counter(key for own in places.values() for key in {one.key for one in own})
    return {key for key, number in count.items() if number >= MOST * len(places)}


def _places(found: Iterable[CalledFacts]) -> dict[tuple[str, str], list[CalledFacts]]:
    out: dict[tuple[str, str], list[CalledFacts]] = defaultdict(list)
    for one in found:
        out[one.world, one.model].append(one)
    return out


class _Facts(NamedTuple):
    """The facts of a world that all methods asked of all models; scores and hits by method, ``(models, facts)``.

    ``most`` is the dose of the positives; the negatives are the facts never taught.
    """

    most: int
    subjects: NDArray[np.str_]
    doses: NDArray[np.int64]
    priors: NDArray[np.int64]
    scores: Mapping[Key, NDArray[np.float64]]
    hits: Mapping[Key, NDArray[np.float64]]

    @property
    def ends(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which facts were taught ``most`` times, and which never."""
        return self.doses == self.most, self.doses == 0

    @property
    def at_ends(self) -> int:
        """Return how many facts were taught ``most`` times or never."""
        return sum(int(end.sum()) for end in self.ends)

    def parted(self, values: NDArray[Any]) -> tuple[list[Any], list[Any]]:
        """Return the values of the facts that were taught ``most`` times, and of those never taught."""
        most, never = self.ends
        return values[most].tolist(), values[never].tolist()


def _level(
    axis: str, level: str, found: Sequence[CalledFacts], order: Mapping[Key, float], dose: int | None = None
) -> list[Standing]:
    """Return the ranking at one level of an axis, best method first; nothing if fewer than two methods are left.

    Args:
        axis: see `CalledFacts`.
        level: see `CalledFacts`.
        found: scores and verdicts. Methods that were not asked of all its models and worlds are left out.
        order: each method's AUC in the main comparison, to compute Kendall's tau; empty: this is the main comparison.
        dose: the dose of the facts that are compared with those never taught; None: the highest.
    """
    places = _places(found)
    keys = {one.key for one in found}.intersection(*({one.key for one in own} for own in places.values()))
    worlds: dict[str, list[list[CalledFacts]]] = defaultdict(list)
    for (world, _), own in places.items():
        worlds[world].append([one for one in own if one.key in keys])
    facts = [one for own in worlds.values() if (one := _shared(own, dose)) is not None]
    if len(keys) < 2 or len(facts) < len(worlds) or sum(one.at_ends for one in facts) < FEW:
        return []
    by_verdict = {key: [_placed_by_verdicts(one, one.hits[key]) for one in facts] for key in keys}
    by_score = {key: [_placed(one, one.scores[key]) for one in facts] for key in keys}
    placed = by_verdict if axis == CRITERION else by_score
    areas = {key: round(fmean(float(one.positive.mean()) for one in own), DIGITS) for key, own in placed.items()}
    best = sorted(keys, key=lambda key: (-areas[key], key))
    known = [key for key in best if key in order]
    correlation = kendall([areas[key] for key in known], [order[key] for key in known]) if len(known) > 1 else None
    rows = []
    for key in best:
        rows.append(
            Standing(
                axis=axis,
                level=level,
                suite=key[0],
                method=key[1],
                where=key[2],
                place=1 + sum(areas[other] > areas[key] for other in keys),
                worlds=len(facts),
                models=tuple(sorted({model for _, model in places})),
                facts=sum(one.at_ends for one in facts),
                **_within(placed[key], facts).named("auc"),
                **_gap(placed[best[0]], placed[key], facts, len(keys)).named("gap"),
                graded=any(_graded(one, key) for one in facts),
                **_within(by_verdict[key], facts).named("balanced"),
                average_precision=_mean(facts, key, lambda one, scores, _: average_precision(*one.parted(scores))),
                spearman=_rho(facts, key),
                known_most=_mean(facts, key, lambda one, _, hits: float(np.mean(one.parted(hits)[0]))),
                known_never=_mean(facts, key, lambda one, _, hits: float(np.mean(one.parted(hits)[1]))),
                prior_auc=float(np.mean([_placed(one, one.priors[None, :]).positive.mean() for one in facts])),
                tau=correlation.tau if correlation is not None else None,
            )
        )
    return rows


def _shared(by_model: Sequence[Sequence[CalledFacts]], dose: int | None) -> _Facts | None:
    """Return the facts of a world that every method scored for every model; None if one of two doses has no fact.

    ``dose`` is `_Facts.most` (None: the highest dose); the other dose is 0.
    """
    frames = [one.found.facts.drop_nulls(["score", "dose"]) for model in by_model for one in model]
    texts = [frame.with_columns(pl.col("fact", "subject").cast(pl.String)).sort("fact") for frame in frames]
    facts = sorted(set(texts[0]["fact"]).intersection(*(set(frame["fact"]) for frame in texts)))
    kept = [frame.filter(pl.col("fact").is_in(facts)) for frame in texts]
    keys = [one.key for model in by_model for one in model]
    doses = kept[0]["dose"].to_numpy()
    most = dose or (int(doses.max()) if len(doses) else 0)
    if not most or not {0, most} <= set(doses.tolist()):
        return None
    columns: tuple[dict[Key, Any], dict[Key, Any]] = ({}, {})
    for key in dict.fromkeys(keys):
        of_key = [frame for frame, other in zip(kept, keys, strict=True) if other == key]
        for column, out in zip(("score", "hit"), columns, strict=True):
            out[key] = np.array([frame[column].cast(pl.Float64).to_numpy() for frame in of_key])
    return _Facts(most, kept[0]["subject"].to_numpy(), doses, kept[0]["object_dose"].to_numpy(), *columns)


def _graded(facts: _Facts, key: Key) -> bool:
    """Return whether a method's scores differ among facts that it does not call known in all items.

    Single cases (`SINGLE`) do not count, nor do scores that differ only among facts that it calls known.
    """
    each = (scores[hits < 1] for scores, hits in zip(facts.scores[key], facts.hits[key], strict=True))
    return any(float(np.mean(wrong > wrong.min())) > SINGLE for wrong in each if len(wrong))


def _placed(facts: _Facts, scores: NDArray[Any]) -> Placements:
    """Return the placements by a method's scores, averaged over the models."""
    each = [placements(*facts.parted(own)) for own in scores]
    return Placements(np.mean([one.positive for one in each], axis=0), np.mean([one.negative for one in each], axis=0))


def _placed_by_verdicts(facts: _Facts, hits: NDArray[Any]) -> Placements:
    """Return placements whose mean is the balanced accuracy over the models: of two-valued scores it is the AUC."""
    most, never = map(np.asarray, facts.parted(hits.mean(axis=0)))
    return Placements((most + 1 - never.mean()) / 2, (most.mean() + 1 - never) / 2)


def _spread(placed: Sequence[Placements], facts: Sequence[_Facts]) -> float | None:
    """Return the variance of a mean over worlds, which are strata; None if a world has too few subjects."""
    each = [variance(one, *own.parted(own.subjects)) for one, own in zip(placed, facts, strict=True)]
    known = [one for one in each if one is not None]
    return sum(known) / len(known) ** 2 if len(known) == len(each) else None


def _within(placed: Sequence[Placements], facts: Sequence[_Facts], level: float = LEVEL) -> Estimate:
    """Return an AUC, or a balanced accuracy, with its interval."""
    subjects = [Sides(*own.parted(own.subjects)) for own in facts]
    models = len(next(iter(facts[0].scores.values())))
    return mean_of_placed(placed, subjects, level, models)


def _gap(first: Sequence[Placements], own: Sequence[Placements], facts: Sequence[_Facts], methods: int) -> Estimate:
    """Return the first AUC minus another one on the same facts, with a simultaneous 95 % interval.

    The first is the best of ``methods``, chosen on the same facts. So the interval is one of those that hold for the
    differences of all pairs together (Tukey's studentized range). Near 1 the distribution of an AUC is skewed, and so
    is that of a difference: its limits follow from those of both AUCs (`correlated_difference`).
    """
    less = [
        Placements(one.positive - other.positive, one.negative - other.negative)
        for one, other in zip(first, own, strict=True)
    ]
    value, spread = float(np.mean([one.positive.mean() for one in less])), _spread(less, facts)
    if not spread:  # too few subjects, or the scores of both order the facts in the same way
        return Estimate(value, None, None)
    limits, spreads = [], []
    for placed in (first, own):
        spreads.append(_spread(placed, facts) or 0.0)
        limits.append(_limits(placed, spreads[-1], facts, _level_of_each(methods)))
    length = 2 * math.sqrt(spreads[0] * spreads[1])
    correlation = (sum(spreads) - spread) / length if length else 0.0
    return correlated_difference(limits[0], limits[1], correlation)._replace(value=value)


def _limits(
    placed: Sequence[Placements], spread: float, facts: Sequence[_Facts], level: float
) -> tuple[float, float, float]:
    """Return an AUC with its limits on the logit scale; at 0 and 1, which have no logit, with those of `_within`.

    Those of `_within` are wider near 1, and differences of AUCs do not need that: with logit limits the intervals of
    all differences hold together in 95 % (`python -m benchmarks.coverage`), with those of `_within` nearly always.
    """
    area, low, high = (value or 0.0 for value in _within(placed, facts, level))
    if 0 < area < 1:
        middle, half = math.log(area / (1 - area)), normal_quantile(level) * math.sqrt(spread) / (area * (1 - area))
        low, high = (1 / (1 + math.exp(-(middle + sign * half))) for sign in (-1, 1))
    return area, low, high


@cache
def _level_of_each(methods: int) -> float:
    """Return the level of a single interval with which those of all pairs of so many equal methods hold in 95 %."""
    from scipy.stats import studentized_range  # slow to load, and most steps compute nothing with it

    return 2 * NormalDist().cdf(float(studentized_range.ppf(LEVEL, methods, np.inf)) / math.sqrt(2)) - 1


def _mean(facts: Sequence[_Facts], key: Key, number: Callable[[_Facts, Any, Any], float]) -> float:
    """Return the mean over worlds and models of ``number``, computed from one model's scores and hits."""
    each = [
        number(one, scores, hits) for one in facts for scores, hits in zip(one.scores[key], one.hits[key], strict=True)
    ]
    return float(np.mean(each))


def _rho(facts: Sequence[_Facts], key: Key) -> float | None:
    """Return the mean over worlds and models of Spearman's rho of doses and hits; None if any is undefined."""
    each = [spearman(one.doses.tolist(), hits.tolist()).value for one in facts for hits in one.hits[key]]
    known = [one for one in each if one is not None]
    return float(np.mean(known)) if len(known) == len(each) else None
