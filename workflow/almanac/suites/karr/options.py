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
        float,
        Field(gt=0, description="modes paper and weighted: KaRR above which a fact is known, unless chosen from facts"),
    ] = 2.0
    k_prompts: Annotated[
        float, Field(gt=0, lt=1, description="K-Prompts: the mean probability above which a fact is known")
    ] = 0.1
    resamples: Annotated[
        int,
        Field(
            ge=0,
            description="runs that measure the variance of the score; each replaces one template of every relation, or "
            "one name of every entity, by an extra one that is asked along (0: no runs)",
        ),
    ] = 0
    spurious: Annotated[
        bool,
        Field(
            description="also ask each model, in a second round, every fact with the false object that it expects most "
            f"when the subject is left open, among the relation's {COMMON} most common objects"
        ),
    ] = False
    spurious_objects: Annotated[
        str | None,
        OnDisk("file", "ask"),
        Field(
            description="a file of false objects (JSON Lines of relation_id and object): each is asked with all facts "
            "of its relation, instead of the object that each model expects (`spurious`)"
        ),
    ] = None
    property_aliases: Annotated[bool, Field(description="also draw templates made from a property's other names")] = (
        False
    )
    labels: Annotated[
        str | None,
        OnDisk("file", "ask"),
        Field(description="a file of human labels (item, rater, value), which the methods' results are compared with"),
    ] = None
    labels_known: Annotated[float, Field(description="the mean label from which a fact counts as known")] = 0.5
    figure_relations: Annotated[
        tuple[str, ...],
        Field(description="the relations of the figure by relation, in this order (none: the 30 with most facts)"),
    ] = ()
    seed: Annotated[int, Field(ge=0, description="seed of all draws")] = 0

    @field_validator("spurious", mode="before")
    @classmethod
    def _is_boolean(cls, spurious: object) -> object:
        if isinstance(spurious, int | float) and not isinstance(spurious, bool) and spurious:  # 1 would pass for true
            raise ValueError("is a switch, true or false: only the object that a model expects most is asked")
        return spurious

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.spurious and self.spurious_objects is not None:
            raise ValueError("spurious and spurious_objects both name the false objects to ask; leave out one of them")
        return self

    def tokens(self, facts: int, choices: int, relations: int) -> int:
        """Return roughly the number of tokens that a model reads, at eight a string; see `SuiteOptions`."""
        extra = bool(self.resamples)
        strings = (self.templates + extra) * (self.aliases + extra) * (1 + self.subjects + self.relations)
        objects = 1 + self.null + (self.spurious or self.spurious_objects is not None)
        return relations * self.of_relation(facts, relations) * objects * strings * 8 * len(self.modes)
