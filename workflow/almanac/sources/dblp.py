"""DBLP: facts about doctoral and master's theses; a person's popularity is their number of mentions in all records.

The XML is streamed by Expat, which limits the expansion of entities and opens no other file. DBLP's own entities
(``&uuml;``) are read from its DTD, but only those that stand for a single character.
"""

import html
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree.ElementTree import ParseError, XMLParser

import numpy as np
import polars as pl

from almanac.errors import AlmanacError
from almanac.rows import Relation
from almanac.sources.frames import assembled, bucket_of, drawn, facts, histogram_from, popularity, shown
from almanac.sources.options import DblpOptions
from almanac.sources.reading import laid_aside, opened
from almanac.sources.source_tables import Omissions, SourceTables
from almanac.sources.thirds import cuts, sizes
from almanac.tables import seed_of

SOURCE = "dblp"
THESES = {"phdthesis": "phd", "mastersthesis": "ms"}
DEGREES = {"phd": "doctoral", "ms": "master's"}
FIELDS = {"title": "string", "year": "date", "school": "string"}
PEOPLE = ("author", "editor")
RELATIONS = [
    Relation(f"{SOURCE}.{degree}_{name}", f"{name} of the {word} thesis", None, "N-1", kind, "academics")
    for degree, word in DEGREES.items()
    for name, kind in (("title", "string"), ("year", "year"), ("school", "organisation"))
]
ENTITY = re.compile(r"<!ENTITY\s+([\w.-]+)\s+\"([^\"%]*)\"\s*>")
CHARACTER = re.compile(r"&#(?:\d+|x[0-9A-Fa-f]+);|[^&<]")
NUMBERED = re.compile(r" \d{4}$")  # `Wei Wang 0001`: DBLP numbers people of the same name
BYTES = 1 << 20
HELD = 500_000  # different names that are held in memory while counting


@dataclass
class Record:
    """A child of the root element: its tag, its key, and the texts of its fields."""

    tag: str
    key: str
    texts: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))


class _Records:
    """Collects the parser's events into records; text inside markup (``<i>``, ``<sub>``) belongs to the field."""

    def __init__(self) -> None:
        self._depth = 0
        self._record: Record | None = None
        self._text: list[str] = []
        self.done: list[Record] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth == 2:
            self._record = Record(tag, attributes.get("key", ""))
        elif self._depth == 3:
            self._text = []

    def data(self, text: str) -> None:
        if self._depth >= 3:
            self._text.append(text)

    def end(self, tag: str) -> None:
        if self._record is not None and self._depth == 3:
            self._record.texts[tag].append(" ".join("".join(self._text).split()))
        elif self._record is not None and self._depth == 2:
            self.done.append(self._record)
        self._depth -= 1

    def close(self) -> None:
        """End the document."""


def entities(path: Path) -> dict[str, str]:
    """Return the characters that a DTD defines, by entity name.

    Raises:
        AlmanacError: the DTD is missing or defines no characters.
    """
    with opened(path) as handle:
        text = handle.read(BYTES).decode("utf-8", "replace")
    found = {name: html.unescape(value) for name, value in ENTITY.findall(text) if CHARACTER.fullmatch(value)}
    if not found:
        raise AlmanacError(f"{path}: defines no characters; is it DBLP's DTD?")
    return found


def records(path: Path, characters: dict[str, str]) -> Iterator[Record]:
    """Yield the records of a release.

    Raises:
        AlmanacError: the file is missing, truncated or no XML; it uses an entity that the DTD does not define, or
            entities that expand too far; names the line.
    """
    target = _Records()
    parser = XMLParser(target=target)
    parser.entity.update(characters)
    with opened(path) as handle:
        try:
            while data := handle.read(BYTES):
                parser.feed(data)
                yield from target.done
                target.done.clear()
            parser.close()
        except ParseError as error:
            raise AlmanacError(
                f"{path}: {error}; take the DTD of the release's own time, or download the file again"
            ) from error


def read(options: DblpOptions, folder: Path) -> SourceTables:
    """Return the tables of a release.

    Args:
        options: the release and its DTD, the last year, the pool, the seed.
        folder: holds both files.

    Returns:
        Title, year and school of theses of drawn people. Each has only one thesis of this degree and a unique name.

    Raises:
        AlmanacError: as `records` and `entities`.
    """
    release, dtd = (folder / download.name for download in options.downloads())
    omissions = Omissions()
    theses: list[tuple[str, str, Record]] = []
    schema = {"person": pl.String(), "mentions": pl.Int64()}
    stream = _mentions(records(release, entities(dtd)), theses, PEOPLE[:1] if options.mentions == "authors" else PEOPLE)
    aside = laid_aside(stream, schema)
    people = aside.stream().group_by("person").agg(score=pl.col("mentions").sum())
    plain = pl.col("person").str.replace(NUMBERED.pattern, "")
    variants = people.group_by(label=plain).agg(pl.len(), pl.col("person").first(), pl.col("score").first())
    writers = pl.LazyFrame({"person": sorted({person for person, _, _ in theses})}, schema={"person": pl.String})
    histogram = histogram_from(people)
    authors = people.join(writers, on="person", how="semi").collect(engine="streaming")
    alone = variants.filter(pl.col("len") == 1).join(writers, on="person", how="semi").collect(engine="streaming")
    omissions.add("facts", "thesis of a person who shares the name with another", SOURCE, authors.height - alone.height)
    found = cuts(histogram)
    alone = alone.with_columns(
        bucket=bucket_of(found, pl.col("score")),
        id=pl.Series(np.array([seed_of(SOURCE, person) for person in alone["person"]], np.uint64)),
        entity_id=pl.lit("person:") + pl.col("person"),
    )
    rows = _facts(alone, _only(theses, options.last_year, omissions), options)
    none = pl.lit([], pl.List(pl.String))
    named = alone.select("entity_id", "label", aliases=none, type=pl.lit("person"))
    scores = popularity(alone, SOURCE, "person")
    return assembled(RELATIONS, rows, [named], [scores], sizes(SOURCE, "person", histogram, found), omissions)


def _mentions(
    stream: Iterator[Record], theses: list[tuple[str, str, Record]], people: Sequence[str]
) -> Iterator[tuple[str, int]]:
    """Yield (person, mentions in the fields ``people``), to be summed; ``theses`` gets (person, degree, record)."""
    counts: Counter[str] = Counter()
    for record in stream:
        for tag in people:
            counts.update(record.texts.get(tag, ()))
        if record.tag in THESES:
            theses.extend((person, THESES[record.tag], record) for person in record.texts.get("author", ()))
        if len(counts) >= HELD:
            yield from counts.items()
            counts.clear()
    yield from counts.items()


def _only(theses: list[tuple[str, str, Record]], last_year: int, omissions: Omissions) -> dict[tuple[str, str], Record]:
    """Return the thesis of each (person, degree) that has exactly one, if it has a year up to the last year."""
    found: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for person, degree, record in theses:
        found[person, degree].append(record)
    out = {}
    for pair, several in found.items():
        years = [int(year) for year in several[0].texts.get("year", ()) if year.isdecimal()]
        if len(several) > 1:
            omissions.add("facts", "person has several theses of one degree", pair[0])
        elif not years or years[0] > last_year:
            omissions.add("facts", f"thesis without a year, or after {last_year}", several[0].key)
        else:
            out[pair] = several[0]
    return out


def _facts(people: pl.DataFrame, only: dict[tuple[str, str], Record], options: DblpOptions) -> list[pl.DataFrame]:
    out = []
    schema = {"person": pl.String, "text": pl.String}
    for degree in DEGREES:
        for name, datatype in FIELDS.items():
            texts = [
                (person, text.rstrip(".") if name == "title" else text)
                for (person, of_degree), record in sorted(only.items())
                if of_degree == degree
                for text in list(dict.fromkeys(record.texts.get(name, ())))[: None if name == "school" else 1]
            ]
            own_texts = pl.DataFrame(texts, schema=schema, orient="row").filter(shown(pl.col("text")))
            rows = people.join(own_texts, on="person", how="semi")
            relation = f"{degree}_{name}"
            picked = drawn(rows, options.pool, options.seed, SOURCE, relation)
            picked = picked.join(own_texts, on="person").with_columns(subject_id="entity_id")
            precision = "year" if datatype == "date" else None
            text = pl.col("text")
            own_facts = facts(
                picked, f"{SOURCE}.{relation}", SOURCE, value=text, datatype=datatype, precision=precision
            )
            out.append(own_facts)
    return out
