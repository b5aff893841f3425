"""Write what a suite asks: numbered items, and every distinct request once, divided into shards.

Requests are sorted, so that neighbours in a file share a prefix, which `answer` then encodes once. If there are very
many, they are sorted in runs of `RUN` requests, a file consists of several sorted stretches, and only the keys of the
requests are held in memory.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import polars as pl
import pyarrow as pa

from almanac import tables, unfinished
from almanac.columns import schema
from almanac.errors import AlmanacError
from almanac.frames import KEY, as_frame, request_key
from almanac.rows import Context, Item, Link, NotAsked, Request, Setting
from almanac.suites.asked import Batch

RUN = 200_000  # requests that are sorted together
TABLES: dict[str, type] = {
    "items": Item,
    "links": Link,
    "settings": Setting,
    "contexts": Context,
    "refused": NotAsked,
}
ORDER = ("kind", "context", "text", "request_id")


def write_asked(folder: Path, batches: Iterable[Batch], own: Mapping[str, type], shards: int) -> dict[str, int]:
    """Write the tables of a round: `TABLES`, the tables that the suite declares, and one request file per shard.

    Requests with the same context go to the same shard. If asking fails, no table is written.

    Args:
        folder: where the tables go; it is made if necessary.
        batches: the items, links and requests that the suite asks.
        own: the tables that the suite declares ``at='asked'``, with their row classes.
        shards: the number of request files, ``requests-0.parquet`` and so on.

    Returns:
        The number of rows of each table, ``requests`` among them.

    Raises:
        AlmanacError: the folder cannot be written, or a batch's tables are not those that the suite declares.
    """
    tables.check_writable(folder / "items.parquet")
    seen: dict[str, set[str]] = {"settings": set(), "contexts": set(), "refused": set()}
    with ExitStack() as stack:
        work = stack.enter_context(unfinished.folder(folder / "asking"))
        writers = {
            name: stack.enter_context(tables.writing(folder / f"{name}.parquet", row))
            for name, row in {**TABLES, **own}.items()
        }
        runs = _Runs(work)
        for batch in batches:
            for name in ("items", "links"):
                writers[name].add(getattr(batch, name))
            for name, known in seen.items():
                writers[name].add(_new(getattr(batch, name), known))
            if undeclared := sorted(batch.own.keys() - own.keys()):
                raise AlmanacError(f"{folder}: the suite's `own` declares no table {undeclared[0]!r} at='asked'")
            if absent := sorted(own.keys() - batch.own.keys()):
                raise AlmanacError(
                    f"{folder}: `own` declares a table {absent[0]!r} that `ask` does not give to `Asked`"
                )
            for name in own:
                writers[name].add(batch.own[name])
            runs.add(batch.requests)
        counts = {name: writer.rows for name, writer in writers.items()}
        counts["requests"] = runs.write(folder, shards)
    return counts


def _new(table: pa.Table, known: set[str]) -> pa.Table:
    """Return the rows whose key (the first column) is not in ``known``, and add their keys to it."""
    keys = table.column(0).to_pylist()
    new = [key not in known and not known.add(key) for key in keys]  # type: ignore[func-returns-value]
    return table.filter(pa.array(new, pa.bool_()))


class _Runs:
    """Requests sorted in runs of `RUN`: each run is kept in a temporary file, and only its keys in memory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: list[pa.Table] = []
        self._rows = 0
        self._keys: list[pl.DataFrame] = []  # the keys of each run, in the order of its requests

    def add(self, requests: pa.Table) -> None:
        """Add requests; they may contain duplicates of earlier ones."""
        self._held.append(requests)
        self._rows += requests.num_rows
        if self._rows >= RUN:
            self._sort()

    def _sort(self) -> None:
        held = pa.concat_tables([schema(Request).empty_table(), *self._held])
        self._held, self._rows = [], 0
        frame = as_frame(held).unique("request_id", keep="first", maintain_order=True)
        frame = frame.with_columns(pl.col("context_id").fill_null("").alias("context")).sort(ORDER).drop("context")
        with tables.writing(self._path(len(self._keys)), Request) as writer:
            writer.add(frame.to_arrow())
        self._keys.append(frame.select(*request_key(), pl.lit(len(self._keys), pl.UInt16).alias("run")))

    def _path(self, run: int) -> Path:
        return self._folder / f"run-{run}.parquet"

    def write(self, folder: Path, shards: int) -> int:
        """Write the request files, without duplicates; return the number of requests."""
        if self._held or not self._keys:
            self._sort()
        first = pl.concat(self._keys).select("run", pl.struct(KEY).is_first_distinct().alias("first"))
        paths = [folder / f"requests-{shard}.parquet" for shard in range(shards)]
        for path in set(folder.glob("requests-*.parquet")) - {*paths}:
            if path.stem.removeprefix("requests-").isdecimal():  # left from a run with more shards
                path.unlink(missing_ok=True)
        with ExitStack() as stack:
            writers = [stack.enter_context(tables.writing(path, Request)) for path in paths]
            for run in range(len(self._keys)):
                kept = first.filter(pl.col("run") == run)["first"].to_arrow()
                for piece in self._pieces(run, kept):
                    for shard, part in enumerate(_divided(piece, shards)):
                        writers[shard].add(part)
            return sum(writer.rows for writer in writers)

    def _pieces(self, run: int, kept: pa.Array) -> Iterator[pa.Table]:
        """Yield the requests of a run that are kept (mask ``kept``): those that no earlier run has."""
        start = 0
        for batch in tables.stream(self._path(run), Request, size=tables.GROUP):
            yield pa.Table.from_batches([batch]).filter(kept.slice(start, batch.num_rows))
            start += batch.num_rows


def _divided(requests: pa.Table, shards: int) -> list[pa.Table]:
    """Divide requests into shards by their context's id, or by their own id if they have no context."""
    if shards == 1:
        return [requests]
    names = zip(requests.column("context_id").to_pylist(), requests.column("request_id").to_pylist(), strict=True)
    shard_of = pa.array([int(context or request, 16) % shards for context, request in names], pa.int64())
    return [requests.filter(pa.compute.equal(shard_of, shard)) for shard in range(shards)]
