"""What a method recovers of what a model was taught: accuracy by dose, AUC, rank correlation, the rate at dose 0."""

import polars as pl

from almanac.rows import Measure
from almanac.statistics.recovery import Sample, estimates
from almanac.suites.judged import Condition, Formula, Judged, Not

# How each number of `statistics.recovery.estimates` is computed, of which columns; a fact's items are averaged first.
METRICS: dict[str, tuple[Formula, tuple[str, ...]]] = {
    "recovery_auc": ("auc", ("score", "dose")),
    "prior_auc": ("auc", ("object_dose", "dose")),
    "recovery_spearman": ("spearman", ("dose", "hit")),
    "never_accuracy": ("other", ("hit",)),
}


def recovery(judged: Judged, *by: str) -> list[Measure]:
    """Return what each group recovers of the facts that have a dose (0 included: the names are met, the fact is not).

    Args:
        judged: items of one model.
        by: what makes the groups.

    Returns:
        ``accuracy_by_exposure`` by dose, a share of items in which those of a subject are one draw, and the numbers of
        `statistics.recovery.estimates`, for which a fact that is asked several times in a group counts once. Nothing
        where the model was not taught these facts.
    """
    known = judged.where(hit=Not(None), dose=Not(None))
    rows = known.measures("accuracy_by_exposure", "mean", "hit", by=(*by, "dose"))
    for group in known.groups(*by):
        found = sample(group)
        doses: dict[str, Condition] = {"never_accuracy": 0, "recovery_spearman": Not(None)}
        ends = (0, max(found.doses, default=0))
        for metric, estimate in estimates(found).items():
            rows.append(group.where(dose=doses.get(metric, ends)).measure(metric, estimate, *METRICS[metric]))
    return rows


def sample(judged: Judged) -> Sample:
    """Return the answered items that have a dose as recovery counts them: a fact once, its items averaged."""
    facts = (
        judged.frame.filter(pl.col("hit").is_not_null() & pl.col("dose").is_not_null())
        .group_by("fact", maintain_order=True)
        .agg(
            pl.col("dose", "object_dose").first(),
            pl.col("hit").cast(pl.Float64).mean(),
            pl.col("score").mean(),
        )
    )
    columns = facts.with_columns(pl.col("object_dose").cast(pl.Float64)).select("dose", "hit", "score", "object_dose")
    return Sample(*(tuple(column.to_list()) for column in columns))
