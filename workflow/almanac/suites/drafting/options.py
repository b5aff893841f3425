"""The options of drafting templates."""

from typing import Annotated, Literal

from pydantic import Field

from almanac.suites.options import WRITTEN_TOKEN, AuthorOptions


class DraftingOptions(AuthorOptions):
    """How a model drafts templates, before a person proofreads them."""

    relations: Annotated[
        tuple[str, ...], Field(description="ids of the relations to draft for; none: all of the dataset")
    ] = ()
    styles: tuple[Literal["question", "statement"], ...] = Field(
        default=("question", "statement"), min_length=1, description="what is drafted from facts"
    )
    paraphrases: bool = Field(default=True, description="whether existing templates are paraphrased")
    samples: Annotated[int, Field(ge=1, description="texts requested per relation and style, and per paraphrase")] = 8
    facts: Annotated[int, Field(ge=1, description="facts of a relation that are shown, and used in the round trip")] = 3
    temperature: Annotated[float, Field(ge=0, description="temperature of the samples")] = 0.8
    tokens: Annotated[int, Field(ge=1, description="tokens per text, at most")] = 48
    agreement: Annotated[
        float,
        Field(
            ge=0, le=1, description="share of the facts whose filled template must lead the model back to the relation"
        ),
    ] = 0.5
    round_trip: Annotated[
        bool, Field(description="whether to test that a filled draft leads the model back to the relation")
    ] = True
    seed: Annotated[int, Field(ge=0, description="seed of the facts that are shown and of the samples")] = 0

    def cost(self, facts: int, relations: int) -> int:
        """Return roughly the number of tokens of a round."""
        requests = (len(self.relations) or relations) * len(self.styles) * (3 if self.paraphrases else 1)
        return requests * (500 + self.samples * self.tokens * WRITTEN_TOKEN)
