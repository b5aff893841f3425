"""Whole answers in parts: a relation by hash buckets, ids in batches, each checked against the server's count.

Buckets are the subjects whose MD5 begins with given hexadecimal digits. They are standard SPARQL, need no order, do not
overlap, and miss nothing while the data change between two requests, as LIMIT and OFFSET do.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from almanac.errors import AlmanacError
from almanac.sources.answers import QueryServer, TooMuchError, together
from almanac.sources.sparql import rows_of

Row = dict[str, str]
DIGITS = "0123456789abcdef"
DEEPEST = 6  # digits of a bucket: 16 million parts
SCANNED = 100_000  # rows that any server can look through
REMEDY = "ask for a sample with `facts`, or take the relation from a dump"
NAMED = 500  # keys that are asked for by name at once


@dataclass(frozen=True)
class Pattern:
    """What is asked for: the prefixes, the variables, and the graph pattern between the braces.

    ``key`` is the variable that buckets are formed on, for patterns that have one.
    """

    prefixes: str
    variables: str
    where: str
    key: str = "?s"

    def select(self, more: str = "") -> str:
        """Return the query for the rows."""
        return f"{self.prefixes}SELECT {self.variables} WHERE {{\n{self.where}\n{more}}}"

    def count(self, more: str = "") -> str:
        """Return the query for the number of rows."""
        return f"{self.prefixes}SELECT (COUNT(*) AS ?n) WHERE {{\n{self.where}\n{more}}}"

    def bucket(self, digits: str) -> str:
        """Return the filter of a bucket; none for all, since Virtuoso takes an empty prefix for a false one."""
        return f'  FILTER(STRSTARTS(MD5(STR({self.key})), "{digits}"))\n' if digits else ""


def ask(server: QueryServer, query: str) -> list[Row]:
    """Return the rows of a query: of each variable that is bound the text and ``NAME.type``.

    A text may have a ``NAME.lang`` or a ``NAME.datatype``.
    """
    return [_plain(row) for row in rows_of(server.ask(query).body)]


def _plain(row: dict[str, Any]) -> Row:
    out = {}
    for name, value in row.items():
        out[name] = f"_:{value['value']}" if value["type"] == "bnode" else value["value"]
        out[f"{name}.type"] = value["type"]
        if "xml:lang" in value:
            out[f"{name}.lang"] = value["xml:lang"]
        if "datatype" in value:
            out[f"{name}.datatype"] = value["datatype"]
    return out


def number(server: QueryServer, query: str) -> int:
    """Return the one number that a counting query answers.

    Raises:
        TooMuchError: it answers anything else, so that smaller parts are tried.
    """
    rows = ask(server, query)
    if len(rows) != 1 or not rows[0].get("n", "").isdecimal():
        raise TooMuchError(f"a count was answered with {rows[:3]!r}; is it a SPARQL 1.1 server?")
    return int(rows[0]["n"])


def gather(
    server: QueryServer,
    pattern: Pattern,
    page: int,
    limit: int | None = None,
    lowest: Callable[[], Sequence[str]] | None = None,
) -> list[Row]:
    """Return all rows of a pattern, by as many buckets as their number asks for, or a sample of them.

    Args:
        server: answers the queries.
        pattern: with a ``key``.
        page: rows a bucket is to have, at most.
        limit: if given, only as many buckets are asked as bring so many rows: those of the lowest hashes, and of them
            whole keys, lowest hash first. The sample is pseudo-random, and stays the same where the data do.
        lowest: gives the keys of the lowest hashes, lowest first, where they can be known beforehand. They are asked
            for by name where the server cannot look through all keys for a sample, which is the same.

    Raises:
        AlmanacError: the rows do not agree with the server's own count, or the server cannot answer even small parts.
    """
    with together(server):
        total = _total(server, pattern)
        digits = 1 if total is None else 0
        while total is not None and total > page * 16**digits and digits < DEEPEST:
            digits += 1
        if total is not None and (limit is None or limit >= total):
            rows = _whole(server, pattern, digits, total)
        elif limit is None or lowest is None or (total is not None and total < SCANNED):
            rows = _first(server, pattern, digits, DEEPEST, limit)
        else:
            try:
                rows = _first(server, pattern, digits, min(digits + 2, DEEPEST), limit)
            except TooMuchError:  # smaller parts are no easier: for each of them the server looks through everything
                rows = _by_name(server, pattern, lowest(), limit)
    return rows if limit is None else _lowest(rows, pattern.key, limit)


def _whole(server: QueryServer, pattern: Pattern, digits: int, total: int) -> list[Row]:
    """Return all rows; where they are not as many as was counted, each part is checked by its own count."""
    parts = [part for prefix in _prefixes(digits) for part in _bucket(server, pattern, prefix, DEEPEST)]
    if sum(len(found) for _, found in parts) != total:  # something was lost, or the data changed: find out where
        return [row for part, found in parts for row in _agreed(server, pattern, part, found, DEEPEST)]
    return [row for _, found in parts for row in found]


def _first(server: QueryServer, pattern: Pattern, digits: int, deepest: int, limit: int | None) -> list[Row]:
    """Return the rows of the first buckets that bring so many, or of all; each is checked by its own count."""
    rows: list[Row] = []
    for prefix in _prefixes(digits):
        for part, found in _bucket(server, pattern, prefix, deepest):
            rows.extend(_agreed(server, pattern, part, found, deepest))
            if limit is not None and len(rows) >= limit:
                return rows
    return rows


def _by_name(server: QueryServer, pattern: Pattern, keys: Sequence[str], limit: int) -> list[Row]:
    """Return the rows of the first keys that bring so many.

    Raises:
        AlmanacError: all of them together bring fewer.
    """
    rows: list[Row] = []
    named = replace(pattern, where=f"  VALUES {pattern.key} {{ {{values}} }}\n{pattern.where}")
    for start in range(0, len(keys), NAMED):
        rows.extend(batched(server, named, [f"<{key}>" for key in keys[start : start + NAMED]], NAMED))
        if len(rows) >= limit:
            return rows
    raise AlmanacError(
        f"the server cannot look through all rows, and the {len(keys)} subjects that a sample was to be drawn of have "
        f"{len(rows)} rows; lower `facts` to that, or take the rows from a dump\n{pattern.select()}"
    )


def _total(server: QueryServer, pattern: Pattern) -> int | None:
    """Return how many rows a pattern has, or none where the server cannot count so many at once."""
    try:
        return number(server, pattern.count())
    except TooMuchError:
        return None


def _prefixes(digits: int) -> Iterator[str]:
    if digits == 0:
        yield ""
    else:
        yield from (first + rest for first in DIGITS for rest in _prefixes(digits - 1))


def _bucket(server: QueryServer, pattern: Pattern, prefix: str, deepest: int) -> Iterator[tuple[str, list[Row]]]:
    """Yield a bucket's rows, in smaller buckets where it is too much at once, down to so many digits."""
    try:
        rows = ask(server, pattern.select(pattern.bucket(prefix)))
    except TooMuchError as error:
        if len(prefix) >= deepest:
            raise TooMuchError(f"{error}, even in the smallest part; {REMEDY}") from error
        for digit in DIGITS:
            yield from _bucket(server, pattern, prefix + digit, deepest)
        return
    for row in rows:
        if not hash_of(row[pattern.key[1:]]).startswith(prefix):
            raise AlmanacError(
                f"{row[pattern.key[1:]]} was answered in the bucket {prefix!r}, where its MD5 does not belong"
            )
    yield prefix, rows


def _agreed(server: QueryServer, pattern: Pattern, part: str, rows: list[Row], deepest: int) -> list[Row]:
    """Return a bucket's rows once their number is the server's count; where it is not, those of smaller buckets.

    Raises:
        TooMuchError: they differ in the smallest bucket too.
    """
    query = pattern.count(pattern.bucket(part))
    try:
        expected = number(server, query)
        if len(rows) == expected:
            return rows
        difference = f"the server counts {expected} rows and gives {len(rows)}"
    except TooMuchError as error:
        difference = f"{error} that counts"
    if len(part) >= deepest:
        raise TooMuchError(f"{difference}, in the smallest part too; {REMEDY}\n{query}")
    out = []
    for digit in DIGITS:
        for smaller, found in _bucket(server, pattern, part + digit, deepest):
            out.extend(_agreed(server, pattern, smaller, found, deepest))
    return out


def hash_of(text: str) -> str:
    """Return the MD5 by which SPARQL's MD5(STR(...)) puts a key into its bucket."""
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _lowest(rows: list[Row], key: str, limit: int) -> list[Row]:
    """Return the rows of the keys of the lowest hashes: whole keys, until there are enough rows."""
    name = key[1:]
    kept: list[Row] = []
    for row in sorted(rows, key=lambda row: (hash_of(row[name]), sorted(row.items()))):
        if len(kept) >= limit and row[name] != kept[-1][name]:
            break
        kept.append(row)
    return kept


def batched(server: QueryServer, pattern: Pattern, ids: Sequence[str], size: int) -> list[Row]:
    """Return the rows of a pattern for given ids, batch by batch; a batch that is too much is halved.

    The pattern's text holds ``{values}``. Every answer brings the server's own count of its rows.

    Raises:
        AlmanacError: the server cannot answer for a single id, or its rows and its count differ for one.
    """
    rows: list[Row] = []
    for start in range(0, len(ids), size):
        with together(server):
            rows.extend(_halved(server, pattern, ids[start : start + size]))
    return rows


def _halved(server: QueryServer, pattern: Pattern, batch: Sequence[str]) -> list[Row]:
    try:
        return _counted(server, pattern, batch)
    except TooMuchError as error:
        if len(batch) == 1:
            raise AlmanacError(f"{error}, of {batch[0]} alone\n{_with_count(pattern, batch)}") from error
    middle = len(batch) // 2
    return [row for half in (batch[:middle], batch[middle:]) for row in _halved(server, pattern, half)]


def _with_count(pattern: Pattern, batch: Sequence[str]) -> str:
    where = pattern.where.replace("{values}", " ".join(batch))
    count = f"SELECT (COUNT(*) AS ?n) WHERE {{\n{where}\n}}"
    return f"{pattern.prefixes}SELECT {pattern.variables} ?n WHERE {{\n{{\n{where}\n}} UNION {{ {count} }}\n}}"


def _counted(server: QueryServer, pattern: Pattern, batch: Sequence[str]) -> list[Row]:
    rows = ask(server, _with_count(pattern, batch))
    counts = [row["n"] for row in rows if "n" in row]
    found = [row for row in rows if "n" not in row]
    if counts != [str(len(found))]:
        raise TooMuchError(f"the server counts {', '.join(counts) or 'no'} rows and gives {len(found)}")
    return found
