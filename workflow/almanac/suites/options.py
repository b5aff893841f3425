"""What the settings of all suites have in common."""

from abc import abstractmethod

from almanac.options import Options


class SuiteOptions(Options):
    """Settings of one suite on one dataset."""

    @abstractmethod
    def tokens(self, facts: int, choices: int, relations: int) -> int:
        """Return the tokens that a model reads, about.

        What requests share is counted once; a token that the model writes counts as twenty.

        Args:
            facts: test facts of a relation.
            choices: choices of a test fact.
            relations: relations of the dataset.
        """
