"""The fewest templates whose mean accuracy is that of all: what Zhao et al. leave for the future (section 8).

They are chosen on other models than the one on which they are then tested, so its difference is a fair test.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from almanac.suites.belief.resampling import Hits

WITHIN = 0.01  # of the accuracy with all templates
Array = NDArray[np.float64]


def fewest(models: Sequence[Hits], within: float = WITHIN) -> list[list[int]] | None:
    """Return the places of the chosen templates of each relation.

    As many are taken of every relation, or all where it has fewer: one more each time, that which brings the models'
    means closest to those with all, until no model's accuracy differs by more than ``within``.

    Args:
        models: what was right, of each model; of the same relations and templates.
        within: the largest difference.
    """
    weights = np.array([one.weights for one in models])  # (models, relations)
    accuracy = [np.array([one.accuracy[at] for one in models]) for at in range(len(weights[0]))]  # (models, templates)
    chosen: list[list[int]] = [[] for _ in accuracy]
    for _ in range(max(own.shape[1] for own in accuracy)):
        for own, places in zip(accuracy, chosen, strict=True):
            if len(places) < own.shape[1]:
                places.append(_next(own, places))
        gaps = [own[:, places].mean(axis=1) - own.mean(axis=1) for own, places in zip(accuracy, chosen, strict=True)]
        if np.abs((weights * np.array(gaps).T).sum(axis=1)).max() <= within:
            return [sorted(places) for places in chosen]
    return None


def _next(own: Array, places: Sequence[int]) -> int:
    """Return the template that brings the mean of the chosen ones closest to that of all, over the models."""
    left = [at for at in range(own.shape[1]) if at not in places]
    target = own.mean(axis=1)
    errors = [float(((own[:, [*places, at]].mean(axis=1) - target) ** 2).sum()) for at in left]
    return left[int(np.argmin(errors))]


def held_out(frames: Mapping[str, pl.DataFrame]) -> dict[str, tuple[tuple[str, ...], float, float]]:
    """Return, of each model, the templates that the others choose, and its accuracy with these and with all.

    Both are means over pairs, as its accuracy is elsewhere, of what it answered.

    Args:
        frames: the prompts of each model that are asked in one way; models without an answer, or with answers to other
            templates than the first's, are left out. Two others at least must choose.
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
