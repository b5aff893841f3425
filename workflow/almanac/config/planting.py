"""Planted worlds, what they teach, and the recipes of the models that are trained on them."""

from typing import Annotated

from pydantic import Field

from almanac.config.names import Name
from almanac.options import Options
from almanac.planting.options import CorpusOptions, TokenizerOptions, TrainingOptions, WorldOptions


class WorldConfig(WorldOptions):
    """An invented world, with its seed."""

    seed: int = Field(default=1, ge=0, description="seed of the world, of its corpus and of its models")


class TaughtConfig(Options):
    """A part of a dataset's real facts that the planted models are taught too."""

    dataset: Name = Field(description="the dataset whose facts are taught")
    facts: int = Field(default=300, ge=0, description="how many facts are given a dose; 0: only names are shared")
    doses: tuple[Annotated[int, Field(ge=0)], ...] = Field(
        default=(0, 4, 16, 64), min_length=2, description="the doses, dealt out evenly by a seed"
    )


class PlantingConfig(Options):
    """How models are made whose knowledge is known."""

    worlds: dict[Name, WorldConfig] = Field(default_factory=dict, description="the invented worlds, by name")
    taught: TaughtConfig | None = Field(default=None, description="real facts that are taught together with each world")
    corpus: CorpusOptions = Field(default=CorpusOptions(), description="how facts are spread over documents")
    tokenizer: TokenizerOptions = Field(default=TokenizerOptions(), description="the tokenizer of each world's models")


class PlantedConfig(TrainingOptions):
    """A recipe for planted models, and what they are trained on."""

    permuted: bool = Field(
        default=False,
        description="train a null: on the same corpus with the objects of each relation permuted, none of them true",
    )

    @property
    def recipe(self) -> TrainingOptions:
        """The training alone, which a model and its null have in common."""
        return TrainingOptions(**{name: getattr(self, name) for name in TrainingOptions.model_fields})
