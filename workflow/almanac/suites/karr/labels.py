"""Human labels from a file: whether people consider facts known by a model, as a reference for the methods."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from almanac import tables
from almanac.errors import AlmanacError
from almanac.rows import Rating

WORDS = {"known": 1.0, "unknown": 0.0, "true": 1.0, "false": 0.0}


def read(path: Path, facts: Iterable[str], asked: Iterable[str]) -> list[Rating]:
    """Read and check labels (`Rating`, JSON Lines or Parquet); an ``item`` is FACT or MODEL/FACT, by ids.

    Raises:
        AlmanacError: the file cannot be read or is empty; a fact is not in the dataset, a value is not a label, a rater
            labels a fact twice, or no labelled fact is asked; the message names the row.
    """
    known, tested = set(facts), set(asked)
    parquet, texts = path.suffix == ".parquet", ("item", "rater", "value")
    found = tables.read(path, Rating) if parquet else tables.read_jsonl(path, Rating, texts)
    if not found:
        raise AlmanacError(f"{path}: holds no label; write one row for each fact and rater: item, rater, value")
    out: dict[tuple[str, str], Rating] = {}
    for row in found:
        where = f"{path}: {row.item}: {row.rater}"
        if row.item not in known and row.item.partition("/")[2] not in known:
            raise AlmanacError(f"{where}: the dataset has no such fact; write FACT or MODEL/FACT, like {min(known)!r}")
        if _number(row.value) is None:
            raise AlmanacError(f"{where}: the value {row.value!r} is not a label; write known, unknown or a number")
        if (row.item, row.rater) in out:
            raise AlmanacError(f"{where}: labels this fact twice; keep one row")
        out[row.item, row.rater] = row
    if not any({row.item, row.item.partition("/")[2]} & tested for row in out.values()):
        raise AlmanacError(
            f"{path}: none of the {len(out)} labels is of a fact that is asked; label facts of items.parquet, "
            "or ask more facts (`sample`)"
        )
    return list(out.values())


def _number(value: str) -> float | None:
    """Return a label as a number; none if it is not one."""
    try:
        number = float(WORDS.get(value.strip().lower(), value))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def reference(labels: Sequence[Rating], model: str, facts: Iterable[str]) -> Mapping[str, float]:
    """Return the mean label over raters of each labelled fact; labels count that are for this model or for any."""
    known = set(facts)
    values: dict[str, list[float]] = defaultdict(list)
    for row in labels:
        owner, _, fact = row.item.partition("/")
        fact = row.item if row.item in known else fact if owner == model else ""
        number = _number(row.value)
        if fact in known and number is not None:
            values[fact].append(number)
    return {fact: sum(numbers) / len(numbers) for fact, numbers in sorted(values.items())}
