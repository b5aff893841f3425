"""Published prompts: a user's file, checked row by row, or LPAQA's, from its repository."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from almanac import tables
from almanac.errors import refuse
from almanac.rows import Template
from almanac.sources import lpaqa
from almanac.tables import identity

KINDS = ("hgp", "mmp")
LPAQA = {"hgp": "manual_paraphrase", "mmp": "mine"}  # the sets of LPAQA that each kind is of


@dataclass(frozen=True, slots=True)
class PublishedPrompt:
    """A published prompt: human-generated (hgp) or machine-mined (mmp); its text holds ``[X]``, perhaps ``[Y]``."""

    KEY: ClassVar = ("relation_id", "kind", "text")
    relation_id: str
    kind: str
    text: str


def read(named: str | None) -> dict[str, dict[str, list[Template]]]:
    """Read published prompts.

    Args:
        named: a file of `PublishedPrompt` as JSON Lines; or an archive of LPAQA's repository (``.zip``), of which
            ``manual_paraphrase`` is human-generated and ``mine`` machine-mined; none: there are no such prompts.

    Returns:
        Templates by kind and relation, in the order of the file.

    Raises:
        AlmanacError: the file cannot be read, or rows are no prompts; up to twenty mistakes together.
    """
    if named is None:
        return {}
    path = Path(named)
    if path.suffix == ".zip":
        released = lpaqa.prompts(path, LPAQA.values())
        return {kind: released[name] for kind, name in LPAQA.items()}
    rows = tables.read_jsonl(path, PublishedPrompt)
    refuse([f"{path}: {line}" for line in _mistakes(rows)])
    found = list(map(_template, rows))
    return {kind: by_relation(row for row in found if row.origin == kind) for kind in KINDS}


def _template(row: PublishedPrompt) -> Template:
    name = f"{row.relation_id}/{row.kind}/{identity(row.text)[:12]}"
    return Template(name, row.relation_id, row.text, "prefix", row.kind, None, ())


def by_relation(templates: Iterable[Template]) -> dict[str, list[Template]]:
    """Return templates by their relation, in their order."""
    out: dict[str, list[Template]] = defaultdict(list)
    for row in templates:
        out[row.relation_id].append(row)
    return dict(out)


def _mistakes(rows: Sequence[PublishedPrompt]) -> Iterable[str]:
    first: dict[PublishedPrompt, int] = {}
    for number, row in enumerate(rows, 1):
        if row.kind not in KINDS:
            yield f"prompt {number}: kind {row.kind!r}; allowed are {' and '.join(KINDS)}"
        if row.text.count("[X]") != 1 or row.text.count("[Y]") > 1:
            yield f"prompt {number}: {row.text!r} must hold [X] once, for the subject, and [Y] at most once"
        if first.setdefault(row, number) != number:
            yield f"prompt {number}: stands already as prompt {first[row]}; keep one of them"
