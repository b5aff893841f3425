"""Where a generated text ends: before the texts that it stops at, whatever generates it."""

import re
from collections.abc import Sequence

BLANK_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")


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
