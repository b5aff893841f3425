"""Polars routines shared by the sources with very large tables: strict TSV scans, draws by bucket, frames of facts."""

import gzip
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from almanac.columns import columns
from almanac.errors import AlmanacError
from almanac.rows import BucketSize, Entity, Fact, Relation
from almanac.sources.drawing import RunningLowest, lowest
from almanac.sources.reading import present, readable
from almanac.sources.source_tables import Omissions, SourceTables
from almanac.sources.thirds import BUCKETS, Cuts, cuts, sizes
from almanac.sources.user_table import UNSEEN
from almanac.tables import seed_of

NOTHING = "\\N"
BATCH = 1_000_000  # rows of a stream that are processed together
NAMES = pl.Enum(BUCKETS)
SEEN = rf"[^\s\x1c-\x1f{UNSEEN[1:-1]}]"  # a visible character


def scan(path: Path, names: Sequence[str], wanted: Sequence[str], seen: bool = False) -> pl.LazyFrame:
    r"""Scan a tab-separated file as IMDb writes them: no quoting, ``\N`` for null; every column is read as text.

    Args:
        path: the file, perhaps gzipped.
        names: all its columns, in order.
        wanted: the columns to return.
        seen: whether the whole file has been read before, so that the number of cells need not be checked again.

    Raises:
        AlmanacError: the file is missing, or its header has other columns or another order.
        PolarsError: raised when the frame is collected, if a row has more or fewer cells.
    """
    header = _header(path)
    if header != list(names):
        raise AlmanacError(
            f"{path}: has the columns {', '.join(header)}; expected are {', '.join(names)}, in this order; "
            "is it the right file, and has its publisher changed it?"
        )
    frame = pl.scan_csv(
        path,
        separator="\t",
        quote_char=None,  # fields are not quoted: a title may begin with a quotation mark
        null_values=NOTHING,  # nothing else: a title may be "NA"
        empty_string_is_null=False,
        infer_schema=False,
    )
    if seen:
        return frame.select(wanted)

    def whole(batch: pl.DataFrame) -> pl.DataFrame:
        # The reader pads short rows with empty cells; the last cell of a complete row is never empty.
        if (batch[names[-1]] == "").any():
            raise pl.exceptions.ShapeError("a row has fewer cells than the header")
        return batch.select(wanted)

    # All columns are read: the reader notices extra cells only if no column is skipped.
    return frame.map_batches(whole, schema=dict.fromkeys(wanted, pl.String()), streamable=True)


def owned(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Copy the strings of a stream's rows; uncopied, a few selected rows would keep their whole batches in memory."""
    return rows.with_columns(pl.selectors.string() + "")


def _header(path: Path) -> list[str]:
    present(path)
    with readable(path), gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as handle:
        return handle.readline().decode("utf-8").rstrip("\r\n").split("\t")


def facts(
    frame: pl.DataFrame,
    relation: str | pl.Expr,
    source: str,
    *,
    object_id: pl.Expr | None = None,
    value: pl.Expr | None = None,
    datatype: str | None = None,
    precision: str | None = None,
    qualifiers: pl.Expr | None = None,
) -> pl.DataFrame:
    """Return a frame of `Fact`, one for each row.

    Args:
        frame: has a column ``subject_id`` and the columns that the expressions use.
        relation: the relation's id, or an expression for it.
        source: the source's name.
        object_id: the object if it is an entity; otherwise give ``value``, ``datatype`` and ``precision``.
        value: the literal, as text.
        datatype: date, quantity or string.
        precision: the precision of a date.
        qualifiers: lists of strings ``name=value``.
    """
    nothing = pl.lit(None, dtype=pl.String)
    key = object_id if object_id is not None else value
    of = relation if isinstance(relation, pl.Expr) else pl.lit(relation)
    return frame.select(
        fact_id=pl.format("{}|{}|{}", of, "subject_id", key),
        relation_id=of,
        subject_id="subject_id",
        object_id=object_id if object_id is not None else nothing,
        value=value if value is not None else nothing,
        datatype=pl.lit(datatype, dtype=pl.String),
        precision=pl.lit(precision, dtype=pl.String),
        qualifiers=qualifiers if qualifiers is not None else pl.lit([], dtype=pl.List(pl.String)),
        split=nothing,
        source=pl.lit(source),
    ).select(columns(Fact))


def drawn(frame: pl.DataFrame, count: int, *parts: object) -> pl.DataFrame:
    """Draw ``count`` rows of each bucket, or all if there are fewer.

    Args:
        frame: has columns ``id`` (an integer) and ``bucket``.
        count: rows per bucket.
        parts: the seed and what the draw is for.
    """
    seed = seed_of(*parts)
    # Not `partition_by`, which copies every column.
    by_bucket = [frame.lazy().filter(pl.col("bucket").eq_missing(bucket)) for bucket in frame["bucket"].unique()]
    ids = [lowest(part.select("id").collect()["id"].to_numpy(), count, seed) for part in by_bucket]
    return frame.filter(pl.col("id").is_in(pl.Series(np.concatenate(ids)).implode())) if ids else frame


def bucket_of(found: Cuts, score: pl.Expr) -> pl.Expr:
    """Return `Cuts.bucket` as an expression over a column of scores, with the one-byte type `NAMES`."""
    if found.total == 0:
        return pl.lit(None, dtype=NAMES)
    head, torso, tail = (pl.lit(bucket, dtype=NAMES) for bucket in BUCKETS)
    return pl.when(score <= found.tail_to).then(tail).when(score <= found.torso_to).then(torso).otherwise(head)


def histogram_of(scores: pl.Series) -> dict[int, int]:
    """Return the number of entities by score."""
    return dict(scores.value_counts().iter_rows())


def bucketed(frame: pl.DataFrame, source: str, kind: str) -> tuple[pl.DataFrame, list[BucketSize]]:
    """Return a frame with a column ``bucket`` computed from its ``score``, and the buckets' sizes."""
    histogram = histogram_of(frame["score"])
    found = cuts(histogram)
    return frame.with_columns(bucket=bucket_of(found, pl.col("score"))), sizes(source, kind, histogram, found)


def drawn_from(
    rows: pl.LazyFrame, has: Mapping[str, pl.Expr], found: Cuts, count: int, *parts: object
) -> dict[str, pl.DataFrame]:
    """Draw like `drawn`, for several relations, from rows that do not fit into memory.

    Args:
        rows: have columns ``id`` (an integer) and ``score``.
        has: by relation, whether a row may be drawn for it.
        found: the borders between the buckets.
        count: rows per bucket.
        parts: the seed and what the draws are for.

    Returns:
        By relation, a frame ``id, score, bucket`` of the drawn rows.
    """
    pools = {(name, bucket): RunningLowest(count, seed_of(*parts, name)) for name in has for bucket in BUCKETS}
    bucket = bucket_of(found, pl.col("score"))
    for batch in rows.select("id", bucket=bucket, **has).collect_batches(chunk_size=BATCH, engine="streaming"):
        for part in batch.partition_by("bucket"):
            for name in has:
                if part["bucket"][0] is not None:
                    pools[name, part["bucket"][0]].add(part.filter(pl.col(name))["id"].to_numpy())
    out = {}
    for name in has:
        ids = np.concatenate([pools[name, bucket].drawn for bucket in BUCKETS])
        wanted = pl.LazyFrame({"id": ids}, schema={"id": pl.UInt64})
        picked = rows.select(pl.col("id").cast(pl.UInt64), "score").join(wanted, on="id", how="semi")
        out[name] = picked.with_columns(bucket=bucket).collect(engine="streaming")
    return out


def histogram_from(rows: pl.LazyFrame) -> dict[int, int]:
    """Return the number of rows by ``score``, for rows that do not fit into memory."""
    return dict(rows.group_by("score").len().collect(engine="streaming").iter_rows())


def readable_text(column: str) -> pl.Expr:
    """Whether more than 60 % of a text's characters are ASCII (Head-to-Tail's filter)."""
    plain = pl.col(column).str.replace_all(r"[^\x00-\x7F]", "").str.len_chars().cast(pl.Int64)
    return 5 * plain > 3 * pl.col(column).str.len_chars().cast(pl.Int64)


def once(path: Path, rows: pl.LazyFrame, omissions: Omissions, what: str) -> pl.LazyFrame:
    """Return rows with exact duplicates removed.

    Args:
        path: the rows' file, for messages.
        rows: have a column ``id``; they need not fit into memory.
        omissions: counts the duplicates.
        what: what a row is, for messages.

    Raises:
        AlmanacError: two rows have the same id but other values differ.
    """
    ids = rows.group_by("id").len().filter(pl.col("len") > 1).collect(engine="streaming")["id"]
    if ids.is_empty():
        return rows
    several = pl.col("id").is_in(ids.implode())
    again = rows.filter(several).collect(engine="streaming")
    alike = again.unique(maintain_order=True)
    if (twice := alike["id"].is_duplicated()).any():
        number = alike["id"].filter(twice)[0]
        raise AlmanacError(f"{path}: the id {number} occurs twice, with different values; keep the correct line")
    omissions.add("popularity", f"{what} that stands again", str(again["id"].min()), again.height - alike.height)
    return pl.concat([rows.filter(~several), alike.lazy()])


def shown(text: pl.Expr) -> pl.Expr:
    """Whether a text has a visible character; a dataset treats all other texts as empty."""
    return text.str.contains(SEEN)


def popularity(frame: pl.DataFrame, source: str, kind: str) -> pl.DataFrame:
    """Return the rows of the popularity table for a frame with ``entity_id``, ``score`` and ``bucket``."""
    bucket = pl.col("bucket").cast(pl.String)
    return frame.select("entity_id", source=pl.lit(source), type=pl.lit(kind), score="score", bucket=bucket)


def assembled(
    relations: Sequence[Relation],
    found: Sequence[pl.DataFrame],
    entities: Sequence[pl.DataFrame],
    popularities: Sequence[pl.DataFrame],
    buckets: Sequence[BucketSize],
    omissions: Omissions,
) -> SourceTables:
    """Assemble a source's tables from frames, with unique sorted keys; facts of unknown entities are omitted.

    Args:
        relations: the relations' rows.
        found: facts, as returned by `facts`.
        entities: ``entity_id``, ``label``, ``aliases``, ``type``; those in no fact are dropped.
        popularities: as returned by `popularity`.
        buckets: the sizes of the buckets.
        omissions: counts the omitted facts.
    """
    rows = pl.concat(found).unique("fact_id", keep="first", maintain_order=True)
    names = pl.concat([frame.select(columns(Entity)) for frame in entities]).filter(shown(pl.col("label")))
    names = names.unique("entity_id", keep="first", maintain_order=True)
    known = names.select("entity_id")
    lost = pl.concat(
        rows.filter(pl.col(column).is_not_null()).join(known, left_on=column, right_on="entity_id", how="anti")
        for column in ("subject_id", "object_id")
    ).select("fact_id")
    for fact_id in lost["fact_id"].unique().sort():
        omissions.add("facts", "names an entity that the files do not name", fact_id)
    rows = rows.join(lost, on="fact_id", how="anti").sort("fact_id")
    named = pl.concat([rows["subject_id"], rows["object_id"]]).drop_nulls().unique().to_frame("entity_id")
    scores = pl.concat(popularities).join(named, on="entity_id", how="semi").unique(("entity_id", "type"))
    return SourceTables(
        entities=names.join(named, on="entity_id", how="semi").sort("entity_id").to_arrow(),
        relations=list(relations),
        facts=rows.to_arrow(),
        popularity=scores.sort("entity_id", "type").to_arrow(),
        buckets=list(buckets),
        omissions=omissions,
    )
