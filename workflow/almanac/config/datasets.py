"""Configuration of an edition's facts: datasets, invented worlds, and the real facts that planted models are taught."""

from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from almanac.dataset.options import DatasetOptions
from almanac.options import OnDisk, Options
from almanac.planting.options import CorpusOptions, TokenizerOptions, WorldOptions

LONGEST_NAME = 100  # characters: file names contain it, together with other parts
# The name of a source, world, dataset or model in an edition's file.
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=LONGEST_NAME)]


class DatasetConfig(DatasetOptions):
    """A dataset: its facts come from a source or from a planted world."""

    source: Name | None = Field(
        default=None, description="the source of its facts; a dataset has either this or `world`"
    )
    world: Name | None = Field(default=None, description="the planted world of its facts")
    drafts: Annotated[str | None, OnDisk("file", "build")] = Field(
        default=None, description="a file of proofread drafts of templates; those that are kept join the other ones"
    )

    @model_validator(mode="after")
    def _one_origin(self) -> Self:
        if (self.source is None) == (self.world is None):
            raise ValueError("needs either a source or a world, and not both")
        return self


class WorldConfig(WorldOptions):
    """An invented world, with its seed."""

    seed: int = Field(default=1, ge=0, description="seed of the world, of its corpus and of its models")


class TaughtConfig(Options):
    """A part of a dataset's real facts that the planted models are taught too."""

    dataset: Name = Field(description="the dataset whose facts are taught")
    facts: int = Field(default=300, ge=0, description="how many facts are given a dose; 0: only names are shared")
    doses: tuple[Annotated[int, Field(ge=0)], ...] = Field(
        default=(0, 4, 16, 64), min_length=2, description="the doses, each given to about as many facts of a relation"
    )


class PlantingConfig(Options):
    """How models with planted knowledge are made."""

    worlds: dict[Name, WorldConfig] = Field(default_factory=dict, description="the invented worlds, by name")
    taught: TaughtConfig | None = Field(default=None, description="real facts that are taught together with each world")
    corpus: CorpusOptions = Field(default=CorpusOptions(), description="how facts are spread over documents")
    tokenizer: TokenizerOptions = Field(default=TokenizerOptions(), description="the tokenizer of each world's models")
