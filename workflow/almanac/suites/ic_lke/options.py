"""What can be set about IC-LKE; the defaults are the paper's."""

from typing import Annotated, Literal

from pydantic import Field

from almanac.options import Options
from almanac.suites.options import Sample, SuiteOptions

LayoutName = Annotated[
    Literal["paper", "code"],
    Field(description="paper: one space everywhere; code: the released code's ' : ' and commas"),
]
Relations = Annotated[tuple[str, ...], Field(description="relations asked of; none: all")]


class IcLkeOptions(SuiteOptions):
    """How facts are put as in-context multiple choice."""

    shots: Annotated[int, Field(ge=0, description="in-context examples before the test subject")] = 50
    draws: Annotated[int, Field(ge=1, description="independent draws of the examples")] = 1
    layout: LayoutName = "paper"
    sample: Sample = None
    cloze: Annotated[bool, Field(description="also ask one template a relation with a blank, for masked models")] = (
        False
    )
    best_only: Annotated[
        bool, Field(description="only the predicted choice and its share are exact; choices that cannot win are left")
    ] = False
    seed: Annotated[int, Field(ge=0, description="seed of the draws of examples")] = 0

    @property
    def shown(self) -> tuple[str, int]:
        """The setting that says how many train facts of a relation are shown, and how many these are."""
        return "shots", self.shots

    def tokens(self, facts: int, choices: int, relations: int) -> int:
        """Return the tokens that a model reads, about: names are short; see `SuiteOptions`."""
        asked = min(self.sample or facts, facts) * self.draws
        return relations * (self.shots * 10 + asked * choices * 8)


class Bars(Options):
    """What a valid method must reach on an invented world."""

    reference: Annotated[str, Field(description="the model whose AUC must reach the bar")] = "base"
    auc: Annotated[float, Field(ge=0, le=1, description="least AUC of the reference, often taught against never")] = (
        0.95
    )
    spearman_low: Annotated[float, Field(ge=-1, le=1, description="the Spearman interval must lie above this")] = 0.3
    prior: Annotated[float, Field(ge=0, le=0.5, description="how far the prior's AUC may be from .50")] = 0.02
