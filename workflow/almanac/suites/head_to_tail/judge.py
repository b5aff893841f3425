"""Requests to a judge model about answers, and how its replies are read (Sun et al., section 2 and Prompt 2)."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import polars as pl

from almanac.rows import Request
from almanac.suites.answers import Answers
from almanac.suites.asked import Asked, Batch, greedy
from almanac.suites.head_to_tail.asking import ANSWER
from almanac.suites.head_to_tail.options import HeadToTailOptions
from almanac.suites.head_to_tail.scores import is_true, names_one, normalise, said
from almanac.suites.head_to_tail.variants import variants
from almanac.suites.prompts import prompts
from almanac.tables import seed_of

VERDICT = "verdict"  # the role of the request to judge a model's answer
CHECK = "check"  # the role of the request to judge an answer that is wrong on purpose
CHECKED = 10  # one in so many of the judged questions has a check
TOKENS = 8  # of the judge's reply, at most: one word is wanted
# "The correct answer is 1975" is no verdict: a judge may say it about right answers and about wrong ones.
STATED = re.compile(r"\bcorrect\s+\w+\s*(?::|\b(?:is|are|was|were|would|should|to|for|in|here)\b|$)", re.IGNORECASE)
INCORRECT = re.compile(r"\bincorrect\b|(?:\b(?:can)?not|n't)\s+(?:\w+\s+){0,2}correct\b", re.IGNORECASE)
CORRECT = re.compile(r"\bcorrect\b", re.IGNORECASE)


@cache
def unsure(listed: str) -> frozenset[str]:
    """Return the normalised answers that count as missing: the ``strict`` or the ``extended`` list."""
    return frozenset(prompts("head_to_tail")["unsure"][listed])


def says_nothing(answer: str, listed: str, accepted: Sequence[str]) -> bool:
    """Return whether an answer counts as missing: it is in a list of such answers (`unsure`).

    A true answer does not count, if it is in the extended list alone: the list contains `NA`, the symbol of sodium and
    the country code of Namibia. An answer whose normalised form is empty (`A`) counts, unless it is a true one.

    Args:
        answer: the model's answer.
        listed: ``strict`` or ``extended``.
        accepted: the true answers.
    """
    told = normalise(answer)
    if told == "" and is_true(answer, accepted):
        return False
    return told in unsure("strict") or (told in unsure(listed) and told not in map(normalise, accepted))


def verdict(reply: str) -> bool | None:
    """Return whether a judge's reply calls an answer correct; None if it contains no verdict.

    Verdicts are the whole words ``correct``, ``incorrect`` and ``not correct``, in any case. ``correct`` does not
    count next to one of the others. A reply that states the correct answer instead is no verdict.
    """
    reply = STATED.sub(" ", reply.replace("\u2019", "'"))
    if INCORRECT.search(reply):
        return False
    return True if CORRECT.search(reply) else None


def question_of(text: str, accepted: Sequence[str], answer: str) -> str:
    """Return the text of one question to the judge."""
    golds = json.dumps(list(accepted), ensure_ascii=False)
    return f"Question: {text}\nGround truth: {golds}\nPrediction: {answer}\nCorrectness:"


def request(text: str, accepted: Sequence[str], answer: str, examples: bool) -> Request:
    """Return the request to judge an answer.

    Args:
        text: the question.
        accepted: the true answers.
        answer: the model's answer.
        examples: whether the judge is shown the eight examples.
    """
    told = prompts("head_to_tail")["judge"]
    shots = [f"{question_of(*shot[:3])} {shot[3]}" for shot in told["shots"]] if examples else []
    return greedy(question_of(text, accepted, answer), TOKENS, instruction="\n\n".join([told["text"], *shots]))


def _wrong(row: Mapping[str, Any], others: Sequence[str], seed: int) -> str | None:
    """Return a wrong answer: a true one of another question of the template, if wrong by rules; None if there is none.

    Args:
        row: the question, with its true answers and their kind (see `variants`).
        others: true answers of the template's questions.
        seed: selects the answer to try first.
    """
    start, golds = seed // CHECKED % len(others), variants(row["accepted"], row["answer_kind"])
    turned = (others[(start + at) % len(others)] for at in range(len(others)))
    return next((other for other in turned if not names_one(other, golds, row["text"])), None)


def ask(before: Answers, options: HeadToTailOptions, own: Mapping[str, type]) -> Iterator[Batch]:
    """Yield the requests to judge the answers of one model, except missing ones; equal ones are asked once.

    For one question in `CHECKED` the judge is also shown a wrong answer (`_wrong`). The share of these that it calls
    correct is its rate of false accepts.
    """
    asked = Asked(own, first=before.count)
    for part in before.parts(("template_id", "accepted", "role", "index", "text", "status", "texts"), ("questions",)):
        links = part.links.join(part.own["questions"], on="item", how="left", maintain_order="left")
        answers = links.filter(role=ANSWER)
        firsts = answers.group_by("template_id").agg(pl.col("accepted").list.first().unique().sort())
        others = dict(firsts.iter_rows())
        for row in answers.iter_rows(named=True):
            answer = said(row["texts"][row["index"]]) if row["status"] == "ok" else ""
            if says_nothing(answer, options.unsure, row["accepted"]):
                continue
            shown = {VERDICT: answer}
            seed = seed_of(CHECK, before.model, row["text"], *row["accepted"])
            if seed % CHECKED == 0 and (wrong := _wrong(row, others[row["template_id"]], seed)):
                shown[CHECK] = wrong
            for role, text in shown.items():
                asked.link(row["item"], role, request(row["text"], row["accepted"], text, options.judge_examples))
        yield asked.take()
