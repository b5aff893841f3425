"""Generate documents from the code: `python -m almanac.schema` rewrites them, `--check` compares.

From the configuration's types: `config/schema.json` for editors, `docs/configuration.md` for readers. From the row
classes and the parsers: `docs/tables.md` and `docs/command_line.md`.
"""

import argparse
import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from almanac import cli, rows
from almanac.columns import described, schema
from almanac.config import EditionConfig
from almanac.planting.corpus import Document
from almanac.project import PROJECT
from almanac.suites.joining import EVERY
from almanac.suites.listing import SUITES
from almanac.suites.suite import Suite

Schema = dict[str, Any]
BAR = r"\|"  # how a cell of a Markdown table contains |
LIMITS = {
    "minimum": "≥",
    "exclusiveMinimum": ">",
    "maximum": "≤",
    "exclusiveMaximum": "<",
    "multipleOf": "a multiple of",
}
WORDS = {pa.string(): "text", pa.int64(): "whole number", pa.float64(): "number", pa.bool_(): "true or false"}
CONFIGURATION = """\
# Configuration

For those who write or change an edition's file, such as a copy of `config/own.yaml`: every key, generated from the
program's types (`python -m almanac.schema`). You may choose any `NAME` in a key. The default *none* means that the key
is not set. A key that several kinds of sources share is repeated only if it differs from the kind before;
[command_line.md](command_line.md#pull) lists all keys of each kind. An entry of `config/models.yaml` has the keys that
are listed here under `models`, without `name`.

| key | type | default | meaning |
| --- | --- | --- | --- |
"""
TABLES = """\
# Tables and their columns

For those who read results with a program, or ask what a column means: every table that passes between steps, generated
from the program's row classes (`python -m almanac.schema`). The columns of the page's own tables are explained in
[reading_the_page.md](reading_the_page.md#a-row-of-the-table-of-methods) and in `tables/columns.md` of a result.

Tables are Parquet files in `results/EDITION/`; a frozen edition carries them as JSON Lines. `almanac.read_edition`
gives those of a result as pandas frames. Columns in bold identify a row; *may be empty* marks those that may hold no
value. Tables of single suites come last. Those that asking writes (*asked*) are
`requests/SUITE/DATASET/ROUND/ABOUT/NAME.parquet`, those that judging writes (*judged*) are
`outcomes/MODEL/SUITE/DATASET/NAME.parquet`. Tables that are *not frozen* are in no archive; verifying makes them again.
"""
ITEMS = """
## Columns of scored items

The columns that `where` and `of` of a `Measure` refer to. Suites add columns: those below, and those of their tables
that have an `item`.

| column | meaning |
| --- | --- |
"""
COMMANDS = """\
# The command line

Every verb, what it works on, and its flags, generated from the program (`python -m almanac.schema`). Each is run as
`almanac VERB …`, and its `--help` has examples. (In a clone, `source .venv/bin/activate` makes the command known.
`python -m almanac VERB …` is the same.) A value in brackets is the default. A flag that takes true or false means true
if no value follows it.
"""


def configuration_texts() -> tuple[str, str]:
    """Return the JSON schema of an edition's file, and the page that lists all its keys."""
    found = EditionConfig.model_json_schema()
    page = CONFIGURATION + "".join(_rows(found, found["$defs"], ""))
    return json.dumps(found, indent=1, sort_keys=True) + "\n", page


def _rows(group: Schema, groups: Schema, prefix: str) -> Iterator[str]:
    """Yield a table row for each key of a group, followed by the rows of the groups inside it."""
    for name, field in sorted(group["properties"].items(), key=lambda item: "const" not in item[1]):  # a kind first
        key = f"{prefix}{name}"
        kind, inner = _kind(field)
        default = "required" if name in group.get("required", ()) else "" if inner else _shown(field.get("default"))
        yield f"| `{key}` | {kind} | {default} | {field.get('description', '')} |\n"
        under = f"{key}.NAME." if kind == "groups by name" else f"{key}."
        last: dict[str, str] = {}
        for row in (row for ref in inner for row in _rows(groups[ref.rpartition("/")[2]], groups, under)):
            cell = row.partition(" | ")[0]
            if last.get(cell) != row:  # kinds of one group share keys: repeat only rows that differ
                yield row
            last[cell] = row


def _kind(field: Schema) -> tuple[str, tuple[str, ...]]:
    """Return a field's type in words, and the references to the groups that it may contain."""
    field = next((part for part in field.get("anyOf", ()) if part.get("type") != "null"), field)
    if "$ref" in field:
        return "group", (field["$ref"],)
    if field.get("type") == "object":
        one = next(iter(field["patternProperties"].values()))
        return "groups by name", tuple(part["$ref"] for part in one.get("oneOf", [one]))
    if field.get("type") == "array":
        kind, inner = _kind(field["items"])
        return f"list of {kind}{'s' if inner else ''}", inner
    words = ", ".join(field["enum"]) if "enum" in field else field.get("const") or field["type"]
    limits = [f"{sign} {field[limit]}" for limit, sign in LIMITS.items() if limit in field]
    return ", ".join([words, *limits]), ()


def _shown(default: Any) -> str:
    return "none" if default is None else f"`{json.dumps(default)}`"


def tables_text() -> str:
    """Return the page that lists every table and its columns."""
    shared = [_table(one, name) for name, one in sorted(vars(rows).items()) if isinstance(one, type)]
    items = "".join(f"| `{name}` | {meaning} |\n" for name, meaning in EVERY.items())
    shared.append(_table(Document, "documents.parquet of a world's corpora, which planted models read"))
    return "".join([TABLES, *shared, ITEMS, items, *map(_own_columns, SUITES.values()), *_own_tables()])


def _own_columns(suite: Suite[Any]) -> str:
    """Return a suite's additional columns of items: its settings, and derived columns."""
    asked = ", ".join(f"`{name}`" for name in suite.setting._fields)
    parts = [f"### Of `{suite.name}`", f"{asked}: {inspect.getdoc(suite.setting)}"]
    if type(suite).derived is not Suite.derived:
        parts.append(" ".join(str(inspect.getdoc(type(suite).derived)).split()))
    return "".join(f"\n{one}\n" for one in parts)


def _own_tables() -> Iterator[str]:
    """Yield the tables that suites declare; a table that several suites share is listed once."""
    found: dict[tuple[str, type], list[str]] = {}
    for suite in SUITES.values():
        for name, own in suite.own.items():
            at = own.at if own.frozen else f"{own.at}, not frozen"
            found.setdefault((f"`{name}`, {at}", own.row), []).append(f"`{suite.name}`")
    for (title, row), suites in found.items():
        yield _table(row, f"{title}: {', '.join(suites)}")


def _table(row: type, title: str) -> str:
    (doc, meanings), key = described(row), getattr(row, "KEY", ())
    lines = [f"\n## {title}\n", f"{doc}\n", "| column | type | meaning |", "| --- | --- | --- |"]
    for field in schema(row):
        name = f"**`{field.name}`**" if field.name in key else f"`{field.name}`"
        kind = f"{_in_words(field.type)}{', may be empty' if field.nullable else ''}"
        lines.append(f"| {name} | {kind} | {meanings[field.name].replace('|', BAR)} |")
    return "\n".join(lines) + "\n"


def _in_words(kind: pa.DataType) -> str:
    return f"list of {_in_words(kind.value_type)}" if pa.types.is_list(kind) else WORDS[kind]


def commands_text() -> str:
    """Return the page that lists every verb and its flags."""
    return COMMANDS + "".join(_verb(name, summary) for name, summary in cli.VERBS.items())


def _verb(name: str, summary: str) -> str:
    parser = cli.parser_of(name, cli.load(name))
    lines = [f"\n## {name}\n", f"{summary[0].upper()}{summary[1:]}.\n"]
    return "\n".join([*lines, *_flags(parser, "")]) + "\n"


def _flags(parser: argparse.ArgumentParser, thing: str, summary: str = "") -> Iterator[str]:
    """Yield the lines of a parser's flags, then those of its subcommands."""
    inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    visible = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    flags = [action for action in visible if action not in inner and not isinstance(action, argparse._HelpAction)]
    if thing:
        yield f"\n### {thing}\n\n{summary}\n"
    if flags:
        yield "| flag | value | meaning |\n| --- | --- | --- |"
        for action in flags:
            flag = ", ".join(f"`{flag}`" for flag in action.option_strings) or f"`{action.metavar or action.dest}`"
            value = ", ".join(map(str, action.choices)) if action.choices else str(action.metavar or "")
            more = " …" if action.nargs in ("*", "+") else ""
            needed = " (required)" if action.required and action.option_strings else ""
            meaning = (action.help or "").replace("%%", "%").replace("|", BAR)
            yield f"| {flag}{needed} | {value}{more} | {meaning} |"
    for one in inner:
        summaries = {choice.dest: choice.help or "" for choice in one._choices_actions}
        for name, part in one.choices.items():
            yield from _flags(part, f"{thing} {name}".strip(), summaries.get(name, "").replace("%%", "%"))


def main() -> int:
    """Write the documents, or compare them with `--check`."""
    for_editors, for_readers = configuration_texts()
    documents = {
        "config/schema.json": for_editors,
        "docs/configuration.md": for_readers,
        "docs/tables.md": tables_text(),
        "docs/command_line.md": commands_text(),
    }
    stale = [name for name, text in documents.items() if not _same(PROJECT / name, text)]
    if sys.argv[1:] == ["--check"]:
        for name in stale:
            print(f"{name} is not what the code gives; run `python -m almanac.schema`")
        return int(bool(stale))
    for name in stale:
        (PROJECT / name).write_text(documents[name], encoding="utf-8")
    return 0


def _same(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    raise SystemExit(main())
