"""Settings of a step: one pydantic model, at once its part of the configuration and its command-line flags."""

import argparse
import shlex
import types
import typing
from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from almanac.errors import AlmanacError


class Options(BaseModel):
    """Settings that cannot change and know no other keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Settings = TypeVar("Settings", bound=Options)
NO_FLAG = object()  # stands in the annotation of a setting that is the configuration's alone


def explain(error: ValidationError, where: str, tagged: str | None = None) -> AlmanacError:
    """Turn pydantic's complaint into one that names each key, what was found and what is allowed.

    Args:
        error: the complaint.
        where: the file's name.
        tagged: the group whose entries are of several kinds, which pydantic puts into the key, where nobody wrote them.
    """
    lines = []
    for mistake in error.errors(include_url=False, include_context=False):
        parts = list(mistake["loc"])
        if parts[:1] == [tagged]:
            del parts[2:3]
        key = ".".join(map(str, parts))
        simple = mistake["loc"] and mistake["type"] not in ("missing", "extra_forbidden")
        found = f"; found {mistake['input']!r}"[:120] if simple else ""
        message = "is unknown; see the keys allowed in docs/configuration.md"
        if mistake["type"] != "extra_forbidden":
            message = mistake["msg"].removeprefix("Value error, ") + found
        lines.append(f"{where}: {key}: {message}" if mistake["loc"] else f"{where}: {message}")
    return AlmanacError("\n".join(lines))


def positive(text: str) -> int:
    """Read a whole number above 0 from a command line."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


def _inner(annotation: Any) -> tuple[Any, bool]:
    """Return a field's type without ``| None`` and without its list, and whether it is a list."""
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        annotation = next(part for part in typing.get_args(annotation) if part is not type(None))
    if typing.get_origin(annotation) in (tuple, list):
        return _inner(typing.get_args(annotation)[0])[0], True
    if typing.get_origin(annotation) is typing.Annotated:
        return _inner(typing.get_args(annotation)[0])
    return annotation, False


def _has_no_flag(field: FieldInfo) -> bool:
    """Whether a field is the configuration's alone, or has one possible value, which says what the settings are for."""
    kind = field.annotation
    if NO_FLAG in field.metadata:
        return True
    return typing.get_origin(kind) is typing.Literal and typing.get_args(kind) == (field.default,)


def add_flags(parser: argparse.ArgumentParser, options: type[Options], title: str) -> None:
    """Add one flag a setting; a setting without a default is required."""
    group = parser.add_argument_group(title)
    for name, field in options.model_fields.items():
        if _has_no_flag(field):
            continue
        kind, several = _inner(field.annotation)
        extra: dict[str, Any] = {"nargs": "*"} if several else {}
        if typing.get_origin(kind) is typing.Literal:
            extra["choices"] = typing.get_args(kind)
        elif kind is bool:
            extra["choices"] = ("true", "false")
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


def from_flags(arguments: argparse.Namespace, options: type[Settings]) -> Settings:
    """Return the settings that the flags give, checked.

    Raises:
        AlmanacError: a value is impossible, naming the flag.
    """
    fields = (name for name, field in options.model_fields.items() if not _has_no_flag(field))
    given = {name: value for name in fields if (value := getattr(arguments, name)) is not None}
    try:
        return options(**given)
    except ValidationError as error:
        raise explain(error, "command line") from error


def to_flags(settings: Options, kind: type[Options] | None = None) -> str:
    """Return the flags that say what differs from the defaults: the inverse of `from_flags`, for the rules.

    Args:
        settings: what is set.
        kind: the model whose settings are wanted where ``settings`` has more.
    """
    parts: list[str] = []
    for name, field in (kind or type(settings)).model_fields.items():
        value = getattr(settings, name)
        if value is None or value == field.default or NO_FLAG in field.metadata:
            continue
        words: Sequence[object] = value if isinstance(value, list | tuple) else (value,)
        parts += [_flag(name), *(str(word).lower() if isinstance(word, bool) else str(word) for word in words)]
    return shlex.join(parts)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
