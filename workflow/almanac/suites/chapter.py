"""A suite's chapter of the page, as data: tables whose cells are numbers linked to their items, and figures."""

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
    """A text that leads to a place of the page, such as ``#fact=…``."""

    text: str
    target: str


NOT_TAUGHT = "format not taught"  # what stands instead of a number that says nothing of a model's knowledge
Cell = Measure | PageLink | str | int | float | None


@dataclass(frozen=True)
class Table:
    """A table: its cells are numbers, which open their items and stand with their intervals, texts and counts.

    Attributes:
        name: unique in the chapter.
        caption: what it shows; a blank line parts paragraphs.
        head: the columns' names.
        rows: as many cells each.
        folded: whether it is shown only when it is asked for.
        hidden: the places of rows that are in the table's files and not on the page.
        narrow: whether it has room next to the page's first figure.
        common: columns that the page leaves out where all of its rows say the same, such as its only model.
        first: how many rows the page shows until all are asked for; none: all.
        spreads: columns of numbers whose files have their ends also where no row has a number.
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
                f"table {self.name}: {len(self.head)} columns ({', '.join(self.head)}), and a row of {len(other)} cells"
            )

    @property
    def on_page(self) -> "Table":
        """The table as the page shows it: without hidden rows, and without the common columns that say nothing."""
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
        """Whether each column holds no text, so that it and its head are aligned to the right."""
        return [all(not isinstance(row[at], str | PageLink) for row in self.rows) for at in range(len(self.head))]


@dataclass(frozen=True)
class Drawing:
    """A figure, drawn when it is wanted; ``name`` is unique in the chapter.

    ``dataset``: whose it is, of several that show the same of one each.
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
        asks: what is asked, or what was found; a blank line parts paragraphs.
        parts: tables, figures and paragraphs, in their order.

    Raises:
        AlmanacError: two tables or two figures have one name.
    """

    title: str
    asks: str
    parts: Sequence[Table | Drawing | str]

    @property
    def leading(self) -> list[Table | Drawing | str]:
        """The figures, paragraphs and narrow tables that stand before the first other table."""
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
    """Return a table of the rows, of the same columns, that hold a number, without columns in which nothing stands."""
    kept = [row for row in rows if any(isinstance(cell, Measure) and stands(cell) for cell in row.values())]
    head = [title for title in (kept[0] if kept else ()) if any(stands(row[title]) for row in kept)]
    return Table(name, caption, head, [[row[title] for title in head] for row in kept])


def stands(cell: Cell) -> bool:
    """Return whether a cell says anything."""
    return cell is not None and not (isinstance(cell, Measure) and cell.value is None)


def spread(row: Any, name: str, n: int) -> Measure:
    """Return a number of a row that is no `Measure`, with its interval, as a cell: columns NAME, NAME_low, NAME_high.

    The row has ``suite`` and ``where`` too; ``n`` is what the number counts. The cell opens no items: the number is of
    several models, or of elsewhere.
    """
    value, low, high = (getattr(row, f"{name}{end}") for end in ("", "_low", "_high"))
    counts = (n, 0, 0, 0, 0, 0)
    return Measure(row.suite, "", None, None, name, row.where, "other", (), value, low, high, None, *counts)


@dataclass(frozen=True)
class Entrant:
    """A model as it is shown and compared.

    Attributes:
        series: the family it is shown with; without one it is its own.
        base: the model that it was tuned from.
        parameters: how many it has, where that is known.
        null: the model that was taught the same with permuted objects and was asked the same; none where there is
            none.
        permuted: whether it was itself taught nothing true.
        read: the kinds of documents that a planted model has read; none: it is no planted one.
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
        """Return whether it may be asked in a format, by the kind of documents that teach it (`Method.format`)."""
        return format is None or self.read is None or format in self.read


@dataclass(frozen=True)
class Shown:
    """What a chapter is made of: all that is known of one suite on one dataset.

    Attributes:
        dataset: its name.
        choices: how many choices a fact of it has.
        models: who was asked.
        relations: the relations' names.
        measures: the numbers of all models, and between them.
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
        """Return the numbers of a metric that were made by exactly these keys.

        Args:
            metric: its name.
            keys: columns that the numbers' items were chosen by, whatever the value.
            model: whose; none: of all.
            fixed: columns that the items were chosen by, with their value.
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
        """Return what the items of a number were chosen by."""
        return conditions_of(row)

    def relation(self, row: Measure) -> str:
        """Return the name of the relation that a number is of."""
        name = str(conditions_of(row)["relation"])
        return self.relations.get(name, name)

    def by_relation(
        self, name: str, caption: str, rows: Iterable[tuple[Measure, str]], head: Sequence[str] = ("asked", "accuracy")
    ) -> Table:
        """Return a folded table of numbers by relation.

        ``rows`` are numbers of one relation each, with how their items were asked. ``head`` names the columns that
        follow relation and model: how it was asked, the number and, where there is a third, how many items were
        answered.
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
        """Yield a sentence on what could not be asked, if anything could not."""
        if self.refused:
            first = "; ".join(f"{row.thing} ({row.reason})" for row in self.refused[:3])
            yield f"{len(self.refused):,} not asked; the first: {first}."


def silent(row: Measure | None) -> str:
    """Return how many items of a number have no answer."""
    return "–" if row is None else f"{row.n_missing + row.n_invalid + row.n_error:,} of {row.n:,}"
