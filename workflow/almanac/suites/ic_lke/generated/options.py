"""What can be set about the study of generated output; the defaults are the paper's."""

from typing import Annotated

from pydantic import Field

from almanac.suites.ic_lke.options import LayoutName, Relations
from almanac.suites.options import Sample, SuiteOptions


class GeneratedOptions(SuiteOptions):
    """What is written, behind what."""

    shots: Annotated[int, Field(ge=0, description="in-context examples before the test subject")] = 50
    new_tokens: Annotated[int, Field(ge=1, description="tokens that the model writes, the most likely ones")] = 50
    layout: LayoutName = "paper"
    relations: Relations = ()
    sample: Sample = None
    seed: Annotated[int, Field(ge=0, description="seed of the draw of examples")] = 0

    @property
    def shown(self) -> tuple[str, int]:
        """The setting that says how many train facts of a relation are shown, and how many these are."""
        return "shots", self.shots

    def tokens(self, facts: int, choices: int, relations: int) -> int:
        """Return the tokens that a model reads, about; one that it writes counts as twenty."""
        asked = min(self.sample or facts, facts) * (5 + 20 * self.new_tokens)
        return (len(self.relations) or relations) * (self.shots * 10 + asked)
