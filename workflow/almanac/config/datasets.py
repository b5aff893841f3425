"""Datasets: where their facts come from."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from almanac.config.names import Name
from almanac.dataset.options import DatasetOptions
from almanac.options import OnDisk


class DatasetConfig(DatasetOptions):
    """A dataset: its facts come from a source or from a planted world."""

    source: Name | None = Field(default=None, description="the source of its facts")
    world: Name | None = Field(default=None, description="the planted world of its facts")
    drafts: Annotated[str | None, OnDisk("file", "build")] = Field(
        default=None, description="a file of drafted templates, proofread; those kept join the templates that are there"
    )

    @model_validator(mode="after")
    def _one_origin(self) -> Self:
        if (self.source is None) == (self.world is None):
            raise ValueError("needs either a source or a world, and not both")
        return self
