"""Draws the questions that are asked: for each template equally many of head, torso and tail (Sun et al., section 2).

A question is about a relation and a subject; all its objects are right answers. Facts are held as columns; only drawn
questions become Python objects.
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import polars as pl

from almanac.columns import columns
from almanac.rows import Entity, Fact, Relation
from almanac.suites.data import Data
from almanac.suites.head_to_tail.buckets import BUCKETS, EXPOSURE, THING, subjects
from almanac.suites.head_to_tail.naming import YEARS_OF_TITLES, Naming, contexts
from almanac.suites.head_to_tail.options import HeadToTailOptions
from almanac.suites.head_to_tail.templates import QuestionWording, asked_of
from almanac.suites.options import of_each
from almanac.suites.prompts import prompts
from almanac.tables import hash_order

FACTS = ["fact_id", "relation_id", "subject_id", "object_id", "value", "qualifiers"]
CHARACTER = "character="
CANDIDATES = 4  # facts per relation that are tried as its example, since not every fact makes a question


@dataclass(frozen=True)
class DrawnQuestion:
    """A question that was drawn.

    Attributes:
        fact_id: the fact that it stands for: the subject's test fact, or else the first that answers it.
        subject: the subject's id.
        name: the subject's name in the question, with its context.
        objects: the keys of the objects that answer it.
        kind: the subject's type.
        popularity: the subject's popularity, if known.
        bucket: the subject's bucket, if known.
    """

    fact_id: str
    subject: str
    name: str
    objects: tuple[str, ...]
    kind: str
    popularity: int | None
    bucket: str | None


@dataclass(frozen=True)
class AskedWording:
    """The questions of one template.

    Attributes:
        relation: the relation.
        wording: the template.
        drawn: the questions that are asked.
        spare: a question that is not asked, to serve as an example; None if there is none.
    """

    relation: Relation
    wording: QuestionWording
    drawn: Sequence[DrawnQuestion]
    spare: DrawnQuestion | None


class QuestionDrawing:
    """Draws the questions of a dataset."""

    def __init__(self, data: Data, options: HeadToTailOptions, refuse: Callable[[str, str], None]) -> None:
        """Prepare the draw; ``refuse`` is called with everything that is not asked, and the reason."""
        self.data, self.options, self.refuse = data, options, refuse
        self.popular, self.measured = subjects(data, options.popularity)

    def askings(self) -> Iterator[AskedWording]:
        """Yield the questions of each relation's templates."""
        facts = self._facts.partition_by("relation_id", as_dict=True, maintain_order=True)
        there = set(self.data.frame("facts", Fact, ["relation_id"])["relation_id"].unique())
        for relation, found, reason in asked_of(self.data, self.options.filters):
            own = facts.get((relation.relation_id,))
            if own is None:
                continue
            if reason is not None:
                self.refuse(f"relation {relation.relation_id}", reason)
            for wording in found:
                lacking = [name for name in contexts(wording) if name not in there]
                if lacking:
                    unknown = f"the dataset lacks {', '.join(lacking)}, which tell its subjects apart"
                    self.refuse(f"relation {relation.relation_id}, {wording.template_id}", unknown)
                else:
                    yield self._asking(relation, wording, own)

    @cached_property
    def _facts(self) -> pl.DataFrame:
        """Facts with the names of subject and object, and the type, popularity and bucket of the subject.

        Names are joined once for all relations: a join per relation would go through every entity each time.
        """
        facts = self.data.frame("facts", Fact, FACTS)
        facts = facts.with_columns(key=pl.coalesce("object_id", "value")).drop("object_id", "value")
        found = facts.join(self.popular, left_on="subject_id", right_on="subject", how="left", maintain_order="left")
        named = self.data.frame("entities", Entity, ["entity_id", "type", "label"])
        own, objects = named.rename({"label": "own"}), named.drop("type")
        found = found.join(own, left_on="subject_id", right_on="entity_id", how="left", maintain_order="left")
        found = found.join(objects, left_on="key", right_on="entity_id", how="left", maintain_order="left")
        kind = pl.coalesce("kind", "type", pl.lit(THING))
        named_so = {"kind": kind, "own": pl.coalesce("own", "subject_id"), "label": pl.coalesce("label", "key")}
        found = found.with_columns(**named_so).drop("type")
        if self.measured != EXPOSURE:
            return found
        # Keep facts that are asked or shown, and those of their subjects' namesakes.
        kept = [fact.fact_id for own in (*self._tested.values(), *self._shown.values()) for fact in own]
        reads = found.with_columns(read=pl.col("own").str.to_lowercase())
        wanted = reads.filter(pl.col("fact_id").is_in(kept)).select("relation_id", "read").unique()
        return reads.join(wanted, on=["relation_id", "read"], how="semi", maintain_order="left").drop("read")

    @cached_property
    def _tested(self) -> dict[str, list[Fact]]:
        return self.data.tested(self.options.sample, self.options.seed, self.options.at_least)

    @cached_property
    def _shown(self) -> dict[str, list[Fact]]:
        """For each relation a few train facts, which are not asked by exposure, as candidates for its example."""
        train = {fact.fact_id: fact for fact in self.data.facts if fact.split == "train"}
        found: dict[str, list[Fact]] = {}
        for name in hash_order(train, self.options.seed, "head_to_tail", "example"):
            own = found.setdefault(train[name].relation_id, [])
            if len(own) < CANDIDATES:
                own.append(train[name])
        return found

    @cached_property
    def naming(self) -> Naming:
        """How things are named."""
        return Naming(self.data)

    def _asking(self, relation: Relation, wording: QuestionWording, facts: pl.DataFrame) -> AskedWording:
        pool = self._pool(relation, wording, facts)
        if self.measured == EXPOSURE:
            tested = {fact.subject_id: fact.fact_id for fact in self._tested[relation.relation_id]}
            rows = _rows(pool)
            # Each question stands for the test fact, which other suites ask too.
            drawn = [replace(row, fact_id=tested[row.subject]) for row in rows if row.subject in tested]
            shown = [fact.subject_id for fact in self._shown.get(relation.relation_id, ())]
            others = {row.subject: row for row in rows if row.subject not in tested}
            return AskedWording(relation, wording, drawn, next((others[one] for one in shown if one in others), None))
        drawn, spare = self._draw(relation, wording, self._as_tested(relation, wording, pool))
        return AskedWording(relation, wording, drawn, spare)

    def _pool(self, relation: Relation, wording: QuestionWording, facts: pl.DataFrame) -> pl.DataFrame:
        """Return the questions that can be asked, a row a question; others are counted and refused with the reason."""
        if wording.template_id.endswith("/title_character"):
            characters = pl.col("qualifiers").list.eval(
                pl.element().filter(pl.element().str.starts_with(CHARACTER)).str.strip_prefix(CHARACTER)
            )
            facts = facts.with_columns(part=characters).explode("part").filter(pl.col("part").is_not_null())
        else:
            facts = facts.with_columns(part=pl.lit(None, pl.String))
        pool = (
            facts.sort("fact_id")
            .group_by("subject_id", "part", maintain_order=True)
            .agg(
                pl.col("fact_id", "kind", "popularity", "asked_bucket", "own", "label").first(),
                pl.col("key").unique(maintain_order=True).alias("objects"),
            )
            .unique("fact_id", keep="first", maintain_order=True)  # who plays two parts in one title is asked once
        )
        thing = f"relation {relation.relation_id}, {wording.template_id}"
        pool = self.naming.named(pool, wording)
        # Compare all questions: even one that is left out below makes its namesake's question ambiguous.
        pool = pool.with_columns(alike=pl.col("name").str.to_lowercase().is_duplicated())
        answered = self._examples(wording) if self.options.mode != "faithful" else []
        pool = self._without(
            pool, pl.col("name").str.to_lowercase().is_in(answered), thing, "the instruction answers it"
        )
        if wording.values is not None:
            pool = pool.filter(pl.col("objects").list.first().is_in(list(wording.values)))
        pool = self._without(pool, self._too_late(wording), thing, f"the year is after {self.options.last_year}")
        if self.measured != EXPOSURE:
            reason = f"the subject has no bucket, by {self.measured}"
            pool = self._without(pool, pl.col("asked_bucket").is_null(), thing, reason)
        if wording.single:
            pool = self._without(pool, pl.col("objects").list.len() > 1, thing, "the subject has several objects")
            told = pl.col("label").fill_null("")
            asked = wording.question.replace("[X]", "").lower()
            within = pl.lit(asked).str.contains(told.str.to_lowercase(), literal=True)
            within |= pl.col("name").str.to_lowercase().str.contains(told.str.to_lowercase(), literal=True)
            pool = self._without(pool, within, thing, "the question names the object")
            pool = self._without(pool, told.str.contains("__", literal=True), thing, "the object has no name")
        return self._told_apart(pool, wording, thing)

    @cached_property
    def _tests(self) -> dict[tuple[object, ...], pl.DataFrame]:
        """By relation, the subjects of test facts with the first of their facts in the samples of other suites."""
        rows = self.data.frame("facts", Fact, ["fact_id", "relation_id", "subject_id", "split"]).filter(split="test")
        order = hash_order(rows["fact_id"], self.options.seed, "sample")
        places = pl.DataFrame({"tested": order, "turn": range(len(order))}, {"tested": pl.String, "turn": pl.UInt32})
        first = rows.rename({"fact_id": "tested"}).join(places, on="tested").sort("turn")
        return first.unique(["relation_id", "subject_id"], keep="first").partition_by("relation_id", as_dict=True)

    def _as_tested(self, relation: Relation, wording: QuestionWording, pool: pl.DataFrame) -> pl.DataFrame:
        """Let questions stand for their subjects' test facts; add ``turn``, their place in other suites' samples."""
        tests = self._tests.get((relation.relation_id,))
        several = wording.values is not None or pool["part"].is_not_null().any()  # questions about one subject
        if tests is None or several:
            return pool.with_columns(turn=pl.lit(None, pl.UInt32))
        found = pool.join(
            tests.select("subject_id", "tested", "turn"), on="subject_id", how="left", maintain_order="left"
        )
        return found.with_columns(fact_id=pl.coalesce("tested", "fact_id")).drop("tested")

    def _examples(self, wording: QuestionWording) -> list[str]:
        """Return the subjects, in lower case, about which an example in an instruction asks the same question."""
        asks = (prompts("head_to_tail")["ask"][prompt] for prompt in self.options.prompts)
        shots = {question for told in asks for question, _ in told.get("shots", ())}
        questions = {wording.question, *(own["question"] for own in wording.variants.values())}
        forms = [re.escape(one).replace(re.escape("[X]"), "(.+)") for one in questions]
        found = (re.fullmatch(form, shot, re.IGNORECASE) for form in forms for shot in shots)
        return sorted({match[1].lower() for match in found if match})

    def _too_late(self, wording: QuestionWording) -> pl.Expr:
        last = self.options.last_year
        if last is None or wording.answer_kind != "year":
            return pl.lit(False)
        return pl.col("objects").list.first().str.slice(0, 4).cast(pl.Int64, strict=False).gt(last).fill_null(False)

    def _told_apart(self, pool: pl.DataFrame, wording: QuestionWording, thing: str) -> pl.DataFrame:
        """Drop ambiguous questions: all that read alike, or in mode ``faithful`` those that the released code drops."""
        faithful = self.options.mode == "faithful"
        if wording.template_id.endswith(YEARS_OF_TITLES):
            alone = pl.col("namesakes").fill_null(0) == 0
            why = "no other title has its name" if faithful else "another title has its name, and the year is asked for"
            pool = self._without(pool, alone if faithful else ~alone, thing, why)
        alike = ~pl.col("name").str.to_lowercase().is_first_distinct() if faithful else pl.col("alike")
        return self._without(pool, alike, thing, "reads like another").drop("alike")

    def _without(self, pool: pl.DataFrame, dropped: pl.Expr, thing: str, reason: str) -> pl.DataFrame:
        marked = pool.with_columns(dropped.alias("dropped"))
        count = int(marked["dropped"].sum())
        if count:
            self.refuse(f"{thing}: {count} of {pool.height} questions", reason)
        return marked.filter(~pl.col("dropped")).drop("dropped")

    def _draw(
        self, relation: Relation, wording: QuestionWording, pool: pl.DataFrame
    ) -> tuple[list[DrawnQuestion], DrawnQuestion | None]:
        """Draw as many questions from each bucket as the smallest has, up to the cap, and one more as an example.

        Facts that other suites ask are drawn first, so that methods are compared on the same facts.
        """
        thing = f"relation {relation.relation_id}, {wording.template_id}"
        options, parts = self.options, len(BUCKETS) * len(self.data.relations)
        cap = min(options.cap or wording.cap, of_each(options.sample, options.at_least, parts) or sys.maxsize)
        of = {bucket: pool.filter(pl.col("asked_bucket") == bucket) for bucket in BUCKETS}
        count = min(cap, *(own.height for own in of.values()))
        if not count:
            sizes = ", ".join(f"{own.height} of the {bucket}" for bucket, own in of.items())
            self.refuse(thing, f"not every bucket has a question: {sizes}")
            return [], None
        drawn, spares = [], []
        for bucket, own in of.items():
            names = hash_order(own["fact_id"], self.options.seed, "head_to_tail", wording.template_id, bucket)
            turns = dict(own.select("fact_id", "turn").iter_rows())
            names.sort(key=lambda name: (turns[name] is None, turns[name]))
            places = {name: at for at, name in enumerate(names[: count + 1])}
            few = own.filter(pl.col("fact_id").is_in(list(places)))
            rows = sorted(_rows(few), key=lambda row: places[row.fact_id])
            drawn += rows[:count]
            spares += rows[count:]
        return drawn, spares[0] if spares else None


def _rows(pool: pl.DataFrame) -> list[DrawnQuestion]:
    rows = pool.rename({"subject_id": "subject", "asked_bucket": "bucket"}).select(columns(DrawnQuestion))
    return [DrawnQuestion(**row | {"objects": tuple(row["objects"])}) for row in rows.iter_rows(named=True)]
