"""One suite on one dataset and model, in a folder: its rounds asked, answered by a function, judged, joined, measured.

It goes the way that an edition goes, by the same files. Every number that is measured is held against the items that
its ``where`` selects (`check_numbers`).
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from almanac import tables
from almanac.columns import columns
from almanac.edition.asking import write_asked
from almanac.frames import frame_of, read_frame
from almanac.rows import Context, Exposure, Item, Link, Measure, NotAsked, Outcome, Relation, Request, Response, Setting
from almanac.suites.answers import Answers, RoundFiles
from almanac.suites.chapter import Entrant, Shown
from almanac.suites.data import Data
from almanac.suites.joining import join
from almanac.suites.judged import OUTCOMES, Judged, as_text, from_text
from almanac.suites.suite import Asks, Suite


@dataclass(frozen=True)
class Served:
    """An item that a request serves, how it is asked, and by which link."""

    item: Item
    setting: Any
    link: Link


@dataclass(frozen=True)
class Question:
    """A request as a model meets it: after its context, and with the items that it serves."""

    request: Request
    before: str
    serves: tuple[Served, ...]

    @property
    def text(self) -> str:
        """What is read, choices aside."""
        return self.before + self.request.text + "".join(self.request.pieces or ())

    @property
    def item(self) -> Item:
        """The first item that it serves."""
        return self.serves[0].item

    @property
    def setting(self) -> Any:
        """How that is asked."""
        return self.serves[0].setting

    @property
    def link(self) -> Link:
        """By which link."""
        return self.serves[0].link


Reply = Callable[[Question], Response | None]


def ok(**parts: Any) -> Response:
    """An answer, by its parts: ``logprobs``, ``texts``, …"""
    if "logprobs" in parts:
        parts.setdefault("token_counts", (1,) * len(parts["logprobs"]))
    return Response("", "ok", None, **parts)


def silent(status: str) -> Response:
    """No answer: ``refused``, ``too_long``, ``unsupported`` or ``failed``."""
    return Response("", status, "because")


def picks(place: int) -> Reply:
    """Find the choice at a place the likeliest, from the end where it is negative: suites put the true one last."""

    def reply(question: Question) -> Response:
        choices = question.request.choices or ()
        return ok(logprobs=tuple(-0.5 if at == place % len(choices) else -2.0 - at for at in range(len(choices))))

    return reply


class Trial:
    """One suite, or author, asked of one model on one dataset.

    Attributes:
        rounds: the files of what has been asked so far.
    """

    def __init__(
        self,
        folder: Path,
        suite: Asks[Any],
        data: Data,
        options: Any,
        *,
        doses: Mapping[str, int] | None = None,
        shards: int = 1,
        model: str = "m",
    ) -> None:
        self.suite, self.data, self.options, self.model = suite, data, options, model
        self.rounds: list[RoundFiles] = []
        self._folder, self._shards = folder, shards
        self._exposures = (
            None if doses is None else frame_of(Exposure, [Exposure(fact_id, dose) for fact_id, dose in doses.items()])
        )

    def ask(self) -> "Trial":
        """Ask the next round that the settings want."""
        at = self.suite.rounds_of(self.options)[len(self.rounds)]
        folder = self._folder / at.name
        asked = self.suite.ask(at, self.data, self.options, self.answers if self.rounds else None)
        write_asked(folder, asked, self.suite.tables("asked"), self._shards)
        answerer = self.model if at.answered_by is None else str(getattr(self.options, at.answered_by))
        self.rounds.append(RoundFiles.of(at.name, folder, (), answerer))
        return self

    def answer(self, reply: Reply) -> "Trial":
        """Answer the last round, question by question; what is answered by none has no response."""
        found = {one.request.request_id: reply(one) for one in self.questions()}
        return self.respond([replace(row, request_id=name) for name, row in found.items() if row is not None])

    def respond(self, responses: Iterable[Response]) -> "Trial":
        """Answer the last round with these responses, in one file a shard."""
        last, given = self.rounds[-1], {row.request_id: row for row in responses}
        paths = []
        for path in last.requests:
            names = [row.request_id for row in tables.read(path, Request)]
            paths.append(path.with_name(path.name.replace("requests", "responses")))
            tables.write(paths[-1], Response, [given[name] for name in names if name in given])
        self.rounds[-1] = replace(last, responses=tuple(paths))
        return self

    @property
    def answers(self) -> Answers:
        """What was asked so far, and answered."""
        own = self.suite.tables("asked")
        return Answers(self.model, "d", tuple(self.rounds), self.suite.setting, own, self._exposures)

    # What was asked, as rows, of all rounds or of one

    def read(self, table: str, row: type, at: int | None = None) -> list[Any]:
        """Rows of a table."""
        rounds = self.rounds if at is None else [self.rounds[at]]
        return [found for one in rounds for found in tables.read(one.folder / f"{table}.parquet", row)]

    def items(self, at: int | None = None) -> list[Item]:
        """Items."""
        return self.read("items", Item, at)

    def links(self, at: int | None = None) -> list[Link]:
        """Links."""
        return self.read("links", Link, at)

    def requests(self, at: int | None = None) -> dict[str, Request]:
        """Requests by their ids, in the order of their files."""
        rounds = self.rounds if at is None else [self.rounds[at]]
        rows = (row for one in rounds for path in one.requests for row in tables.read(path, Request))
        return {row.request_id: row for row in rows}

    def responses(self, at: int = -1) -> list[Response]:
        """What a round was answered."""
        return [row for path in self.rounds[at].responses for row in tables.read(path, Response)]

    def contexts(self, at: int | None = None) -> dict[str, str]:
        """The texts of contexts by their ids."""
        return {row.context_id: row.text for row in self.read("contexts", Context, at)}

    def refused(self, at: int | None = None) -> list[tuple[str, str]]:
        """What could not be asked, and why."""
        return [(row.thing, row.reason) for row in self.read("refused", NotAsked, at)]

    def own(self, table: str) -> list[Any]:
        """Rows of one of the suite's own tables of what was asked."""
        return self.read(table, self.suite.tables("asked")[table])

    def settings(self) -> dict[str, Any]:
        """The settings as the suite's own values, by the names that items know them by."""
        return {row.setting: self.suite.setting(**json.loads(row.fields)) for row in self.read("settings", Setting)}

    def questions(self, at: int = -1) -> list[Question]:
        """The requests of a round, as a model meets them."""
        items, settings, contexts = self.items(), self.settings(), self.contexts(at)
        serves: dict[str, list[Served]] = {}
        for link in self.links(at):
            item = items[link.item]
            serves.setdefault(link.request_id, []).append(Served(item, settings[item.setting], link))
        return [
            Question(request, contexts.get(request.context_id or "", ""), tuple(serves[name]))
            for name, request in self.requests(at).items()
        ]

    # What becomes of it

    def judge(self) -> dict[str, pl.DataFrame]:
        """The outcomes, under that name, and the suite's own tables of what was judged."""
        suite = self.suite
        assert isinstance(suite, Suite)
        row_of = {"outcomes": Outcome, **suite.tables("judged")}
        found: dict[str, list[pl.DataFrame]] = {name: [frame_of(row, ())] for name, row in row_of.items()}
        more = {"reading": pl.lit(""), "prediction": pl.lit(None, pl.String)}
        for one in suite.judge(self.answers, self.data, self.options):
            if one.outcomes.height:
                lacking = {name: value for name, value in more.items() if name not in one.outcomes.columns}
                found["outcomes"].append(one.outcomes.with_columns(**lacking).select(columns(Outcome)))
            for name, rows in one.own.items():
                found[name].append(rows)
        for name, parts in found.items():
            with tables.writing(self._folder / "judged" / f"{name}.parquet", row_of[name]) as writer:
                for part in parts:
                    writer.add(part.to_arrow())
        judged = {name: read_frame(self._folder / "judged" / f"{name}.parquet", row) for name, row in row_of.items()}
        readings = suite.readings(self.options)
        items, read = judged["outcomes"]["item"].to_list(), judged["outcomes"]["reading"].to_list()
        assert items == np.repeat(np.arange(self.answers.count), len(readings)).tolist(), "not judged once, in order"
        assert read == [*readings] * self.answers.count
        return judged

    def outcomes(self) -> list[Outcome]:
        """The outcomes, an item after the other."""
        return [Outcome(*row) for row in self.judge()["outcomes"].rows()]

    def join(self, found: Mapping[str, pl.DataFrame]) -> Judged:
        """The items with what became of them, by the tables of `judge`."""
        assert isinstance(self.suite, Suite)
        return join(self.suite, self.options, self.answers, self.data, found["outcomes"], found)

    def judged(self) -> Judged:
        """What became of the items."""
        return self.join(self.judge())

    def measures(self) -> list[Measure]:
        """The numbers, each held against the items that it says it counts."""
        assert isinstance(self.suite, Suite)
        found = self.judge()
        own = {**found, **{name: self.answers.own(name) for name in self.suite.tables("asked")}}
        judged = self.join(found)
        rows = self.suite.measure(judged, own, self.options)
        check_numbers(judged, rows)
        return rows

    def shown(self, measures: Sequence[Measure] | None = None) -> Shown:
        """What the suite's chapter is made of."""
        return Shown(
            dataset="d",
            choices=4,
            models=[Entrant(self.model, self.model)],
            relations={row.relation_id: row.label for row in self.data.rows("relations", Relation)},
            measures=self.measures() if measures is None else measures,
            refused=self.read("refused", NotAsked),
            own={name: self.answers.own(name) for name in self.suite.tables("asked")},
        )


def number(rows: Iterable[Measure], metric: str, **where: Any) -> Measure:
    """The one number of a metric that was made by exactly these conditions."""
    every = [row for row in rows if row.metric == metric]
    found = [row for row in every if from_text(row.where) == where]
    assert len(found) == 1, f"{len(found)} of {metric} {as_text(where)}; there are {[row.where for row in every]}"
    return found[0]


def check_numbers(judged: Judged, rows: Sequence[Measure]) -> None:
    """Hold numbers against the items that they say they count: how many, of which outcome, and what they come to.

    The items are found as the page's script finds them, and the value is computed anew, both in plain Python.
    """
    assert not judged.conditions
    column = {name: judged.frame[name].to_list() for name in judged.frame.columns}
    keys = [(row.metric, row.where, row.other) for row in rows]
    assert len(set(keys)) == len(keys), "a number stands twice"
    items = [dict(zip(column, own, strict=True)) for own in zip(*column.values(), strict=True)]
    meeting: dict[tuple[str, str], set[int]] = {}  # the places of what meets one condition, as many numbers share it
    counted: dict[str, list[dict[str, Any]]] = {}  # what a number's conditions together select, of which there are many
    for row in rows:
        label = f"{row.metric} {row.where}"
        if row.where not in counted:
            places = set(range(len(items)))
            for name, condition in json.loads(row.where).items():
                key = name, json.dumps(condition)
                if key not in meeting:
                    meeting[key] = {at for at, value in enumerate(column[name]) if meets(value, condition)}
                places &= meeting[key]
            counted[row.where] = [items[at] for at in sorted(places)]
            assert as_text(from_text(row.where)) == row.where
            again = judged.where(from_text(row.where)).frame["item"].to_list()
            assert again == [item["item"] for item in counted[row.where]], label
        found = counted[row.where]
        counts = [sum(item["outcome"] == kind for item in found) for kind in OUTCOMES]
        assert [row.n, *(getattr(row, f"n_{kind}") for kind in OUTCOMES)] == [len(found), *counts], label
        if row.formula in FORMULAS:
            expected = FORMULAS[row.formula](found, *row.of)
            assert row.value == (None if expected is None else pytest.approx(expected, rel=0, abs=1e-12)), label
        if None not in (row.value, row.low, row.high):
            assert row.low <= row.value <= row.high, label


def meets(found: Any, condition: Any) -> bool:
    """Whether a value meets a condition as it is written with a number (`report/templates/items.js` does the same)."""
    if isinstance(condition, list):
        return any(meets(found, one) for one in condition)
    if isinstance(condition, dict) and "not" in condition:
        return found is not None and (condition["not"] is None or found != condition["not"])
    if isinstance(condition, dict):
        least, below = condition.get("from"), condition.get("below")
        return found is not None and (least is None or found >= least) and (below is None or found < below)
    return type(found) is type(condition) and found == condition


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return sum(listed) / len(listed) if listed else None


def _grouped(rows: Sequence[Mapping[str, Any]], by: str) -> list[list[Mapping[str, Any]]]:
    found: dict[Any, list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(row[by], []).append(row)
    return list(found.values())


def _share(rows: Sequence[Mapping[str, Any]], of: str) -> float | None:
    return _mean(float(row[of]) for row in rows if row[of] is not None)


def _macro(rows: Sequence[Mapping[str, Any]], of: str, mean: Callable[..., float | None] = _share) -> float | None:
    return _mean(one for own in _grouped(rows, "relation") if (one := mean(own, of)) is not None)


def _of_facts(rows: Sequence[Mapping[str, Any]], of: str) -> float | None:
    return _mean(one for own in _grouped(rows, "fact") if (one := _share(own, of)) is not None)


def _ratio(rows: Sequence[Mapping[str, Any]], above: str, below: str) -> float | None:
    known = [(row[above], row[below]) for row in rows if row[above] is not None and row[below]]
    return sum(one for one, _ in known) / sum(one for _, one in known) if known else None


FORMULAS: dict[str, Callable[..., float | None]] = {
    "mean": _share,
    "macro": _macro,
    "macro_of_facts": lambda rows, of: _macro(rows, of, _of_facts),
    "ratio": _ratio,
}
