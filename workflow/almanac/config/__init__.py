"""An edition's configuration: one YAML file, checked as a whole before any job starts."""

from almanac.config.edition import Asking, EditionConfig
from almanac.config.reading import check, given, handed, load
from almanac.yaml_file import read_yaml

__all__ = ["Asking", "EditionConfig", "check", "given", "handed", "load", "read_yaml"]
