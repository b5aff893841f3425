"""Responses of an earlier file that need not be asked for again.

Of the file sixteen bytes a response are held, and of a window what is copied. Where both files are in `ask`'s order, a
window's responses are neighbours in the file; in another order the file is read through once a window.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from almanac import tables
from almanac.rows import Request, Response

FINAL = ("ok", "too_long", "refused")  # what failed is asked again


class Reusable:
    """The responses of a file that are those of exactly this model by the same engine.

    Args:
        path: a response file that `answer` has written.
        digest: the model's.
        engine: the engine, ``name/version``; another version of the same name will do.

    Raises:
        AlmanacError: the file cannot be read.
    """

    def __init__(self, path: Path, digest: str, engine: str) -> None:
        self.path = path
        by, wanted = (text.partition("/")[0] for text in (tables.read_metadata(path).get("almanac.engine", ""), engine))
        same = _matching(path, digest) if by == wanted else iter(())
        self.index = np.fromiter(same, dtype=[("hash", np.int64), ("row", np.int64)])
        self.index.sort(order="hash")
        if not len(self.index):
            print(f"{path}: nothing in it is of this model by {wanted}; nothing is reused", file=sys.stderr)

    def find(self, requests: Sequence[Request]) -> dict[str, Response]:
        """Return the responses that are there for a window's requests, by request."""
        wanted = {request.request_id for request in requests}
        hashes = np.array([hash(request_id) for request_id in wanted], dtype=np.int64)
        starts, stops = (np.searchsorted(self.index["hash"], hashes, side=side) for side in ("left", "right"))
        # Two ids may share a hash: all rows of a hash are looked at.
        rows = {int(row) for span in zip(starts, stops, strict=True) for row in self.index["row"][slice(*span)]}
        return {one.request_id: one for one in self._read(rows) if one.request_id in wanted}

    def _read(self, rows: set[int]) -> Iterator[Response]:
        if not rows:
            return
        first, last = min(rows), max(rows)
        for row, response in enumerate(tables.read_rows(self.path, Response, start=first), first):
            if row in rows:
                yield response
            if row == last:
                return


def _matching(path: Path, digest: str) -> Iterator[tuple[int, int]]:
    """Yield the hash of the request and the row of every response that can be copied."""
    row = 0
    for batch in tables.stream(path, Response, ["request_id", "status", "model_digest"]):
        for request_id, status, model in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if status in FINAL and model == digest:
                yield hash(request_id), row
            row += 1
