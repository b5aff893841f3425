"""What a method would call known by chance, measured with the model's own answers, and what it calls known beyond that.

A model that knows nothing still has favourites, and where objects are skewed a favourite is often right: so each answer
is compared with the *other* facts of its relation. If it would be right for a tenth of them, a tenth is its share by
chance, for whatever reason. A method without answers that asks each fact with a false object too (KaRR) has that
instead: there the true object is compared with the false one of the same fact.
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

CHANCE, ABOVE = "headline_chance", "headline_above_chance"  # the metrics
OF_RELATION = "chance_of_relation"  # chance in one relation, with the p of a test whether more is known
# The share of facts that names give away, with the p of the test on the others; the same in one relation.
GIVEN, GIVEN_OF_RELATION = "headline_given_by_names", "given_of_relation"
LEAST = 3  # test facts of a relation, asked or not, below which they say nothing of the chance of open answers
EQUAL = 1e-9  # below which a difference is none
LEAST_P = 1e-12  # to which the tail of a distribution is summed with some digits right


def against_false(own: Judged, answered: pl.DataFrame, false: Judged, truths: Truths) -> Iterator[Measure]:
    """Yield chance by false objects: how often the objects of other facts are called known, the test a sign test.

    A false object is any of the relation's, be it common or not, and true objects are mostly common ones. So the number
    counts each false object as often as there are facts of it, and other facts of the fact's own object as its own. The
    test compares scores and not verdicts: no threshold has a say that was chosen on the same facts. To one who likes
    some objects better than others, whatever the subject, the better liked of a fact's two is the true one in as many
    cases as it has facts, of those of both (of subjects that do not have both, `Several.part`).

    ``false`` are the same facts asked with false objects.
    """
    both = _paired(answered, false.frame.filter(pl.col("hit").is_not_null()), truths, _named(truths))
    if both.is_empty():
        return
    both = _by_false(both, truths)
    of = ("hit", "score")
    yield from _numbers(own, of, of, both, _liked(both), truths.given, _sign_p)


def against_statements(own: Judged, answered: pl.DataFrame, truths: Truths) -> Iterator[Measure]:
    """Yield chance of verdicts on a true and a false statement of each fact.

    The false statement has any object of the relation, the true one mostly a common one: who calls those correct whose
    object is common is more often right than wrong. So the object of the statement that is called correct, where one of
    a fact's two is, is the true one by chance as for `against_false`, and the number has for chance how often
    statements of other facts' objects are called correct (as there, in the place of the true statement), and how often
    false ones are not.

    ``truths.offered`` has of each item ``shown``, the object of its statement, and ``holds``, whether it is true.
    """
    assert truths.offered is not None
    said = answered.join(truths.offered, on="item", how="inner", maintain_order="left").with_columns(
        (pl.col("prediction") == pl.col("offered").list.first()).alias("called"), pl.col("hit").alias("right")
    )
    said = said.with_columns(pl.col("called").cast(pl.Float64).alias("score"), pl.col("called").alias("hit"))
    true, false = (said.filter(pl.col("holds") == holds) for holds in (True, False))
    both = _paired(true, false, truths, pl.col("shown").first())
    if both.is_empty():
        return
    both = _by_false(both, truths)
    of = ("prediction", "hit", "fact")
    rejected = false.group_by("fact").agg(pl.col("right").mean().alias("rejected"))
    facts = both.join(rejected, on="fact", maintain_order="left").with_columns(
        (pl.col("hit", "by_chance") + pl.col("rejected")) / 2
    )
    yield from _numbers(own, of, of, facts, _liked(both), truths.given, _p)


def _named(truths: Truths) -> pl.Expr:
    """Return the name of the object by which an item's answer is right, by relation and ``truth``."""

    def of(row: dict[str, Any]) -> str:
        return truths.text_of(row["relation"], row["truth"], row["fact"])

    pair = pl.struct(pl.col("relation", "fact").cast(pl.String), "truth")
    return pair.first().map_elements(of, return_dtype=pl.String)


def _paired(true: pl.DataFrame, false: pl.DataFrame, truths: Truths, named: pl.Expr) -> pl.DataFrame:
    """Return the facts that were asked with their object and with a false one: the score and hit of each, its name."""
    right, wrong = (
        frame.join(truths.of_item, on="item", how="left", maintain_order="left")
        .group_by("fact", "relation", "subject", maintain_order=True)
        .agg(pl.col("score").mean(), pl.col("hit").mean(), named.alias("object"))
        for frame in (true, false)
    )
    wrong = wrong.select("fact", pl.col("score", "hit", "object").name.prefix("false_"))
    return right.join(wrong, on="fact", how="inner", maintain_order="left")


def _by_false(both: pl.DataFrame, truths: Truths) -> pl.DataFrame:
    """Add ``by_chance``, and how many facts have the object and the false one, of those that count for the test."""
    names = ("mine", "its", "its_part", "my_rest", "its_rest", "all", "objects", "own", "owned")
    columns = both.select(pl.col("relation", "subject").cast(pl.String), "object", "false_object")
    counts = pl.DataFrame(
        [_counted(truths, *row) for row in columns.iter_rows()], [(name, pl.Float64) for name in names], orient="row"
    )
    both = both.with_columns(counts)
    others = pl.max_horizontal("all", pl.col("mine") + pl.col("own")) - pl.col("own")  # facts of other subjects
    # A false object is any of the relation's by the same chance, and stands for the facts that have it; the true one
    # for those of all true ones. Together they stand for all facts of other subjects.
    weight = (pl.max_horizontal("objects", pl.col("own") + 1) - pl.col("own")) * pl.col("its") / others
    both = both.with_columns(
        (1 - (pl.col("owned") - pl.col("own")) / others).alias("apart"),  # those that have none of the true objects
        weight.alias("weight"),
        (pl.col("own") * (pl.col("mine") - 1) / others).alias("alike"),
        (weight * pl.col("false_hit")).alias("weighed"),
    )
    # A ratio of all relations' sums, since that of a few facts would be biased; each fact's part in it, linearised.
    whole, total = _macro(both, "weight"), _macro(both, "apart")
    false_known = _macro(both, "weighed") / whole if whole else 0.0
    of_others = pl.col("apart") * false_known
    if whole:
        of_others += total / whole * pl.col("weight") * (pl.col("false_hit") - false_known)
    return both.with_columns((pl.col("alike") * pl.col("hit") + of_others).alias("by_chance"))


def _counted(truths: Truths, relation: str, subject: str, true: str, false: str) -> tuple[float, ...]:
    """Return what `_by_false` counts by of one fact."""
    common, rest = (truths.common_in(relation, but_given) for but_given in (False, True))
    mine, its, my_rest, its_rest = (one.named.get(text, 1) for one in (common, rest) for text in (true, false))
    part = common.parts((true, false), true)[false]
    return (mine, its, its * part, my_rest, its_rest * part, *common[:2], *common.of_subject(subject, mine))


def _liked(both: pl.DataFrame) -> pl.DataFrame:
    """Return the facts whose two scores differ: ``hit``, whether the true one is above, and how likely by chance."""
    won = (pl.col("score") > pl.col("false_score")).alias("hit")
    liked = both.filter(pl.col("score") != pl.col("false_score")).with_columns(won)
    for name, mine, its in (("drawn", "mine", "its_part"), ("drawn_of_rest", "my_rest", "its_rest")):
        likes = pl.when("hit").then(mine).otherwise(its) / (pl.col(mine) + pl.col(its))
        liked = liked.with_columns(likes.fill_nan(1.0).alias(name))  # of objects that no such fact has
    return liked


def against_others(own: Judged, answered: pl.DataFrame, truths: Truths) -> Iterator[Measure]:
    """Yield chance by the model's own answers, each held against the other facts of its relation.

    A fact of several items that differ in what is right, as a true statement and a false one do, is tested where the
    answers differ: one who says the same to both is right once, whichever is the true one.
    """
    if answered["prediction"].null_count() == answered.height and answered["hit"].any():
        return  # It is right by something else than an answer.
    columns = ["item", "relation", "fact", "subject", "hit", "prediction"]
    frame = answered.select(columns).join(truths.of_item, on="item", how="left", maintain_order="left")
    keys = ["relation", "fact", "prediction"]
    if truths.offered is not None:
        on = "item" if "item" in truths.offered.columns else "fact"
        frame = frame.join(truths.offered, on=on, how="left", maintain_order="left")
        keys += ["item"] * (on == "item")
    invalid = own.frame.filter(pl.col("hit").is_null() & (pl.col("outcome").cast(pl.String) == "invalid"))
    left_out = set(invalid["fact"].cast(pl.String).drop_nulls()) - set(frame["fact"].cast(pl.String))
    relations = [RelationFacts(part, truths, left_out) for part in frame.partition_by("relation", maintain_order=True)]
    enough = [one for one in relations if one.facts >= LEAST or truths.offered is not None]
    if not enough:
        return
    frame = pl.concat(one.part for one in enough)
    held = [one.held_against_others(keys) for one in enough]
    expected = [row for own, _ in held for row in own]
    lent = pl.DataFrame(
        [row for _, own in held for row in own],
        [("relation", frame.schema["relation"]), ("fact", frame.schema["fact"]), ("lent", pl.Float64)],
        orient="row",
    )
    found = pl.DataFrame(
        expected,
        [*((key, frame.schema[key]) for key in keys), *((one, pl.Float64) for one in SHARES)],
        orient="row",
    )
    frame = frame.join(found, on=keys, how="left", nulls_equal=True, maintain_order="left")
    facts = frame.group_by("relation", "fact", "subject", maintain_order=True).agg(
        pl.col("hit").mean(),
        pl.col(SHARES).fill_null(0.0).mean(),
        pl.col("truth", "prediction").n_unique(),
    )
    # Over all facts, answers that were chosen are right by chance at least as often as guesses are.
    if (guessed := _macro(facts, "guess")) > 0:
        lacking = max(0.0, guessed - _macro(facts, "by_chance"))
        lifted = pl.col("by_chance") + lacking * pl.col("guess") / guessed
        facts = facts.with_columns(lifted.clip(upper_bound=1.0).alias("by_chance"))
    facts = facts.join(lent, on=["relation", "fact"], how="left", maintain_order="left")
    tested = facts.filter(pl.col("prediction") > 1) if facts["truth"].max() != 1 else facts
    yield from _numbers(own, ("prediction", "fact"), ("prediction", "hit", "fact"), facts, tested, truths.given, _p)


def _numbers(
    own: Judged,
    of: Sequence[str],
    above_of: Sequence[str],
    facts: pl.DataFrame,
    tested: pl.DataFrame,
    given: Set[str],
    test: Callable[[pl.DataFrame], float],
) -> Iterator[Measure]:
    """Yield chance, what is known above it and how many facts names give away; chance and the last by relation too.

    With each stands the p of a test whether more is right than by chance; with the last, on the other facts.

    A subject is one draw in the tests by relation. A relation's draws are taken for alike, with the mean of their
    chances, by which more successes than are expected are likelier (Hoeffding, Annals of Mathematical Statistics 27,
    1956): so p errs upwards.

    Args:
        own: the items.
        of: the columns that the numbers are of.
        above_of: those that what is known above chance is of.
        facts: ``hit`` and ``by_chance`` of each, and ``lent`` where it brings more to the mean than its own chance.
        tested: those that the test is of, with ``subject``, and ``hit`` and ``drawn`` as the test has them.
        given: the facts that names give away.
        test: returns the p over all relations.
    """
    yield own.measure(CHANCE, min(1.0, _macro(facts, "by_chance")), "other", of)
    shares = facts.group_by(RELATION, maintain_order=True).agg(
        pl.col("by_chance").mean().clip(0.0, 1.0), _by_name(given).mean().alias("given")
    )
    # Facts that names do not give away, with the chance that answers have to be right for such facts.
    rest = tested.filter(~_by_name(given)).with_columns(drawn=pl.col("drawn_of_rest"))
    for metric, column, some in ((OF_RELATION, "by_chance", tested), (GIVEN_OF_RELATION, "given", rest)):
        estimates = {(relation,): Estimate(share, None, None) for relation, share in shares[RELATION, column].rows()}
        yield from own.measures_from(metric, "other", of, [RELATION], estimates, _tails(some))
    known = facts.with_columns((pl.col("hit") - pl.col("by_chance")).alias("d"))
    draw = pl.col("d") - pl.col("lent") if "lent" in facts.columns else pl.col("d")
    difference, p = _difference(known.with_columns(draw.alias("draw"))), test(tested)
    # A test of answers may count another commonness of objects than the number; without a difference it is not heeded.
    if test is _p and (difference.value or 0.0) < EQUAL:
        p = max(p, 0.5)
    yield own.measure(ABOVE, difference, "other", above_of, p)
    yield own.measure(GIVEN, shares.select(pl.col("given").mean()).item(), "other", of, test(rest))


def _by_name(given: Set[str]) -> pl.Expr:
    """Return whether names give a fact away."""
    return pl.col("fact").cast(pl.String).is_in(list(given))


def _sign_p(liked: pl.DataFrame) -> float:
    """Return the p of as many true objects that score above the false ones."""
    return _independent(float(liked["hit"].sum()), liked["drawn"])


def _tails(tested: pl.DataFrame) -> dict[tuple[str], float]:
    """Return by relation how likely as many successes are by chance; of a relation without any draw there is no p."""
    from scipy import stats  # slow to load, and most steps compute nothing with it

    subjects = tested.group_by(RELATION, "subject", maintain_order=True).agg(pl.col("hit", "drawn").mean())
    draws = subjects.group_by(RELATION, maintain_order=True).agg(
        pl.col("hit").sum(), pl.len().alias("draws"), pl.col("drawn").mean()
    )
    tails = _tail(draws["hit"].to_numpy(), lambda hits: stats.binom.sf(hits, draws["draws"].to_numpy(), draws["drawn"]))
    return dict(zip(draws.select(RELATION).rows(), map(float, tails), strict=True))


def _macro(facts: pl.DataFrame, column: str) -> float:
    """Return the mean over relations of the mean of a column."""
    return float(facts.group_by("relation", maintain_order=True).agg(pl.col(column).mean())[column].mean())  # type: ignore[arg-type]


def _difference(facts: pl.DataFrame) -> Estimate:
    """Return the mean over relations of the mean ``d`` of facts, what is known less chance, with an interval.

    Its ends are as far away as those of the interval of what is known (`grouped.macro`), which holds the truth of few
    hits too, and farther by what chance adds to the variance: both are squared and added (Newcombe 1998). Known and
    chance vary together, so that what chance adds is the variance of ``draw`` (all that a fact brings to the mean) less
    that of the hits, where that is more.
    """
    value, (known, low, high) = _macro(facts, "d"), grouped.macro(facts, [], "hit", "relation", "subject").rows()[0]
    added = max(0.0, _variance(facts, "draw") - _variance(facts, "hit")) * normal_quantile(LEVEL) ** 2
    below, above = (math.sqrt(one**2 + added) for one in (known - low, high - known))
    return Estimate(value, max(value - below, -1.0), min(value + above, 1.0))


def _variance(facts: pl.DataFrame, column: str) -> float:
    """Return the variance of the mean over relations of the mean of a column.

    A subject's facts are one draw, and relations are strata; those of a single subject are one stratum together, which
    makes it rather too large than too small (collapsed strata: Wolter, Introduction to Variance Estimation, 2007,
    section 2.5).
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
    """Return the p of as many hits or more by chance alone.

    A subject's facts are one draw: it is right, and is by chance, as often as its facts are on average.
    """
    subjects = facts.group_by("subject", maintain_order=True).agg(pl.col("hit", "drawn").mean())
    return _independent(float(subjects["hit"].sum()), subjects["drawn"])


def _independent(hits: float, chances: pl.Series) -> float:
    """Return how likely at least so many of independent draws succeed: the Poisson-binomial distribution's tail."""
    from scipy import stats  # slow to load, and most steps compute nothing with it

    if chances.is_empty():
        return 1.0
    tail = _tail(np.array([hits]), lambda less: stats.poisson_binom.sf(less, chances.to_numpy()))
    return max(LEAST_P, min(1.0, float(tail[0])))


def _tail(hits: NDArray[np.float64], above: Callable[[NDArray[np.float64]], Any]) -> NDArray[np.float64]:
    """Return how likely as many hits or more are, of draws that each are right or wrong as a whole.

    A draw that is right in part (one of its wordings, or of a subject's facts) counts as that part: between whole
    numbers the tail is interpolated, in its logarithm. To take the next whole number would hold a single right answer
    of five, which may come about in five ways, against the chance of one. The log-concave hull of the tail is what
    bounds sums of draws in part (Bentkus, Annals of Probability 32, 2004), but for a constant factor that draws with as
    much freedom as these were not seen to need (`python -m benchmarks.chance`).

    Args:
        hits: sums of what the draws are right, from 0 to 1 each.
        above: returns how likely more than so many are, of whole numbers.
    """
    whole = np.floor(hits + EQUAL)
    part = np.where(hits - whole > EQUAL, hits - whole, 0.0)
    return np.asarray(above(whole - 1) ** (1 - part) * above(whole) ** part)
