"""Cuts the answer out of a generated text: it follows the model's thinking and ends before the first stop string."""

import re
from collections.abc import Sequence

BLANK_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")
# Marks that begin and end a block of thinking: of DeepSeek-R1 and Qwen3; of Magistral and Ministral; of Gemma 4.
BLOCKS = {"<think>": "</think>", "[THINK]": "[/THINK]", "<|channel>": "<channel|>"}
FINAL = "<|channel|>final<|message|>"  # gpt-oss: text in other channels is not the answer.
THINKING = {**BLOCKS, "<|channel|>": FINAL}
# Kept when ids are decoded, even if they are special tokens.
THINKING_TAGS = (*BLOCKS, *BLOCKS.values(), "<|channel|>", "<|message|>")
NO_ROOM = (
    "the model thinks before it answers, and its text ends before the answer does ({} new tokens at most); raise "
    "thinking_tokens, or switch its thinking off (docs/wrappers.md)"
)


def may_end(text: str) -> bool:
    """Return whether a text, or the end of one, holds a mark that may end thinking."""
    return any(end in text for end in THINKING.values())


def opened_block_end(text: str) -> str | None:
    """Return the end mark of the block of thinking that the end of a text opens; None if it opens none."""
    return next((end for mark, end in BLOCKS.items() if text.rstrip().endswith(mark)), None)


def closed_block_end(text: str) -> str | None:
    """Return the first end mark of a block of thinking in a text; None if there is none."""
    return min(filter(text.__contains__, BLOCKS.values()), key=text.find, default=None)


def after_thinking(text: str, ends: str | None = None) -> str | None:
    """Return the text after its thinking: all of it if it does not think, None if it ends while thinking.

    Args:
        text: the generated text, which may be unfinished.
        ends: the end mark of a block of thinking that the prompt opened; None if it opened none.
    """
    begun = text.lstrip()
    ends = next((end for mark, end in THINKING.items() if begun.startswith(mark)), ends)
    if ends is None:
        return text
    _, found, rest = text.partition(ends)
    answer = rest.lstrip()
    return after_thinking(answer, closed_block_end(answer)) if found else None


def thinks(text: str) -> bool:
    """Return whether a text thinks, whether or not it reaches an answer; an empty block does not count."""
    answer = after_thinking(text)
    if answer is None:
        return True
    before = text[: len(text) - len(answer)]
    for tag in (FINAL, *THINKING_TAGS):
        before = before.replace(tag, "")
    return bool(before.strip().removeprefix("thought").strip())  # The name of Gemma's channel.


def before_stop(text: str, stops: Sequence[str]) -> tuple[str, bool]:
    """Return the text before the first stop string, and whether it holds one.

    A stop string of white space only, such as the line break that ends an answer of one line, counts only after the
    first word; blank lines before that word are removed. So the answer is the first line that is not empty.

    Args:
        text: the generated text, which may be unfinished.
        stops: the stop strings.
    """
    begin = len(text) - len(text.lstrip())
    places = [text.find(stop, begin if stop.isspace() else 0) for stop in stops if stop]
    met = [place for place in places if place >= 0]
    before = text[: min(met, default=len(text))]
    if any(map(str.isspace, stops)):
        before = BLANK_LINES.sub("", before)
    return before, bool(met)
