"""Records a server's raw responses in a folder and replays them.

A pull is a function of the responses it gets. `Recorder` first replays those in the folder, in the order in which they
were requested, and then asks the server, if there is one. So an interrupted pull resumes, and a finished pull can be
read again without a network.
"""

import datetime
import gzip
import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from almanac.errors import AlmanacError
from almanac.tables import atomic, canonical, write_text

INDEX = "requests.jsonl"


class TooMuchError(AlmanacError):
    """The server gave up or truncated the rows: only a smaller query may succeed."""


@dataclass(frozen=True)
class Answer:
    """A server's response to one query: the body as sent, the time (UTC), and selected headers."""

    endpoint: str
    query: str
    body: bytes
    time: str
    headers: Mapping[str, str]


class QueryServer(Protocol):
    """Anything that answers queries."""

    def ask(self, query: str) -> Answer:
        """Answer a query, or raise `TooMuchError` if it must be split into smaller ones."""


def now() -> str:
    """Return the current time as recorded: ISO 8601, UTC, in whole seconds."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _line(entry: Mapping[str, Any]) -> bytes:
    return canonical(entry).encode() + b"\n"


def together(server: QueryServer) -> AbstractContextManager[None]:
    """Return a context for queries whose answers must be consistent; see `Recorder.together`."""
    return server.together() if isinstance(server, Recorder) else nullcontext()


def digest(content: bytes) -> str:
    """Return the SHA-256 of bytes as hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


class Recorder:
    """Records a server's answers: ``requests.jsonl`` lists them, ``queries/`` and ``answers/`` hold the texts.

    A query that a pull asks n times has n records; the nth time it is asked, the nth record is replayed.
    """

    def __init__(self, folder: Path, server: QueryServer | None, count: Callable[[bytes], int]) -> None:
        """Open a folder of answers.

        Args:
            folder: where the answers are recorded; created if there is a server.
            server: answers the queries that have no record; if None, such a query is an error.
            count: returns the number of rows of a body, for the record; raises on an invalid body, which is not kept.

        Raises:
            AlmanacError: ``requests.jsonl`` is damaged.
        """
        self._folder = folder
        self._server = server
        self._count = count
        self._kept: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._used: dict[str, int] = defaultdict(int)
        self._answered: list[dict[str, Any]] = []  # records used so far, in the order of the queries
        for entry in self._load():
            self._kept[entry["query_sha256"]].append(entry)

    def _load(self) -> list[dict[str, Any]]:
        """Read ``requests.jsonl``; a truncated last line (the run was killed) is removed and its query asked again."""
        path = self._folder / INDEX
        if not path.is_file():
            return []
        content = path.read_bytes()
        whole, _, cut = content.rpartition(b"\n")
        if cut:
            if self._server is None:
                raise AlmanacError(f"{path}: its last line is cut; take the snapshot from where it was made again")
            with atomic(path) as temporary:
                temporary.write_bytes(whole + b"\n" if whole else b"")
        try:
            return [json.loads(line) for line in whole.split(b"\n") if line]
        except ValueError as error:
            raise AlmanacError(f"{path}: is damaged ({error}); remove the snapshot and pull again") from error

    def ask(self, query: str) -> Answer:
        """Return the recorded answer or, if there is none, ask the server and record its answer.

        Raises:
            TooMuchError: the server gave up on the query, now or when it was recorded.
            AlmanacError: there is neither a record nor a server; or a recorded answer has been changed.
        """
        key = digest(query.encode())
        nth = self._used[key]
        self._used[key] += 1
        if nth < len(self._kept[key]):
            return self._replay(query, self._kept[key][nth])
        if self._server is None:
            raise AlmanacError(
                f"{self._folder}: holds no answer to the query of sha256 {key}; the snapshot was made by another "
                "version or with other settings: pull again (`snakemake … -- repull`), and name the new one: `snapshot`"
            )
        try:
            answer = self._server.ask(query)
        except TooMuchError as error:
            self._keep(key, query, {"outcome": "too much", "reason": str(error), "time": now()})
            raise
        except AlmanacError:  # the recorded answers are not to blame: keep them, so that the next run resumes here
            self._answered.clear()
            raise
        self._keep_answer(key, answer)
        return answer

    def _replay(self, query: str, entry: dict[str, Any]) -> Answer:
        if entry["outcome"] == "too much":
            self._answered.append(entry)
            raise TooMuchError(entry["reason"])
        path = self._body_path(entry["sha256"])
        try:
            body = gzip.decompress(path.read_bytes())
        except (OSError, EOFError) as error:
            raise AlmanacError(f"{path}: cannot be read ({error}); pull again, or mend the snapshot") from error
        if digest(body) != entry["sha256"]:
            raise AlmanacError(f"{path}: has sha256 {digest(body)}, recorded is {entry['sha256']}; it was changed")
        self._answered.append(entry)
        return Answer(entry["endpoint"], query, body, entry["time"], entry["headers"])

    def _keep_answer(self, key: str, answer: Answer) -> None:
        sha = digest(answer.body)
        rows = self._count(answer.body)  # before anything is written, since an invalid body is not kept
        path = self._body_path(sha)
        if not path.is_file():
            with atomic(path) as temporary:
                temporary.write_bytes(gzip.compress(answer.body, mtime=0))
        entry: dict[str, Any] = {
            "outcome": "ok",
            "endpoint": answer.endpoint,
            "time": answer.time,
            "headers": dict(answer.headers),
        }
        entry |= {"rows": rows, "bytes": len(answer.body), "sha256": sha}
        self._keep(key, answer.query, entry)

    def _keep(self, key: str, query: str, entry: dict[str, Any]) -> None:
        """Write a query's text before its line in the index, so that every line has its files."""
        text = self._folder / "queries" / f"{key[:16]}.txt"
        if not text.is_file():
            write_text(text, query)
        entry = {"query_sha256": key, **entry}
        self._answered.append(entry)
        with (self._folder / INDEX).open("ab") as index:
            index.write(_line(entry))

    @contextmanager
    def together(self) -> Iterator[None]:
        """If the block fails because of its answers, delete their records, so that the next run asks for them again."""
        start = len(self._answered)
        try:
            yield
        except AlmanacError:
            failed = [_line(entry) for entry in self._answered[start:]]
            if failed and self._server is not None:
                lines = (self._folder / INDEX).read_bytes().splitlines(keepends=True)
                with atomic(self._folder / INDEX) as temporary:
                    temporary.write_bytes(b"".join(line for line in lines if line not in failed))
            raise

    def _body_path(self, sha: str) -> Path:
        return self._folder / "answers" / f"{sha[:16]}.json.gz"
