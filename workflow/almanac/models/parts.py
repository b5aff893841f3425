"""The parts of a response file that is not whole yet: one a window, kept beside it, so that a killed run goes on.

They lie in ``.NAME.parts/IDENTITY/`` beside the file NAME. The identity stands for everything that the responses depend
on; parts of another one are of no use and are removed. The file itself appears when the last part is there.
"""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from almanac import tables
from almanac.columns import check_column, schema
from almanac.errors import AlmanacError
from almanac.rows import Response

SHOWN = 300  # Characters of a reason.


class Parts:
    """The parts that are there, in order, and how many rows they hold.

    Args:
        output: the file that they will be.
        identity: what they depend on, as a digest.
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
        self._remove_others()

    def _next(self) -> Path:
        return self.own / f"{len(self.paths):06}.parquet"

    def _rows(self, path: Path) -> int | None:
        """Return the rows of a part, or none where it is not there or not whole."""
        try:
            return tables.count(path, Response)
        except AlmanacError:
            return None

    def _remove_others(self) -> None:
        """Remove what the parts that are there do not go on with: other identities, and what follows a gap."""
        for path in self.folder.glob("*"):
            if path != self.own:
                shutil.rmtree(path)
        for path in self.own.glob("*"):
            if path not in self.paths:
                path.unlink()

    def add(self, responses: Sequence[Response]) -> None:
        """Write the next part; a response that a file cannot hold, half a character say, has failed, and no other."""
        path = self._next()
        try:
            tables.write(path, Response, responses)
        except AlmanacError:
            tables.write(path, Response, list(map(_writable, responses)))
        self.paths.append(path)
        self.rows += len(responses)

    def join(self, metadata: Mapping[str, str]) -> None:
        """Write the whole file and remove the parts."""
        tables.join(self.output, Response, self.paths, metadata)
        shutil.rmtree(self.folder, ignore_errors=True)


def _writable(response: Response) -> Response:
    """Return a response as a file can hold it: itself, or that it failed and why."""
    try:
        for field in schema(Response):
            check_column(Path("answer"), field, [getattr(response, field.name)])
    except AlmanacError as error:
        said = f"it cannot be written: {str(error).removeprefix('answer: row 1, ')}"[:SHOWN]
        reason = said.encode("utf-8", "backslashreplace").decode()
        return Response(
            response.request_id, "failed", reason, model_digest=response.model_digest, engine=response.engine
        )
    return response
