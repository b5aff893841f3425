"""DBpedia: some properties over SPARQL, or whole relations from the pinned dump, with degrees as popularity."""

from collections.abc import Callable, Sequence
from pathlib import Path

from almanac.rows import Entity, Fact
from almanac.sources import paging, values
from almanac.sources.answers import QueryServer, Recorder
from almanac.sources.dbpedia_dump import ONTOLOGY, RESOURCE, address, bare, identity, read_dump, relation_row
from almanac.sources.names import clean, named
from almanac.sources.options import DbpediaOptions
from almanac.sources.paging import Pattern, Row
from almanac.sources.source_tables import Omissions, SourceTables
from almanac.sources.sparql import Client, count_rows
from almanac.sources.wikidata_claims import in_one_unit

PREFIXES = f"""\
PREFIX dbo: <{ONTOLOGY}>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
"""
LANGUAGES = ("en",)
XSD = "http://www.w3.org/2001/XMLSchema#"
WHOLE = ("integer", "int", "long", "nonNegativeInteger", "positiveInteger")
DATATYPES = dict.fromkeys(("gYear", "gYearMonth", "date", "dateTime"), "date") | dict.fromkeys(
    (*WHOLE, "decimal", "float", "double"), "quantity"
)
UNIT = "http://dbpedia.org/datatype/"  # prefix of DBpedia's own datatypes, which name the unit of a number
LABELS = Pattern(PREFIXES, "?e ?name", '  VALUES ?e { {values} }\n  ?e rdfs:label ?name . FILTER(LANG(?name) = "en")')
ALIASES = Pattern(  # the labels of pages that redirect to an entity are its aliases
    PREFIXES,
    "?e ?name",
    '  VALUES ?e { {values} }\n  ?page dbo:wikiPageRedirects ?e . ?page rdfs:label ?name . FILTER(LANG(?name) = "en")',
)


def fetch(
    options: DbpediaOptions,
    folder: Path,
    contact: str | None,
    log: Callable[[str], object],
    done: Callable[..., object],
) -> None:
    """Query the endpoint and record its answers in a folder; the arguments are those of `wikidata.fetch`."""
    pull(options, Recorder(folder, Client(options.endpoint, contact, options, log), count_rows), done)


def read(options: DbpediaOptions, folder: Path) -> SourceTables:
    """Return the tables from a folder with frozen answers or the dump."""
    if options.by == "dump":
        return read_dump(options, folder)
    return pull(options, Recorder(folder, None, count_rows))


def pull(
    options: DbpediaOptions, server: QueryServer, done: Callable[..., object] = lambda **note: None
) -> SourceTables:
    """Return the tables; they depend on the settings and the server's answers alone."""
    omitted = Omissions()
    facts: dict[str, Fact] = {}
    addresses: set[str] = set()
    for relation in options.relations:
        pattern = Pattern(PREFIXES, "?s ?o", f"  ?s <{address(relation)}> ?o .")
        for row in paging.gather(server, pattern, options.page, options.facts):
            fact = _fact(relation, row, omitted)
            if fact is not None:
                there = facts.setdefault(fact.fact_id, fact)
                if there != fact:
                    omitted.add("facts", "another literal reads the same", fact.fact_id)
                    facts[fact.fact_id] = min(
                        there, fact, key=lambda one: (one.datatype or "", one.precision or "", one.qualifiers)
                    )
                addresses.update(row[end] for end in ("s", "o") if row[f"{end}.type"] == "uri")
        done(note=relation)
    entities = _entities(server, sorted(addresses), options.batch, omitted)
    done(note="names")
    known = {entity.entity_id for entity in entities}
    kept = []
    for fact in in_one_unit([*facts.values()], omitted, lambda one: "".join(one.qualifiers)[len("unit=") :] or None):
        if not {fact.subject_id, fact.object_id} - {None} <= known:
            omitted.add("facts", "subject or object has no name", fact.fact_id)
        elif fact.value in known:  # no value may equal an id, since either identifies an object
            omitted.add("facts", "the object is a text that is the id of a thing too", fact.fact_id)
        else:
            kept.append(fact)
    return SourceTables(entities, [relation_row(relation) for relation in options.relations], kept, omissions=omitted)


def _fact(relation: str, row: Row, omitted: Omissions) -> Fact | None:
    if not row["s"].startswith(RESOURCE):
        omitted.add("facts", "the subject is no thing of DBpedia", row["s"])
        return None
    if row["o.type"] == "uri" and not row["o"].startswith(RESOURCE):
        omitted.add("facts", "the object is no thing of DBpedia", row["o"])
        return None
    if row["o.type"] == "bnode" or row.get("o.lang", "en") != "en":
        omitted.add("facts", "the object is unknown, or in another language", row["o"])
        return None
    subject, value = identity(row["s"]), row["o"]
    if row["o.type"] == "uri":
        return _row(relation, subject, identity(value))
    if not (text := clean(value)):
        omitted.add("facts", "the object is an empty text", row["s"])
        return None
    return _row(relation, subject, None, *_literal(text, row.get("o.datatype", "")))


def _literal(text: str, datatype: str) -> tuple[str, str, str | None, tuple[str, ...]]:
    """Return a literal's value, datatype, precision and qualifiers (its unit).

    A literal that is no valid value of its type becomes a string. So do dates before Christ, since it is unclear
    whether their years count a year 0.
    """
    unit = datatype.removeprefix(UNIT) if datatype.startswith(UNIT) else ""
    kind = "quantity" if unit else DATATYPES.get(datatype.removeprefix(XSD), "string")
    value = values.read(kind, text, None)[0] if kind != "string" else None
    if value is None:
        return text, "string", None, ()
    precision = ("year", "month", "day")[value.count("-")] if kind == "date" else None
    return value, kind, precision, (f"unit={unit}",) if unit else ()


def _row(
    relation: str,
    subject: str,
    object_id: str | None,
    value: str | None = None,
    datatype: str | None = None,
    precision: str | None = None,
    qualifiers: tuple[str, ...] = (),
) -> Fact:
    key = f"{relation}|{subject}|{object_id or value}"
    return Fact(key, relation, subject, object_id, value, datatype, precision, qualifiers, None, "dbpedia")


def _entities(server: QueryServer, addresses: Sequence[str], batch: int, omitted: Omissions) -> list[Entity]:
    ids, asked = sorted(set(map(identity, addresses))), [f"<{address}>" for address in addresses]
    labels: dict[str, list[tuple[str, str]]] = {one: [] for one in ids}
    aliases: dict[str, list[str]] = {one: [] for one in ids}
    for row in paging.batched(server, LABELS, asked, batch):
        labels[identity(row["e"])].append((row["name.lang"], row["name"]))
    for row in paging.batched(server, ALIASES, asked, batch):
        aliases[identity(row["e"])].append(row["name"])
    entities = []
    for one in ids:
        bared = [name for _, label in labels[one] for name in bare(label)]
        name = named(labels[one], [*aliases[one], *bared], LANGUAGES)
        if name is None:
            omitted.add("entities", "no English name", one)
        else:
            entities.append(Entity(one, *name, None))
    return entities
