"""The settings that all suites have in common."""

from abc import abstractmethod
from collections.abc import Collection, Iterator
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from almanac.options import NO_FLAG, OnDisk, Options, places

# Markers in the annotation of a setting that names a model of the edition, which answers a round.
MODEL = object()  # any model
WRITER = object()  # a model that writes texts
WRITTEN_TOKEN = 20  # the cost of a token that a model generates, in tokens that it reads
Sample = Annotated[int | None, Field(ge=1, description="test facts asked per relation (none: all)")]


def drawn(sample: int | None, facts: int) -> int:
    """Return how many of a relation's test facts are asked."""
    return min(sample or facts, facts)


def of_each(sample: int | None, at_least: int, relations: int) -> int | None:
    """Return how many test facts per relation are asked (None: all): ``sample``, or more to get ``at_least`` in all."""
    return None if sample is None else max(sample, -(-at_least // max(relations, 1)))


class AskingOptions(Options):
    """Settings of a suite or author; values of a list must be distinct."""

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        for name, value in self:
            if isinstance(value, tuple) and len(set(value)) != len(value):
                raise ValueError(f"{name} must be distinct, found {list(value)}")
        return self


class SuiteOptions(AskingOptions):
    """Settings of one suite on one dataset."""

    models: Annotated[
        tuple[str, ...], NO_FLAG, Field(description="the models of the edition that are asked; none: all")
    ] = ()

    @property
    def shown(self) -> tuple[str, int]:
        """The setting for the largest number of train facts that are shown per relation, and that number."""
        return "shots", 0

    def how(self) -> dict[str, Any]:
        """Return the settings that asking, judging and measuring depend on, as plain values: all but ``models``."""
        return self.model_dump(mode="json", exclude={"models"})

    def named_models(self) -> Iterator[tuple[str, str]]:
        """Yield the models that the settings name, each after the setting that names it."""
        yield from (("models", name) for name in self.models)
        yield from ((key, name) for key in self._of_models() if (name := getattr(self, key)) is not None)

    def writers(self) -> Iterator[tuple[str, str]]:
        """Yield the models that are to write texts, each after the setting that names it."""
        yield from ((key, name) for key in self._of_models(WRITER) if (name := getattr(self, key)) is not None)

    def among(self, there: Collection[str]) -> Self:
        """Return the settings without models that an edition does not have."""
        update: dict[str, Any] = {"models": tuple(name for name in self.models if name in there)}
        update |= {key: None for key in self._of_models() if getattr(self, key) not in there}
        return self.model_copy(update=update)

    @classmethod
    def _of_models(cls, *kinds: object) -> list[str]:
        wanted = kinds or (MODEL, WRITER)
        return [name for name, field in cls.model_fields.items() if any(kind in field.metadata for kind in wanted)]

    @abstractmethod
    def tokens(self, facts: int, choices: int, relations: int) -> int:
        """Return roughly how many tokens a model reads, in all rounds together.

        Text that requests share is counted once; a token that the model generates counts as `WRITTEN_TOKEN`.

        Args:
            facts: the number of test facts per relation.
            choices: the number of choices per test fact.
            relations: the number of relations in the dataset.
        """

    def files(self, verb: str) -> tuple[str, ...]:
        """Return the user's files that a verb (``ask``, ``measure``) reads for these settings; jobs depend on them."""
        return tuple(place.path for place in places(self) if place.named == OnDisk("file", verb))


class SampledOptions(SuiteOptions):
    """Settings of a suite that may ask a sample of the test facts."""

    sample: Sample = None
    at_least: Annotated[
        int,
        Field(
            ge=0,
            description="least number of facts in the whole `sample`: if there are few relations, more are taken of "
            "each, as far as it has them",
        ),
    ] = 0

    def of_relation(self, facts: int, relations: int) -> int:
        """Return how many of a relation's ``facts`` test facts are asked, in a dataset of so many relations."""
        return drawn(of_each(self.sample, self.at_least, relations), facts)


class AuthorOptions(AskingOptions):
    """Settings of an author: what a model writes for a person to proofread."""

    @abstractmethod
    def cost(self, facts: int, relations: int) -> int:
        """Return roughly how many tokens the model reads and generates; see `SuiteOptions.tokens`."""


class Bars(Options):
    """The bars that a valid method must meet on an invented world."""

    reference: Annotated[
        str, Field(description="the model whose AUC must reach the bar; if it is not there, the largest planted one")
    ] = "base"
    auc: Annotated[
        float, Field(ge=0, le=1, description="least AUC of the reference, facts taught most against never")
    ] = 0.95
    spearman_low: Annotated[float, Field(ge=-1, le=1, description="the Spearman interval must lie above this")] = 0.3
    prior: Annotated[float, Field(ge=0, le=0.5, description="how far the prior's AUC may be from .50")] = 0.02
