"""The questions to a model joined with its responses, a few items at a time.

Links, requests and responses are joined by row numbers, so that memory holds only a few bytes for each link and the
wanted columns of responses. Items are yielded whole and in order.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from almanac import tables
from almanac.columns import columns, kinds
from almanac.errors import AlmanacError, did_you_mean
from almanac.frames import KEY, frame_of, frames, read_frame, request_key
from almanac.rows import STATUSES, Item, Link, Request, Response, Setting

SIZE = 20_000  # links in a part
ITEM = columns(Item)
LINK = ("role", "index", "weight", "round")
REQUEST = columns(Request)
RESPONSE = [name for name in columns(Response) if name != "request_id"]
BY = ("answerer", *KEY)  # the columns that identify a response
CODED = ("kind", "status", "reason", "model_digest", "engine")  # columns with few distinct texts, held as categories
END = np.uint64(2**64 - 1)  # sorts after every key


def statuses(paths: Iterable[Path]) -> dict[str, Counter[str]]:
    """Count the responses in some files, by status and reason; files may not exist yet."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for path in paths:
        for frame in frames(path, Response, ["status", "reason"]) if path.is_file() else ():
            for status, reason, count in frame.group_by("status", "reason", maintain_order=True).len().rows():
                found[status][reason or "no reason is given"] += count
    return found


@dataclass(frozen=True)
class RoundFiles:
    """The files of one round.

    Attributes:
        name: the round's.
        folder: the folder with its questions.
        requests: the request files in it.
        responses: the response files, if it was answered.
        answerer: the model that answered; rounds with the same one share its response to a request.
    """

    name: str
    folder: Path
    requests: tuple[Path, ...]
    responses: tuple[Path, ...] = ()
    answerer: str = ""

    @classmethod
    def of(cls, name: str, folder: Path, responses: Sequence[Path] = (), answerer: str = "") -> "RoundFiles":
        """Return the files of a folder with any number of shards."""
        return cls(name, folder, tuple(sorted(folder.glob("requests-*.parquet"))), tuple(responses), answerer)


class Part(NamedTuple):
    """Some items, none of them split.

    Attributes:
        links: a row for each link, with ``item`` and the wanted columns; the links of an item are adjacent, in the
            order of the rounds and as they were made.
        own: the rows of the suite's own tables about these items, by name, in the order of the items.
    """

    links: pl.DataFrame
    own: Mapping[str, pl.DataFrame]


@dataclass(frozen=True)
class Answers:
    """The questions to a model in some rounds, and its responses.

    Attributes:
        setting: the class of the values that say how an item was asked (`Asks.setting`).
        own_rows: the row classes of the suite's own tables of what was asked.
        exposures: how often the model was taught each fact (`rows.Exposure`); None if it was not taught the dataset.
    """

    model: str
    dataset: str
    rounds: Sequence[RoundFiles]
    setting: type[Any]
    own_rows: Mapping[str, type] = field(default_factory=dict)
    exposures: pl.DataFrame | None = None

    @cached_property
    def count(self) -> int:
        """The number of items."""
        return sum(tables.count(one.folder / "items.parquet", Item) for one in self.rounds)

    @cached_property
    def settings(self) -> pl.DataFrame:
        """The settings: ``setting``, ``setting_label`` and a column for each field."""
        rows = {
            row.setting: row for one in self.rounds for row in tables.read(one.folder / "settings.parquet", Setting)
        }
        return expanded(list(rows.values()), self.setting)

    def own(self, table: str) -> pl.DataFrame:
        """Return one of the suite's own tables of what was asked, over all rounds."""
        if table not in self.own_rows:
            raise AlmanacError(
                f"the suite has no table {table!r} of what was asked{did_you_mean(table, self.own_rows)}"
            )
        row = self.own_rows[table]
        return pl.concat([read_frame(one.folder / f"{table}.parquet", row) for one in self.rounds])

    def parts(self, columns: Sequence[str], own: Sequence[str] = (), size: int = SIZE) -> Iterator[Part]:
        """Yield the items with their requests and responses, in order; an item without a link has no row.

        Args:
            columns: the wanted columns of items (``experiment``, ``accepted``, …), settings (their fields), links
                (``role``, ``index``, ``weight``, ``round``), requests (``choices``, ``text``, …) and responses
                (``status``, ``logprobs``, …).
            own: the suite's own tables of items that are wanted too.
            size: the largest number of links in a part, unless a single item has more.

        Raises:
            AlmanacError: a request has no response, or several; a column is unknown; item numbers have gaps.
        """
        self._check_columns(columns)
        of_item = [name for name in columns if name in ITEM]
        of_setting = [name for name in columns if name in self.settings.columns and name not in ITEM]
        of_link = [name for name in columns if name in LINK]
        of_request = [name for name in columns if name in REQUEST]
        of_response = [name for name in columns if name in RESPONSE]
        links, rows = self._links(of_link), {}
        if of_request:
            requests = self._rows(Request, of_request, lambda one: one.requests)
            links, rows["request"] = _placed(links, requests, KEY, "request")
        if of_response:
            responses = self._rows(Response, of_response, lambda one: one.responses)
            links, rows["response"] = _placed(links, responses, BY, "response")
            self._check_answered(links)
            self._check_numbers()
        links = links.drop(BY)
        if not links["item"].is_sorted():
            links = links.sort("item", maintain_order=True)
        wanted = list(dict.fromkeys(["item", *columns]))
        tables_of_items = {name: self.own(name).with_columns(pl.col("item").cast(pl.UInt32)) for name in own}
        for items, low, high in self._items(of_item, of_setting, links["item"].to_numpy(), size):
            part = links.slice(low, high - low)
            joined = [part.select("item", *of_link), *(frame[part[name]] for name, frame in rows.items())]
            whole = pl.concat(joined, how="horizontal").join(items, on="item", how="left", maintain_order="left")
            whole = whole.with_columns(pl.col(name).cast(pl.String) for name in CODED if name in columns)
            about = pl.col("item").is_between(items["item"][0], items["item"][-1])
            yield Part(whole.select(wanted), {name: frame.filter(about) for name, frame in tables_of_items.items()})

    def _check_columns(self, columns: Sequence[str]) -> None:
        """Refuse unknown and ambiguous columns."""
        there = Counter([*dict.fromkeys([*ITEM, "setting", "setting_label"]), *LINK, *REQUEST, *RESPONSE])
        there.update(self.setting._fields)
        if unknown := [name for name in columns if name not in there]:
            raise AlmanacError(
                f"there is no column {unknown[0]} of items, settings, links, requests or responses"
                f"{did_you_mean(unknown[0], there)}"
            )
        if twice := [name for name in columns if there[name] > 1]:
            raise AlmanacError(
                f"{self.setting.__name__}: a field {twice[0]!r} of the setting would be mistaken for the column "
                "of that name of items, links, requests or responses; rename the field"
            )

    @cached_property
    def _answerers(self) -> list[int]:
        """For each round the first round with the same answerer: a number for each answerer."""
        names = [one.answerer for one in self.rounds]
        assert len(names) < 16, "who answered stands in four bits of a key"
        return [names.index(name) for name in names]

    def _links(self, columns: Sequence[str]) -> pl.DataFrame:
        """Return columns of the links of all rounds, with item, answerer and key: a few bytes each."""
        types = {"role": pl.Categorical, "index": pl.Int32, "weight": pl.Float64}
        own = [pl.col(name).cast(kind) for name, kind in types.items() if name in columns]
        wanted = ["item", "request_id", *(name for name in types if name in columns)]
        return pl.concat(
            frame.select(
                pl.col("item").cast(pl.UInt32),
                pl.lit(answerer, pl.UInt8).alias("answerer"),
                *([pl.lit(one.name).cast(pl.Categorical).alias("round")] if "round" in columns else []),
                *own,
                *request_key(),
            )
            for answerer, one in zip(self._answerers, self.rounds, strict=True)
            for frame in frames(one.folder / "links.parquet", Link, wanted)
        )

    def _rows(self, row: type, columns: Sequence[str], files: Callable[[RoundFiles], Sequence[Path]]) -> pl.DataFrame:
        """Return columns of the rows in some files of each round, in order, with answerer and key."""
        wanted = list(dict.fromkeys(["request_id", *columns]))
        coded = [pl.col(name).cast(pl.Categorical) if name in CODED else pl.col(name) for name in columns]

        def keyed(answerer: int, frame: pl.DataFrame) -> pl.DataFrame:
            return frame.select(pl.lit(answerer, pl.UInt8).alias("answerer"), *request_key(), *coded)

        found = [
            keyed(answerer, frame if row is Request else _possible(path, frame))
            for answerer, one in zip(self._answerers, self.rounds, strict=True)
            for path in files(one)
            for frame in frames(path, row, wanted)
        ]
        return pl.concat(found or [keyed(0, frame_of(row, ()).select(wanted))])

    def _check_answered(self, links: pl.DataFrame) -> None:
        """Refuse requests without a response."""
        missing = links.filter(pl.col("response").is_null()).unique(BY, maintain_order=True)
        if missing.is_empty():
            return
        answerer = missing["answerer"][0]
        names = (
            name
            for one, own in zip(self.rounds, self._answerers, strict=True)
            if own == answerer
            for frame in frames(one.folder / "links.parquet", Link, ["request_id"])
            for name in frame.with_columns(request_key()).join(missing.head(1), on=KEY, how="semi")["request_id"]
        )
        raise AlmanacError(
            f"model {self.rounds[answerer].answerer or self.model!r}: {missing.height} of {links.unique(BY).height} "
            f"requests have no response, the first is {next(names)}; run `answer` on their shard again"
        )

    def _check_numbers(self) -> None:
        """Refuse rounds with more or fewer responses than requests: the join would ignore a second response."""
        for one in self.rounds:
            asked = sum(tables.count(path, Request) for path in one.requests)
            if asked != (found := sum(tables.count(path, Response) for path in one.responses)):
                where = one.responses[0].parent if one.responses else one.folder
                raise AlmanacError(
                    f"{where}: {found} responses to {asked} requests of {one.folder}, but each needs exactly one; "
                    "delete the responses and run `answer` again"
                )

    def _items(
        self, columns: Sequence[str], fields: Sequence[str], linked: NDArray[np.uint32], size: int
    ) -> Iterator[tuple[pl.DataFrame, int, int]]:
        """Yield runs of items with at most ``size`` links, and the indices of their first link and of the one after.

        ``linked`` has the item of each link, sorted.
        """
        if len(linked) and linked[-1] >= self.count:
            raise AlmanacError(
                f"{self.rounds[-1].folder}: a link is to item {linked[-1]} of {self.count} items (from 0); ask again"
            )
        settings = self.settings.select("setting", *fields)
        wanted = list(dict.fromkeys(["item", *columns, *(["setting"] if fields else [])]))
        count = 0
        for one in self.rounds:
            for frame in frames(one.folder / "items.parquet", Item, wanted):
                found = frame.join(settings, on="setting", how="left", maintain_order="left") if fields else frame
                found = found.with_columns(pl.col("item").cast(pl.UInt32))
                numbers = found["item"].to_numpy()
                if not np.array_equal(numbers, np.arange(count, count + len(numbers))):
                    raise AlmanacError(
                        f"{one.folder / 'items.parquet'}: the items from {count} on do not continue the numbers of "
                        "earlier batches and rounds; ask again (a suite starts a later round at `before.count`)"
                    )
                count += len(numbers)
                first, last = np.searchsorted(linked, numbers), np.searchsorted(linked, numbers, "right")
                start = 0
                while start < len(numbers):
                    stop = max(start + 1, int(np.searchsorted(last, first[start] + size, "right")))
                    yield found.slice(start, stop - start), int(first[start]), int(last[stop - 1])
                    start = stop


def _possible(path: Path, frame: pl.DataFrame) -> pl.DataFrame:
    """Return responses unchanged, after a check of their statuses and log-probabilities, if they have these columns.

    Raises:
        AlmanacError: one is impossible, as in a file that another program wrote.
    """
    of = {
        "status": pl.col("status").is_in(STATUSES).fill_null(False),
        "logprobs": pl.col("logprobs").list.eval(pl.element().is_finite().fill_null(False)).list.all(),
    }
    for name, good in of.items():
        if name in frame.columns and (wrong := frame.filter(good.not_())).height:
            said = f"the response to {wrong['request_id'][0]} has the {name} {wrong[name].to_list()[0]!r}"[:200]
            raise AlmanacError(f"{path}: {said}, which no model returns; delete this file and run `answer` again")
    return frame


def _placed(links: pl.DataFrame, rows: pl.DataFrame, on: Sequence[str], name: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return links with the index of the first matching row, as a column called ``name``, and the rows without keys.

    So of several responses of one model to one request, that of the earliest round counts, whatever its status: a later
    round that repeats a request changes nothing about earlier ones.
    """
    (wanted, more), (there, more_there) = _numbers(links, on), _numbers(rows, on)
    order = np.append(np.argsort(there, kind="stable").astype(np.uint32), np.uint32(len(there)))
    there, more_there = np.append(there, END)[order], np.append(more_there, 0)  # a last row for keys beyond all others
    turns = np.argsort(wanted)  # keys are looked up in sorted order: in random order it takes several times as long
    place = np.empty(len(wanted), np.uint32)
    place[turns] = np.searchsorted(there, wanted[turns])
    # Rows with the same first number of the key are tried one after the other, until the second number matches too.
    while (other := (there[place] == wanted) & (more_there[order[place]] != more)).any():
        place += other
    found = pl.DataFrame({name: order[place], "there": there[place] == wanted})
    placed = links.with_columns(found.select(pl.when("there").then(name).alias(name)).to_series())
    return placed, rows.drop(BY, strict=False).rechunk()


def _numbers(frame: pl.DataFrame, on: Sequence[str]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the keys of rows as two numbers; four bits that are free in the first hold the answerer."""
    first = frame["key"].to_numpy().astype(np.uint64)
    if "answerer" in on:
        first |= frame["answerer"].to_numpy().astype(np.uint64) << np.uint64(60)
    return first, frame["more"].to_numpy()


def expanded(settings: Sequence[Setting], kind: type[Any]) -> pl.DataFrame:
    """Return settings with a typed column for each field of their class ``kind``; texts as categories."""
    texts = {name: [getattr(row, name) for row in settings] for name in ("setting", "label", "fields")}
    found = pl.DataFrame(texts, dict.fromkeys(texts, pl.String)).rename({"label": "setting_label"})
    types = {str: pl.String, int: pl.Int64, float: pl.Float64, bool: pl.Boolean}
    if wanted := {name: types[one] for name, one in kinds(kind).items()}:
        found = found.hstack(found["fields"].str.json_decode(pl.Struct(wanted)).struct.unnest())
    return found.drop("fields").with_columns(pl.col(pl.String).exclude("setting").cast(pl.Categorical))
