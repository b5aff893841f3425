"""A suite's chapter of the page as data: tables, whose numbers are linked to their items, and figures."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import polars as pl

from almanac.errors import AlmanacError
from almanac.rows import Measure, NotAsked
from almanac.suites.judged import conditions_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class PageLink:
    """A text that links to a place of the page, such as ``#fact=…``."""

    text: str
    target: str


NOT_TAUGHT = "format not taught"  # replaces a number that says nothing about the model's knowledge
Cell = Measure | PageLink | str | int | float | None


@dataclass(frozen=True)
class Table:
    """A table. Its cells are texts, counts, and numbers, which are shown with intervals and open their items.

    Attributes:
        name: unique in the chapter.
        caption: what it shows; blank lines separate paragraphs.
        head: the columns' names.
        rows: the cells, as many in each row as there are columns.
        folded: whether a reader has to unfold it.
        hidden: the indices of rows that are in the table's files but not on the page.
        narrow: whether it fits next to the page's first figure.
        common: columns that the page omits if all rows have the same value, such as the only model.
        first: how many rows the page shows at first; None: all.
        spreads: columns that have columns for interval limits in the files, even if no row has a number.
    """

    name: str
    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    folded: bool = False
    hidden: Collection[int] = ()
    narrow: bool = False
    common: Collection[str] = ()
    first: int | None = None
    spreads: Collection[str] = ()

    def __post_init__(self) -> None:
        """Refuse rows that do not fit the head.

        Raises:
            AlmanacError: naming the table.
        """
        if other := next((row for row in self.rows if len(row) != len(self.head)), None):
            raise AlmanacError(
                f"table {self.name}: {len(self.head)} columns ({', '.join(self.head)}), but a row of {len(other)} cells"
            )

    @property
    def on_page(self) -> "Table":
        """The table as the page shows it: without hidden rows, and without common columns of a single value."""
        rows = [row for at, row in enumerate(self.rows) if at not in self.hidden]
        kept = [
            at
            for at, name in enumerate(self.head)
            if name not in self.common or len(rows) < 2 or any(row[at] != rows[0][at] for row in rows)
        ]
        head, cells = [self.head[at] for at in kept], [[row[at] for at in kept] for row in rows]
        return replace(self, head=head, rows=cells, hidden=())

    @property
    def numeric(self) -> list[bool]:
        """For each column whether it has no texts, so that it and its head are aligned to the right."""
        return [all(not isinstance(row[at], str | PageLink) for row in self.rows) for at in range(len(self.head))]


@dataclass(frozen=True)
class Drawing:
    """A figure, drawn on demand; ``name`` is unique in the chapter.

    ``dataset`` is set if several figures show the same for one dataset each.
    """

    name: str
    caption: str
    draw: "Callable[[], Figure]"
    dataset: str = ""


@dataclass(frozen=True)
class Chapter:
    """A chapter of the page: one suite on one dataset.

    Attributes:
        title: its heading.
        asks: what is asked, or what was found; blank lines separate paragraphs.
        parts: tables, figures and paragraphs, in their order.

    Raises:
        AlmanacError: two tables or two figures have the same name.
    """

    title: str
    asks: str
    parts: Sequence[Table | Drawing | str]

    @property
    def leading(self) -> list[Table | Drawing | str]:
        """The parts before the first table that is not narrow."""
        return list(takewhile(lambda part: not isinstance(part, Table) or part.narrow, self.parts))

    def __post_init__(self) -> None:
        for kind, word in ((Table, "tables"), (Drawing, "figures")):
            names = Counter(one.name for one in self.parts if isinstance(one, kind))
            if twice := [name for name, count in names.items() if count > 1]:
                raise AlmanacError(f"chapter {self.title!r}: two {word} are named {twice[0]!r}; rename one")


def filled(title: str, asks: str, parts: Iterable[Table | Drawing | str]) -> Chapter:
    """Return a chapter without the tables that have no rows."""
    return Chapter(title, asks, [one for one in parts if not isinstance(one, Table) or one.rows])


def board(name: str, caption: str, rows: Iterable[Mapping[str, Cell]]) -> Table:
    """Return a table of those rows that have a number, without empty columns; all rows have the same keys."""
    kept = [row for row in rows if any(isinstance(cell, Measure) and stands(cell) for cell in row.values())]
    head = [title for title in (kept[0] if kept else ()) if any(stands(row[title]) for row in kept)]
    return Table(name, caption, head, [[row[title] for title in head] for row in kept])


def stands(cell: Cell) -> bool:
    """Return whether a cell has a value."""
    return cell is not None and not (isinstance(cell, Measure) and cell.value is None)


def spread(row: Any, name: str, n: int) -> Measure:
    """Return a number and interval of a row that is not a `Measure` as a cell: its NAME, NAME_low and NAME_high.

    The row also has ``suite`` and ``where``; ``n`` is the number's count. The cell opens no items: the number belongs
    to several models, or was computed elsewhere.
    """
    value, low, high = (getattr(row, f"{name}{end}") for end in ("", "_low", "_high"))
    counts = (n, 0, 0, 0, 0, 0)
    return Measure(row.suite, "", None, None, name, row.where, "other", (), value, low, high, None, *counts)


@dataclass(frozen=True)
class Entrant:
    """A model as it is shown and compared.

    Attributes:
        series: its family, by default a family of its own.
        base: the model that it was tuned from.
        parameters: the number of parameters, if known.
        null: the model that was taught the same with permuted objects and was asked the same, if there is one.
        permuted: whether it is itself such a null, taught nothing true.
        read: the kinds of documents that a planted model has read; None: not a planted model.
        world: the world that a planted model was taught.
    """

    name: str
    series: str
    base: str | None = None
    parameters: int | None = None
    null: str | None = None
    permuted: bool = False
    read: tuple[str, ...] | None = None
    world: str | None = None

    def understands(self, format: str | None) -> bool:
        """Return whether it may be asked in a format (`Method.format`): planted models must have read such texts."""
        return format is None or self.read is None or format in self.read


@dataclass(frozen=True)
class Shown:
    """The data of a chapter: all numbers of one suite on one dataset, and what describes them.

    Attributes:
        dataset: the dataset's name.
        choices: the number of choices of a fact.
        models: the models that were asked.
        relations: the relations' names.
        measures: the numbers of all models, and between models.
        refused: what could not be asked, and why.
        own: the suite's own tables of what was asked, by name.
    """

    dataset: str
    choices: int
    models: Sequence[Entrant]
    relations: Mapping[str, str] = field(default_factory=dict)
    measures: Sequence[Measure] = ()
    refused: Sequence[NotAsked] = ()
    own: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    def find(self, metric: str, *keys: str, model: str | None = None, **fixed: Any) -> list[Measure]:
        """Return the numbers of a metric whose ``where`` has conditions on exactly these columns.

        Args:
            metric: the metric's name.
            keys: columns with any condition.
            model: the numbers' model; None: all models.
            fixed: columns with the value of their condition.
        """
        wanted = {*keys, *fixed}
        return [
            row
            for row in self._by_metric.get(metric, ())
            if (model is None or row.model == model)
            and (where := conditions_of(row)).keys() == wanted
            and all(where[name] == value for name, value in fixed.items())
        ]

    def valued(self, metric: str, *keys: str, model: str | None = None, **fixed: Any) -> list[Measure]:
        """Return the numbers that `find` returns and that have a value."""
        return [row for row in self.find(metric, *keys, model=model, **fixed) if row.value is not None]

    def one(self, metric: str, model: str | None, *keys: str, **fixed: Any) -> Measure | None:
        """Return the first number that `find` returns, if there is one."""
        return next(iter(self.find(metric, *keys, model=model, **fixed)), None)

    def at(self, row: Measure) -> Mapping[str, Any]:
        """Return the conditions on the items of a number."""
        return conditions_of(row)

    def relation(self, row: Measure) -> str:
        """Return the name of a number's relation."""
        name = str(conditions_of(row)["relation"])
        return self.relations.get(name, name)

    def by_relation(
        self, name: str, caption: str, rows: Iterable[tuple[Measure, str]], head: Sequence[str] = ("asked", "accuracy")
    ) -> Table:
        """Return a folded table of numbers by relation.

        ``rows`` are numbers of one relation each, with a description of how their items were asked. ``head`` names the
        columns after relation and model: that description, the number and, if it has three names, the number of
        answered items.
        """
        answered = ((row, how, row.n - row.n_missing - row.n_error - row.n_invalid) for row, how in rows)
        cells = [(self.relation(row), row.model, how, row, count) for row, how, count in answered]
        return Table(name, caption, ("relation", "model", *head), [own[: 2 + len(head)] for own in cells], folded=True)

    @cached_property
    def _by_metric(self) -> Mapping[str, Sequence[Measure]]:
        found: dict[str, list[Measure]] = defaultdict(list)
        for row in self.measures:
            found[row.metric].append(row)
        return found

    def not_asked(self) -> Iterator[str]:
        """Yield a sentence on what could not be asked, if there is anything."""
        if self.refused:
            first = "; ".join(f"{row.thing} ({row.reason})" for row in self.refused[:3])
            yield f"{len(self.refused):,} not asked; the first: {first}."


def silent(row: Measure | None) -> str:
    """Return how many items of a number have no valid answer, as text."""
    return "–" if row is None else f"{row.n_missing + row.n_invalid + row.n_error:,} of {row.n:,}"
