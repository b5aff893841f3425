"""The share of facts that a method calls known by chance, estimated from the model's own answers, and what lies above.

A model that knows nothing still prefers some answers, and where a few objects are common these are often right. So each
answer is compared with the *other* facts of its relation: if it would be right for a tenth of them, its chance is .1,
whatever the reason. A method with scores in the place of answers asks each fact with a false object too (KaRR): there
the true object is compared with the false one.
"""

import math
from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from almanac.rows import Measure
from almanac.statistics import grouped
from almanac.statistics.intervals import LEVEL, Estimate, normal_quantile
from almanac.suites.judged import RELATION, Judged
from almanac.suites.other_facts import SHARES, RelationFacts
from almanac.suites.truths import Truths

CHANCE, ABOVE = "headline_chance", "headline_above_chance"  # names of metrics
OF_RELATION = "chance_of_relation"  # chance in one relation, with the p of a test whether more is known
# The share of facts that names give away, with the p of the test on all other facts; the same in one relation.
GIVEN, GIVEN_OF_RELATION = "headline_given_by_names", "given_of_relation"
# The facts with the true and the false object: all, as far as the test counts them (``part``, `Several.part`), and of
# these the ``rest`` that names do not give away; all facts and objects; the subject's objects and the facts with them.
COUNTS = (
    *("true_facts", "false_facts", "false_part", "true_rest", "false_rest"),
    *("all_facts", "all_objects", "own_objects", "own_facts"),
)
LEAST = 3  # a relation with fewer test facts, asked or not, cannot tell the chance of open answers
EQUAL = 1e-9  # smaller differences count as none
LEAST_P = 1e-12  # the smallest p: of a smaller tail of a distribution no digit may be right


def against_false(judged: Judged, answered: pl.DataFrame, false: Judged, truths: Truths) -> Iterator[Measure]:
    """Yield the chance of a method without answers, from ``false``: the same facts asked with false objects.

    Chance is how often the subject is said to have the object of another subject's fact. False objects are drawn
    evenly from the relation, but most facts have a common object: so a false object is weighted by how many facts have
    it. For other facts with the same object, the verdict on the true object stands.

    The p is of a sign test: how often does the true object score above the false one? Scores are compared, not
    verdicts, so that no threshold that was chosen on the same facts matters. The null hypothesis is a model that
    prefers some objects whatever the subject. Where n facts have the preferred object of the two, and m the other, the
    preferred one is true with probability n / (n + m); subjects that have both do not count (`Several.part`).
    """
    pairs = _paired(answered, false.frame.filter(pl.col("hit").is_not_null()), truths, _named(truths))
    if pairs.is_empty():
        return
    pairs = _by_false(pairs, truths)
    columns = ("hit", "score")
    yield from _numbers(judged, columns, columns, pairs, _decided(pairs), truths.given, _sign_p)


def against_statements(judged: Judged, answered: pl.DataFrame, truths: Truths) -> Iterator[Measure]:
    """Yield the chance of verdicts on a true and a false statement of each fact.

    The false statement has any object of the relation, the true one mostly a common one: a model that calls statements
    with common objects correct is mostly right. So objects are weighted as in `against_false`. Chance is the mean of
    two shares: how often statements with the objects of other facts are called correct (in the place of the true one),
    and how often false statements are called incorrect. Tested are facts with one statement alone called correct.

    ``truths.offered`` has of each item ``shown``, the object of its statement, and ``holds``, whether it is true.
    """
    assert truths.offered is not None
    verdicts = answered.join(truths.offered, on="item", how="inner", maintain_order="left").with_columns(
        (pl.col("prediction") == pl.col("offered").list.first()).alias("called"), pl.col("hit").alias("right")
    )
    verdicts = verdicts.with_columns(pl.col("called").cast(pl.Float64).alias("score"), pl.col("called").alias("hit"))
    true, false = (verdicts.filter(pl.col("holds") == holds) for holds in (True, False))
    pairs = _paired(true, false, truths, pl.col("shown").first())
    if pairs.is_empty():
        return
    pairs = _by_false(pairs, truths)
    columns = ("prediction", "hit", "fact")
    rejected = false.group_by("fact").agg(pl.col("right").mean().alias("rejected"))
    facts = pairs.join(rejected, on="fact", maintain_order="left").with_columns(
        (pl.col("hit", "by_chance") + pl.col("rejected")) / 2
    )
    yield from _numbers(judged, columns, columns, facts, _decided(pairs), truths.given, _p)


def _named(truths: Truths) -> pl.Expr:
    """Return the name of the true object of an item, from its relation, fact and ``truth`` (`Truths.text_of`)."""

    def name(row: dict[str, Any]) -> str:
        return truths.text_of(row["relation"], row["truth"], row["fact"])

    item = pl.struct(pl.col("relation", "fact").cast(pl.String), "truth")
    return item.first().map_elements(name, return_dtype=pl.String)


def _paired(true: pl.DataFrame, false: pl.DataFrame, truths: Truths, name: pl.Expr) -> pl.DataFrame:
    """Return the facts that were asked with a true and with a false object: the score, hit and name of either."""
    right, wrong = (
        frame.join(truths.of_item, on="item", how="left", maintain_order="left")
        .group_by("fact", "relation", "subject", maintain_order=True)
        .agg(pl.col("score").mean(), pl.col("hit").mean(), name.alias("object"))
        for frame in (true, false)
    )
    wrong = wrong.select("fact", pl.col("score", "hit", "object").name.prefix("false_"))
    return right.join(wrong, on="fact", how="inner", maintain_order="left")


def _by_false(pairs: pl.DataFrame, truths: Truths) -> pl.DataFrame:
    """Add ``by_chance`` (see `against_false`) and the `COUNTS`."""
    keys = pairs.select(pl.col("relation", "subject").cast(pl.String), "object", "false_object")
    counts = [_counted(truths, *row) for row in keys.iter_rows()]
    pairs = pairs.with_columns(pl.DataFrame(counts, dict.fromkeys(COUNTS, pl.Float64), orient="row"))
    own, true, false = (pl.col(name) for name in ("own_objects", "true_facts", "false_facts"))
    others = pl.max_horizontal("all_facts", true + own) - own  # facts of other subjects
    # False objects are drawn evenly from those that the subject does not have. The weight makes them as common as among
    # the facts of other subjects. The true object stands for all true objects of the subject.
    weight = (pl.max_horizontal("all_objects", own + 1) - own) * false / others
    pairs = pairs.with_columns(
        (own * (true - 1) / others).alias("same"),  # the share of other subjects' facts with a true object
        (1 - (pl.col("own_facts") - own) / others).alias("different"),  # the share without
        weight.alias("weight"),
        (weight * pl.col("false_hit")).alias("weighted_hit"),
    )
    # One ratio for all relations, since a ratio of few facts is biased; to each fact its part of it, linearised.
    mean_weight, different = _macro(pairs, "weight"), _macro(pairs, "different")
    false_known = _macro(pairs, "weighted_hit") / mean_weight if mean_weight else 0.0
    known_different = pl.col("different") * false_known
    if mean_weight:
        known_different += different / mean_weight * pl.col("weight") * (pl.col("false_hit") - false_known)
    return pairs.with_columns((pl.col("same") * pl.col("hit") + known_different).alias("by_chance"))


def _counted(truths: Truths, relation: str, subject: str, true: str, false: str) -> tuple[float, ...]:
    """Return the `COUNTS` of a fact with this true object, asked with this false one."""
    common, rest = (truths.common_in(relation, but_given) for but_given in (False, True))
    true_facts, false_facts, true_rest, false_rest = (
        one.named.get(text, 1) for one in (common, rest) for text in (true, false)
    )
    part = common.parts((true, false), true)[false]
    facts = (true_facts, false_facts, false_facts * part, true_rest, false_rest * part)
    return (*facts, common.facts, common.objects, *common.of_subject(subject, true_facts))


def _decided(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the facts whose two scores differ: ``hit``, whether the true object's is higher, and its probability."""
    decided = pairs.filter(pl.col("score") != pl.col("false_score"))
    decided = decided.with_columns((pl.col("score") > pl.col("false_score")).alias("hit"))
    names = (("under_null", "true_facts", "false_part"), ("under_null_rest", "true_rest", "false_rest"))
    for name, true, false in names:
        share = pl.when("hit").then(true).otherwise(false) / (pl.col(true) + pl.col(false))
        decided = decided.with_columns(share.fill_nan(1.0).alias(name))  # NaN: no such fact has either object
    return decided


def against_others(judged: Judged, answered: pl.DataFrame, truths: Truths) -> Iterator[Measure]:
    """Yield the chance of a method with answers, each compared with the other facts of its relation.

    A fact may have items with different true answers, such as a true and a false statement. It is tested only if its
    answers differ: a model that gives the same answer to both is right once, whichever statement is true.
    """
    if answered["prediction"].null_count() == answered.height and answered["hit"].any():
        return  # what is right does not depend on an answer
    columns = ["item", "relation", "fact", "subject", "hit", "prediction"]
    frame = answered.select(columns).join(truths.of_item, on="item", how="left", maintain_order="left")
    keys = ["relation", "fact", "prediction"]
    if truths.offered is not None:
        on = "item" if "item" in truths.offered.columns else "fact"
        frame = frame.join(truths.offered, on=on, how="left", maintain_order="left")
        keys += ["item"] * (on == "item")
    invalid = judged.frame.filter(pl.col("hit").is_null() & (pl.col("outcome").cast(pl.String) == "invalid"))
    left_out = set(invalid["fact"].cast(pl.String).drop_nulls()) - set(frame["fact"].cast(pl.String))
    relations = [RelationFacts(part, truths, left_out) for part in frame.partition_by("relation", maintain_order=True)]
    relations = [one for one in relations if one.facts >= LEAST or truths.offered is not None]
    if not relations:
        return
    frame = pl.concat(one.part for one in relations)
    compared = [one.compared_with_others(keys) for one in relations]
    shares = pl.DataFrame(
        [row for of_answers, _ in compared for row in of_answers],
        [*((key, frame.schema[key]) for key in keys), *((name, pl.Float64) for name in SHARES)],
        orient="row",
    )
    added = pl.DataFrame(
        [row for _, of_facts in compared for row in of_facts],
        [*((key, frame.schema[key]) for key in ("relation", "fact")), ("added_to_others", pl.Float64)],
        orient="row",
    )
    frame = frame.join(shares, on=keys, how="left", nulls_equal=True, maintain_order="left")
    facts = frame.group_by("relation", "fact", "subject", maintain_order=True).agg(
        pl.col("hit").mean(),
        pl.col(SHARES).fill_null(0.0).mean(),
        pl.col("truth", "prediction").n_unique(),
    )
    # Over all facts, the chance of answers that name a choice is no lower than that of a guess.
    if (guessed := _macro(facts, "guess")) > 0:
        lacking = max(0.0, guessed - _macro(facts, "by_chance"))
        lifted = pl.col("by_chance") + lacking * pl.col("guess") / guessed
        facts = facts.with_columns(lifted.clip(upper_bound=1.0).alias("by_chance"))
    facts = facts.join(added, on=["relation", "fact"], how="left", maintain_order="left")
    tested = facts.filter(pl.col("prediction") > 1) if facts["truth"].max() != 1 else facts
    yield from _numbers(judged, ("prediction", "fact"), ("prediction", "hit", "fact"), facts, tested, truths.given, _p)


def _numbers(
    judged: Judged,
    columns: Sequence[str],
    above_columns: Sequence[str],
    facts: pl.DataFrame,
    tested: pl.DataFrame,
    given: Set[str],
    test: Callable[[pl.DataFrame], float],
) -> Iterator[Measure]:
    """Yield chance, known minus chance, and the share of facts that names give away; the first and last by relation.

    Their p is of a test whether more is right than by chance; with the last, on facts that names do not give away.

    In the tests by relation a subject is one draw, and all draws get their mean chance. That makes more hits than
    expected likelier than their own chances do (Hoeffding, Annals of Mathematical Statistics 27, 1956): p errs upwards.

    Args:
        judged: the items.
        columns: the columns that the numbers are computed from (`Measure.of`).
        above_columns: the columns that known minus chance is computed from.
        facts: ``hit`` and ``by_chance`` of each fact, and if it changes the chance of others, ``added_to_others``.
        tested: the facts of the test: ``subject``, ``hit``, and its probability by chance, ``under_null`` (among the
            facts that names do not give away ``under_null_rest``).
        given: the facts that names give away.
        test: returns the p over all relations.
    """
    yield judged.measure(CHANCE, min(1.0, _macro(facts, "by_chance")), "other", columns)
    shares = facts.group_by(RELATION, maintain_order=True).agg(
        pl.col("by_chance").mean().clip(0.0, 1.0), _by_name(given).mean().alias("given")
    )
    # Facts that names do not give away, with the probability that an answer is right for such facts.
    rest = tested.filter(~_by_name(given)).with_columns(under_null=pl.col("under_null_rest"))
    for metric, column, draws in ((OF_RELATION, "by_chance", tested), (GIVEN_OF_RELATION, "given", rest)):
        estimates = {(relation,): Estimate(share, None, None) for relation, share in shares[RELATION, column].rows()}
        yield from judged.measures_from(metric, "other", columns, [RELATION], estimates, _tails(draws))
    facts = facts.with_columns((pl.col("hit") - pl.col("by_chance")).alias("above"))
    contribution = (
        pl.col("above") - pl.col("added_to_others") if "added_to_others" in facts.columns else pl.col("above")
    )
    difference, p = _difference(facts.with_columns(contribution.alias("contribution"))), test(tested)
    # The test of answers may count objects over other facts than chance does. Where nothing is above chance, p says so.
    if test is _p and (difference.value or 0.0) < EQUAL:
        p = max(p, 0.5)
    yield judged.measure(ABOVE, difference, "other", above_columns, p)
    yield judged.measure(GIVEN, shares.select(pl.col("given").mean()).item(), "other", columns, test(rest))


def _by_name(given: Set[str]) -> pl.Expr:
    """Return whether names give a fact away."""
    return pl.col("fact").cast(pl.String).is_in(list(given))


def _sign_p(decided: pl.DataFrame) -> float:
    """Return the p of the sign test: at least as many true objects score above the false ones."""
    return _independent(float(decided["hit"].sum()), decided["under_null"])


def _tails(tested: pl.DataFrame) -> dict[tuple[str], float]:
    """Return the p of at least as many hits in each relation (binomial); a relation without draws has none."""
    from scipy import stats  # slow to load, and most steps compute nothing with it

    subjects = tested.group_by(RELATION, "subject", maintain_order=True).agg(pl.col("hit", "under_null").mean())
    draws = subjects.group_by(RELATION, maintain_order=True).agg(
        pl.col("hit").sum(), pl.len().alias("draws"), pl.col("under_null").mean()
    )
    count, chance = draws["draws"].to_numpy(), draws["under_null"].to_numpy()
    tails = _tail(draws["hit"].to_numpy(), lambda hits: stats.binom.sf(hits, count, chance))
    return dict(zip(draws.select(RELATION).rows(), map(float, tails), strict=True))


def _macro(facts: pl.DataFrame, column: str) -> float:
    """Return the mean over relations of the mean of a column."""
    return float(facts.group_by("relation", maintain_order=True).agg(pl.col(column).mean())[column].mean())  # type: ignore[arg-type]


def _difference(facts: pl.DataFrame) -> Estimate:
    """Return the mean over relations of the mean of ``above``, hit minus chance, with a 95 % interval.

    A limit's distance from the mean is √(k² + z² · v): k is the distance of the limit of the hits (`grouped.macro`),
    which is valid for few hits too, and v the variance that chance adds (Newcombe 1998). Hits and chance are
    correlated, so v is the variance of ``contribution``, all that a fact adds to the mean, less that of hits, or 0.
    """
    value = _macro(facts, "above")
    known, low, high = grouped.macro(facts, [], "hit", "relation", "subject").row(0)
    added = max(0.0, _variance(facts, "contribution") - _variance(facts, "hit")) * normal_quantile(LEVEL) ** 2
    below, above = (math.sqrt(one**2 + added) for one in (known - low, high - known))
    return Estimate(value, max(value - below, -1.0), min(value + above, 1.0))


def _variance(facts: pl.DataFrame, column: str) -> float:
    """Return the variance of the mean over relations of the mean of a column.

    A subject's facts are one draw, and relations are strata. Relations of a single subject are collapsed into one
    stratum, which rather overestimates the variance (Wolter, Introduction to Variance Estimation, 2007, section 2.5).
    """
    subjects = pl.col("subject").n_unique()
    stratum = pl.when(subjects.over("relation") > 1).then(pl.col("relation").cast(pl.String)).alias("stratum")
    centred = facts.with_columns(stratum, (pl.col(column) / pl.len().over("relation")).alias("part")).with_columns(
        (pl.col("part") - pl.col("part").mean().over("stratum")).alias("part"), subjects.over("stratum").alias("n")
    )
    draws = pl.col("n").cast(pl.Float64)
    parts = centred.group_by("subject", maintain_order=True).agg(
        (pl.col("part") * (draws / (draws - 1).clip(1)).sqrt()).sum().alias("part")
    )
    return float((parts["part"].to_numpy() ** 2).sum()) / facts["relation"].n_unique() ** 2


def _p(facts: pl.DataFrame) -> float:
    """Return the p of at least as many hits by chance; a subject is one draw, with the means over its facts."""
    subjects = facts.group_by("subject", maintain_order=True).agg(pl.col("hit", "under_null").mean())
    return _independent(float(subjects["hit"].sum()), subjects["under_null"])


def _independent(hits: float, chances: pl.Series) -> float:
    """Return the probability of at least so many hits in independent draws: the tail of a Poisson-binomial."""
    from scipy import stats  # slow to load, and most steps compute nothing with it

    if chances.is_empty():
        return 1.0
    tail = _tail(np.array([hits]), lambda less: stats.poisson_binom.sf(less, chances.to_numpy()))
    return max(LEAST_P, min(1.0, float(tail[0])))


def _tail(hits: NDArray[np.float64], above: Callable[[NDArray[np.float64]], Any]) -> NDArray[np.float64]:
    """Return the probability of at least so many hits, from the tail of a distribution of whole numbers.

    A draw may be right in part, such as in one of five wordings, and counts as that part. So the logarithm of the tail
    is interpolated: P(hits ≥ 2.2) = P(hits ≥ 2)^.8 · P(hits ≥ 3)^.2. Rounding up would be wrong: one right answer of
    five can come about in five ways, and would be held against the chance of one. The log-concave hull of the tail
    bounds sums of partly right draws (Bentkus, Annals of Probability 32, 2004) up to a constant factor, for which
    `python -m benchmarks.chance` sees no need.

    Args:
        hits: sums of the draws' hits, from 0 to 1 each.
        above: returns the probability of *more* than a whole number of hits.
    """
    whole = np.floor(hits + EQUAL)
    part = np.where(hits - whole > EQUAL, hits - whole, 0.0)
    return np.asarray(above(whole - 1) ** (1 - part) * above(whole) ** part)
