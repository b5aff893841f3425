"""Downloads files: resumable, checked, and never left incomplete under their final name.

A download is written to ``NAME.part`` and resumes there, also in a later run, as long as the server's file is the same.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests
import urllib3

from almanac.errors import AlmanacError
from almanac.sources.answers import now
from almanac.sources.options import Manners
from almanac.sources.retries import TransientError, agent, persistently, retry_after

CHUNK = 1 << 20
RETRIED = (429, 500, 502, 503, 504)
Told = Callable[..., object]


@dataclass(frozen=True)
class Target:
    """A file to download and its path; ``sha256`` is checked if given, ``max_bytes`` always."""

    url: str
    path: Path
    max_bytes: int
    sha256: str | None = None

    @property
    def part(self) -> Path:
        """The file that holds the bytes until the download is complete."""
        return self.path.with_name(self.path.name + ".part")

    @property
    def notes(self) -> Path:
        """The file that records the server's version of the partial file (ETag or Last-Modified)."""
        return self.path.with_name(self.path.name + ".part.json")

    def forget(self) -> None:
        """Delete the partial download."""
        self.part.unlink(missing_ok=True)
        self.notes.unlink(missing_ok=True)


def download(
    target: Target,
    contact: str | None,
    manners: Manners,
    log: Callable[[str], object] = lambda line: None,
    done: Told = lambda steps, total: None,
) -> dict[str, Any]:
    """Download a file.

    Args:
        target: the file and its path.
        contact: an e-mail address or a web page, for the User-Agent.
        manners: attempts, waits and timeouts.
        log: called with each failure that is retried.
        done: called with each chunk's number of bytes: ``done(bytes, total=…)``.

    Returns:
        The record: url, time, the server's headers, bytes, sha256.

    Raises:
        AlmanacError: the server refuses, the file is too large or not the expected one, or every attempt failed; a
            partial download is kept for the next run where it can be resumed.
    """
    target.path.parent.mkdir(parents=True, exist_ok=True)
    with requests.Session() as session:
        session.headers.update(
            {
                "User-Agent": agent(contact, f"requests/{requests.__version__}"),
                "Accept-Encoding": "identity",  # no transport compression: offsets must count the file's own bytes
            }
        )
        return persistently(lambda: _once(session, target, manners, done), manners, log)


def _once(session: requests.Session, target: Target, manners: Manners, done: Told) -> dict[str, Any]:
    notes, have = _begun(target)
    headers = {"Range": f"bytes={have}-", "If-Range": notes["mark"]} if have else {}
    try:
        with session.get(target.url, headers=headers, stream=True, timeout=manners.timeout) as response:
            _check_status(response, target)
            start, total = _extent(response, target, have)
            notes = _notes(response, total)
            target.notes.write_text(json.dumps(notes), encoding="utf-8")
            size = _write(response, target, start, total, done)
    except requests.exceptions.InvalidSchema as error:  # sent on to file:// and the like
        raise AlmanacError(f"{target.url}: redirects to no HTTP address ({error}); download it by hand") from error
    except (requests.ConnectionError, requests.Timeout, urllib3.exceptions.HTTPError, ConnectionError) as error:
        raise TransientError(f"{target.url}: {type(error).__name__}: {error}") from error
    if total is not None and size != total:
        raise TransientError(f"{target.url}: broke off after {size} of {total} bytes")
    return _finish(target, notes, size)


def _begun(target: Target) -> tuple[dict[str, Any], int]:
    """Return the notes and size of a partial download; ({}, 0) if it cannot be resumed."""
    try:
        notes = json.loads(target.notes.read_text(encoding="utf-8"))
        return (notes, target.part.stat().st_size) if notes["mark"] and notes["url"] == target.url else ({}, 0)
    except (OSError, ValueError, KeyError):
        return {}, 0


def _check_status(response: requests.Response, target: Target) -> None:
    status = response.status_code
    if status in RETRIED:
        wait = retry_after(response.headers)
        raise TransientError(f"{target.url}: fails (HTTP {status})", wait, crowded=status == 429)
    if status == 416:  # the partial download is longer than the file, so the file has changed
        target.forget()
        raise TransientError(f"{target.url}: the file has changed; starting again")
    if status not in (200, 206):
        raise AlmanacError(
            f"{target.url}: refuses (HTTP {status}); is the address right? It may also be fetched by hand"
        )
    kind = response.headers.get("Content-Type", "")
    if kind.startswith("text/html") and target.path.suffix not in (".html", ".htm"):
        raise TransientError(f"{target.url}: sends an HTML page instead of the file")


def _extent(response: requests.Response, target: Target, have: int) -> tuple[int, int | None]:
    """Return the offset of a response's first byte, and the size of the whole file if the server states it."""
    if response.status_code == 206:
        found = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", response.headers.get("Content-Range", ""))
        if found is None or int(found[1]) != have:
            target.forget()
            raise TransientError(f"{target.url}: sends another part than was requested; starting again")
        start, length = have, found[2]
    else:
        start, length = 0, response.headers.get("Content-Length", "")
    total = int(length) if length else None
    if total is not None and total > target.max_bytes:
        raise AlmanacError(f"{target.url}: has {total} bytes; allowed are {target.max_bytes}")
    return start, total


def _notes(response: requests.Response, total: int | None) -> dict[str, Any]:
    etag, modified = response.headers.get("ETag", ""), response.headers.get("Last-Modified")
    mark = etag if etag and not etag.startswith("W/") else modified  # a weak ETag does not promise equal bytes
    kept = {
        name: response.headers[name] for name in ("ETag", "Last-Modified", "Date", "Server") if name in response.headers
    }
    return {"url": response.request.url, "time": now(), "headers": kept, "mark": mark, "total": total}


def _write(response: requests.Response, target: Target, start: int, total: int | None, done: Told) -> int:
    size = start
    with target.part.open("ab" if start else "wb") as file:
        for chunk in response.raw.stream(CHUNK, decode_content=False):
            size += len(chunk)
            if size > target.max_bytes:
                raise AlmanacError(f"{target.url}: sends more than the {target.max_bytes} bytes allowed")
            file.write(chunk)
            done(len(chunk), total=total)
        file.flush()
        os.fsync(file.fileno())
    return size


def _finish(target: Target, notes: dict[str, Any], size: int) -> dict[str, Any]:
    with target.part.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if target.sha256 is not None and found != target.sha256:
        target.forget()
        raise AlmanacError(f"{target.url}: has sha256 {found}, expected is {target.sha256}; it is another file")
    target.part.replace(target.path)
    target.notes.unlink()
    return {key: notes[key] for key in ("url", "time", "headers")} | {"bytes": size, "sha256": found}
