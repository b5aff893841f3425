"""KaRR's figures: the share of facts called known by threshold, with the null's, and by how often they were taught."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from almanac.rows import Measure
from almanac.suites.karr.requests import FACTS, NULL

# Okabe and Ito's palette, with markers that tell lines apart in grey.
LOOKS: tuple[dict[str, Any], ...] = tuple(
    {"color": colour, "marker": marker}
    for colour, marker in zip(
        ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"), "osD^vPX", strict=True
    )
)


def by_threshold(measures: Sequence[Measure], modes: Sequence[str]) -> Figure:
    """Draw, a panel a mode, the share of facts over each threshold (log scale); the null of each model dashed."""
    rows = [row for row in measures if row.metric == "known_at" and row.value is not None]
    models = list(dict.fromkeys(row.model for row in rows))
    figure = Figure(figsize=(7.2, 3.4), layout="constrained")
    panels: list[Axes] = list(figure.subplots(1, len(modes), sharey=True, squeeze=False)[0])
    for axes, mode in zip(panels, modes, strict=True):
        for index, model in enumerate(models):
            look = LOOKS[index % len(LOOKS)]
            for setting, style in ((FACTS, "-"), (NULL, "--")):
                own = [row for row in rows if (row.experiment, row.model, row.setting) == (mode, model, setting)]
                own.sort(key=lambda row: row.level or 0.0)
                label = model if setting == FACTS else None
                axes.plot([row.level or 0.0 for row in own], [row.value or 0.0 for row in own], style, label=label,
                          markersize=4, **look)  # fmt: skip
            for row in measures:
                if (row.metric, row.experiment, row.model, row.setting) == ("threshold", mode, model, FACTS):
                    axes.axvline(row.value or 1.0, color=look["color"], linewidth=0.8, linestyle=":")
        axes.set_xscale("log")
        axes.set_title(mode)
        axes.set_xlabel("KaRR")
        axes.set_ylim(-0.02, 1.02)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("share of facts above")
    panels[-1].legend(frameon=False)
    return figure


def by_exposure(measures: Sequence[Measure], modes: Sequence[str]) -> Figure:
    """Draw, a panel a mode, the share called known by the number of times a fact was taught, with 95 % intervals."""
    rows = [row for row in measures if row.metric == "accuracy_by_exposure" and row.value is not None]
    doses = sorted({row.exposure for row in rows if row.exposure is not None})
    figure = Figure(figsize=(7.2, 3.4), layout="constrained")
    panels: list[Axes] = list(figure.subplots(1, len(modes), sharey=True, squeeze=False)[0])
    for axes, mode in zip(panels, modes, strict=True):
        for index, model in enumerate(dict.fromkeys(row.model for row in rows)):
            own = sorted(
                (row for row in rows if (row.experiment, row.model) == (mode, model)), key=lambda row: row.exposure or 0
            )
            share, low, high = (np.array([getattr(row, name) for row in own], dtype=float) for name in SIDES)
            at = np.array([doses.index(row.exposure or 0) for row in own]) + 0.06 * index
            reach = np.maximum([share - low, high - share], 0)
            axes.errorbar(at, share, yerr=reach, label=model, capsize=2, markersize=4, **LOOKS[index % len(LOOKS)])
        axes.set_xticks(range(len(doses)), [str(dose) for dose in doses])
        axes.set_title(mode)
        axes.set_xlabel("times a fact was taught")
        axes.set_ylim(-0.02, 1.02)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("share called known")
    panels[-1].legend(frameon=False, loc="upper left")
    return figure


SIDES = ("value", "low", "high")
