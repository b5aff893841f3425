"""What the settings of all suites have in common."""

from abc import abstractmethod
from typing import Annotated

from pydantic import Field

from almanac.options import NO_FLAG, Options

Sample = Annotated[int | None, Field(ge=1, description="test facts asked a relation (none: all)")]


class SuiteOptions(Options):
    """Settings of one suite on one dataset."""

    models: Annotated[
        tuple[str, ...], NO_FLAG, Field(description="the models of the edition that it is asked of; none: all")
    ] = ()

    @property
    def shown(self) -> tuple[str, int]:
        """The setting that says how many train facts of a relation are shown at most, and how many these are."""
        return "shots", 0

    @property
    def asks_again(self) -> bool:
        """Whether a second round asks of each model what depends on its answers in the first (`Method.ask_again`)."""
        return False

    @abstractmethod
    def tokens(self, facts: int, choices: int, relations: int) -> int:
        """Return the tokens that a model reads, about, in all rounds together.

        What requests share is counted once; a token that the model writes counts as twenty.

        Args:
            facts: test facts of a relation.
            choices: choices of a test fact.
            relations: relations of the dataset.
        """

    def files(self, verb: str) -> tuple[str, ...]:
        """Return the user's files that a verb (``ask``, ``measure``) reads for these settings: jobs wait for them."""
        return ()
