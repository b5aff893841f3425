"""The invented world: entities, relations and facts in a block design, so that nothing but exposure reveals a dose."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from almanac.dataset.invented import Names, Shape
from almanac.errors import AlmanacError
from almanac.options import Options, validated
from almanac.planting.options import Feature, WorldOptions
from almanac.project import RESOURCES
from almanac.rows import Entity, Exposure, Fact, Popularity, Relation, Template
from almanac.tables import seed_of
from almanac.yaml_file import read_yaml

SHIPPED = RESOURCES / "planting"
SOURCE = "invented"
BUCKETS = {"head": 32, "torso": 8, "tail": 2}
TRAIN_OF = 4  # one fact in four has the split train, for shots and instruct documents


class SubjectClass(Options):
    """A class of subjects and the shape of their names."""

    shape: Shape


class Pool(Options):
    """Objects of one kind: invented words, or years."""

    capital: bool = True
    years: tuple[int, int] | None = None
    feature: Feature | None = None


class RelationDesign(Options):
    """A relation of a class of subjects, and its templates."""

    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    label: str
    subject: str
    object: str
    feature: Literal["several_objects", "dates"] | None = None
    statements: tuple[str, ...] = Field(min_length=1)
    questions: tuple[str, ...] = Field(min_length=1)
    prefix: str | None = None


class Design(Options):
    """The classes of subjects, pools of objects and relations of an invented world."""

    classes: dict[str, SubjectClass]
    pools: dict[str, Pool]
    relations: tuple[RelationDesign, ...]


@dataclass(frozen=True, slots=True)
class World:
    """An invented world as table rows; ``exposures`` holds the planned dose of every fact."""

    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...]
    facts: tuple[Fact, ...]
    templates: tuple[Template, ...]
    exposures: tuple[Exposure, ...]
    popularity: tuple[Popularity, ...] = ()


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the block design: an object at a dose, in the split train or test."""

    object_key: str
    dose: int
    split: str


def load_design(path: Path = SHIPPED / "world.yaml") -> Design:
    """Read the design of an invented world."""
    design = validated(Design, read_yaml(path), str(path))
    for relation in design.relations:
        if relation.subject not in design.classes or relation.object not in design.pools:
            raise AlmanacError(
                f"{path}: relation {relation.id}: subject {relation.subject!r} must be one of {sorted(design.classes)} "
                f"and object {relation.object!r} one of {sorted(design.pools)}; correct it"
            )
    return design


def _chosen(design: Design, options: WorldOptions) -> list[RelationDesign]:
    plain = [one for one in design.relations if one.feature is None][: options.relations]
    return plain + [one for one in design.relations if one.feature in options.features]


def _pool(names: Names, kind: str, pool: Pool, options: WorldOptions, seed: int) -> list[Entity]:
    """Return the objects of a pool; the id of a year is the year itself, since years are literals."""
    draw = random.Random(seed_of(seed, "pool", kind))
    if pool.years:
        first, last = pool.years
        if (there := last - first + 1) < options.objects:
            raise AlmanacError(
                f"objects: {options.objects} are more than the years from {first} to {last}; set at most "
                f"{there - there % 4}, or leave dates out of the features"
            )
        return [
            Entity(str(year), str(year), (), "year") for year in draw.sample(range(first, last + 1), options.objects)
        ]
    return [
        Entity(f"{SOURCE}:{kind}:{index:03d}", names.word(kind, index, (2, 2), pool.capital), (), kind)
        for index in range(options.objects)
    ]


def _cells(relation_id: str, objects: Sequence[Entity], options: WorldOptions, seed: int) -> list[list[Cell]]:
    """Return the block design of a relation: for each dose, one cell per object, in a seeded order.

    An object's cell is for training at every fourth dose, starting at a different dose for each object. So a quarter of
    the facts of each dose is for training and, with eight doses, two facts of each object are.
    """
    order = random.Random(seed_of(seed, "places", relation_id)).sample(range(len(objects)), len(objects))
    place = dict(zip(order, range(len(objects)), strict=True))
    blocks = []
    for number, dose in enumerate(options.doses):
        cells = [
            Cell(one.entity_id, dose, "train" if (place[index] - number) % TRAIN_OF == 0 else "test")
            for index, one in enumerate(objects)
        ]
        random.Random(seed_of(seed, "cells", relation_id, dose)).shuffle(cells)
        blocks.append(cells)
    return blocks


def _paired(relation_id: str, blocks: list[list[Cell]], seed: int) -> list[list[tuple[Cell, ...]]]:
    """Pair cells of equal dose and split, for subjects with two objects.

    If a dose has an odd number of train cells, one of them becomes a test cell.
    """
    paired = []
    for cells in blocks:
        train = [cell for cell in cells if cell.split == "train"]
        test = [cell for cell in cells if cell.split == "test"]
        if len(train) % 2:
            test.append(Cell(train[-1].object_key, train[-1].dose, "test"))
            train = train[:-1]
        joined = [(*train[at : at + 2],) for at in range(0, len(train), 2)]
        joined += [(*test[at : at + 2],) for at in range(0, len(test), 2)]
        random.Random(seed_of(seed, "pairs", relation_id, cells[0].dose)).shuffle(joined)
        paired.append(joined)
    return paired


def _subject_order(
    relation_id: str, subjects: Sequence[Entity], wanted: int, bucket_of: dict[str, str], seed: int, turn: int
) -> list[Entity]:
    """Return ``wanted`` subjects, equally many of each bucket, in the order in which they are dealt to doses.

    The order goes bucket by bucket, seeded within each. Dealing the subjects in turn to the doses then gives each dose
    the same number of every bucket, to within one. If there are buckets, the order is rotated by ``turn``, which
    differs between relations, so that over all relations no dose has more subjects of a bucket.
    """
    ordered: list[Entity] = []
    for bucket in sorted({bucket_of.get(one.entity_id, "") for one in subjects}):
        members = [one for one in subjects if bucket_of.get(one.entity_id, "") == bucket]
        random.Random(seed_of(seed, "subjects", relation_id, bucket)).shuffle(members)
        ordered += members[: -(-len(members) * wanted // len(subjects))]
    turn = turn % wanted if bucket_of else 0
    return ordered[turn:wanted] + ordered[:turn]


def _facts(
    relation: RelationDesign,
    subjects: Sequence[Entity],
    objects: Sequence[Entity],
    bucket_of: dict[str, str],
    turn: int,
    options: WorldOptions,
    seed: int,
) -> tuple[list[Fact], list[Exposure]]:
    blocks = _cells(relation.id, objects, options, seed)
    groups: list[list[tuple[Cell, ...]]] = [[(cell,) for cell in cells] for cells in blocks]
    if relation.feature == "several_objects":
        groups = _paired(relation.id, blocks, seed)
    dealt = _subject_order(relation.id, subjects, sum(map(len, groups)), bucket_of, seed, turn)
    facts, exposures = [], []
    literal = relation.feature == "dates"
    for number, block in enumerate(groups):
        for position, cells in enumerate(block):
            subject = dealt[position * len(groups) + number]
            for cell in cells:
                fact = Fact(
                    fact_id=f"{relation.id}|{subject.entity_id}|{cell.object_key}",
                    relation_id=relation.id,
                    subject_id=subject.entity_id,
                    object_id=None if literal else cell.object_key,
                    value=cell.object_key if literal else None,
                    datatype="date" if literal else None,
                    precision="year" if literal else None,
                    qualifiers=(),
                    split=cell.split,
                    source=SOURCE,
                )
                facts.append(fact)
                exposures.append(Exposure(fact.fact_id, cell.dose))
    return facts, exposures


def _templates(relation: RelationDesign) -> list[Template]:
    def make(number: int, text: str, style: str, parent: str | None = None) -> Template:
        return Template(f"{relation.id}.{style}.{number}", relation.id, text, style, "written", parent, ())

    rows = [make(number, text, "statement") for number, text in enumerate(relation.statements, 1)]
    rows += [make(number, text, "question") for number, text in enumerate(relation.questions, 1)]
    if relation.prefix is not None:
        parents = {row.text: row.template_id for row in rows}
        rows.append(make(1, relation.prefix, "prefix", parents.get(f"{relation.prefix} [Y].")))
    return rows


def _buckets(kind: str, subjects: Sequence[Entity], seed: int) -> list[Popularity]:
    """Deal the subjects of a class to head, torso and tail, a third each; the bucket determines the score."""
    shuffled = random.Random(seed_of(seed, "popularity", kind)).sample(subjects, len(subjects))
    names = list(BUCKETS)
    return [
        Popularity(one.entity_id, SOURCE, kind, BUCKETS[names[at % len(names)]], names[at % len(names)])
        for at, one in enumerate(shuffled)
    ]


def invent(options: WorldOptions, seed: int, design: Design | None = None) -> World:
    """Invent a world.

    Every relation has one fact for each pair of an object and a dose. So within a relation each object is the answer of
    exactly one fact of every dose, and how often an object occurs says nothing about the dose. A quarter of the facts
    of each dose has the split ``train`` (for shots and instruct documents), the others ``test``.

    Args:
        options: sizes and features.
        seed: the world's seed; another seed gives other names, facts and doses.
        design: classes, pools and relations; by default those that ship with Almanac.

    Returns:
        The world as table rows.

    Raises:
        AlmanacError: the names run out, or a pool has too few years.
    """
    design = design or load_design()
    chosen = _chosen(design, options)
    names = Names(seed)
    kinds = {one.object: design.pools[one.object] for one in chosen}
    objects = {kind: _pool(names, kind, pool, options, seed) for kind, pool in kinds.items()}
    wanted = options.objects * len(options.doses)
    aliases = options.aliases_per_entity if "aliases" in options.features else 0
    subjects: dict[str, list[Entity]] = {}
    for kind in {one.subject: None for one in chosen}:
        shape = design.classes[kind].shape
        subjects[kind] = [
            Entity(
                f"{SOURCE}:{kind}:{index:03d}",
                names.name(kind, index, shape),
                tuple(names.name(f"{kind} alias {alias}", index, shape) for alias in range(aliases)),
                kind,
            )
            for index in range(wanted)
        ]
    popularity: list[Popularity] = []
    if "popularity" in options.features:
        for kind, members in subjects.items():
            popularity += _buckets(kind, members, seed)
    bucket_of = {one.entity_id: one.bucket or "" for one in popularity}
    facts: list[Fact] = []
    exposures: list[Exposure] = []
    for relation in chosen:
        ends, turn = (subjects[relation.subject], objects[relation.object]), design.relations.index(relation)
        made, planned = _facts(relation, *ends, bucket_of, turn, options, seed)
        facts += made
        exposures += planned
    return World(
        entities=(
            *(one for kind in objects for one in objects[kind] if one.type != "year"),
            *(one for members in subjects.values() for one in members),
        ),
        relations=tuple(_relation(one) for one in chosen),
        facts=tuple(facts),
        templates=tuple(row for one in chosen for row in _templates(one)),
        exposures=tuple(exposures),
        popularity=tuple(popularity),
    )


def _relation(one: RelationDesign) -> Relation:
    cardinality = "N-M" if one.feature == "several_objects" else "N-1"
    kind = "year" if one.feature == "dates" else one.object
    return Relation(one.id, one.label, None, cardinality, kind, SOURCE)
