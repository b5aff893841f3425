"""The options of KaRR; the default sizes of the draws are the released code's."""

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from almanac.options import OnDisk
from almanac.suites.options import SampledOptions

COMMON = 100  # the most common objects of a relation, among which the one that a model expects most is found


class KarrOptions(SampledOptions):
    """How facts are asked and judged by KaRR and its baselines."""

    modes: Annotated[
        tuple[Literal["paper", "official", "weighted"], ...],
        Field(
            min_length=1,
            description="paper: the formulas; official: the released code, its oddities included; "
            "weighted: the formulas, with each sentence before the object weighted by its likelihood",
        ),
    ] = ("paper", "official")
    templates: Annotated[int, Field(ge=1, description="templates drawn per relation")] = 4
    aliases: Annotated[int, Field(ge=1, description="names drawn per subject or object")] = 4
    subjects: Annotated[int, Field(ge=1, description="subjects drawn for a fact's denominator")] = 4
    relations: Annotated[int, Field(ge=1, description="relations drawn for a fact's denominator")] = 4
    null: Annotated[bool, Field(description="also ask every fact with another, false object of its relation")] = True
    baselines: Annotated[
        bool, Field(description="also ask the same facts by LAMA, ParaRel and, with the mode paper, K-Prompts")
    ] = True
    threshold: Annotated[
        float, Field(gt=0, description="known above this in the mode paper, if no planted facts calibrate it")
    ] = 2.0
    k_prompts: Annotated[
        float, Field(gt=0, lt=1, description="K-Prompts: known above this mean probability of the object")
    ] = 0.1
    resamples: Annotated[
        int,
        Field(
            ge=0,
            description="runs for the variance of the score, each with one template of every relation or one name of "
            "every entity replaced; one more template and one more name are asked (0: none)",
        ),
    ] = 0
    spurious: Annotated[
        bool,
        Field(
            description="also ask each model, in a second round, every fact with the false object that it most expects "
            f"without any subject, of the relation's {COMMON} most common ones"
        ),
    ] = False
    spurious_objects: Annotated[
        str | None,
        OnDisk("file", "ask"),
        Field(
            description="a file of relation_id and object, JSON Lines: the false object with which all facts of a "
            "relation are asked, instead of the one that each model expects (`spurious`)"
        ),
    ] = None
    property_aliases: Annotated[bool, Field(description="also draw templates made from a property's other names")] = (
        False
    )
    labels: Annotated[
        str | None,
        OnDisk("file", "ask"),
        Field(
            description="a file of human labels (item, rater, value), with which the facts called known are compared"
        ),
    ] = None
    labels_known: Annotated[float, Field(description="the mean label from which a fact counts as known")] = 0.5
    figure_relations: Annotated[
        tuple[str, ...],
        Field(description="the relations of the figure by relation, in this order (none: the 30 with most facts)"),
    ] = ()
    seed: Annotated[int, Field(ge=0, description="seed of all draws")] = 0

    @field_validator("spurious", mode="before")
    @classmethod
    def _switch(cls, spurious: object) -> object:
        if isinstance(spurious, int | float) and not isinstance(spurious, bool) and spurious:  # 1 would pass for true
            raise ValueError("is a switch, true or false: the one object that a model expects most is asked")
        return spurious

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if self.spurious and self.spurious_objects is not None:
            raise ValueError(
                "spurious and spurious_objects both say which false objects are asked; leave one of them out"
            )
        return self

    def tokens(self, facts: int, choices: int, relations: int) -> int:
        """Return roughly the number of tokens that a model reads, at eight a string; see `SuiteOptions`."""
        more = bool(self.resamples)
        strings = (self.templates + more) * (self.aliases + more) * (1 + self.subjects + self.relations)
        objects = 1 + self.null + (self.spurious or self.spurious_objects is not None)
        return relations * self.of_relation(facts, relations) * objects * strings * 8 * len(self.modes)
