"""Measures how much KaRR depends on the draw of templates and names (Dong et al., section 4.3).

Each run scores the true facts again with one template of every relation, or one name of every entity, replaced by an
extra one. Extra texts are asked along, so runs need no further requests; reported is the variance over runs.
"""

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from almanac.errors import AlmanacError
from almanac.rows import Fact
from almanac.suites.data import Data
from almanac.suites.karr.baselines import K_PROMPTS, LAMA, PARAREL, FilledBlank, KarrVerdict, k_prompts, lama, pararel
from almanac.suites.karr.draws import FactDraw, Pools, pools_of
from almanac.suites.karr.estimator import VARIANTS, Variant, estimate
from almanac.suites.karr.numbers import Numbers, UnansweredError
from almanac.suites.karr.options import KarrOptions
from almanac.suites.karr.rows import ReplacedRun
from almanac.suites.karr.strings import plan
from almanac.tables import seed_of

TEMPLATES, NAMES = "templates", "names"  # the kinds of text that a run can replace
KINDS = (TEMPLATES, NAMES)
HALF = 0.5  # the threshold of methods whose values are 1 (known) or 0 (unknown)
Change = Callable[[str, tuple[str, ...]], tuple[str, ...]]  # from a relation or entity and its drawn texts to others


def _unchanged(key: str, texts: tuple[str, ...]) -> tuple[str, ...]:
    return texts


def _changed(drawn: FactDraw, fact: Fact, kind: str, change: Change) -> FactDraw:
    """Return a draw in which ``change`` was applied to all templates, or to all names, by ``kind``.

    A name that is added to the subject's gets, under each relation, the templates of all its other names.
    """
    templates, names = (change, _unchanged) if kind == TEMPLATES else (_unchanged, change)
    subject_names = names(fact.subject_id, drawn.names)
    relations = [
        {relation: templates(relation, texts) for relation, texts in group.items()} for group in drawn.relations
    ]
    if len(subject_names) > len(relations):
        all_templates: dict[str, tuple[str, ...]] = {}
        for group in relations:
            for relation, texts in group.items():
                all_templates[relation] = tuple(dict.fromkeys((*all_templates.get(relation, ()), *texts)))
        relations.append(all_templates)
    return FactDraw(
        templates(fact.relation_id, drawn.templates),
        subject_names,
        names(fact.object_key, drawn.objects),
        {other: names(other, texts) for other, texts in drawn.subjects.items()},
        tuple(relations),
    )


@dataclass(frozen=True)
class Resampling:
    """Replaces templates (``key``: a relation's id) or names (an entity's key) in a variant's draws, by seed."""

    pools: Pools
    variant: Variant
    _swaps: dict[tuple[str, int, str], tuple[str, str] | None] = field(default_factory=dict, compare=False)

    def _pool(self, kind: str, key: str) -> tuple[str, ...]:
        return self.pools.template_pool(key) if kind == TEMPLATES else self.pools.name_pool(key, self.variant)

    def _never_replaced(self, kind: str) -> int:
        """Return how many leading texts of a draw are never replaced: 1 for a label that the variant keeps, else 0."""
        return int(kind == NAMES and self.variant.keeps_label)

    def _count(self, kind: str) -> int:
        return self.pools.options.templates if kind == TEMPLATES else self.pools.options.aliases

    def spare(self, kind: str, key: str) -> tuple[str, ...]:
        """Return the extra template of a relation, or name of an entity, in a tuple; empty if there is none to draw."""
        drawn = self._count(kind)
        return self._pool(kind, key)[drawn:] if drawn > self._never_replaced(kind) else ()

    def positions(self, kind: str, run: int, key: str) -> list[int]:
        """Return the indices in the pool of the texts that a run uses, in drawing order; the extra text is the last."""
        indices = list(range(min(self._count(kind), len(self._pool(kind, key)))))
        if self.spare(kind, key):
            kept = self._never_replaced(kind)
            seed = seed_of(self.pools.options.seed, "replaced", kind, run, key)
            indices[kept + seed % (len(indices) - kept)] = len(indices)
        return indices

    def single(self, run: int, relation: str) -> int:
        """Return the index in the pool of the one template that a run uses for LAMA."""
        return seed_of(self.pools.options.seed, "single", run, relation) % len(self.pools.template_pool(relation))

    def _swap(self, kind: str, run: int, key: str) -> tuple[str, str] | None:
        """Return the text that a run replaces and its replacement, or none."""
        memo = (kind, run, key)
        if memo not in self._swaps:
            pool, positions = self._pool(kind, key), self.positions(kind, run, key)
            gone = next((at for at in range(len(positions)) if positions[at] != at), None)
            self._swaps[memo] = None if gone is None else (pool[gone], pool[-1])
        return self._swaps[memo]

    def widened(self, fact: Fact, drawn: FactDraw, kind: str) -> FactDraw:
        """Return a draw with the extra texts added: the strings of all runs. It is equal to ``drawn`` without any."""
        return _changed(drawn, fact, kind, lambda key, texts: (*texts, *self.spare(kind, key)))

    def replaced(self, fact: Fact, drawn: FactDraw, kind: str, run: int) -> FactDraw:
        """Return the draw with which a run scores a fact."""

        def change(key: str, texts: tuple[str, ...]) -> tuple[str, ...]:
            swap = self._swap(kind, run, key)
            return texts if swap is None else tuple(swap[1] if text == swap[0] else text for text in texts)

        return _changed(drawn, fact, kind, change)


@dataclass(frozen=True)
class Runs:
    """Collects the value of each fact by each method in each run.

    Names are replaced only for KaRR and K-Prompts: other methods use labels alone. There are no rows for a method and a
    kind of text of which no fact has an extra one.
    """

    facts: Mapping[str, Fact]
    resampling: Mapping[str, Resampling]
    options: KarrOptions
    # By method and kind of text: for each run, the values of the facts that have one (log KaRR, or 1 known, 0 unknown).
    _values: "dict[tuple[str, str], list[array[float]]]" = field(default_factory=dict)
    _differ: set[tuple[str, str]] = field(default_factory=set)  # keys for which some run changes a fact's texts

    @classmethod
    def of(cls, data: Data, options: KarrOptions) -> "Runs":
        """Return the runs of a dataset.

        Raises:
            AlmanacError: there is no dataset to draw from.
        """
        if not (data.templates or data.relations):
            raise AlmanacError("measure karr: resamples needs the dataset; give its folder (--facts), or set it to 0")
        pools, _ = pools_of(data, options)
        resampling = {mode: Resampling(pools, variant) for mode, variant in VARIANTS.items()}
        facts = {fact.fact_id: fact for listed in data.split_facts.values() for fact in listed}
        return cls(facts, resampling, options)

    def add(
        self,
        experiment: str,
        fact_id: str,
        drawn: FactDraw | None,
        numbers: Mapping[str, Numbers],
        blanks: Mapping[int, FilledBlank],
    ) -> None:
        """Compute the values of one fact, with its true object, in every run.

        KaRR and K-Prompts read ``drawn`` and ``numbers``; LAMA and ParaRel read ``blanks``, by the index of their
        template in the pool.

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
                "and the settings with which it was asked, or without resamples"
            ) from error

    def _draws(self, experiment: str, fact: Fact, kind: str, drawn: FactDraw, numbers: Mapping[str, Numbers]) -> None:
        mode = experiment if experiment in VARIANTS else "paper"
        resampling, numbers_of_mode = self.resampling[mode], numbers[mode]
        differs = resampling.widened(fact, drawn, kind) != drawn
        runs = range(self.options.resamples)
        replaced = [resampling.replaced(fact, drawn, kind, run) if differs else drawn for run in runs]
        values: list[float | None] = []
        for run, changed in enumerate(replaced):
            first = replaced.index(changed)  # several runs may have the same draw
            values.append(values[first] if first < run else self._value(experiment, numbers_of_mode, changed))
        self._add(experiment, kind, values, differs)

    def _value(self, experiment: str, numbers: Numbers, drawn: FactDraw) -> float | None:
        if experiment == K_PROMPTS:
            return _number(k_prompts(numbers, drawn, self.options.k_prompts))
        try:
            return estimate(numbers.leaves(plan(drawn, numbers.variant)), numbers.variant).karr
        except UnansweredError:
            return None

    def _blanks(self, experiment: str, fact: Fact, blanks: Mapping[int, FilledBlank]) -> None:
        """Add the values of LAMA, which reads one template a run, or ParaRel, which reads all but the replaced one."""
        resampling, relation = self.resampling["paper"], fact.relation_id

        def value(run: int) -> float | None:
            if experiment == PARAREL:
                return _number(pararel([blanks[at] for at in resampling.positions(TEMPLATES, run, relation)]))
            return _number(lama(blanks[resampling.single(run, relation)], LAMA[experiment]))

        differs = bool(resampling.spare(TEMPLATES, relation)) if experiment == PARAREL else len(blanks) > 1
        self._add(experiment, TEMPLATES, list(map(value, range(self.options.resamples))), differs)

    def _add(self, experiment: str, kind: str, values: Sequence[float | None], differs: bool) -> None:
        """Store a fact's values, one a run; a run in which the fact has no value is skipped."""
        key = experiment, kind
        for stored, value in zip(self._values.setdefault(key, [array("d") for _ in values]), values, strict=True):
            if value is not None:
                stored.append(value)
        if differs:
            self._differ.add(key)

    def rows(self, limits: Mapping[str, float]) -> list[ReplacedRun]:
        """Return the share of known facts in each run; ``limits`` holds the logarithm of each mode's threshold."""
        return [
            ReplacedRun(experiment, kind, run, sum(value > limit for value in values) / len(values))
            for experiment, kind in sorted(self._differ, key=lambda key: (key[0], KINDS.index(key[1])))
            for limit in [limits.get(experiment, HALF)]
            for run, values in enumerate(self._values[experiment, kind])
            if values
        ]


def _number(verdict: KarrVerdict) -> float | None:
    return None if verdict.known is None else float(verdict.known)
