"""Mines templates from text: the words between a subject and its object, ranked by the number of such pairs.

After Jiang et al. (LPAQA, section 3.1), who take the words between both names in sentences that contain both.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from almanac import punctuation
from almanac.dataset.names import ObjectNames
from almanac.rows import Evidence, Fact, Template
from almanac.tables import identity

ORIGIN = "mined"
MOST_WORDS = 10  # between the names; longer texts seldom express the relation
LEAST_SUPPORT = 2  # (subject, object) pairs: words that connect a single pair are no pattern
WORD = re.compile(punctuation.WORD)
LETTER = re.compile(r"[^\W\d_]")
BREAK = re.compile(rf"[.?!]\s|[？！؟{punctuation.STOPS[1:]}]|\n")


class NameSpan(NamedTuple):
    """The characters [start, end) of a text that a name takes up."""

    start: int
    end: int


def mine(
    evidence: Iterable[Evidence], facts: Sequence[Fact], names: ObjectNames, least: int = LEAST_SUPPORT
) -> list[Template]:
    """Mine templates from aligned text.

    A text yields at most one template for its fact: the words between the two closest mentions of subject and object.
    Both must be in one sentence, with at least one letter and at most `MOST_WORDS` words between them.

    Args:
        evidence: texts with the facts that they state; read once, in any order.
        facts: the facts whose texts are used. Leave out test facts: no question may influence its own prompt.
        names: names of subjects and objects; aliases count.
        least: the minimum support: the number of different (subject, object) pairs that a template connects.

    Returns:
        The templates by relation, then by falling support; ties: those that end in the object first, then by text.
    """
    wanted = {fact.fact_id: fact for fact in facts}
    pairs: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in evidence:
        fact = wanted.get(row.fact_id)
        if fact is not None and (text := connecting(row.text, fact, names)) is not None:
            pairs[fact.relation_id, text].add(row.fact_id)
    kept = [(*key, len(found)) for key, found in pairs.items() if len(found) >= least]
    kept.sort(key=lambda row: (row[0], -row[2], not row[1].endswith("[Y]"), row[1]))
    return [_template(relation_id, text) for relation_id, text, _ in kept]


def connecting(text: str, fact: Fact, names: ObjectNames) -> str | None:
    """Return the template that a text yields for its fact (``[X] … [Y]`` or ``[Y] … [X]``), or None."""
    subjects = list(_places(text, names.names(fact.subject_id)))
    objects = list(_places(text, names.names(fact.object_key)))
    between = [
        (len(WORD.findall(middle)), order, first.start, middle)
        for order, (before, after) in enumerate(((subjects, objects), (objects, subjects)))
        for first in before
        for second in after
        if first.end <= second.start and _connects(middle := text[first.end : second.start])
    ]
    if not between:
        return None
    _, order, _, middle = min(between)
    joined = f"{' ' * middle[0].isspace()}{' '.join(middle.split())}{' ' * middle[-1].isspace()}"
    return f"[X]{joined}[Y]" if order == 0 else f"[Y]{joined}[X]"


def _connects(middle: str) -> bool:
    return bool(LETTER.search(middle)) and not BREAK.search(middle) and len(WORD.findall(middle)) <= MOST_WORDS


def _places(text: str, names: Sequence[str]) -> Iterator[NameSpan]:
    """Yield each occurrence of a name as whole words, matching case."""
    for name in filter(None, names):
        at = text.find(name)
        while at >= 0:
            end = at + len(name)
            if not (at and text[at - 1].isalnum()) and not text[end : end + 1].isalnum():
                yield NameSpan(at, end)
            at = text.find(name, at + 1)


def _template(relation_id: str, text: str) -> Template:
    name = f"{relation_id}/{ORIGIN}/{identity(text)[:12]}"
    return Template(name, relation_id, text, "statement", ORIGIN, None, ())
