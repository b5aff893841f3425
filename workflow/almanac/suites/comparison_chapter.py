"""The chapter of the page that compares models: leaderboard, relations, correlations, subsumption, tuned and base."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from almanac.rows import Measure
from almanac.suites.chapter import Cell, Chapter, Drawing, Entrant, Table, filled
from almanac.suites.comparison import TUNED, setting_of
from almanac.suites.headline import FEW
from almanac.suites.judged import as_text, conditions_of
from almanac.suites.suite import Method

FEWEST = 4  # with fewer models the page shows only how each two differ, in one table for all methods
ENDS = 5  # relations shown at the top and at the bottom
CORRELATIONS = (
    "Correlations with intervals. Of two models the interval is Fisher's; of two families, whose value is a mean over "
    "pairs of models, it is of a bootstrap over the relations, and there is none of fewer than 20 relations, where it "
    "would be too narrow. They are of measured accuracies: of fewer than about 100 facts a relation, chance in which "
    "facts are right makes a correlation smaller, and the deviation over relations larger, than those of what the "
    "models know."
)
FEWER = (
    "Of a relation {facts} facts are asked (the median), fewer than {few}: too few to draw relations, and to correlate "
    "models over them. In a notebook `edition.between` has the numbers (docs/notebook.md)."
)
LUCK = (
    "All models were asked the same facts: two that know the same ones are alike here even where no relation is better "
    "known than another."
)
POPULARITY = ("head", "torso", "tail")


def by_setting(method: Method, every: Sequence[Measure], methods: Sequence[Method] = ()) -> dict[str, list[Measure]]:
    """Return a method's numbers among ``every`` number that compares models, by the items that it counts.

    A number that fits several of the suite's ``methods`` belongs to the one with most conditions.
    """
    narrower = [one for one in methods if len(one.where) > len(method.where)]
    found: dict[str, list[Measure]] = defaultdict(list)
    for row in every:
        own = setting_of(row)
        if _fits(method, own) and not any(_fits(one, own) for one in narrower):
            found[as_text(own)].append(row)
    return found


def _fits(method: Method, own: Mapping[str, Any]) -> bool:
    """Whether the conditions of a number include those of a method."""
    return own.keys() >= {*method.where, *method.by} and as_text({**own, **method.where}) == as_text(own)


def chapter(
    method: Method, rows: Sequence[Measure], models: Sequence[Entrant], relations: Mapping[str, str]
) -> Chapter | None:
    """Return the chapter of one method on one dataset; None if it would say less than the table of all methods.

    For fewer than `FEWEST` models it has only their accuracy by popularity, if the dataset has popularity. ``rows`` are
    the method's numbers that compare models, in one setting (`by_setting`), in the order of `comparison.compare`.
    """
    found: dict[str, list[Measure]] = defaultdict(list)
    for row in rows:
        found[row.metric].append(row)
    leaders = [row for row in found["mean_accuracy"] if row.value is not None]
    parts: list[Any] = [_popular(found.get("popularity_accuracy", ()))]
    if len(leaders) < 2 or (len(leaders) < FEWEST and not parts[0].rows):
        return None
    series = {one.name: one.series for one in models}
    families = len({series[str(row.model)] for row in leaders}) < len(leaders)  # some family has several models
    facts = median(row.n for row in found["relation_accuracy"])
    of_relations: list[Any] = [FEWER.format(facts=f"{facts:g}", few=FEW)]
    if facts >= FEW:
        of_relations = [
            *_ends(found.get("relation_mean", ()), relations),
            *_drawn(rows, relations, series, families),
            *_pretrained(rows, models, relations),
            _correlations(found, families),
        ]
    asks = (
        f"All models' answers to the same questions of {method.label}. Of a fact that is asked several times the share "
        f"of right answers counts{'; for η it is known where that is more than half' * (len(leaders) >= FEWEST)}."
    )
    judged = method.compared[:1].upper() + method.compared[1:]
    if len(leaders) >= FEWEST:
        parts = [_board(found, leaders, series), *parts, _subsumption(found), _tuned(found), *of_relations]
    return filled(f"Models compared, {method.label}", f"{asks} {judged}".strip(), parts)


def _drawn(
    rows: Sequence[Measure], relations: Mapping[str, str], series: Mapping[str, str], families: bool
) -> Iterator[Drawing]:
    """Yield the figures of accuracy by relation, and of correlations between models."""
    from almanac.suites import comparison_figures as figures

    order = (
        "families are ordered by the accuracy of one member, of several that which is closest to 7 B parameters, and "
        "members by their own"
        if families
        else "models are ordered by their accuracy"
    )
    accuracy = [row for row in rows if row.metric == "relation_accuracy"]
    caption = f"Accuracy in percent by relation (best first) and model; {order}."
    yield Drawing("relations", caption, lambda: figures.heat_map(accuracy, relations, series))
    if any(row.metric == "pearson" and row.value is not None for row in rows):
        of_families = (
            "; between families, the mean over pairs of their members, over the relations that all models answered"
        )
        caption = f"Pearson's correlation of accuracies over relations{of_families if families else ''}. {LUCK}"
        yield Drawing("likeness", caption, lambda: figures.likeness(rows))


def _correlations(found: Mapping[str, Sequence[Measure]], families: bool) -> Table:
    metrics = ("series_pearson", "pearson") if families else ("pearson",)
    pairs = [row for metric in metrics for row in found.get(metric, ()) if row.value is not None]
    listed = [
        (str(row.model), str(row.other), "families" if row.metric == "series_pearson" else "models", row, row.n)
        for row in pairs
    ]
    head = ("one", "other", "of", "correlation", "relations")
    return Table("correlations", CORRELATIONS, head, listed, folded=True)


def _pretrained(rows: Sequence[Measure], models: Sequence[Entrant], relations: Mapping[str, str]) -> list[Drawing]:
    """Return both figures again for the pre-trained models only, if there are tuned ones too."""
    from almanac.suites import comparison_figures as figures

    series = {one.name: one.series for one in models}
    untuned = {one.name for one in models if one.base is None}
    leaders = {row.model for row in rows if row.metric == "mean_accuracy" and row.value is not None}
    if leaders <= untuned or len(leaders & untuned) < 2:
        return []
    own = [row for row in rows if row.model in untuned and (row.other is None or row.other in untuned)]
    own = [row for row in own if row.metric != "series_pearson"]  # this includes tuned members
    accuracy = [row for row in own if row.metric == "relation_accuracy"]
    caption = "Pre-trained models only, without those tuned from them: "
    drawn = [
        Drawing(
            "relations-pretrained",
            caption + "accuracy by relation, best first by the mean of these models.",
            lambda: figures.heat_map(accuracy, relations, series),
        )
    ]
    if any(row.metric == "pearson" and row.value is not None for row in own):
        told = caption + "Pearson's correlation of the accuracies over relations."
        drawn.append(Drawing("likeness-pretrained", told, lambda: figures.likeness(own)))
    return drawn


def _board(found: Mapping[str, Sequence[Measure]], leaders: Sequence[Measure], series: Mapping[str, str]) -> Table:
    spread = {row.model: row.value for row in found["relation_deviation"]}
    order = sorted(leaders, key=lambda row: -(row.value or 0.0))
    rows: list[Sequence[Cell]] = [
        (place, str(row.model), series[str(row.model)], row, spread[row.model], row.n)
        for place, row in enumerate(order, 1)
    ]
    caption = "Accuracy, as a mean over relations, and its standard deviation over relations."
    return Table("board", caption, ("place", "model", "family", "accuracy", "deviation", "facts answered"), rows)


def _popular(rows: Sequence[Measure]) -> Table:
    """Return the accuracy in head, torso and tail side by side; without rows if subjects have no popularity."""
    found: dict[str, dict[str, Measure]] = {}
    for row in rows:
        found.setdefault(str(row.model), {})[str(conditions_of(row)["bucket"])] = row
    listed = [(model, *(own.get(bucket) for bucket in POPULARITY)) for model, own in found.items()]
    caption = "Accuracy by the popularity of the subject, as a mean over relations (Sun et al., section 3.2)."
    return Table("popularity", caption, ("model", *POPULARITY), listed)


def _ends(rows: Sequence[Measure], relations: Mapping[str, str]) -> list[str]:
    """Return a paragraph on the relations with most and with fewest right answers, if there are many relations."""

    def listed(some: Sequence[Measure]) -> str:
        named = ((str(conditions_of(row)["relation"]), f"{row.value:.3f}".removeprefix("0")) for row in some)
        return ", ".join(f"{relations.get(name, name)} {share}" for name, share in named)

    if len(rows) <= 2 * ENDS or not rows[0].value:
        return []
    best = [row for row in rows[:ENDS] if row.value]
    least = [row for row in rows[-ENDS:] if row.value != rows[ENDS - 1].value]  # not equal to one of the best
    fewest = f" Fewest: {listed(least)}." if least else ""
    untested = "Chance is not taken off, and neighbours need not differ; each relation is tested in the first chapter."
    return [f"Most right answers, a mean over models: {listed(best)}.{fewest} {untested}"]


def _subsumption(found: Mapping[str, Sequence[Measure]]) -> Table:
    accuracy = {row.model: row for row in found["mean_accuracy"]}
    rows = [
        (str(row.model), accuracy.get(row.model), str(row.other), accuracy.get(row.other), row, row.n)
        for row in found.get("subsumption_size", ())
    ]
    caption = (
        "Does a large model know what a small one knows? η: the share of what the smallest model of a family knows "
        "that the largest knows too, averaged over relations."
    )
    head = ("smaller", "smaller's accuracy", "larger", "larger's accuracy", "η", "facts known to the smaller")
    return Table("sizes", caption, head, rows)


def _tuned(found: Mapping[str, Sequence[Measure]]) -> Table:
    shared = {(row.model, row.other): row for row in found.get("subsumption_tuned", ())}
    rows = [
        (str(row.model), str(row.other), row, row.p, shared[row.model, row.other], row.n)
        for row in found.get(TUNED, ())
    ]
    caption = (
        "What tuning changes. Difference: accuracy of the tuned model minus that of its base on the facts that both "
        "answered or abstained from, averaged over relations. p: that there is none, by the signs of what each subject "
        "adds to it, for this row alone; the table of all methods adjusts it for all rows. η: the share of what the "
        "tuned model knows that its base knew."
    )
    return Table("tuned", caption, ("tuned", "base", "difference", "p", "η", "facts"), rows)
