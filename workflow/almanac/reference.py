"""The reference of tables and of the command line, made from the code: `docs/tables.md` and `docs/command_line.md`.

`python -m almanac.schema` writes both, with the configuration's documents.
"""

import argparse
import dataclasses
import inspect
import typing
from collections.abc import Iterator

from almanac import cli, rows

TABLES = """\
# Tables and their columns

Every table that passes between steps, made from the program's own row classes (`python -m almanac.schema`). Tables are
Parquet files in `results/EDITION/`; a frozen edition carries them as JSON Lines. `almanac.read_edition` gives those of
a result as pandas frames. Columns in bold identify a row; *may be empty* marks those that may hold no value. Suites add
tables of their own, which their pages describe.
"""
COMMANDS = """\
# The command line

Every verb, what it works on, and its flags, made from the program itself (`python -m almanac.schema`). Each is run as
`almanac VERB …` or `python -m almanac VERB …`, and each `--help` has examples. A value in brackets is the default.
"""


def tables_text() -> str:
    """Return the page that lists every table and its columns."""
    classes = [getattr(rows, name) for name in sorted(rows.__all__)]
    return TABLES + "".join(_table(one) for one in classes if dataclasses.is_dataclass(one) and isinstance(one, type))


def _table(row: type) -> str:
    doc, _, attributes = inspect.cleandoc(row.__doc__ or "").partition("\nAttributes:\n")
    said = _attributes(attributes)
    hints = typing.get_type_hints(row)
    key = getattr(row, "KEY", ())
    head = ["| column | type | meaning |", "| --- | --- | --- |"] if said else ["| column | type |", "| --- | --- |"]
    lines = [f"\n## {row.__name__}\n", f"{doc.strip()}\n", *head]
    for field in dataclasses.fields(row):
        kind, empty = _kind(hints[field.name])
        name = f"**`{field.name}`**" if field.name in key else f"`{field.name}`"
        cells = [name, f"{kind}{', may be empty' if empty else ''}", *([said.get(field.name, "")] if said else [])]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _attributes(text: str) -> dict[str, str]:
    """Return what a docstring's `Attributes` say, by name."""
    out: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("    ") and not line.startswith("     "):
            name, _, rest = line.strip().partition(": ")
            out[name] = rest
        elif name and line.strip():
            out[name] += f" {line.strip()}"
    return {name: rest.replace("|", "\\|") for name, rest in out.items()}


def _kind(hint: typing.Any) -> tuple[str, bool]:
    """Return a column's type in words, and whether it may be empty."""
    parts = typing.get_args(hint)
    if type(None) in parts:
        return _kind(next(part for part in parts if part is not type(None)))[0], True
    if typing.get_origin(hint) is tuple:
        return f"list of {_kind(parts[0])[0]}", False
    if typing.get_origin(hint) is typing.Literal:
        return "one of " + ", ".join(map(str, parts)), False
    names = {str: "text", int: "whole number", float: "number", bool: "true or false"}
    return names.get(hint, str(getattr(hint, "__name__", hint))), False


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
