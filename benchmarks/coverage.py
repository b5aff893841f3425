"""How often the intervals of a headline number, of a difference of two models, and of some others hold the truth.

    python -m benchmarks.coverage

Facts are drawn 2,000 times by each design. *These relations*: the relations keep their true shares and facts are drawn
anew; the truth is the mean of these shares. *Other relations*: the relations' shares are drawn anew too, from a beta
distribution; the truth is that distribution's mean. *Differences*: a second model answers a tenth of the same questions
otherwise; the relations keep their shares. *Errs*: how often the test of a difference rejects at .05 where both models
know the same. The last designs are hard on purpose, and stand apart: so few relations of so skewed shares, or so few
subjects, that no interval of these kinds can be trusted.

Below: intervals of an AUC and of a balanced accuracy, also of the mean of several models' on the same facts; tables of
methods in which any interval of "less than the first" misses the true difference; intervals of
overconfidence where confidence is right, and of a difference of two F1; and how much accuracy varies over templates
that are equally good.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import stats

from almanac.statistics import grouped
from almanac.statistics.intervals import LEVEL, normal_quantile
from almanac.statistics.paired import macro_difference, p_of_difference, ratio_differences
from almanac.statistics.ranks import Placements, Sides, auc, mean_of_placed, placements
from almanac.suites.agreement import Called
from almanac.suites.belief.calibration import overconfidence
from almanac.suites.standings import ALL, CalledFacts, standings
from almanac.suites.suite import Method

LOW, HIGH = 0.93, 0.97  # what a coverage of 95 % may come to
NEAR_ONE = (
    *(0.999, 0.999, 0.998, 0.995, 0.991, 0.989, 0.988, 0.987, 0.986),
    *(0.986, 0.984, 0.98, 0.978, 0.968, 0.968, 0.951, 0.945, 0.925),
)  # the AUCs of the methods of Almanac 2026.13
CHANGED = 0.1  # of the answers, between the two models of a difference


@dataclass(frozen=True)
class Design:
    """How facts are drawn.

    Attributes:
        name: what it is an example of.
        relations: how many.
        facts: how many each has; the numbers repeat where there are fewer than relations.
        share: the mean share of known facts.
        alike: how alike the relations' shares are: the sum of the beta distribution's two parameters.
        cluster: facts of each subject in one relation; the numbers repeat.
        together: the chance that one of these goes as the subject's first does.
        shared: the correlation (of the normal variables that decide) of a subject's facts in different relations, which
            then have the same subjects.
        asked: how often each fact is asked; between the times its answers vary.
        hard: whether it is listed apart.
    """

    name: str
    relations: int
    facts: tuple[int, ...]
    share: float
    alike: float = 10.0
    cluster: tuple[int, ...] = (1,)
    together: float = 0.0
    shared: float = 0.0
    asked: int = 1
    hard: bool = False


DESIGNS = (
    Design("half known", 10, (50,), 0.5),
    Design("a tenth known", 10, (50,), 0.1),
    Design("nine tenths known", 10, (50,), 0.9),
    Design("relations differ much", 10, (50,), 0.3, 3.0),
    Design("relations of unequal size", 10, (10, 20, 100), 0.3, 5.0),
    Design("many small relations", 20, (5,), 0.3),
    Design("many large relations", 20, (200,), 0.3, 5.0),
    Design("few small relations", 5, (20,), 0.3),
    Design("two relations", 2, (100,), 0.5),
    Design("five facts of a subject", 10, (50,), 0.3, 5.0, cluster=(5,), together=0.7),
    Design("three facts, and unequal relations", 40, (5, 100), 0.3, 4.0, cluster=(3,), together=0.5),
    Design("relations share their subjects", 10, (100,), 0.3, 8.0, shared=0.2),
    Design("each fact asked five times", 10, (50,), 0.3, 5.0, asked=5),
    Design("subjects of unequal size", 10, (46,), 0.3, 5.0, cluster=(1, 1, 3, 1, 1, 8), together=0.9, hard=True),
    Design("few subjects of unequal size", 2, (45,), 0.2, 10.0, cluster=(1, 1, 3, 1, 1, 8), together=0.9, hard=True),
    Design("the best known relation has 3 facts", 10, (*(32,) * 9, 3), 0.1, 3.0, hard=True),
    Design("a fiftieth known", 10, (50,), 0.02, 20.0, hard=True),
    Design("relations share 24 subjects", 8, (24,), 0.25, 20.0, shared=0.4, hard=True),
    Design("the same, and 3 % known", 8, (24,), 0.03, 50.0, shared=0.9, hard=True),
)


def draw(design: Design, runs: int, rng: np.random.Generator, same: bool) -> tuple[pl.DataFrame, float]:
    """Return answers of all runs, with the truth.

    Args:
        design: how facts are drawn.
        runs: how often.
        rng: what draws them.
        same: whether all runs are of the same relations.
    """
    beta, fixed = _shares(design)
    sizes = [design.facts[at % len(design.facts)] for at in range(design.relations)]
    subjects = rng.standard_normal((runs, max(sizes)))
    parts = []
    for at, size in enumerate(sizes):
        shares = np.full(runs, fixed[at]) if same else beta.rvs(runs, random_state=rng)
        own = np.repeat(np.arange(size), np.resize(design.cluster, size))[:size]
        values = _hits(design, shares[:, None], subjects[:, :size], own, rng)
        columns = {
            "run": np.repeat(np.arange(runs), size),
            "relation": np.full(runs * size, at),
            "subject": np.tile(own if design.shared else own + 100_000 * at, runs),
            "hit": values.ravel(),
        }
        parts.append(pl.DataFrame(columns))
    return pl.concat(parts), float(fixed.mean()) if same else design.share


def _shares(design: Design) -> tuple[Any, NDArray[np.float64]]:
    """Return the distribution that relations' true shares are drawn from, and those of the relations that stay."""
    beta = stats.beta(design.share * design.alike, (1 - design.share) * design.alike)
    return beta, beta.ppf((np.arange(design.relations) + 0.5) / design.relations)


def _hits(
    design: Design,
    shares: NDArray[np.float64],
    subjects: NDArray[np.float64],
    own: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return the values of a relation's facts, ``(runs, facts)``.

    Args:
        design: how they are drawn.
        shares: the relation's true share in each run, ``(runs, 1)``.
        subjects: what subjects bring to every relation, standard normal, ``(runs, facts)``.
        own: the place of each fact's subject.
        rng: what draws them.
    """
    if design.asked > 1:
        chances = rng.beta(shares, 1 - shares, size=subjects.shape)
        return rng.binomial(design.asked, chances) / design.asked
    alone = np.sqrt(1 - design.shared) * rng.standard_normal(subjects.shape)
    hits = np.sqrt(design.shared) * subjects + alone < stats.norm.ppf(shares)
    first = hits[:, np.searchsorted(own, own)]
    return np.where(rng.random(hits.shape) < design.together, first, hits).astype(float)


def coverage(design: Design, runs: int, same: bool, seed: int = 0) -> float:
    """Return how often the interval of these relations (``same``), or of other ones, holds the truth."""
    frame, truth = draw(design, runs, np.random.default_rng(seed), same)
    found = grouped.macro(frame, ["run"], "hit", "relation", "subject", drawn=not same)
    return float(found.select((pl.col("low") <= truth) & (pl.col("high") >= truth)).to_series().mean())  # type: ignore[arg-type]


def difference_coverage(design: Design, runs: int, seed: int = 0) -> float:
    """Return how often the interval of a difference holds the truth, of these relations."""
    rng = np.random.default_rng(seed)
    hits, _ = draw(design, runs, rng, True)
    if design.asked > 1:
        right = np.rint(hits["hit"].to_numpy() * design.asked).astype(int)
        still = rng.binomial(right, 1 - CHANGED) + rng.binomial(design.asked - right, CHANGED)
        after = pl.Series(still / design.asked)
    else:
        changed = draw(replace(design, share=CHANGED, alike=1e9), runs, rng, True)[0]["hit"]
        after = hits["hit"] + changed - 2 * hits["hit"] * changed
    truth = CHANGED * (1 - 2 * float(_shares(design)[1].mean()))
    found = (
        macro_difference(own, "after", "hit", "relation", "subject")
        for own in hits.with_columns(after.alias("after")).partition_by("run")
    )
    return float(np.mean([(one.low or 0.0) <= truth <= (one.high or 0.0) for one in found]))


def level_of_difference(design: Design, runs: int, seed: int = 0) -> float:
    """Return how often two models that know the same are said to differ, at .05."""
    rng = np.random.default_rng(seed)
    one, other = (draw(design, runs, rng, True)[0] for _ in range(2))
    both = one.with_columns(other["hit"].alias("other")).partition_by("run")
    return float(np.mean([p_of_difference(own, "hit", "other", "relation", "subject") <= 0.05 for own in both]))


@dataclass(frozen=True)
class Area:
    """How scores are drawn whose AUC is told.

    Attributes:
        name: what it is an example of.
        apart: by how many standard deviations the taught score higher.
        learnt: the share of the taught that do; the others score as if never taught.
        sides: how many facts of a world are taught, and how many are not.
        worlds: how many.
        models: how many are asked of the same facts; what each has learnt is drawn apart.
        verdicts: whether facts are called known or not, in place of scores: those that were learnt, and of the never
            taught the share ``guessed``.
        guessed: of the never taught, how many score like the taught.
    """

    name: str
    apart: float
    learnt: float = 1.0
    sides: tuple[int, int] = (50, 50)
    worlds: int = 3
    models: int = 1
    verdicts: bool = False
    guessed: float = 0.0


AREAS = (
    Area("normal scores", 1.2),
    Area("normal scores, near 1", 3.3),
    Area("normal scores, few taught", 2.3, sides=(7, 72)),
    Area("normal scores of four models", 2.9, models=4),
    Area("ten facts of each kind", 2.3, sides=(10, 10), worlds=1),
    Area("a fifth not learnt", 6, 0.8),
    Area("a twentieth not learnt, few taught", 6, 0.95, sides=(7, 72)),
    Area("a hundredth not learnt", 5, 0.99),
    Area("a hundredth not learnt by each of four models", 5, 0.99, models=4),
    Area("some never taught score above all", 6, guessed=0.08),
    Area("verdicts", 0, 0.7, verdicts=True, guessed=0.1),
    Area("verdicts, nearly all known", 0, 0.98, verdicts=True, guessed=0.005),
    Area("verdicts, nearly all known of few", 0, 0.95, sides=(7, 72), verdicts=True, guessed=0.02),
    Area("verdicts, little known of few", 0, 0.1, sides=(7, 72), verdicts=True, guessed=0.01),
)


def _scores(design: Area, sizes: tuple[int, int], rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return scores, or verdicts, of the taught and of the never taught; the last axis has so many of each."""
    found = []
    for size, high in zip(sizes, (design.learnt, design.guessed), strict=True):
        drawn = rng.random((design.worlds, design.models, size)) < high
        above = 2 * design.apart if high == design.guessed else design.apart
        found.append(drawn * 1.0 if design.verdicts else above * drawn + rng.standard_normal(drawn.shape))
    return found[0], found[1]


def area_coverage(design: Area, runs: int, seed: int = 0) -> float:
    """Return how often the interval of an AUC, or of a balanced accuracy, holds the truth."""
    rng, held = np.random.default_rng(seed), 0
    many = _scores(replace(design, worlds=1, models=1), (200_000, 200_000), rng)
    truth = auc(*(own.ravel().tolist() for own in many)).value or 0.0
    subjects = [Sides(range(design.sides[0]), range(-design.sides[1], 0))] * design.worlds
    for _ in range(runs):
        taught, never = _scores(design, design.sides, rng)
        placed = []
        for world in range(design.worlds):
            each = [placements(taught[world, at].tolist(), never[world, at].tolist()) for at in range(design.models)]
            placed.append(Placements(*(np.mean(own, axis=0) for own in zip(*each, strict=True))))
        found = mean_of_placed(placed, subjects, scores=design.models)
        held += (found.low or 0.0) <= truth <= (found.high or 0.0)
    return held / runs


def less_than_the_first(
    areas: Sequence[float], tables: int, worlds: int = 3, facts: int = 100, seed: int = 0
) -> tuple[float, float]:
    """Return in how many tables any interval of "less than the first" misses: as printed, and as wide as one alone.

    Half of a score's variance is the fact's; four models.

    Args:
        areas: the true AUC of each method.
        tables: how many are drawn.
        worlds: of each table.
        facts: of a world; half of them were taught.
        seed: of the draws.
    """
    rng, taught = np.random.default_rng(seed), np.arange(facts) < facts / 2
    true = {f"m{method}": area for method, area in enumerate(areas)}
    names, found = [f"f{at}" for at in range(facts)], np.zeros((tables, 2))
    fixed = {"fact": names, "subject": names, "dose": taught * 64, "object_dose": [1] * facts}
    alone = normal_quantile(LEVEL) * np.sqrt(2) / stats.studentized_range.ppf(LEVEL, len(areas), np.inf)
    for table in range(tables):
        told = []
        for world in range(worlds):
            of_facts = rng.standard_normal(facts)
            for model, (method, area) in product(range(4), true.items()):
                apart = stats.norm.ppf(area) * np.sqrt(2)
                scores = apart * taught + np.sqrt(0.5) * (of_facts + rng.standard_normal(facts))
                frame = pl.DataFrame({**fixed, "score": scores, "hit": (scores > apart / 2).astype(float)})
                called = Called("s", Method(method, "", {}), {}, frame)
                told.append(CalledFacts(str(world), str(model), ALL, "", called))
        first, *rows = [row for row in standings(told) if row.axis == ALL]
        off = [(true[first.method] - true[row.method] - row.gap, row) for row in rows if row.gap_low is not None]
        found[table] = [
            any(not (row.gap_low - row.gap) * width <= far <= (row.gap_high - row.gap) * width for far, row in off)
            for width in (1.0, alone)
        ]
    return float(found[:, 0].mean()), float(found[:, 1].mean())


def overconfidence_coverage(subjects: int, accuracy: float, runs: int, seed: int = 0) -> float:
    """Return how often the interval holds 0 of a model that is as sure as it is likely to be right, by 20 answers."""
    rng, held = np.random.default_rng(seed), 0
    for _ in range(runs):
        drawn = rng.binomial(20, accuracy, subjects) / 20
        hits = rng.random(subjects) < accuracy
        found = overconfidence(
            pl.DataFrame({"subject": range(subjects), "confidence": drawn, "hit": hits}), "confidence"
        )
        held += found.low is not None and found.high is not None and found.low <= 0 <= found.high
    return held / runs


def f1_coverage(
    subjects: int, questions: int, before: float, after: float, kept: float, runs: int, seed: int = 0
) -> float:
    """Return how often the interval of a difference of two F1 holds the truth.

    Args:
        subjects: how many; half of what decides on a question is its subject's.
        questions: of each subject.
        before: the share of right answers the first time; of the others three in ten abstain.
        after: that of the answers that are given anew the second time.
        kept: the share of those that are not.
        runs: how often questions are drawn.
        seed: of the draws.
    """
    rng, shape = np.random.default_rng(seed), (runs, subjects, questions)
    of_subjects = rng.standard_normal((runs, subjects, 1))

    def answers(share: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        right = np.sqrt(0.5) * (of_subjects + rng.standard_normal(shape)) < stats.norm.ppf(share)
        return right, right | (rng.random(shape) < 0.7)

    first, stay = answers(before), rng.random(shape) < kept
    second = [np.where(stay, old, new) for old, new in zip(first, answers(after), strict=True)]
    places = {"run": np.indices(shape)[0].ravel(), "subject": np.indices(shape)[1].ravel()}
    one, other = (
        pl.DataFrame({**places, "part": 2 * right.ravel().astype(int), "whole": 1 + answered.ravel().astype(int)})
        for right, answered in (second, first)
    )
    shares = kept * before + (1 - kept) * after, before
    truths = [2 * share / (2 * share + (2 * 0.7 + 0.3) * (1 - share)) for share in shares]
    found = ratio_differences(one, other, ["run"], "part", "whole", "subject").values()
    return float(np.mean([(row.low or 0.0) <= truths[0] - truths[1] <= (row.high or 0.0) for row in found]))


def deviation_of_equal_templates(relations: int, pairs: int, templates: int, runs: int, seed: int = 0) -> float:
    """Return the mean deviation of BELIEF's accuracy over prompt sets where every template has half the pairs right."""
    accuracy = np.random.default_rng(seed).binomial(pairs, 0.5, (runs, relations, templates)) / pairs
    return float(np.sqrt(accuracy.var(axis=2).sum(axis=1)).mean() / relations)


def print_others(runs: int) -> None:
    """Print how often other intervals hold the truth."""
    for design in AREAS:
        print(f"AUC, {design.name}: {area_coverage(design, runs // 2):.3f}")
    for what, areas, worlds, facts in (
        *((f"19 equal methods, AUC {area}", [area] * 19, 3, 100) for area in (0.9, 0.98, 0.995)),
        ("18 methods, AUC .925 to .999", NEAR_ONE, 3, 100),
        ("4 methods, AUC .8 to .99, 20 facts of each kind", [0.99, 0.95, 0.9, 0.8], 1, 40),
    ):
        printed, alone = less_than_the_first(areas, runs // 20, worlds, facts)
        said = f"{printed:.3f} of tables have an interval of less than the first that misses"
        print(f"{what}: {said} ({alone:.3f} if each were as wide as for one alone)")
    for subjects, accuracy in ((10, 0.95), (20, 0.95), (120, 0.99), (60, 0.5)):
        held = overconfidence_coverage(subjects, accuracy, runs // 2)
        print(f"overconfidence, {subjects} subjects, accuracy {accuracy}: {held:.3f}")
    for of in ((60, 1, 0.5, 0.5, 0.9), (60, 1, 0.5, 0.5, 0.0), (50, 4, 0.5, 0.2, 0.5), (50, 4, 0.05, 0.3, 0.7)):
        subjects, questions, before, after, kept = of
        told = f"right {before} and, of {1 - kept:.1f} anew, {after}"
        print(
            f"differences of F1, {subjects} subjects, {questions} questions each, {told}: {f1_coverage(*of, runs):.3f}"
        )
    for relations, pairs, templates in ((10, 6, 5), (10, 40, 8), (40, 750, 20)):
        deviation = deviation_of_equal_templates(relations, pairs, templates, runs // 10)
        print(f"{templates} equal templates, {pairs} pairs in each of {relations} relations: SD {deviation:.4f}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 if a design that is not hard lies outside of the bars."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=__doc__)
    parser.add_argument("--runs", type=int, default=2000, metavar="N", help="runs a design [2000]")
    runs = parser.parse_args(arguments).runs
    print(f"{'design':<34}{'these relations':>16}{'other relations':>16}{'differences':>12}{'errs':>7}")
    missed = 0
    for design in DESIGNS:
        found = [coverage(design, runs, same) for same in (True, False)]
        found.append(difference_coverage(design, runs // 2))
        outside = [not LOW <= one <= HIGH for one in found]
        missed += 0 if design.hard else sum(outside)
        note = "  hard" if design.hard else "  outside" * any(outside)
        errs = level_of_difference(design, runs // 2)
        print(f"{design.name:<34}{found[0]:>16.3f}{found[1]:>16.3f}{found[2]:>12.3f}{errs:>7.3f}{note}")
    print(f"{missed} of {3 * sum(not one.hard for one in DESIGNS)} outside of {LOW:.2f} to {HIGH:.2f}")
    print_others(runs)
    return int(missed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
