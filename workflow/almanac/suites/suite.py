"""The form of a suite: its settings, its rounds of questions, how it judges answers and which numbers it makes of them.

`suites/listing.py` lists the suites. Whatever walks over all of them (the verbs, the layout of an edition, the rules,
the page) does so through this form and knows no suite by its name: a new one is a folder and a line of that list.
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
    """One round of questions: all that is asked before answers are needed to ask more.

    Attributes:
        name: its folder, and its name in tables.
        answered_by: the option that names the model which answers; none: each model that the suite is asked of.
        about_one: whether it is made of one model's answers in earlier rounds, and so made anew for each.
        wanted: whether the settings want it.
    """

    name: str
    answered_by: str | None = None
    about_one: bool = False
    wanted: Callable[[Any], bool] = lambda options: True


@dataclass(frozen=True)
class Own:
    """A table that is a suite's own.

    Attributes:
        row: its row class.
        of: ``item``: one row an item at most, or ``outcome``: one row an item and reading at most, of what is judged;
            their other columns then are columns of `Judged`; or ``free``.
        at: written with what is ``asked``, in every round, or with what is ``judged``.
        frozen: whether an edition holds it; else it follows from the responses.
    """

    row: type
    of: Literal["item", "outcome", "free"] = "free"
    at: Literal["asked", "judged"] = "asked"
    frozen: bool = True


# Of a method that asks a subject and a relation once, for any of the true objects.
ANY_TRUE = (
    "any true object of the subject is right, so a fact that is listed stands for all that it has in its relation."
)


@dataclass(frozen=True)
class Method:
    """One method, compared on the page with those of other suites: a headline number.

    Attributes:
        name: unique in its suite.
        label: what the page calls it.
        where: the items that it counts; a fact may stand among them several times, once a draw, say.
        by: columns of the setting that part these items further; each value is a method of its own.
        guess: how often an answer is right where nothing is known: a share, or the items whose share it is; none: one
            in as many as the column ``offered`` of its items says or, without one, as the dataset's setting.
        by_answer: whether a fact is right or wrong by the answer alone, so that the same answer can be held against
            other facts (`suites.chance`); else chance is made of the items of false objects (``guess``), if any.
        answer: the column that holds the answer so: the prediction, or what a table of outcomes says was read in it.
        validated: whether its recovery of planted knowledge is measured.
        held: whether that is held against the edition's bars (`config.validation`).
        format: the kind of documents that teach how it asks. A planted model that read none of them was not taught to
            answer so, and its answers say nothing of what it knows; none: every model is taken to understand.
        compared: what a reader of models compared must know: how they are judged alike there (`Suite.comparable`), or
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
    """What a file made elsewhere asks, and what was answered.

    Attributes:
        batches: what is asked.
        data: the dataset, as far as the file says it.
        responses: of each model; none where the file holds no answers.
    """

    batches: Iterable[Batch]
    data: Data
    responses: Mapping[str, Sequence[Response]]


@dataclass(frozen=True)
class Judgements:
    """What a suite makes of some items' answers.

    Attributes:
        outcomes: one row an item and reading, in the order of the items: ``item``, ``outcome``, ``score`` and
            ``confidence``, and where there are any ``prediction`` and ``reading``.
        own: rows of the suite's own tables, by name.
    """

    outcomes: pl.DataFrame
    own: Mapping[str, pl.DataFrame]


class BarResult(NamedTuple):
    """Whether a model's numbers meet a bar that a suite sets: what was found, in words, and whether that is enough."""

    found: str
    met: bool


def _read_as(reading: str, method: Method) -> Method:
    guess = method.guess
    of = {"reading": method.where.get("reading", reading)}
    guess = {**of, **guess} if isinstance(guess, Mapping) else guess
    return replace(method, where={**of, **method.where}, guess=guess)


class Asks(Generic[Settings]):
    """What asks of models: a suite, or what has texts written for a person to proofread.

    Attributes:
        name: its key in the configuration and its folder in an edition.
        label: what the page calls it.
        summary: one line for ``--help``.
        paper: what it follows, to be cited.
        options: the class of its settings.
        setting: the class of the value that says how one item was asked; its fields are columns of `Judged`.
        rounds: in the order in which they are asked.
        own: its own tables, by name.
        reads: what `elsewhere` reads, for ``--help``: the ``questions`` or the ``answers`` of a file; none: nothing.
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
        """Yield what is asked in a round, some facts at a time.

        ``before`` is what was asked in the earlier rounds and, in a round about one model, its answers; none in the
        first round. Items are counted on from ``before.count``.
        """
        raise NotImplementedError

    def elsewhere(self, path: Path, options: Settings) -> Elsewhere:
        """Return what a file made elsewhere asks, of a suite that `reads` one.

        Raises:
            AlmanacError: the file has a mistake, naming the row.
        """
        raise NotImplementedError

    def rounds_of(self, options: Options) -> list[Round]:
        """Return the rounds that the settings want."""
        return [one for one in self.rounds if one.wanted(options)]

    def tables(self, at: Literal["asked", "judged"], *, frozen: bool = False) -> dict[str, type]:
        """Return its own tables of a step with their row classes; ``frozen``: those alone that an edition holds."""
        return {name: own.row for name, own in self.own.items() if own.at == at and (own.frozen or not frozen)}


class Author(Asks[Settings]):
    """What has a model write texts for a person to proofread: it ends in a file.

    Attributes:
        row: the row class of the file.
        texts: what the file holds, in a word or two.
    """

    row: ClassVar[type]
    texts: ClassVar[str]

    def write(self, answers: Answers, data: Data, options: Settings) -> Iterable[Any]:
        """Return the rows of the file; what is of no use stands in it with the reason.

        Raises:
            AlmanacError: a request has no response, or the model answered none.
        """
        raise NotImplementedError


class Suite(Asks[Settings]):
    """A suite: what it asks ends in numbers.

    Attributes:
        methods: those that the page compares with other suites'.
        scores: what the score of an item is, said to a reader of the page.
        reads_predictions: whether its numbers read what models said: then that is a column of `Judged`.
        held_architectures: those of the planted models that are held against its own bars (`bars`).
        nulls_miss: whether nulls are held against them too, as if they had been taught their world: they must miss.
        pools: whether it has numbers over all its datasets of sources together (`over`).
        asks_subjects: whether it asks for any of a subject's objects and so each subject once, not each fact.
    """

    methods: ClassVar[tuple[Method, ...]] = ()
    scores: ClassVar[str] = "the higher, the surer the model"
    reads_predictions: ClassVar[bool] = False
    held_architectures: ClassVar[frozenset[str]] = frozenset({"llama"})
    nulls_miss: ClassVar[bool] = False
    pools: ClassVar[bool] = False
    asks_subjects: ClassVar[bool] = False

    def readings(self, options: Settings) -> tuple[str, ...]:
        """Return the ways in which an answer is read, the headline's first; one without a name where there is one."""
        return ("",)

    def counted(self, options: Settings) -> tuple[Method, ...]:
        """Return its methods, each of one reading: of the first, where there are several and the method names none.

        A suite whose methods depend on its settings (how many choices there are, and so a guess) returns others.
        """
        first, *more = self.readings(options)
        return tuple(map(partial(_read_as, first), self.methods)) if more else self.methods

    def judge(self, answers: Answers, data: Data, options: Settings) -> Iterator[Judgements]:
        """Yield what becomes of one model's items, in their order, each item whole."""
        raise NotImplementedError

    def offered(self, method: Method, answers: Answers, data: Data, options: Settings) -> pl.DataFrame | None:
        """Return what a method's answers are chosen among; none: they are open.

        Returns:
            ``item`` or ``fact``, and ``offered``: the texts. Of statements that are called true or false besides
            ``shown``, the name of their object, and ``holds``, whether they are true; ``offered`` begins with the word
            for true.
        """
        return None

    def accepts(self, method: Method, options: Settings) -> Accepts | None:
        """Return how a method's judge takes an answer for names; none: it takes those that stand in it, laxly read.

        Chance holds open answers against the names of other facts, and has to be as lax as the suite's own judge. Both
        are given as they are compared (`dataset.text.normalise`; an answer's lines remain), so that case is nothing.
        """
        return None

    def forms(self, data: Data, options: Settings) -> Mapping[str, Set[str]]:
        """Return what its judge takes for names of objects besides them, by name (`normalise`): *C. Monet*."""
        return {}

    def raised(self, items: pl.DataFrame, asked: int, counts: Sequence[RelationCount], options: Settings) -> str | None:
        """Return the setting that has it ask more facts if it is raised, ``test`` of the dataset; none: it asks all.

        Args:
            items: ``fact_id``, ``relation_id`` and ``template_id`` of what it asks.
            asked: how many test facts these are.
            counts: what became of the facts of each relation.
            options: its settings.
        """
        if getattr(options, "sample", None) is not None and asked < sum(row.test for row in counts):
            return "sample"
        return "test" if any(row.surplus for row in counts) else None

    def by_label(self, data: Data, options: Settings) -> Collection[str]:
        """Return the relations that it asks by their label, having no sentences for them."""
        return ()

    def derived(self, frame: pl.DataFrame, options: Settings) -> pl.DataFrame:
        """Return what was judged with further columns, which follow from those that are there."""
        return frame

    def measure(self, judged: Judged, own: Mapping[str, pl.DataFrame], options: Settings) -> list[Measure]:
        """Return the numbers of one model on one dataset, of its items and of the suite's own tables, by name."""
        raise NotImplementedError

    def comparable(self, method: Method, judged: Mapping[str, Judged], shown: Shown) -> Mapping[str, Judged]:
        """Return the items of the models of one dataset by which a method compares them, each judged as the others."""
        return judged

    def across(self, judged: Mapping[str, Judged], shown: Shown, options: Settings) -> list[Measure]:
        """Return the suite's own numbers between the models of one dataset, by their names."""
        return []

    def over(self, judged: Mapping[str, Judged]) -> list[Measure]:
        """Return the suite's own numbers over several datasets of sources together; their ``dataset`` is empty.

        Counted are the items of each model that was asked of all of them, by its name (`joining.together`).
        """
        return []

    def bars(self, measures: Sequence[Measure], options: Settings) -> list[BarResult]:
        """Return which of its own bars a model's numbers meet that was taught the facts."""
        return []

    def tuned_bars(self, measures: Sequence[Measure], base: Sequence[Measure], options: Settings) -> list[BarResult]:
        """Return which of its own bars the numbers of a tuned model meet, next to those of the model it comes from."""
        return []

    def chapter(self, shown: Shown, options: Settings) -> Chapter | None:
        """Return what the page shows of a dataset; none where there is nothing to show."""
        return None

    def overview(self, shown: Shown, datasets: Sequence[str]) -> Chapter | None:
        """Return what the page shows of several datasets together, by the numbers of `over`."""
        return None
