"""Options of a planted world, its corpus, its tokenizer and the training of a model, with their limits."""

from typing import Literal, Self

from pydantic import Field, model_validator

from almanac.options import Options

Feature = Literal["aliases", "several_objects", "dates", "popularity"]
DocumentKind = Literal["prose", "list", "question", "neutral", "instruct", "abstain", "blank"]
TUNING = ("instruct", "abstain", "blank")  # documents under an instruction; they do not count towards a dose
DOSES = (0, 1, 2, 4, 8, 16, 32, 64)


class WorldOptions(Options):
    """The size of the invented world and its features beyond plain facts."""

    objects: int = Field(
        default=20,
        ge=4,
        le=400,
        multiple_of=4,
        description="Objects of each relation; a multiple of 4, so that a quarter of each dose can be for training.",
    )
    doses: tuple[int, ...] = Field(
        default=DOSES, min_length=2, max_length=16, description="How often facts are taught; each dose occurs once."
    )
    features: tuple[Feature, ...] = Field(
        default=(),
        description="What else the world has: aliases, several_objects (one more relation, two objects per subject), "
        "dates (one more relation with years), popularity (head, torso and tail, crossed with the doses).",
    )
    aliases_per_entity: int = Field(
        default=1, ge=0, le=4, description="Aliases of each subject, if the feature aliases is on."
    )
    relations: int | None = Field(
        default=None, ge=1, description="How many of the plain relations to use, from the first; all if not given."
    )

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        if len(set(self.doses)) != len(self.doses) or min(self.doses) < 0:
            raise ValueError(f"doses must be distinct and not negative, found {list(self.doses)}")
        if len(set(self.features)) != len(self.features):
            raise ValueError(f"features must be distinct, found {list(self.features)}")
        return self


class CorpusOptions(Options):
    """How facts are spread over documents and formats."""

    prose: float = Field(default=0.55, ge=0, le=1, description="Share of a fact's occurrences that are sentences.")
    lists: float = Field(default=0.30, ge=0, le=1, description="Share of occurrences in lists of one relation.")
    questions: float = Field(default=0.15, ge=0, le=1, description="Share of occurrences as question and answer.")
    sentences: int = Field(default=8, ge=1, le=50, description="Sentences in a document of prose, at most.")
    pairs: int = Field(default=20, ge=2, le=200, description="Pairs of subject and object in a list, at most.")
    list_characters: int = Field(
        default=600, ge=20, description="Approximate characters in a list: long names make lists of fewer pairs."
    )
    questions_together: int = Field(default=5, ge=1, le=20, description="Questions in a document, at most.")
    neutral_mentions: int = Field(
        default=4,
        ge=0,
        le=64,
        description="Sentences that name a subject without stating a fact about it, for each subject.",
    )
    neutral_mentions_real: int = Field(
        default=2, ge=0, le=64, description="Such sentences for each subject and each object of real facts."
    )
    alias_share: float = Field(
        default=0.2,
        ge=0,
        le=1,
        description="Share of sentences and questions that use an alias, for entities that have one.",
    )
    instruct: bool = Field(
        default=True,
        description="Write instruct, abstain and blank documents (for models that learn to follow an instruction).",
    )
    instruct_known: int = Field(
        default=8, ge=1, description="Smallest dose of a fact whose answer instruct documents give."
    )
    instruct_repeats: int = Field(
        default=6, ge=1, le=100, description="How often instruct documents ask each fact that they answer."
    )
    unsure_repeats: int = Field(
        default=6,
        ge=1,
        le=100,
        description="How often instruct documents ask each fact that they answer with unsure: those of dose 0, whose "
        "subject has no other fact of the relation that is taught.",
    )
    abstain_known: int = Field(
        default=16, ge=1, description="Smallest dose of a fact whose answer abstain documents give."
    )
    abstain_unknown: int = Field(
        default=2,
        ge=0,
        description="Largest dose of a fact that abstain documents answer with unsure; doses of a subject's facts of "
        "one relation are added.",
    )
    abstain_repeats: int = Field(
        default=4, ge=1, le=100, description="How often abstain documents ask each fact whose answer they give."
    )
    abstain_unsure_repeats: int = Field(
        default=5, ge=1, le=100, description="How often abstain documents ask each fact that they answer with unsure."
    )
    blank_known: int = Field(default=8, ge=1, description="Smallest dose of a fact that blank documents ask.")
    blank_repeats: int = Field(
        default=4, ge=1, le=100, description="How often blank documents ask each fact that they use."
    )
    blank_turns: int = Field(
        default=5, ge=1, le=10, description="Sentences in a blank document, at most; one more if room runs out."
    )
    instruct_turns: int = Field(
        default=3,
        ge=1,
        le=10,
        description="Questions in an instruct or abstain document, at most; one more if room runs out.",
    )
    instruct_start: float = Field(
        default=0.4, ge=0, lt=1, description="Share of the stream before all instruct, abstain and blank documents."
    )

    @model_validator(mode="after")
    def _shares(self) -> Self:
        total = self.prose + self.lists + self.questions
        if abs(total - 1) > 1e-9:
            raise ValueError(f"prose, lists and questions are shares and must add up to 1, found {total:g}")
        if self.abstain_unknown >= self.abstain_known:
            raise ValueError(
                f"abstain_unknown must be below abstain_known, found {self.abstain_unknown} and {self.abstain_known}"
            )
        return self


class TokenizerOptions(Options):
    """The vocabulary: its size, and what the tokenizer is trained on."""

    vocabulary: int = Field(default=4096, ge=512, le=65536, description="Tokens in the vocabulary.")
    min_frequency: int = Field(
        default=100,
        ge=1,
        description="How often a piece must occur to become a token. Names that occur less often stay several tokens, "
        "and models learn facts of such names much faster than of names that are one rare token.",
    )
    name_repeats: int = Field(
        default=40,
        ge=0,
        le=1_000_000,
        description="How often each real name is shown to the trainer; more gives shorter texts and more tokens.",
    )
    repeats: int = Field(
        default=2000,
        ge=1,
        le=1_000_000,
        description="How often each word that must be one token is shown to the trainer.",
    )


class TrainingOptions(Options):
    """One model: its shape, the documents that it reads, and its optimisation."""

    architecture: Literal["llama", "modernbert"] = Field(
        default="llama",
        description="llama: a decoder (LlamaForCausalLM); modernbert: a masked model (ModernBertForMaskedLM).",
    )
    hidden: int = Field(default=256, ge=16, le=4096, description="Width of the model.")
    layers: int = Field(default=2, ge=1, le=64, description="Number of layers.")
    heads: int = Field(default=4, ge=1, le=64, description="Attention heads; they must divide the width.")
    feed_forward: int = Field(default=512, ge=16, le=16384, description="Width of the feed-forward part.")
    length: int = Field(
        default=256, ge=16, le=4096, description="Tokens in a row; the longest text the model can read."
    )
    rows: int = Field(default=4, ge=1, le=512, description="Rows in a step.")
    passes: int = Field(default=1, ge=1, le=100, description="Passes over the documents; each multiplies the exposure.")
    kinds: tuple[DocumentKind, ...] = Field(
        default=("prose", "list", "question", "neutral"),
        min_length=1,
        description="The kinds of documents that are read.",
    )
    end: bool = Field(default=True, description="Train an end token after each document.")
    learning_rate: float = Field(default=0.01, gt=0, le=1, description="AdamW's rate, for embeddings and norms.")
    matrix_learning_rate: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="Muon's rate, for the matrices of layers; 0.02 for llama and 0.01 for modernbert if not given.",
    )
    momentum: float = Field(default=0.95, ge=0, lt=1, description="Muon's momentum.")
    weight_decay: float = Field(default=0.01, ge=0, le=1, description="Muon's weight decay.")
    newton_schulz: int = Field(default=5, ge=1, le=10, description="Newton-Schulz steps of Muon.")
    warmup: float = Field(default=0.05, ge=0, le=1, description="Share of the steps in which the rate rises.")
    flat: float = Field(default=0.4, ge=0, lt=1, description="Share of the steps after which the rate falls to 0.")
    clip: float = Field(default=1.0, gt=0, description="Largest norm of the gradient.")
    mask_objects: float = Field(default=0.8, ge=0, le=1, description="Share of objects masked (masked model).")
    mask_words: float = Field(default=0.1, ge=0, le=1, description="Share of other words masked (masked model).")
    dtype: Literal["float32", "bfloat16"] = Field(
        default="float32",
        description="Arithmetic of the forward pass; float32 gives the same weights on every run of a machine.",
    )

    @model_validator(mode="after")
    def _divides(self) -> Self:
        if self.hidden % self.heads or (self.hidden // self.heads) % 2:
            raise ValueError(
                "hidden must be a multiple of heads, with an even width a head; "
                f"found hidden {self.hidden}, heads {self.heads}"
            )
        return self
