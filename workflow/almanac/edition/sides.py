"""What holds tables: a result folder, an unpacked edition or an edition's archive; which tables two of them share."""

import os
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from almanac import unfinished
from almanac.edition.layout import RECORD, Layout
from almanac.edition.manifest import reading
from almanac.errors import AlmanacError

ENDINGS = (".parquet", ".jsonl")


@dataclass(frozen=True)
class Side:
    """A folder, or a zip archive of one, and the paths of the tables in it."""

    root: Path
    archive: zipfile.ZipFile | None
    names: frozenset[str]

    @contextmanager
    def file(self, name: str) -> Iterator[Path]:
        """Yield a file while it is needed: of an archive, a copy.

        Raises:
            AlmanacError: it cannot be read.
        """
        if self.archive is None:
            yield self.root / name
            return
        with unfinished.folder() as folder:
            copy = folder / PurePosixPath(name).name
            with reading(self.archive, self.root, name) as packed, copy.open("wb") as out:
                shutil.copyfileobj(packed, out)
            yield copy

    def placed(self) -> dict[str, type]:
        """Return the row class of each table whose place the edition's own record tells, by the table's path."""
        try:
            with self.file(RECORD) as record:
                layout = Layout.open(record.parent)
                tables = layout.tables()
        except (AlmanacError, KeyError):  # no edition, or one of another version
            return {}
        return {path.relative_to(layout.root).with_suffix("").as_posix(): row for path, row in tables.items()}


@contextmanager
def opened(root: Path) -> Iterator[Side]:
    """Open a result folder, an unpacked edition or an edition's archive.

    Raises:
        AlmanacError: it is none of these, or holds no table.
    """
    if not (root.is_dir() or zipfile.is_zipfile(root)):
        raise AlmanacError(f"{root}: is no folder and no zip archive; name results/EDITION or an edition's archive")
    with nullcontext() if root.is_dir() else zipfile.ZipFile(root) as archive:
        if archive is None:
            found = (Path(folder, name) for folder, _, files in os.walk(root, followlinks=True) for name in files)
            names = [path.relative_to(root).as_posix() for path in found if path.is_file()]
        else:
            names = archive.namelist()
        tables = [name for name in names if name.endswith(ENDINGS) and not PurePosixPath(name).name.startswith(".")]
        if not tables:
            raise AlmanacError(f"{root}: holds no table ({' or '.join(ENDINGS)}); name results/EDITION or an edition")
        yield Side(root, archive, frozenset(tables))


def pairs(a: Side, b: Side) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield each table: how it is called, and its path on each side, none where it is not there.

    A table may be Parquet on one side and JSON Lines on the other, and is called by its path without the ending. Where
    a side has both, each is a table of its own.
    """
    paths: dict[str, tuple[list[str], list[str]]] = {}
    for which, side in enumerate((a, b)):
        for name in sorted(side.names):
            paths.setdefault(str(PurePosixPath(name).with_suffix("")), ([], []))[which].append(name)
    for table, (own, other) in sorted(paths.items()):
        if len(own) <= 1 and len(other) <= 1:
            yield table, next(iter(own), None), next(iter(other), None)
        else:
            for name in sorted({*own, *other}):
                yield name, name if name in own else None, name if name in other else None
