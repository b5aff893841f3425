"""What can be set about the prompt baselines; the defaults are the paper's."""

from typing import Annotated, Literal

from pydantic import Field

from almanac.options import Named
from almanac.suites.options import Sample, SuiteOptions


class PromptsOptions(SuiteOptions):
    """Which prompts stand before the choices."""

    kinds: Annotated[
        tuple[Literal["written", "mined"], ...],
        Field(description="written: the dataset's own templates; mined: found in the dataset's evidence"),
    ] = ("written", "mined")
    variants: Annotated[
        tuple[Literal["clean", "mangled"], ...],
        Field(description="clean: templates that end in the object; mangled: any, the object deleted as the paper did"),
    ] = ("clean", "mangled")
    published: Annotated[
        str | None,
        Named("file", "ask"),
        Field(description="a file of published prompts, JSON Lines of relation_id, kind (hgp or mmp) and text"),
    ] = None
    prompts: Annotated[int, Field(ge=1, le=100, description="prompts a relation and kind")] = 3
    sample: Sample = None
    best_only: Annotated[
        bool, Field(description="only the predicted choice and its share are exact; choices that cannot win are left")
    ] = False
    seed: Annotated[int, Field(ge=0, description="seed of the sample; with IC-LKE's, the same facts are asked")] = 0

    def tokens(self, facts: int, choices: int, relations: int) -> int:
        """Return the tokens that a model reads, about: no examples, so a prompt of ten tokens and its choices."""
        sets = len(self.kinds) * len(self.variants) + 2 * (self.published is not None)
        return relations * min(self.sample or facts, facts) * sets * self.prompts * (10 + choices * 4)
