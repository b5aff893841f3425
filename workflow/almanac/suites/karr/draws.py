"""Draws, by seed, what each fact is scored with: templates, names, other subjects and other relations."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from almanac.dataset.names import ObjectNames
from almanac.dataset.templates import in_full, of_label
from almanac.punctuation import ends_in_object
from almanac.rows import Fact, NotAsked, Relation, Template
from almanac.suites.data import Data
from almanac.suites.karr.estimator import Variant
from almanac.suites.karr.options import COMMON, KarrOptions
from almanac.suites.karr.rows import Coverage, Draw, GivenDraw
from almanac.tables import hash_order

TEMPLATE, NAME, OBJECT, SUBJECT, RELATION = "template", "name", "object", "subject", "relation"
ROLES = (TEMPLATE, NAME, OBJECT, SUBJECT, RELATION)
PROPERTY_ALIAS = "property_alias"  # the origin of templates such as "[X] place of birth [Y]", made of a property alias


@dataclass(frozen=True)
class FactDraw:
    """What is drawn for one fact.

    Attributes:
        templates: sentences of the relation that end in ``[Y]``.
        names: names of the subject.
        objects: names of the object.
        subjects: each subject in the denominator of KaRR_s, perhaps the fact's own, with the names drawn for it.
        relations: for each of ``names``, the relations in the denominator of KaRR_r with one or all of their templates.
    """

    templates: tuple[str, ...]
    names: tuple[str, ...]
    objects: tuple[str, ...]
    subjects: Mapping[str, tuple[str, ...]]
    relations: tuple[Mapping[str, tuple[str, ...]], ...]

    def rows(self, item: int) -> list[Draw]:
        """Return the draw as table rows of an item."""
        out = [
            Draw(item, role, at, None, None, text)
            for role, texts in ((TEMPLATE, self.templates), (NAME, self.names), (OBJECT, self.objects))
            for at, text in enumerate(texts)
        ]
        for key, names in self.subjects.items():
            out += [Draw(item, SUBJECT, len(out) + at, key, None, text) for at, text in enumerate(names)]
        for name, relations in zip(self.names, self.relations, strict=True):
            for key, templates in relations.items():
                out += [Draw(item, RELATION, len(out) + at, key, name, text) for at, text in enumerate(templates)]
        return out

    @classmethod
    def of(cls, rows: Iterable[Draw | GivenDraw]) -> "FactDraw":
        """Read the rows of one item; the inverse of `rows`."""
        by_role: dict[str, list[Draw | GivenDraw]] = defaultdict(list)
        for row in sorted(rows, key=lambda row: row.position):
            by_role[row.role].append(row)

        def texts(role: str) -> tuple[str, ...]:
            return tuple(row.text for row in by_role[role])

        def grouped(drawn: Iterable[Draw | GivenDraw]) -> dict[str, tuple[str, ...]]:
            found: dict[str, list[str]] = defaultdict(list)
            for row in drawn:
                found[str(row.of)].append(row.text)
            return {key: tuple(texts) for key, texts in found.items()}

        names = texts(NAME)
        relations = tuple(grouped(row for row in by_role[RELATION] if row.name == name) for name in names)
        return cls(texts(TEMPLATE), names, texts(OBJECT), grouped(by_role[SUBJECT]), relations)


def usable(text: str) -> bool:
    """Return whether a template holds ``[X]`` and ``[Y]`` once each and ends in ``[Y]``, a full stop aside."""
    return text.count("[Y]") == 1 and text.count("[X]") == 1 and ends_in_object(text)


def admissible(text: str) -> bool:
    """Return whether a template of another relation can be used: each slot once, ``[X]`` before ``[Y]``.

    Text may follow the object: only the released code's variant scores it, with everything else after the subject.
    """
    return text.count("[X]") == text.count("[Y]") == 1 and text.index("[X]") < text.index("[Y]")


def sentences(
    templates: Iterable[Template], relations: Iterable[Relation], property_aliases: bool = False
) -> tuple[dict[str, tuple[str, ...]], list[NotAsked]]:
    """Return the usable templates of each relation, which end in the object, and the statements that cannot be used.

    Prefixes always end in the object. A relation without a usable template gets one made from its label. Templates made
    from a property's other names count only with ``property_aliases``.
    """
    found: dict[str, dict[str, None]] = defaultdict(dict)
    refused = []
    for row in sorted(templates, key=lambda row: row.template_id):
        text = in_full(row)
        if row.style == "question" or (row.origin == PROPERTY_ALIAS and not property_aliases):
            continue
        if usable(text):
            found[row.relation_id].setdefault(text)
        else:
            refused.append(NotAsked(f"template {row.template_id}", f"{row.text!r} does not end in [Y]"))
    for relation in relations:
        if not found[relation.relation_id] and relation.label.strip():
            found[relation.relation_id][next(of_label(relation)).text] = None
    return {relation: tuple(texts) for relation, texts in found.items() if texts}, refused


@dataclass(frozen=True)
class Pools:
    """What draws are made from: the names and facts of a dataset, and the usable templates of its relations."""

    data: Data
    templates: Mapping[str, tuple[str, ...]]
    options: KarrOptions

    @property
    def names(self) -> ObjectNames:
        """The names of subjects and objects."""
        return self.data.names

    @cached_property
    def subjects(self) -> Mapping[str, list[str]]:
        """The subjects of each relation, sorted; of those with equal labels (`ObjectNames.reading`) only the first."""
        found = _grouped(self.data.triples, "relation_id", "subject_id")
        first = {
            relation: {self.names.normalised_label(key): key for key in reversed(keys)}
            for relation, keys in found.items()
        }
        return {relation: sorted(keys.values()) for relation, keys in first.items()}

    @cached_property
    def objects(self) -> Mapping[str, list[str]]:
        """The objects of each relation, sorted."""
        return _grouped(self.data.triples, "relation_id", "object")

    @cached_property
    def relations(self) -> Mapping[str, list[str]]:
        """For each object, the relations with usable templates in which it is the object of a fact, sorted."""
        return _grouped(self._usable, "object", "relation_id")

    @cached_property
    def _usable(self) -> pl.DataFrame:
        """The facts of relations that have usable templates; columns as in `Data.triples`."""
        return self.data.triples.filter(pl.col("relation_id").is_in(list(self.templates)))

    @cached_property
    def relations_of_type(self) -> Mapping[str, list[str]]:
        """For each entity type, the relations with usable templates that have objects of this type, sorted."""
        by_type: dict[str, set[str]] = defaultdict(set)
        for key, relations in self.relations.items():
            if kind := self.type(key):
                by_type[kind].update(relations)
        return {kind: sorted(relations) for kind, relations in by_type.items()}

    def type(self, key: str) -> str | None:
        """Return the entity type of an object, or none."""
        return self.names.entities[key].type if key in self.names.entities else None

    def wrong_object(self, fact: Fact) -> str | None:
        """Draw an object of the relation that is not true of the subject under any name; none if there is none."""
        order = hash_order(self.objects[fact.relation_id], self.options.seed, "null", fact.fact_id)
        return next(self.data.false_objects(fact, order), None)

    @cached_property
    def common_objects(self) -> Mapping[str, list[str]]:
        """For each relation, its `COMMON` objects with most facts, most frequent first; ties are in a seeded order.

        Among them the second round finds the false object that a model expects most.
        """
        counted = self.data.triples.group_by("relation_id", "object").len()
        count = {(relation, key): facts for relation, key, facts in counted.iter_rows()}
        return {
            relation: sorted(
                hash_order(keys, self.options.seed, "common", relation), key=lambda key: -count[relation, key]
            )[:COMMON]
            for relation, keys in self.objects.items()
        }

    def coverage(self, asked: int) -> list[Coverage]:
        """Return how many relations, facts, subjects and objects can be asked, with their templates and names."""
        facts = self._usable
        relations = facts["relation_id"].unique().sort()
        things = (("subjects", facts["subject_id"].unique()), ("objects", facts["object"].unique()))
        return [
            Coverage("relations", len(relations), sum(len(self.templates[relation]) for relation in relations)),
            Coverage("facts", facts.height, None),
            Coverage("asked", asked, None),
            *(Coverage(what, len(keys), sum(len(set(self.names.names(key))) for key in keys)) for what, keys in things),
        ]

    def name_pool(self, key: str, variant: Variant) -> tuple[str, ...]:
        """Draw an entity's names and one extra name, if there is one, which stands last.

        The label comes first where the variant keeps it; else it is drawn like any other name.
        """
        label, *aliases = dict.fromkeys(self.names.names(key))
        if variant.keeps_label:
            return (label, *hash_order(aliases, self.options.seed, "names", key)[: self.options.aliases])
        return tuple(hash_order([label, *aliases], self.options.seed, "names", key)[: self.options.aliases + 1])

    def drawn_names(self, key: str, variant: Variant) -> tuple[str, ...]:
        """Draw an entity's names, without the extra one."""
        return self.name_pool(key, variant)[: self.options.aliases]

    def template_pool(self, relation: str) -> tuple[str, ...]:
        """Draw a relation's templates and one extra template, if there is one, which stands last."""
        order = hash_order(self.templates.get(relation, ()), self.options.seed, "templates", relation)
        return tuple(order[: self.options.templates + 1])

    def drawn_templates(self, relation: str) -> tuple[str, ...]:
        """Draw a relation's templates, without the extra one."""
        return self.template_pool(relation)[: self.options.templates]

    def drawn_relations(self, fact: Fact, object_key: str) -> list[str]:
        """Draw relations in which the object can be the object.

        Candidates are the relations in which it is the object of a fact. If these are too few, relations with objects
        of its type fill the pool, then any relation: the pools of the released data are filled to four in the same way.
        """
        pool = list(self.relations.get(object_key, ()))
        for others in (self.relations_of_type.get(self.type(object_key) or "", ()), self.templates):
            more = [relation for relation in others if relation not in pool]
            lacking = max(0, self.options.relations - len(pool))
            pool += hash_order(more, self.options.seed, "filled", object_key)[:lacking]
        return hash_order(pool, self.options.seed, "relations", fact.fact_id)[: self.options.relations]

    def draw(self, fact: Fact, object_key: str, variant: Variant) -> FactDraw:
        """Draw for one fact, perhaps with another object; the draw does not depend on what else is asked."""
        seed = self.options.seed
        names = self.drawn_names(fact.subject_id, variant)
        drawn = hash_order(self.subjects[fact.relation_id], seed, "subjects", fact.fact_id)[: self.options.subjects]
        reading = self.names.normalised_label(fact.subject_id)
        others = [fact.subject_id if self.names.normalised_label(key) == reading else key for key in drawn]
        relations = self.drawn_relations(fact, object_key)

        def under(name: str, relation: str) -> tuple[str, ...]:
            if variant.relation_templates == "all":
                return self.drawn_templates(relation)
            return tuple(hash_order(self.drawn_templates(relation), seed, "one", fact.fact_id, name, relation)[:1])

        return FactDraw(
            self.drawn_templates(fact.relation_id),
            names,
            self.drawn_names(object_key, variant),
            {other: self.drawn_names(other, variant) for other in others},
            tuple({relation: under(name, relation) for relation in relations} for name in names),
        )


def pools_of(data: Data, options: KarrOptions) -> tuple[Pools, list[NotAsked]]:
    """Return the pools of a dataset, and the templates that cannot be used."""
    templates, refused = sentences(data.templates, data.relations, options.property_aliases)
    return Pools(data, templates, options), refused


def _grouped(facts: pl.DataFrame, by: str, column: str) -> dict[str, list[str]]:
    """Return the distinct values of ``column``, sorted, for each value of ``by``."""
    found = facts.group_by(by).agg(pl.col(column).unique().sort()).sort(by)
    return dict(found.select(by, column).iter_rows())
