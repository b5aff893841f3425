"""What can be set about KaRR; the sizes of the draws are the released code's."""

from typing import Annotated, Literal

from pydantic import Field

from almanac.options import Options


class KarrOptions(Options):
    """How facts are assessed by KaRR and its baselines."""

    modes: Annotated[
        tuple[Literal["paper", "official"], ...],
        Field(min_length=1, description="paper: the formulas; official: the released code, its oddities included"),
    ] = ("paper", "official")
    templates: Annotated[int, Field(ge=1, description="templates drawn for a relation")] = 4
    aliases: Annotated[int, Field(ge=1, description="names drawn for a subject or an object")] = 4
    subjects: Annotated[int, Field(ge=1, description="subjects drawn for a fact's denominator")] = 4
    relations: Annotated[int, Field(ge=1, description="relations drawn for a fact's denominator")] = 4
    sample: Annotated[int | None, Field(ge=1, description="test facts asked a relation (none: all)")] = None
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
    seed: Annotated[int, Field(ge=0, description="seed of all draws")] = 0
