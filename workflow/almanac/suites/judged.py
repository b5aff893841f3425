"""The scored items of one model, as a data frame, and the numbers that are computed from them.

A number is computed by selecting items (`Judged.where`), grouping them and applying a formula. The conditions of the
selection and the group are stored with the number, as its ``where``: so the items of a number can always be found, and
a number cannot claim one thing and count another.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import zip_longest
from typing import Any, Literal, NamedTuple, get_args

import polars as pl

from almanac.errors import AlmanacError, did_you_mean
from almanac.rows import Measure, OutcomeKind
from almanac.statistics import grouped
from almanac.statistics.intervals import Estimate
from almanac.tables import canonical

OUTCOMES: tuple[OutcomeKind, ...] = get_args(OutcomeKind)
INTERVALS = ("mean", "macro", "macro_of_facts")  # formulas with an interval for values from 0 to 1
Formula = Literal["mean", "macro", "macro_of_facts", "ratio", "median", "auc", "spearman", "count", "other"]
NUMBER = re.compile(r"(\d+(?:\.\d+)?(?:e[-+]\d+)?)")
RELATION, FACT, SUBJECT = "relation", "fact", "subject"  # columns that formulas use


class Range(NamedTuple):
    """Values from ``least`` (included) to ``below`` (excluded); None: unbounded. A null is in no range."""

    least: float | None = None
    below: float | None = None


class Not(NamedTuple):
    """Any other value; ``Not(None)``: any value at all. A null never meets it."""

    value: str | float | None = None


Value = str | float | bool | None
# A value, null, one of several, a range, or any but one.
Condition = Value | Range | Not | Sequence[Value]


def values_of(condition: Condition) -> Sequence[Value] | None:
    """Return the values that a condition lists; None for a range or `Not`."""
    if isinstance(condition, Range | Not):
        return None
    return condition if isinstance(condition, list | tuple) else (condition,)


def chosen(column: str, condition: Condition) -> pl.Expr:
    """Return the expression that is true where a column meets a condition, else false or null."""
    own = pl.col(column)
    if isinstance(condition, Range):
        ends = [own.is_not_null()]
        ends += [] if condition.least is None else [own.ge(condition.least)]
        ends += [] if condition.below is None else [own.lt(condition.below)]
        return pl.all_horizontal(ends)
    if isinstance(condition, Not):
        return own.is_not_null() if condition.value is None else own.ne(condition.value)
    listed = [own.is_null() if one is None else own.eq(one) for one in values_of(condition) or ()]
    return pl.any_horizontal([pl.lit(False), *listed])


def narrows(new: Condition, old: Condition) -> bool:
    """Return whether each value that meets the new condition surely meets the old one, on the same column."""
    values = values_of(new)
    if values is None:
        return (type(new), new) == (type(old), old) or (type(old), old) == (Not, Not())
    if isinstance(old, Range):
        return all(
            isinstance(one, float | int)
            and (old.least is None or one >= old.least)
            and (old.below is None or one < old.below)
            for one in values
        )
    if isinstance(old, Not):
        return None not in values and old.value not in values
    return set(values) <= set(values_of(old) or ())


def as_text(conditions: Mapping[str, Condition]) -> str:
    """Return conditions as JSON, as they are stored in `Measure.where`."""

    def plain(condition: Condition) -> Any:
        if isinstance(condition, Range):
            ends = {"from": condition.least, "below": condition.below}
            return {name: end for name, end in ends.items() if end is not None}
        if isinstance(condition, Not):
            return {"not": condition.value}
        return list(condition) if isinstance(condition, list | tuple) else condition

    return canonical({column: plain(condition) for column, condition in conditions.items()})


@lru_cache(65536)
def from_text(text: str) -> Mapping[str, Condition]:
    """Return the conditions in a `Measure.where`; the inverse of `as_text`."""

    def condition(value: Any) -> Condition:
        if isinstance(value, dict):
            return Not(value["not"]) if "not" in value else Range(value.get("from"), value.get("below"))
        return tuple(value) if isinstance(value, list) else value

    return {column: condition(value) for column, value in json.loads(text).items()}


def order(text: str) -> list[tuple[str, float]]:
    """Return the sort key of conditions in text form: numbers in it sort by value, so 2 before 16."""
    parts = NUMBER.split(text)
    return [(words, float(number)) for words, number in zip_longest(parts[::2], parts[1::2], fillvalue="-1")]


def conditions_of(row: Measure) -> Mapping[str, Condition]:
    """Return the conditions on the items that a number counts."""
    return from_text(row.where)


@dataclass(frozen=True)
class Judged:
    """The judged items of one model.

    Attributes:
        frame: a row for each item (and reading), in the order of the items; `joining.join` lists the columns.
        conditions: those by which the items were selected.
    """

    suite: str
    dataset: str
    model: str
    frame: pl.DataFrame
    conditions: Mapping[str, Condition] = field(default_factory=dict)

    def where(self, conditions: Mapping[str, Condition] | None = None, /, **more: Condition) -> "Judged":
        """Return the items that meet all conditions, each on one column.

        Raises:
            AlmanacError: there is no such column.
            ValueError: the items were selected by the same column before, and the new condition does not imply the old
                one: a number stores one condition for each column.
        """
        wanted = {**(conditions or {}), **more}
        if not wanted:
            return self
        self._check(wanted)
        for column, new in wanted.items():
            if column in self.conditions and not narrows(new, self.conditions[column]):
                raise ValueError(f"{column}: {new} does not narrow {self.conditions[column]}; combine them into one")
        kept = self.frame.filter(pl.all_horizontal(chosen(column, one) for column, one in wanted.items()))
        return replace(self, frame=kept, conditions={**self.conditions, **wanted})

    def groups(self, *by: str) -> Iterator["Judged"]:
        """Yield the items of each combination of values, sorted, nulls first; without columns, all items."""
        if not by:
            yield self
            return
        self._check(by)
        parts = self.frame.partition_by(by, as_dict=True, maintain_order=True)
        for values in self.frame.select(by).unique().sort(by, nulls_last=False).rows():
            where = {**self.conditions, **dict(zip(by, values, strict=True))}
            yield replace(self, frame=parts[values], conditions=where)

    def measures(self, metric: str, formula: Formula, *of: str, by: Sequence[str] = ()) -> list[Measure]:
        """Return one number for each group, sorted, by a formula that has an interval for groups.

        Args:
            metric: the number's name.
            formula: ``mean`` (clustered by subject), ``macro`` (the mean over relations of their means),
                ``macro_of_facts`` (the same, a fact's items averaged first) or ``ratio`` (of two sums).
            of: the column to aggregate, with values from 0 to 1; for a ratio the columns of numerator and denominator.
                A group without values gets a number without a value.
            by: the columns to group by.

        Raises:
            AlmanacError: there is no such column, it holds texts, or it has values outside 0 to 1.
            ValueError: the formula is not defined for groups.
        """
        self._check((*by, *of))
        for column in of:
            self._check_number(column)
        if formula in INTERVALS:
            self._check_shares(of[0])
        if formula == "ratio":
            found = grouped.ratio(self.frame, by, of[0], of[1], SUBJECT)
        elif formula in INTERVALS:
            strata, averaged = None if formula == "mean" else RELATION, FACT if formula == "macro_of_facts" else None
            found = grouped.macro(self.frame, by, of[0], strata, SUBJECT, averaged)
        else:
            raise ValueError(
                f"formula {formula!r} is not one of those for groups ({', '.join((*INTERVALS, 'ratio'))}); compute the "
                "value of each group and pass it to `measure`"
            )
        at = len(by)
        return self.measures_from(metric, formula, of, by, {row[:at]: Estimate(*row[at:]) for row in found.rows()})

    def measures_from(
        self,
        metric: str,
        formula: Formula,
        of: Sequence[str],
        by: Sequence[str],
        estimates: Mapping[tuple[Any, ...], Estimate],
        ps: Mapping[tuple[Any, ...], float] | None = None,
    ) -> list[Measure]:
        """Return one number for each group, sorted, from estimates; a group without one gets a number without a value.

        The keys of ``estimates`` and of ``ps``, the p-values, are values of the columns ``by``.
        """
        rows = []
        for values, counts in self._counts(by):
            group, p = dict(zip(by, values, strict=True)), (ps or {}).get(values)
            rows.append(self._measure(metric, formula, of, group, counts, estimates.get(values), p))
        return rows

    def measure(
        self,
        metric: str,
        estimate: Estimate | float | None,
        formula: Formula = "other",
        of: Sequence[str] = (),
        p: float | None = None,
        other: str | None = None,
    ) -> Measure:
        """Return one number of all these items, from a value that was computed from them.

        ``p`` is the p-value of a test, ``other`` the other model of a number that compares two.
        """
        if not isinstance(estimate, Estimate):
            estimate = Estimate(None if estimate is None else float(estimate), None, None)
        [(_, counts)] = self._counts(())
        return self._measure(metric, formula, of, {}, counts, estimate, p, other)

    def _check(self, columns: Iterable[str]) -> None:
        """Refuse unknown columns."""
        for column in columns:
            if column not in self.frame.columns:
                raise AlmanacError(
                    f"suite {self.suite}: its items have no column {column!r}{did_you_mean(column, self.frame.columns)}"
                )

    def _check_number(self, column: str) -> None:
        """Refuse a column of texts, which no formula can aggregate."""
        kind = self.frame.schema[column]
        if not (kind.is_numeric() or kind in (pl.Boolean, pl.Null)):
            raise AlmanacError(
                f"suite {self.suite}: column {column!r} holds {kind}, but a formula needs numbers or truth values; "
                "name such a column"
            )

    def _check_shares(self, column: str) -> None:
        """Refuse values outside 0 to 1, for which the interval of a share is not valid."""
        low, high = self.frame[column].min(), self.frame[column].max()
        if isinstance(low, float | int) and isinstance(high, float | int) and not 0 <= low <= high <= 1:
            raise AlmanacError(
                f"suite {self.suite}: column {column!r} has values from {low:g} to {high:g}, but the interval of this "
                "formula needs values from 0 to 1; rescale them (rank to 1 / rank), or pass a number to `measure`"
            )

    def _counts(self, by: Sequence[str]) -> list[tuple[tuple[Any, ...], tuple[int, ...]]]:
        """Return each group's values and its number of items, in all and by outcome; sorted, nulls first."""
        counted = [
            pl.len().alias("all outcomes"),
            *((pl.col("outcome") == name).sum().alias(f"outcome {name}") for name in OUTCOMES),
        ]
        if not by:
            return [((), self.frame.select(counted).row(0))]
        found = self.frame.group_by(by, maintain_order=True).agg(counted).sort(by, nulls_last=False)
        return [(row[: len(by)], row[len(by) :]) for row in found.rows()]

    def _measure(
        self,
        metric: str,
        formula: str,
        of: Sequence[str],
        group: Mapping[str, Condition],
        counts: Sequence[int],
        estimate: Estimate | None,
        p: float | None = None,
        other: str | None = None,
    ) -> Measure:
        value, low, high = estimate or (None, None, None)
        where = as_text({**self.conditions, **group})
        return Measure(
            self.suite, self.dataset, self.model, other, metric, where, formula, tuple(of), value, low, high, p, *counts
        )
