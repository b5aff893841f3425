"""Wikidata: facts from statements, with rank, precision and qualifiers; names; sitelinks as popularity."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from almanac.errors import AlmanacError
from almanac.rows import ALIAS, Entity, Popularity, Relation, Template
from almanac.sources import paging
from almanac.sources import wikidata_queries as queries
from almanac.sources.answers import QueryServer, Recorder
from almanac.sources.names import clean, named
from almanac.sources.options import NOBEL, WikidataOptions
from almanac.sources.paging import Row
from almanac.sources.source_tables import Omissions, SourceTables, distinct
from almanac.sources.sparql import Client, count_rows
from almanac.sources.wikidata_api import Api, Spoken, count_entities, spoken_by_api
from almanac.sources.wikidata_claims import Claim, Property, best, facts_of, in_one_unit, of_laureates, of_relation


def fetch(
    options: WikidataOptions,
    folder: Path,
    contact: str | None,
    log: Callable[[str], object],
    done: Callable[..., object],
) -> None:
    """Query the servers and record their answers in a folder; queries with a recorded answer are not sent again.

    Args:
        options: the relations, names and servers.
        folder: where the raw answers are recorded.
        contact: an e-mail address or a web page, for the User-Agent.
        log: called with each failure that is retried.
        done: called after each relation, and after all names: ``done(note=…)``.
    """
    facts = Recorder(folder / "facts", Client(options.endpoint, contact, options, log), count_rows)
    api = Recorder(folder / "names", Api(options.api, contact, options, log), count_entities)
    pull(options, facts, api, done)


def read(options: WikidataOptions, folder: Path) -> SourceTables:
    """Return the tables from a folder of frozen answers.

    Raises:
        AlmanacError: an answer is missing or has been changed.
    """
    return pull(options, Recorder(folder / "facts", None, count_rows), Recorder(folder / "names", None, count_entities))


def pull(
    options: WikidataOptions, facts: QueryServer, api: QueryServer, done: Callable[..., object] = lambda **note: None
) -> SourceTables:
    """Return the tables; they depend on the settings and the servers' answers alone."""
    omitted = Omissions()
    wanted = dict.fromkeys([*options.relations, *(NOBEL if options.nobel else ())])
    properties = _properties(facts, sorted({part for path in wanted for part in path.split("/")}), options)
    claims: list[Claim] = []
    preferred: set[tuple[str, str]] = set()
    for path in options.relations:
        claims += of_relation(facts, path, properties, options, preferred, omitted)
        done(note=path)
    if options.nobel:
        claims += of_laureates(facts, options, preferred, omitted)
        done(note="Nobel laureates")
    if options.ranks == "best":
        claims = list(best(claims, preferred, omitted))
    claims = list(in_one_unit(claims, omitted, lambda claim: claim.unit))
    ids = sorted({key for claim in claims for key in (claim.subject_id, claim.object_id) if key})
    entities, popularity = _entities(facts, api, ids, options, omitted)
    done(note="names")
    return SourceTables(
        entities=entities,
        relations=[_relation_row(path, properties) for path in wanted],
        facts=facts_of(claims, {entity.entity_id for entity in entities}, omitted),
        templates=list(distinct(_alias_templates(facts, wanted, options), omitted)) if options.property_aliases else (),
        popularity=popularity,
        omissions=omitted,
    )


def _properties(server: QueryServer, ids: Sequence[str], options: WikidataOptions) -> dict[str, Property]:
    """Return labels and types of properties.

    Raises:
        AlmanacError: the server does not know one of them.
    """
    rows = paging.batched(server, queries.PROPERTIES, [f"wd:{one}" for one in ids], options.batch)
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["p"].removeprefix(queries.ENTITY)].append(row)
    unknown = [one for one in ids if one not in found]
    if unknown:
        raise AlmanacError(f"{options.endpoint}: knows no property {', '.join(unknown)}; correct `relations`")
    out = {}
    for one, labelled in found.items():
        name = named([(row["label.lang"], row["label"]) for row in labelled if "label" in row], (), queries.LANGUAGES)
        out[one] = Property(name[0] if name else one, labelled[0]["type"].rpartition("#")[2])
    return out


def _alias_templates(server: QueryServer, paths: Iterable[str], options: WikidataOptions) -> Iterator[Template]:
    """Yield a template ``[X] ALIAS [Y].`` for each alias of the properties (none for qualifiers).

    They have the style ``alias``, so that only suites that ask for this style use them.
    """
    found: dict[str, set[str]] = defaultdict(set)
    addresses = [f"wd:{path}" for path in sorted(paths) if "/" not in path]
    for row in paging.batched(server, queries.ALIASES, addresses, options.batch):
        found[row["e"].removeprefix(queries.ENTITY)].add(clean(row["name"]))
    for relation, names in sorted(found.items()):
        for number, name in enumerate(sorted((name for name in names if name and "[" not in name), key=str.swapcase)):
            text = f"[X] {name} [Y]."
            yield Template(f"{relation}/alias/{number}", relation, text, ALIAS, "property_alias", None, ())


def _relation_row(path: str, properties: dict[str, Property]) -> Relation:
    property_id, _, qualifier = path.partition("/")
    label = properties[property_id].label + (f": {properties[qualifier].label}" if qualifier else "")
    kinds = {"WikibaseItem": None, "Time": "year", "Quantity": "quantity"}
    kind = kinds.get(properties[qualifier or property_id].type, "string")
    if kind == "year":  # dates are kept as years, so the label that questions use must say "year of birth"
        label = re.sub(r"\bdate\b", "year", label)
    return Relation(path.replace("/", "."), label, path, None, kind, None)


def _entities(
    facts: QueryServer, api: QueryServer, ids: Sequence[str], options: WikidataOptions, omitted: Omissions
) -> tuple[list[Entity], list[Popularity]]:
    """Return the entities that have a name, and their numbers of sitelinks where these are known."""
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


def _spoken_by_sparql(server: QueryServer, ids: Sequence[str], batch: int) -> Spoken:
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
