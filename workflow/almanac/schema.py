"""The documents that are made from the code: `python -m almanac.schema` rewrites them, `--check` compares.

Of the configuration's types: `config/schema.json` for editors, `docs/configuration.md` for readers. Of the row classes
and the parsers: `docs/tables.md` and `docs/command_line.md` (`reference.py`).
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from almanac.config import EditionConfig
from almanac.reference import commands_text, tables_text

Schema = dict[str, Any]
LIMITS = {
    "minimum": "≥",
    "exclusiveMinimum": ">",
    "maximum": "≤",
    "exclusiveMaximum": "<",
    "multipleOf": "a multiple of",
}
ROOT = Path(__file__).resolve().parents[2]
INTRODUCTION = """\
# Configuration

Every key of an edition's file, made from the program's own types (`python -m almanac.schema`). Where a key holds
`NAME`, the name may be chosen freely. In `config/models.yaml` each entry is what stands here under `models`, but for
`name`.

| key | type | default | meaning |
| --- | --- | --- | --- |
"""


def schema_text() -> str:
    """Return the JSON schema of an edition's file."""
    return json.dumps(EditionConfig.model_json_schema(), indent=1, sort_keys=True) + "\n"


def reference_text() -> str:
    """Return the page that lists every key."""
    schema = EditionConfig.model_json_schema()
    return INTRODUCTION + "".join(_rows(schema, schema["$defs"], ""))


def _rows(group: Schema, groups: Schema, prefix: str) -> Iterator[str]:
    """Yield a table row for each key of a group, then those of the groups inside it."""
    for name, field in sorted(group["properties"].items(), key=lambda item: "const" not in item[1]):  # a kind first
        key = f"{prefix}{name}"
        default = "required" if name in group.get("required", ()) else _shown(field.get("default"))
        kind, inner = _kind(field)
        yield f"| `{key}` | {kind} | {default} | {field.get('description', '')} |\n"
        under = f"{key}.NAME." if kind == "groups by name" else f"{key}."
        said: dict[str, str] = {}
        for row in (row for ref in inner for row in _rows(groups[ref.rpartition("/")[2]], groups, under)):
            own = row.partition(" | ")[0]
            if said.get(own) != row:  # kinds of one group share keys; what differs from the kind before is said again
                yield row
            said[own] = row


def _kind(field: Schema) -> tuple[str, tuple[str, ...]]:
    """Return a field's type in words and the references of the groups that it may hold."""
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
    simple = default is not None and not isinstance(default, dict)
    return f"`{json.dumps(default)}`" if simple else ""


def main() -> int:
    """Write the documents, or compare them with `--check`."""
    documents = {
        "config/schema.json": schema_text(),
        "docs/configuration.md": reference_text(),
        "docs/tables.md": tables_text(),
        "docs/command_line.md": commands_text(),
    }
    stale = [name for name, text in documents.items() if not _same(ROOT / name, text)]
    if sys.argv[1:] == ["--check"]:
        for name in stale:
            print(f"{name} is not what the code gives; run `python -m almanac.schema`")
        return int(bool(stale))
    for name in stale:
        (ROOT / name).write_text(documents[name], encoding="utf-8")
    return 0


def _same(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    raise SystemExit(main())
