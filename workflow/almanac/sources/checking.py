"""Checks the rows of a user's tables, and converts them into frames or rows of their classes.

Mistakes are recorded in the table, by row. Rows with a mistake are removed first, so that duplicate keys are searched
for among valid rows only.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl

from almanac.errors import INSTEAD, AlmanacError
from almanac.frames import frame_of
from almanac.punctuation import is_question
from almanac.rows import ALIAS, Exposure, Relation, Template
from almanac.sources import triples, values
from almanac.sources.properties import properties
from almanac.sources.records import LIST_SEPARATOR, TABLES, TRIPLES, passed_over
from almanac.sources.thirds import BUCKETS
from almanac.sources.user_table import ROW, SHOWN, Check, UserTable, read_file, read_table

DATATYPES = ("date", "quantity", "string")
PRECISIONS = ("year", "month", "day")  # of dates
STYLES = ("statement", "question", "prefix", ALIAS)
ITEM = r"^Q\d+$"  # the id of a Wikidata item
NUMBER = re.compile(
    r"(?:https?://www\.wikidata\.org/(?:entity/|prop/direct/|wiki/Property:)|wdt?:)?(P\d+)", re.IGNORECASE
)
DIGITS = 18  # most digits of a count: any such number fits into 64 bits
MERGED = "or set datasets.NAME.merge: true"  # the remedy for many duplicate rows
TO_MERGE = (
    f"""To merge such rows with `make own`, add ARGS="datasets='{{facts: {{merge: true}}}}'"; {INSTEAD}; """
    "with `build dataset`, --merge true; with `pull files`, --merge copies them as they are."
)
BOTH = "every entity needs an entity_id and a label"
TYPE = "entity"  # default type of popularity rows, if neither the row nor its entity names one


@dataclass(frozen=True)
class FactColumns:
    """The tables of one source; those that may be long are frames of their row class, sorted by its key."""

    entities: pl.DataFrame
    relations: list[Relation]
    facts: pl.DataFrame
    templates: list[Template]
    popularity: pl.DataFrame
    evidence: pl.DataFrame
    exposures: pl.DataFrame = field(default_factory=lambda: frame_of(Exposure, ()))
    notes: tuple[str, ...] = ()  # warnings, such as that a cell was not read exactly as written


def readable(folder: Path, name: str) -> UserTable:
    """Return a table of a folder, its rows not yet checked.

    Raises:
        AlmanacError: the file cannot be read, or lacks a column, so that every reference to its rows would seem wrong.
    """
    return _with_columns(read_table(folder, name))


def of_one_file(path: Path) -> dict[str, UserTable]:
    """Return the tables of one file of subject, relation and object; see `triples` and `readable`."""
    return triples.tables_of(_with_columns(read_file(path, TRIPLES)))


def _with_columns(table: UserTable) -> UserTable:
    if any(row == 0 for row, _ in table.mistakes):
        raise _refusal([table])
    return table


def checked(folder: Path, source: str, merge: bool = False) -> FactColumns:
    """Read and check the tables of a folder, or of one file of facts.

    Args:
        folder: a folder with the tables `facts`, `entities` and perhaps others; or one file of facts.
        source: the source's name, for facts and popularity rows that name none.
        merge: whether duplicate rows are merged instead of refused. Of an entity's rows the first gives the label, and
            the other labels become aliases; duplicate facts, texts and templates count once; an entity's largest score
            and a fact's first dose count. Templates of relations in neither `facts` nor `relations` are dropped.

    Raises:
        AlmanacError: any row is wrong; names up to twenty mistakes with file and row.
    """
    read: list[UserTable] = []
    given = of_one_file(folder) if folder.is_file() else {}

    def opened(name: str) -> UserTable:
        read.append(given[name] if name in given else readable(folder, name))
        return read[-1]

    entity_rows, fact_rows, relation_rows = map(opened, ("entities", "facts", "relations"))
    named = entity_rows.named().drop_nulls()
    described = {*relation_rows.named().drop_nulls(), *fact_rows.named().drop_nulls().unique()}
    things = entities(entity_rows, merge)
    stated, written = facts(fact_rows, source, named, merge)
    used = stated["relation_id"].unique().sort().to_list()
    not_items = stated.filter(~pl.col("subject_id").str.contains(ITEM))["relation_id"].unique().to_list()
    known = relations(relation_rows, used, properties().keys() - not_items)
    worded = opened("templates")
    _check_texts(worded, merge)
    out = FactColumns(
        entities=things,
        relations=known,
        facts=stated,
        templates=sorted(templates(worded, described, merge), key=lambda row: row.template_id),
        popularity=popularity(opened("popularity"), source, things, named, merge),
        evidence=evidence(opened("evidence"), written, merge),
        exposures=exposures(opened("exposures"), written, merge),
        notes=(*([] if folder.is_file() else passed_over(folder)), *(note for one in read for note in one.notes)),
    )
    if any(one.count for one in read):
        raise _refusal(read)
    return out


def _refusal(read: Sequence[UserTable]) -> AlmanacError:
    """Return an error that lists the mistakes of some tables."""
    count = sum(one.count for one in read)
    mistakes = [line for one in read for line in one.lines()][:SHOWN]
    more = f"\n... and {count - SHOWN} more" if count > SHOWN else ""
    end = ["Nothing was read; mend these rows and run the step again."]
    end += [TO_MERGE] if any(MERGED in line for line in mistakes) else []
    return AlmanacError("\n".join(mistakes) + more + "\n" + " ".join(end))


def entities(found: UserTable, merge: bool = False) -> pl.DataFrame:
    """Return the rows of `Entity`, sorted; ``merge`` as for `checked`."""
    identity, label = pl.col("entity_id"), pl.col("label")
    found.check(
        (identity.is_null(), lambda _: f"entity_id is empty; {BOTH}"),
        (label.is_null(), lambda _: f"label is empty; {BOTH}"),
    )
    again = ~identity.is_first_distinct()
    if merge:
        more = found.drop(again, lambda row: f"entity {row['entity_id']!r} occurs again; its names become aliases")
        others = more.lazy().group_by("entity_id", maintain_order=True)
        own = others.agg(
            more=pl.concat_list("label", "aliases").explode(empty_as_null=False, keep_nulls=False),
            kind=pl.col("type").drop_nulls().first(),
        )
        rows = found.rows.join(own.collect(), on="entity_id", how="left", maintain_order="left")
        aliases, kind = pl.concat_list("aliases", pl.col("more").fill_null([])), pl.coalesce("type", "kind")
        found.rows = rows.with_columns(aliases=aliases, type=kind).drop("more", "kind")
    found.check((again, lambda row: f"entity {row['entity_id']!r} {_too(found, row, 'entity_id')}, {MERGED}"))
    names = pl.concat_list("label", "aliases").list.unique(maintain_order=True)
    return found.take().select("entity_id", "label", names.list.slice(1).alias("aliases"), "type").sort("entity_id")


def facts(found: UserTable, source: str, ids: pl.Series, merge: bool = False) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the rows of `Fact`, sorted, and a frame ``written, fact_id``: fact ids as written, and canonical ones.

    Args:
        found: the table.
        source: the source of facts that name none.
        ids: the ids of the entities.
        merge: as for `checked`.
    """
    _compare_values(found)
    found.rows = found.rows.with_columns(fact_id=_identity("value"), written=_identity("as_written"))
    written = found.rows.select("written", "fact_id").drop_nulls()
    found.check(*_fact_checks(ids))
    twice = ~pl.col("fact_id").is_first_distinct()
    if merge:
        found.drop(twice, lambda row: f"the fact {row['fact_id']} occurs again; it counts once")
    found.check((twice, lambda row: f"the fact {row['fact_id']} {_too(found, row, 'fact_id')}, {MERGED}"))
    literal = pl.col("object_id").is_null()
    rows = found.take().select(
        "fact_id",
        "relation_id",
        "subject_id",
        "object_id",
        "value",
        pl.when(literal).then(pl.col("datatype").fill_null("string")),
        "precision",
        "qualifiers",
        "split",
        pl.col("source").fill_null(source),
    )
    return rows.sort("fact_id"), written


def _too(found: UserTable, row: dict[str, Any], *key: str) -> str:
    return f"is also in {found.first(row, *key)}; keep one row"


def _identity(value: str) -> pl.Expr:
    return pl.concat_str("relation_id", "subject_id", pl.coalesce("object_id", value), separator=LIST_SEPARATOR)


def _compare_values(found: UserTable) -> None:
    """Convert dates and quantities to their canonical form, so that equal values are equal texts.

    Adds the columns ``as_written`` and ``wrong`` (the message, if a value does not fit its datatype).
    """
    rows = found.rows.with_columns(as_written="value")
    of = ["datatype", "value", "precision"]
    odd = pl.col("datatype").is_in(list(values.READ)) & ~pl.col("value").str.contains(values.PLAIN)
    found_values = [(*row, *values.read(*row)) for row in rows.filter(odd).select(of).unique().iter_rows()]
    names = [*of, "as_value", "wrong"]
    read = pl.DataFrame(found_values, dict.fromkeys(names, pl.String), orient="row")
    rows = rows.join(read, on=of, how="left", nulls_equal=True, maintain_order="left")
    found.rows = rows.with_columns(value=pl.coalesce("as_value", "value")).drop("as_value")
    changed = found.rows.filter(pl.col("value") != pl.col("as_written"))
    for own in changed.partition_by("datatype", maintain_order=True):
        first = own.row(0, named=True)
        found.note(own[ROW], f"the {first['datatype']} {first['as_written']!r} is read as {first['value']!r}")


def _fact_checks(entity_ids: pl.Series) -> list[Check]:
    """Return the checks of a fact, in the order in which they apply."""
    ids = entity_ids.implode()
    return [
        *(check for name in ("relation_id", "subject_id") for check in (_empty(name), _separated(name))),
        (
            pl.col("object_id").is_null() == pl.col("value").is_null(),
            lambda _: "needs either an object_id (an entity) or a value (a literal), and not both",
        ),
        *(_unnamed(name, ids) for name in ("subject_id", "object_id")),
        (
            pl.col("value").is_in(ids),
            lambda row: (
                f"value {row['value']!r} is the id of an entity; give it as object_id, or give the entity another id"
            ),
        ),
        (
            ~pl.col("datatype").is_in(DATATYPES),
            lambda row: f"datatype {row['datatype']!r} is unknown; allowed are {', '.join(DATATYPES)}",
        ),
        (
            ~pl.col("precision").is_in(PRECISIONS),
            lambda row: f"precision {row['precision']!r} is unknown; allowed are {', '.join(PRECISIONS)} or nothing",
        ),
        (pl.col("wrong").is_not_null(), lambda row: str(row["wrong"])),
        (
            ~pl.col("split").is_in(("train", "test")),
            lambda row: (
                f"split {row['split']!r} is unknown; allowed are train, test or nothing (a column of another meaning "
                "needs another name)"
            ),
        ),
    ]


def _empty(name: str) -> Check:
    return pl.col(name).is_null(), lambda _: f"{name} is empty"


def _separated(name: str) -> Check:
    says = f"holds {LIST_SEPARATOR!r}, which separates the parts of a fact's id"
    return pl.col(name).str.contains(LIST_SEPARATOR, literal=True), lambda row: f"{name} {row[name]!r} {says}"


def _unnamed(name: str, ids: pl.Series) -> Check:
    says = "is no entity; add it to the entities table or remove the fact"
    return ~pl.col(name).is_in(ids), lambda row: f"{name} {row[name]!r} {says}"


def relations(found: UserTable, used: list[str], property_ids: Collection[str]) -> list[Relation]:
    """Return the relations, sorted.

    Args:
        found: the table.
        used: the relations of the facts; those without a row in the table get their id as label.
        property_ids: ids that mean Wikidata properties; relations with such an id and no label get the property's name.
    """
    rows: dict[str, Relation] = {}
    for number, record in found.records():
        identity = record["relation_id"]
        if not identity or not record["label"]:
            found.refuse(number, "relation_id and label are both required")
        elif identity in rows:
            found.refuse(number, f"relation {identity!r} {_too(found, record, 'relation_id')}")
        elif record["popularity"] and not (record["popularity"].isdecimal() and len(record["popularity"]) <= DIGITS):
            says = f"is no whole number of at most {DIGITS} digits; write digits or nothing"
            found.refuse(number, f"popularity {record['popularity']!r} {says}")
        elif bucket := _bucket_mistake(record):
            found.refuse(number, bucket)
        else:
            popularity = record.pop("popularity")
            rows[identity] = Relation(**record, popularity=int(popularity) if popularity else None)
    described = set(rows)
    for identity in used:
        own = rows.get(identity) or Relation(identity, identity, None, None, None, None)
        row = rows[identity] = _as_property(own, identity in property_ids)
        if row.without_words():
            says, remedy = "has no label", "give it a label in words"
            if identity in described:
                says, remedy = "has a name that is not in plain words", "write its name in words"
            asked = f"suites would ask 'The {identity} of …'"
            found.notes.append(f"{found.path}: relation {identity!r} {says}; {asked}; {remedy}")
    by_label: dict[str, str] = {}
    for identity in used:
        label = rows[identity].label
        if (other := by_label.setdefault(label.casefold(), identity)) != identity:
            says = f"relations {other!r} and {identity!r} are both called {label!r}, and may be asked by the same words"
            found.notes.append(f"{found.path}: {says}; give one another label")
    return sorted(rows.values(), key=lambda row: row.relation_id)


def _as_property(row: Relation, takes_name: bool) -> Relation:
    """Reduce a relation's property to its number (P19); fill in label and property if its id is such a number.

    If ``takes_name``, a relation without a label gets Wikidata's name. With that name it also gets the property.
    """
    if row.property and (number := NUMBER.fullmatch(row.property)):
        row = replace(row, property=number[1].upper())
    name = properties().get(row.relation_id)
    if name is None:
        return row
    label = name if takes_name and row.label == row.relation_id else row.label
    is_property = label.casefold() == name.casefold()
    return replace(row, label=label, property=row.property or (row.relation_id if is_property else None))


def template_file(path: Path, sentences: Collection[str] = ()) -> list[Template]:
    """Return the templates of a single file, in its order; any relation is allowed.

    Args:
        path: the file.
        sentences: further allowed styles, whose templates have both slots.

    Raises:
        AlmanacError: the file cannot be read, or rows are wrong; names up to twenty mistakes.
    """
    found = _with_columns(read_file(path, TABLES["templates"]))
    rows = templates(found, set(found.named().drop_nulls()), sentences=sentences)
    if found.count:
        raise _refusal([found])
    return rows


def templates(
    found: UserTable, known: set[str], merge: bool = False, sentences: Collection[str] = ()
) -> list[Template]:
    """Return the templates, in their order.

    Args:
        found: the table.
        known: the ids of all relations, including those with a mistake.
        merge: whether templates of other relations are dropped instead of refused.
        sentences: further allowed styles, whose templates have both slots.
    """
    styles = dict.fromkeys((*STYLES, *sentences))
    rows: dict[str, Template] = {}
    kept = Counter[str | None]()  # number of templates by relation
    if merge:
        strange = ~pl.col("relation_id").is_in(list(known))
        found.drop(strange, lambda row: f"relation {row['relation_id']!r} has no facts; its template is left out")
    taken = set(found.rows["template_id"].drop_nulls())
    for number, record in found.records():
        text, relation = record["text"] or "", record["relation_id"]
        free = (name for name in (f"{relation}/{at}" for at in count(kept[relation])) if name not in taken)
        identity = record["template_id"] or next(free)
        needs_object = record["style"] in ("statement", ALIAS, *sentences)
        if relation is None:
            found.refuse(number, "relation_id is empty; write the relation that the template is of")
        elif relation not in known:
            found.refuse(number, f"relation {relation!r} is in no facts or relations table; remove the row, {MERGED}")
        elif record["style"] not in styles:
            found.refuse(number, f"style {record['style']!r} is unknown; allowed are {', '.join(styles)}")
        elif text.count("[X]") != 1 or (needs_object and text.count("[Y]") != 1):
            found.refuse(number, f"{text!r} must hold [X] once and, unless a question or prefix, [Y] once")
        elif record["style"] == "question" and "[Y]" in text and is_question(text):
            found.refuse(number, f"{text!r} names its own answer; a question asks for [Y], and does not hold it")
        elif record["style"] == "prefix" and "[Y]" in text:
            found.refuse(number, f"{text!r} holds [Y], which comes after a prefix; write style statement, or no [Y]")
        elif identity in rows:
            found.refuse(number, f"template {identity!r} occurs twice; keep one row")
        else:
            origin = record["origin"] or "written"
            entails = tuple(record["entails"])
            taken.add(identity)
            kept[relation] += 1
            rows[identity] = Template(identity, relation, text, record["style"], origin, record["parent_id"], entails)
    return list(rows.values())


def _check_texts(found: UserTable, merge: bool) -> None:
    """Refuse (or merge) duplicate templates, which would inflate the agreement between a relation's templates."""
    folded = pl.col("text").str.to_lowercase().str.replace_all(r"\s+", " ")
    found.rows = found.rows.with_columns(folded=folded)
    key = ("relation_id", "style", "folded")
    twice = ~pl.struct(key).is_first_distinct() & pl.all_horizontal(pl.col(name).is_not_null() for name in key)
    if merge:
        found.drop(twice, lambda row: f"the template {row['text']!r} occurs again; it counts once")
    found.check((twice, lambda row: f"the template {row['text']!r} {_too(found, row, *key)}, {MERGED}"))
    found.rows = found.rows.drop("folded")


def popularity(
    found: UserTable, source: str, entity_rows: pl.DataFrame, entity_ids: pl.Series, merge: bool = False
) -> pl.DataFrame:
    """Return the rows of `Popularity`, sorted.

    Args:
        found: the table.
        source: the source of rows that name none.
        entity_rows: rows of `Entity`; a popularity row without a type gets the type of its entity.
        entity_ids: the ids of all entities, including those with a mistake.
        merge: as for `checked`.
    """

    def of(row: dict[str, Any]) -> str:
        return f"the popularity of entity {row['entity_id']!r} (source {row['source']!r}, type {row['type']!r})"

    kinds = entity_rows.select("entity_id", kind="type")
    rows = found.rows.join(kinds, on="entity_id", how="left", maintain_order="left")
    kind = pl.coalesce("type", "kind", pl.lit(TYPE))
    found.rows = rows.with_columns(pl.col("source").fill_null(source), type=kind).drop("kind")
    found.check(
        (
            ~pl.col("entity_id").is_in(entity_ids.implode()).fill_null(False),
            lambda row: f"entity_id {row['entity_id']!r} is no entity; add it to the entities or remove this row",
        ),
        *_counts("score"),
        (~pl.col("bucket").is_in(BUCKETS), lambda row: str(_bucket_mistake(row))),
    )
    found.rows = found.rows.with_columns(_whole(found.rows["score"]))
    empty = pl.col("bucket").is_null()
    if (bare := found.rows.filter(empty & ~empty.all().over("source", "type"))).height:
        says = (
            "has no bucket where others of its source and type have one, and is in none; fill all, or leave all empty"
        )
        found.note(bare[ROW], f"{of(bare.row(0, named=True))} {says}")
    key = ("entity_id", "source", "type")
    twice = ~pl.struct(key).is_first_distinct()
    if merge:
        found.rows = found.rows.sort("score", descending=True, maintain_order=True)
        found.drop(twice, lambda row: f"{of(row)} occurs again; the largest score counts")
    found.check((twice, lambda row: f"{of(row)} {_too(found, row, *key)}, {MERGED}"))
    return found.take().select(*key, "score", "bucket").sort(key)


def _counts(column: str) -> tuple[Check, ...]:
    """Return the checks of a column of counts."""
    count, remedy = pl.col(column), "write how often something is counted"
    return (
        (count.is_null(), lambda _: f"{column} is empty; {remedy}"),
        (
            ~count.str.contains(r"^\p{Nd}+$"),
            lambda row: f"{column} {row[column]!r} is no whole number; {remedy}",
        ),
        (
            count.str.len_chars() > DIGITS,
            lambda row: f"{column} {row[column]!r} has more than {DIGITS} digits; {remedy}",
        ),
    )


def _whole(texts: pl.Series) -> pl.Series:
    """Return checked counts as integers."""
    return pl.Series(texts.name, map(int, texts), pl.Int64)  # polars would read ASCII digits only


def _bucket_mistake(record: dict[str, Any]) -> str | None:
    if record["bucket"] in (None, *BUCKETS):
        return None
    return f"bucket {record['bucket']!r} is unknown; allowed are {', '.join(BUCKETS)} or nothing"


def evidence(found: UserTable, stated: pl.DataFrame, merge: bool = False) -> pl.DataFrame:
    """Return the rows of `Evidence`, sorted; ``stated`` is the frame ``written, fact_id`` from `facts`."""
    found.check(
        _of_a_fact(found, stated),
        (
            pl.col("text").is_null(),
            lambda _: "text is empty; write the text in which the fact is said, or remove the row",
        ),
    )
    twice = ~pl.struct("fact_id", "text").is_first_distinct()
    if merge:
        found.drop(twice, lambda row: f"the fact {row['fact_id']} has this text again; it counts once")
    key = "fact_id", "text"
    found.check((twice, lambda row: f"this text of the fact {row['fact_id']} {_too(found, row, *key)}, {MERGED}"))
    return found.take().select("fact_id", "text").sort("fact_id", "text")


def exposures(found: UserTable, stated: pl.DataFrame, merge: bool = False) -> pl.DataFrame:
    """Return the rows of `Exposure`, sorted; ``stated`` as for `evidence`."""
    found.check(_of_a_fact(found, stated), *_counts("dose"))
    twice = ~pl.col("fact_id").is_first_distinct()
    if merge:
        found.drop(twice, lambda row: f"the fact {row['fact_id']} has a dose again; the first counts")
    found.check((twice, lambda row: f"the dose of {row['fact_id']} {_too(found, row, 'fact_id')}, {MERGED}"))
    rows = found.take()
    return rows.with_columns(_whole(rows["dose"])).select("fact_id", "dose").sort("fact_id")


def _of_a_fact(found: UserTable, stated: pl.DataFrame) -> Check:
    """Replace fact ids that are written as in the facts table by the canonical ids; return the check that each exists.

    An id that is the canonical id of a fact, or that fits several facts as written, is not replaced.
    """
    changed = stated.join(stated, left_on="written", right_on="fact_id", how="anti").unique()
    changed = changed.unique("written", keep="none")
    if changed.height:
        ids = pl.col("fact_id").replace(changed["written"], changed["fact_id"])
        found.rows = found.rows.with_columns(ids)
    return (
        ~pl.col("fact_id").is_in(stated["fact_id"].implode()).fill_null(False),
        lambda row: f"fact_id {row['fact_id']!r} is no fact; write relation|subject|object of one",
    )
