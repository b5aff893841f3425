"""The items behind a page's numbers: inside a small page, else in files next to it that are loaded on demand.

A browser that has opened a page from disk loads nothing but scripts from there. Each file is therefore a script that
passes its items to the page.
"""

import base64
import gzip
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from almanac import tables

MOST = 4_000_000  # largest page, in bytes, that contains its items
HELD = 30_000_000  # bytes of unpacked items, more of which never fit into such a page


@dataclass(frozen=True)
class Block:
    """A unit of items that is loaded at once.

    Attributes:
        name: the name of its file.
        pieces: JSON by name; each piece is unpacked when it is needed.
        about: what the page knows of the block before it is loaded.
    """

    name: str
    pieces: Mapping[str, str]
    about: Mapping[str, Any] = field(default_factory=dict)

    def script(self) -> str:
        """Return the script that passes the block to the page, its pieces `packed`."""
        pieces = ",\n".join(f"{json.dumps(name)}:{json.dumps(packed(piece))}" for name, piece in self.pieces.items())
        return f"arrived({json.dumps(self.name)},{{{pieces}}});\n"

    def plain(self) -> str:
        """Return the block as JSON."""
        return "{" + ",".join(f"{json.dumps(name)}:{piece}" for name, piece in self.pieces.items()) + "}"


class EvidenceFiles:
    """Collects blocks, and writes them as files as soon as they are more than a page may contain.

    Attributes:
        about: what the page knows of each block before it is loaded.
        files: the number of files; 0 while the page contains everything.
        size: their size in bytes.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = emptied(folder)
        self._held: list[Block] = []
        self.about: list[Mapping[str, Any]] = []
        self.files = self.size = 0

    def add(self, blocks: Sequence[Block]) -> None:
        """Add blocks."""
        self.about += [{"name": block.name, **block.about} for block in blocks]
        self._held += blocks
        if self.files or sum(len(piece) for block in self._held for piece in block.pieces.values()) > HELD:
            self.write()

    def write(self) -> None:
        """Write the blocks as files; blocks added later are written, too."""
        for block in self._held:
            text = block.script()
            tables.write_text(self._folder / f"{block.name}.js", text)
            self.files, self.size = self.files + 1, self.size + len(text.encode())
        self._held.clear()

    def data(self, more: Mapping[str, Any]) -> str:
        """Return the data in the page, `packed`: the blocks not in files, the list of blocks, and ``more``."""
        known = {**more, "blocks": self.about, "folder": self._folder.name}
        text = tables.canonical(known)
        held = ",".join(f"{json.dumps(block.name)}:{block.plain()}" for block in self._held)
        return packed(f'{text[:-1]},"evidence":{{{held}}}}}')


def emptied(folder: Path) -> Path:
    """Empty a folder, or create it, so that nothing of an earlier page is left; return it."""
    shutil.rmtree(folder, ignore_errors=True)  # network file systems keep files that are open elsewhere
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def packed(text: str) -> str:
    """Return a text gzipped in base64: small, reproducible, and free of any markup in the text."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode("ascii")


def pooled(columns: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield pieces: ``shared``, columns that several models have in common, then each model's, which name their places.

    Args:
        columns: by model and name, each as JSON.
    """
    counts = Counter(text for by_name in columns.values() for text in by_name.values())
    places = {text: at for at, text in enumerate(text for text, count in counts.items() if count > 1)}
    yield "shared", f"[{','.join(places)}]"
    for model, by_name in columns.items():
        entries = (f"{json.dumps(name)}:{places.get(text, text)}" for name, text in by_name.items())
        yield f"model {model}", f"{{{','.join(entries)}}}"
