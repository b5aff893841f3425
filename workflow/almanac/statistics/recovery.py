"""How well a method's scores recover what a model was taught: the same numbers for every method."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from almanac.statistics.intervals import LEVEL, Estimate, wilson
from almanac.statistics.ranks import auc, spearman


@dataclass(frozen=True)
class Sample:
    """Facts asked of models that were taught them at known doses; four parallel sequences, one value a fact.

    ``doses`` are planned exposures, ``hits`` 1 for correct and 0 for not (or the share
    of draws that were correct), ``scores`` the method's score of the true
    answer, ``priors`` a score that knows no model: how often the answer was taught at all.
    """

    doses: tuple[int, ...] = ()
    hits: tuple[float, ...] = ()
    scores: tuple[float, ...] = ()
    priors: tuple[float, ...] = ()

    def __add__(self, other: Self) -> "Sample":
        """Return the facts of both (several worlds of one design)."""
        return Sample(
            self.doses + other.doses, self.hits + other.hits, self.scores + other.scores, self.priors + other.priors
        )

    def at(self, dose: int, values: Sequence[float]) -> list[float]:
        """Return the values of the facts of one dose."""
        return [value for own, value in zip(self.doses, values, strict=True) if own == dose]


def estimates(sample: Sample, never_level: float = LEVEL) -> dict[str, Estimate]:
    """Return the recovery of a sample, by metric; empty where nothing was taught or everything was.

    - ``recovery_auc``: the chance that a fact of the highest dose scores above one never taught.
    - ``prior_auc``: the same for the prior. In a block design it is .50; where it is not, a method's AUC may come from
      the answer's frequency and not from the fact.
    - ``recovery_spearman``: rank correlation of dose and correctness.
    - ``never_accuracy``: accuracy on the facts never taught, to be held against chance; its interval covers
      ``never_level``.
    """
    if not sample.doses or min(sample.doses) != 0 or max(sample.doses) == 0:
        return {}
    top = max(sample.doses)
    never = sample.at(0, sample.hits)
    return {
        "recovery_auc": auc(sample.at(top, sample.scores), sample.at(0, sample.scores)),
        "prior_auc": auc(sample.at(top, sample.priors), sample.at(0, sample.priors)),
        "recovery_spearman": spearman([float(dose) for dose in sample.doses], sample.hits),
        "never_accuracy": wilson(sum(never) / len(never), len(never), never_level),
    }
