"""Where names stand in a text: as words of their own, in any case but for the shortest."""

import re
from collections.abc import Iterable, Sequence

SHORT = 3  # names up to this long count in their own case alone: `US` is no `us`, `May` no `may`


def _pattern(name: str) -> str:
    return re.escape(name) if len(name) <= SHORT else f"(?i:{re.escape(name)})"


def _words(names: Iterable[str]) -> "re.Pattern[str]":
    longest_first = sorted({name for name in names if name.strip()}, key=lambda name: (-len(name), name))
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(_pattern, longest_first))})(?!\w)")


def names_in(text: str, names: Sequence[str]) -> bool:
    """Whether one of the names stands in a text."""
    folded = text.casefold()
    # Most names stand nowhere: a look at the letters spares the pattern.
    near = [name for name in names if name.strip() and name.casefold() in folded]
    return bool(near) and _words(near).search(text) is not None


def parts_around(text: str, names: Sequence[str], kept: Sequence[str] = ()) -> tuple[str, ...]:
    """Divide a text at every place where one of the names stands.

    Args:
        text: any text.
        names: where to divide; of names within each other the longest counts.
        kept: names of other things, in which no name is looked for (`Hampton` within `Hampton County`).

    Returns:
        The parts between; the text alone where no name stands.
    """
    folded = text.casefold()
    near = [name for name in names if name.strip() and name.casefold() in folded]
    if not near:
        return (text,)
    protected = {name.casefold() for name in kept}
    parts, start = [], 0
    for found in _words([*near, *kept]).finditer(text):
        if found[0].casefold() not in protected:
            parts.append(text[start : found.start()])
            start = found.end()
    return (*parts, text[start:])
