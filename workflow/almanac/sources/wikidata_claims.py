"""What Wikidata's statements claim: values with their ranks and qualifiers, and of what is left out the reason."""

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
TEXTS = ("String", "Monolingualtext", "ExternalId", "Url")  # types of values that are answers as they stand
YEAR_PRECISION = 9  # Wikibase's scale: 9 is the year, 10 the month, 11 the day; below are decades and coarser
PREFERRED, DEPRECATED = queries.RANKS + "PreferredRank", queries.RANKS + "DeprecatedRank"


@dataclass(frozen=True)
class Property:
    """A property: its English label and Wikibase's type of its values (WikibaseItem, Time, Quantity, String, …)."""

    label: str
    type: str


@dataclass(frozen=True)
class Claim:
    """One value of a statement, or of its qualifier. ``object_id`` or ``value`` (with ``datatype``) is given.

    ``unit`` is the item of a quantity's unit; of numbers without one Wikidata says Q199.
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
    """Yield the claims of a property's statements, or of a qualifier of them.

    Relation and subject of each preferred statement are added to ``preferred``, also where its value is left out.
    """
    of, _, qualifier = path.partition("/")
    kind = properties[qualifier or of].type
    pattern = queries.statements(of, qualifier or None, kind)
    for row in paging.gather(server, pattern, options.page, options.facts, lowest_items):
        subject = _subject(row, omitted)
        if subject is None:
            continue
        said: tuple[str, ...] = ()
        if qualifier and (main := ITEM.fullmatch(row["main"])):
            said = (f"{of}={main[1]}",)
        relation, ranked = path.replace("/", "."), row["rank"] == PREFERRED
        if ranked:
            preferred.add((relation, subject))
        value = _value(row, kind, omitted)
        if value is not None:
            unit = row["unit"].removeprefix(queries.ENTITY) if "unit" in row else None
            yield Claim(relation, subject, *value, ranked, said, unit)


def _subject(row: Row, omitted: Omissions) -> str | None:
    """Return the item of a statement that counts, or none, saying why."""
    subject = ITEM.fullmatch(row["s"])
    if row["rank"] == DEPRECATED:
        omitted.add("facts", "deprecated statement", row["statement"])
    elif subject is None:
        omitted.add("facts", "the subject is no item", row["statement"])
    else:
        return subject[1]
    return None


def _value(row: Row, kind: str, omitted: Omissions) -> tuple[str | None, str | None, str | None] | None:
    """Return a value as (object_id, value, datatype), or none where it cannot be an object, saying why."""
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
    """Whether a value is only known to exist: a blank node, or the address that stands for one."""
    return row[f"{name}.type"] == "bnode" or "/.well-known/genid/" in row[name]


def _year(row: Row, name: str, omitted: Omissions) -> str | None:
    """Return the year of a date that is at least as fine, or none, saying why.

    Years are compared, not days, since Julian days are converted; 0 is 1 BC in RDF.
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
    """Yield prize, year of the award, year of birth and gender of the Nobel laureates, as `of_relation` does."""
    statements: dict[str, list[Row]] = defaultdict(list)
    for row in paging.gather(server, queries.LAUREATES, options.page):
        statements[row["statement"]].append(row)
    for rows in statements.values():  # one award; several rows where the person has several dates or genders
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
    """Yield the years of the different dates in rows of one person; a date that nobody gave is no omission.

    Of the same date in several precisions the finest counts.
    """
    dated = sorted((row for row in rows if name in row), key=lambda row: int(row[f"{name}_precision"]))
    for row in {row[name]: row for row in dated}.values():
        if year := _year(row, name, omitted):
            yield year


def best(claims: Iterable[Claim], preferred: set[tuple[str, str]], omitted: Omissions) -> Iterator[Claim]:
    """Yield the preferred claims of each relation and subject that has preferred statements, and all of the others."""
    for claim in claims:
        if claim.preferred or (claim.relation_id, claim.subject_id) not in preferred:
            yield claim
        else:
            omitted.add("facts", "a preferred statement stands beside it", f"{claim.relation_id} {claim.subject_id}")


def in_one_unit(
    claims: Sequence[Stated], omitted: Omissions, unit_of: Callable[[Stated], str | None]
) -> Iterator[Stated]:
    """Yield all but the quantities in another unit than their relation's most frequent: they cannot be compared."""
    counts: dict[str, Counter[str | None]] = defaultdict(Counter)
    for claim in claims:
        if claim.datatype == "quantity":
            counts[claim.relation_id][unit_of(claim)] += 1
    units = {relation: min(own, key=lambda unit: (-own[unit], unit or "")) for relation, own in counts.items()}
    for claim in claims:
        if claim.datatype != "quantity" or unit_of(claim) == units[claim.relation_id]:
            yield claim
        else:
            reason = f"{claim.relation_id} in another unit than {units[claim.relation_id]}, its most frequent"
            omitted.add("facts", reason, f"{claim.subject_id} {claim.value} {unit_of(claim)}")


def facts_of(claims: Iterable[Claim], known: set[str], omitted: Omissions) -> list[Fact]:
    """Return one fact for each relation, subject and object: statements that say the same are one."""
    said: dict[str, set[str]] = defaultdict(set)
    facts: dict[str, Fact] = {}
    for claim in claims:
        key = claim.object_id or claim.value
        identity = f"{claim.relation_id}|{claim.subject_id}|{key}"
        if claim.subject_id not in known or (claim.object_id and claim.object_id not in known):
            omitted.add("facts", "subject or object has no name", identity)
            continue
        if claim.value in known:  # objects are told apart by id or value
            omitted.add("facts", "the value is a text that is the id of an item too", identity)
            continue
        if identity in facts:
            omitted.add("facts", "another statement says the same", identity)
        said[identity] |= {*claim.qualifiers, *(("rank=preferred",) if claim.preferred else ())}
        said[identity] |= {f"unit={claim.unit}"} if claim.unit else set()
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
    return [replace(fact, qualifiers=tuple(sorted(said[identity]))) for identity, fact in facts.items()]
