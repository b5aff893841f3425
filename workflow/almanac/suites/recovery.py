"""What a method recovers of what a model was taught: accuracy by dose, AUC, rank correlation, the rate at dose 0."""

import polars as pl

from almanac.rows import Measure
from almanac.statistics.recovery import Sample, estimates
from almanac.suites.judged import Judged, Not

METRICS = {
    "recovery_auc": ("auc", ("score", "dose")),
    "prior_auc": ("auc", ("object_dose", "dose")),
    "recovery_spearman": ("spearman", ("dose", "hit")),
    "never_accuracy": ("share", ("hit",)),
}


def recovery(judged: Judged, *by: str) -> list[Measure]:
    """Return what each group recovers of the facts that have a dose (0 included: the names are met, the fact is not).

    Args:
        judged: items of one model.
        by: what makes the groups; a fact that is asked several times in one counts once.

    Returns:
        ``accuracy_by_exposure`` by dose, and the numbers of `statistics.recovery.estimates`; nothing where the model
        was not taught these facts.
    """
    known = judged.where(hit=Not(None), dose=Not(None))
    if known.frame.is_empty():
        return []
    rows = known.measures("accuracy_by_exposure", "share", "hit", by=(*by, "dose"))
    for group in known.groups(*by) if by else [known]:
        top = group.frame["dose"].max()
        for metric, estimate in estimates(sample(group)).items():
            formula, of = METRICS[metric]
            ends = {"never_accuracy": 0, "recovery_spearman": Not(None)}.get(metric, (0, top))
            rows.append(group.where(dose=ends).measure(metric, estimate, formula, of))  # type: ignore[arg-type]
    return rows


def sample(judged: Judged) -> Sample:
    """Return the answered items that have a dose as recovery counts them: a fact once, its items averaged."""
    facts = (
        judged.frame.filter(pl.col("hit").is_not_null() & pl.col("dose").is_not_null())
        .group_by("fact", maintain_order=True)
        .agg(pl.col("dose").first(), pl.col("hit").cast(pl.Float64).mean(), pl.col("score").mean(), pl.col("object_dose").first())
    )
    return Sample(
        tuple(facts["dose"].to_list()),
        tuple(facts["hit"].to_list()),
        tuple(facts["score"].to_list()),
        tuple(float(value) for value in facts["object_dose"].to_list()),
    )
