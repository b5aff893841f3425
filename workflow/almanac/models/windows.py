"""Cutting a request file into windows: each is answered, written and forgotten before the next is read.

A window is a whole number of neighbours in the file, so that what begins alike stays together (`ask` sorts by it), and
is cut by position alone: the same file has the same windows in every run. Nothing else of the file is held but eight
bytes a request (to find a request that stands twice, wherever it stands) and the texts of the contexts that it uses.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from almanac import tables
from almanac.errors import AlmanacError
from almanac.rows import Context, Request

REQUESTS = 4096  # Requests of a window, at most.
CHARACTERS = 4_000_000  # Characters of a window, about, by `size`.
TOKEN = 4  # Characters that a token to be generated counts for.


@dataclass(frozen=True)
class Survey:
    """What is known of a request file before it is answered.

    Attributes:
        requests: how many there are.
        contexts: the texts of the contexts that they begin with, by id.
    """

    requests: int
    contexts: dict[str, str]


def size(request: Request) -> int:
    """Return about how many characters a request asks to read and write; contexts are shared and count nothing."""
    texts = (request.text, request.other or "", *(request.choices or ()), *(request.pieces or ()))
    written = sum(map(len, texts))
    return written + TOKEN * (request.max_new_tokens or 0) * (request.samples or 1)


def windows(requests: Iterable[Request]) -> Iterator[list[Request]]:
    """Yield requests in windows of at most `REQUESTS` and `CHARACTERS`; a request that is larger is one by itself."""
    window: list[Request] = []
    total = 0
    for request in requests:
        if window and (len(window) == REQUESTS or total + size(request) > CHARACTERS):
            yield window
            window, total = [], 0
        window.append(request)
        total += size(request)
    if window:
        yield window


def survey(requests: Path, contexts: Path) -> Survey:
    """Read through a request file once, before any model is loaded.

    Raises:
        AlmanacError: a request stands twice or its context is not there, naming the rows; a file cannot be read.
    """
    hashes = np.empty(tables.count(requests, Request), dtype=np.int64)
    used: dict[str, int] = {}  # By context, the first row that uses it.
    row = 0
    for batch in tables.stream(requests, Request, ["request_id", "context_id"]):
        hashes[row : row + batch.num_rows] = [hash(request_id) for request_id in batch.column(0).to_pylist()]
        for index, context_id in enumerate(batch.column(1).to_pylist()):
            if context_id is not None:
                used.setdefault(context_id, row + index + 1)
        row += batch.num_rows
    _check_ids(requests, hashes)
    texts = {one.context_id: one.text for one in tables.read_rows(contexts, Context) if one.context_id in used}
    for context_id, first in used.items():
        if context_id not in texts:
            raise AlmanacError(
                f"{requests}: row {first}: its context {context_id} is not in {contexts}; give the table of contexts "
                "that was made with the requests"
            )
    return Survey(len(hashes), texts)


def _check_ids(path: Path, hashes: NDArray[np.int64]) -> None:
    """Refuse ids that stand twice: sort their hashes, and where two are equal look at the ids themselves."""
    hashes.sort()
    twice = set(hashes[1:][hashes[1:] == hashes[:-1]].tolist())
    seen: dict[str, int] = {}
    for row, request in enumerate(tables.read_rows(path, Request) if twice else (), 1):
        if hash(request.request_id) in twice:
            if request.request_id in seen:
                raise AlmanacError(
                    f"{path}: rows {seen[request.request_id]} and {row}: request {request.request_id} occurs twice; "
                    "ask each request once"
                )
            seen[request.request_id] = row
