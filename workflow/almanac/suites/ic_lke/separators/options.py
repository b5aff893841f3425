"""What can be set about the study of separators; the defaults are the paper's."""

from typing import Annotated

from pydantic import Field

from almanac.suites.ic_lke.options import Relations
from almanac.suites.options import Sample, SuiteOptions


class SeparatorOptions(SuiteOptions):
    """Which separators are tried, and of what."""

    shots: Annotated[int, Field(ge=0, description="in-context examples before the test subject")] = 50
    written: Annotated[int, Field(ge=0, description="infixes of a relation's own templates, at most")] = 3
    mined: Annotated[
        int, Field(ge=0, description="infixes mined from the texts that a dataset has for its train facts, at most")
    ] = 3
    code: Annotated[bool, Field(description="also the released code's ' : ' and commas")] = True
    relations: Relations = ()
    sample: Sample = None
    seed: Annotated[int, Field(ge=0, description="seed of the draw of examples")] = 0

    @property
    def shown(self) -> tuple[str, int]:
        """The setting that says how many train facts of a relation are shown, and how many these are."""
        return "shots", self.shots

    def tokens(self, facts: int, choices: int, relations: int) -> int:
        """Return the tokens that a model reads, about: an infix is three."""
        ways = 1 + int(self.code) + self.written + self.mined
        asked = min(self.sample or facts, facts) * choices * 10
        return (len(self.relations) or relations) * ways * (asked + self.shots * 13)
