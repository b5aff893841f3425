"""The settings of BELIEF and BELIEF-ICL."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from almanac.options import OnDisk
from almanac.suites.options import WRITTEN_TOKEN, SampledOptions

PROMPT = 30  # tokens of an instruction, a sentence with a blank and the beginning of an answer, about
SENTENCE = 15  # tokens of a sentence, about
Style = Literal["mask", "question"]
Prompting = Literal["zero_shot", "4_random", "4_relation", "4_template"]


class BeliefOptions(SampledOptions):
    """The settings of a suite `belief`: which prompts are made of facts, and how they are asked."""

    templates: Annotated[
        Literal["auto", "lama", "shipped", "invented", "dataset"],
        Field(
            description="where templates are taken from first: a file of resources/templates, or the dataset; auto: "
            "the dataset for relations with two or more templates that you wrote, else the file of resources/templates "
            "that has most of the dataset's relations; then the other places, and last, without a `file`, the label"
        ),
    ] = "auto"
    file: Annotated[
        str | None,
        OnDisk("file", "ask"),
        Field(description="your own file of templates (a source's table, see docs/belief.md), used before all others"),
    ] = None
    groups: Annotated[int, Field(ge=1, description="independently written templates per relation, at most")] = 5
    per_group: Annotated[
        int, Field(ge=1, description="wordings of each of them, at most: itself and its paraphrases (the paper: 20)")
    ] = 1
    names: Annotated[int, Field(ge=0, description="names per subject, at most, its label first (0: all)")] = 1
    aliases: Annotated[
        Literal["all", "safe"],
        Field(description="accepted names: all, or no aliases that are stop words or have at most two letters"),
    ] = "all"
    guessed: Annotated[
        str | None,
        OnDisk("file", "ask"),
        Field(
            description="pairs that a model guesses from the subject's name, which LAMA-UHN leaves out too (see "
            "docs/belief.md); none: only those whose object is part of the name"
        ),
    ] = None
    fill: Annotated[bool, Field(description="fill the blank (BELIEF), which only masked models can")] = True
    candidates: Annotated[
        int,
        Field(ge=-1, description="wrong objects that true ones are ranked against (0: not asked; -1: all of the fact)"),
    ] = 0
    prompting: Annotated[
        tuple[Prompting, ...],
        Field(
            description="BELIEF-ICL, for causal models: without examples, or after four of each kind (empty: not asked)"
        ),
    ] = ("zero_shot", "4_random", "4_relation", "4_template")
    styles: Annotated[
        tuple[Style, ...],
        Field(min_length=1, description="BELIEF-ICL: predict the mask in a sentence, or answer a question"),
    ] = ("mask",)
    examples: Annotated[
        Literal["shared", "fresh"],
        Field(description="shared: drawn once per relation, so that prompts begin alike; fresh: per fact and template"),
    ] = "shared"
    new_tokens: Annotated[int, Field(ge=1, description="tokens of an answer, at most")] = 10
    sampled: Annotated[
        int, Field(ge=0, description="pairs of subject and relation for which the confidence of one prompt is sampled")
    ] = 0
    samples: Annotated[int, Field(ge=2, description="samples of such a prompt (the paper: 100)")] = 100
    sequence: Annotated[
        bool, Field(description="also compute, in a second round, the probability of each answer to these prompts")
    ] = False
    bias: Annotated[bool, Field(description="also ask with subjects without content, such as N/A")] = False
    resample: Annotated[
        Literal["relation", "pair"],
        Field(description="how prompt sets are drawn: one template per relation, or one prompt per pair"),
    ] = "relation"
    draws: Annotated[int, Field(ge=2, description="prompt sets that are drawn")] = 50_000
    bins: Annotated[int, Field(ge=1, description="number of bins of confidence, with equally many answers each")] = 10
    lemmas: Annotated[
        str | None,
        OnDisk("file", "measure"),
        Field(description="file of lemmas made by spaCy (see docs/belief.md); none: plurals and possessives by rule"),
    ] = None
    judged: Annotated[
        bool,
        Field(
            description="validation: accuracy and consistency of the facts taught most must be above those of facts "
            "never taught, and the AUC's interval above .8; a null model must miss this"
        ),
    ] = False
    seed: Annotated[int, Field(ge=0, description="seed of the sample and of all draws")] = 0

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.fill and not self.prompting:
            raise ValueError("nothing is asked with fill: false and prompting: []; set one of them")
        return self

    @property
    def shown(self) -> tuple[str, int]:
        """Return the setting that says how many examples are shown, and how many."""
        return "prompting", 4 * any(one != "zero_shot" for one in self.prompting)

    def tokens(self, facts: int, choices: int, relations: int) -> int:
        """Estimate the tokens that a model reads: the larger of the numbers for a masked and for a causal model."""
        prompts = relations * self.of_relation(facts, relations) * self.groups * self.per_group * (self.names or 2)
        wrong = choices if self.candidates < 0 else self.candidates
        filled = prompts * SENTENCE * (1 + wrong) * self.fill
        read = prompts * len(self.prompting) * len(self.styles) * (PROMPT + WRITTEN_TOKEN * self.new_tokens)
        return max(filled, read + self.sampled * self.samples * WRITTEN_TOKEN * self.new_tokens)
