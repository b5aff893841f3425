"""Draws from a user's file: they are checked, and nothing but them is asked."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from almanac import tables
from almanac.errors import AlmanacError
from almanac.rows import Fact, NotAsked
from almanac.suites.asked import Asked, Batch
from almanac.suites.data import Data
from almanac.suites.karr.asking import FACTS, NULL, SPURIOUS, TOGETHER, KarrSetting, add
from almanac.suites.karr.draws import NAME, OBJECT, RELATION, ROLES, SUBJECT, TEMPLATE, FactDraw, admissible, usable
from almanac.suites.karr.estimator import VARIANTS
from almanac.suites.karr.rows import GivenDraw
from almanac.suites.karr.strings import Sentences
from almanac.suites.suite import Elsewhere

ALLOWED = {"role": ROLES, "mode": tuple(VARIANTS), "asked": (FACTS, NULL, SPURIOUS)}


class DrawKey(NamedTuple):
    """The fact and the way of asking that a draw belongs to."""

    fact_id: str
    mode: str
    asked: str


def read(path: Path, asked: Asked) -> Elsewhere:
    """Return the items of a file of draws (`GivenDraw`): Parquet by its suffix, else JSON Lines.

    Raises:
        AlmanacError: as `check`, or the file is not such a table.
    """
    rows = tables.read(path, GivenDraw) if path.suffix == ".parquet" else tables.read_jsonl(path, GivenDraw)
    draws, refused = check(rows, str(path))
    for row in refused:
        asked.refuse(row.thing, row.reason)
    facts = {key.fact_id: _fact(key.fact_id) for key in draws}
    return Elsewhere(_batches(draws, facts, asked), Data.of(facts=list(facts.values())), {})


def _fact(fact_id: str) -> Fact:
    """Return a fact of which only the id and the relation are known; ids begin with the relation."""
    return Fact(fact_id, fact_id.partition("|")[0], fact_id, None, "", None, None, (), "test", "")


def _batches(draws: Mapping[DrawKey, FactDraw], facts: Mapping[str, Fact], asked: Asked) -> Iterator[Batch]:
    """Yield the draws as items, first those whose sentences are read whole (see `Sentences`)."""
    sentences = Sentences()
    for at, key in enumerate(sorted(draws, key=lambda key: VARIANTS[key.mode].tokens != "mean"), 1):
        drawn = draws[key]
        add(asked, sentences, key.mode, KarrSetting(key.asked), facts[key.fact_id], drawn.objects[0], drawn)
        if at % TOGETHER == 0:
            yield asked.take()
    yield asked.take()


def check(rows: Sequence[GivenDraw], where: str) -> tuple[dict[DrawKey, FactDraw], list[NotAsked]]:
    """Check the draws of a file.

    Returns:
        The draws by what they belong to; and the refused ones, which have a template that cannot be used.

    Raises:
        AlmanacError: there is no draw, a role, mode or ``asked`` is unknown, a relation's row has no name of the
            subject, a row appears twice, a fact lacks a role, or every draw is refused; the message names the fact.
    """
    if not rows:
        raise AlmanacError(
            f"{where}: holds no draw; write a row for each drawn text: fact_id, mode, asked, role, position, text"
        )
    found: dict[DrawKey, list[GivenDraw]] = defaultdict(list)
    faults: dict[DrawKey, str] = {}
    for row in rows:
        here = f"{where}: {row.fact_id}: {row.role}"
        for column, allowed in ALLOWED.items():
            if (value := getattr(row, column)) not in allowed:
                raise AlmanacError(f"{here}: unknown {column} {value!r}; allowed are {', '.join(allowed)}")
        if row.role in (SUBJECT, RELATION) and row.of is None:
            raise AlmanacError(f"{here} {row.position} lacks `of`; give the id of the drawn {row.role}")
        if not row.text.strip():
            raise AlmanacError(f"{here} {row.position}: the text is empty; give a name or a template")
        key = DrawKey(row.fact_id, row.mode, row.asked)
        found[key].append(row)
        if row.role == TEMPLATE and not usable(row.text):
            faults.setdefault(key, f"the template {row.text!r} does not end in [Y]; KaRR needs the object last")
        if row.role == RELATION and not admissible(row.text):
            faults.setdefault(key, f"the template {row.text!r} of {row.of} lacks [Y] after [X], each once")
    drawn = {key: _checked(key, rows, where) for key, rows in found.items() if key not in faults}
    if not drawn:
        key, fault = next(iter(faults.items()))
        raise AlmanacError(f"{where}: no draw can be asked; {', '.join(key)}: {fault}")
    return drawn, [NotAsked(f"draw {', '.join(key)}", fault) for key, fault in faults.items()]


def _checked(key: DrawKey, rows: Sequence[GivenDraw], where: str) -> FactDraw:
    here = f"{where}: {', '.join(key)}"
    lacking = [role for role in (TEMPLATE, NAME, OBJECT) if not any(row.role == role for row in rows)]
    if lacking:
        raise AlmanacError(f"{here}: has no row of the role {' or '.join(lacking)}; give at least one")
    names = {row.text for row in rows if row.role == NAME}
    seen = set[tuple[object, ...]]()
    for row in rows:
        if (place := (row.role, row.of, row.name, row.position)) in seen:
            raise AlmanacError(
                f"{here}: {row.role} {row.position} has two rows; keep one, or number the rows of a role by position"
            )
        seen.add(place)
        if row.role == RELATION and row.name not in names:
            raise AlmanacError(
                f"{here}: relation {row.of}: {row.name!r} is not one of the subject's names "
                f"({', '.join(sorted(names))}); give the name that the relation is drawn for"
            )
    without = names - {row.name for row in rows if row.role == RELATION}
    if 0 < len(without) < len(names):
        raise AlmanacError(
            f"{here}: no relation is drawn for {', '.join(map(repr, sorted(without)))}; give each of the subject's "
            "names a row of the role relation"
        )
    return FactDraw.of(rows)
