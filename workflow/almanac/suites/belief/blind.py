"""Blind sheets for rating templates: a random sample mixed with spoiled templates, and the key that tells which."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

import yaml

from almanac import tables
from almanac.dataset.templates import SLOT
from almanac.errors import AlmanacError
from almanac.project import RESOURCES
from almanac.suites.belief.templates import AskedTemplate
from almanac.tables import hash_order, seed_of

PROPERTIES = RESOURCES / "properties.yaml"
RELATIONS = RESOURCES / "facts" / "relations.jsonl"
WORLD = RESOURCES / "planting" / "world.yaml"
SOUND, SPOILED = 200, 40
SWAP, RELATION, BROKEN = KINDS = ("swap", "relation", "broken")
# Symmetric relations: spouse, borders, twinned, said to be the same as, diplomatic relation, sibling.
SYMMETRIC = frozenset({"P26", "P47", "P190", "P460", "P530", "P3373"})


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A row of a blind sheet: a text presented as a template of a relation, and the reader's ratings."""

    KEY: ClassVar = ("number",)
    number: int
    relation_id: str
    relation: str
    text: str
    fluency: int | None
    template_in_relation: int | None
    relation_in_template: int | None
    overlap: int | None
    called_spoiled: bool | None
    remark: str | None


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A row of the key: the template, its text in the sheet, and how that text was spoiled, if it was."""

    KEY: ClassVar = ("number",)
    number: int
    set: str
    template_id: str
    text: str
    spoiled: str | None


def draw(known: Mapping[str, Mapping[str, Sequence[AskedTemplate]]], seed: object) -> list[tuple[SheetRow, KeyRow]]:
    """Return the rows of a sheet in random order: `SOUND` templates unchanged, and `SPOILED` others spoiled.

    The kinds of spoiling take turns: ``swap`` exchanges the slots (but for `SYMMETRIC` relations the next kind is
    used); ``relation`` takes another relation's text of the same form; ``broken`` drops one word and moves another.

    Args:
        known: the templates by file and relation.
        seed: the seed of all draws.
    """
    labels = _labels()
    every = {
        f"{name} {one.template_id}": (name, relation, one)
        for name, own in known.items()
        for relation, listed in own.items()
        for one in listed
    }
    order = hash_order(every, seed, "quality")[: SOUND + SPOILED]
    kinds = {key: KINDS[at % len(KINDS)] for at, key in enumerate(order[SOUND:])}
    rows = []
    for number, key in enumerate(hash_order(order, seed, "mixed"), 1):
        name, relation, one = every[key]
        kind = kinds.get(key)
        if kind == SWAP and relation in SYMMETRIC:
            kind = RELATION
        text = one.text
        if kind == RELATION:
            others = [
                listed.text
                for other, own in known[name].items()
                for listed in own
                if other != relation and listed.form == one.form
            ]
            text = others[seed_of(seed, kind, key) % len(others)]
        elif kind is not None:
            text = exchanged(text) if kind == SWAP else broken(text, seed_of(seed, kind, key))
        label = labels.get((name, relation)) or labels.get(("", relation)) or relation
        row = SheetRow(number, relation, label, text, None, None, None, None, None, None)
        rows.append((row, KeyRow(number, name, one.template_id, text, kind)))
    return rows


def exchanged(text: str) -> str:
    """Return a template with its slots exchanged."""
    return SLOT.sub(lambda slot: "[Y]" if slot[0] == "[X]" else "[X]", text)


def broken(text: str, seed: int) -> str:
    """Return a template with one word dropped and another moved; the slots are never dropped or moved."""
    found = text.split()
    plain = [at for at, word in enumerate(found) if not SLOT.search(word)]
    if plain:
        del found[plain[seed % len(plain)]]
    moved = []
    for at, word in enumerate(found):
        rest = [*found[:at], *found[at + 1 :]]
        if not SLOT.search(word):
            moved += [made for to in range(len(found)) if (made := [*rest[:to], word, *rest[to:]]) != found]
    return " ".join(moved[seed_of(seed, "moved") % len(moved)] if moved else found)


def _labels() -> dict[tuple[str, str], str]:
    """Return labels by (set of templates, relation); those of Wikidata's properties by ("", property)."""
    properties = yaml.safe_load(PROPERTIES.read_text(encoding="utf-8"))
    world = yaml.safe_load(WORLD.read_text(encoding="utf-8"))["relations"]
    lines = RELATIONS.read_text(encoding="utf-8").splitlines()
    own = {("shipped", row["relation_id"]): row["label"] for row in map(json.loads, lines)}
    return {
        **{("", str(name)): label for name, label in properties.items()},
        **own,
        **{("invented", row["id"]): row["label"] for row in world},
    }


def key_of(path: Path) -> Path:
    """Return the path of a sheet's key."""
    return path.with_suffix(".key.jsonl")


def write(path: Path, rows: Sequence[tuple[SheetRow, KeyRow]]) -> None:
    """Write a sheet, with nulls to be filled in, and its key next to it.

    Raises:
        AlmanacError: one of the files exists already (it may be filled in), or cannot be written.
    """
    for one in (path, key_of(path)):
        if one.exists():
            raise AlmanacError(f"{one}: exists already; name another file")
    for at, one in enumerate((path, key_of(path))):
        with tables.atomic(one) as temporary:
            text = "".join(json.dumps(asdict(row[at]), ensure_ascii=False) + "\n" for row in rows)
            temporary.write_text(text, encoding="utf-8")
