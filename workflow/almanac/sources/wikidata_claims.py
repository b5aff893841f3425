"""Converts Wikidata statements into claims and facts; counts the omitted statements with their reasons."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from almanac.rows import Fact
from almanac.sources import paging, values
from almanac.sources import wikidata_queries as queries
from almanac.sources.answers import QueryServer
from almanac.sources.names import clean
from almanac.sources.options import WikidataOptions
from almanac.sources.paging import Row
from almanac.sources.source_tables import Omissions
from almanac.sources.wikidata_items import lowest_items

ITEM = re.compile(re.escape(queries.ENTITY) + r"(Q[1-9]\d*)")
YEAR = re.compile(r"([+-]?\d+)-\d\d-\d\d")
TEXTS = ("String", "Monolingualtext", "ExternalId", "Url")  # types whose values can be answers as they are
YEAR_PRECISION = 9  # Wikibase's scale: 9 is the year, 10 the month, 11 the day; below are decades and coarser
PREFERRED, DEPRECATED = queries.RANKS + "PreferredRank", queries.RANKS + "DeprecatedRank"


@dataclass(frozen=True)
class Property:
    """A property's English label and the Wikibase type of its values (WikibaseItem, Time, Quantity, String, …)."""

    label: str
    type: str


@dataclass(frozen=True)
class Claim:
    """One value of a statement or of its qualifier: an ``object_id``, or a ``value`` with a ``datatype``.

    ``unit`` is the item of a quantity's unit; Wikidata uses Q199 for numbers without a unit.
    """

    relation_id: str
    subject_id: str
    object_id: str | None
    value: str | None
    datatype: str | None
    preferred: bool
    qualifiers: tuple[str, ...]
    unit: str | None = None


Stated = TypeVar("Stated", Claim, Fact)


def of_relation(
    server: QueryServer,
    path: str,
    properties: dict[str, Property],
    options: WikidataOptions,
    preferred: set[tuple[str, str]],
    omitted: Omissions,
) -> Iterator[Claim]:
    """Yield the claims of a property (P166), or of a qualifier of its statements (P166/P585).

    The (relation, subject) of each preferred statement is added to ``preferred``, even if its value is omitted.
    """
    property_id, _, qualifier = path.partition("/")
    kind = properties[qualifier or property_id].type
    pattern = queries.statements(property_id, qualifier or None, kind)
    for row in paging.gather(server, pattern, options.page, options.facts, lowest_items):
        subject = _subject(row, omitted)
        if subject is None:
            continue
        qualifiers: tuple[str, ...] = ()
        if qualifier and (main := ITEM.fullmatch(row["main"])):
            qualifiers = (f"{property_id}={main[1]}",)
        relation, ranked = path.replace("/", "."), row["rank"] == PREFERRED
        if ranked:
            preferred.add((relation, subject))
        value = _value(row, kind, omitted)
        if value is not None:
            unit = row["unit"].removeprefix(queries.ENTITY) if "unit" in row else None
            yield Claim(relation, subject, *value, ranked, qualifiers, unit)


def _subject(row: Row, omitted: Omissions) -> str | None:
    """Return the subject's item, or None (counted in ``omitted``) if it is no item or the statement is deprecated."""
    subject = ITEM.fullmatch(row["s"])
    if row["rank"] == DEPRECATED:
        omitted.add("facts", "deprecated statement", row["statement"])
    elif subject is None:
        omitted.add("facts", "the subject is no item", row["statement"])
    else:
        return subject[1]
    return None


def _value(row: Row, kind: str, omitted: Omissions) -> tuple[str | None, str | None, str | None] | None:
    """Return a value as (object_id, value, datatype), or None (counted in ``omitted``) if it cannot be an object."""
    if _unknown(row, "o"):
        omitted.add("facts", "the value is known to be unknown", row["statement"])
    elif kind == "WikibaseItem":
        if item := ITEM.fullmatch(row["o"]):
            return item[1], None, None
        omitted.add("facts", "the value is no item", row["statement"])
    elif kind == "Time":
        if year := _year(row, "time", omitted):
            return None, year, "date"
    elif kind == "Quantity":
        number, _ = values.read("quantity", row["o"], None)
        if number is not None:
            return None, number, "quantity"
        omitted.add("facts", "the quantity is no number", row["statement"])
    elif kind not in TEXTS:
        omitted.add("facts", f"the value is no text that can be asked for ({kind})", row["statement"])
    elif text := clean(row["o"]):
        return None, text, "string"
    else:
        omitted.add("facts", "the value is an empty text", row["statement"])
    return None


def _unknown(row: Row, name: str) -> bool:
    """Whether a value is Wikidata's "unknown value": a blank node, or the address that stands for one."""
    return row[f"{name}.type"] == "bnode" or "/.well-known/genid/" in row[name]


def _year(row: Row, name: str, omitted: Omissions) -> str | None:
    """Return the year of a date, or None (counted in ``omitted``) if it is unknown or coarser than a year.

    Only years are kept, since RDF converts Julian days to Gregorian ones. In RDF the year 0 is 1 BC.
    """
    found = YEAR.match(row.get(name, ""))
    if found is None:
        omitted.add("facts", "the date is known to be unknown", row["statement"])
    elif int(row[f"{name}_precision"]) < YEAR_PRECISION:
        omitted.add("facts", "the date is coarser than a year", row["statement"])
    else:
        year = int(found[1])
        return str(year) if year > 0 else f"{1 - year} BC"
    return None


def of_laureates(
    server: QueryServer, options: WikidataOptions, preferred: set[tuple[str, str]], omitted: Omissions
) -> Iterator[Claim]:
    """Yield prize, year of the award, year of birth and gender of Nobel laureates as claims; see `of_relation`."""
    statements: dict[str, list[Row]] = defaultdict(list)
    for row in paging.gather(server, queries.LAUREATES, options.page):
        statements[row["statement"]].append(row)
    for rows in statements.values():  # one award, with several rows if the person has several dates or genders
        subject, prize = _subject(rows[0], omitted), rows[0]["prize"].removeprefix(queries.ENTITY)
        if subject is None:
            continue
        years = list(_years(rows, "year", omitted))
        if options.nobel_until is not None and any(int(year) > options.nobel_until for year in years):
            omitted.add("facts", f"award after {options.nobel_until}", f"{subject} {prize}")
            continue
        ranked = rows[0]["rank"] == PREFERRED
        if ranked:
            preferred |= {("P166", subject), ("P166.P585", subject)}
        yield Claim("P166", subject, prize, None, None, ranked, ())
        for year in years:
            yield Claim("P166.P585", subject, None, year, "date", ranked, (f"P166={prize}",))
        for rank in sorted({row["birth_rank"] for row in rows if "birth_rank" in row} - {DEPRECATED}):
            if rank == PREFERRED:
                preferred.add(("P569", subject))
            for year in _years([row for row in rows if row.get("birth_rank") == rank], "birth", omitted):
                yield Claim("P569", subject, None, year, "date", rank == PREFERRED, ())
        for item, rank in sorted({(row.get("gender", ""), row.get("gender_rank", "")) for row in rows}):
            if rank == PREFERRED:
                preferred.add(("P21", subject))
            if rank != DEPRECATED and (gender := ITEM.fullmatch(item)):
                yield Claim("P21", subject, gender[1], None, None, rank == PREFERRED, ())


def _years(rows: Sequence[Row], name: str, omitted: Omissions) -> Iterator[str]:
    """Yield the years of the distinct dates in the rows of one person; rows without the date are not omissions.

    If the same date has several precisions, the finest counts.
    """
    dated = sorted((row for row in rows if name in row), key=lambda row: int(row[f"{name}_precision"]))
    for row in {row[name]: row for row in dated}.values():
        if year := _year(row, name, omitted):
            yield year


def best(claims: Iterable[Claim], preferred: set[tuple[str, str]], omitted: Omissions) -> Iterator[Claim]:
    """Yield only the preferred claims of each (relation, subject) in ``preferred``, and all claims of the others."""
    for claim in claims:
        if claim.preferred or (claim.relation_id, claim.subject_id) not in preferred:
            yield claim
        else:
            omitted.add("facts", "a preferred statement stands beside it", f"{claim.relation_id} {claim.subject_id}")


def in_one_unit(
    claims: Sequence[Stated], omitted: Omissions, unit_of: Callable[[Stated], str | None]
) -> Iterator[Stated]:
    """Omit quantities that are not in the most frequent unit of their relation, since they cannot be compared."""
    counts: dict[str, Counter[str | None]] = defaultdict(Counter)
    for claim in claims:
        if claim.datatype == "quantity":
            counts[claim.relation_id][unit_of(claim)] += 1
    units = {relation: min(tally, key=lambda unit: (-tally[unit], unit or "")) for relation, tally in counts.items()}
    for claim in claims:
        if claim.datatype != "quantity" or unit_of(claim) == units[claim.relation_id]:
            yield claim
        else:
            reason = f"{claim.relation_id} in another unit than {units[claim.relation_id]}, its most frequent"
            omitted.add("facts", reason, f"{claim.subject_id} {claim.value} {unit_of(claim)}")


def facts_of(claims: Iterable[Claim], known: set[str], omitted: Omissions) -> list[Fact]:
    """Return one fact for each distinct relation, subject and object; equal statements are merged."""
    qualifiers: dict[str, set[str]] = defaultdict(set)
    facts: dict[str, Fact] = {}
    for claim in claims:
        key = claim.object_id or claim.value
        identity = f"{claim.relation_id}|{claim.subject_id}|{key}"
        if claim.subject_id not in known or (claim.object_id and claim.object_id not in known):
            omitted.add("facts", "subject or object has no name", identity)
            continue
        if claim.value in known:  # no value may equal an id, since either identifies an object
            omitted.add("facts", "the value is a text that is the id of an item too", identity)
            continue
        if identity in facts:
            omitted.add("facts", "another statement says the same", identity)
        qualifiers[identity] |= {*claim.qualifiers, *(("rank=preferred",) if claim.preferred else ())}
        qualifiers[identity] |= {f"unit={claim.unit}"} if claim.unit else set()
        facts[identity] = Fact(
            fact_id=identity,
            relation_id=claim.relation_id,
            subject_id=claim.subject_id,
            object_id=claim.object_id,
            value=claim.value,
            datatype=claim.datatype,
            precision="year" if claim.datatype == "date" else None,
            qualifiers=(),
            split=None,
            source="wikidata",
        )
    return [replace(fact, qualifiers=tuple(sorted(qualifiers[identity]))) for identity, fact in facts.items()]
