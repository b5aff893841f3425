"""Datasets, and the models that draft templates and write questions for them."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from almanac.config.names import Name
from almanac.dataset.options import DatasetOptions
from almanac.options import Named
from almanac.suites.drafting.options import DraftingOptions
from almanac.suites.facteval.options import WritingOptions


class DatasetConfig(DatasetOptions):
    """A dataset: its facts come from a source or from a planted world."""

    source: Name | None = Field(default=None, description="the source of its facts")
    world: Name | None = Field(default=None, description="the planted world of its facts")
    drafts: Annotated[str | None, Named("file", "build")] = Field(
        default=None, description="a file of drafted templates, proofread; those kept join the templates that are there"
    )

    @model_validator(mode="after")
    def _one_origin(self) -> Self:
        if (self.source is None) == (self.world is None):
            raise ValueError("needs either a source or a world, and not both")
        return self


class WritingConfig(WritingOptions):
    """Questions that a model writes for a person to proofread: `snakemake written`."""

    dataset: Name = Field(description="the dataset whose test facts are written of")
    model: Name = Field(description="who writes: one of `models`, a causal one or one behind a server")


class DraftingConfig(DraftingOptions):
    """Templates that a model drafts for a person to proofread: `snakemake drafts`."""

    dataset: Name = Field(description="the dataset whose facts are shown")
    model: Name = Field(description="who drafts: one of `models`, a causal one or one behind a server")

    @property
    def tokens_a_shard(self) -> int:
        """Tokens that a round costs, about, if fifty relations are drafted for; a written one costs as twenty read."""
        requests = (len(self.relations) or 50) * len(self.styles) * (3 if self.paraphrases else 1)
        return requests * (500 + self.samples * self.tokens * 20)
