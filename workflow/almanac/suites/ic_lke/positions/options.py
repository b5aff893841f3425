"""What can be set about the study of positions; the defaults are the paper's."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from almanac.suites.ic_lke.options import Relations
from almanac.suites.options import SuiteOptions

Kind = Literal["unknown", "incorrect"]
Arrangement = Literal["distributed", "contiguous"]
STAR = (
    114 / 200
)  # where in the sequence the pair stands that follows the contiguous ones, as we read the paper's figure


class PositionOptions(SuiteOptions):
    """How long the sequences are, and what in them is replaced."""

    pairs: Annotated[int, Field(ge=4, description="pairs in a sequence")] = 200
    replaced: Annotated[int, Field(ge=1, description="pairs of it that are replaced; at most half")] = 40
    kinds: Annotated[
        tuple[Kind, ...],
        Field(description="what replaces them; unknown: an invented name and an object, incorrect: another object"),
    ] = ("unknown", "incorrect")
    arrangements: Annotated[
        tuple[Arrangement, ...], Field(min_length=1, description="where they stand: here and there, or side by side")
    ] = ("distributed", "contiguous")
    start: Annotated[
        int | None, Field(ge=0, description="the first of them side by side (none: the next stands at 57 % of all)")
    ] = None
    draws: Annotated[int, Field(ge=1, description="sequences a relation, each of its own draw and order")] = 1
    bins: Annotated[int, Field(ge=1, description="parts of the sequence that means are taken over")] = 10
    judged: Annotated[
        bool,
        Field(
            description="validation: in every part of the sequence, objects of what was taught most must be likelier "
            "than those of what was never taught, their intervals apart"
        ),
    ] = False
    relations: Relations = ()
    seed: Annotated[int, Field(ge=0, description="seed of facts, order and what is replaced")] = 0

    @property
    def first(self) -> int:
        """The place of the first of the replaced pairs that stand side by side."""
        if self.start is not None:
            return self.start
        return max(0, min(round(STAR * self.pairs) - self.replaced, self.pairs - self.replaced - 1))

    @property
    def starts(self) -> tuple[int, ...]:
        """The first place of each of the parts that means are taken over."""
        return tuple(-(-number * self.pairs // self.bins) for number in range(self.bins))

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if 2 * self.replaced > self.pairs:
            raise ValueError(f"replaced is {self.replaced}; at most half of the {self.pairs} pairs can be replaced")
        if self.first + self.replaced >= self.pairs:
            raise ValueError(
                f"start is {self.start}: {self.replaced} pairs from there leave none to follow; "
                f"give at most {self.pairs - self.replaced - 1}"
            )
        if self.bins > self.pairs:
            raise ValueError(f"bins is {self.bins}; there are {self.pairs} pairs")
        return self

    def tokens(self, facts: int, choices: int, relations: int) -> int:
        """Return the tokens that a model reads, about."""
        sequences = self.draws * (1 + len(self.kinds) * len(self.arrangements))
        return (len(self.relations) or relations) * sequences * self.pairs * 10
