"""One YAML file an edition: what is asked of whom. Everything is checked before any job starts."""

from almanac.config.datasets import DatasetConfig
from almanac.config.edition import Asking, EditionConfig, Participant
from almanac.config.models import ModelConfig
from almanac.config.planting import PlantedConfig, PlantingConfig, TaughtConfig, WorldConfig
from almanac.config.reading import check, given, load, read_yaml
from almanac.config.suites import SuitesConfig
from almanac.models.options import UNPINNED

__all__ = [
    "UNPINNED",
    "Asking",
    "DatasetConfig",
    "EditionConfig",
    "ModelConfig",
    "Participant",
    "PlantedConfig",
    "PlantingConfig",
    "SuitesConfig",
    "TaughtConfig",
    "WorldConfig",
    "check",
    "given",
    "load",
    "read_yaml",
]
