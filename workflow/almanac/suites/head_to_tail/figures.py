"""Head-to-Tail's figure: the rates from head to tail, one panel per domain."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from almanac.rows import Measure
from almanac.suites.head_to_tail.buckets import BUCKETS
from almanac.suites.judged import conditions_of
from almanac.suites.looks import apart, intervals, legend, unit_axis

RATES = ("accuracy", "hallucination")


def head_to_tail(rows: Mapping[str, Sequence[Measure]]) -> Figure:
    """Draw accuracy and hallucination rate from head to tail, a column per domain, a line per model (Fig. 1, Table 4).

    Args:
        rows: for each rate its metrics by domain and level, or by level alone, in one way of asking; all have a value.
    """
    domains = sorted({str(_at(row, "domain")) for row in rows[RATES[0]]})
    if len(domains) == 2 and "None" in domains:  # all, and a single one, which is all
        domains = ["None"]
    models = list(dict.fromkeys(str(row.model) for row in rows[RATES[0]]))
    figure = Figure(figsize=(1.8 + 2.1 * len(domains), 4.6), layout="constrained")
    panels = figure.subplots(len(RATES), len(domains), sharex=True, sharey=True, squeeze=False)
    for rate, own_panels in zip(RATES, panels, strict=True):
        for domain, axes in zip(domains, own_panels, strict=True):
            for index, model in enumerate(models):
                own = [row for row in rows[rate] if (str(row.model), str(_at(row, "domain"))) == (model, domain)]
                own.sort(key=lambda row: BUCKETS.index(str(_at(row, "level"))))
                if own:
                    at = [BUCKETS.index(str(_at(row, "level"))) + apart(len(models)) * index for row in own]
                    intervals(axes, at, own, index, model, label=model)
            axes.set_xticks(range(len(BUCKETS)), BUCKETS)
            axes.set_xlim(-0.3, len(BUCKETS) - 0.7)
            unit_axis(axes)
        own_panels[0].set_ylabel(rate)
    for domain, axes in zip(domains, panels[0], strict=True):
        axes.set_title("all" if domain == "None" else domain)
    legend(figure, list(panels.flat))
    return figure


def _at(row: Measure, column: str) -> Any:
    return conditions_of(row).get(column)
