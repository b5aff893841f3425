"""The base class of suites: their settings, rounds of questions, judging of answers and metrics.

`suites/listing.py` lists the suites. All code that loops over them (the verbs, the layout of an edition, the rules, the
page) uses this class only and knows no suite by its name: a new suite is a folder and a line of that list.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

import polars as pl

from almanac.options import Options
from almanac.rows import Measure, RelationCount, Response
from almanac.suites.answers import Answers
from almanac.suites.asked import Batch
from almanac.suites.chapter import Chapter, Shown
from almanac.suites.data import Data
from almanac.suites.judged import Condition, Judged
from almanac.suites.truths import Accepts

Settings = TypeVar("Settings", bound=Options)


@dataclass(frozen=True)
class Round:
    """One round of questions: those that can be asked before answers are needed to ask more.

    Attributes:
        name: its folder, and its name in tables.
        answered_by: the option that names the model which answers; None: each model that the suite evaluates.
        about_one: whether the questions depend on a model's answers in earlier rounds, and so differ between models.
        wanted: whether these settings need the round.
    """

    name: str
    answered_by: str | None = None
    about_one: bool = False
    wanted: Callable[[Any], bool] = lambda options: True


@dataclass(frozen=True)
class Own:
    """A table that only this suite has.

    Attributes:
        row: its row class.
        of: what a row is about: ``item``, at most one row for each; ``outcome``, at most one for each judged item and
            reading; or ``free``, anything. The other columns of the first two become columns of `Judged`.
        at: when it is written: in every round with what is ``asked``, or with what is ``judged``.
        frozen: whether an edition stores it; if not, it can be computed from the responses.
    """

    row: type
    of: Literal["item", "outcome", "free"] = "free"
    at: Literal["asked", "judged"] = "asked"
    frozen: bool = True


# `Method.compared` of a method that asks once for a subject and relation, and accepts any true object.
ANY_TRUE = (
    "any true object of the subject is right, so a fact that is listed stands for all that it has in its relation."
)


@dataclass(frozen=True)
class Method:
    """One method, with a headline number that the page compares with those of other methods.

    Attributes:
        name: unique in its suite.
        label: what the page calls it.
        where: the items that it counts; there may be several of a fact, such as one for each draw.
        by: columns of the setting that split these items further; each value makes a method of its own.
        guess: how often an answer is right where nothing is known: a share, or conditions on the items whose share of
            hits it is; None: 1/k of k choices, by the items' column ``offered`` or else by the dataset's setting.
        by_answer: whether the answer alone makes a fact right or wrong, so that it can be compared with other facts
            (`suites.chance`). If not, chance is computed from the items with false objects (``guess``), if any.
        answer: the column with the answer to compare: the prediction, or a column of the suite's table of outcomes.
        validated: whether its recovery of planted knowledge is measured.
        held: whether that recovery must meet the edition's bars (`config.validation`).
        format: the kind of documents that teach the form of its questions. The answers of a planted model that read
            none of them say nothing about what it knows. None: every model is assumed to understand the questions.
        compared: a note for readers of the comparison of models: how models are judged alike (`Suite.comparable`), or
            what a fact stands for (`ANY_TRUE`).
    """

    name: str
    label: str
    where: Mapping[str, Condition]
    by: tuple[str, ...] = ()
    guess: float | Mapping[str, Condition] | None = None
    by_answer: bool = True
    answer: str = "prediction"
    validated: bool = True
    held: bool = False
    format: str | None = None
    compared: str = ""


@dataclass(frozen=True)
class Elsewhere:
    """The questions, and perhaps answers, of a file that another program made.

    Attributes:
        batches: the questions.
        data: the dataset, as far as the file contains it.
        responses: by model; empty if the file has no answers.
    """

    batches: Iterable[Batch]
    data: Data
    responses: Mapping[str, Sequence[Response]]


@dataclass(frozen=True)
class Judgements:
    """A suite's judgements of the answers to some items.

    Attributes:
        outcomes: one row for each item and reading, in the order of the items: ``item``, ``outcome``, ``score``,
            ``confidence`` and, if there are any, ``prediction`` and ``reading``.
        own: rows of the suite's own tables, by name.
    """

    outcomes: pl.DataFrame
    own: Mapping[str, pl.DataFrame]


class BarResult(NamedTuple):
    """Whether a model's numbers meet a bar that a suite sets: a sentence with the numbers, and the verdict."""

    found: str
    met: bool


def _read_as(reading: str, method: Method) -> Method:
    guess = method.guess
    of = {"reading": method.where.get("reading", reading)}
    guess = {**of, **guess} if isinstance(guess, Mapping) else guess
    return replace(method, where={**of, **method.where}, guess=guess)


class Asks(Generic[Settings]):
    """Base class of what asks models: a suite, or an author, which has models write texts for a person to proofread.

    Attributes:
        name: its key in the configuration and its folder in an edition.
        label: what the page calls it.
        summary: one line for ``--help``.
        paper: the paper to cite.
        options: the class of its settings.
        setting: the class that says how one item was asked; its fields are columns of `Judged`.
        rounds: in the order in which they are asked.
        own: the tables that only this suite has, by name.
        reads: what `elsewhere` reads, for ``--help``: the ``questions`` or the ``answers`` of a file; None: nothing.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str] = ""
    options: type[Settings]
    setting: ClassVar[type[Any]]
    rounds: ClassVar[tuple[Round, ...]] = (Round("asked"),)
    own: ClassVar[Mapping[str, Own]] = {}
    reads: ClassVar[Literal["questions", "answers"] | None] = None

    def ask(self, at: Round, data: Data, options: Settings, before: Answers | None) -> Iterator[Batch]:
        """Yield the questions of a round, some facts at a time.

        ``before`` has the questions of earlier rounds and, in a round about one model, its answers; None in the first
        round. The first item of a later round has the number ``before.count``.
        """
        raise NotImplementedError

    def elsewhere(self, path: Path, options: Settings) -> Elsewhere:
        """Read a file that another program made, if the suite `reads` any.

        Raises:
            AlmanacError: the file has a mistake; the message names the row.
        """
        raise NotImplementedError

    def rounds_of(self, options: Options) -> list[Round]:
        """Return the rounds that these settings need."""
        return [one for one in self.rounds if one.wanted(options)]

    def tables(self, at: Literal["asked", "judged"], *, frozen: bool = False) -> dict[str, type]:
        """Return the row classes of its own tables of a step; ``frozen``: only of those that an edition stores."""
        return {name: own.row for name, own in self.own.items() if own.at == at and (own.frozen or not frozen)}


class Author(Asks[Settings]):
    """Has a model write texts for a person to proofread; the result is a file.

    Attributes:
        row: the row class of the file.
        texts: the content of the file, in a word or two.
    """

    row: ClassVar[type]
    texts: ClassVar[str]

    def write(self, answers: Answers, data: Data, options: Settings) -> Iterable[Any]:
        """Return the rows of the file; useless texts are kept, with the reason.

        Raises:
            AlmanacError: a request has no response, or the model answered no request.
        """
        raise NotImplementedError


class Suite(Asks[Settings]):
    """A suite; the result is a table of metrics.

    Attributes:
        methods: those that the page compares with other suites'.
        scores: the definition of an item's score, for readers of the page.
        reads_predictions: whether its metrics use predictions: then `Judged` has them as a column.
        held_architectures: the architectures of planted models that must meet its own `bars`.
        nulls_miss: whether nulls are tested on these bars too, as if they had been taught their world: they must fail.
        pools: whether it has metrics over all its datasets of sources together (`over`).
        asks_subjects: whether it asks each subject once, for any of its objects, rather than each fact.
    """

    methods: ClassVar[tuple[Method, ...]] = ()
    scores: ClassVar[str] = "the higher, the surer the model"
    reads_predictions: ClassVar[bool] = False
    held_architectures: ClassVar[frozenset[str]] = frozenset({"llama"})
    nulls_miss: ClassVar[bool] = False
    pools: ClassVar[bool] = False
    asks_subjects: ClassVar[bool] = False

    def readings(self, options: Settings) -> tuple[str, ...]:
        """Return the names of the ways in which an answer is read, the headline's first; one empty name if only one."""
        return ("",)

    def counted(self, options: Settings) -> tuple[Method, ...]:
        """Return its methods, each with one reading: the first, if there are several and the method names none.

        Suites whose methods depend on settings override this (the number of choices changes the guess, for instance).
        """
        first, *more = self.readings(options)
        return tuple(map(partial(_read_as, first), self.methods)) if more else self.methods

    def judge(self, answers: Answers, data: Data, options: Settings) -> Iterator[Judgements]:
        """Yield judgements of one model's items, in their order; no item is split between two yields."""
        raise NotImplementedError

    def offered(self, method: Method, answers: Answers, data: Data, options: Settings) -> pl.DataFrame | None:
        """Return the choices that a method offers; None: answers are open.

        Returns:
            ``item`` or ``fact``, and ``offered``: the texts. For statements to call true or false also ``shown``, the
            name of the statement's object, and ``holds``, whether it is true; ``offered`` begins with the word for
            true.
        """
        return None

    def accepts(self, method: Method, options: Settings) -> Accepts | None:
        """Return the matcher of a method's judge: (answer, names) -> matching names. None: those in the answer, laxly.

        Chance compares open answers with the names of other facts, and must be as lax as the suite's own judge. Answer
        and names come normalised (`dataset.text.normalise`, an answer's line breaks kept), so case does not matter.
        """
        return None

    def forms(self, data: Data, options: Settings) -> Mapping[str, Set[str]]:
        """Return texts that its judge accepts for a name, by normalised name: *C. Monet* for *claude monet*."""
        return {}

    def raised(self, items: pl.DataFrame, asked: int, counts: Sequence[RelationCount], options: Settings) -> str | None:
        """Return the setting to raise so that it asks more facts (``test`` is the dataset's); None: it asks all.

        Args:
            items: ``fact_id``, ``relation_id`` and ``template_id`` of its items.
            asked: the number of test facts among them.
            counts: what became of the facts of each relation.
            options: its settings.
        """
        if getattr(options, "sample", None) is not None and asked < sum(row.test for row in counts):
            return "sample"
        return "test" if any(row.surplus for row in counts) else None

    def by_label(self, data: Data, options: Settings) -> Collection[str]:
        """Return the relations that it has no sentences for and asks by their label."""
        return ()

    def derived(self, frame: pl.DataFrame, options: Settings) -> pl.DataFrame:
        """Return the judged items with further columns, computed from those that they have."""
        return frame

    def measure(self, judged: Judged, own: Mapping[str, pl.DataFrame], options: Settings) -> list[Measure]:
        """Return the metrics of one model on one dataset, from its items and the suite's own tables (by name)."""
        raise NotImplementedError

    def comparable(self, method: Method, judged: Mapping[str, Judged], shown: Shown) -> Mapping[str, Judged]:
        """Return the items by which a method compares models on one dataset, judged in the same way for each."""
        return judged

    def across(self, judged: Mapping[str, Judged], shown: Shown, options: Settings) -> list[Measure]:
        """Return the suite's own metrics between models on one dataset; ``judged`` is by model."""
        return []

    def over(self, judged: Mapping[str, Judged]) -> list[Measure]:
        """Return the suite's own metrics over several datasets of sources together; their ``dataset`` is empty.

        ``judged`` has the items of each model that was asked of all these datasets (`joining.concatenated`).
        """
        return []

    def bars(self, measures: Sequence[Measure], options: Settings) -> list[BarResult]:
        """Return which of its own bars the numbers of a model that was taught the facts meet."""
        return []

    def tuned_bars(self, measures: Sequence[Measure], base: Sequence[Measure], options: Settings) -> list[BarResult]:
        """Return which of its own bars a tuned model meets, from its numbers and those of its base model."""
        return []

    def chapter(self, shown: Shown, options: Settings) -> Chapter | None:
        """Return the page's chapter on one dataset; None if there is nothing to show."""
        return None

    def overview(self, shown: Shown, datasets: Sequence[str]) -> Chapter | None:
        """Return the page's chapter on several datasets together, from the metrics of `over`."""
        return None
