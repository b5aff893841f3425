"""Fetches large SPARQL results in parts (hash buckets or batches of ids), each checked against the server's count.

A bucket contains the subjects whose MD5 begins with given hexadecimal digits. Buckets are standard SPARQL, need no
ORDER BY and do not overlap. Unlike LIMIT and OFFSET they lose no rows if the data change between two requests.
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
DEEPEST = 6  # most digits of a bucket: 16 million parts
SCANNED = 100_000  # rows that any server can scan
REMEDY = "ask for a sample with `facts`, or take the relation from a dump"
NAMED = 500  # keys in one query by name


@dataclass(frozen=True)
class Pattern:
    """A query: the prefixes, the selected variables, and the graph pattern of its WHERE clause.

    ``key`` is the variable whose hash defines the buckets.
    """

    prefixes: str
    variables: str
    where: str
    key: str = "?s"

    def select(self, more: str = "") -> str:
        """Return the query for the rows; ``more`` is added to the graph pattern."""
        return f"{self.prefixes}SELECT {self.variables} WHERE {{\n{self.where}\n{more}}}"

    def count(self, more: str = "") -> str:
        """Return the query for the number of rows; ``more`` as in `select`."""
        return f"{self.prefixes}SELECT (COUNT(*) AS ?n) WHERE {{\n{self.where}\n{more}}}"

    def bucket(self, digits: str) -> str:
        """Return the filter of a bucket; empty without digits, since in Virtuoso no text starts with ""."""
        return f'  FILTER(STRSTARTS(MD5(STR({self.key})), "{digits}"))\n' if digits else ""


def ask(server: QueryServer, query: str) -> list[Row]:
    """Return the rows of a query. Each bound variable NAME has its text under ``NAME`` and its kind as ``NAME.type``.

    Literals may also have ``NAME.lang`` or ``NAME.datatype``.
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
    """Return the result of a counting query.

    Raises:
        TooMuchError: the answer is no single number; the caller then tries smaller parts.
    """
    rows = ask(server, query)
    if len(rows) != 1 or not rows[0].get("n", "").isdecimal():
        raise TooMuchError(f"a count query returned {rows[:3]!r}; is it a SPARQL 1.1 server?")
    return int(rows[0]["n"])


def gather(
    server: QueryServer,
    pattern: Pattern,
    page: int,
    limit: int | None = None,
    lowest: Callable[[], Sequence[str]] | None = None,
) -> list[Row]:
    """Return all rows of a pattern, or a sample of them, fetched in hash buckets.

    Args:
        server: answers the queries.
        pattern: a pattern with a ``key``.
        page: most rows that a bucket should have; determines the number of buckets.
        limit: if given, return a sample of about so many rows: those of the keys with the lowest hashes, each key with
            all its rows. The sample is pseudo-random, and the same as long as the data are the same.
        lowest: returns the keys with the lowest hashes, sorted by hash, if they are known beforehand. They are queried
            by name if the server cannot scan all keys for a sample; the sample is the same.

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
            except TooMuchError:  # smaller parts do not help: the server scans everything for each of them
                rows = _by_name(server, pattern, lowest(), limit)
    return rows if limit is None else _lowest(rows, pattern.key, limit)


def _whole(server: QueryServer, pattern: Pattern, digits: int, total: int) -> list[Row]:
    """Return all rows; if their number is not ``total``, each part is checked against its own count."""
    parts = [part for prefix in _prefixes(digits) for part in _bucket(server, pattern, prefix, DEEPEST)]
    if sum(len(found) for _, found in parts) != total:  # rows were lost, or the data changed: find the part
        return [row for part, found in parts for row in _agreed(server, pattern, part, found, DEEPEST)]
    return [row for _, found in parts for row in found]


def _first(server: QueryServer, pattern: Pattern, digits: int, deepest: int, limit: int | None) -> list[Row]:
    """Return the rows of all buckets, or of the first with ``limit`` rows together; each count is checked."""
    rows: list[Row] = []
    for prefix in _prefixes(digits):
        for part, found in _bucket(server, pattern, prefix, deepest):
            rows.extend(_agreed(server, pattern, part, found, deepest))
            if limit is not None and len(rows) >= limit:
                return rows
    return rows


def _by_name(server: QueryServer, pattern: Pattern, keys: Sequence[str], limit: int) -> list[Row]:
    """Return the rows of the first keys that have ``limit`` rows together.

    Raises:
        AlmanacError: all keys together have fewer.
    """
    rows: list[Row] = []
    named = replace(pattern, where=f"  VALUES {pattern.key} {{ {{values}} }}\n{pattern.where}")
    for start in range(0, len(keys), NAMED):
        rows.extend(batched(server, named, [f"<{key}>" for key in keys[start : start + NAMED]], NAMED))
        if len(rows) >= limit:
            return rows
    raise AlmanacError(
        f"the server cannot scan all rows, and the {len(keys)} subjects from which a sample is drawn have "
        f"{len(rows)} rows; lower `facts` to that, or take the rows from a dump\n{pattern.select()}"
    )


def _total(server: QueryServer, pattern: Pattern) -> int | None:
    """Return the number of rows of a pattern, or None if the server cannot count so many at once."""
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
    """Yield (prefix, rows) of a bucket; one that is too large is split, down to prefixes of ``deepest`` digits."""
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
                f"{row[pattern.key[1:]]} was returned for the bucket {prefix!r}, to which its MD5 does not belong"
            )
    yield prefix, rows


def _agreed(server: QueryServer, pattern: Pattern, part: str, rows: list[Row], deepest: int) -> list[Row]:
    """Return a bucket's rows if their number is the server's count; otherwise fetch it again in smaller buckets.

    Raises:
        TooMuchError: the numbers differ even in the smallest bucket.
    """
    query = pattern.count(pattern.bucket(part))
    try:
        expected = number(server, query)
        if len(rows) == expected:
            return rows
        difference = f"the server counts {expected} rows and gives {len(rows)}"
    except TooMuchError as error:
        difference = f"the count failed ({error})"
    if len(part) >= deepest:
        raise TooMuchError(f"{difference}, in the smallest part too; {REMEDY}\n{query}")
    out = []
    for digit in DIGITS:
        for smaller, found in _bucket(server, pattern, part + digit, deepest):
            out.extend(_agreed(server, pattern, smaller, found, deepest))
    return out


def hash_of(text: str) -> str:
    """Return the hexadecimal MD5 of a key, equal to SPARQL's MD5(STR(...))."""
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _lowest(rows: list[Row], key: str, limit: int) -> list[Row]:
    """Return the rows of the keys with the lowest hashes, each key with all its rows, until ``limit`` is reached."""
    name = key[1:]
    kept: list[Row] = []
    for row in sorted(rows, key=lambda row: (hash_of(row[name]), sorted(row.items()))):
        if len(kept) >= limit and row[name] != kept[-1][name]:
            break
        kept.append(row)
    return kept


def batched(server: QueryServer, pattern: Pattern, ids: Sequence[str], size: int) -> list[Row]:
    """Return the rows of a pattern for given ids, in batches; a batch that is too large is halved.

    The pattern must contain ``{values}``. Each query also asks for the server's own count of the rows.

    Raises:
        AlmanacError: for a single id the server cannot answer, or its rows and its count differ.
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
            raise AlmanacError(f"{error}, even for {batch[0]} alone\n{_with_count(pattern, batch)}") from error
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
