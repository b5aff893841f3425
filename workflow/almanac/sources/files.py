"""Reads a user's facts: a folder of tables, an archive of such a folder, or one file of subject, relation and object.

The tables are `facts` and `entities`; optional are `relations`, `templates`, `popularity`, `evidence` and `exposures`.
Each is one file: ``NAME.csv``, ``NAME.jsonl`` or ``NAME.parquet``, the first two also as ``.gz``. Mistakes are reported
with file and line, the first twenty together. A folder with any mistake is refused, so nothing is dropped silently.
"""

import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from almanac import unfinished
from almanac.errors import AlmanacError, no_such
from almanac.rows import Entity, Evidence, Fact, Popularity, Relation, Template
from almanac.sources.archives import unpack
from almanac.sources.records import (
    CSV,
    ENDINGS,
    SPREADSHEETS,
    TABLES,
    TRIPLES,
    find,
    is_table,
    look,
    misnamed,
)
from almanac.tables import from_arrow

if TYPE_CHECKING:
    from almanac.sources.checking import FactColumns

ARCHIVE_BYTES = 20_000_000_000  # limit of an archive's unpacked size


@dataclass(frozen=True)
class FactTables:
    """The tables of one source as lists of rows, sorted by key."""

    entities: list[Entity]
    relations: list[Relation]
    facts: list[Fact]
    templates: list[Template]
    popularity: list[Popularity] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)


def table_files(folder: Path) -> list[Path]:
    """Return the table files of a facts folder, in a fixed order; for an archive or a file of facts, its own path.

    Raises:
        AlmanacError: the folder is missing, lacks `facts` or `entities`, or holds a misnamed table.
    """
    if folder.is_file():
        _check_file(folder)
        return [folder]
    if not folder.is_dir():
        kind = "file" if folder.suffix else "folder"
        raise AlmanacError(
            f"{no_such(folder, kind)}; name a folder that holds the tables facts and entities, or one file of facts"
        )
    files = {table: find(folder, table) for table in TABLES}
    if meant := misnamed(folder):
        raise AlmanacError(f"{folder}: {meant}")
    for table in ("facts", "entities"):
        if files[table] is None:
            raise AlmanacError(
                f"{folder}: has no table {table!r}; put {table}.csv there, or {_listed(table)}; or name one file "
                f"with the columns {', '.join(TRIPLES.required)}"
            )
    return [path for path in files.values() if path is not None]


def check_folder(folder: Path) -> None:
    """Check the names of a facts folder's files and how each begins, or one file of facts; archives are not unpacked.

    Raises:
        AlmanacError: as `table_files` and `records.look`.
    """
    for path in table_files(folder):
        if path != folder:
            look(path, TABLES[path.name.partition(".")[0]])
        elif is_table(path):
            look(path, TRIPLES)


def _listed(table: str) -> str:
    return ", ".join(f"{table}{ending}" for ending in ENDINGS[1:])


def _check_file(path: Path) -> None:
    """Refuse a single file that is neither a table nor an archive of a facts folder."""
    if path.suffix.lower() in SPREADSHEETS:
        raise AlmanacError(
            f"{path}: is a spreadsheet program's own file; save the sheet of {', '.join(TRIPLES.required)} as CSV in "
            "UTF-8 and name that file; or each sheet under the name of its table (facts.csv, entities.csv) into a "
            "folder, and name the folder"
        )
    if not (is_table(path) or zipfile.is_zipfile(path) or tarfile.is_tarfile(path)):
        raise AlmanacError(
            f"{path}: is no file of facts by its ending; allowed are {', '.join((*CSV, *ENDINGS[1:]))}; or name a "
            "folder of tables, or a zip or tar archive of one"
        )


@contextmanager
def as_folder(origin: Path) -> Iterator[Path]:
    """Yield a folder or file of facts as it is; an archive is unpacked for the duration of the context.

    For the archive of a frozen edition, the folder of its source is yielded.

    Raises:
        AlmanacError: the archive is damaged or unsafe, or is an edition of several sources.
    """
    if not origin.is_file() or is_table(origin):
        yield origin
        return
    with unfinished.folder() as work:
        folder = work / origin.name
        unpack(origin, folder, ARCHIVE_BYTES)
        try:
            yield _place(folder)
        except AlmanacError as error:  # name the user's archive instead of the temporary folder
            raise AlmanacError(str(error).replace(str(folder), str(origin))) from error


def _place(unpacked: Path) -> Path:
    """Return where the facts of an unpacked archive are: its top, an edition's source, or its only folder or file."""
    if find(unpacked, "facts") is not None:
        return unpacked
    sources = sorted(path for path in unpacked.glob("sources/*") if path.is_dir())
    if len(sources) > 1:
        names = ", ".join(f"sources/{path.name}" for path in sources)
        raise AlmanacError(f"{unpacked}: is an edition of several sources; unpack it and name one of {names}")
    inside = [path for path in unpacked.iterdir() if path.is_dir() and not path.name.startswith((".", "__MACOSX"))]
    if alone := sources or inside:
        return _place(alone[0]) if len(alone) == 1 else unpacked
    named = [path for path in unpacked.iterdir() if is_table(path) and not path.name.startswith((".", "README"))]
    return named[0] if len(named) == 1 and named[0].name.partition(".")[0] not in TABLES else unpacked


def read_folder(folder: Path, source: str) -> FactTables:
    """Read a folder of facts as rows, for facts that fit into memory as Python objects; see `read_columns`."""
    found = read_columns(folder, source)
    return FactTables(
        from_arrow(Entity, found.entities.to_arrow()),
        found.relations,
        from_arrow(Fact, found.facts.to_arrow()),
        found.templates,
        from_arrow(Popularity, found.popularity.to_arrow()),
        from_arrow(Evidence, found.evidence.to_arrow()),
    )


def read_columns(folder: Path, source: str, merge: bool = False) -> "FactColumns":
    """Read a folder of facts.

    Args:
        folder: a folder with the tables `facts`, `entities` and perhaps others; an archive of such a folder; or one
            file of subject, relation and object.
        source: the source's name, for facts and popularity rows that name none.
        merge: whether duplicate rows are merged; see `checking.checked`.

    Raises:
        AlmanacError: any row is wrong; names up to twenty mistakes with file and row.
    """
    from almanac.sources.checking import checked  # imported late: loading polars takes longer than most steps

    with as_folder(folder) as inside:
        table_files(inside)
        found = checked(inside, source, merge)
        unpacked = next(path for path in (inside, *inside.parents) if path.name == folder.name)  # of an archive too
        return replace(found, notes=tuple(note.replace(str(unpacked), str(folder)) for note in found.notes))
