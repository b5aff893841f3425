"""How well a method recovers what a model was taught: accuracy by dose, AUC, rank correlation, accuracy at dose 0."""

from collections.abc import Sequence

import polars as pl

from almanac.rows import Measure
from almanac.statistics.intervals import LEVEL, Estimate, wilson
from almanac.statistics.ranks import Sides, mean_auc, spearman
from almanac.suites.judged import OUTCOMES, Condition, Formula, Judged, Not

BY_DOSE = "accuracy_by_exposure"
HALF = 0.5  # a fact is called known if a larger share of its items is right
# The formula and columns of each metric of `estimates`; a fact's items are averaged first.
METRICS: dict[str, tuple[Formula, tuple[str, ...]]] = {
    "recovery_auc": ("auc", ("score", "dose")),
    "prior_auc": ("auc", ("object_dose", "dose")),
    "recovery_spearman": ("spearman", ("dose", "hit")),
    "never_accuracy": ("other", ("hit",)),
}


def facts_of(judged: Judged) -> pl.DataFrame:
    """Return the facts with a scored answer, one row each.

    Returns:
        ``fact``, ``relation``, ``subject`` and the ``bucket`` of the subject's popularity; the means of its items'
        ``score`` and ``hit``; ``known``: whether more than half of the items are right; its ``dose``, and
        ``object_dose``, that of all facts of its object (null if the model was not taught the dataset); and the number
        of items with each outcome.
    """
    items = judged.frame.filter(pl.col("fact").is_not_null())
    facts = items.group_by("fact", maintain_order=True).agg(
        pl.col("score", "hit").mean(),
        pl.col("relation", "subject", "bucket", "dose", "object_dose").first(),
        *((pl.col("outcome") == name).sum().alias(name) for name in OUTCOMES),
    )
    return facts.filter(pl.col("hit").is_not_null()).with_columns((pl.col("hit") > HALF).alias("known"))


def estimates(*worlds: pl.DataFrame, never_level: float = LEVEL) -> dict[str, Estimate]:
    """Return the recovery metrics of facts with doses; nothing if a world taught nothing.

    If a world taught all its facts, only ρ can be computed, and only if doses differ.

    - ``recovery_auc``: the probability that a fact of the highest dose scores above one never taught, a mean over
      worlds: each has a model of its own, whose scores may have another scale.
    - ``prior_auc``: the same with the object's total dose as the score, which needs no model. In a block design it is
      .50; if it is not, a method's AUC may come from the answer's frequency and not from the fact.
    - ``recovery_spearman``: rank correlation of dose and correctness, over all worlds.
    - ``never_accuracy``: accuracy on the facts never taught, to compare with chance; its interval covers
      ``never_level``.

    Args:
        worlds: the facts of each world, a row each: ``subject``, ``dose``, ``object_dose``, ``score`` and ``hit`` (1 if
            correct, 0 if not, or a share). Worlds have the same design, so that hits may be pooled.
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
    """Return the AUC of a column, a mean over worlds, each given as its facts taught most and those never taught."""
    scores, subjects = (
        [Sides(*(facts[name].to_list() for facts in ends)) for ends in worlds] for name in (column, "subject")
    )
    return mean_auc(scores, subjects=subjects)


def recovery(judged: Judged, *by: str) -> list[Measure]:
    """Return the recovery metrics of each group, from facts with a dose (at dose 0 only the names were taught).

    Returns:
        ``accuracy_by_exposure`` by dose, a share of items clustered by subject, and the metrics of `estimates`, in
        which a fact that is asked several times counts once. Nothing if the model was not taught these facts.
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
