"""Reading an edition's file: its models are looked up in the registry, and everything in it is checked."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from almanac.config.edition import EditionConfig
from almanac.errors import AlmanacError
from almanac.options import explain


def check(values: Mapping[str, Any], where: str, root: Path) -> EditionConfig:
    """Check an edition's configuration and look its models up in the registry.

    Args:
        values: the configuration as read from YAML.
        where: the file's name, for messages.
        root: the folder that a relative registry path starts from.

    Raises:
        AlmanacError: unknown keys, wrong types, impossible values or names that are not there, each with its key.
    """
    filled = dict(values)
    models = filled.get("models") or []
    if isinstance(models, list) and any(isinstance(model, str) for model in models):
        registry_path = root / str(filled.get("registry", "config/models.yaml"))
        registry = read_yaml(registry_path)
        filled["models"] = [
            _look_up(model, registry, registry_path, where) if isinstance(model, str) else model for model in models
        ]
    try:
        return EditionConfig.model_validate(filled)
    except ValidationError as error:
        raise explain(error, where, "sources") from error


def _look_up(name: str, registry: Mapping[str, Any], path: Path, where: str) -> dict[str, Any]:
    if name not in registry:
        raise AlmanacError(f"{where}: models: {name!r} is not in {path}; there are {', '.join(sorted(registry))}")
    if not isinstance(registry[name], dict):
        raise AlmanacError(f"{path}: {name}: must hold keys and values, found {registry[name]!r}")
    return {"name": name, **registry[name]}


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML file that holds one mapping.

    Raises:
        AlmanacError: it is missing, no YAML, or no mapping, naming the file and the line.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise AlmanacError(f"{path}: cannot be read ({error.strerror}); name a configuration file") from error
    except yaml.YAMLError as error:
        raise AlmanacError(f"{path}: is no YAML: {error}") from error
    if not isinstance(values, dict):
        raise AlmanacError(f"{path}: must hold keys and values, found {type(values).__name__}")
    return values


def load(path: Path, overrides: Mapping[str, Any] | None = None) -> EditionConfig:
    """Read and check an edition's file; relative names in it start from the working folder."""
    return check({**read_yaml(path), **(overrides or {})}, str(path), Path())
