"""The items of a page's numbers: in the page while it stays small, else in files next to it that it loads on demand.

A browser that has opened a page from disk may load scripts from there and nothing else. So each file is a script that
hands its items to the page.
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

MOST = 4_000_000  # bytes of a page that carries its items
HELD = 30_000_000  # bytes of items before they are packed: more of them never fit into such a page


@dataclass(frozen=True)
class Block:
    """What is loaded at once.

    Attributes:
        name: of its file.
        pieces: JSON by name; a piece is unpacked when it is needed.
        about: what the page is told of it beforehand.
    """

    name: str
    pieces: Mapping[str, str]
    about: Mapping[str, Any] = field(default_factory=dict)

    def script(self) -> str:
        """Return the script that hands the block to the page: pieces as `packed`."""
        pieces = ",\n".join(f"{json.dumps(name)}:{json.dumps(packed(piece))}" for name, piece in self.pieces.items())
        return f"arrived({json.dumps(self.name)},{{{pieces}}});\n"

    def plain(self) -> str:
        """Return the block as JSON."""
        return "{" + ",".join(f"{json.dumps(name)}:{piece}" for name, piece in self.pieces.items()) + "}"


class EvidenceFiles:
    """Collects blocks, and writes them as files once they are more than a page may carry.

    Attributes:
        about: what the page is told of each block.
        files: how many files there are; 0 while the page carries all.
        size: their bytes.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = emptied(folder)
        self._held: list[Block] = []
        self.about: list[Mapping[str, Any]] = []
        self.files = self.size = 0

    def add(self, blocks: Sequence[Block]) -> None:
        """Add blocks."""
        self.about += [{"name": one.name, **one.about} for one in blocks]
        self._held += blocks
        if self.files or sum(len(piece) for one in self._held for piece in one.pieces.values()) > HELD:
            self.write()

    def write(self) -> None:
        """Write the blocks as files, those that are added from now on too."""
        for one in self._held:
            text = one.script()
            tables.write_text(self._folder / f"{one.name}.js", text)
            self.files, self.size = self.files + 1, self.size + len(text.encode())
        self._held.clear()

    def data(self, more: Mapping[str, Any]) -> str:
        """Return what the page carries, `packed`: the blocks that no file holds, what there are, and more."""
        known = {**more, "blocks": self.about, "folder": self._folder.name}
        text = tables.canonical(known)
        held = ",".join(f"{json.dumps(one.name)}:{one.plain()}" for one in self._held)
        return packed(f'{text[:-1]},"evidence":{{{held}}}}}')


def emptied(folder: Path) -> Path:
    """Make a folder anew, so that nothing is left in it of an earlier page, and return it."""
    shutil.rmtree(folder, ignore_errors=True)  # a network's file system keeps a file that is open elsewhere
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def packed(text: str) -> str:
    """Return a text gzipped, in base64: small, the same for the same text, and without any markup of the text."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode("ascii")


def pooled(columns: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield pieces: ``shared``, columns that several models have in common, then each model's, which name their places.

    Args:
        columns: by model and name, each as JSON.
    """
    models = Counter(text for own in columns.values() for text in own.values())
    places = {text: at for at, text in enumerate(text for text, count in models.items() if count > 1)}
    yield "shared", f"[{','.join(places)}]"
    for model, own in columns.items():
        told = (f"{json.dumps(name)}:{places.get(text, text)}" for name, text in own.items())
        yield f"model {model}", f"{{{','.join(told)}}}"
