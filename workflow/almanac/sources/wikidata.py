"""Wikidata: facts through their statements, with rank, precision and qualifiers; names; sitelinks as popularity."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from almanac.errors import AlmanacError
from almanac.rows import Entity, Fact, Popularity, Relation, Template
from almanac.sources import paging
from almanac.sources import wikidata_queries as queries
from almanac.sources.answers import Recorder, Server
from almanac.sources.names import clean, named
from almanac.sources.options import WikidataOptions
from almanac.sources.paging import Row
from almanac.sources.source_tables import Omissions, SourceTables
from almanac.sources.sparql import Client, count_rows
from almanac.sources.wikidata_api import Api, Spoken, count_entities, spoken_by_api
from almanac.sources.wikidata_items import lowest_items

ITEM = re.compile(re.escape(queries.ENTITY) + r"(Q[1-9]\d*)")
YEAR = re.compile(r"([+-]?\d+)-\d\d-\d\d")
YEAR_PRECISION = 9  # Wikibase's scale: 9 is the year, 10 the month, 11 the day; below are decades and coarser
PREFERRED, DEPRECATED = queries.RANKS + "PreferredRank", queries.RANKS + "DeprecatedRank"
NOBEL = ("P166", "P166/P585", "P569", "P21")  # the relations of laureates


@dataclass(frozen=True)
class Property:
    """A property: its English label and Wikibase's type of its values (WikibaseItem, Time, Quantity, String, …)."""

    label: str
    type: str


@dataclass(frozen=True)
class Claim:
    """One value of a statement, or of its qualifier. ``object_id`` or ``value`` (with ``datatype``) is given."""

    relation_id: str
    subject_id: str
    object_id: str | None
    value: str | None
    datatype: str | None
    preferred: bool
    qualifiers: tuple[str, ...]


def fetch(
    options: WikidataOptions,
    folder: Path,
    contact: str | None,
    log: Callable[[str], object],
    done: Callable[..., object],
) -> None:
    """Bring the answers into a folder; what is there already is not asked again.

    Args:
        options: what is asked for, and of whom.
        folder: where the raw answers are kept.
        contact: an e-mail address or a page, for the User-Agent.
        log: told of failures that are tried again.
        done: told after each relation and each batch of names: ``done(note=…)``.
    """
    facts = Recorder(folder / "facts", Client(options.endpoint, contact, options, log), count_rows)
    api = Recorder(folder / "names", Api(options.api, contact, options, log), count_entities)
    pull(options, facts, api, done)


def read(options: WikidataOptions, folder: Path) -> SourceTables:
    """Return the tables that a folder of frozen answers gives.

    Raises:
        AlmanacError: the folder lacks an answer, or one was changed.
    """
    return pull(options, Recorder(folder / "facts", None, count_rows), Recorder(folder / "names", None, count_entities))


def pull(
    options: WikidataOptions, facts: Server, api: Server, done: Callable[..., object] = lambda **note: None
) -> SourceTables:
    """Return the tables that the answers give: a function of the settings and the answers alone."""
    omitted = Omissions()
    wanted = dict.fromkeys([*options.relations, *(NOBEL if options.nobel else ())])
    properties = _properties(facts, sorted({part for path in wanted for part in path.split("/")}), options)
    claims: list[Claim] = []
    for path in options.relations:
        claims += _relation(facts, path, properties, options, omitted)
        done(note=path)
    if options.nobel:
        claims += _laureates(facts, options, omitted)
        done(note="Nobel laureates")
    if options.ranks == "best":
        claims = list(_best(claims, omitted))
    ids = sorted({key for claim in claims for key in (claim.subject_id, claim.object_id) if key})
    entities, popularity = _entities(facts, api, ids, options, omitted)
    done(note="names")
    return SourceTables(
        entities=entities,
        relations=[_relation_row(path, properties) for path in wanted],
        facts=_facts(claims, {entity.entity_id for entity in entities}, omitted),
        templates=list(_named_alike(facts, list(wanted), options)) if options.property_aliases else (),
        popularity=popularity,
        omissions=omitted,
    )


def _properties(server: Server, ids: Sequence[str], options: WikidataOptions) -> dict[str, Property]:
    """Return the properties' labels and types.

    Raises:
        AlmanacError: one is unknown to the server.
    """
    rows = paging.batched(server, queries.PROPERTIES, [f"wd:{one}" for one in ids], options.batch)
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["p"].removeprefix(queries.ENTITY)].append(row)
    unknown = [one for one in ids if one not in found]
    if unknown:
        raise AlmanacError(f"{options.endpoint}: knows no property {', '.join(unknown)}; correct `relations`")
    out = {}
    for one, own in found.items():
        name = named([(row["label.lang"], row["label"]) for row in own if "label" in row], (), queries.LANGUAGES)
        out[one] = Property(name[0] if name else one, own[0]["type"].rpartition("#")[2])
    return out


def _named_alike(server: Server, paths: Sequence[str], options: WikidataOptions) -> Iterator[Template]:
    """Yield a template for each other name of a property, which stands between subject and object; of qualifiers none.

    Their style is their own, so that only who asks for them sees them.
    """
    found: dict[str, set[str]] = defaultdict(set)
    own = [f"wd:{path}" for path in sorted(paths) if "/" not in path]
    for row in paging.batched(server, queries.ALIASES, own, options.batch):
        found[row["e"].removeprefix(queries.ENTITY)].add(clean(row["name"]))
    for relation, names in sorted(found.items()):
        for number, name in enumerate(sorted(name for name in names if name and "[" not in name)):
            text = f"[X] {name} [Y]."
            yield Template(f"{relation}/alias/{number}", relation, text, "alias", "property_alias", None, ())


def _relation_row(path: str, properties: dict[str, Property]) -> Relation:
    of, _, qualifier = path.partition("/")
    label = f"{properties[of].label}: {properties[qualifier].label}" if qualifier else properties[of].label
    kinds = {"WikibaseItem": None, "Time": "year", "Quantity": "quantity"}
    kind = kinds.get(properties[qualifier or of].type, "string")
    return Relation(path.replace("/", "."), label, path, None, kind, None)


def _relation(
    server: Server, path: str, properties: dict[str, Property], options: WikidataOptions, omitted: Omissions
) -> Iterator[Claim]:
    """Yield the claims of a property's statements, or of a qualifier of them."""
    of, _, qualifier = path.partition("/")
    kind = properties[qualifier or of].type
    pattern = queries.statements(of, qualifier or None, kind == "Time")
    for row in paging.gather(server, pattern, options.page, options.facts, lowest_items):
        subject = _subject(row, omitted)
        if subject is None:
            continue
        said: tuple[str, ...] = ()
        if qualifier and (main := ITEM.fullmatch(row["main"])):
            said = (f"{of}={main[1]}",)
        value = _value(row, kind, omitted)
        if value is not None:
            preferred = row["rank"] == PREFERRED
            yield Claim(path.replace("/", "."), subject, *value, preferred, said)


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
        return None, row["o"].removeprefix("+"), "quantity"
    else:
        return None, row["o"], "string"
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


def _laureates(server: Server, options: WikidataOptions, omitted: Omissions) -> Iterator[Claim]:
    """Yield prize, year of the award, year of birth and gender of the Nobel laureates."""
    statements: dict[str, list[Row]] = defaultdict(list)
    for row in paging.gather(server, queries.LAUREATES, options.page):
        statements[row["statement"]].append(row)
    for rows in statements.values():  # one award; several rows where the person has several dates or genders
        subject, prize = _subject(rows[0], omitted), rows[0]["prize"].removeprefix(queries.ENTITY)
        if subject is None:
            continue
        preferred = rows[0]["rank"] == PREFERRED
        yield Claim("P166", subject, prize, None, None, preferred, ())
        for year in _years(rows, "year", omitted):
            yield Claim("P166.P585", subject, None, year, "date", preferred, (f"P166={prize}",))
        for rank in {row.get("birth_rank") for row in rows} - {None, DEPRECATED}:
            for year in _years([row for row in rows if row.get("birth_rank") == rank], "birth", omitted):
                yield Claim("P569", subject, None, year, "date", rank == PREFERRED, ())
        for item, rank in {(row.get("gender", ""), row.get("gender_rank")) for row in rows}:
            if rank != DEPRECATED and (gender := ITEM.fullmatch(item)):
                yield Claim("P21", subject, gender[1], None, None, rank == PREFERRED, ())


def _years(rows: Sequence[Row], name: str, omitted: Omissions) -> Iterator[str]:
    """Yield the years of the different dates in rows of one person; a date that nobody gave is no omission."""
    for row in {row[name]: row for row in rows if name in row}.values():
        if year := _year(row, name, omitted):
            yield year


def _best(claims: Sequence[Claim], omitted: Omissions) -> Iterator[Claim]:
    """Yield the preferred claims of each subject and relation that has such, and all of the others."""
    preferred = {(claim.relation_id, claim.subject_id) for claim in claims if claim.preferred}
    for claim in claims:
        if claim.preferred or (claim.relation_id, claim.subject_id) not in preferred:
            yield claim
        else:
            omitted.add("facts", "a preferred statement stands beside it", f"{claim.relation_id} {claim.subject_id}")


def _entities(
    facts: Server, api: Server, ids: Sequence[str], options: WikidataOptions, omitted: Omissions
) -> tuple[list[Entity], list[Popularity]]:
    """Return the entities that have a name, and the sitelinks of all that have such."""
    if options.names == "api":
        spoken = spoken_by_api(api, ids, queries.LANGUAGES)
    else:
        spoken = _spoken_by_sparql(facts, ids, options.batch)
    entities, popularity = [], []
    for identity in ids:
        name = named(spoken.labels[identity], spoken.aliases[identity], queries.LANGUAGES)
        if name is None:
            omitted.add("entities", f"no name in {' or '.join(queries.LANGUAGES)}", identity)
            continue
        entities.append(Entity(identity, *name, None))
        if identity in spoken.sitelinks:
            popularity.append(Popularity(identity, "wikidata", "item", spoken.sitelinks[identity], None))
    return entities, popularity


def _spoken_by_sparql(server: Server, ids: Sequence[str], batch: int) -> Spoken:
    spoken, addresses = Spoken(), [f"wd:{identity}" for identity in ids]

    def rows(pattern: paging.Pattern) -> Iterable[tuple[str, Row]]:
        for row in paging.batched(server, pattern, addresses, batch):
            yield row["e"].removeprefix(queries.ENTITY), row

    for identity, row in rows(queries.LABELS):
        spoken.labels[identity].append((row["name.lang"], row["name"]))
    for identity, row in rows(queries.ALIASES):
        spoken.aliases[identity].append(row["name"])
    for identity, row in rows(queries.SITELINKS):
        spoken.sitelinks[identity] = int(row["sitelinks"])
    return spoken


def _facts(claims: Iterable[Claim], known: set[str], omitted: Omissions) -> list[Fact]:
    """Return one fact for each relation, subject and object: statements that say the same are one."""
    said: dict[str, set[str]] = defaultdict(set)
    facts: dict[str, Fact] = {}
    for claim in claims:
        key = claim.object_id or claim.value
        identity = f"{claim.relation_id}|{claim.subject_id}|{key}"
        if claim.subject_id not in known or (claim.object_id and claim.object_id not in known):
            omitted.add("facts", "subject or object has no name", identity)
            continue
        if identity in facts:
            omitted.add("facts", "another statement says the same", identity)
        said[identity] |= {*claim.qualifiers, *(("rank=preferred",) if claim.preferred else ())}
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
