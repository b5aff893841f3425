"""The probability of objects by their position in a long text, and by the pairs before them (Wu et al., section 3).

One sequence has 200 true pairs. In others, 40 of them are replaced by unknown pairs (an invented subject and an object
of the relation) or by incorrect ones (another object), either distributed over the sequence or contiguous. All
sequences of a draw have the same facts in the same order; distributed replacements are never adjacent. An item is
correct if the object in the text is more probable than everything else together (probability above one half).
"""

import itertools
import random
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import polars as pl

from almanac.dataset.invented import Names
from almanac.dataset.text import normalise
from almanac.rows import Fact, Measure, Request
from almanac.suites.answers import Answers
from almanac.suites.asked import Asked, Batch
from almanac.suites.data import Data
from almanac.suites.ic_lke import chapter as chapters
from almanac.suites.ic_lke.choices import PAPER, outcome
from almanac.suites.ic_lke.options import Arrangement, Kind, PositionOptions
from almanac.suites.judged import Judged, Not, conditions_of
from almanac.suites.suite import BarResult, Judgements, Own, Round, Suite
from almanac.tables import hash_order, seed_of

AS_IS, WHOLE = "as_is", "whole"  # experiment and arrangement of the sequence without replacements
REPLACED, FOLLOWING, REST = "replaced", "following", "rest"  # the classes of pairs
CLASSES = {"correct": (FOLLOWING, REST), REPLACED: (REPLACED,), FOLLOWING: (FOLLOWING,), REST: (REST,)}
IN_BIN = "probability_in_bin"


class PositionSetting(NamedTuple):
    """How the replaced pairs are arranged, and the number of the draw of facts and order."""

    arrangement: str
    draw: int

    def label(self) -> str:
        """Describe the setting to a reader."""
        return f"{self.arrangement}, draw {self.draw}"


@dataclass(frozen=True, slots=True)
class Position:
    """The position of an item in its sequence.

    Attributes:
        place: its position, from 0.
        pair: its class: ``replaced``, ``following`` (right after a replaced one) or ``rest``.
        part: the first position of its part of the sequence.
    """

    KEY: ClassVar = ("item",)
    item: int
    place: int
    pair: str
    part: int


class Positions(Suite[PositionOptions]):
    """Sequences of many pairs of one relation, in which the probability of every object is read."""

    name = "lke_positions"
    label = "Positions"
    summary = "how probable objects are by their position in a long text"
    paper = PAPER
    options = PositionOptions
    setting = PositionSetting
    chapter = staticmethod(chapters.positions)
    own: ClassVar[Mapping[str, Own]] = {"places": Own(Position, of="item")}

    def ask(self, at: Round, data: Data, options: PositionOptions, before: Answers | None) -> Iterator[Batch]:
        """Ask each sequence as a `spans` request with a span for each object; train and test facts are treated alike.

        An item is a pair of a sequence. A relation with fewer than ``pairs`` subjects is refused.

        Raises:
            AlmanacError: the dataset has no relation of that name.
        """
        asked = Asked({"places": Position})
        for relation_id in data.chosen(options.relations, f"{self.name}: relations"):
            relation = _Relation(asked, relation_id, data, options)
            usable = relation.one_per_subject()
            if len(usable) < options.pairs:
                asked.refuse(
                    f"relation {relation_id}",
                    f"it has {len(usable)} subjects with a fact and a wrong object, and {options.pairs} pairs are "
                    "asked for; lower `pairs`",
                )
            else:
                for draw in range(options.draws):
                    order = hash_order(usable, options.seed, "positions", relation_id, draw)[: options.pairs]
                    relation.ask([usable[key] for key in order], draw)
            yield asked.take()

    def judge(self, answers: Answers, data: Data, options: PositionOptions) -> Iterator[Judgements]:
        """Judge every item: ``score`` is the log-probability (nats) of its object, ``confidence`` the probability."""
        value = pl.col("logprobs").list.get(pl.col("index"), null_on_oob=True)
        for part in answers.parts(("accepted", "status", "index", "logprobs")):
            found = part.links.with_columns(pl.when(pl.col("status") == "ok").then(value).alias("score"))
            correct = pl.col("score").exp() > 0.5
            judged = found.select(
                "item",
                pl.when(correct).then(pl.col("accepted").list.first()).alias("prediction"),
                outcome(correct),
                "score",
                pl.col("score").exp().alias("confidence"),
            )
            yield Judgements(judged, {})

    def measure(self, judged: Judged, own: Mapping[str, pl.DataFrame], options: PositionOptions) -> list[Measure]:
        """Compute every number of one model.

        Returns:
            By experiment (``as_is``, ``unknown``, ``incorrect``) and arrangement, all draws together: the mean
            probability of objects of true pairs (``probability_correct``) and by class (``probability_replaced``,
            ``_following``, ``_rest``), over all relations and in each; ``rest_at``, ``following_at`` and
            ``replaced_at`` each position, without interval, since items are few; and ``probability_in_bin`` of true
            pairs by part, for ``as_is`` also by dose.
        """
        by = ("experiment", "arrangement")
        rows: list[Measure] = []
        for name, pairs in CLASSES.items():
            items = judged if name == "correct" else judged.where(experiment=Not(AS_IS))
            for keys in (by, (*by, "relation")):
                rows += items.where(pair=pairs).measures(f"probability_{name}", "macro", "confidence", by=keys)
        correct = judged.where(pair=Not(REPLACED))
        for pair in (REST, FOLLOWING, REPLACED):
            by_place = judged.where(pair=pair).measures(f"{pair}_at", "macro", "confidence", by=(*by, "place"))
            rows += [replace(row, low=None, high=None) for row in by_place]
        rows += correct.measures(IN_BIN, "macro", "confidence", by=(*by, "part"))
        as_is = correct.where(experiment=AS_IS, dose=Not(None))
        return rows + as_is.measures(IN_BIN, "macro", "confidence", by=("arrangement", "part", "dose"))

    def bars(self, measures: Sequence[Measure], options: PositionOptions) -> list[BarResult]:
        """Compare planted facts in each part of the sequence without replacements, if ``judged`` is set.

        A part passes if the interval of the facts taught most lies above that of the facts never taught.
        """
        if not options.judged:
            return []
        by_dose: dict[tuple[int, int], Measure] = {}
        for row in measures:
            dose, part = (conditions_of(row).get(name) for name in ("dose", "part"))
            if row.metric == IN_BIN and isinstance(dose, int) and isinstance(part, int) and row.value is not None:
                by_dose[dose, part] = row
        top = max((dose for dose, _ in by_dose), default=0)
        return [_verdict(start, top, by_dose.get((top, start)), by_dose.get((0, start))) for start in options.starts]


def _verdict(start: int, dose: int, most: Measure | None, never: Measure | None) -> BarResult:
    if not dose or most is None or never is None:
        return BarResult(f"from position {start}: no answers of facts often taught, or of facts never taught", False)
    intervals = [f"{row.value:.3f} [{row.low:.3f}, {row.high:.3f}]" for row in (most, never)]
    separate = most.low is not None and never.high is not None and most.low > never.high
    return BarResult(f"from position {start}: taught {dose} times {intervals[0]}, never {intervals[1]}", separate)


class _Relation:
    """Asks the sequences of one relation."""

    def __init__(self, asked: Asked, relation_id: str, data: Data, options: PositionOptions) -> None:
        self._asked, self._relation_id, self._options = asked, relation_id, options
        self._facts = data.by_relation[relation_id]
        self._data, self._names = data, data.names
        self._known = {normalise(name) for key in self._names.entities for name in self._names.names(key)}
        self._objects = list(dict.fromkeys(fact.object_key for fact in self._facts))

    def one_per_subject(self) -> dict[str, Fact]:
        """Return the usable facts by id, only one for each subject; subjects with equal labels count as one."""
        in_splits = (fact for fact in self._facts if fact.split is not None)
        usable = {
            fact.fact_id: fact for fact in in_splits if any(True for _ in self._data.false_objects(fact, self._objects))
        }
        by_label: dict[str, Fact] = {}
        for fact_id in hash_order(usable, self._options.seed, "one a subject"):
            by_label.setdefault(self._names.normalised_label(usable[fact_id].subject_id), usable[fact_id])
        return {fact.fact_id: fact for fact in by_label.values()}

    def ask(self, facts: Sequence[Fact], draw: int) -> None:
        """Ask the sequences of one draw: without replacements, and for each kind of replacement in each arrangement."""
        shown = [(self._names.label(fact.subject_id), self._names.label(fact.object_key)) for fact in facts]
        self._add(facts, shown, frozenset(), AS_IS, PositionSetting(WHOLE, draw))
        for kind in self._options.kinds:
            for arrangement in self._options.arrangements:
                places = replaced_places(self._options, arrangement, self._relation_id, draw)
                pairs = [
                    self._replacement(fact, kind, draw) if place in places else pair
                    for place, (fact, pair) in enumerate(zip(facts, shown, strict=True))
                ]
                self._add(facts, pairs, places, kind, PositionSetting(arrangement, draw))

    def _replacement(self, fact: Fact, kind: Kind, draw: int) -> tuple[str, str]:
        """Return the pair that replaces a fact: ``unknown`` has an invented subject, both kinds have a false object."""
        order = hash_order(self._objects, self._options.seed, kind, fact.fact_id, draw)
        object_label = self._names.label(next(self._data.false_objects(fact, order)))
        if kind == "unknown":
            return invented_name(fact.fact_id, self._known, self._options.seed), object_label
        return self._names.label(fact.subject_id), object_label

    def _add(
        self,
        facts: Sequence[Fact],
        pairs: Sequence[tuple[str, str]],
        replaced: frozenset[int],
        kind: str,
        setting: PositionSetting,
    ) -> None:
        text, starts, ends = joined_text(pairs)
        request = Request("", "spans", None, text, span_starts=starts, span_ends=ends)
        options = self._options
        for place, (fact, (_, object_label)) in enumerate(zip(facts, pairs, strict=True)):
            item = self._asked.item(kind, setting, fact, (object_label,))
            part = options.starts[place * options.bins // options.pairs]
            self._asked.own["places"].append(Position(item, place, class_of(place, replaced), part))
            self._asked.link(item, "object", request, place)


def joined_text(pairs: Sequence[tuple[str, str]]) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
    """Return pairs as one text, with one space everywhere as in the paper, and each object's span with its space."""
    text, starts, ends = "", [], []
    for subject, object_label in pairs:
        text += f"{' ' if text else ''}{subject}"
        starts.append(len(text))
        text += f" {object_label}"
        ends.append(len(text))
    return text, tuple(starts), tuple(ends)


def class_of(place: int, replaced: frozenset[int]) -> str:
    """Return the class of a position: replaced, following (right after a replaced one), or rest."""
    if place in replaced:
        return REPLACED
    return FOLLOWING if place - 1 in replaced else REST


def replaced_places(options: PositionOptions, arrangement: Arrangement, relation_id: str, draw: int) -> frozenset[int]:
    """Return the replaced positions: contiguous, or one from each equal stretch, never its last (so not adjacent)."""
    if arrangement == "contiguous":
        return frozenset(range(options.first, options.first + options.replaced))
    edges = [number * options.pairs // options.replaced for number in range(options.replaced + 1)]
    rng = random.Random(seed_of(options.seed, "replaced", relation_id, draw))
    return frozenset(rng.randrange(start, stop - 1) for start, stop in itertools.pairwise(edges))


def invented_name(fact_id: str, known: Container[str], seed: int) -> str:
    """Return an invented name for a fact's subject that is not in ``known`` (normalised names of the dataset)."""
    generator = Names(seed_of(seed, "unknown", fact_id))
    names = (generator.name("unknown", index, "two_words") for index in itertools.count())
    return next(name for name in names if normalise(name) not in known)
