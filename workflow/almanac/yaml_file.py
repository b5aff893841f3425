"""Read YAML files of keys and values: configurations, the registry of models, wrappers, phrases, profiles."""

from pathlib import Path
from typing import Any

import yaml

from almanac.errors import AlmanacError, no_configuration


class UniqueKeys(yaml.SafeLoader):
    """A loader that refuses a key given twice; PyYAML would drop the first."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """Read one mapping, and check its keys.

        Raises:
            yaml.YAMLError: a key is given twice; the message names both lines.
        """
        mapping = super().compose_mapping_node(anchor)
        lines: dict[tuple[str, str], int] = {}
        for key, _ in mapping.value:
            name, line = (key.tag, str(key.value)), key.start_mark.line + 1
            if name in lines:
                raise yaml.YAMLError(f"the key {key.value} is given in line {lines[name]} and again in line {line}")
            lines[name] = line
        return mapping

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Read one value; an error in a value that looks like a date or a number names its line."""
        try:
            return super().construct_object(node, deep)
        except ValueError as error:
            message = f"{node.value} in line {node.start_mark.line + 1} cannot be read ({error}); put a text in quotes"
            raise yaml.YAMLError(message) from error


def load(text: str) -> Any:
    """Parse a text in YAML.

    Raises:
        yaml.YAMLError: it is no YAML, or has a key twice.
    """
    try:
        return yaml.load(text, UniqueKeys)
    except RecursionError as error:
        raise yaml.YAMLError("its brackets or lists stand too deep in each other") from error


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML file that holds one mapping.

    Raises:
        AlmanacError: it is missing, is no YAML or no mapping; the message names the file and the line.
    """
    try:
        values = load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise AlmanacError(no_configuration(path)) from error
    except IsADirectoryError as error:
        raise AlmanacError(f"{path}: is a folder; name a configuration file") from error
    except OSError as error:
        raise AlmanacError(f"{path}: cannot be read ({error.strerror}); name a configuration file") from error
    except UnicodeDecodeError as error:
        raise AlmanacError(f"{path}: is no text in UTF-8 ({error.reason}); save it as UTF-8") from error
    except yaml.YAMLError as error:
        raise AlmanacError(f"{path}: is no YAML: {error}; mend the line") from error
    if values is None:
        raise AlmanacError(f"{path}: is empty; write keys and values into it, or name another file")
    if not isinstance(values, dict):
        raise AlmanacError(f"{path}: must hold keys and values, found {type(values).__name__}")
    return values
