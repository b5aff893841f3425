"""Head-to-Tail's figures: the rates from head to tail, one panel per domain, and by how often a fact was taught."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from almanac.rows import Measure
from almanac.suites.head_to_tail.buckets import BUCKETS
from almanac.suites.judged import conditions_of
from almanac.suites.looks import legend, look, unit_axis, values

RATES = ("accuracy", "hallucination")


def head_to_tail(rows: Mapping[str, Sequence[Measure]]) -> Figure:
    """Draw accuracy and hallucination rate from head to tail, a column a domain, a line a model (Figure 1, Table 4).

    Args:
        rows: of each rate its numbers by domain and level, or by level alone, of one way of asking.
    """
    domains = sorted({str(_at(row, "domain")) for row in rows[RATES[0]]})
    models = list(dict.fromkeys(str(row.model) for row in rows[RATES[0]]))
    figure = Figure(figsize=(1.8 + 2.1 * len(domains), 4.6), layout="constrained")
    panels = figure.subplots(len(RATES), len(domains), sharex=True, sharey=True, squeeze=False)
    for rate, own_panels in zip(RATES, panels, strict=True):
        for domain, axes in zip(domains, own_panels, strict=True):
            for index, model in enumerate(models):
                own = [row for row in rows[rate] if (str(row.model), str(_at(row, "domain"))) == (model, domain)]
                _line(axes, own, "level", BUCKETS, index, model)
            axes.set_xticks(range(len(BUCKETS)), BUCKETS)
            axes.set_xlim(-0.3, len(BUCKETS) - 0.7)
            unit_axis(axes)
        own_panels[0].set_ylabel(rate)
    for domain, axes in zip(domains, panels[0], strict=True):
        axes.set_title("all" if domain == "None" else domain)
    legend(figure, list(panels.flat))
    return figure


def by_dose(rows: Sequence[Measure]) -> Figure:
    """Draw accuracy by how often a fact was taught, a line a model."""
    doses = sorted({_at(row, "dose") for row in rows})
    figure = Figure(figsize=(5, 3), layout="constrained")
    axes = figure.subplots()
    for index, model in enumerate(dict.fromkeys(str(row.model) for row in rows)):
        _line(axes, [row for row in rows if row.model == model], "dose", doses, index, model)
    axes.set_xticks(range(len(doses)), [str(dose) for dose in doses])
    axes.set_xlabel("times a fact was taught")
    axes.set_ylabel("accuracy")
    unit_axis(axes)
    legend(figure, [axes])
    return figure


def _at(row: Measure, column: str) -> Any:
    return conditions_of(row).get(column)


def _line(axes: Axes, rows: Sequence[Measure], along: str, places: Sequence[Any], index: int, label: str) -> None:
    """Draw a model's values with their intervals."""
    kept = sorted((row for row in rows if row.value is not None), key=lambda row: places.index(_at(row, along)))
    if kept:
        own, low, high = values(kept)
        at = np.array([places.index(_at(row, along)) for row in kept]) + 0.04 * index
        reach = np.maximum([own - low, high - own], 0)
        axes.errorbar(at, own, yerr=reach, capsize=2, markersize=4, linewidth=1.2, label=label, **look(index, label))
