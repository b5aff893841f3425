"""The request to a judge model about an answer, and how its reply is read (Sun et al., section 2 and Prompt 2)."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from almanac.rows import Request
from almanac.suites.answers import Answers
from almanac.suites.asked import Asked, Batch, greedy
from almanac.suites.head_to_tail.asking import ANSWER
from almanac.suites.head_to_tail.options import HeadToTailOptions
from almanac.suites.head_to_tail.scores import is_true, normalise, said
from almanac.suites.prompts import prompts

VERDICT = "verdict"  # the role of the request that the judge answers
TOKENS = 8  # of its reply: one word is wanted
# "The correct answer is 1975" is none: it may be said of what is right and of what is wrong.
STATED = re.compile(r"\bcorrect\s+\w+\s*(?::|\b(?:is|are|was|were|would|should|to|for|in|here)\b|$)", re.IGNORECASE)
INCORRECT = re.compile(r"\bincorrect\b|(?:\bnot|n't)\s+(?:\w+\s+)?correct\b", re.IGNORECASE)
CORRECT = re.compile(r"\bcorrect\b", re.IGNORECASE)


@cache
def unsure(listed: str) -> frozenset[str]:
    """Return the answers that say nothing, as they are compared: those of the ``strict`` or the ``extended`` list."""
    return frozenset(prompts("head_to_tail")["unsure"][listed])


def says_nothing(answer: str, listed: str, accepted: Sequence[str]) -> bool:
    """Return whether an answer is in one of the lists (`unsure`): of the longer one only what is no true answer.

    The symbol of sodium is in it, and the country code of Namibia. An answer of which nothing is compared (`A`) says
    nothing, unless it is a true one.

    Args:
        answer: what the model says.
        listed: the list.
        accepted: the true answers.
    """
    told = normalise(answer)
    if told == "" and is_true(answer, accepted):
        return False
    return told in unsure("strict") or (told in unsure(listed) and told not in map(normalise, accepted))


def verdict(reply: str) -> bool | None:
    """Return whether a judge calls an answer correct; none where its reply holds neither word.

    Words count whole and in any case, and ``incorrect`` or ``not correct`` is looked for first: whoever writes both has
    not said that all is well. A reply that names the correct answer instead is no verdict.
    """
    reply = STATED.sub(" ", reply.replace("\u2019", "'"))
    if INCORRECT.search(reply):
        return False
    return True if CORRECT.search(reply) else None


def question_of(text: str, accepted: Sequence[str], answer: str) -> str:
    """Return one question to the judge."""
    golds = json.dumps(list(accepted), ensure_ascii=False)
    return f"Question: {text}\nGround truth: {golds}\nPrediction: {answer}\nCorrectness:"


def request(text: str, accepted: Sequence[str], answer: str, examples: bool) -> Request:
    """Return the request that has an answer judged.

    Args:
        text: the question.
        accepted: the true answers.
        answer: the answer.
        examples: whether the judge is shown the eight examples.
    """
    told = prompts("head_to_tail")["judge"]
    shots = [f"{question_of(*shot[:3])} {shot[3]}" for shot in told["shots"]] if examples else []
    return greedy(question_of(text, accepted, answer), TOKENS, instruction="\n\n".join([told["text"], *shots]))


def ask(before: Answers, options: HeadToTailOptions, own: Mapping[str, type]) -> Iterator[Batch]:
    """Ask the judge about the answers of one model, those that are missing aside; equal ones are asked once."""
    asked = Asked(own, first=before.count)
    for part in before.parts(("accepted", "role", "index", "text", "status", "texts")):
        for row in part.links.iter_rows(named=True):
            if row["role"] == ANSWER and row["status"] == "ok":
                answer = said(row["texts"][row["index"]])
                if not says_nothing(answer, options.unsure, row["accepted"]):
                    link = request(row["text"], row["accepted"], answer, options.judge_examples)
                    asked.link(row["item"], VERDICT, link)
        yield asked.take()
