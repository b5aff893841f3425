"""Compares two sets of facts on the relations and subjects that both have."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from almanac.dataset.names import ObjectNames, true_objects
from almanac.dataset.text import normalise
from almanac.sources.files import FactTables

Verdict = Literal["agree", "extra", "disagree", "unmatched", "ambiguous"]


@dataclass(frozen=True)
class Comparison:
    """The objects of one of our (relation, subject) pairs and those that the other facts have for it.

    ``verdict``: ``agree`` (each of their objects is one of ours), ``extra`` (some objects in common, but they have
    others too), ``disagree`` (no object in common), ``unmatched`` (they have no such subject), ``ambiguous`` (several
    of their subjects have its label).
    """

    relation_id: str
    subject: str
    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    verdict: Verdict


def compare(ours: FactTables, theirs: FactTables) -> list[Comparison]:
    """Compare each of our (relation, subject) pairs with the other facts.

    Relations are matched by Wikidata property, or by relation id where there is none; subjects by label (ours with or
    without "the"); objects by any of their names. All names are normalised.
    """
    our_names, their_names = ObjectNames.of(ours.entities), ObjectNames.of(theirs.entities)
    properties = {relation.relation_id: relation.property or relation.relation_id for relation in theirs.relations}
    subjects: dict[tuple[str, str], set[str]] = defaultdict(set)
    for fact in theirs.facts:
        label = normalise(their_names.label(fact.subject_id))
        subjects[properties[fact.relation_id], label].add(fact.subject_id)
    objects: dict[tuple[str, str], tuple[str, ...]] = defaultdict(tuple)
    for (relation, subject), keys in true_objects(theirs.facts).items():
        pair = properties[relation], subject  # several of their relations may have one property
        objects[pair] = tuple(sorted({*objects[pair], *keys}))
    our_property = {relation.relation_id: relation.property or relation.relation_id for relation in ours.relations}
    out = []
    for (relation_id, subject_id), keys in sorted(true_objects(ours.facts).items()):
        label = our_names.label(subject_id)
        named = (normalise(label), normalise(label).removeprefix("the "))  # others write countries without the article
        found = next(filter(None, (subjects.get((our_property[relation_id], one)) for one in named)), set())
        other = objects[our_property[relation_id], next(iter(found))] if len(found) == 1 else ()
        verdict = _verdict(
            [our_names.normalised_names(key) for key in keys],
            [their_names.normalised_names(key) for key in other],
            len(found),
        )
        out.append(
            Comparison(
                relation_id,
                label,
                tuple(map(our_names.label, keys)),
                tuple(map(their_names.label, other)),
                verdict,
            )
        )
    return out


def _verdict(ours: Iterable[frozenset[str]], theirs: list[frozenset[str]], found: int) -> Verdict:
    if found == 0:
        return "unmatched"
    if found > 1:
        return "ambiguous"
    known = frozenset[str]().union(*ours)
    shared = sum(bool(names & known) for names in theirs)
    if shared == 0:
        return "disagree"
    return "agree" if shared == len(theirs) else "extra"
