"""What a suite is to the rest of the house: its settings, how it asks of a dataset, how it measures what was answered.

`methods.py` lists the suites. Whatever walks over all of them (the verbs, the layout of an edition, the rules) does so
through this form, so that a new suite is a folder and a line of that list.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from almanac.options import Options
from almanac.rows import (
    Choices,
    Entity,
    Evidence,
    Exposure,
    Fact,
    Item,
    Link,
    Measure,
    Outcome,
    Relation,
    Request,
    Response,
    Template,
)
from almanac.suites.asking import Asked

Settings = TypeVar("Settings", bound=Options)
Reading = Mapping[str, tuple[str, float | None]]  # by item an outcome and a score
Rows = Iterable[tuple[int, Mapping[str, Any] | None]]  # of a table from elsewhere; none where cells do not fit


@dataclass(frozen=True)
class Data:
    """The tables of a dataset that suites ask of and measure by."""

    entities: Sequence[Entity] = ()
    relations: Sequence[Relation] = ()
    facts: Sequence[Fact] = ()
    choices: Sequence[Choices] = ()
    templates: Sequence[Template] = ()
    evidence: Sequence[Evidence] = ()

    @classmethod
    def read(cls, read: Callable[[str, type], Sequence[Any]]) -> "Data":
        """Read the tables of a dataset by their names and row classes."""
        return cls(**{name: read(name, row) for name, row in TABLES.items()})


TABLES: dict[str, type] = {
    "entities": Entity,
    "relations": Relation,
    "facts": Fact,
    "choices": Choices,
    "templates": Template,
    "evidence": Evidence,
}


@dataclass(frozen=True)
class Answered:
    """What one suite asked of one dataset, in all rounds so far, with one model's responses.

    Attributes:
        model: the model's name in the tables.
        dataset: the dataset's name in the tables.
        data: its tables.
        items: what was asked.
        links: which request serves which item.
        requests: the requests; one may serve several items, and stand here once a round.
        responses: the model's, one a request and round.
        beside: the suite's own tables beside the requests (`Method.asked_beside`), by name.
        exposures: how often the model was taught each fact; none where that is not known.
        null: where the edition has the model's null, which was taught permuted objects, the suite's own tables beside
            its outcomes (`Method.measured_beside`), by name.
    """

    model: str
    dataset: str
    data: Data
    items: Sequence[Item]
    links: Sequence[Link]
    requests: Sequence[Request]
    responses: Sequence[Response]
    beside: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    exposures: Sequence[Exposure] | None = None
    null: Mapping[str, Sequence[Any]] | None = None

    @classmethod
    def read(
        cls,
        read: Callable[[Path, type], Iterable[Any]],
        folders: Sequence[Path],
        requests: Iterable[Path],
        responses: Iterable[Path],
        beside: Mapping[str, type],
        **known: Any,
    ) -> "Answered":
        """Read what was asked and answered, several rounds as one.

        Args:
            read: reads a table by its path and row class.
            folders: of what was asked, one a round.
            requests: the request files of all rounds.
            responses: the model's response files of all rounds.
            beside: the suite's own tables beside the requests, with their row classes.
            **known: the other attributes.
        """

        def joined(name: str, row: type) -> list[Any]:
            return [one for folder in folders for one in read(folder / f"{name}.parquet", row)]

        return cls(
            items=joined("items", Item),
            links=joined("links", Link),
            requests=[one for path in requests for one in read(path, Request)],
            responses=[one for path in responses for one in read(path, Response)],
            beside={name: joined(name, row) for name, row in beside.items()},
            **known,
        )


@dataclass(frozen=True)
class Measured:
    """What a suite makes of a model's answers: outcomes, numbers, and its own tables beside them, by name."""

    outcomes: list[Outcome]
    measures: list[Measure]
    beside: Mapping[str, Sequence[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Behind:
    """Which items a number counts, of those of its relation and dose.

    Attributes:
        experiments: of which experiments.
        settings: of which settings; none: of all.
        roles: in which roles their request serves them; none: in any.
        places: the first ``index`` of their links, and the one behind the last; none: all.
        marks: what they all bear (`Method.marks`); none: all.
        reading: which other judgement the number is of (`Method.readings`); none: that of the outcomes.
        both: the settings in which a question must have a score, so that its items count in any; none: no matter.
    """

    experiments: tuple[str, ...]
    settings: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    places: tuple[int, int] | None = None
    marks: tuple[str, ...] = ()
    reading: str | None = None
    both: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """Whether a model's numbers meet a bar that a suite sets: what was found, in words, and whether that is enough."""

    found: str
    met: bool


def own_items(row: Measure, options: Options, settings: Collection[str]) -> Behind:
    """Return the items of a number's own experiment and setting."""
    return Behind((row.experiment,), (row.setting,))


def _every(item: Item) -> bool:
    """Count every item."""
    return True


def nothing(item: Item) -> bool:
    """Validate nothing, as befits a study: each of its settings would be a method of its own."""
    return False


def _no_bars(measures: Sequence[Measure], options: Options) -> list[Verdict]:
    """Set no bar: what is recovered of planted knowledge is held against those of the edition."""
    return []


def _one_in_choices(items: Sequence[Item], outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Leave chance at one in as many as the dataset has choices."""
    return {}


@dataclass(frozen=True)
class Method(Generic[Settings]):
    """One suite.

    Attributes:
        name: its key in the configuration and its folder in an edition.
        summary: one line for ``--help``.
        options: the class of its settings.
        ask: from a dataset's tables and the settings to requests; the last argument is called after each step.
        measure: from a model's answers and the settings to outcomes and numbers.
        ask_again: where the settings want a second round (`SuiteOptions.asks_again`), from a model's answers in the
            first to what is asked of this model alone; its items are others than those of the first.
        asked_beside: its own tables beside the requests, by name, with their row classes; in a second round too.
        measured_beside: its own tables beside the outcomes.
        workings: further tables beside the outcomes, which follow from the responses and are not frozen.
        recovers: which items count when its recovery of planted knowledge is validated.
        chances: the rate of an experiment at which nothing is known, where that is not one in as many as the dataset
            has choices.
        bars: of one model's numbers, which of the suite's own bars they meet; for models that were taught the facts.
        behind: which items a number counts; the last argument are the settings of all items of the suite.
        marks: by item what its numbers count it by beside experiment, setting and relation, from the items and its own
            tables beside the requests.
        readings: other judgements than the outcomes, by name and item, each an outcome and a score, from its own tables
            beside the outcomes.
        given: measures answers from elsewhere: of a file, its columns and its rows with their numbers, a dataset's name
            and the settings.
    """

    name: str
    summary: str
    options: type[Settings]
    ask: Callable[[Data, Settings, Callable[[], object]], Asked]
    measure: Callable[[Answered, Settings], Measured]
    ask_again: Callable[[Answered, Settings, Callable[[], object]], Asked] | None = None
    asked_beside: Mapping[str, type] = field(default_factory=dict)
    measured_beside: Mapping[str, type] = field(default_factory=dict)
    workings: Mapping[str, type] = field(default_factory=dict)
    recovers: Callable[[Item], bool] = _every
    chances: Callable[[Sequence[Item], Sequence[Outcome]], Mapping[str, float]] = _one_in_choices
    bars: Callable[[Sequence[Measure], Settings], list[Verdict]] = _no_bars
    behind: Callable[[Measure, Settings, Collection[str]], Behind] = own_items
    marks: Callable[[Sequence[Item], Mapping[str, Sequence[Any]]], Mapping[str, Sequence[str]]] | None = None
    readings: Callable[[Mapping[str, Sequence[Any]], Settings], Mapping[str, Reading]] | None = None
    given: Callable[[Path, Sequence[str], Rows, str, Settings], Measured] | None = None

    @property
    def beside_outcomes(self) -> dict[str, type]:
        """Every table of its own beside the outcomes, frozen or not."""
        return {**self.measured_beside, **self.workings}
