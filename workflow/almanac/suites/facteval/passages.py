"""The passage before a question: one that states the fact, one about something else, or one that states it falsely.

Names are matched in a text as whole words, ignoring case except for the shortest.
"""

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from almanac.dataset.templates import filled
from almanac.rows import Fact
from almanac.suites.data import Data
from almanac.suites.facteval.distractors import ObjectPool, WrongObjects, alike
from almanac.suites.facteval.options import FactEvalOptions
from almanac.suites.facteval.questions import ANTIFACTUAL, IRRELEVANT, NONE, POOLS, RELEVANT, Wording
from almanac.tables import seed_of

EVIDENCE, SENTENCE = "evidence", "template"
PURPOSE = "passage"
TRIES = 8
SHORT = 3  # names up to this long count in their own case alone: `US` is no `us`, `May` no `may`


@dataclass(frozen=True)
class Passage:
    """What is read before the questions of one fact: a passage, or nothing.

    Attributes:
        context: ``none``, ``relevant``, ``irrelevant`` or ``antifactual``.
        text: what is read; none: nothing, and so all that follows.
        origin: ``evidence`` (a text of the source) or ``template`` (a sentence made of the fact).
        stated: the label of the wrong object that it names, if it names one.
        mentions_subject: whether it names the question's subject.
        mentions_object: whether it names a true object.
    """

    context: str
    text: str | None = None
    origin: str | None = None
    stated: str | None = None
    mentions_subject: bool | None = None
    mentions_object: bool | None = None

    @property
    def traits(self) -> tuple[str | None, bool | None, bool | None, bool | None]:
        """What of it `QuestionTraits` holds, in their order; an antifactual one in which nothing changed is none."""
        changed = True if self.context == ANTIFACTUAL else None
        return self.origin, changed, self.mentions_subject, self.mentions_object


class Passages:
    """The passages of a dataset's facts: evidence where a fact has any, otherwise a sentence of a template."""

    def __init__(
        self, data: Data, worded: Mapping[str, Wording], wrong: WrongObjects, options: FactEvalOptions
    ) -> None:
        """Index the facts by what they say, where another's passage may be read, and their texts."""
        self._names, self._worded, self._wrong, self._options = data.names, worded, wrong, options
        self._texts: dict[str, list[str]] = defaultdict(list)
        for row in data.evidence:
            self._texts[row.fact_id].append(row.text)
        self._saying: dict[tuple[str, str], dict[str, Fact]] = defaultdict(dict)
        for fact in data.facts if IRRELEVANT in options.contexts else ():
            self._saying[fact.relation_id, fact.object_key][fact.fact_id] = fact
        self._pools: dict[tuple[str, str], ObjectPool] = {}

    def of(self, fact: Fact, context: str) -> Passage | str:
        """Return a fact's passage of a kind, or the reason why there is none."""
        if context == NONE:
            return Passage(NONE)
        subject = self._names.names(fact.subject_id)
        true = [name for key in self._wrong.true[fact.relation_id, fact.subject_id] for name in self._names.names(key)]
        said, stated = fact, None
        if context != RELEVANT:
            where = self._options.antifactual if context == ANTIFACTUAL else "relation"
            found = self._wrong.draw(fact, where, 1, PURPOSE)
            if not found:
                return f"no object of {POOLS[where]} is false of its subject"
            stated = self._names.label(found[0])
            if context == IRRELEVANT:
                other = self._saying_it(fact, found[0])
                if other is None:
                    return f"every fact of {stated!r} has a subject of the same name"
                said = other
        text, origin = self._about(said)
        if stated is not None and context == ANTIFACTUAL:
            before, text = text, stated.join(parts_around(text, true, subject))
            if text == before:
                return f"its passage names no true object that {stated!r} could replace"
        return Passage(context, text, origin, stated, names_in(text, subject), names_in(text, true))

    def _about(self, fact: Fact) -> tuple[str, str]:
        """Return a text that says a fact, and where it is from.

        Of several texts the first counts that names subject and object; then one that names the object; then the first.
        """
        texts = self._texts.get(fact.fact_id)
        if not texts:
            # Not the statement that asks, where there is another: a passage that repeats the question gives it away.
            text = self._worded[fact.relation_id].spare
            return filled(text, self._names.label(fact.subject_id), self._names.label(fact.object_key)), SENTENCE
        subject, found = self._names.names(fact.subject_id), self._names.names(fact.object_key)
        return max(texts, key=lambda text: (names_in(text, found), names_in(text, subject))), EVIDENCE

    def _saying_it(self, fact: Fact, key: str) -> Fact | None:
        """Draw a fact of the same relation with a given object, whose subject has another name; none if there is none.

        The object is drawn first: so the draw takes no longer where most facts share theirs.
        """
        pair = fact.relation_id, key
        if pair not in self._pools:
            self._pools[pair] = ObjectPool(self._saying[pair])
        pool, subject = self._pools[pair], alike(self._names.label(fact.subject_id))
        identity = (self._options.seed, PURPOSE, "fact", fact.fact_id)
        drawn = (pool.draw(Random(seed_of(*identity, at))) for at in range(TRIES))
        for fact_id in itertools.chain(drawn, pool.keys):
            other = self._saying[pair][fact_id]
            if alike(self._names.label(other.subject_id)) != subject:
                return other
        return None


def _pattern(name: str) -> str:
    return re.escape(name) if len(name) <= SHORT else f"(?i:{re.escape(name)})"


def _words(names: Iterable[str]) -> "re.Pattern[str]":
    longest_first = sorted({name for name in names if name.strip()}, key=lambda name: (-len(name), name))
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(_pattern, longest_first))})(?!\w)")


def names_in(text: str, names: Sequence[str], kept: Sequence[str] = ()) -> bool:
    """Whether one of the names stands in a text; see `parts_around`."""
    return len(parts_around(text, names, kept)) > 1


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
    # Most names stand nowhere: a look at the letters spares the pattern.
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
