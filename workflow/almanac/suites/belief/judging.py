"""Judges BELIEF's answers: blanks by the likeliest token or object, texts by the names that they contain.

``score`` of a blank is a log-probability in nats: of the likeliest true name of one token, or of the true object among
the ranked ones; of a text it is 1 or 0. ``confidence`` is the probability of the prediction: of the token, of the
object among the ranked ones, or for a text the share of samples that match it.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from almanac.dataset.templates import first_line
from almanac.frames import frame_of, frame_of_values
from almanac.rows import Outcome
from almanac.suites.answers import Answers
from almanac.suites.belief.asking import (
    CANDIDATES,
    CONTENT_FREE,
    CONTROL,
    FILL,
    GREEDY,
    ICL,
    SAMPLES,
    SEQUENCE,
    VOCABULARY,
)
from almanac.suites.belief.lemmas import SEPARATOR, Lemmas, alike, is_one_word, lemmas_of, naming, within, without
from almanac.suites.belief.names import unsafe
from almanac.suites.belief.options import BeliefOptions
from almanac.suites.belief.rows import Leaning, Said
from almanac.suites.data import Data
from almanac.suites.suite import Judgements

WANTED = (
    *("experiment", "role", "index", "accepted", "name", "choices"),
    *("status", "tokens", "probabilities", "logprobs", "token_counts", "ranks", "texts"),
)
Row = Mapping[str, Any]


class Judgement(NamedTuple):
    """The verdict on an item: the columns of `Outcome`, and those of `Said`."""

    prediction: str | None
    outcome: str
    score: float | None = None
    confidence: float | None = None
    answer: str | None = None
    object_tokens: int | None = None
    by_alias: bool | None = None
    one_word: bool | None = None
    unsafe: bool | None = None
    sequence: float | None = None
    answer_tokens: int | None = None
    offered: float | None = None


def judge(answers: Answers, data: Data, options: BeliefOptions) -> Iterator[Judgements]:
    """Judge every item.

    Raises:
        AlmanacError: the file of lemmas cannot be read.
    """
    lemmas = lemmas_of(options.lemmas)
    for part in answers.parts(WANTED, own=("prompts",)):
        outcomes: list[tuple[Any, ...]] = []
        traits: list[tuple[Any, ...]] = []
        leanings: list[Leaning] = []
        asked = part.links.join(
            part.own["prompts"].select("item", "labels"), on="item", how="left", maintain_order="left"
        )
        for (item, experiment), rows in groupby(asked.iter_rows(named=True), itemgetter("item", "experiment")):
            links = {row["role"]: row for row in rows}
            verdict = _verdict(experiment, links, lemmas)
            outcomes.append((item, "", *verdict[:4]))
            traits.append((item, *verdict[4:]))
            if experiment == CONTENT_FREE and verdict.outcome == "invalid":
                values = enumerate(_values(links[FILL]))
                leanings += [Leaning(item, at, value) for at, value in values if value > -math.inf]
        own = {"said": frame_of_values(Said, traits), "leanings": frame_of(Leaning, leanings)}
        yield Judgements(frame_of_values(Outcome, outcomes), own)


def _verdict(experiment: str, links: Mapping[str, Row], lemmas: Lemmas) -> Judgement:
    """Judge an item by its experiment; ``links`` has its requests with their answers, by role."""
    row = links[GREEDY if experiment in (ICL, CONTROL) else FILL]
    if row["status"] != "ok":
        return Judgement(None, "missing" if row["status"] == "refused" else "error")
    if experiment == VOCABULARY:
        return of_vocabulary(row)
    if experiment == CANDIDATES:
        return of_candidates(row)
    if experiment == CONTENT_FREE:
        return Judgement(None, "invalid")  # it asks about no fact, so nothing is right or wrong
    return of_text(row, links.get(SAMPLES), links.get(SEQUENCE), lemmas)


def of_vocabulary(row: Row) -> Judgement:
    """Judge the likeliest token of the vocabulary: right if it is a true name (Acc@1).

    If no true name is a single token the model cannot be right, and the item is invalid.

    Args:
        row: a request with its answer; choices from ``index`` on are true names, the first ``labels`` of them labels.
    """
    first = row["index"]
    true = list(zip(row["token_counts"], row["ranks"], row["logprobs"], strict=True))[first:]
    fewest, by_alias = _names(row)
    single = [(rank, value) for count, rank, value in true if count == 1]
    answer, confidence = row["tokens"][0].strip(), row["probabilities"][0]
    if not single:
        return Judgement(answer, "invalid", None, None, None, fewest, by_alias)
    outcome = "correct" if any(rank == 0 for rank, _ in single) else "incorrect"
    score = max(value for _, value in single)
    return Judgement(answer, outcome, score, confidence, answer, fewest, by_alias)


def _values(row: Row) -> list[float]:
    """Return the log-probabilities (nats) of the choices: −∞ for a name of no token, which cannot be written."""
    return [value if count else -math.inf for value, count in zip(row["logprobs"], row["token_counts"], strict=True)]


def _names(row: Row) -> tuple[int | None, bool | None]:
    """Return the tokens of the shortest true name, and whether an alias is likelier than every true label (Table 11).

    Both are None if the tokenizer can write no true name; the second also if there are no aliases.
    """
    first, labels = row["index"], row["labels"]
    true = _values(row)[first:]
    fewest = min(filter(None, row["token_counts"][first:]), default=None)
    if fewest is None or not true[labels:]:
        return fewest, None
    return fewest, max(true[labels:]) > max(true[:labels])


def of_candidates(row: Row) -> Judgement:
    """Judge the likeliest of the ranked objects: right if it is a true name and no wrong object is as likely.

    If the tokenizer can write no true name the model cannot be right, and the item is invalid.

    Args:
        row: a request with its answer. Choices before ``index`` are wrong objects, the others the true names; the first
            ``labels`` of these are labels.
    """
    first, values = row["index"], _values(row)
    fewest, by_alias = _names(row)
    if fewest is None:
        return Judgement(None, "invalid")
    best = max(values)
    total = best + math.log(math.fsum(math.exp(value - best) for value in values))
    true = max(values[first:])
    place = values.index(best)
    correct = true > max(values[:first])
    # All true names count as one answer, so that prompts agree whichever of them is likeliest.
    answer = row["choices"][first if place >= first else place]
    return Judgement(
        row["choices"][place],
        "correct" if correct else "incorrect",
        true - total,
        math.exp(best - total),
        answer,
        fewest,
        by_alias,
        offered=first / row["labels"] + 1,
    )


def _names_object(name: Sequence[str], answer: Sequence[str], subject: Sequence[str]) -> bool:
    """Return whether an answer contains a name, ignoring the subject's where the name is a part of that (lemmas)."""
    return within(name, without(subject, answer) if name != subject and within(name, subject) else answer)


def of_text(row: Row, samples: Row | None, sequence: Row | None, lemmas: Lemmas) -> Judgement:
    """Judge a text: right if it contains the lemmas of a true name; an empty text counts as a wrong answer.

    A name inside the repeated name of the subject does not count: Hans Holbein the Younger does not name Hans Holbein.

    Args:
        row: the request of the greedy text, with its answer.
        samples: that of the samples, if any.
        sequence: that of the greedy text's probability, if any.
        lemmas: returns the lemmas of a text.
    """
    text, lemmas = first_line(row["texts"][0]), naming(row["accepted"], lemmas)
    answer = lemmas(text)
    subject = lemmas(row["name"]) if row["name"] else ()
    names = [name for name in row["accepted"] if _names_object(lemmas(name), answer, subject)]
    confidence = None
    if samples is not None and samples["status"] == "ok" and samples["texts"]:
        drawn = [lemmas(first_line(one)) for one in samples["texts"]]
        confidence = sum(alike(answer, one) for one in drawn) / len(drawn)
    likely = sequence if sequence is not None and sequence["status"] == "ok" else None
    return Judgement(
        text,
        "correct" if names else "incorrect",
        float(bool(names)),
        confidence,
        SEPARATOR.join(answer),
        one_word=is_one_word(text),
        unsafe=bool(names) and all(map(unsafe, names)),
        sequence=None if likely is None else math.exp(likely["logprobs"][0]),
        answer_tokens=None if likely is None else likely["token_counts"][0],
    )
