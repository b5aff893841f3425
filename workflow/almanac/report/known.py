"""What models know: which facts most of them have right and which fewest, and how much of each relation."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from statistics import mean
from typing import NamedTuple
from urllib.parse import quote

import polars as pl

from almanac.report.lines import asked_by
from almanac.statistics.intervals import NOTHING, Estimate
from almanac.suites.chapter import Cell, PageLink, Table, without_items

FACTS = (
    "The facts that most answers know, and those that fewest know. Known by: of models × methods; only methods that "
    "are above chance for a model count, each once, however many wordings it asks. Choose a fact to see every answer "
    "to it."
)
RELATIONS = (
    "What is known of each relation{}, best known first: the share of right answers, by all methods together. {}\n\n"
    "Counted are the methods that are above chance for any model, as far as a model was asked them: of each fact the "
    "mean over these methods, and of a relation the mean over its facts, with the 95 % interval of its other facts. "
    "Chance: what the same answers would have right by chance, as in the table of methods, a mean over the models. "
    "Above chance: for which models, by a one-sided test that counts a subject once and is adjusted for all rows "
    "(Holm, .025); of so many relations others seem to be known by luck. Choose a relation to see its facts."
)
SHOWN = 3  # facts of each kind
NARROW = 2  # models up to which a table is narrow
LISTED = 7  # relations that are named
OF_RELATIONS = "relations-"  # begins the name of a table, before its dataset


class FactFound(NamedTuple):
    """How often a fact is known: ``known`` of ``asked`` models × methods; ``dose``, how often it was taught."""

    dataset: str
    fact: str
    label: str
    dose: int | None
    known: int
    asked: int


class RelationFound(NamedTuple):
    """What is known of a relation.

    Attributes:
        dataset: whose relation it is.
        relation: its id.
        label: its name.
        known: by model, the mean over facts of the share of right answers.
        chance: what the same answers would have right by chance, over all models.
        facts: how many were asked.
        above: the models that know more of it than chance gives, by a test that is adjusted for all relations.
    """

    dataset: str
    relation: str
    label: str
    known: Mapping[str, Estimate]
    chance: float
    facts: int
    above: Sequence[str] = ()

    @property
    def link(self) -> Cell:
        """Its name, which leads to its facts."""
        return PageLink(self.label, f"#relation={quote(f'{self.dataset}/{self.relation}', safe='')}")

    def verdict(self, models: Sequence[str]) -> str | None:
        """Return for which models it is above chance; where one alone was asked, that it is."""
        return (", ".join(self.above) if len(models) > 1 else "yes") if self.above else None

    def cell(self, model: str) -> Cell:
        """Return what a model knows, with its interval; an empty cell where it was not asked."""
        return without_items("", "known", "", *self.known.get(model, NOTHING), self.facts)


def tables(facts: Sequence[FactFound], relations: Sequence[RelationFound]) -> Iterator[Table]:
    """Yield what is known by relation, a table a dataset, and the facts that most know and that fewest know.

    Of facts, three of each dataset are shown that most know, and three that fewest know. The caption says how many are
    known by all and by none, of which those shown are the first by their ids.
    """
    several = len({one.dataset for one in relations}) > 1
    for dataset, found in groupby(relations, lambda one: one.dataset):
        own = list(found)
        models = list(dict.fromkeys(model for one in own for model in one.known))
        of = f" (dataset {dataset})" if several else ""
        order = sorted(own, key=lambda one: (-mean(found.value or 0.0 for found in one.known.values()), one.label))
        rows = [
            (one.link, *(one.cell(model) for model in models), one.chance, one.verdict(models), one.facts)
            for one in order
        ]
        sure = sum(bool(one.above) for one in order)
        text = RELATIONS.format(of, f"Above chance are {sure} of {len(own)}.")
        head = ("relation", *models, "chance", "above chance", "facts")
        narrow = len(models) <= NARROW
        yield Table(f"{OF_RELATIONS}{dataset}", text, head, rows, folded=several, narrow=narrow)
    if facts:
        yield _facts({dataset: list(own) for dataset, own in groupby(facts, lambda one: one.dataset)})


def sentences(shown: Path) -> Iterator[str]:
    """Yield which relations are above chance, as the tables of a page say that was drawn.

    Args:
        shown: the folder of its tables.
    """
    for path in sorted(shown.glob(f"answer-{OF_RELATIONS}*.parquet")):
        table = pl.read_parquet(path, columns=["relation", "above chance"])
        sure = table.filter(pl.col("above chance").is_not_null())["relation"].to_list()
        names = ", ".join(sure if len(sure) <= LISTED else [*sure[: LISTED - 1], f"{len(sure) - LISTED + 1} more"])
        dataset = path.stem.removeprefix(f"answer-{OF_RELATIONS}")
        yield f"Dataset {dataset}: {len(sure)} of {table.height} relations are above chance{names and f' ({names})'}."


def _facts(of: Mapping[str, Sequence[FactFound]]) -> Table:
    rows: list[Sequence[Cell]] = []
    for dataset, own in of.items():
        order = sorted(own, key=lambda one: (-one.known / one.asked, -one.asked, one.fact))
        most = [one for one in order[:SHOWN] if one.known]
        rows += [_fact_cells(dataset, "known", one) for one in most]
        fewest = sorted(order[len(most) :], key=lambda one: (one.known / one.asked, -one.asked, one.fact))[:SHOWN]
        rows += [_fact_cells(dataset, "unknown", one) for one in reversed(fewest)]
    counts = "; ".join(
        f"of {len(own):,} facts of {dataset}, {sum(one.known == one.asked for one in own):,} are known by all that "
        f"asked them and {sum(not one.known for one in own):,} by none ({asked_by([one.asked for one in own])})"
        for dataset, own in of.items()
    )
    head = ("of", "kind", "fact", "known by", "times taught")
    return Table("facts", f"{FACTS} Counted so, {counts}.", head, rows)


def _fact_cells(dataset: str, kind: str, one: FactFound) -> Sequence[Cell]:
    link = PageLink(one.label, f"#fact={quote(f'{dataset}/{one.fact}', safe='')}")
    return dataset, kind, link, f"{one.known} of {one.asked}", one.dose
