"""Templates: shipped with Almanac, made from a relation's label, or drafted by a model and kept by a person."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import ClassVar, NamedTuple

from almanac.dataset.names import STOP_WORDS
from almanac.dataset.text import normalise, singular
from almanac.errors import AlmanacError
from almanac.project import RESOURCES
from almanac.punctuation import ends_in_object, is_question, space_after, stands_in
from almanac.rows import Draft, Relation, Template
from almanac.tables import identity, read_jsonl

SLOTS = {"statement": (1, 1), "question": (1, 0)}  # required occurrences of [X] and [Y] by style
KEEP, DROP = "keep", "drop"
VERDICTS = (KEEP, DROP)
ORIGIN = "drafted"
LABEL = "label"  # the origin, and part of the id, of templates made from a relation's label
FOLDER = RESOURCES / "templates"
OF_PROPERTIES = [FOLDER / "lama.jsonl", FOLDER / "wikidata.jsonl"]
SHIPPED = "shipped"  # the origin of templates that ship for Wikidata properties
OF_A_GROUP = 2  # shipped templates of each group that a dataset gets
ANSWERED = "question_answer"  # the style of a group of questions, each followed by its answer slot
AUXILIARIES = ("is", "are", "was", "were", "has", "have", "had", "can")
# Past forms that are no passive participles before a preposition: `died in`.
PAST = re.compile(
    "acted|appeared|became|began|belonged|came|collaborated|competed|contributed|debuted|died|emigrated|fell|fought|"
    "graduated|grew|immigrated|lived|moved|occurred|participated|performed|played|ran|resulted|retired|sang|served|"
    "spoke|starred|studied|took|voted|went|worked"
)
PREPOSITION = re.compile(
    "of|in|at|by|with|for|from|to|on|after|as|under|near|into|over|through|against|between|via|before|during"
)
SLOT = re.compile(r"\[[XY]\]")
LIST_MARK = re.compile(r"^\s*(?:[-*•]|\(?\d{1,2}[.):])\s+")
QUOTES = "\"'“”‘’«»`"
# The first quotation mark of what stands between two others, if it closes: `[X]" was sung by "[Y]`.
CLOSES = re.compile(r'[^"“”«»]*[^\s"“”«»]["“”«»]')


class DraftedText(NamedTuple):
    """A template text that a model wrote for a relation."""

    relation_id: str
    style: str
    text: str
    parent_id: str | None


@dataclass(frozen=True, slots=True)
class TemplateGroup:
    """A row of a shipped file: a written template, then its paraphrases."""

    KEY: ClassVar = ("relation_id", "group")
    relation_id: str
    group: str
    style: str
    texts: tuple[str, ...]


def of_groups(path: Path) -> list[Template]:
    """Return the templates of a file of `TemplateGroup` rows; the first of a group is the parent of the others."""
    return [
        Template(f"{group}/{at}", row.relation_id, text, row.style, SHIPPED, f"{group}/0" if at else None, ())
        for row in read_jsonl(path, TemplateGroup)
        for group in [f"{row.relation_id}/{row.group}"]
        for at, text in enumerate(row.texts)
    ]


@cache
def of_properties() -> Mapping[str, Sequence[Template]]:
    """Return the shipped statements and questions by property: of each group the first `OF_A_GROUP` that end in [Y].

    Entailments are left out: they state something else, from which the fact follows.
    """
    found: dict[str, list[Template]] = defaultdict(list)
    taken: Counter[str] = Counter()
    for row in chain.from_iterable(map(of_groups, OF_PROPERTIES)):
        group = row.parent_id or row.template_id
        if row.style in ("statement", ANSWERED) and ends_in_object(row.text) and taken[group] < OF_A_GROUP:
            taken[group] += 1
            parent = row.parent_id if row.parent_id in {one.template_id for one in found[row.relation_id]} else None
            asked = row.text.removesuffix(" [Y].")
            text, style = (asked, "question") if row.style == ANSWERED else (row.text, row.style)
            found[row.relation_id].append(replace(row, text=text, style=style, parent_id=parent))
    return found


def renamed(row: Template, relation: str) -> Template:
    """Return a property's shipped template as a template of a relation, with ids that begin with the relation's."""

    def of_relation(template_id: str) -> str:
        return f"{relation}{template_id.removeprefix(row.relation_id)}"

    parent = None if row.parent_id is None else of_relation(row.parent_id)
    return replace(row, relation_id=relation, template_id=of_relation(row.template_id), parent_id=parent)


def with_shipped(own: Iterable[Template], relations: Iterable[Relation]) -> list[Template]:
    """Return the relations' own templates and, for styles a relation lacks, its property's shipped ones, sorted by id.

    A prefix counts as a statement. Drafts do not count, since they may be drafts of just these templates.
    """
    found = list(own)
    counted = (row for row in found if row.origin != ORIGIN)
    there = {(row.relation_id, "statement" if row.style == "prefix" else row.style) for row in counted}
    for relation in relations:
        name = relation.relation_id
        ships = of_properties().get(relation.property or "", ())
        found += [renamed(row, name) for row in ships if (name, row.style) not in there]
    return sorted(found, key=lambda row: row.template_id)


def first_line(text: str) -> str:
    """Return the first non-empty line of a text, skipping lines that end in a colon unless all lines do."""
    lines = [stripped for line in text.splitlines() if (stripped := line.strip())]
    return next((line for line in lines if not line.endswith((":", "："))), lines[0] if lines else "")


def cleaned(text: str) -> str:
    """Return the first line of a model's response without list marks, enclosing quotation marks and extra space."""
    first = LIST_MARK.sub("", first_line(text)).strip()
    if len(first) > 1 and first[0] in QUOTES and first[-1] in QUOTES and not CLOSES.match(first[1:-1]):
        first = first[1:-1]
    return " ".join(first.split())


@lru_cache(65536)
def folded(text: str) -> str:
    """Return a template in the form in which templates are compared: no case, single spaces, no punctuation but [ ]."""
    plain = (
        " " if unicodedata.category(char).startswith("P") and char not in "[]" else char for char in normalise(text)
    )
    return normalise("".join(plain))  # the inner call expands characters such as ⑴ to `(1)` before this one


def filled(text: str, subject: str, found: str) -> str:
    """Fill a template's slots with subject and object, in one pass: a name may itself contain `[X]` or `[Y]`."""
    return SLOT.sub(lambda slot: subject if slot[0] == "[X]" else found, text)


def in_full(template: Template) -> str:
    """Return a template's text; a prefix is completed by its object slot."""
    text = template.text.rstrip()
    return f"{text}{space_after(text)}[Y]." if template.style == "prefix" else template.text


def of_label(relation: Relation) -> Iterator[Template]:
    """Yield a statement and a question made from a relation's label or, if it has none, from its id."""
    own = relation.relation_id
    for style, text in zip(SLOTS, worded(relation.label.strip() or own), strict=True):
        yield Template(f"{own}/{LABEL}/{style}", own, text, style, LABEL, None, ())


def worded(label: str) -> tuple[str, str]:
    """Return a statement and a question made from a relation's label, read as a noun or as a predicate.

    A label is a predicate if it begins with an auxiliary verb, has a preposition after a participle (*located in time
    zone*), or ends in a preposition (*shares border with*). If a predicate does not begin with a verb (an auxiliary,
    one of `PAST`, or a word in -s), *is* is put before it. Noun: *The capital of [X] is [Y].*
    """
    words = label.lower().split()
    ends = {words[-1], words[1] if words[0].endswith("ed") else ""} if len(words) > 1 else set()
    if words[0] in AUXILIARIES or any(map(PREPOSITION.fullmatch, ends)):
        verb = words[0] in AUXILIARIES or PAST.fullmatch(words[0]) or singular(words[0]) != words[0]
        between = f"[X] {label}" if verb else f"[X] is {label}"
        return f"{between} [Y].", f"{between} {'whom or what' if words[-1] == 'by' else 'what'}?"
    return f"The {label} of [X] is [Y].", f"What is the {label} of [X]?"


def readings(text: str, sentence: str) -> set[tuple[str, ...]]:
    """Return all ways to read a sentence as a filled template: the texts of the slots, in the order of the slots."""
    parts = SLOT.split(text)
    long = len(sentence) > len(parts[0]) + len(parts[-1])
    if not (long and sentence.startswith(parts[0]) and sentence.endswith(parts[-1])):
        return set()
    rest = sentence[len(parts[0]) : len(sentence) - len(parts[-1])]
    if len(parts) == 2:
        return {(rest,)}
    middle = parts[1]
    places = range(1, len(rest) - len(middle))
    return {(rest[:at], rest[at + len(middle) :]) for at in places if rest.startswith(middle, at)}


def fault(text: str, style: str) -> str | None:
    """Return what is wrong with the form of a template, or None."""
    if not text:
        return "empty"
    subjects, objects = SLOTS[style]
    if text.count("[X]") != subjects or text.count("[Y]") != objects:
        return f"holds [X] {text.count('[X]')} times and [Y] {text.count('[Y]')}; needed are {subjects} and {objects}"
    if not folded(SLOT.sub(" ", text)):
        return "has no words"
    if style == "question" and not is_question(text):
        return "is no question"
    return None


def leak(text: str, names: Iterable[str]) -> str | None:
    """Return a name that a template contains as whole words, or None. Case counts: `may` is not May.

    Function words do not count, unless all their letters are capitals: India has the aliases `in` and IN.
    """
    bare = SLOT.sub(" ", text)
    for name in sorted(names, key=lambda one: (-len(one), one)):  # sorted, since sets have no fixed order
        function_word = name.lower() in STOP_WORDS and not name.isupper()
        if len(name) > 1 and not function_word and stands_in(name, bare):
            return name
    return None


def ambiguous(text: str, pairs: Iterable[tuple[str, str]]) -> str | None:
    """Return a filled template from which subject and object cannot be read back unambiguously, or None."""
    order = SLOT.findall(text)
    for subject, object_label in pairs:
        sentence = filled(text, subject, object_label)
        wanted = tuple(subject if slot == "[X]" else object_label for slot in order)
        if readings(text, sentence) != {wanted}:
            return sentence
    return None


def judge(
    written: Sequence[DraftedText],
    frozen: Sequence[Template],
    pairs: Mapping[str, Sequence[tuple[str, str]]],
    names: Mapping[str, Iterable[str]],
) -> list[Draft]:
    """Check the templates that a model wrote.

    Args:
        written: the texts as the model wrote them.
        frozen: existing templates.
        pairs: by relation, some facts as (subject label, object label); each must be readable from a filled template.
        names: by relation, all names of its objects; a template may contain none of them.

    Returns:
        One draft for each different text, sorted; faulty ones have the verdict ``drop`` and the reason. The parent is
        the template of which the text was written most often; ties go to none, then to the first id.
    """
    parents: dict[tuple[str, str, str], Counter[str | None]] = defaultdict(Counter)
    for item in written:
        parents[item.relation_id, item.style, cleaned(item.text)][item.parent_id] += 1
    taken = {(row.relation_id, row.style, folded(row.text)): row.template_id for row in frozen}
    # Of texts that compare equal the most frequent is kept; ties are broken alphabetically.
    ranked = sorted(parents.items(), key=lambda pair: (-pair[1].total(), pair[0]))
    out: list[Draft] = []
    for (relation_id, style, text), counts in ranked:
        template_id = f"{relation_id}/{ORIGIN}/{identity([style, text])[:12]}"
        key = (relation_id, style, folded(text))
        reason = fault(text, style)
        if reason is None and (found := leak(text, names.get(relation_id, ()))):
            reason = f"names the object {found!r}"
        if reason is None and key in taken:
            reason = f"says the same as {taken[key]}"
        if reason is None and (sentence := ambiguous(text, pairs.get(relation_id, ()))):
            reason = f"subject and object cannot be read back from {sentence!r}"
        if reason is None:
            taken[key] = template_id
        verdict = KEEP if reason is None else DROP
        parent = min(counts, key=lambda name: (-counts[name], name or ""))
        out.append(Draft(template_id, relation_id, text, style, parent, counts.total(), None, verdict, reason))
    return sorted(out, key=lambda row: row.template_id)


def merged(frozen: Sequence[Template], drafts: Sequence[Draft], where: str) -> list[Template]:
    """Return frozen templates plus the drafts marked ``keep``; a frozen template wins over an equal draft.

    Args:
        frozen: existing templates; none of them changes.
        drafts: drafts with the verdicts of a person.
        where: the drafts' file, for messages.

    Raises:
        AlmanacError: naming the draft, if its verdict or style is unknown or a text to be kept is invalid.
    """
    out = {row.template_id: row for row in frozen}
    taken = {(row.relation_id, row.style, folded(row.text)) for row in frozen}
    for draft in sorted(drafts, key=lambda row: row.template_id):
        if draft.verdict not in VERDICTS:
            raise AlmanacError(f"{where}: {draft.template_id}: verdict {draft.verdict!r}; allowed are keep and drop")
        if draft.style not in SLOTS:
            raise AlmanacError(f"{where}: {draft.template_id}: style {draft.style!r}; allowed are {', '.join(SLOTS)}")
        if draft.verdict == DROP:
            continue
        if reason := fault(draft.text, draft.style):
            raise AlmanacError(f"{where}: {draft.template_id}: {draft.text!r} {reason}; mend it or say drop")
        key = (draft.relation_id, draft.style, folded(draft.text))
        if key in taken or draft.template_id in out:
            continue
        taken.add(key)
        out[draft.template_id] = Template(
            draft.template_id, draft.relation_id, draft.text, draft.style, ORIGIN, draft.parent_id, ()
        )
    return sorted(out.values(), key=lambda row: row.template_id)
