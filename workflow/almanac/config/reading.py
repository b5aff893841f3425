"""Read an edition's configuration: look its models up in the registry, and check all of it."""

import base64
import copy
import json
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from almanac import sealed
from almanac.config.edition import KNOWN, REGISTRY, EditionConfig
from almanac.config.models import IN_SHORT, by_step, checkpoint, in_short, renamed, told_apart
from almanac.errors import AlmanacError, did_you_mean, refuse, unclosed
from almanac.options import FOLDERS, WORDS, explain, found, written_key
from almanac.project import PROJECT, RESOURCES, there
from almanac.sources.options import KINDS, FilesOptions, SourceOptions
from almanac.yaml_file import read_yaml

SHIPPED = RESOURCES / "facts"
MOST_HANDED = 100_000  # characters; a job's whole command is one argument, which Linux limits to 131,072
TERMS = {"licence": "CC0-1.0", "redistributable": True}  # terms of the facts that ship (docs/facts.md)


def check(
    values: Mapping[str, Any],
    where: str,
    root: Path,
    tell: Callable[[str], object] = lambda _: None,
    folders: Sequence[Path] = (),
) -> EditionConfig:
    """Check an edition's configuration and look its models up in the registry.

    A suite may name models of the registry that the edition does not have, since `models` is often overridden. Such
    names are ignored; a suite that names no other models is asked of all.

    Args:
        values: the configuration as read from YAML.
        where: the file's name, for messages.
        root: the project's folder, the last one in which relative paths are looked for.
        tell: called with each remark on what follows from the models of the edition (`EditionConfig.remarks`).
        folders: the folders of the configuration files; relative paths are looked for in the working folder, these,
            and ``root``, in this order.

    Raises:
        AlmanacError: unknown keys, wrong types, impossible values or unknown names, each with its key.
    """
    # An edition's record is a valid configuration too; its digest is not checked, so that a user may change it.
    filled = {key: value for key, value in values.items() if key != sealed.KEY}
    folders = (*folders, root)
    registry_path = Path(found(str(filled.get("registry", REGISTRY)), folders))
    filled.setdefault("registry", str(registry_path))
    models, short = filled.get("models") or [], filled.pop("model", None)
    if isinstance(models, str):
        names = [name.strip() for name in models.split(",")]
        meant = f"models='[{models}]'" if set(names) <= set(read_yaml(registry_path)) else f"model={models}"
        remedy = unclosed(models) or f"; did you mean {meant}?"
        raise AlmanacError(f"{where}: models: must be a list, as [a, b]; found {models!r}{remedy}")
    if isinstance(suites := filled.get("suites"), str):
        alone = unclosed(suites) or f'; to ask some suites alone: only={suites!r}, or make own SUITES="{suites}"'
        raise AlmanacError(f"{where}: suites: must hold keys and values; found {suites!r}{alone}")
    by_name = short is not None or (isinstance(models, list) and any(isinstance(model, str) for model in models))
    registry = read_yaml(registry_path) if by_name or registry_path.is_file() else {}
    more = [] if short is None else _named_in_short(str(short), registry, where, folders)
    if isinstance(models, list):
        models = [_look_up(model, registry, registry_path, where) for model in models] + more
    filled["models"] = models
    refuse([f"{where}: {line}" for line in _of_another_kind(filled.get("sources"), filled.get("datasets"))])
    context: dict[str, Any] = {KNOWN: set(registry), FOLDERS: folders}
    try:
        config = EditionConfig.model_validate(filled, context=context)
    except ValidationError as error:
        raise explain(error, where, "sources", _keys_beside(error, filled, context), filled) from error
    refuse([f"{where}: {line}" for line in _wrong_types(filled, config.model_dump())])
    refuse([f"{where}: {line}" for line in _passed_over(config, {entry["name"] for entry in more})])
    with_terms = config.model_dump(mode="json")
    for source in with_terms["sources"].values():
        folder = Path(source.get("path") or config.facts or "")
        if source["kind"] == "files" and source["licence"] is None and folder.is_dir() and folder.resolve() == SHIPPED:
            source.update(TERMS)
            config = EditionConfig.model_validate(with_terms, context=context)
    settled = config.settled()
    settled = settled.model_copy(update={"models": by_step(settled.models)})
    of_folders = (renamed(entry["name"], entry.get("path")) for entry in more if entry["name"] not in registry)
    for line in (*filter(None, of_folders), *settled.remarks(config)):
        tell(line)
    return settled


def _of_another_kind(sources: Any, datasets: Any) -> Iterator[str]:
    """Yield a message for each source with keys of another kind of source, as when `--config` changes only the kind."""
    kinds: dict[str, type[SourceOptions]] = {"files": FilesOptions, **KINDS}
    known = {key for kind in kinds.values() for key in kind.model_fields}
    for name, source in sources.items() if isinstance(sources, Mapping) else ():
        kind = str(source.get("kind", "files")) if isinstance(source, Mapping) else ""
        spare = [key for key in source if key in known - kinds[kind].model_fields.keys()] if kind in kinds else []
        if spare:
            read = datasets.items() if isinstance(datasets, Mapping) else ()
            of = [one for one, own in read if isinstance(own, Mapping) and own.get("source") == name] or ["DATASET"]
            use = ", ".join(f"{one}: {{source: mine}}" for one in of)
            yield (
                f"sources.{name}: kind {kind} has no {', '.join(spare)}; remove this, or, where the configuration's "
                "file has it, with which settings of the same name are merged, give yours another name: "
                f"sources='{{mine: {{kind: {kind}, …}}}}' datasets='{{{use}}}'"
            )


def _wrong_types(written: Any, read: Any, key: str = "") -> Iterator[str]:
    """Yield a message for each boolean given for a number, and for anything but `true` and `false` given for a boolean.

    Pydantic accepts both. Numbers in strings are allowed, since all values in braces on a command line are strings.

    Args:
        written: settings as they are written.
        read: the same settings as pydantic read them.
        key: their key.
    """
    if isinstance(written, Mapping) and isinstance(read, Mapping):
        for name in written.keys() & read.keys():
            yield from _wrong_types(written[name], read[name], f"{key}.{name}".removeprefix("."))
    elif isinstance(written, list | tuple) and isinstance(read, list | tuple):
        for place, (one, other) in enumerate(zip(written, read, strict=False)):
            name = other["name"] if key == "models" else place
            yield from _wrong_types(one, other, f"{key}.{name}")
    elif isinstance(read, bool) and not isinstance(written, bool) and str(written).lower() not in ("true", "false"):
        yield f"{key}: {WORDS['bool_type']}; found {written!r}"
    elif isinstance(written, bool) and type(read) in (int, float):
        yield f"{key}: {WORDS['int_type' if type(read) is int else 'float_type']}; found {written!r}"


def _passed_over(config: EditionConfig, in_short: set[str]) -> Iterator[str]:
    """Yield a message for each of the settings `facts`, `only` and `model` that has no effect.

    Args:
        config: the configuration.
        in_short: the names of the models given by `model`.
    """
    read = {one.source for one in config.datasets.values()}
    paths = {name: source.path for name, source in config.sources.items() if isinstance(source, FilesOptions)}
    taken = {name for name, path in paths.items() if path is None}
    # A default value may stay when the dataset is given another source.
    by_default = bool(taken) and (PROJECT / str(config.facts)).resolve() == SHIPPED
    if config.facts is not None and not taken & read and not by_default:
        yield f"facts: {config.facts!r} is read by no source: " + next(
            (
                f"sources.{name} has the path {path}; give either facts or sources='{{{name}: {{path: PATH}}}}'"
                for name, path in paths.items()
                if name in read
            ),
            "none that a dataset reads is of kind files; leave it out, or use config/trex.yaml, which reads it",
        )
    written = config.suites.by_name()
    settled = config.settled()
    suites = settled.suites.by_name()
    for suite in (config.only or "").split():
        if not suites[suite]:
            yield (
                f"only: {suite} has no settings, so that nothing is asked; there are "
                f"{', '.join(name for name, own in written.items() if own) or 'none'}; "
                f"give it some (suites='{{{suite}: {{DATASET: {{}}}}}}')"
            )
    named = {model for datasets in suites.values() for own in datasets.values() for _, model in own.named_models()}
    named |= {author.model for author in config.authors().values()}
    participants = config.participants()
    asked = {participants[one.model].model.name for one in settled.asked()}
    for name in sorted(in_short - asked - named) if any(suites.values()) else ():
        yield (
            f"model: {name} would be asked nothing: an invented world is asked only of models planted in it, and a "
            "suite that names `models` of these alone; ask it of real facts by config/own.yaml"
        )


def _keys_beside(error: ValidationError, values: Mapping[str, Any], context: dict[str, Any]) -> list[str]:
    """Return all keys of a configuration without its unknown ones; empty if it has other mistakes too."""
    known = copy.deepcopy(dict(values))
    try:
        for mistake in error.errors(include_url=False):
            if mistake["type"] == "extra_forbidden":
                *way, last = written_key(mistake["loc"], "sources")
                del reduce(getitem, way, cast("Any", known))[last]
        return list(_keys_in(EditionConfig.model_validate(known, context=context).model_dump(mode="json")))
    except (ValidationError, LookupError):
        return []


def _keys_in(values: Mapping[str, Any], above: str = "") -> Iterator[str]:
    for name, value in values.items():
        yield f"{above}{name}"
        if isinstance(value, dict):
            yield from _keys_in(value, f"{above}{name}.")


def _look_up(model: Any, registry: Mapping[str, Any], path: Path, where: str) -> Any:
    """Return a model's entry; if only its name is given, the registry's entry."""
    if not isinstance(model, str):
        return model
    if model not in registry:
        raise AlmanacError(f"{where}: models: {model!r} is not in {path}{did_you_mean(model, registry)}")
    if not isinstance(registry[model], dict):
        raise AlmanacError(f"{path}: {model}: must hold keys and values, found {registry[model]!r}")
    return {"name": model, **registry[model]}


def _named_in_short(
    text: str, registry: Mapping[str, Any], where: str, folders: Sequence[Path]
) -> list[dict[str, Any]]:
    """Return the entries of the models in `model`, which are separated by spaces.

    A folder's name may have spaces: the text is split only if one of its words is a model, and words that together name
    a folder stay together. Folders of the same name get their parent's name as a prefix, and so do all checkpoints of
    training runs that share a checkpoint's name. Commits of one repository get their first digits as a suffix.
    """

    def is_there(word: str) -> bool:
        return os.path.exists(found(word, folders))  # noqa: PTH110 (raises nothing for a text that is too long)

    def is_model(word: str) -> bool:
        return is_there(word) or word in registry or IN_SHORT.match(word) is not None

    def run(entry: Mapping[str, Any]) -> str:
        return (checkpoint(entry["name"]) or (entry["name"],))[0]

    words = [text]
    if not is_model(text) and any(map(is_model, text.split())):
        words, left = [], text.split()
        while left:  # take as many words as together are the name of a folder
            several = range(len(left), 1, -1)
            size = next((size for size in several if is_there(" ".join(left[:size]))), 1)
            words.append(" ".join(left[:size]))
            left = left[size:]
    entries = [_one_more(word, registry, where, folders) for word in words]
    times = Counter(entry["name"] for entry in entries)
    alike = {run(entry) for entry in entries if times[entry["name"]] > 1}
    for entry in entries:
        if run(entry) in alike and not entry.get("api"):
            entry["name"] = told_apart(entry)
    return entries


def _one_more(text: str, registry: Mapping[str, Any], where: str, folders: Sequence[Path]) -> dict[str, Any]:
    """Return the entry of one model in `model`: of the registry, or by `in_short`."""
    if isinstance(registry.get(text), dict):
        return {"name": text, **registry[text]}
    try:
        return in_short(found(text, folders), registry)
    except AlmanacError as error:
        raise AlmanacError(f"{where}: {error}") from error


def load(path: Path, overrides: Mapping[str, Any] | None = None) -> EditionConfig:
    """Read and check an edition's file; ``overrides`` are merged into it as Snakemake merges `--config`.

    Relative paths in it start from the working folder, or else from the file's or the project's folder.
    """
    values = read_yaml(there(path))
    if overrides:
        from snakemake.utils import update_config  # the steps' own environments have no Snakemake

        update_config(values, overrides)
    return check(values, str(path), PROJECT, folders=[path.resolve().parent])


def handed(config: EditionConfig) -> str:
    """Return an edition's settings in the form in which jobs get them (``--settings``): compressed JSON, in base64.

    Raises:
        AlmanacError: there are so many models that the settings are too long for a command.
    """
    text = base64.b64encode(zlib.compress(config.model_dump_json().encode(), 9)).decode("ascii")
    if len(text) > MOST_HANDED:
        raise AlmanacError(
            f"models: {len(config.models)} are too many for one edition, whose settings, compressed, take "
            f"{len(text):,} characters; a job can be given {MOST_HANDED:,}; make several editions, of fewer models each"
        )
    return text


def given(text: str) -> EditionConfig:
    """Read and check the settings that a job is given (``--settings``): JSON, or the form of `handed`.

    Raises:
        AlmanacError: it is no JSON object, or as `check`.
    """
    try:
        whole = text if text.lstrip().startswith("{") else zlib.decompress(base64.b64decode(text, validate=True))
        values = dict(json.loads(whole))
    except (TypeError, ValueError, zlib.error) as error:
        raise AlmanacError(f"--settings: is no JSON object ({error})") from error
    return check(values, "--settings", Path())
