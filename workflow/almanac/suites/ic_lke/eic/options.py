"""What can be set about EIC-LKE; the defaults are the paper's."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from almanac.suites.options import Sample, SuiteOptions


class EicOptions(SuiteOptions):
    """How many test facts stand in one sequence, and where."""

    examples: Annotated[int, Field(ge=2, description="train facts in a sequence")] = 100
    first: Annotated[int, Field(ge=1, description="train facts before the first test fact; IC-LKE's beside it too")] = (
        50
    )
    step: Annotated[int, Field(ge=1, description="train facts from one test fact to the next")] = 5
    between: Annotated[
        Literal["comma", "space"], Field(description="what stands between pairs; comma: the paper's, and a space")
    ] = "comma"
    isolated: Annotated[
        bool, Field(description="also ask each test fact behind the train facts alone, without other test facts")
    ] = True
    sample: Sample = None
    seed: Annotated[int, Field(ge=0, description="seed of the order of train facts, test facts and choices")] = 0

    @property
    def slots(self) -> range:
        """The numbers of train facts after which a test fact stands."""
        return range(self.first, self.examples, self.step)

    @model_validator(mode="after")
    def _has_slots(self) -> Self:
        if self.first >= self.examples:
            raise ValueError(
                f"first is {self.first} and examples is {self.examples}: no test fact would stand in a sequence; "
                "lower first or raise examples"
            )
        return self

    @property
    def shown(self) -> tuple[str, int]:
        """The setting that says how many train facts of a relation are shown, and how many these are."""
        return "examples", self.examples

    def tokens(self, facts: int, choices: int, relations: int) -> int:
        """Return the tokens that a model reads, about, for sequences, their control and IC-LKE."""
        asked = min(self.sample or facts, facts)
        groups = -(-asked // len(self.slots))
        sequences = groups * choices * ((self.examples - self.first) * 10 + len(self.slots) * 8)
        alone = asked * choices * 8 * (2 if self.isolated else 1)
        return relations * (self.examples * 10 + sequences + alone)
