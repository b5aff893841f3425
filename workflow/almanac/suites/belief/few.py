"""The fewest templates with about the same mean accuracy as all: Zhao et al.'s future work (section 8).

A model is tested on templates chosen by the other models, so the test is fair.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from almanac.suites.belief.resampling import Hits

WITHIN = 0.01  # largest difference from the accuracy with all templates
Array = NDArray[np.float64]


def fewest(models: Sequence[Hits], within: float = WITHIN) -> list[list[int]] | None:
    """Choose templates greedily, and return their indices in each relation; None if no choice suffices.

    Each step adds one template to every relation that has any left: the one that brings the models' mean accuracies
    closest to those with all templates. It ends when no model's accuracy differs by more than ``within``.

    Args:
        models: the hits of each model, for the same relations and templates.
        within: the largest difference in accuracy.
    """
    weights = np.array([one.weights for one in models])  # (models, relations)
    accuracy = [np.array([one.accuracy[at] for one in models]) for at in range(len(weights[0]))]  # (models, templates)
    chosen: list[list[int]] = [[] for _ in accuracy]
    for _ in range(max(acc.shape[1] for acc in accuracy)):
        for acc, places in zip(accuracy, chosen, strict=True):
            if len(places) < acc.shape[1]:
                places.append(_next(acc, places))
        gaps = [acc[:, places].mean(axis=1) - acc.mean(axis=1) for acc, places in zip(accuracy, chosen, strict=True)]
        if np.abs((weights * np.array(gaps).T).sum(axis=1)).max() <= within:
            return [sorted(places) for places in chosen]
    return None


def _next(accuracy: Array, chosen: Sequence[int]) -> int:
    """Return the template to add for the least squared error of the mean; ``accuracy`` is ``(models, templates)``."""
    left = [at for at in range(accuracy.shape[1]) if at not in chosen]
    target = accuracy.mean(axis=1)
    errors = [float(((accuracy[:, [*chosen, at]].mean(axis=1) - target) ** 2).sum()) for at in left]
    return left[int(np.argmin(errors))]


def held_out(frames: Mapping[str, pl.DataFrame]) -> dict[str, tuple[tuple[str, ...], float, float]]:
    """Return for each model the templates that the others choose, and its accuracy with these and with all.

    Both accuracies are means over pairs, of the prompts that the model answered.

    Args:
        frames: the prompts of each model, asked in one way. Models without an answer, or with answers to other
            templates than the first model's, are left out. At least three must be left: two choose for the third.
    """
    hits = {name: Hits.of(frame) for name, frame in frames.items()}
    asked = {name: (own.relations, own.templates) for name, own in hits.items() if own.relations}
    there = [name for name, own in asked.items() if own == next(iter(asked.values()))]
    results = {}
    for name in there if len(there) > 2 else ():
        places = fewest([hits[other] for other in there if other != name])
        if places is not None:
            own = hits[name]
            chosen = tuple(texts[at] for texts, some in zip(own.templates, places, strict=True) for at in some)
            few = Hits.of(frames[name].filter(pl.col("template").cast(pl.String).is_in(chosen)))
            results[name] = (chosen, float(few.shares.mean()), float(own.shares.mean()))
    return results
