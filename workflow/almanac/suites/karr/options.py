"""What can be set about KaRR; the sizes of the draws are the released code's."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from almanac.options import Named
from almanac.suites.options import Sample, SuiteOptions

EXPECTED = 100  # objects of a relation, most common first, among which a model's expectation is found


class KarrOptions(SuiteOptions):
    """How facts are assessed by KaRR and its baselines."""

    modes: Annotated[
        tuple[Literal["paper", "official", "weighted"], ...],
        Field(
            min_length=1,
            description="paper: the formulas; official: the released code, its oddities included; "
            "weighted: the formulas, each sentence before the object by its likelihood",
        ),
    ] = ("paper", "official")
    templates: Annotated[int, Field(ge=1, description="templates drawn for a relation")] = 4
    aliases: Annotated[int, Field(ge=1, description="names drawn for a subject or an object")] = 4
    subjects: Annotated[int, Field(ge=1, description="subjects drawn for a fact's denominator")] = 4
    relations: Annotated[int, Field(ge=1, description="relations drawn for a fact's denominator")] = 4
    sample: Sample = None
    null: Annotated[
        bool, Field(description="also ask every fact with another object of its relation, which is not true")
    ] = True
    baselines: Annotated[bool, Field(description="also ask LAMA and ParaRel of the same facts")] = True
    threshold: Annotated[
        float, Field(gt=0, description="known above this in the mode paper, where no planted facts calibrate it")
    ] = 2.0
    k_prompts: Annotated[
        float, Field(gt=0, lt=1, description="K-Prompts: known above this mean probability of the object")
    ] = 0.1
    resamples: Annotated[
        int,
        Field(
            ge=0,
            description="runs, each with one template of every relation and apart one name of every thing replaced, "
            "for the variance of the score; one template and one name more are asked (0: none)",
        ),
    ] = 0
    spurious: Annotated[
        bool,
        Field(
            description="also ask of each model, in a second round, every fact with the false object that it expects "
            f"most without any subject, of the relation's {EXPECTED} most common ones"
        ),
    ] = False
    property_aliases: Annotated[
        bool, Field(description="also draw templates that were made of a property's other names")
    ] = False
    labels: Annotated[
        str | None,
        Named("file", "ask"),
        Field(description="a file of human labels (item, rater, value): what each fact's being known is held against"),
    ] = None
    labels_known: Annotated[float, Field(description="the mean label of a fact from which on it is held known")] = 0.5
    seed: Annotated[int, Field(ge=0, description="seed of all draws")] = 0

    @field_validator("spurious", mode="before")
    @classmethod
    def _switch(cls, spurious: object) -> object:
        if isinstance(spurious, int | float) and not isinstance(spurious, bool) and spurious:  # 1 would pass for true
            raise ValueError("is a switch, true or false: the one object that a model expects most is asked")
        return spurious

    def tokens(self, facts: int, choices: int, relations: int) -> int:
        """Return the tokens that a model reads, about: eight a string; see `SuiteOptions`."""
        templates, aliases = (
            (self.templates + 1, self.aliases + 1) if self.resamples else (self.templates, self.aliases)
        )
        strings = templates * aliases * (1 + self.subjects + self.relations)
        objects = 1 + self.null + self.spurious
        return relations * min(self.sample or facts, facts) * objects * strings * 8 * len(self.modes)
