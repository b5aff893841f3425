"""What of a generated text is the answer: what follows its thinking, up to the texts that it stops at."""

import re
from collections.abc import Sequence

BLANK_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")
# What opens a block of thinking and what ends it: of DeepSeek-R1 and Qwen3; of Magistral and Ministral; of Gemma 4.
BLOCKS = {"<think>": "</think>", "[THINK]": "[/THINK]", "<|channel>": "<channel|>"}
FINAL = "<|channel|>final<|message|>"  # gpt-oss: what stands in other channels is not the answer.
THINKING = {**BLOCKS, "<|channel|>": FINAL}
# Kept in texts, also where they are special tokens.
THINKING_TAGS = (*BLOCKS, *BLOCKS.values(), "<|channel|>", "<|message|>")
NO_ROOM = (
    "the model thinks before it answers, and its text ends before the answer does ({} new tokens at most); raise "
    "thinking_tokens, or switch its thinking off (docs/wrappers.md)"
)


def may_end(text: str) -> bool:
    """Return whether thinking can have ended in a text, which may lack its beginning."""
    return any(end in text for end in THINKING.values())


def opened(text: str) -> str | None:
    """Return what ends the block of thinking that a text has just opened where it ends; none where it opens none."""
    return next((end for mark, end in BLOCKS.items() if text.rstrip().endswith(mark)), None)


def closed(text: str) -> str | None:
    """Return the first end of a block of thinking that stands in a text; none where there is none."""
    return min(filter(text.__contains__, BLOCKS.values()), key=text.find, default=None)


def after_thinking(text: str, ends: str | None = None) -> str | None:
    """Return what a text says after its thinking: all of one that does not think, none where it ends within it.

    Args:
        text: what was generated, as far as it goes.
        ends: what ends the thinking where the text does not open it itself, but what stands before it; none: it does.
    """
    begun = text.lstrip()
    ends = next((end for mark, end in THINKING.items() if begun.startswith(mark)), ends)
    if ends is None:
        return text
    _, found, rest = text.partition(ends)
    answer = rest.lstrip()
    return after_thinking(answer, closed(answer)) if found else None


def thinks(text: str) -> bool:
    """Return whether a text thinks of anything before its answer, if it comes to one; an empty block is no thinking."""
    answer = after_thinking(text)
    if answer is None:
        return True
    before = text[: len(text) - len(answer)]
    for tag in (FINAL, *THINKING_TAGS):
        before = before.replace(tag, "")
    return bool(before.strip().removeprefix("thought").strip())  # Gemma's name of its channel.


def said(text: str, stops: Sequence[str]) -> tuple[str, bool]:
    """Return what is said before the first of the texts that it stops at, and whether one of them was met.

    White space alone, as the line break that ends an answer of one line, ends a text that has begun: a line break
    before any word ends nothing, and blank lines there are left out. What is said is the first line that is not empty.

    Args:
        text: what was generated, as far as it goes.
        stops: texts that it stops at.
    """
    begin = len(text) - len(text.lstrip())
    places = [text.find(stop, begin if stop.isspace() else 0) for stop in stops if stop]
    met = [place for place in places if place >= 0]
    before = text[: min(met, default=len(text))]
    if any(map(str.isspace, stops)):
        before = BLANK_LINES.sub("", before)
    return before, bool(met)
