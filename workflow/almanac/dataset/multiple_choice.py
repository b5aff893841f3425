"""Builds T-REx-MC from any fact tables: the filter, wrong choices and split of Wu et al. (section 4, appendix A).

Every draw takes the first candidates in an order by hash of their identity and the seed. Facts that are added to the
table do not change the order of the others, so that most facts keep their split and most of their choices. Facts are
held as columns and processed one relation at a time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from almanac.dataset.names import in_name
from almanac.dataset.options import DatasetOptions
from almanac.dataset.text import normalise
from almanac.dataset.wrong_choices import Integers, Objects, WrongChoices
from almanac.frames import frame_of
from almanac.rows import Choices, Entity, Fact, Refused, Relation, RelationCount
from almanac.sources.drawing import hashes
from almanac.tables import from_arrow

REFUSABLE = 0.1  # with `fewer_choices`: share of a relation's facts that may be refused for too few wrong choices
SIDES = pl.Series([None, "train", "test"])
REFUSED = pl.Schema({"relation_id": pl.String(), "fact_id": pl.String(), "reason": pl.String()})
CHOICES = pl.Schema({"fact_id": pl.String(), "distractors": pl.List(pl.String()), "labels": pl.List(pl.String())})


@dataclass(frozen=True)
class Dataset:
    """A multiple-choice dataset; ``facts`` are all facts of the qualifying relations, the drawn ones with a split."""

    relations: list[Relation]
    facts: list[Fact]
    choices: list[Choices]
    refused: list[Refused]
    counts: list[RelationCount]


@dataclass(frozen=True)
class RelationFrames:
    """The dataset's part of one relation: frames of `Fact`, `Choices` and `Refused`, sorted by fact.

    In a qualifying relation each fact is train, test, refused with a reason, or surplus (beyond the requested counts).
    A relation that does not qualify is refused as a whole and has no facts.
    """

    relation: Relation
    count: RelationCount
    facts: pl.DataFrame
    choices: pl.DataFrame
    refused: pl.DataFrame


def build(
    relations: Sequence[Relation], facts: Sequence[Fact], entities: Sequence[Entity], options: DatasetOptions
) -> Dataset:
    """Build a dataset from facts that are held as rows; see `Building`. Each returned list is sorted by its key."""
    ordered = frame_of(Fact, facts).sort("relation_id", "fact_id")
    out = Dataset([], [], [], [], [])
    for part in Building(relations, ordered, frame_of(Entity, entities), options).parts():
        out.relations.extend([part.relation] if part.count.qualifies else [])
        out.facts.extend(from_arrow(Fact, part.facts.to_arrow()))
        out.choices.extend(from_arrow(Choices, part.choices.to_arrow()))
        out.refused.extend(from_arrow(Refused, part.refused.to_arrow()))
        out.counts.append(part.count)
    return out


class Building:
    """Builds a dataset: filters relations, refuses facts with too few wrong choices, splits, and draws the choices.

    Attributes:
        qualifying: the relations with enough facts and objects, sorted.
    """

    def __init__(
        self, relations: Sequence[Relation], facts: pl.DataFrame, entities: pl.DataFrame, options: DatasetOptions
    ) -> None:
        """Number the objects and count those of each relation.

        Args:
            relations: all relations of the facts.
            facts: rows of `Fact`, grouped by relation and sorted by ``fact_id`` within each. Where any fact of a
                relation has a ``split``, those splits are kept and none is drawn for the relation.
            entities: rows of `Entity`, one for every entity in the facts.
            options: the counts and the seed.

        Raises:
            ValueError: the facts are not grouped by relation.
        """
        self._relations = sorted(relations, key=lambda row: row.relation_id)
        self._facts, self._options = facts, options
        self._objects, self._numbers = Objects.of(facts, entities)
        self._names = labels_of(facts["subject_id"], entities)
        self._readings = readings(self._names)
        runs = facts["relation_id"].rle().struct.unnest()
        ends = np.cumsum(runs["len"].to_numpy(), dtype=np.int64).tolist()
        self._slices = dict(zip(runs["value"], map(slice, [0, *ends], ends), strict=True))
        if len(self._slices) < len(runs):
            raise ValueError("a relation's facts do not stand together; sort them by relation and fact_id")
        self._counts = {
            name: len(np.unique(self._objects.label_codes[self._numbers[rows]])) for name, rows in self._slices.items()
        }
        self.qualifying = [row for row in self._relations if self._qualifies(row.relation_id)]

    def _qualifies(self, relation_id: str) -> bool:
        rows = self._slices.get(relation_id, slice(0, 0))
        enough = rows.stop - rows.start >= self._options.min_facts
        return enough and self._counts.get(relation_id, 0) >= self._options.min_objects

    def parts(self) -> Iterator[RelationFrames]:
        """Yield the part of each relation, sorted by relation."""
        for relation in self._relations:
            rows = self._slices.get(relation.relation_id, slice(0, 0))
            counts = rows.stop - rows.start, self._counts.get(relation.relation_id, 0)
            if self._qualifies(relation.relation_id):
                yield self._part(relation, rows, counts[1])
            else:
                yield self._left_out(relation, *counts)

    def _left_out(self, relation: Relation, facts: int, objects: int) -> RelationFrames:
        least = f"{self._options.min_facts} and {self._options.min_objects}"
        reason = f"{facts} facts and {objects} objects; needed are {least}"
        count = RelationCount(relation.relation_id, relation.label, False, facts, objects, 0, 0, 0, 0, 0, 0)
        refused = pl.DataFrame([(relation.relation_id, None, reason)], REFUSED, orient="row")
        return RelationFrames(relation, count, self._facts.clear(), pl.DataFrame(schema=CHOICES), refused)

    def _part(self, relation: Relation, rows: slice, objects: int) -> RelationFrames:
        facts, numbers = self._facts[rows], self._numbers[rows]
        _, subjects = np.unique(self._readings[rows], return_inverse=True)
        options = self._options
        if options.fewer_choices:
            options = options.model_copy(update={"choices": min(options.choices, objects)})
        wrong = WrongChoices(self._objects, numbers, subjects, options)
        lacking = wrong.lacking()
        if options.fewer_choices and len(lacking) > (some := int(REFUSABLE * len(numbers))):
            options = options.model_copy(update={"choices": max(2, sorted(lacking.values())[some] + 1)})
            wrong = WrongChoices(self._objects, numbers, subjects, options)
            lacking = wrong.lacking()
        needed = f"wrong choices; needed are {options.choices - 1}"
        reasons = {fact: f"{found} {needed}" for fact, found in lacking.items()}
        reasons |= namesakes(facts, subjects, self._objects.label_codes[numbers])
        guessable = self._guessable(self._names[rows], numbers, subjects)
        if not options.guessable:
            reasons |= dict.fromkeys(np.flatnonzero(guessable).tolist(), "its objects stand in its subject's name")
        left_out = np.array(sorted(reasons), np.int64)
        usable = np.setdiff1d(np.arange(len(numbers)), left_out)
        drawn = split(facts[usable], subjects[usable], self._options)
        train, test = usable[drawn.train], np.sort(usable[drawn.test])
        side = np.zeros(len(numbers), np.uint32)
        side[train], side[test] = 1, 2
        identities = facts["fact_id"]
        asked = identities.gather(test)
        refused = {
            "fact_id": identities.gather(left_out),
            "reason": pl.Series([reasons[fact] for fact in left_out.tolist()], dtype=pl.String),
        }
        return RelationFrames(
            relation,
            RelationCount(
                relation_id=relation.relation_id,
                label=relation.label,
                qualifies=True,
                facts=len(numbers),
                objects=objects,
                refused=len(left_out),
                train=len(train),
                test=len(test),
                surplus=len(usable) - len(train) - len(test),
                shared_subjects=len(np.intersect1d(subjects[train], subjects[test])),
                guessable=int(guessable[test].sum()),
            ),
            facts.with_columns(split=SIDES.gather(side)),
            self._choices(
                asked, [wrong.draw(*one) for one in zip(test.tolist(), asked, strict=True)], options.choices - 1
            ),
            pl.DataFrame(refused).select(pl.lit(relation.relation_id).alias("relation_id"), pl.all()),
        )

    def _guessable(self, names: pl.Series, numbers: Integers, subjects: Integers) -> npt.NDArray[np.bool_]:
        """Return for each fact whether its subject's label contains the labels of all its objects, (facts,).

        Args:
            names: labels of the subjects, (facts,).
            numbers: numbers of the objects, (facts,).
            subjects: numbers of the subjects, equal for subjects with the same normalised label, (facts,).
        """
        labels = zip(names, self._objects.labels.gather(numbers), strict=True)
        every = np.ones(subjects.max(initial=-1) + 1, bool)
        np.logical_and.at(every, subjects, [in_name(*one) for one in labels])
        return every[subjects]

    def _choices(self, identities: pl.Series, drawn: Sequence[Integers], each: int) -> pl.DataFrame:
        """Return the rows of `Choices`: for each fact the keys and labels of its ``each`` drawn objects."""
        flat = np.concatenate([*drawn, np.empty(0, np.int64)])
        shape = (len(identities), each)
        keys, labels = (
            column.gather(flat).reshape(shape).arr.to_list() if len(flat) else pl.Series([], dtype=pl.List(pl.String))
            for column in (self._objects.keys, self._objects.labels)
        )
        return pl.DataFrame({"fact_id": identities, "distractors": keys, "labels": labels})


def labels_of(subjects: pl.Series, entities: pl.DataFrame) -> pl.Series:
    """Return the label of each fact's subject, (facts,), or its id where it is no entity.

    Args:
        subjects: ids of the subjects, (facts,).
        entities: rows of `Entity`.
    """
    named = subjects.alias("entity_id").to_frame()
    joined = named.join(entities.select("entity_id", "label"), "entity_id", how="left", maintain_order="left")
    return joined.select(pl.coalesce("label", "entity_id")).to_series()


def readings(labels: pl.Series) -> Integers:
    """Return a number for each subject's label, equal for equal normalised labels, (facts,)."""
    every = labels.unique()
    numbers = pl.Series(map(normalise, every), dtype=pl.String).rank("dense")
    return labels.replace_strict(every, numbers, return_dtype=pl.Int64).to_numpy()


def namesakes(facts: pl.DataFrame, subjects: Integers, objects: Integers) -> dict[int, str]:
    """Return the facts of a relation to be left out because of equal labels, with the reasons.

    A model cannot tell subjects with equal labels apart. Two kinds of facts are left out:

    - test facts, in a split prescribed by the source, whose subject has a namesake among the train facts (a drawn split
      keeps namesakes together);
    - of facts with equal subject and object labels, which would repeat a question or example, all but the first. Facts
      with a prescribed split come first.

    Args:
        facts: rows of `Fact`, sorted.
        subjects: numbers, equal for equal normalised labels of subjects, (facts,).
        objects: numbers, equal for equal normalised labels of objects, (facts,).
    """
    named = facts.select("fact_id", "subject_id", "split", reading=subjects, object=objects).with_row_index("at")
    shown = named.filter(split="train").select("reading", train="subject_id").unique().sort("train")
    apart = (
        named.filter(split="test")
        .join(shown, on="reading", maintain_order="left_right")
        .filter(pl.col("train") != pl.col("subject_id"))
        .unique("at", keep="first", maintain_order=True)
    )
    out = {
        at: f"its subject reads like {train}, of which the source has a train fact"
        for at, train in apart.select("at", "train").iter_rows()
    }
    first = pl.struct("subject_id", "fact_id").first().over("reading", "object").alias("first")
    others = named.join(apart, on="at", how="anti", maintain_order="left")
    again = others.sort(pl.col("split").is_null(), maintain_order=True).with_columns(first)
    again = again.filter(pl.col("first").struct["fact_id"] != pl.col("fact_id"))
    for at, subject, before in again.select("at", "subject_id", "first").iter_rows():
        what = "object" if before["subject_id"] == subject else "subject"
        out[at] = f"reads like {before['fact_id']}, whose {what} has the same label"
    return out


@dataclass(frozen=True)
class Split:
    """Indices of a relation's train and test facts."""

    train: Integers
    test: Integers


def split(facts: pl.DataFrame, subjects: Integers, options: DatasetOptions) -> Split:
    """Split a relation's facts into train and test.

    If the source prescribes a split of any of the facts, that split is kept, cut to the requested counts. Otherwise
    subjects are taken in seeded order, each with all its facts: into train while they fit, then into test. If no whole
    subject fits the last gap in train, one subject is divided; its remaining facts come last for test. So at most one
    subject is in both parts, and only if test runs short. (Orders that would divide no subject are not searched for.)

    Args:
        facts: rows of `Fact`.
        subjects: numbers, equal for equal normalised labels of subjects, (facts,).
        options: the counts and the seed.
    """
    identities = [identity.encode() for identity in facts["fact_id"]]
    order = np.argsort(hashes(identities, options.seed, "split"), kind="stable")
    if facts["split"].null_count() < facts.height:
        prescribed = facts["split"].fill_null("").to_numpy()[order]
        return Split(order[prescribed == "train"][: options.train], order[prescribed == "test"][: options.test])
    drawn = _draw_split(subjects[order], options)
    return Split(order[drawn.train], order[drawn.test])


def _draw_split(subjects: Integers, options: DatasetOptions) -> Split:
    """Draw a split; ``subjects`` are the subjects' numbers of the facts in seeded order."""
    _, firsts, inverse = np.unique(subjects, return_index=True, return_inverse=True)
    group = np.argsort(np.argsort(firsts))[inverse]  # subjects numbered by first occurrence
    sizes = np.bincount(group)
    inside, gap = np.zeros(len(sizes), dtype=bool), min(options.train, len(subjects))
    for number, size in enumerate(sizes.tolist()):
        if gap == 0:
            break
        if size <= gap:
            inside[number], gap = True, gap - size
    facts = np.argsort(group, kind="stable")
    taken = inside[group[facts]]
    train, remaining = facts[taken], facts[~taken]
    if gap:  # no whole subject fits the gap: some facts of the first remaining subject fill it
        size = sizes[group[remaining[0]]]
        train = np.concatenate([train, remaining[:gap]])
        # That subject's remaining facts move to the end, so that they are used only if test facts run short.
        remaining = np.concatenate([remaining[size:], remaining[gap:size]])
    return Split(train, remaining[: options.test])
