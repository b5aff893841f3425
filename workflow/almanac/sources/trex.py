"""T-REx: Wikidata facts aligned with Wikipedia sentences; all of it, the part that LAMA probes, or prepared tables.

The documents are JSON arrays in one zip archive, decoded one at a time. Mentions are written to disk, partitioned by
entity, and each part is processed alone. So memory grows with the size of a part and not of T-REx.
"""

import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import polars as pl
import pyarrow as pa

from almanac.columns import columns
from almanac.errors import AlmanacError
from almanac.rows import Fact
from almanac.sources import values
from almanac.sources.files import read_folder
from almanac.sources.frames import popularity
from almanac.sources.lama import Collected, probed
from almanac.sources.options import TrexOptions
from almanac.sources.properties import of_property
from almanac.sources.reading import Aside, decoded, member, zipped
from almanac.sources.source_tables import Omissions, SourceTables
from almanac.sources.user_table import UNSEEN

SOURCE = "trex"
PARTS = 32
ITEM = re.compile(r"^https?://www\.wikidata\.org/entity/(Q\d+)$")
PROPERTY = re.compile(r"^https?://www\.wikidata\.org/prop/direct/(P\d+)$")
LITERAL = re.compile(r"^\"?(.+?)\"?\^\^<?http://www\.w3\.org/2001/XMLSchema#(\w+)>?$")
DATE = re.compile(r"^(-?\d{4,})-(\d\d)-(\d\d)T")
PRONOUNS = "Simple_Coreference"  # the annotator whose surface forms are pronouns and parts of names
LAMA_FILE = re.compile(r"(?:^|/)TREx/(P\d+)\.jsonl$")
DATES = pl.col("entity_id").str.contains(r"^\d{4,}(-\d\d-\d\d)?$|^\d+ BC$")  # entities that are dates, by their ids
MENTIONS = {
    "part": pl.Int64(),
    "relation": pl.String(),
    "subject_id": pl.String(),
    "object_id": pl.String(),
    "value": pl.String(),
    "datatype": pl.String(),
    "precision": pl.String(),
    "sentence": pl.String(),
    "place": pl.Int64(),
}
NAMES = {"part": pl.Int64(), "entity_id": pl.String(), "name": pl.String(), "mention": pl.Int64()}


class Mention(msgspec.Struct):
    """A subject, predicate or object as it occurs in the text."""

    uri: str | None = None
    surfaceform: str | None = None
    annotator: str | None = None


class Triple(msgspec.Struct):
    """A fact found in a document."""

    subject: Mention
    predicate: Mention
    object: Mention
    sentence_id: int | None = None


class Abstract(msgspec.Struct):
    """The beginning of a Wikipedia article."""

    uri: str | None = None
    title: str | None = None
    text: str = ""
    sentences_boundaries: list[tuple[int, int]] = []
    triples: list[Triple] = []


class Literal(NamedTuple):
    """An object that is no entity."""

    value: str
    datatype: str
    precision: str | None


class Probe(msgspec.Struct):
    """A line of LAMA's T-REx files."""

    sub_uri: str
    obj_uri: str
    obj_label: str
    predicate_id: str
    sub_label: str = ""
    evidences: list["MaskedSentence"] = []


class MaskedSentence(msgspec.Struct):
    """A sentence whose object is masked."""

    masked_sentence: str = ""
    obj_surface: str = ""


def read(options: TrexOptions, folder: Path) -> SourceTables:
    """Return the tables of T-REx in the form ``options.form``.

    Raises:
        AlmanacError: the archive is missing, damaged or of another shape; or a requested relation has no facts.
    """
    if options.form == "tables":
        return SourceTables(**vars(read_folder(folder, SOURCE)))
    archive = folder / options.downloads()[0].name
    return _read_lama(archive, options) if options.form == "lama" else _read_documents(archive, options)


def _read_lama(path: Path, options: TrexOptions) -> SourceTables:
    collected = Collected(SOURCE)
    with zipped(path) as archive:
        for name in sorted(filter(LAMA_FILE.search, archive.namelist())):
            for line in decoded(f"{path}: {name}", member(path, archive, name).splitlines(), Probe):
                if not options.relations or line.predicate_id in options.relations:
                    _add_probe(collected, line, options.evidence)
    _all_there(path, options, collected.relations())
    return collected.tables(*probed(path))


def _all_there(path: Path, options: TrexOptions, found: set[str]) -> None:
    if missing := sorted(set(options.relations) - found):
        raise AlmanacError(f"{path}: has no facts of {', '.join(missing)}; correct `relations`")


def _add_probe(collected: Collected, line: Probe, evidence: int) -> None:
    if not collected.named(subject=(line.sub_uri, [line.sub_label]), object=(line.obj_uri, [line.obj_label])):
        return
    fact = collected.fact(line.predicate_id, line.sub_uri, object_id=line.obj_uri)
    for sentence in line.evidences[:evidence]:
        collected.evidence(fact, sentence.masked_sentence.replace("[MASK]", sentence.obj_surface or line.obj_label))


def _read_documents(path: Path, options: TrexOptions) -> SourceTables:
    """Read the documents once, then return tables that are streamed part by part.

    An entity's label is its most frequent surface form (ties: the first alphabetically); the other forms are aliases.
    Pronouns are not names: entities without any other name are omitted with their facts. Popularity is the number of
    triples that mention the entity. Of a fact's sentences those with the lowest CRC-32 are kept.
    """
    omissions, mentions, names = Omissions(), Aside(MENTIONS, "part"), Aside(NAMES, "part")
    relations: set[str] = set()
    for document in _documents(path):
        if document.title and (item := ITEM.match(document.uri or "")):
            names.add((_part(item[1]), item[1], document.title, 0))
        for triple in document.triples:
            _lay_aside(document, triple, options, mentions, names, relations, omissions)
    _all_there(path, options, relations)
    of_dates = [names.stream(part).select("entity_id").filter(DATES).unique() for part in range(PARTS)]
    dates = pl.concat(of_dates).collect().to_series()
    name = _seen()
    of_names = [names.stream(part).filter(~DATES).group_by("entity_id").agg(name.max()) for part in range(PARTS)]
    unnamed = pl.concat(one.filter(pl.col("name") == "") for one in of_names).collect()["entity_id"]
    return SourceTables(
        entities=_entities(names, unnamed),
        relations=[of_property(name) for name in sorted(relations)],
        facts=_facts(mentions, dates, unnamed, omissions),
        popularity=_popularity(names, unnamed),
        evidence=_evidence(mentions, dates, unnamed, options.evidence),
        omissions=omissions,
    )


def _documents(path: Path) -> Iterator[Abstract]:
    decoder = msgspec.json.Decoder(list[Abstract])
    with zipped(path) as archive:
        for name in sorted(name for name in archive.namelist() if name.endswith(".json")):
            try:
                yield from decoder.decode(member(path, archive, name))
            except msgspec.DecodeError as error:
                raise AlmanacError(f"{path}: {name} is not what is expected ({error}); is it T-REx?") from error


def _part(entity: str) -> int:
    return zlib.crc32(entity.encode()) % PARTS


def _lay_aside(
    document: Abstract,
    triple: Triple,
    options: TrexOptions,
    mentions: Aside,
    names: Aside,
    relations: set[str],
    omissions: Omissions,
) -> None:
    predicate, subject = PROPERTY.match(triple.predicate.uri or ""), ITEM.match(triple.subject.uri or "")
    item = ITEM.match(triple.object.uri or "")
    literal = None if item else _literal(triple.object.uri or "")
    if predicate is None or subject is None or not (item or literal):
        what = "predicate" if predicate is None else "subject" if subject is None else "object"
        uris = [triple.subject.uri, triple.predicate.uri, triple.object.uri]
        omissions.add("facts", f"{what} is none of Wikidata's", uris)
        return
    if options.relations and predicate[1] not in options.relations:
        return
    relations.add(predicate[1])
    sentence = _sentence(document, triple)
    if sentence is None:
        omissions.add("evidence", "sentence lies outside its document", document.uri)
    found = item[1] if item else None
    if literal is not None and literal.datatype == "date" and options.dates == "text":
        # Dates become entities whose names are their spellings in the texts; the 0 excludes them from popularity.
        names.add((_part(literal.value), literal.value, triple.object.surfaceform, 0))
        found, literal = literal.value, None
    elif literal is not None:
        value, _ = values.read(literal.datatype, literal.value, literal.precision)
        if value is None:
            omissions.add("facts", f"object is no {literal.datatype} that can be compared", literal.value)
            return
        literal = literal._replace(value=value)
    key = (predicate[1], subject[1], found, *(literal or (None, None, None)))
    mentions.add((_part(subject[1]), *key, sentence, zlib.crc32((sentence or "").encode())))
    for mention, entity in ((triple.subject, subject), (triple.object, item)):
        if entity is not None:
            name = mention.surfaceform if mention.annotator != PRONOUNS else None
            names.add((_part(entity[1]), entity[1], name, 1))


def _sentence(document: Abstract, triple: Triple) -> str | None:
    bounds = document.sentences_boundaries
    if triple.sentence_id is None or not 0 <= triple.sentence_id < len(bounds):
        return None
    start, end = bounds[triple.sentence_id]
    return " ".join(document.text[start:end].split()) or None


def _literal(text: str) -> Literal | None:
    """Return a date or a number, or None for any other literal.

    T-REx does not record the precision of dates: YEAR-01-01 and YEAR-00-00 stand for the year. Of dates before Christ
    only the year is kept, since Almanac has no form for their days. In RDF the year 0 is 1 BC.
    """
    found = LITERAL.match(text)
    if found is None:
        return None
    if date := DATE.match(found[1]):
        year, month, day = date.groups()
        if int(year) <= 0:
            return Literal(f"{1 - int(year)} BC", "date", "year")
        if (month, day) in (("01", "01"), ("00", "00")):
            return Literal(year, "date", "year")
        return Literal(date[0][:-1], "date", "month" if day == "00" else "day")
    return Literal(found[1], "quantity", None) if found[2] in ("decimal", "integer", "double") else None


def _key() -> pl.Expr:
    return pl.format("{}|{}|{}", "relation", "subject_id", pl.coalesce("object_id", "value"))


def _of_unnamed(unnamed: pl.Series) -> pl.Expr:
    ends = [pl.col(end).is_in(unnamed.implode()).fill_null(False) for end in ("subject_id", "object_id")]
    return pl.any_horizontal(ends)


def _facts(mentions: Aside, dates: pl.Series, unnamed: pl.Series, omissions: Omissions) -> Iterator[pa.Table]:
    """Yield the facts; omit those with an unnamed entity, and numbers that are written like one of the ``dates``.

    These dates are entities, and no value may equal the id of an entity.
    """
    own = ["relation", "subject_id", "object_id", "value", "datatype", "precision"]
    for part in range(PARTS):
        rows = mentions.stream(part).select(own).unique().collect(engine="streaming")
        for row in rows.filter(_of_unnamed(unnamed)).sort(own).iter_rows():
            omissions.add("facts", "subject or object has no name", row)
        rows = rows.filter(~_of_unnamed(unnamed))
        like_dates = rows.filter(pl.col("value").is_in(dates.implode())).sort(own)
        for row in like_dates.iter_rows():
            omissions.add("facts", "number is written like a date", row)
        rows = rows.join(like_dates, on=own, how="anti", nulls_equal=True)
        found = rows.with_columns(
            fact_id=_key(),
            relation_id="relation",
            qualifiers=pl.lit([], dtype=pl.List(pl.String)),
            split=pl.lit(None, dtype=pl.String),
            source=pl.lit(SOURCE),
        )
        # A year and a number may be written alike, and so have the same fact id: one of them is kept.
        once = found.sort("fact_id", *own).unique("fact_id", keep="first", maintain_order=True)
        yield once.select(columns(Fact)).to_arrow()


def _evidence(mentions: Aside, dates: pl.Series, unnamed: pl.Series, count: int) -> Iterator[pa.Table]:
    for part in range(PARTS):
        like_dates = pl.col("value").is_in(dates.implode()).fill_null(False)
        rows = mentions.stream(part).filter(pl.col("sentence").is_not_null(), ~like_dates, ~_of_unnamed(unnamed))
        kept = (
            rows.select("place", fact_id=_key(), text="sentence")
            .unique(("fact_id", "text"))
            .collect(engine="streaming")
            .sort("fact_id", "place", "text")
            .filter(pl.int_range(pl.len()).over("fact_id") < count)
        )
        yield kept.select("fact_id", "text").to_arrow()


def _seen() -> pl.Expr:
    """Return the column ``name`` without invisible characters; the result may be empty."""
    return pl.col("name").fill_null("").str.replace_all(UNSEEN, "").str.strip_chars()


def _entities(names: Aside, unnamed: pl.Series) -> Iterator[pa.Table]:
    for part in range(PARTS):
        rows = names.stream(part).filter(~pl.col("entity_id").is_in(unnamed.implode()))
        rows = rows.select("entity_id", name=_seen())
        counts = rows.group_by("entity_id", "name").len().collect(engine="streaming")
        counts = counts.with_columns(unnamed=pl.col("name") == "")
        ranked = counts.sort("entity_id", "unnamed", "len", "name", descending=[False, False, True, False])
        grouped = ranked.group_by("entity_id", maintain_order=True).agg("name")
        label = pl.col("name").list.first()
        yield grouped.select(
            "entity_id",
            # A date without a spelling in the texts gets its id as label.
            label=pl.when(label == "").then("entity_id").otherwise(label),
            aliases=_others(pl.col("name")),
            type=pl.when(DATES).then(pl.lit("date")),
        ).to_arrow()


def _others(names: pl.Expr) -> pl.Expr:
    """Return the aliases: all names after the first, which is the label; for dates also the id."""
    label = names.list.first()
    own = pl.when(DATES & (label != "")).then(pl.concat_list("entity_id")).otherwise(pl.lit([], pl.List(pl.String)))
    every = names.list.slice(1).list.concat(own).list.set_difference([""])
    return every.list.set_difference(pl.concat_list(label)).list.sort()


def _popularity(names: Aside, unnamed: pl.Series) -> Iterator[pa.Table]:
    for part in range(PARTS):
        named = names.stream(part).filter(~pl.col("entity_id").is_in(unnamed.implode()))
        counts = named.group_by("entity_id").agg(score=pl.col("mention").sum())
        rows = counts.filter(pl.col("score") > 0).with_columns(bucket=pl.lit(None, pl.String))
        yield popularity(rows.collect(engine="streaming").sort("entity_id"), SOURCE, "entity").to_arrow()
