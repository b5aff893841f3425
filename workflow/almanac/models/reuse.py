"""Reuses responses of earlier response files, so that their requests are not sent again.

Memory holds sixteen bytes per response of a file, and the responses that are copied into the current window. If both
files are in the order of `ask`, the responses of a window are neighbours in the file; otherwise every window reads
through the file once.
"""

import glob
import re
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from almanac import tables
from almanac.rows import Request, Response

FINAL = ("ok", "too_long", "refused")  # requests with another status are sent again,
SERVED = ("ok", "refused")  # and to a server those that were too long: after a restart it may read longer texts


class Reusable:
    """The responses in a file that come from exactly this model and the same engine.

    Args:
        path: a response file written by `answer`.
        digest: the digest of the model.
        engine: the engine, ``name/version``; another version of the same engine is accepted.
        final: the statuses of responses that are reused.
        alike: digests of other models whose answers hold for this one too.

    Raises:
        AlmanacError: the file cannot be read.
    """

    def __init__(
        self,
        path: Path,
        digest: str,
        engine: str,
        final: Sequence[str] = FINAL,
        alike: Collection[str] = (),
    ) -> None:
        self.path, self.digest = path, digest
        found, _, _ = tables.read_metadata(path).get("almanac.engine", "").partition("/")
        wanted, _, _ = engine.partition("/")
        matching = _matching(path, {digest, *alike}, final) if found == wanted else iter(())
        self.index = np.fromiter(matching, dtype=[("hash", np.int64), ("row", np.int64)])
        self.index.sort(order="hash")
        if not len(self.index):
            print(f"{path}: holds no response of this model by {wanted}; nothing is reused", file=sys.stderr)

    def find(self, requests: Sequence[Request]) -> dict[str, Response]:
        """Return the responses that the file has for a window's requests, by request id."""
        wanted = {request.request_id for request in requests}
        hashes = np.array([hash(request_id) for request_id in wanted], dtype=np.int64)
        starts, stops = (np.searchsorted(self.index["hash"], hashes, side=side) for side in ("left", "right"))
        # Two ids may share a hash: all rows of a hash are looked at.
        rows = {int(row) for span in zip(starts, stops, strict=True) for row in self.index["row"][slice(*span)]}
        found = (one for one in self._read(rows) if one.request_id in wanted)
        return {one.request_id: replace(one, model_digest=self.digest) for one in found}

    def _read(self, rows: set[int]) -> Iterator[Response]:
        if not rows:
            return
        first, last = min(rows), max(rows)
        for row, response in enumerate(tables.read_rows(self.path, Response, start=first), first):
            if row in rows:
                yield response
            if row == last:
                return


class Paid:
    """Keeps every answer of a served model, which was paid for, so that no request is paid for twice.

    The folder ``.NAME.paid/`` next to the response file NAME holds copies of all versions of that file, and responses
    of interrupted jobs. (Hard links would not do: Snakemake restores a file by writing over its bytes.)

    Args:
        output: the response file.
        record: the file's metadata: ``model``, ``engine``, and ``version``, the version of `answer`.
        alike: digests of other models whose answers hold for this one too.
    """

    def __init__(self, output: Path, record: Mapping[str, str], alike: Collection[str] = ()) -> None:
        self.output = output
        self.folder = output.parent / f".{output.name}.paid"
        self._models = {record["model"], *alike}
        self._metadata = {f"almanac.{name}": record[name] for name in ("version", "model", "engine")}

    def earlier(self) -> list[Path]:
        """Return the files whose responses can be reused, other shards of the output's folder included.

        Files of other models whose answers hold for this one come first, then this model's own, the output last.
        Before that a copy of the output is kept, since this job will replace it, perhaps by a file of fewer requests.
        """
        self.keep_output()
        there = sorted(self._shards(".{}.paid/*.parquet")) + sorted(self._shards("{}") - {self.output})
        model = self._metadata["almanac.model"]
        found = filter(self._is_of_model, (*there, self.output))
        return sorted(found, key=lambda path: tables.says(path, "almanac.model", model))

    def _is_of_model(self, path: Path) -> bool:
        of_version = tables.says(path, "almanac.version", self._metadata["almanac.version"])
        return of_version and tables.read_metadata(path).get("almanac.model") in self._models

    def parts(self) -> list[Path]:
        """Return the parts folders of all shards; if the number of shards changes, no job resumes some of them."""
        return sorted(self._shards(".{}.parts"))

    def _shards(self, form: str) -> set[Path]:
        name = re.sub(r"[0-9]+(?=\.parquet$)", "*", glob.escape(self.output.name))
        return set(self.output.parent.glob(form.format(name)))

    def keep(self, responses: Sequence[Response]) -> None:
        """Keep the responses that an interrupted job had received; all are of one model."""
        if responses:
            same = self._metadata | {"almanac.model": responses[0].model_digest, "almanac.engine": responses[0].engine}
            name = tables.identity([responses[0].model_digest, sorted(one.request_id for one in responses)])
            tables.write(self.folder / f"{name}.parquet", Response, responses, same)

    def keep_output(self) -> None:
        """Keep a copy of the response file, if it is of this model; Snakemake may remove or restore the file itself."""
        if self._is_of_model(self.output):
            copy = self.folder / f"{tables.read_metadata(self.output)['almanac.job']}.parquet"
            if not copy.exists():
                with tables.atomic(copy) as path:
                    shutil.copyfile(self.output, path)


def _matching(path: Path, digests: Collection[str], final: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the hash of the request id and the row of every response that can be reused."""
    row = 0
    for batch in tables.stream(path, Response, ["request_id", "status", "model_digest"]):
        for request_id, status, model in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if status in final and model in digests:
                yield hash(request_id), row
            row += 1
