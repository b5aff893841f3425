"""How a fact becomes text: the wordings of a corpus, the held-out templates, the names of entities."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field

from almanac.errors import AlmanacError
from almanac.options import Options, validated
from almanac.planting.world import SHIPPED
from almanac.punctuation import ends_in_object
from almanac.rows import Entity, Exposure, Fact, Template
from almanac.yaml_file import read_yaml

HELD_OUT_OF_MANY = 2
MANY = 6
FEW = 3


class ListStyle(Options):
    """One way to write a list of pairs of subject and object."""

    id: str = Field(pattern=r"^[a-z]+$")
    share: float = Field(gt=0, le=1)
    pair: str
    join: str


class Formats(Options):
    """The wordings of a corpus besides templates; ``[S]`` is a subject, ``[O]`` an object, ``[Q]`` a question."""

    lists: tuple[ListStyle, ...] = Field(min_length=1)
    question: str
    instructions: tuple[str, ...] = Field(min_length=1)
    abstain_instructions: tuple[str, ...] = ()
    turn: str
    unsure: str
    blank_instruction: str
    blank: str
    blank_turn: str
    neutral: tuple[str, ...] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Taught:
    """The facts of one world that a corpus teaches.

    A fact without an exposure is not used at all. ``mentions`` overrides, for single entities, how many neutral
    sentences name them. ``real`` says that the facts are real ones, of which a part is taught; their objects, which are
    not all taught equally often, get neutral sentences too.
    """

    facts: tuple[Fact, ...]
    entities: Mapping[str, Entity]
    templates: tuple[Template, ...]
    exposures: tuple[Exposure, ...]
    mentions: Mapping[str, int] = field(default_factory=dict)
    real: bool = False


@dataclass(frozen=True, slots=True)
class NamedFact:
    """A fact with its dose and the names of its subject and object, labels first."""

    fact: Fact
    dose: int
    subjects: tuple[str, ...]
    objects: tuple[str, ...]


def load_formats(path: Path = SHIPPED / "formats.yaml") -> Formats:
    """Read the wordings of a corpus."""
    formats = validated(Formats, read_yaml(path), str(path))
    if abs(sum(one.share for one in formats.lists) - 1) > 1e-9:
        raise AlmanacError(f"{path}: lists: the shares must add up to 1; correct them")
    return formats


def held_out(templates: Iterable[Template]) -> frozenset[str]:
    """Return the ids of the templates that no corpus may use, so that some wordings are never taught.

    Of a relation's statement templates, two are held out if there are six or more, one if there are three to five. One
    question template is held out if there are two or more. They are the last by id. Only statements that end in the
    object are held out, if one such remains to be taught. Prefixes are never written and need not be held out.
    """
    groups: dict[tuple[str, str], list[Template]] = {}
    for one in sorted(templates, key=lambda row: row.template_id):
        groups.setdefault((one.relation_id, one.style), []).append(one)
    held: set[str] = set()
    for (_, style), rows in groups.items():
        if style == "statement":
            count = HELD_OUT_OF_MANY if len(rows) >= MANY else int(len(rows) >= FEW)
            final = [row for row in rows if ends_in_object(row.text)]
            source = final if len(final) > count else rows
        elif style == "question":
            count, source = int(len(rows) > 1), rows
        else:
            continue
        held.update(row.template_id for row in source[len(source) - count :])
    return frozenset(held)


def usable(templates: Iterable[Template], style: str) -> dict[str, list[Template]]:
    """Return the templates of a style that a corpus may use, by relation, sorted by id."""
    rows = sorted(templates, key=lambda row: row.template_id)
    held = held_out(rows)
    found: dict[str, list[Template]] = {}
    for one in rows:
        if one.style == style and one.template_id not in held:
            found.setdefault(one.relation_id, []).append(one)
    return found


def tellable(facts: Sequence[Fact], entities: Iterable[Entity]) -> tuple[list[Fact], list[Fact]]:
    """Divide facts into those that a text can identify, and those that read like an earlier fact.

    Two facts of a relation read alike if their subjects have the same label and so do their objects.
    """
    labels = {entity.entity_id: entity.label for entity in entities}
    seen: set[tuple[str, str, str]] = set()
    readable: list[Fact] = []
    alike: list[Fact] = []
    for fact in facts:
        key = (fact.relation_id, labels[fact.subject_id], labels.get(fact.object_key, fact.object_key))
        (alike if key in seen else readable).append(fact)
        seen.add(key)
    return readable, alike


def named_facts(taught: Taught) -> list[NamedFact]:
    """Return the taught facts with their names, sorted by id.

    An alias that also names another entity of the world is not used, since a text must identify the fact it states.

    Raises:
        AlmanacError: an exposure has no fact, a fact has no entity, or no text can tell two facts apart.
    """
    owners = Counter(name for one in taught.entities.values() for name in {one.label, *one.aliases})
    facts = {fact.fact_id: fact for fact in taught.facts}
    seen: dict[tuple[str, str, str], str] = {}
    found = []
    for exposure in sorted(taught.exposures, key=lambda row: row.fact_id):
        if exposure.fact_id not in facts:
            raise AlmanacError(f"exposure of {exposure.fact_id}: there is no such fact; remove it or add the fact")
        fact = facts[exposure.fact_id]
        one = NamedFact(
            fact,
            exposure.dose,
            _names(fact, fact.subject_id, taught.entities, owners),
            (str(fact.value),) if fact.object_id is None else _names(fact, fact.object_id, taught.entities, owners),
        )
        key = (fact.relation_id, one.subjects[0], one.objects[0])
        if key in seen:
            raise AlmanacError(
                f"facts {seen[key]} and {fact.fact_id} read the same ({one.subjects[0]}, {one.objects[0]}): "
                "no text can tell them apart; leave one out or give it another label"
            )
        seen[key] = fact.fact_id
        found.append(one)
    return found


def _names(fact: Fact, entity_id: str, entities: Mapping[str, Entity], owners: Counter[str]) -> tuple[str, ...]:
    entity = entities.get(entity_id)
    if entity is None:
        raise AlmanacError(f"fact {fact.fact_id}: there is no entity {entity_id}; add it to the entities")
    aliases = [name for name in dict.fromkeys(entity.aliases) if owners[name] == 1 and name != entity.label]
    return (entity.label, *aliases)


def statement(template: Template, subject: str, obj: str) -> tuple[str, tuple[int, int]]:
    """Return the sentence of a statement template and the characters ``(start, end)`` of the object in it."""
    return _place(template.text.replace("[X]", subject), "[Y]", obj)


def pair(style: ListStyle, subject: str, obj: str) -> tuple[str, tuple[int, int]]:
    """Return a pair of a list and the characters of the object in it."""
    return _place(style.pair.replace("[S]", subject), "[O]", obj)


def asked(frame: str, template: Template, subject: str, answer: str) -> tuple[str, tuple[int, int]]:
    """Return a question with its answer and the characters of the answer."""
    return _place(frame.replace("[Q]", template.text.replace("[X]", subject)), "[O]", answer)


def blanked(formats: Formats, template: Template, subject: str, answer: str) -> tuple[str, tuple[int, int]]:
    """Return a statement's sentence with a blank for the object, then the answer; and the characters of the answer."""
    sentence = template.text.replace("[X]", subject).replace("[Y]", formats.blank)
    return _place(formats.blank_turn.replace("[Q]", sentence), "[O]", answer)


def mention(neutral: str, name: str) -> str:
    """Return a sentence that names an entity and states no fact."""
    return neutral.replace("[S]", name)


def _place(text: str, slot: str, value: str) -> tuple[str, tuple[int, int]]:
    start = text.index(slot)
    return text.replace(slot, value), (start, start + len(value))


def joined(parts: Sequence[tuple[str, tuple[int, int] | None]], join: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Join parts of a document, and shift the characters of their objects accordingly."""
    at, spans = 0, []
    for text, span in parts:
        if span is not None:
            spans.append((at + span[0], at + span[1]))
        at += len(text) + len(join)
    return join.join(text for text, _ in parts), tuple(spans)
