"""The settings of FactEval."""

from collections.abc import Collection, Iterator
from typing import Annotated, Literal, Self

from pydantic import Field

from almanac.options import OnDisk
from almanac.suites.options import MODEL, WRITTEN_TOKEN, AuthorOptions, SampledOptions, drawn

QUESTION_TOKENS = 120  # instruction, question and choices of a question without a passage, about
PASSAGE_TOKENS = 60


class FactEvalOptions(SampledOptions):
    """The settings of a suite `facteval`: which questions are made of facts, and how they are asked."""

    types: Annotated[
        tuple[Literal["tfq", "mcq", "saq"], ...],
        Field(min_length=1, description="true or false, multiple choice, short answer"),
    ] = ("tfq", "mcq", "saq")
    styles: Annotated[
        tuple[Literal["fib", "wh"], ...],
        Field(min_length=1, description="form of multiple choice and short answer: fill in the blank, Wh-question"),
    ] = ("fib", "wh")
    negatives: Annotated[
        tuple[Literal["relation", "type", "uniform"], ...],
        Field(
            min_length=1, description="where wrong objects are drawn from: the relation, the same type, or all objects"
        ),
    ] = ("relation",)
    contexts: Annotated[
        tuple[Literal["none", "relevant", "irrelevant", "antifactual"], ...],
        Field(min_length=1, description="passages that are read before the question"),
    ] = ("none",)
    blanks: Annotated[
        Literal["paper", "released"],
        Field(
            description="how a blank with several true objects is asked for: in the paper's words, or the released "
            "code's (all the possible missing words)"
        ),
    ] = "paper"
    templates: Annotated[
        int, Field(ge=1, description="statements that are used per relation, and as many questions")
    ] = 1
    written: Annotated[
        str | None,
        OnDisk("file", "ask"),
        Field(description="file of questions that a model wrote and a person proofread, asked besides the templates'"),
    ] = None
    answer_tokens: Annotated[int, Field(ge=1, description="tokens of an answer, at most")] = 32
    seed: Annotated[int, Field(ge=0, description="seed of the sample, the wrong objects and the passages")] = 0
    modes: Annotated[
        tuple[Literal["strict", "paper", "official"], ...],
        Field(
            min_length=1,
            description="strict: our rules; paper: a short answer contains a true name or is part of one; official: as "
            "in the released scorer; the first gives the headline",
        ),
    ] = ("strict", "paper", "official")
    abstentions: Annotated[
        str | None,
        OnDisk("file", "measure"),
        Field(description="file of phrases that count as abstentions (none: resources/prompts/abstentions.yaml)"),
    ] = None
    official_abstentions: Annotated[
        str | None,
        OnDisk("file", "measure"),
        Field(description="such a file for mode official: the published list (none: ours without its key `beyond`)"),
    ] = None
    official_choices: Annotated[
        Literal["dash", "comma"],
        Field(description="where the official mode splits choices: comma (chat models), dash (others; at commas too)"),
    ] = "dash"
    embedder: Annotated[
        str | None,
        MODEL,
        Field(
            description="model of the edition whose embeddings compare written questions with templates' (BERTScore); "
            "none: they are not compared"
        ),
    ] = None
    embedder_layer: Annotated[
        int | None, Field(ge=0, description="layer whose hidden states are compared (none: the last)")
    ] = None
    pairs: Annotated[
        tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9][^:]*:[A-Za-z0-9][^:]*$")], ...],
        Field(description="BASE:TUNED, names of two models to compare before and after instruction tuning"),
    ] = ()

    def named_models(self) -> Iterator[tuple[str, str]]:
        """Yield the option and the name of each model: those that are asked, the embedder, and those of ``pairs``."""
        yield from super().named_models()
        yield from (("pairs", name) for pair in self.pairs for name in pair.split(":"))

    def among(self, there: Collection[str]) -> Self:
        """Return the settings without the models, and pairs of models, that an edition lacks."""
        pairs = tuple(pair for pair in self.pairs if set(pair.split(":")) <= set(there))
        return super().among(there).model_copy(update={"pairs": pairs})

    def tokens(self, facts: int, choices: int, relations: int) -> int:
        """Estimate the tokens that a model reads; every question has its own text. See `SuiteOptions`."""
        asked = relations * self.of_relation(facts, relations)
        forms = (
            ("tfq" in self.types) * 2 * len(self.negatives)
            + ("mcq" in self.types) * len(self.styles) * len(self.negatives)
            + ("saq" in self.types) * len(self.styles)
        )
        passages = PASSAGE_TOKENS * sum(context != "none" for context in self.contexts)
        length = (QUESTION_TOKENS + WRITTEN_TOKEN * self.answer_tokens) * len(self.contexts) + passages
        return asked * forms * self.templates * length * (2 if self.written else 1)


class WritingOptions(AuthorOptions):
    """The settings of a `writing` step: a model writes questions, before a person proofreads them."""

    styles: Annotated[
        tuple[Literal["statement", "fib", "wh"], ...], Field(min_length=1, description="what is written for each fact")
    ] = ("statement", "fib", "wh")
    prompts: Annotated[
        Literal["own", "paper"],
        Field(description="own: our instructions, with worked examples; paper: the paper's (Tables 23 to 25), without"),
    ] = "own"
    sample: Annotated[int | None, Field(ge=1, description="test facts of a relation (none: all)")] = None
    text_tokens: Annotated[int, Field(ge=1, description="tokens of a text, at most")] = 48
    seed: Annotated[int, Field(ge=0, description="seed of the sample; that of the suite draws the same facts")] = 0

    def cost(self, facts: int, relations: int) -> int:
        """Estimate the tokens that the model reads and writes."""
        asked = relations * drawn(self.sample, facts)
        return asked * len(self.styles) * (QUESTION_TOKENS + WRITTEN_TOKEN * self.text_tokens)
