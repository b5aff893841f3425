"""What of a generated text is the answer: what follows its thinking, up to the texts that it stops at."""

import re
from collections.abc import Sequence

BLANK_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")
THINK, THOUGHT = "<think>", "</think>"  # DeepSeek-R1's and Qwen3's.
FINAL = "<|channel|>final<|message|>"  # gpt-oss: what stands in other channels is not the answer.
THINKING = {THINK: THOUGHT, "<|channel|>": FINAL}
THINKING_TAGS = (THINK, THOUGHT, "<|channel|>", "<|message|>")  # Kept in texts, also where they are special tokens.
NO_ROOM = (
    "the model thinks before it answers, and its text ends before the answer does ({} new tokens at most); raise "
    "thinking_tokens, or switch its thinking off (docs/wrappers.md)"
)


def may_end(text: str) -> bool:
    """Return whether thinking can have ended in a text, which may lack its beginning."""
    return any(end in text for end in THINKING.values())


def opens(text: str) -> bool:
    """Return whether a text ends in a block of thinking that it has just opened."""
    return text.rstrip().endswith(THINK)


def after_thinking(text: str, opened: bool = False) -> str | None:
    """Return what a text says after its thinking: all of one that does not think, none where it ends within it.

    Args:
        text: what was generated, as far as it goes.
        opened: whether what stands before the text opens its thinking.
    """
    begun = text.lstrip()
    ends = THOUGHT if opened else next((end for mark, end in THINKING.items() if begun.startswith(mark)), None)
    if ends is None:
        return text
    _, found, answer = text.partition(ends)
    return after_thinking(answer.lstrip()) if found else None


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
