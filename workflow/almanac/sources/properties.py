"""Wikidata's properties by their numbers: the English names that ship."""

import functools
from collections.abc import Mapping

import yaml

from almanac.project import RESOURCES
from almanac.rows import Relation

PROPERTIES = RESOURCES / "properties.yaml"


@functools.cache
def properties() -> Mapping[str, str]:
    """Return the names of Wikidata's properties that ship, by their numbers."""
    found: dict[str, str] = yaml.safe_load(PROPERTIES.read_text("utf-8"))
    return found


def of_property(number: str) -> Relation:
    """Return the relation that a property is, called as Wikidata calls it, or by its number if no name of it ships."""
    return Relation(number, properties().get(number, number), number, None, None, None)
