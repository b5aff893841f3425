"""The parts of an unfinished response file, one per window of requests, from which an interrupted run resumes.

They lie in ``.NAME.parts/IDENTITY/`` next to the file NAME. The identity is a digest of everything that the responses
depend on. Parts with another identity are removed, after paid responses were saved (`DoneParts.left`). The file itself
is written once all parts are there. Paid responses are also written one by one to a journal (`DoneParts.keep`) until
their window is complete, so that none is lost if the server dies or the run is killed.
"""

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from almanac import tables
from almanac.columns import check_column, schema
from almanac.errors import AlmanacError, disk_full
from almanac.rows import Response

SHOWN = 300  # The most characters of a reason.
JOURNAL = "journal.jsonl"


class DoneParts:
    """The finished parts of a response file, in order, and how many rows they hold.

    Args:
        output: the response file that the parts will be joined into.
        identity: the version of `answer` and a digest of everything that the responses depend on.
    """

    def __init__(self, output: Path, identity: str) -> None:
        self.output = output
        self.folder = output.parent / f".{output.name}.parts"
        self.own = self.folder / identity
        self.paths: list[Path] = []
        self.rows = 0
        while (rows := self._rows(self._next())) is not None:
            self.paths.append(self._next())
            self.rows += rows
        for path in self.own.glob("*"):  # parts after a gap
            if path not in self.paths and path != self.own / JOURNAL:
                path.unlink()
        if (text := _text(self.own / JOURNAL)) and not text.endswith("\n"):  # else the next line would be lost too
            with (self.own / JOURNAL).open("a", encoding="ascii") as journal:
                journal.write("\n")

    def _next(self) -> Path:
        return self.own / f"{len(self.paths):06}.parquet"

    def _rows(self, path: Path) -> int | None:
        """Return the number of rows of a part, or None if it is missing or incomplete."""
        try:
            return tables.count(path, Response)
        except AlmanacError:
            return None

    def left(self, folders: Iterable[Path]) -> Iterator[list[Response]]:
        """Yield the responses that other jobs of this version left in parts folders, one part or journal at a time."""
        version, _, _ = self.own.name.partition("-")
        for other in sorted({one for folder in folders for one in folder.glob(f"{version}-*")} - {self.own}):
            for part in sorted(other.glob("[0-9]*.parquet")):
                with suppress(AlmanacError):  # the part is incomplete, or its job has just ended
                    yield tables.read(part, Response)
            with suppress(FileNotFoundError):
                yield list(_journal(other / JOURNAL).values())

    def remove_others(self) -> None:
        """Remove the parts of all other identities."""
        for path in set(self.folder.glob("*/")) - {self.own}:
            shutil.rmtree(path)

    def keep(self, response: Response) -> None:
        """Write one response of the window that is being answered to the journal."""
        path = self.own / JOURNAL
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="ascii") as journal:
                journal.write(json.dumps(asdict(response)) + "\n")
        except OSError as error:
            raise AlmanacError(disk_full(error, path) or f"{path}: cannot be written ({error.strerror})") from error

    def kept(self) -> dict[str, Response]:
        """Return the responses in the journal of an interrupted run, by request id."""
        return _journal(self.own / JOURNAL)

    def add(self, responses: Sequence[Response]) -> None:
        """Write the next part; a response that a file cannot hold, such as half a character, becomes a failed one."""
        path = self._next()
        try:
            tables.write(path, Response, responses)
        except AlmanacError:
            tables.write(path, Response, list(map(_writable, responses)))
        self.paths.append(path)
        self.rows += len(responses)
        (self.own / JOURNAL).unlink(missing_ok=True)

    def join(self, metadata: Mapping[str, str]) -> None:
        """Write the whole file."""
        with tables.writing(self.output, Response, metadata) as writer:
            for part in self.paths:
                for batch in tables.stream(part, Response):
                    writer.add(batch)

    def remove(self) -> None:
        """Remove the parts, once the whole file is safe."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _journal(path: Path) -> dict[str, Response]:
    """Return the responses of a journal, by request id; an incomplete line is skipped."""
    found = {}
    for line in _text(path).splitlines():
        try:
            values: dict[str, Any] = json.loads(line)
            lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
            response = Response(**{**values, **lists})
        except (ValueError, TypeError, AttributeError):
            continue
        found[response.request_id] = response
    return found


def _text(journal: Path) -> str:
    return journal.read_text("ascii", "replace") if journal.is_file() else ""


def _writable(response: Response) -> Response:
    """Return a response, or a failed one with the reason if a file cannot hold it."""
    try:
        for field in schema(Response):
            check_column(Path("answer"), field, [getattr(response, field.name)])
    except AlmanacError as error:
        message = f"it cannot be written: {str(error).removeprefix('answer: row 1, ')}"[:SHOWN]
        reason = message.encode("utf-8", "backslashreplace").decode()
        return Response(
            response.request_id, "failed", reason, model_digest=response.model_digest, engine=response.engine
        )
    return response
