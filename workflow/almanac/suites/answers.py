"""What was asked of a model and what it answered, joined a few items at a time.

The join of links, requests and responses is by row numbers: what is held of a link are a few bytes, of a response only
the columns that are wanted. Items are read, and handed on whole, in their order.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from almanac import tables
from almanac.columns import columns, kinds
from almanac.errors import AlmanacError
from almanac.frames import frames, read_frame
from almanac.rows import Item, Link, Request, Response, Setting

SIZE = 20_000  # links that are handed on at once, about
ITEM = columns(Item)
LINK = ("role", "index", "weight")
REQUEST = columns(Request)
RESPONSE = [name for name in columns(Response) if name != "request_id"]
KEY = ["key", "more"]  # the digits of a request's id as two numbers


@dataclass(frozen=True)
class RoundFiles:
    """The files of one round.

    Attributes:
        name: the round's.
        folder: of what was asked.
        requests: the request files in it.
        responses: one for each request file, where it was answered.
        answerer: who answered.
    """

    name: str
    folder: Path
    requests: tuple[Path, ...]
    responses: tuple[Path, ...] = ()
    answerer: str = ""

    @classmethod
    def of(cls, name: str, folder: Path, responses: Sequence[Path] = (), answerer: str = "") -> "RoundFiles":
        """Return the files of a folder, whatever its number of shards."""
        return cls(name, folder, tuple(sorted(folder.glob("requests-*.parquet"))), tuple(responses), answerer)


class Part(NamedTuple):
    """Some items, whole.

    Attributes:
        links: a row a link, ``item`` and the columns that were wanted; links of an item stand together.
        own: the rows of the suite's own tables about these items, by name, in the order of the items.
    """

    links: pl.DataFrame
    own: Mapping[str, pl.DataFrame]


@dataclass(frozen=True)
class Answers:
    """What was asked of a model in some rounds, and what was answered.

    Attributes:
        model: the model that is asked.
        dataset: the dataset.
        rounds: the rounds, in their order.
        setting: the class of the suite's settings.
        own_rows: the row classes of its own tables of what was asked.
        exposures: how often the model was taught each fact (`rows.Exposure`); none where it was not taught the dataset.
    """

    model: str
    dataset: str
    rounds: Sequence[RoundFiles]
    setting: type[Any]
    own_rows: Mapping[str, type] = field(default_factory=dict)
    exposures: pl.DataFrame | None = None

    @cached_property
    def count(self) -> int:
        """How many items there are."""
        return sum(tables.count(one.folder / "items.parquet", Item) for one in self.rounds)

    @cached_property
    def settings(self) -> pl.DataFrame:
        """The settings: ``setting``, ``setting_label`` and a column a field."""
        rows = {row.setting: row for one in self.rounds for row in tables.read(one.folder / "settings.parquet", Setting)}
        return expanded(list(rows.values()), self.setting)

    def own(self, table: str) -> pl.DataFrame:
        """Return one of the suite's own tables of what was asked, all rounds."""
        row = self.own_rows[table]
        return pl.concat([read_frame(one.folder / f"{table}.parquet", row) for one in self.rounds])

    def parts(self, columns: Sequence[str], own: Sequence[str] = (), size: int = SIZE) -> Iterator[Part]:
        """Yield the items with what was asked and answered, in their order.

        Args:
            columns: what is wanted of items (``experiment``, ``accepted``, …), of settings (by field), of links
                (``role``, ``index``, ``weight``), ``round``, of requests (``choices``, ``text``, …) and of responses
                (``status``, ``logprobs``, …).
            own: the suite's own tables of items that are wanted too.
            size: about how many links stand in a part.

        Raises:
            AlmanacError: a request has no response; a column is unknown.
        """
        settings = [name for name in columns if name in self.settings.columns]
        unknown = set(columns) - {*ITEM, *LINK, *REQUEST, *RESPONSE, *settings, "round"}
        if unknown:
            raise AlmanacError(f"there is no column {', '.join(sorted(unknown))} of items, links, requests or responses")
        of_item = [name for name in columns if name in ITEM]
        of_request = [name for name in columns if name in REQUEST]
        of_response = [name for name in columns if name in RESPONSE]
        links = self._links(bool(of_response))
        requests = self._requests(of_request) if of_request else None
        responses = self._responses(of_response) if of_response else None
        if requests is not None:
            links = self._placed(links, requests, "asked_at")
        if responses is not None:
            links = self._placed(links, responses, "answered_at")
            self._check(links)
        links = links.sort("item", maintain_order=True)
        held = {name: self.own(name) for name in own}
        for items, low, high in self._items(of_item, settings, links["item"].to_numpy(), size):
            part = links.slice(low, high - low)
            frames = [part.select("item", *(name for name in ("round", *LINK) if name in columns))]
            if requests is not None:
                frames.append(requests.select(of_request)[part["asked_at"]])
            if responses is not None:
                frames.append(responses.select(of_response)[part["answered_at"]])
            joined = pl.concat(frames, how="horizontal").join(items, on="item", how="left", maintain_order="left")
            about = pl.col("item").is_between(items["item"][0], items["item"][-1])
            yield Part(joined, {name: frame.filter(about) for name, frame in held.items()})

    def _links(self, answered: bool) -> pl.DataFrame:
        """Return the links of all rounds, by numbers: a few bytes each."""
        found = []
        for number, one in enumerate(self.rounds):
            for frame in frames(one.folder / "links.parquet", Link):
                found.append(
                    frame.select(
                        pl.col("item").cast(pl.UInt32),
                        pl.lit(number, pl.UInt8).alias("number"),
                        pl.lit(one.name).cast(pl.Categorical).alias("round"),
                        pl.col("role").cast(pl.Categorical),
                        pl.col("index").cast(pl.Int32),
                        "weight",
                        *_key(),
                    )
                )
        return pl.concat(found)

    def _requests(self, columns: Sequence[str]) -> pl.DataFrame:
        """Return columns of all requests, with whose round they are and their keys."""
        return pl.concat(
            read_frame(path, Request, list(dict.fromkeys(["request_id", *columns])))
            .with_columns(pl.lit(number, pl.UInt8).alias("number"), *_key())
            .select("number", *KEY, *columns)
            for number, one in enumerate(self.rounds)
            for path in one.requests
        )

    def _responses(self, columns: Sequence[str]) -> pl.DataFrame:
        """Return columns of all responses, with whose round they are and their keys.

        Of responses of one model to one request in several rounds the first counts, whatever its status: what a later
        round asks once more changes nothing of the earlier ones.
        """
        return pl.concat(
            frame.with_columns(pl.lit(number, pl.UInt8).alias("number"), *_key()).drop("request_id")
            for number, one in enumerate(self.rounds)
            for path in one.responses
            for frame in frames(path, Response, ["request_id", *columns])
        )

    def _placed(self, links: pl.DataFrame, rows: pl.DataFrame, name: str) -> pl.DataFrame:
        """Return links with the row that their request has in a table of all rounds, or none."""
        answerers = [self.rounds[number].answerer for number in range(len(self.rounds))]
        group = pl.Series("number", [answerers.index(one) for one in answerers], pl.UInt8)
        place = rows.select(group[rows["number"].cast(int)], *KEY).with_row_index(name)
        place = place.unique(["number", *KEY], keep="first", maintain_order=True)
        own = links.with_columns(group[links["number"].cast(int)].alias("number"))
        return own.join(place, on=["number", *KEY], how="left", maintain_order="left")

    def _check(self, links: pl.DataFrame) -> None:
        """Refuse links whose request has no response."""
        missing = links.filter(pl.col("answered_at").is_null()).unique(["number", *KEY], maintain_order=True)
        if missing.height:
            one = self.rounds[missing["number"][0]]
            at = {(row["key"], row["more"]) for row in missing.select(KEY).iter_rows(named=True)}
            names = (
                row["request_id"]
                for frame in frames(one.folder / "links.parquet", Link)
                for row in frame.select("request_id", *_key()).iter_rows(named=True)
                if (row["key"], row["more"]) in at
            )
            asked = links.unique(["number", *KEY]).height
            raise AlmanacError(
                f"model {one.answerer or self.model!r}: {missing.height} of {asked} requests have no response, the "
                f"first is {next(names)}; run `answer` on their shard again"
            )

    def _items(
        self, columns: Sequence[str], settings: Sequence[str], linked: NDArray[np.uint32], size: int
    ) -> Iterator[tuple[pl.DataFrame, int, int]]:
        """Yield stretches of items of about ``size`` links with their columns, and which links are theirs."""
        expanded_columns = self.settings.select("setting", *(name for name in settings if name != "setting"))
        wanted = list(dict.fromkeys(["item", *columns, *(["setting"] if settings else [])]))
        for one in self.rounds:
            for frame in frames(one.folder / "items.parquet", Item, wanted):
                if settings:
                    frame = frame.join(expanded_columns, on="setting", how="left", maintain_order="left")
                frame = frame.with_columns(pl.col("item").cast(pl.UInt32))
                numbers = frame["item"].to_numpy()
                first = np.searchsorted(linked, numbers)  # of each item, its first link
                ends = np.searchsorted(linked, numbers, "right")
                start = 0
                while start < len(numbers):
                    stop = max(start + 1, int(np.searchsorted(ends, first[start] + size, "right")))
                    yield frame.slice(start, stop - start), int(first[start]), int(ends[stop - 1])
                    start = stop


def _key() -> list[pl.Expr]:
    """Return a request's id as two numbers of 60 bits each: they tell any two apart that there will ever be."""
    digits = pl.col("request_id").str
    return [
        digits.slice(start, 15).str.to_integer(base=16).alias(name) for start, name in zip((0, 15), KEY, strict=True)
    ]


def expanded(settings: Sequence[Setting], kind: type[Any]) -> pl.DataFrame:
    """Return settings with a column for each field of their class, of its type; texts as categories."""
    fields = pl.DataFrame(
        {
            "setting": [row.setting for row in settings],
            "setting_label": [row.label for row in settings],
            "fields": [row.fields for row in settings],
        },
        schema={"setting": pl.String, "setting_label": pl.String, "fields": pl.String},
    )
    types = {str: pl.String, int: pl.Int64, float: pl.Float64, bool: pl.Boolean}
    wanted = {name: types[one] for name, one in kinds(kind).items()}
    found = fields.drop("fields")
    if wanted:
        found = found.hstack(fields["fields"].str.json_decode(pl.Struct(wanted)).struct.unnest())
    return found.with_columns(pl.col(pl.String).exclude("setting").cast(pl.Categorical))
