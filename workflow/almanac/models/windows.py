"""Cuts a request file into windows: each is answered, written and dropped from memory before the next is read.

A window is a run of neighbouring requests, so that requests with a common prefix stay together (`ask` sorts by it). It
depends on their positions only: the same file has the same windows in every run. Besides the window, memory holds eight
bytes per request (to find requests that occur twice) and the texts of the contexts in use.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from almanac import tables
from almanac.errors import AlmanacError
from almanac.rows import Context, Request

REQUESTS = 4096  # The most requests in a window.
CHARACTERS = 4_000_000  # The most characters in a window, estimated by `size`.
TOKEN = 4  # A token to be generated counts as this many characters.


@dataclass(frozen=True)
class Survey:
    """Facts about a request file, collected before it is answered.

    Attributes:
        requests: the number of requests.
        contexts: the texts of the contexts that requests use, by id.
    """

    requests: int
    contexts: dict[str, str]


def size(request: Request) -> int:
    """Estimate how many characters are read and written for a request, without its context, which others share."""
    texts = (request.text, request.other or "", *(request.choices or ()), *(request.pieces or ()))
    written = sum(map(len, texts))
    return written + TOKEN * (request.max_new_tokens or 0) * (request.samples or 1)


def windows(requests: Iterable[Request]) -> Iterator[list[Request]]:
    """Yield windows of at most `REQUESTS` requests and `CHARACTERS`; a larger request gets a window of its own."""
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
    """Read through a request file once and check it, before any model is loaded.

    Raises:
        AlmanacError: a request occurs twice or its context is missing, naming the rows; or a file cannot be read.
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
    """Refuse ids that occur twice: sort their hashes, and if two are equal compare the ids themselves."""
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
