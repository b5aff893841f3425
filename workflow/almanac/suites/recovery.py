"""What a method recovers of what a model was taught: accuracy by dose, AUC, rank correlation, the rate at dose 0."""

from collections.abc import Sequence

import polars as pl

from almanac.rows import Measure
from almanac.statistics.intervals import LEVEL, Estimate, wilson
from almanac.statistics.ranks import Sides, mean_auc, spearman
from almanac.suites.judged import OUTCOMES, Condition, Formula, Judged, Not

BY_DOSE = "accuracy_by_exposure"
HALF = 0.5  # of its items that are right, above which a fact is called known
# How each number of `estimates` is computed, of which columns; a fact's items are averaged first.
METRICS: dict[str, tuple[Formula, tuple[str, ...]]] = {
    "recovery_auc": ("auc", ("score", "dose")),
    "prior_auc": ("auc", ("object_dose", "dose")),
    "recovery_spearman": ("spearman", ("dose", "hit")),
    "never_accuracy": ("other", ("hit",)),
}


def facts_of(judged: Judged) -> pl.DataFrame:
    """Return the facts that were answered, each once.

    Returns:
        ``fact``, its ``relation`` and ``subject`` and the ``bucket`` of the subject's popularity, the means of its
        items' ``score`` and ``hit``, ``known``, whether more than half of them are right, the ``dose`` at which it was
        taught and that of all facts of its object, ``object_dose`` (none: the model was not taught the dataset), and
        how many of its items had each outcome.
    """
    items = judged.frame.filter(pl.col("fact").is_not_null())
    facts = items.group_by("fact", maintain_order=True).agg(
        pl.col("score", "hit").mean(),
        pl.col("relation", "subject", "bucket", "dose", "object_dose").first(),
        *((pl.col("outcome") == name).sum().alias(name) for name in OUTCOMES),
    )
    return facts.filter(pl.col("hit").is_not_null()).with_columns((pl.col("hit") > HALF).alias("known"))


def estimates(*worlds: pl.DataFrame, never_level: float = LEVEL) -> dict[str, Estimate]:
    """Return the recovery of facts with doses, by metric; nothing where in a world nothing was taught.

    Where everything was taught, there are no facts never taught, and ρ alone is left, if doses differ.

    - ``recovery_auc``: the chance that a fact of the highest dose scores above one never taught, a mean over worlds:
      of each another model is asked, whose scores may have another scale.
    - ``prior_auc``: the same for how often the object was taught at all, a score that knows no model. In a block design
      it is .50; where it is not, a method's AUC may come from the answer's frequency and not from the fact.
    - ``recovery_spearman``: rank correlation of dose and correctness.
    - ``never_accuracy``: accuracy on the facts never taught, to be held against chance; its interval covers
      ``never_level``.

    Args:
        worlds: of each world's facts ``subject``, ``dose``, ``object_dose``, ``score`` and ``hit`` (1 for correct, 0
            for not, or a share of both), a row a fact; worlds of one design, so that what is right or wrong is taken
            together.
        never_level: the coverage of the interval at dose 0.
    """
    if any(facts.is_empty() or facts["dose"].max() == 0 for facts in worlds):
        return {}
    doses, found = ([value for facts in worlds for value in facts[name]] for name in ("dose", "hit"))
    if any(facts["dose"].min() != 0 for facts in worlds):
        return {"recovery_spearman": spearman(doses, found)} if len({*doses}) > 1 else {}
    ends = [[facts.filter(pl.col("dose") == facts["dose"].max()), facts.filter(dose=0)] for facts in worlds]
    hits = [hit for _, never in ends for hit in never["hit"]]

    return {
        "recovery_auc": area(ends, "score"),
        "prior_auc": area(ends, "object_dose"),
        "recovery_spearman": spearman(doses, found),
        "never_accuracy": wilson(sum(hits) / len(hits), len(hits), never_level),
    }


def area(worlds: Sequence[Sequence[pl.DataFrame]], column: str) -> Estimate:
    """Return the AUC by a column, a mean over worlds: of each the facts taught most and those never taught."""
    scores, subjects = (
        [Sides(*(facts[name].to_list() for facts in ends)) for ends in worlds] for name in (column, "subject")
    )
    return mean_auc(scores, subjects=subjects)


def recovery(judged: Judged, *by: str) -> list[Measure]:
    """Return what each group recovers of the facts that have a dose (0 included: the names are met, the fact is not).

    Returns:
        ``accuracy_by_exposure`` by dose, a share of items in which those of a subject are one draw, and the numbers of
        `estimates`, for which a fact that is asked several times in a group counts once. Nothing where the model was
        not taught these facts.
    """
    known = judged.where(hit=Not(None), dose=Not(None))
    rows = known.measures(BY_DOSE, "mean", "hit", by=(*by, "dose"))
    for group in known.groups(*by):
        top = group.frame["dose"].max() or 0
        doses: dict[str, Condition] = {"never_accuracy": 0, "recovery_spearman": Not(None)}
        for metric, estimate in estimates(facts_of(group)).items():
            own = group.where(dose=doses.get(metric, (0, top)))  # type: ignore[arg-type]
            rows.append(own.measure(metric, estimate, *METRICS[metric]))
    return rows
