"""English names of Wikidata properties, from the list that ships with Almanac."""

import functools
from collections.abc import Mapping

import yaml

from almanac.project import RESOURCES
from almanac.rows import Relation

PROPERTIES = RESOURCES / "properties.yaml"


@functools.cache
def properties() -> Mapping[str, str]:
    """Return the shipped names of Wikidata properties by number (P19)."""
    found: dict[str, str] = yaml.safe_load(PROPERTIES.read_text("utf-8"))
    return found


def of_property(number: str) -> Relation:
    """Return the relation of a Wikidata property; its label is the shipped name, or the number if there is none."""
    return Relation(number, properties().get(number, number), number, None, None, None)
