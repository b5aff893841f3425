"""Accuracy by the number of examples, and how many are enough (Wu et al., section 3)."""

from collections.abc import Iterator, Mapping

import polars as pl

from almanac.rows import Measure
from almanac.suites.answers import Answers
from almanac.suites.asked import Batch
from almanac.suites.data import Data
from almanac.suites.ic_lke import chapter as chapters
from almanac.suites.ic_lke.choices import ChoiceSuite, accuracy, accuracy_at_k, chance, deviation
from almanac.suites.ic_lke.options import SweepOptions
from almanac.suites.ic_lke.questions import LAYOUTS, Questioner, draw_examples
from almanac.suites.ic_lke.suite import IcLkeSetting
from almanac.suites.judged import Judged, Not
from almanac.suites.suite import Round

SWEEP = "sweep"
ROUNDING = 1e-12  # as floats, .95 × 20/53 is more than 19/53


class Sweep(ChoiceSuite[SweepOptions]):
    """Test facts after an increasing number of examples; a smaller set of examples is the beginning of a larger one."""

    name = "lke_sweep"
    label = "Number of examples"
    summary = "pick an object after an increasing number of examples"
    options = SweepOptions
    setting = IcLkeSetting
    chapter = staticmethod(chapters.sweep)

    def ask(self, at: Round, data: Data, options: SweepOptions, before: Answers | None) -> Iterator[Batch]:
        """Ask the test facts after each number of examples in each draw; with no examples there is one draw.

        Raises:
            AlmanacError: a relation has fewer train facts than the largest number of examples, or is not in the
                dataset.
        """
        questioner = Questioner(self, data, options, options.relations)
        for _, facts, tested in questioner.relations():
            for shots in options.examples:
                for draw in range(options.draws if shots else 1):
                    examples = draw_examples(facts, shots, options.seed, draw, "examples")
                    setting = IcLkeSetting(shots, draw)
                    questioner.ask_in_context(examples, tested, LAYOUTS[options.layout], SWEEP, setting)
            yield questioner.asked.take()
        yield questioner.asked.take()

    def measure(self, judged: Judged, own: Mapping[str, pl.DataFrame], options: SweepOptions) -> list[Measure]:
        """Compute every number of one model.

        Returns:
            By number of examples, ``accuracy_at_shots`` over all relations, in each, and by dose (a fact's draws
            averaged first) and ``deviation_at_shots``, the standard deviation of the draws' accuracies.
            ``enough_shots``: the smallest number that reaches ``options.enough`` of the accuracy at the largest.
            ``accuracy_at_k``: at the largest, first draw, over the facts answered with a confidence of at least K.
        """
        metric = "accuracy_at_shots"
        rows = accuracy(judged, "shots", metric=metric)
        rows += judged.where(dose=Not(None)).measures(metric, "macro_of_facts", "hit", by=("shots", "dose"))
        reached: dict[int, float] = {}
        groups = list(judged.groups("shots"))
        for group in groups:
            rows.append(group.measure("deviation_at_shots", deviation(group, "draw"), "other", ("hit", "draw")))
            [whole] = group.measures(metric, "macro_of_facts", "hit")
            if whole.value is not None and group.frame["hit"].is_not_null().all():  # a longer text may not fit
                reached[int(str(group.conditions["shots"]))] = whole.value
        if groups:
            least = enough(reached, options.enough) if len(reached) == len(groups) else None
            rows += [groups[-1].measure("enough_shots", least, of=("hit", "shots")), chance(groups[-1])]
            rows += accuracy_at_k(groups[-1].where(draw=0))
        return rows


def enough(accuracies: Mapping[int, float], share: float) -> int:
    """Return the smallest number of examples that reaches a share of the accuracy at the largest number."""
    wanted = share * accuracies[max(accuracies)] - ROUNDING
    return min(shots for shots, value in accuracies.items() if value >= wanted)
