"""The reference of tables and of the command line, made from the code: `docs/tables.md` and `docs/command_line.md`.

`python -m almanac.schema` writes both, with the configuration's documents.
"""

import argparse
import dataclasses
import inspect
from collections.abc import Iterator

import pyarrow as pa

from almanac import cli, rows
from almanac.columns import schema
from almanac.suites.joining import EVERY
from almanac.suites.listing import SUITES

WORDS = {pa.string(): "text", pa.int64(): "whole number", pa.float64(): "number", pa.bool_(): "true or false"}

TABLES = """\
# Tables and their columns

Every table that passes between steps, made from the program's own row classes (`python -m almanac.schema`). Tables are
Parquet files in `results/EDITION/`; a frozen edition carries them as JSON Lines. `almanac.read_edition` gives those of
a result as pandas frames. Columns in bold identify a row; *may be empty* marks those that may hold no value. Suites'
own tables come last: of what is asked, `requests/SUITE/DATASET/ROUND/ABOUT/NAME.parquet`, and of what was judged,
`outcomes/MODEL/SUITE/DATASET/NAME.parquet`.
"""
ITEMS = """
## Columns of scored items

What `where` and `of` of a number (`Measure`) name. Suites add columns: those of their own tables that have an `item`,
and some that they compute of these.

| column | meaning |
| --- | --- |
"""
COMMANDS = """\
# The command line

Every verb, what it works on, and its flags, made from the program itself (`python -m almanac.schema`). Each is run as
`almanac VERB …` or `python -m almanac VERB …`, and each `--help` has examples. A value in brackets is the default.
"""


def tables_text() -> str:
    """Return the page that lists every table and its columns."""
    classes = [getattr(rows, name) for name in sorted(rows.__all__)]
    shared = [_table(one, one.__name__) for one in classes if dataclasses.is_dataclass(one) and isinstance(one, type)]
    items = "".join(f"| `{name}` | {meaning} |\n" for name, meaning in EVERY.items())
    return "".join([TABLES, *shared, ITEMS, items, *_own_tables()])


def _own_tables() -> Iterator[str]:
    """Yield the suites' own tables; one that several suites have is listed once."""
    found: dict[tuple[str, type], list[str]] = {}
    for suite in SUITES.values():
        for name, own in suite.own.items():
            found.setdefault((f"`{name}`, {own.at}", own.row), []).append(f"`{suite.name}`")
    for (title, row), suites in found.items():
        yield _table(row, f"{title}: {', '.join(suites)}")


def _table(row: type, title: str) -> str:
    doc, key = inspect.getdoc(row), getattr(row, "KEY", ())
    lines = [f"\n## {title}\n", f"{doc}\n", "| column | type |", "| --- | --- |"]
    for field in schema(row):
        name = f"**`{field.name}`**" if field.name in key else f"`{field.name}`"
        lines.append(f"| {name} | {_in_words(field.type)}{', may be empty' if field.nullable else ''} |")
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
    """Yield the lines of a parser's flags, then those of what is inside it."""
    inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    own = [action for action in parser._actions if action not in inner and not isinstance(action, argparse._HelpAction)]
    if thing:
        yield f"\n### {thing}\n\n{summary}\n"
    if own:
        yield "| flag | value | meaning |\n| --- | --- | --- |"
        for action in own:
            flag = ", ".join(f"`{flag}`" for flag in action.option_strings) or f"`{action.metavar or action.dest}`"
            value = ", ".join(map(str, action.choices)) if action.choices else str(action.metavar or "")
            more = " …" if action.nargs in ("*", "+") else ""
            needed = " (required)" if action.required and action.option_strings else ""
            said = (action.help or "").replace("%%", "%").replace("|", "\\|")
            yield f"| {flag}{needed} | {value}{more} | {said} |"
    for one in inner:
        summaries = {choice.dest: choice.help or "" for choice in one._choices_actions}
        for name, part in one.choices.items():
            yield from _flags(part, f"{thing} {name}".strip(), summaries.get(name, "").replace("%%", "%"))
