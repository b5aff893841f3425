"""Models side by side on the same questions: who knows what, how alike their profiles are, whose facts contain whose.

Wu et al., sections 5.1 to 5.3. A model counts with the questions that it answered; those that it refused (missing) or
could not answer (error: too long, unsupported, failed) are left out, and ``n`` says how many remain. A model that
answered none has a place on the board and no number.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from typing import NamedTuple

import numpy as np

from almanac.rows import Comparison, Fact, Item, Outcome
from almanac.statistics.correlation import Table, mean_correlation, pearson
from almanac.statistics.intervals import NOTHING, Estimate, macro_share
from almanac.statistics.paired import macro_difference, mcnemar
from almanac.tables import seed_of

USUAL_SIZE = 7_000_000_000  # a family stands where its member closest to this does
DRAWS = 1000  # of the bootstraps


@dataclass(frozen=True)
class Entrant:
    """A model as it is compared.

    ``series`` is the family it is shown with (without one it is its own), ``base`` the model that it was tuned from.
    """

    name: str
    series: str
    base: str | None = None
    parameters: int | None = None


class Question(NamedTuple):
    """A question that all models were asked."""

    item_id: str
    relation_id: str
    subject_id: str


@dataclass(frozen=True)
class Board:
    """The questions, and who answered them how.

    Attributes:
        suite: whose questions they are.
        dataset: of which facts.
        entrants: the models, by name.
        questions: the questions, by item.
        hits: of each model whether it was right, by item; only what it answered.
    """

    suite: str
    dataset: str
    entrants: Mapping[str, Entrant]
    questions: Mapping[str, Question]
    hits: Mapping[str, Mapping[str, bool]]

    def row(
        self,
        metric: str,
        estimate: Estimate,
        n: int,
        model: str | None = None,
        other: str | None = None,
        relation: str | None = None,
        p: float | None = None,
    ) -> Comparison:
        """Return one number."""
        return Comparison(self.suite, self.dataset, metric, model, other, relation, *estimate, p, n)

    def share(self, model: str, items: Iterable[str]) -> Estimate:
        """Return the mean over relations of the share of some questions that a model has right."""
        hits = self.hits[model]
        strata: dict[str, list[float]] = defaultdict(list)
        clusters: dict[str, list[str]] = defaultdict(list)
        for item_id in items:
            question = self.questions[item_id]
            strata[question.relation_id].append(float(hits[item_id]))
            clusters[question.relation_id].append(question.subject_id)
        return macro_share(list(strata.values()), list(clusters.values()))

    def by_relation(self, model: str) -> dict[str, list[str]]:
        """Return the questions that a model answered, by relation, sorted."""
        out: dict[str, list[str]] = defaultdict(list)
        for item_id in self.hits[model]:
            out[self.questions[item_id].relation_id].append(item_id)
        return dict(sorted(out.items()))

    def both(self, one: str, other: str) -> list[str]:
        """Return the questions that two models answered."""
        return sorted(self.hits[one].keys() & self.hits[other].keys())


def board(
    suite: str,
    dataset: str,
    entrants: Sequence[Entrant],
    items: Sequence[Item],
    facts: Sequence[Fact],
    outcomes: Mapping[str, Sequence[Outcome]],
) -> Board:
    """Put together what several models answered to the same questions.

    Args:
        suite: the suite's name.
        dataset: the dataset's name.
        entrants: the models.
        items: the questions: of one experiment and setting, so that a fact stands once.
        facts: the dataset's facts.
        outcomes: of each model, by its name; those of other items are passed over.
    """
    subjects = {fact.fact_id: fact.subject_id for fact in facts}
    questions = {item.item_id: Question(item.item_id, item.relation_id, subjects[item.fact_id]) for item in items}
    hits = {
        model: {
            row.item_id: row.outcome == "correct" for row in rows if row.item_id in questions and row.score is not None
        }
        for model, rows in outcomes.items()
    }
    return Board(suite, dataset, {one.name: one for one in entrants}, questions, hits)


def compare(found: Board) -> list[Comparison]:
    """Return every number between models of one dataset.

    Returns:
        ``mean_accuracy`` and ``deviation`` (over relations) a model, in the order of the paper's figures (`ordered`);
        ``relation_mean`` (over models), the best relation first; ``accuracy`` a model and relation; ``pearson`` between
        models and ``series_pearson`` between families, over relations; ``subsumption_size`` (of the smallest model of a
        family in the largest) and ``subsumption_tuned`` (of a tuned model in its base); ``tuned_difference`` (tuned
        less base, p of McNemar's test).
    """
    accuracies = {model: _accuracies(found, model) for model in found.entrants}
    rows = [row for own in accuracies.values() for row in own]
    table = {
        model: {str(row.relation_id): row.value for row in own if row.value is not None}
        for model, own in accuracies.items()
    }
    means = {model: float(np.mean(list(own.values()))) for model, own in table.items() if own}
    order = ordered(list(found.entrants.values()), means)
    answered = {name: found.entrants[name] for name in order if name in means}
    return [
        *_leaders(found, order, table),
        *_relations(found, table),
        *rows,
        *_likeness(found, list(answered), table),
        *(row for small, large in size_pairs(answered.values()) for row in _subsumed(found, "size", small, large)),
        *(row for tuned, base in tuned_pairs(answered) for row in _tuned(found, tuned, base)),
    ]


def ordered(entrants: Sequence[Entrant], means: Mapping[str, float]) -> list[str]:
    """Return the models' names in the order of the paper's figures.

    Families go by the accuracy of the member closest to 7 B parameters that answered (of equals the untuned one, then
    the better one; one of unknown size only where no other is known), members by their own; what answered nothing comes
    last.
    """
    series: dict[str, list[Entrant]] = defaultdict(list)
    for one in entrants:
        series[one.series].append(one)

    def accuracy(one: Entrant) -> float:
        return means.get(one.name, -1.0)

    def representative(members: Sequence[Entrant]) -> Entrant:
        answered = [one for one in members if one.name in means] or members
        return min(answered, key=lambda one: (_distance(one), one.base is not None, -accuracy(one), one.name))

    families = sorted(series.items(), key=lambda pair: (-accuracy(representative(pair[1])), pair[0]))
    return [one.name for _, own in families for one in sorted(own, key=lambda one: (-accuracy(one), one.name))]


def _distance(one: Entrant) -> float:
    return math.inf if one.parameters is None else abs(one.parameters - USUAL_SIZE)


def size_pairs(entrants: Iterable[Entrant]) -> list[tuple[str, str]]:
    """Return of each family its smallest and its largest untuned model, where these differ in size."""
    series: dict[str, list[Entrant]] = defaultdict(list)
    for one in entrants:
        if one.base is None and one.parameters is not None:
            series[one.series].append(one)
    out = []
    for own in series.values():
        own.sort(key=lambda one: (one.parameters or 0, one.name))
        if own[0].parameters != own[-1].parameters:
            out.append((own[0].name, own[-1].name))
    return out


def tuned_pairs(entrants: Mapping[str, Entrant]) -> list[tuple[str, str]]:
    """Return each tuned model with its base, where that is compared too."""
    return [(one.name, one.base) for one in entrants.values() if one.base is not None and one.base in entrants]


def _accuracies(found: Board, model: str) -> list[Comparison]:
    return [
        found.row("accuracy", found.share(model, items), len(items), model, relation=relation)
        for relation, items in found.by_relation(model).items()
    ]


def _leaders(found: Board, order: Sequence[str], table: Mapping[str, Mapping[str, float]]) -> list[Comparison]:
    rows = []
    for model in order:
        answered = found.hits[model]
        values = list(table[model].values())
        spread = Estimate(float(np.std(values, ddof=1)), None, None) if len(values) > 1 else NOTHING
        rows.append(found.row("mean_accuracy", found.share(model, answered), len(answered), model))
        rows.append(found.row("deviation", spread, len(values), model))
    return rows


def _relations(found: Board, table: Mapping[str, Mapping[str, float]]) -> list[Comparison]:
    relations = sorted({question.relation_id for question in found.questions.values()})
    values = {relation: [own[relation] for own in table.values() if relation in own] for relation in relations}
    means = {relation: float(np.mean(own)) for relation, own in values.items() if own}
    ranked = sorted(means, key=lambda relation: (-means[relation], relation))
    return [
        found.row("relation_mean", Estimate(means[relation], None, None), len(values[relation]), relation=relation)
        for relation in ranked
    ]


def _likeness(found: Board, order: Sequence[str], table: Mapping[str, Mapping[str, float]]) -> list[Comparison]:
    """Return correlations: of two models over the relations that both answered, of families over those that all did."""
    rows = []
    for one, other in combinations(order, 2):
        shared = sorted(table[one].keys() & table[other].keys())
        alike = pearson([table[one][name] for name in shared], [table[other][name] for name in shared])
        rows.append(found.row("pearson", alike, len(shared), one, other))
    relations = sorted(set.intersection(*(set(table[model]) for model in order))) if order else []
    columns: Table = np.array([[table[model][relation] for model in order] for relation in relations], dtype=float)
    columns = columns.reshape(len(relations), len(order))
    members: dict[str, list[int]] = defaultdict(list)
    for place, model in enumerate(order):
        members[found.entrants[model].series].append(place)
    for one, other in combinations_with_replacement(members, 2):
        seed = seed_of("series_pearson", found.dataset, one, other)
        cell = mean_correlation(columns, members[one], members[other], DRAWS, seed)
        rows.append(found.row("series_pearson", cell, len(relations), one, other))
    return rows


def _subsumed(found: Board, kind: str, one: str, other: str) -> list[Comparison]:
    """Return η: of what the first knows the share that the second knows too, averaged over relations."""
    known = [item_id for item_id in found.both(one, other) if found.hits[one][item_id]]
    return [found.row(f"subsumption_{kind}", found.share(other, known), len(known), one, other)]


def _tuned(found: Board, tuned: str, base: str) -> list[Comparison]:
    asked = [found.questions[item_id] for item_id in found.both(tuned, base)]
    after = [found.hits[tuned][question.item_id] for question in asked]
    before = [found.hits[base][question.item_id] for question in asked]
    difference = macro_difference(
        [float(one) - float(other) for one, other in zip(after, before, strict=True)],
        [question.relation_id for question in asked],
        [question.subject_id for question in asked],
        DRAWS,
        seed_of("tuned_difference", found.dataset, tuned, base),
    )
    test = mcnemar(after, before)
    p = test.p if asked else None
    return [
        found.row("tuned_difference", difference, len(asked), tuned, base, p=p),
        *_subsumed(found, "tuned", tuned, base),
    ]
