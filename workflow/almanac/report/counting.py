"""Of each fact how many methods know it, and of each relation how much: counted over the items of an edition."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from almanac.config import Asking
from almanac.dataset.names import ObjectNames
from almanac.report.known import FactFound, RelationFound
from almanac.rows import Measure
from almanac.statistics import grouped
from almanac.statistics.intervals import Estimate
from almanac.suites.chance import OF_RELATION, TESTED, at_least
from almanac.suites.headline import ABOVE_CHANCE, LEVEL, NOT_ABOVE, Finding, holm
from almanac.suites.judged import FACT, RELATION, SUBJECT, Judged, as_text, conditions_of
from almanac.suites.recovery import HALF

NAMED = (RELATION, SUBJECT, "object")
SUMS = ("right", "chance", "tested", "methods", "known", "asked")


class Counting:
    """Counts what is known of facts, a model and suite at a time."""

    def __init__(
        self,
        findings: Sequence[Finding],
        names: Mapping[str, ObjectNames],
        relations: Mapping[str, Mapping[str, str]],
    ) -> None:
        """Choose the methods that count: those that are above chance for any model, where they were tested.

        Args:
            findings: what each method says of each model.
            names: by dataset the names of its entities.
            relations: by dataset the labels of its relations.
        """
        self._names, self._relations = names, relations
        any_above = {(one.known.suite, one.known.dataset, one.known.where) for one in findings if _above(one)}
        self._methods: dict[tuple[str | None, str, str], list[Finding]] = defaultdict(list)
        for one in findings:
            row = one.known
            if one.verdict in (ABOVE_CHANCE, NOT_ABOVE) and (row.suite, row.dataset, row.where) in any_above:
                self._methods[row.model, row.suite, row.dataset].append(one)
        # By dataset: the facts that are asked, with their names and how often they were taught; and of each model and
        # fact `SUMS` over methods.
        self._facts: dict[str, pl.DataFrame] = {}
        self._sums: dict[str, pl.DataFrame] = {}

    def add(self, asking: Asking, judged: Judged, measures: Sequence[Measure]) -> None:
        """Count the items of a model; ``measures`` are the numbers of its suite, of all models."""
        self.name(asking.dataset, judged.frame)
        chances: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
        for row in measures:
            if row.model == asking.model and row.metric in (OF_RELATION, TESTED) and row.value is not None:
                where: dict[str, Any] = dict(conditions_of(row))
                relation = str(where.pop(RELATION))
                chances[row.metric, as_text(where)][relation] = row.value
        for one in self._methods[asking]:
            items = judged.where(conditions_of(one.known))
            own = [chances[metric, as_text(items.conditions)] for metric in (OF_RELATION, TESTED)]
            self.count(asking.dataset, asking.model, items.frame, _above(one), *own)

    def name(self, dataset: str, frame: pl.DataFrame) -> None:
        """Note the facts that are asked: their names, and how often they were taught."""
        own = frame.filter(pl.col(FACT).is_not_null()).unique(FACT, maintain_order=True)
        own = own.select(pl.col(FACT, *NAMED).cast(pl.String), "dose")
        every = pl.concat([self._facts.get(dataset, own.clear()), own]).group_by(FACT, maintain_order=True)
        self._facts[dataset] = every.agg(pl.col(NAMED).first(), pl.col("dose").drop_nulls().first())

    def count(
        self,
        dataset: str,
        model: str,
        frame: pl.DataFrame,
        above: bool,
        chances: Mapping[str, float],
        tested: Mapping[str, float],
    ) -> None:
        """Count which facts a model has right by a method.

        To the sums of a fact it adds ``right``, its share of right answers, with ``chance`` and ``tested``, that of its
        relation and that of its test, and 1 to ``methods``, where the relation has a chance; ``known``, whether most
        answers are right, and 1 to ``asked``, where the method is above chance for the model itself.

        Args:
            dataset: whose facts they are.
            model: the model.
            frame: the items that the method counts.
            above: whether it is above chance for the model.
            chances: by relation what is right by chance.
            tested: by relation the chance that is tested.
        """
        observed = frame.filter(pl.col("hit").is_not_null() & pl.col(FACT).is_not_null())
        relation, hit = pl.col(RELATION).cast(pl.String), pl.col("hit").mean()
        chance, of_test = (relation.replace_strict(own, default=None).first() for own in (chances, tested))
        own = observed.group_by(pl.col(FACT).cast(pl.String), maintain_order=True).agg(
            pl.lit(model).alias("model"),
            pl.when(chance.is_not_null()).then(hit).otherwise(0.0).alias("right"),
            chance.cast(pl.Float64).fill_null(0.0).alias("chance"),
            of_test.cast(pl.Float64).fill_null(0.0).alias("tested"),
            chance.is_not_null().cast(pl.Int64).alias("methods"),
            ((hit > HALF) & above).cast(pl.Int64).alias("known"),
            pl.lit(int(above), pl.Int64).alias("asked"),
        )
        every = pl.concat([self._sums.get(dataset, own.clear()), own]).group_by(FACT, "model", maintain_order=True)
        self._sums[dataset] = every.agg(pl.col(SUMS).sum())

    def asked(self) -> dict[str, dict[str, list[Any]]]:
        """Return the facts that are asked, by dataset as columns, with how many know them: the search is among them."""
        found: dict[str, dict[str, list[Any]]] = {}
        for dataset, own in self._facts.items():
            if own.height:
                label, found[dataset] = self._names[dataset].label, self._counted(dataset).to_dict(as_series=False)
                found[dataset] |= {name: list(map(label, found[dataset][name])) for name in (SUBJECT, "object")}
        return found

    def _counted(self, dataset: str) -> pl.DataFrame:
        """Return the facts of a dataset with ``known`` and ``asked`` over all models; 0 where nothing counts."""
        facts = self._facts[dataset]
        if dataset not in self._sums:
            return facts.with_columns(known=0, asked=0)
        sums = self._sums[dataset].group_by(FACT, maintain_order=True).agg(pl.col("known", "asked").sum())
        return facts.join(sums, on=FACT, how="left", maintain_order="left").with_columns(
            pl.col("known", "asked").fill_null(0)
        )

    def facts(self) -> Iterator[FactFound]:
        """Yield how often each fact is known, of the models and methods that are above chance."""
        for dataset in self._sums:
            label, relations = self._names[dataset].label, self._relations[dataset]
            counted = self._counted(dataset).filter(pl.col("asked") > 0)
            for fact, relation, subject, truth, dose, known, asked in counted.iter_rows():
                said = " — ".join((label(subject), relations[relation], label(truth)))
                yield FactFound(dataset, fact, said, dose, known, asked)

    def relations(self) -> Iterator[RelationFound]:
        """Yield what models know of each relation.

        The test counts a subject once. What it has right, as a mean over its facts and methods, and what it would have
        right by chance are taken for one draw, which varies more than such a mean does, and all draws of a relation for
        alike (Hoeffding, Annals of Mathematical Statistics 27, 1956): both make p rather too large.
        """
        keys = [RELATION, "model"]
        for dataset, every in self._sums.items():
            own = every.filter(pl.col("methods") > 0)
            own = own.join(self._facts[dataset], on=FACT, how="left", maintain_order="left")
            own = own.with_columns(pl.col("right", "chance", "tested") / pl.col("methods"))
            known = grouped.macro(own, keys, "right", None, SUBJECT).rows_by_key(keys, unique=True)
            subjects = own.group_by(*keys, SUBJECT, maintain_order=True).agg(pl.col("right", "tested").mean())
            draws = subjects.group_by(keys, maintain_order=True).agg(
                pl.col("right").sum(), pl.len(), pl.col("tested").mean()
            )
            ps = holm([at_least(*test) for _, _, *test in draws.iter_rows()])
            above = {key for key, p in zip(draws.select(keys).iter_rows(), ps, strict=True) if p <= LEVEL}
            counted = own.group_by(RELATION, maintain_order=True).agg(
                pl.col("chance").mean(), pl.col(FACT).n_unique(), pl.col("model").unique(maintain_order=True)
            )
            for relation, chance, facts, models in counted.iter_rows():
                of = {name: Estimate(*known[relation, name]) for name in models}
                sure = [name for name in models if (relation, name) in above]
                yield RelationFound(dataset, relation, self._relations[dataset][relation], of, chance, facts, sure)


def _above(one: Finding) -> bool:
    return one.verdict == ABOVE_CHANCE
