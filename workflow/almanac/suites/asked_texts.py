"""The texts of items as a reader sees them: on the page, and in a notebook."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from almanac import tables
from almanac.rows import Context
from almanac.suites.answers import Answers


def asked_texts(answers: Answers) -> dict[int, str]:
    """Return the text of each item's first request, after its context, with a note on how many more requests it has."""
    contexts = {
        row.context_id: row.text
        for one in answers.rounds
        for row in tables.read(one.folder / "contexts.parquet", Context)
    }
    texts: dict[int, str] = {}
    for part in answers.parts(("kind", "context_id", "instruction", "text", "options", "pieces", "choices")):
        first = part.links.with_columns(pl.len().over("item").alias("texts"))
        for row in first.unique("item", keep="first", maintain_order=True).iter_rows(named=True):
            texts[row["item"]] = contexts.get(row["context_id"], "") + _shown(row)
    return texts


def _shown(row: Mapping[str, Any]) -> str:
    """Return a request as a reader sees it; the parts of instructed requests are arranged by a model's wrapper."""
    parts = (row["instruction"], row["text"], *(row["options"] or ()))
    notes = []
    if row["kind"] == "choices" and row["choices"]:
        notes.append(f"[choices, each scored alone: {'; '.join(map(str.strip, row['choices']))}]")
    if row["kind"] == "fill":
        notes.append("[a causal model reads this up to the blank]")
    if row["texts"] > 1:
        notes.append(f"[and {row['texts'] - 1} more texts, which are scored with it]")
    return "\n".join(["\n".join(part for part in parts if part) or "".join(row["pieces"] or ()), *notes])
