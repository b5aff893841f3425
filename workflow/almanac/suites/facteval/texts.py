"""Questions written by a model, and the diversity and similarity of questions' texts.

**Written questions**: the requests, the faults of the texts, and the file that a person proofreads. The released
pipeline replaces the object's label in a text and continues if it does not find it: then the blank is missing, and the
false statement equals the true one. Here unusable texts are dropped, with the reason in the file.

**Measures**: how much the questions of a relation repeat each other (self-BLEU); how similar two wordings are.
"""

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import polars as pl

from almanac import tables
from almanac.dataset.templates import DROP, KEEP, VERDICTS, cleaned, folded
from almanac.errors import AlmanacError
from almanac.punctuation import MARKS, UNSPACED, is_question
from almanac.rows import Fact, NotAsked, Request
from almanac.suites.answers import Answers
from almanac.suites.asked import Asked, Batch, greedy
from almanac.suites.data import Data
from almanac.suites.facteval.distractors import names_in, parts_around
from almanac.suites.facteval.options import WritingOptions
from almanac.suites.facteval.questions import FIB, MASK, STATEMENT, TEMPLATE, TFQ, WH, WRITTEN, WordedFact
from almanac.suites.facteval.rows import QuestionTexts, WrittenQuestion
from almanac.suites.prompts import prompts
from almanac.suites.suite import Author, Round

LABEL = re.compile(r"^(?:Sentence|Question):\s*")  # a model may write this before its text
STYLES = (STATEMENT, FIB, WH)
ORDER = 3  # longest n-gram, as in the paper
EPSILON = 0.1  # the numerator of a precision of 0 (Chen and Cherry 2014, method 1)
TOKEN = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}](?:[^\W{UNSPACED}]|[{MARKS}])*|[^\w\s]")
ALIKE = "alike"  # the role of a request that compares two wordings
VALUES = ("bertscore_precision", "bertscore_recall", "bertscore_f1", "distance")
Group = tuple[str, str, str | None]  # experiment, origin, negatives


class WritingSetting(NamedTuple):
    """There is one way to ask for a text: by a triple."""


class Writing(Author[WritingOptions]):
    """Has a model write a statement, a sentence with a blank and a question for each test fact."""

    name = "writing"
    label = "Writing"
    summary = "have a model write questions of facts, for a person to proofread"
    options = WritingOptions
    setting = WritingSetting
    row = WrittenQuestion
    texts = "questions"

    def ask(self, at: Round, data: Data, options: WritingOptions, before: Answers | None) -> Iterator[Batch]:
        """Yield the requests for texts, relation by relation."""
        labels = {row.relation_id: row.label for row in data.relations}
        told, asked = prompts("facteval")["write" if options.prompts == "own" else "write_as_paper"], Asked()
        for relation_id, facts in data.tested(options.sample, options.seed).items():
            for fact in facts:
                triple = (data.names.label(fact.subject_id), labels[relation_id], data.names.label(fact.object_key))
                for style in dict.fromkeys(options.styles):
                    shown = _triple(triple) if options.prompts == "own" else f"({', '.join(triple)})"
                    request = greedy(shown, options.text_tokens, instruction=_instruction(told[style]))
                    asked.link(asked.item(style, WritingSetting(), fact), style, request)
            yield asked.take()

    def write(self, answers: Answers, data: Data, options: WritingOptions) -> list[WrittenQuestion]:
        """Check the texts; returns one row for each text that was asked for, usable or not.

        Raises:
            AlmanacError: a request has no response, the model answered none, or the dataset lacks an item's fact.
        """
        known = {fact.fact_id: fact for own in data.split_facts.values() for fact in own}
        wanted = ("fact_id", "experiment", "status", "reason", "texts")
        rows = [row for part in answers.parts(wanted) for row in part.links.iter_rows(named=True)]
        foreign = next((row["fact_id"] for row in rows if row["fact_id"] not in known), None)
        if foreign is not None:
            raise AlmanacError(f"items: {foreign!r} is no fact of the dataset; give the dataset that was asked")
        if not any(row["status"] == "ok" for row in rows):
            reasons = sorted({f"{row['status']}: {row['reason']}" for row in rows})
            raise AlmanacError(
                f"none of {len(rows)} requests was answered ({'; '.join(reasons)[:200]}); "
                "questions are written by a model that generates"
            )
        out: list[WrittenQuestion] = []
        taken: dict[tuple[str, str], Fact] = {}
        for row in sorted(rows, key=lambda row: (row["fact_id"], row["experiment"])):
            fact, style = known[row["fact_id"]], row["experiment"]
            text = LABEL.sub("", cleaned((row["texts"] or ("",))[0]))
            reason: str | None = f"{row['status']}: {row['reason']}"
            if row["status"] == "ok":
                reason = fault(text, style, fact, data) or _repeats(text, style, fact, taken)
            verdict = KEEP if reason is None else DROP
            out.append(WrittenQuestion(fact.fact_id, fact.relation_id, style, text, verdict, reason))
        return out


def _instruction(told: Mapping[str, Any]) -> str:
    shots = (f"{_triple(shot['triple'])}\n{shot['text']}" for shot in told.get("shots", ()))
    return "\n\n".join([told["instruction"], *shots])


def _triple(triple: Sequence[str]) -> str:
    return f"Triple: ({', '.join(triple)})"


def _repeats(text: str, style: str, fact: Fact, taken: dict[tuple[str, str], Fact]) -> str | None:
    """Return the fault of a text that was written before for another subject or relation: it has two answers."""
    first = taken.setdefault((style, folded(text)), fact)
    if (first.relation_id, first.subject_id) == (fact.relation_id, fact.subject_id):
        return None
    return f"says the same as that of {first.fact_id!r}"


def fault(text: str, style: str, fact: Fact, data: Data) -> str | None:
    """Return what is wrong with a written question; None if nothing is.

    A statement must name subject and object. The others must name the subject and no true object; a sentence with a
    blank must have it once, and a question must end like one.
    """
    names = data.names
    subject = names.names(fact.subject_id)
    objects = [name for key in data.true_objects[fact.relation_id, fact.subject_id] for name in names.names(key)]
    if not text:
        return "empty"
    blanks = text.count(MASK)
    if blanks != (style == FIB):
        return f"holds {MASK} {blanks} times; needed is {int(style == FIB)}"
    if not names_in(text, subject):
        return "does not name the subject"
    if style == STATEMENT and not names_in(text, names.names(fact.object_key), subject):
        return "does not name the object"
    if style != STATEMENT and names_in(text, objects, subject):
        return "names the object"
    if (style == WH) != is_question(text):
        return "is no question" if style == WH else "is a question"
    return None


def read_written(path: Path, tested: Sequence[Fact], data: Data) -> tuple[dict[str, list[WordedFact]], list[NotAsked]]:
    """Read proofread questions, JSON Lines of `WrittenQuestion`.

    Returns:
        The wordings of each fact; and what was dropped or is of no tested fact, with the reason.

    Raises:
        AlmanacError: the file cannot be read, a style or verdict is unknown, a row is repeated, or a text to be kept
            has a fault. Names the fact and the style.
    """
    known = {fact.fact_id: fact for fact in tested}
    out: dict[str, list[WordedFact]] = defaultdict(list)
    refused: dict[tuple[str, str], NotAsked | None] = {}
    for row in tables.read_jsonl(path, WrittenQuestion):
        where, key = f"{path}: {row.fact_id}: {row.style}", (row.fact_id, row.style)
        if row.style not in STYLES:
            raise AlmanacError(f"{where} is no style; allowed are {', '.join(STYLES)}")
        if row.verdict not in VERDICTS:
            raise AlmanacError(f"{where}: verdict {row.verdict!r}; allowed are keep and drop")
        if key in refused:
            raise AlmanacError(f"{where}: is there twice; keep one row")
        refused[key] = None
        if row.verdict == DROP or row.fact_id not in known:
            dropped = row.reason or "dropped" if row.verdict == DROP else "the fact is not asked here"
            refused[key] = NotAsked(f"fact {row.fact_id}: written {row.style}", dropped)
            continue
        fact = known[row.fact_id]
        if reason := fault(row.text, row.style, fact, data):
            raise AlmanacError(f"{where}: {row.text!r} {reason}; mend it or say drop")
        parts = tuple(row.text.split(MASK))
        if row.style == STATEMENT:
            parts = parts_around(row.text, data.names.names(fact.object_key), data.names.names(fact.subject_id))
        out[row.fact_id].append(WordedFact(row.style, WRITTEN, WRITTEN, parts))
    return dict(out), [row for row in refused.values() if row is not None]


def self_bleu(sentences: Sequence[Sequence[str]]) -> float | None:
    """Return the mean BLEU of each tokenised sentence against all others as references: 1 if all are the same.

    N-grams up to `ORDER` have equal weights; smoothing is method 1 of Chen and Cherry (2014). The result equals the
    leave-one-out definition, but takes linear time: clipping a sentence's count of an n-gram by the largest count in
    any other sentence gives the minimum of its own count and the second largest of all.

    Returns:
        The mean in [0, 1]; None for fewer than two sentences.
    """
    if len(sentences) < 2:
        return None
    grams = [
        Counter(tuple(tokens[at : at + n]) for n in range(1, ORDER + 1) for at in range(len(tokens) - n + 1))
        for tokens in sentences
    ]
    counts: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for gram, count in itertools.chain(*(counter.items() for counter in grams)):
        counts[gram].append(count)
    second = {gram: sorted([0, *found])[-2] for gram, found in counts.items()}  # the second largest count
    lengths = Counter(map(len, sentences))
    closest = {length: _closest(length, lengths) for length in lengths}
    values = []
    for tokens, counter in zip(sentences, grams, strict=True):
        matched = [0] * ORDER  # matches of n-grams, at n - 1
        for gram, count in counter.items():
            matched[len(gram) - 1] += min(count, second[gram])
        values.append(_bleu(matched, len(tokens), closest[len(tokens)]))
    return fmean(values)


def _closest(length: int, lengths: Mapping[int, int]) -> int:
    """Return the other sentence length closest to ``length``, the shorter of two; ``lengths`` counts all sentences."""
    others = (other for other in lengths if other != length or lengths[other] > 1)
    return min(others, key=lambda other: (abs(other - length), other))


def _bleu(matched: Sequence[int], length: int, reference: int) -> float:
    """Return a sentence's BLEU from its clipped matches by n, its length and its reference's (tokens)."""
    if matched[0] == 0:
        return 0.0
    logs = [math.log((count or EPSILON) / max(1, length - n)) for n, count in enumerate(matched)]
    return min(1.0, math.exp(1 - reference / length)) * math.exp(fmean(logs))


@dataclass
class Repetition:
    """Collects questions, and computes the self-BLEU of those of each relation.

    A question counts once, whatever passages are read before it.
    """

    _sentences: dict[Group, list[list[str]]] = field(default_factory=lambda: defaultdict(list))
    _found: dict[Group, list[QuestionTexts]] = field(default_factory=lambda: defaultdict(list))

    def add(self, experiment: str, origin: str, negatives: str | None, text: str) -> None:
        """Add a question of the relation that is being asked."""
        self._sentences[experiment, origin, negatives].append(TOKEN.findall(text.lower()))

    def relation(self, relation_id: str) -> list[QuestionTexts]:
        """Return the rows of a relation: of all questions added since the last call."""
        rows = []
        for group in sorted(self._sentences, key=str):
            sentences = self._sentences[group]
            rows.append(QuestionTexts(*group, relation_id, len(sentences), self_bleu(sentences)))
            self._found[group].append(rows[-1])
        self._sentences.clear()
        return rows

    def total(self) -> list[QuestionTexts]:
        """Return the rows of all relations: the means over those that have a value."""
        rows = []
        for group, own in sorted(self._found.items(), key=str):
            known = [row.self_bleu for row in own if row.self_bleu is not None]
            mean = fmean(known) if known else None
            rows.append(QuestionTexts(*group, None, sum(row.questions for row in own), mean))
        return rows


def ask_how_alike(before: Answers, asked: Asked, layer: int | None) -> Iterator[Batch]:
    """Yield requests for the similarity of each written question to those from templates of the same fact and style.

    False statements are left out, since they depend on the wrong object and not on the wording alone. A text that is
    used both for multiple choice and for short answers counts once. With several templates there is one request per
    template. A request is linked to the first item with the written text. The embedder's hidden states of ``layer`` are
    compared (None: the last).
    """
    wanted = ("fact_id", "relation_id", "origin", "text")
    rows = (
        row
        for part in before.parts(wanted, own=("traits",))
        for row in part.links.join(part.own["traits"], on="item", maintain_order="left").iter_rows(named=True)
        if row["type"] != TFQ or row["truth"]
    )
    for _, of_relation in itertools.groupby(rows, key=lambda row: row["relation_id"]):
        wordings: dict[tuple[str, str], dict[str, dict[str, int]]] = defaultdict(lambda: {TEMPLATE: {}, WRITTEN: {}})
        for row in of_relation:
            wordings[row["fact_id"], row["style"]][row["origin"]].setdefault(row["text"], row["item"])
        for wording in wordings.values():
            for (written, item), template in itertools.product(wording[WRITTEN].items(), wording[TEMPLATE]):
                asked.link(item, ALIKE, Request("", "similarity", None, written, other=template, layer=layer))
        yield asked.take()


def how_alike(links: pl.DataFrame) -> pl.DataFrame:
    """Return the similarity of written questions to those from templates, a row an item (`rows.QuestionSimilarity`).

    Args:
        links: a row for each pair of wordings: ``item``, ``status``, and ``similarities``, in the order of `VALUES`.
    """
    answered = pl.when(pl.col("status") == "ok").then(pl.col("similarities"))
    found = links.select("item", *(answered.list.get(at).alias(name) for at, name in enumerate(VALUES)))
    counted = pl.col(VALUES[0]).count().cast(pl.Int64).alias("pairs")
    return found.group_by("item", maintain_order=True).agg(counted, pl.col(VALUES).mean())
