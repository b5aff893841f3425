"""What models know: how much of each relation, and which facts are known by most and by fewest models and methods."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import mean
from typing import NamedTuple
from urllib.parse import quote

from almanac.report.asked import FactsAsked
from almanac.report.lines import FIRST, asked_by, shortened
from almanac.rows import Measure
from almanac.suites.chance import GIVEN_OF_RELATION, OF_RELATION
from almanac.suites.chapter import Cell, PageLink, Table
from almanac.suites.headline import KNOWN_OF_RELATION, LEVEL, TESTED, Finding, holm, p_of
from almanac.suites.judged import RELATION, as_text, conditions_of

FACTS = (
    "The facts that most models × methods know and those that fewest know, of those that at least half as many asked "
    "as any; a fact that all know is never listed as unknown, nor one that none knows as known. Known by: how many of "
    "those that asked. Only methods that are above chance for a model count, each once, however many wordings it asks."
)
TAUGHT = " Times taught: to the model that was taught it most often."
CHOOSE = "Choose a fact to see every answer to it."
RELATIONS = (
    "What is known of each relation{dataset}, by {method}.\n\n"
    "By {method}, since it has most facts of the tested methods; models for which it was not tested are left out. "
    "Known is a mean over facts, with the 95 % interval for other facts of the relation. Chance is as in the table of "
    "methods, in this relation, a mean over the models.\n\n"
    "Above chance: by a conservative one-sided test, adjusted for all relations and models of this table (Holm, .025). "
    "These relations come first. Among so many relations some seem to be known by luck: what is not shown to be above "
    "chance may be known or not, and its place in the table says little.\n\n"
    "By names: the share of facts that names give away. Of the offered objects, the true one's name is then most like "
    "the subject's (Bulgaria: Bulgarian lev), so that a rule without a model is right. Beyond names: above chance also "
    "by the same test of the other facts alone; these relations come first of all.\n\n"
    "Choose a relation to see its facts, and a number to see its answers."
)
METRICS = (KNOWN_OF_RELATION, OF_RELATION, GIVEN_OF_RELATION)
SHOWN = 3  # facts of each kind that are listed
NARROW = 2  # a table with at most so many models is narrow
Key = tuple[str, str, str, str]  # a metric, suite, dataset and condition


class FactFound(NamedTuple):
    """How often a fact is known: ``known`` of ``asked`` models × methods; ``dose``: how often it was taught."""

    dataset: str
    fact: str
    label: str
    dose: int | None
    known: int
    asked: int


class RelationFound(NamedTuple):
    """What is known of a relation: by model, the share known, chance, and the share of facts that names give away.

    ``above``: the models for which it is above chance; ``beyond``: those for which it is so without these facts, too.
    """

    relation: str
    label: str
    known: dict[str, Measure]
    chances: list[float]
    given: list[float]
    above: list[str]
    beyond: list[str]


class RelationsFound(NamedTuple):
    """What models know of the relations of a dataset by one method; those above chance beyond names come first.

    ``where`` is the condition on the method's items, ``method`` its label on the page.
    """

    suite: str
    dataset: str
    where: str
    method: str
    models: Sequence[str]
    relations: Sequence[RelationFound]

    def __str__(self) -> str:
        """Return a sentence on how many relations are above chance, and which."""
        sure = [one.label for one in self.relations if one.above]
        of = f"{len(sure)} of {len(self.relations)} relations {'is' if len(sure) == 1 else 'are'} above chance"
        some = " for at least one model" if len(self.models) > 1 else ""
        beyond = [one.label for one in self.relations if one.beyond]
        names = f": {shortened(sure)}" if sure else ""
        if beyond != sure:
            names += f"; beyond names: {shortened(beyond) if beyond else 'none'}"
        return f"Dataset {self.dataset}: {of}{some}, by {self.method}{names}."

    def link(self, relation: str) -> PageLink:
        """Return a relation's label as a link to its facts."""
        label = next((one.label for one in self.relations if one.relation == relation), relation)
        return PageLink(label, f"#relation={quote(f'{self.dataset}/{relation}', safe='')}")

    def table(self, several: bool) -> Table:
        """Return a row for each relation, a column for each model; ``several``: whether other datasets have tables."""
        of_one = len(self.models) == 1
        rows = []
        for one in self.relations:
            link = self.link(one.relation)
            shown = [("yes" if of_one else ", ".join(own)) if own else "not shown" for own in (one.above, one.beyond)]
            chance, given = mean(one.chances), mean(one.given)
            answers = max(row.n - row.n_error for row in one.known.values())
            rows.append((link, *shown, *map(one.known.get, self.models), chance, given, answers))
        sure = sum(bool(one.above) for one in self.relations)
        caption = RELATIONS.format(dataset=f" (dataset {self.dataset})" if several else "", method=self.method)
        known = ["known"] if of_one else self.models
        head = ("relation", "above chance", "beyond names", *known, "chance", "by names", "answers")
        narrow = len(self.models) <= NARROW
        name, first, folded = f"relations-{self.dataset}", max(FIRST, sure), several or not narrow
        return Table(name, caption, head, rows, folded=folded, narrow=narrow, first=first)


def of_relations(
    findings: Sequence[Finding], measures: Sequence[Measure], facts: Sequence[FactsAsked]
) -> Iterator[RelationsFound]:
    """Yield, for each dataset, what is known of its relations, by the tested method that has most facts.

    A dataset of a single relation is left out: the table of methods says the same.

    Args:
        findings: what each method says of each model.
        measures: the numbers of all models.
        facts: the facts of each dataset, with the names of its relations.
    """
    numbers: dict[Key, dict[tuple[str, str], Measure]] = defaultdict(dict)
    for row in measures:
        if row.metric in METRICS and row.model and row.value is not None:
            conditions = dict(conditions_of(row))
            relation = str(conditions.pop(RELATION))
            numbers[row.metric, row.suite, row.dataset, as_text(conditions)][relation, row.model] = row
    for dataset in facts:
        tested = [one for one in findings if one.known.dataset == dataset.dataset and one.verdict in TESTED]
        if tested:
            chosen = _with_most_facts(tested)
            key = chosen[0].known.suite, dataset.dataset, chosen[0].known.where
            known, chance, given = (numbers[metric, *key] for metric in METRICS)
            models = [str(one.known.model) for one in chosen]
            labels = {row.relation_id: row.label for row in dataset.counts}
            found = _found(known, chance, given, models, labels)
            if len(found) > 1:
                yield RelationsFound(*key, chosen[0].label, models, found)


def _with_most_facts(tested: Sequence[Finding]) -> list[Finding]:
    """Return the findings of the method that has most facts, over all models."""
    by_method: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in tested:
        by_method[finding.known.suite, finding.known.where].append(finding)
    return max(by_method.values(), key=lambda findings: sum(finding.facts for finding in findings))


def _found(
    known: Mapping[tuple[str, str], Measure],
    chance: Mapping[tuple[str, str], Measure],
    given: Mapping[tuple[str, str], Measure],
    models: Sequence[str],
    labels: Mapping[str, str],
) -> list[RelationFound]:
    """Return what is known by relation and model, and its chance, for ``models`` and where there is a chance."""
    both = [key for key in known if key in chance and key[1] in models]
    above, beyond = (holm([p_of(rows.get(key)) for key in both]) for rows in (chance, given))
    by_relation: dict[str, RelationFound] = {}
    for (relation, model), p, without in zip(both, above, beyond, strict=True):
        empty = RelationFound(relation, labels.get(relation, relation), {}, [], [], [], [])
        relation_found = by_relation.setdefault(relation, empty)
        share, by_chance = known[relation, model], _value(chance[relation, model])
        relation_found.known[model] = share
        relation_found.chances.append(by_chance)
        relation_found.given.append(_value(given.get((relation, model))))
        # The test's chance may differ from the number's: a share that is not above its chance does not count.
        if p <= LEVEL and _value(share) > by_chance:
            relation_found.above.append(model)
            if without <= LEVEL:
                relation_found.beyond.append(model)
    best = {name: -mean(map(_value, one.known.values())) for name, one in by_relation.items()}
    return sorted(by_relation.values(), key=lambda one: (not one.beyond, not one.above, best[one.relation], one.label))


def facts_table(facts: Sequence[FactFound]) -> Table | None:
    """Return a table of three facts of each dataset that most know and three that fewest know; none without facts.

    There are fewer if fewer are known by any, or unknown to any. Facts that few methods asked are left out. The caption
    says how many facts are known by all and by none; those shown are the first of them by id.
    """
    most_asked: dict[str, int] = defaultdict(int)
    for one in facts:
        most_asked[one.dataset] = max(one.asked, most_asked[one.dataset])
    by_dataset: dict[str, list[FactFound]] = defaultdict(list)
    for one in facts:
        if 2 * one.asked >= most_asked[one.dataset]:
            by_dataset[one.dataset].append(one)
    rows: list[Sequence[Cell]] = []
    for dataset, listed in by_dataset.items():
        order = sorted(listed, key=lambda one: (-one.known / one.asked, -one.asked, one.fact))
        most = [one for one in order[:SHOWN] if one.known]
        rows += [_fact_cells(dataset, "known", one) for one in most]
        others = [one for one in order[len(most) :] if one.known < one.asked]
        fewest = sorted(others, key=lambda one: (one.known / one.asked, -one.asked, one.fact))[:SHOWN]
        rows += [_fact_cells(dataset, "unknown", one) for one in reversed(fewest)]
    counts = "; ".join(
        f"of {len(listed):,} facts of dataset {dataset}, {every:,} {'is' if every == 1 else 'are'} known by all that "
        f"asked them and {sum(not one.known for one in listed):,} by none ({asked_by([one.asked for one in listed])})"
        for dataset, listed in by_dataset.items()
        for every in [sum(one.known == one.asked for one in listed)]
    )
    taught = any(one.dose is not None for one in facts)
    caption = f"{FACTS}{TAUGHT * taught} {CHOOSE} Counted so, {counts}."
    head = ("of", "kind", "fact", "known by", "times taught")
    common = ("of",) if taught else ("of", "times taught")
    return Table("facts", caption, head, rows, common=common) if rows else None


def _fact_cells(dataset: str, kind: str, one: FactFound) -> Sequence[Cell]:
    link = PageLink(one.label, f"#fact={quote(f'{dataset}/{one.fact}', safe='')}")
    return dataset, kind, link, f"{one.known} of {one.asked}", one.dose


def _value(row: Measure | None) -> float:
    return row.value or 0.0 if row else 0.0
