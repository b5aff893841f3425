"""What questions are like as texts: how much they repeat each other (self-BLEU), how alike two are (BERTScore)."""

import bisect
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from almanac.rows import Question, QuestionTexts
from almanac.suites.facteval.questions import NONE

ORDER = 3  # longest n-gram, as the paper counts
EPSILON = 0.1  # the numerator of a precision of 0 (Chen and Cherry 2014, method 1)
TOKEN = re.compile(r"\w+|[^\w\s]")


def self_bleu(sentences: Sequence[Sequence[str]], order: int = ORDER) -> float | None:
    """Return the mean BLEU of each sentence with all others as its references: 1 where all are the same.

    Identical to the leave-one-out definition, but linear: of every n-gram the two largest counts in a sentence are
    kept, so the largest among the *other* sentences is known at once; so is the closest length.

    Args:
        sentences: tokens of each; their order does not matter.
        order: BLEU's longest n-gram, all weighted the same; smoothing is method 1 of Chen and Cherry (2014).

    Returns:
        None for fewer than two sentences.
    """
    if len(sentences) < 2:
        return None
    grams = [[Counter(_grams(tokens, n)) for n in range(1, order + 1)] for tokens in sentences]
    largest = [_Largest.of(own[n] for own in grams) for n in range(order)]
    lengths = Counter(map(len, sentences))
    ordered = sorted(lengths)
    values = []
    for at, tokens in enumerate(sentences):
        matched = [
            sum(min(count, largest[n].elsewhere(gram, at)) for gram, count in grams[at][n].items())
            for n in range(order)
        ]
        possible = [max(1, len(tokens) - n) for n in range(order)]
        values.append(_bleu(matched, possible, len(tokens), _closest(len(tokens), lengths, ordered)))
    return math.fsum(values) / len(values)


def _grams(tokens: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(tokens[at : at + n]) for at in range(len(tokens) - n + 1)]


@dataclass
class _Largest:
    """Of every n-gram the largest count in a sentence, in which, and the largest in any other."""

    first: dict[tuple[str, ...], tuple[int, int]]
    second: dict[tuple[str, ...], int]

    @classmethod
    def of(cls, counts: Iterable[Mapping[tuple[str, ...], int]]) -> "_Largest":
        """Go through the sentences' counts once."""
        first: dict[tuple[str, ...], tuple[int, int]] = {}
        second: dict[tuple[str, ...], int] = {}
        for at, own in enumerate(counts):
            for gram, count in own.items():
                most, _ = first.get(gram, (0, -1))
                if count > most:
                    first[gram], second[gram] = (count, at), most
                elif count > second[gram]:
                    second[gram] = count
        return cls(first, second)

    def elsewhere(self, gram: tuple[str, ...], at: int) -> int:
        """Return the largest count of an n-gram in a sentence other than one that holds it."""
        most, where = self.first[gram]
        return self.second[gram] if where == at else most


def _closest(length: int, lengths: Mapping[int, int], ordered: Sequence[int]) -> int:
    """Return the length of another sentence that is closest to one's own, the shorter of two."""
    if lengths[length] > 1:
        return length
    place = bisect.bisect_left(ordered, length)
    near = [*ordered[max(0, place - 1) : place], *ordered[place + 1 : place + 2]]
    return min(near, key=lambda other: (abs(other - length), other))


def _bleu(matched: Sequence[int], possible: Sequence[int], length: int, reference: int) -> float:
    """Return BLEU of one sentence by its clipped matches and its n-grams, each by n."""
    if matched[0] == 0:
        return 0.0
    brevity = 1.0 if length > reference else math.exp(1 - reference / length)
    logs = [math.log((own or EPSILON) / count) for own, count in zip(matched, possible, strict=True)]
    return brevity * math.exp(math.fsum(logs) / len(logs))


def texts(questions: Sequence[Question]) -> list[QuestionTexts]:
    """Return the self-BLEU of questions by type and style, origin, wrong objects and relation, and the relations' mean.

    Questions are taken once, without a passage where they are asked so.
    """
    contexts = list(dict.fromkeys(question.context for question in questions))
    context = NONE if NONE in contexts else next(iter(contexts), NONE)
    groups: dict[tuple[str, str, str | None], dict[str, list[list[str]]]] = {}
    for question in questions:
        if question.context == context:
            key = (f"{question.type}-{question.style}", question.origin, question.negatives)
            own = groups.setdefault(key, defaultdict(list))
            own[question.relation_id].append(TOKEN.findall(question.text.lower()))
    rows = []
    for (experiment, origin, negatives), relations in sorted(groups.items(), key=str):
        values = {relation: self_bleu(sentences) for relation, sentences in sorted(relations.items())}
        known = [value for value in values.values() if value is not None]
        names = (experiment, origin, negatives)
        total = sum(map(len, relations.values()))
        rows.append(QuestionTexts(*names, None, total, math.fsum(known) / len(known) if known else None))
        rows += [QuestionTexts(*names, one, len(relations[one]), value) for one, value in values.items()]
    return rows


class Similarity(NamedTuple):
    """BERTScore of a text against another: precision, recall and F1 of greedily matched tokens."""

    precision: float
    recall: float
    f1: float


def bertscore(
    candidate: NDArray[np.float64],
    reference: NDArray[np.float64],
    counted: tuple[Sequence[bool], Sequence[bool]] | None = None,
) -> Similarity:
    """Return BERTScore (Zhang et al. 2020, without idf and without rescaling) of two texts.

    Args:
        candidate: embeddings of its tokens in context, ``(tokens, width)``.
        reference: the other's, ``(tokens, width)``.
        counted: which tokens of each are averaged over; the marks that a tokenizer puts around a text can be matched
            but do not count. All if none.

    Returns:
        Each token's cosine with the most similar token of the other text, averaged over the candidate's tokens
        (precision) and the reference's (recall); zeros where a text has none.
    """
    own, other = counted or ([True] * len(candidate), [True] * len(reference))
    if not any(own) or not any(other):
        return Similarity(0.0, 0.0, 0.0)
    cosines = _unit(candidate) @ _unit(reference).T  # (candidate's tokens, reference's tokens)
    precision = float(cosines.max(axis=1)[np.asarray(own)].mean())
    recall = float(cosines.max(axis=0)[np.asarray(other)].mean())
    total = precision + recall
    return Similarity(precision, recall, 2 * precision * recall / total if total else 0.0)


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths: NDArray[np.float64] = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / lengths
