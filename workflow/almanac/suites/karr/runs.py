"""Scores the true facts again in runs that each replace one template of every relation, or one name of every entity."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from almanac.errors import AlmanacError
from almanac.rows import Fact
from almanac.suites.data import Data
from almanac.suites.karr.asking import K_PROMPTS, LAMA, PARAREL, pools_of
from almanac.suites.karr.baselines import FilledBlank, KarrVerdict, k_prompts, lama, pararel
from almanac.suites.karr.draws import FactDraw
from almanac.suites.karr.estimator import VARIANTS, estimate
from almanac.suites.karr.numbers import Numbers, UnansweredError
from almanac.suites.karr.options import KarrOptions
from almanac.suites.karr.resampling import KINDS, TEMPLATES, Resampling
from almanac.suites.karr.rows import ReplacedRun
from almanac.suites.karr.strings import plan

HALF = 0.5  # parts 1, known, from 0, where a verdict needs no threshold that is chosen later


@dataclass(frozen=True)
class Runs:
    """Collects what becomes of the facts of every method in every run.

    Names are replaced for KaRR and K-Prompts alone: the other methods know the labels only. A kind of text of which
    nothing has one more to draw yields nothing.
    """

    facts: Mapping[str, Fact]
    resampling: Mapping[str, Resampling]
    options: KarrOptions
    # By method and kind of text, for each run the facts that have a value: log KaRR, or 1 for known and 0 for not.
    _values: "dict[tuple[str, str], list[array[float]]]" = field(default_factory=dict)
    _differ: set[tuple[str, str]] = field(default_factory=set)  # where any fact has other texts in a run

    @classmethod
    def of(cls, data: Data, options: KarrOptions) -> "Runs":
        """Return the runs of a dataset.

        Raises:
            AlmanacError: there is no dataset to draw from.
        """
        if not (data.templates or data.relations):
            raise AlmanacError("measure karr: resamples draws from the dataset again; give its folder (--facts), or 0")
        pools, _ = pools_of(data, options)
        resampling = {mode: Resampling(pools, variant) for mode, variant in VARIANTS.items()}
        facts = {fact.fact_id: fact for own in data.drawn.values() for fact in own}
        return cls(facts, resampling, options)

    def add(
        self,
        experiment: str,
        fact_id: str,
        drawn: FactDraw | None,
        numbers: Mapping[str, Numbers],
        blanks: Mapping[int, FilledBlank],
    ) -> None:
        """Judge a fact with its true object in every run.

        KaRR and K-Prompts are judged by what was ``drawn``, LAMA and ParaRel by their ``blanks``, which stand by the
        position of the template.

        Raises:
            AlmanacError: a run's string was not asked.
        """
        try:
            fact = self.facts[fact_id]
            for kind in KINDS:
                if drawn is not None:
                    self._draws(experiment, fact, kind, drawn, numbers)
                elif kind == TEMPLATES:
                    self._blanks(experiment, fact, blanks)
        except KeyError as error:
            raise AlmanacError(
                f"measure karr: {experiment}: fact {fact_id}: a run's string was not asked; measure with the dataset "
                "and the settings that were asked, or without resamples"
            ) from error

    def _draws(self, experiment: str, fact: Fact, kind: str, drawn: FactDraw, numbers: Mapping[str, Numbers]) -> None:
        mode = experiment if experiment in VARIANTS else "paper"
        resampling, own = self.resampling[mode], numbers[mode]
        differs = resampling.widened(fact, drawn, kind) != drawn
        runs = range(self.options.resamples)
        replaced = [resampling.replaced(fact, drawn, kind, run) if differs else drawn for run in runs]
        values: list[float | None] = []
        for run, changed in enumerate(replaced):
            first = replaced.index(changed)  # runs may draw alike
            values.append(values[first] if first < run else self._value(experiment, own, changed))
        self._add(experiment, kind, values, differs)

    def _value(self, experiment: str, numbers: Numbers, drawn: FactDraw) -> float | None:
        if experiment == K_PROMPTS:
            return _number(k_prompts(numbers, drawn, self.options.k_prompts))
        try:
            return estimate(numbers.leaves(plan(drawn, numbers.variant)), numbers.variant).karr
        except UnansweredError:
            return None

    def _blanks(self, experiment: str, fact: Fact, blanks: Mapping[int, FilledBlank]) -> None:
        """Judge the blanks that a run reads: LAMA's is any of the pool's, ParaRel's are all but one."""
        runs, relation = self.resampling["paper"], fact.relation_id

        def value(run: int) -> float | None:
            if experiment == PARAREL:
                return _number(pararel([blanks[at] for at in runs.positions(TEMPLATES, run, relation)]))
            return _number(lama(blanks[runs.one(run, relation)], LAMA[experiment]))

        differs = bool(runs.spare(TEMPLATES, relation)) if experiment == PARAREL else len(blanks) > 1
        self._add(experiment, TEMPLATES, list(map(value, range(self.options.resamples))), differs)

    def _add(self, experiment: str, kind: str, values: Sequence[float | None], differs: bool) -> None:
        """Take a fact's value in every run; of one that has none in a run nothing is taken."""
        key = experiment, kind
        for own, value in zip(self._values.setdefault(key, [array("d") for _ in values]), values, strict=True):
            if value is not None:
                own.append(value)
        if differs:
            self._differ.add(key)

    def rows(self, limits: Mapping[str, float]) -> list[ReplacedRun]:
        """Return the share known in each run; ``limits`` has the logarithm of each mode's threshold."""
        return [
            ReplacedRun(experiment, kind, run, sum(value > limits.get(experiment, HALF) for value in own) / len(own))
            for experiment, kind in sorted(self._differ, key=lambda key: (key[0], KINDS.index(key[1])))
            for run, own in enumerate(self._values[experiment, kind])
            if own
        ]


def _number(verdict: KarrVerdict) -> float | None:
    return None if verdict.known is None else float(verdict.known)
