"""What can be set about the sweep over the number of examples; the defaults are the paper's."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from almanac.suites.ic_lke.options import LayoutName, Relations
from almanac.suites.options import Sample, SuiteOptions


class SweepOptions(SuiteOptions):
    """Which numbers of examples are tried, and how often."""

    examples: Annotated[
        tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=2, description="numbers of examples that are tried")
    ] = (0, 1, 2, 5, 10, 20, 30, 40, 50)
    draws: Annotated[int, Field(ge=1, description="independent draws of the examples (the paper's five seeds)")] = 5
    enough: Annotated[
        float, Field(gt=0, le=1, description="share of the accuracy at the most examples that counts as enough")
    ] = 0.95
    layout: LayoutName = "paper"
    relations: Relations = ()
    sample: Sample = None
    seed: Annotated[int, Field(ge=0, description="seed of the draws of examples")] = 0

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        if len(set(self.examples)) != len(self.examples):
            raise ValueError(f"examples must be distinct, found {list(self.examples)}")
        return self

    @property
    def shown(self) -> tuple[str, int]:
        """The setting that says how many train facts of a relation are shown, and how many these are."""
        return "examples", max(self.examples)

    def tokens(self, facts: int, choices: int, relations: int) -> int:
        """Return the tokens that a model reads, about."""
        asked = min(self.sample or facts, facts) * choices * 8
        return (len(self.relations) or relations) * self.draws * sum(asked + shots * 10 for shots in self.examples)
