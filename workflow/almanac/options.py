"""Settings of a step: one pydantic model defines both its part of the configuration and its command-line flags."""

import argparse
import json
import os
import re
import shlex
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError, ValidationInfo
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, PydanticUndefined, core_schema

from almanac.errors import AlmanacError, unclosed
from almanac.project import there


class Options(BaseModel):
    """Settings that are frozen and refuse unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Settings = TypeVar("Settings", bound=Options)
LONGEST = 60  # longest value, in characters, that a message repeats
ALIKE = 0.7  # least similarity (`difflib`'s ratio) at which a message suggests another key
# Messages for pydantic's types of errors, in the words of users who write YAML.
WORDS = {
    **dict.fromkeys(("tuple_type", "list_type"), "must be a list, as [a, b]"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "must hold keys and values"),
    "string_type": "must be a text",
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float", "finite_number"), "must be a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "must be a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "must be true or false"),
    "string_pattern_mismatch": "must have the form {pattern}",
    "literal_error": "must be {expected}",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "string_too_long": "must have at most {max_length} characters",
    "string_unicode": "must be a text without half characters (surrogates)",
    "too_short": "must have at least {min_length} members",
    "too_long": "must have at most {max_length} members",
}
# Arguments of a verb's flags that name a path.
FOLDER: dict[str, Any] = {"type": Path, "metavar": "FOLDER"}
FILE: dict[str, Any] = {"type": Path, "metavar": "FILE"}
FACTS: dict[str, Any] = {"type": lambda text: there(Path(text)), "metavar": "PATH"}  # also finds the facts that ship
NO_FLAG = object()  # in the annotation of a setting: it is set in the configuration only and has no flag
MOST_NAME, MOST_PATH = 255, 4000  # limits of Linux and macOS: bytes of a file name, characters of a path (about)
INSIDE = "inside"  # key of the validation context: the folder of an unpacked edition, outside which nothing is read
FOLDERS = "folders"  # key of the validation context: folders to look in for relative paths, after the working folder


@dataclass(frozen=True)
class OnDisk:
    """Annotates a setting that names a file or folder on the user's disk; relative paths are looked for (`found`).

    In an unpacked edition (`INSIDE`) paths are relative to the edition's folder, and may not lead outside.

    Attributes:
        kind: what is named. A frozen edition carries the content of a ``file``; of all other kinds only the name.
        read_by: the verb whose jobs read it; "" if no job waits for it.
        split: splits a value into the path, or None, and the text after the path.
    """

    kind: Literal["file", "checkpoint", "tokenizer", "facts", "downloads", "registry"]
    read_by: str = ""
    split: Callable[[str], tuple[str | None, str]] = lambda value: (value, "")

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Resolve the path when the setting is validated."""
        return core_schema.with_info_after_validator_function(self._placed, handler(source))

    def _placed(self, value: str | None, info: ValidationInfo) -> str | None:
        path, rest = self.split(value) if value is not None else (None, "")
        if path is None:
            return value
        if "\0" in path or len(path) > MOST_PATH or any(len(os.fsencode(name)) > MOST_NAME for name in path.split("/")):
            raise ValueError(f"is a path that no disk has: names are of {MOST_NAME} bytes at most, none of them 0")
        context = info.context or {}
        folder: Path | None = context.get(INSIDE)
        if folder is None:
            return found(path, context.get(FOLDERS, ())) + rest
        if not (folder / path).resolve().is_relative_to(folder.resolve()):
            raise ValueError("lies outside the edition, and nothing outside is read; freeze the edition again")
        return f"{folder / path}{rest}"


def found(path: str, folders: Iterable[Path]) -> str:
    """Expand `~` in a path; if it does not exist, return the first that exists relative to one of the folders."""
    path = os.path.expanduser(path)  # noqa: PTH111 (it raises nothing for an unknown user)
    tried = (path, *(str(folder / path) for folder in folders))
    return path and next(filter(os.path.exists, tried), path)  # os.path.exists raises nothing for a path too long


class DiskKey(NamedTuple):
    """A value of the configuration that names a file or folder on the user's disk.

    Attributes:
        way: the keys and indices that lead to it from the top.
        key: the same as one text for messages, with members of lists by their names.
        owner: the settings that have it as a field.
        named: the field's annotation.
        path: the path.
        rest: the text after the path in the value.
    """

    way: tuple[str | int, ...]
    key: str
    owner: Options
    named: OnDisk
    path: str
    rest: str


def places(found: Any, way: tuple[str | int, ...] = (), key: str = "") -> Iterator[DiskKey]:
    """Yield every file and folder that settings name, recursively; ``way`` and ``key`` as in `DiskKey`."""
    if isinstance(found, Options):
        for name, field in type(found).model_fields.items():
            inner, where = getattr(found, name), f"{key}.{name}".removeprefix(".")
            mark = next((mark for mark in field.metadata if isinstance(mark, OnDisk)), None)
            if mark is None:
                yield from places(inner, (*way, name), where)
            elif inner is not None and (parts := mark.split(inner))[0] is not None:
                yield DiskKey((*way, name), where, found, mark, parts[0], parts[1])
    elif isinstance(found, dict):
        for name, inner in found.items():
            yield from places(inner, (*way, name), f"{key}.{name}")
    elif isinstance(found, tuple):
        for index, inner in enumerate(found):
            yield from places(inner, (*way, index), f"{key}.{getattr(inner, 'name', index)}")


def with_places(settings: Options, change: Callable[[DiskKey], str]) -> dict[str, Any]:
    """Dump settings, replacing each path on the user's disk by the result of ``change``."""
    written = settings.model_dump(mode="json")
    for place in places(settings):
        holder: Any = written
        for step in place.way[:-1]:
            holder = holder[step]
        holder[place.way[-1]] = change(place) + place.rest
    return written


def explain(
    error: ValidationError,
    where: str,
    tagged: str | None = None,
    keys: Collection[str] = (),
    values: Mapping[str, Any] | None = None,
    told_in: str = "docs/configuration.md",
) -> AlmanacError:
    """Turn pydantic's error into one that names each key, what was found and what is allowed.

    Args:
        error: pydantic's error.
        where: the file's name.
        tagged: the group whose entries are of several kinds; pydantic inserts the kind into the key.
        keys: the full keys of all settings, such as ``datasets.facts.merge``, to suggest one for an unknown key.
        values: the whole configuration, to show a model in a key by its name.
        told_in: the document that lists the keys.
    """
    lines = []
    mistakes = error.errors(include_url=False)
    within = {one["loc"][:at] for one in mistakes for at in range(len(one["loc"]))}
    for mistake in mistakes:
        if mistake["type"] == "too_short" and mistake["loc"] in within:
            continue  # follows from an invalid member, which pydantic does not count and which has its own message
        key = _shown_key(written_key(mistake["loc"], tagged), values or {})
        kind, context = mistake["type"], mistake.get("ctx", {})
        if kind == "extra_forbidden":
            message = f"is unknown{_meant(key, mistake['input'], keys)}; see the keys allowed in {told_in}"
        elif kind == "missing":
            message = "is missing; add this key"
        else:
            wording = WORDS.get(kind)  # only these are formatted: a validator's message may have braces from the user
            message = wording.format(**context) if wording else mistake["msg"].removeprefix("Value error, ")
            found_there = mistake["input"] if isinstance(mistake["input"], date) else repr(mistake["input"])
            message += f"; found {found_there}"[:120] if mistake["loc"] else ""
            message += unclosed(mistake["input"])
            if kind == "model_type" and len(mistake["loc"]) == 3 and mistake["loc"][0] == "suites":
                suite, setting = mistake["loc"][1:]
                message += f"; settings stand below a dataset, as suites.{suite}.DATASET.{setting}"
            if kind == "string_type" and isinstance(mistake["input"], bool | int | float | date):
                message += "; put it in quotes, so that YAML reads a text"
            allowed = re.findall(r"'([^']*)'", str(context.get("expected", "")))  # as pydantic lists them
            if kind == "literal_error" and (meant := get_close_matches(str(mistake["input"]), allowed, 1)):
                message += f"; did you mean {meant[0]}?"
        lines.append(f"{where}: {key}: {message}" if mistake["loc"] else f"{where}: {message}")
    return AlmanacError("\n".join(lines))


def validated(kind: type[Settings], values: Any, where: str, told_in: str = "docs/configuration.md") -> Settings:
    """Return values as settings of a kind; ``where`` and ``told_in`` as in `explain`.

    Raises:
        AlmanacError: a key is unknown or missing, or its value is not allowed; see `explain`.
    """
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise explain(error, where, told_in=told_in) from error


def written_key(location: Iterable[int | str], tagged: str | None = None) -> list[int | str]:
    """Return the parts of a key as the user writes them; ``tagged`` as in `explain`."""
    parts = list(location)
    if parts[:1] == [tagged]:
        del parts[2:3]
    return parts


def _shown_key(parts: list[int | str], values: Mapping[str, Any]) -> str:
    """Return a key for a message, with a model's name in place of its index in the list."""
    match parts:
        case ["models", int(place), *rest] if values:
            entry = values["models"][place]
            name = entry.get("name") if isinstance(entry, dict) else None
            parts = [f"models.{name}" if isinstance(name, str) else f"models, entry {place + 1}", *rest]
        case [*way, group, _, "[key]"]:  # pydantic's location of an invalid key
            parts = [*way, f"{group}, a key"]
    return ".".join(map(str, parts))


def _meant(key: str, value: object, keys: Collection[str]) -> str:
    """Return "; did you mean …?" for an unknown key, with a similar key of the same group, or else of any group.

    A key of another group is given in full, and in the form in which it is written on a command line.
    """
    group, _, name = key.rpartition(".")
    if not keys:
        found = get_close_matches(name, sorted(_keys(Options) - {name}), 1, ALIKE)
        return f"; did you mean {found[0]}?" if found else ""
    beside = [one.rpartition(".")[2] for one in keys if one.rpartition(".")[0] == group]
    if near := get_close_matches(name, beside, 1, ALIKE):
        return f"; did you mean {near[0]}?"
    near = get_close_matches(name, sorted({one.rpartition(".")[2] for one in keys}), 1, ALIKE)
    places = [one for one in keys if [one.rpartition(".")[2]] == near]
    if not places:
        return ""
    first, *rest = places[0].split(".")
    word = value if isinstance(value, str) else json.dumps(value, default=str)
    word = word if len(word) <= LONGEST else "…"
    for part in reversed(rest):
        word = f"{{{part}: {word}}}"
    others = f" or {len(places) - 1} more" if len(places) > 1 else ""
    return f"; did you mean {places[0]} ({first}={shlex.quote(word)}){others}?"


def _keys(options: type[Options]) -> set[str]:
    """Return the names of all settings, of subclasses too."""
    return set(options.model_fields).union(*map(_keys, options.__subclasses__()))


def positive(text: str) -> int:
    """Read a whole number above 0 from a command line."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


def from_zero(text: str) -> int:
    """Read a whole number from 0 from a command line."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0")
    return int(text)


def _inner(annotation: Any) -> tuple[Any, bool]:
    """Strip ``| None`` and the list from a field's type; return the inner type, and whether it is a list."""
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        annotation = next(part for part in typing.get_args(annotation) if part is not type(None))
    if typing.get_origin(annotation) in (tuple, list):
        return _inner(typing.get_args(annotation)[0])[0], True
    if typing.get_origin(annotation) is typing.Annotated:
        return _inner(typing.get_args(annotation)[0])
    return annotation, False


def add_flags(parser: argparse.ArgumentParser, options: type[Options], title: str) -> None:
    """Add one flag per setting; it is required without a default, and a boolean's flag without a value means true."""
    group = parser.add_argument_group(title)
    for name, field in flagged(options).items():
        kind, several = _inner(field.annotation)
        extra: dict[str, Any] = {"nargs": "*"} if several else {}
        if typing.get_origin(kind) is typing.Literal:
            extra["choices"] = typing.get_args(kind)
        elif kind is bool:
            extra |= {"choices": ("true", "false"), "nargs": "?", "const": "true"}
        group.add_argument(
            _flag(name),
            dest=name,
            default=None,
            required=field.is_required(),
            metavar=None if "choices" in extra else kind.__name__.upper(),
            help=_help(field),
            **extra,
        )


def _help(field: FieldInfo) -> str:
    text = (field.description or "").replace("%", "%%")
    if field.default is None or field.default is PydanticUndefined:
        return text
    shown = " ".join(map(str, field.default)) if isinstance(field.default, tuple) else str(field.default)
    return f"{text} [{shown.lower() if isinstance(field.default, bool) else shown}]"


def flagged(options: type[Options]) -> dict[str, FieldInfo]:
    """Return the settings that have a flag, by name: all but those marked `NO_FLAG` and literals of one value."""
    candidates = {name: field for name, field in options.model_fields.items() if NO_FLAG not in field.metadata}
    return {name: field for name, field in candidates.items() if typing.get_args(field.annotation) != (field.default,)}


def from_flags(arguments: argparse.Namespace, options: type[Settings]) -> Settings:
    """Return the settings that the flags give, validated.

    Raises:
        AlmanacError: a value is not allowed; the message names the flag.
    """
    given = {name: value for name in flagged(options) if (value := getattr(arguments, name)) is not None}
    return validated(options, given, "command line")


def to_flags(settings: Options, kind: type[Options] | None = None) -> str:
    """Return the flags for all settings that differ from their defaults: the inverse of `from_flags`, for the rules.

    Args:
        settings: the settings.
        kind: the class whose settings are wanted, if ``settings`` has more.
    """
    parts: list[str] = []
    for name, field in flagged(kind or type(settings)).items():
        value = getattr(settings, name)
        if value is None or value == field.default:
            continue
        words: Sequence[object] = value if isinstance(value, list | tuple) else (value,)
        parts += [_flag(name), *(str(word).lower() if isinstance(word, bool) else str(word) for word in words)]
    return shlex.join(parts)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
