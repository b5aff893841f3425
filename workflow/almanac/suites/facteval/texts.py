"""Measures of the questions' texts: how much they repeat each other (self-BLEU), how similar two wordings are."""

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from almanac.rows import Request
from almanac.suites.answers import Answers
from almanac.suites.asked import Asked, Batch
from almanac.suites.facteval.questions import SAQ, TEMPLATE, TFQ, WRITTEN
from almanac.suites.facteval.rows import QuestionTexts

ORDER = 3  # longest n-gram, as the paper counts
EPSILON = 0.1  # the numerator of a precision of 0 (Chen and Cherry 2014, method 1)
TOKEN = re.compile(r"\w+|[^\w\s]")
ALIKE = "alike"  # the role of a request that compares two wordings
VALUES = ("bertscore_precision", "bertscore_recall", "bertscore_f1", "distance")
Group = tuple[str, str, str | None]  # experiment, origin, where wrong objects are from


def self_bleu(sentences: Sequence[Sequence[str]]) -> float | None:
    """Return the mean BLEU of each sentence with all others as its references: 1 where all are the same.

    N-grams up to `ORDER` weigh the same; smoothing is method 1 of Chen and Cherry (2014). Identical to the
    leave-one-out definition, but linear: a sentence's count of an n-gram, clipped by the largest in any other, is the
    smaller of its own and the second largest of all.

    Args:
        sentences: tokens of each; their order does not matter.

    Returns:
        None for fewer than two sentences.
    """
    if len(sentences) < 2:
        return None
    grams = [[Counter(_grams(tokens, n)) for n in range(1, ORDER + 1)] for tokens in sentences]
    second = [_second_largest(own[n] for own in grams) for n in range(ORDER)]
    lengths = Counter(map(len, sentences))
    closest = {length: _closest(length, lengths) for length in lengths}
    values = []
    for tokens, own in zip(sentences, grams, strict=True):
        matched = [sum(min(count, second[n][gram]) for gram, count in own[n].items()) for n in range(ORDER)]
        possible = [max(1, len(tokens) - n) for n in range(ORDER)]
        values.append(_bleu(matched, possible, len(tokens), closest[len(tokens)]))
    return math.fsum(values) / len(values)


def _grams(tokens: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(tokens[at : at + n]) for at in range(len(tokens) - n + 1)]


def _second_largest(counts: Iterable[Mapping[tuple[str, ...], int]]) -> dict[tuple[str, ...], int]:
    """Return of every n-gram the second largest count in a sentence, which may be as large as the largest."""
    found: dict[tuple[str, ...], tuple[int, int]] = {}
    for own in counts:
        for gram, count in own.items():
            first, second = found.get(gram, (0, 0))
            found[gram] = (count, first) if count > first else (first, max(count, second))
    return {gram: second for gram, (_, second) in found.items()}


def _closest(length: int, lengths: Mapping[int, int]) -> int:
    """Return the length of another sentence that is closest to one's own, the shorter of two."""
    others = (other for other in lengths if other != length or lengths[other] > 1)
    return min(others, key=lambda other: (abs(other - length), other))


def _bleu(matched: Sequence[int], possible: Sequence[int], length: int, reference: int) -> float:
    """Return BLEU of one sentence by its clipped matches and its n-grams, each by n."""
    if matched[0] == 0:
        return 0.0
    brevity = 1.0 if length > reference else math.exp(1 - reference / length)
    logs = [math.log((own or EPSILON) / count) for own, count in zip(matched, possible, strict=True)]
    return brevity * math.exp(math.fsum(logs) / len(logs))


@dataclass
class Repetition:
    """Collects questions, and says how much those of a relation repeat each other: their self-BLEU.

    Questions are taken once, whatever is read before them.
    """

    _sentences: dict[Group, list[list[str]]] = field(default_factory=lambda: defaultdict(list))
    _found: dict[Group, list[QuestionTexts]] = field(default_factory=lambda: defaultdict(list))

    def add(self, experiment: str, origin: str, negatives: str | None, text: str) -> None:
        """Add a question of the relation that is being asked."""
        self._sentences[experiment, origin, negatives].append(TOKEN.findall(text.lower()))

    def relation(self, relation_id: str) -> list[QuestionTexts]:
        """Return the rows of the questions since the last time, which are those of one relation."""
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
            mean = math.fsum(known) / len(known) if known else None
            rows.append(QuestionTexts(*group, None, sum(row.questions for row in own), mean))
        return rows


def ask_how_alike(before: Answers, asked: Asked, layer: int | None) -> Iterator[Batch]:
    """Ask how alike the wordings of a question by a model and by templates are: true statements, blanks, Wh-questions.

    False statements are left out: what they say depends on the wrong object, not on the wording. A blank or a question
    is the same text in multiple choice and short answer, and is taken once; where a relation has several templates a
    pair stands for each. A pair is linked to the first item that asks what a model has written.

    Args:
        before: what was asked in the first round.
        asked: collects it.
        layer: of the embedder, whose hidden states are compared; the last if none.
    """
    wanted = ("fact_id", "relation_id", "origin", "text")
    rows = (
        row
        for part in before.parts(wanted, own=("traits",))
        for row in part.links.join(part.own["traits"], on="item", maintain_order="left").iter_rows(named=True)
        if (row["type"] == TFQ and row["truth"]) or row["type"] == SAQ
    )
    for _, of_relation in itertools.groupby(rows, key=lambda row: row["relation_id"]):
        wordings: dict[tuple[str, str], dict[str, dict[str, int]]] = defaultdict(lambda: {TEMPLATE: {}, WRITTEN: {}})
        for row in of_relation:
            wordings[row["fact_id"], row["style"]][row["origin"]].setdefault(row["text"], row["item"])
        for own in wordings.values():
            for (written, item), template in itertools.product(own[WRITTEN].items(), own[TEMPLATE]):
                asked.link(item, ALIKE, Request("", "similarity", None, written, other=template, layer=layer))
        yield asked.take()


def how_alike(links: pl.DataFrame) -> pl.DataFrame:
    """Return how alike questions are to those from templates, a row an item (`rows.QuestionSimilarity`).

    Args:
        links: one a pair: ``item``, ``status``, and ``similarities``, which are `VALUES`.
    """
    answered = pl.when(pl.col("status") == "ok").then(pl.col("similarities"))
    found = links.select("item", *(answered.list.get(at).alias(name) for at, name in enumerate(VALUES)))
    counted = pl.col(VALUES[0]).count().cast(pl.Int64).alias("pairs")
    return found.group_by("item", maintain_order=True).agg(counted, pl.col(VALUES).mean())
