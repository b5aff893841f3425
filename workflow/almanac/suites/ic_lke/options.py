"""The options of IC-LKE and its experiments; the defaults are the paper's."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from almanac.options import OnDisk, Options
from almanac.suites.options import WRITTEN_TOKEN, SampledOptions, SuiteOptions

LayoutName = Annotated[
    Literal["paper", "code"],
    Field(description="paper: one space everywhere; code: the released code's ' : ' and commas"),
]
Relations = Annotated[tuple[str, ...], Field(description="ids of the relations to ask; none: all")]


BestOnly = Annotated[
    bool,
    Field(description="compute only the predicted choice and its share exactly; choices that cannot win are skipped"),
]


class ShotOptions(Options):
    """How many examples precede a subject."""

    shots: Annotated[int, Field(ge=0, description="in-context examples before the test subject")] = 50

    @property
    def shown(self) -> tuple[str, int]:
        """The option that limits how many train facts of a relation are shown, and its value."""
        return "shots", self.shots


class IcLkeOptions(ShotOptions, SampledOptions):
    """How facts are asked as in-context multiple choice."""

    draws: Annotated[int, Field(ge=1, description="independent draws of the examples")] = 1
    layout: LayoutName = "paper"
    cloze: Annotated[bool, Field(description="also ask one template per relation with a blank, for masked models")] = (
        False
    )
    best_only: BestOnly = False
    seed: Annotated[int, Field(ge=0, description="seed of the draws of examples")] = 0

    def tokens(self, facts: int, choices: int, relations: int) -> int:
        """Return roughly the number of tokens that a model reads: names are short; see `SuiteOptions`."""
        asked = self.of_relation(facts, relations) * self.draws
        return relations * (self.shots * 10 + asked * choices * 8)


class EicOptions(SampledOptions):
    """How many test facts are in one sequence, and at which positions."""

    examples: Annotated[int, Field(ge=2, description="train facts in a sequence")] = 100
    first: Annotated[
        int, Field(ge=1, description="train facts before the first test fact; also the examples of the IC-LKE control")
    ] = 50
    step: Annotated[int, Field(ge=1, description="train facts from one test fact to the next")] = 5
    between: Annotated[
        Literal["comma", "space"],
        Field(description="separator between pairs; comma: a comma and a space, as in the paper"),
    ] = "comma"
    separators: Annotated[
        Literal["fused", "apart"],
        Field(
            description="tokenisation of sequences; fused: a space or comma is tokenised with the name after it; "
            "apart: names and separators are tokenised separately, and their ids joined"
        ),
    ] = "fused"
    isolated: Annotated[
        bool, Field(description="also ask each test fact after the train facts only, without other test facts")
    ] = True
    seed: Annotated[int, Field(ge=0, description="seed of the order of train facts, test facts and choices")] = 0

    @property
    def slots(self) -> range:
        """The numbers of train facts after which a test fact is inserted."""
        return range(self.first, self.examples, self.step)

    @model_validator(mode="after")
    def _has_slots(self) -> Self:
        if self.first >= self.examples:
            raise ValueError(
                f"first is {self.first} and examples is {self.examples}: a sequence would have no test fact; "
                "lower first or raise examples"
            )
        return self

    @property
    def shown(self) -> tuple[str, int]:
        """The option that limits how many train facts of a relation are shown, and its value."""
        return "examples", self.examples

    def tokens(self, facts: int, choices: int, relations: int) -> int:
        """Return roughly the number of tokens that a model reads, for sequences, their control and IC-LKE."""
        asked = self.of_relation(facts, relations)
        groups = -(-asked // len(self.slots))
        sequences = groups * choices * ((self.examples - self.first) * 10 + len(self.slots) * 8)
        alone = asked * choices * 8 * (2 if self.isolated else 1)
        return relations * (self.examples * 10 + sequences + alone)


class SweepOptions(SampledOptions):
    """Which numbers of examples are tried, and how many draws of each."""

    examples: Annotated[
        tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=2, description="numbers of examples that are tried")
    ] = (0, 1, 2, 5, 10, 20, 30, 40, 50)
    draws: Annotated[int, Field(ge=1, description="independent draws of the examples (the paper's five seeds)")] = 5
    enough: Annotated[
        float, Field(gt=0, le=1, description="share of the accuracy at the most examples that counts as enough")
    ] = 0.95
    layout: LayoutName = "paper"
    relations: Relations = ()
    seed: Annotated[int, Field(ge=0, description="seed of the draws of examples")] = 0

    @property
    def shown(self) -> tuple[str, int]:
        """The option that limits how many train facts of a relation are shown, and its value."""
        return "examples", max(self.examples)

    def tokens(self, facts: int, choices: int, relations: int) -> int:
        """Return roughly the number of tokens that a model reads."""
        asked = self.of_relation(facts, relations) * choices * 8
        return (len(self.relations) or relations) * self.draws * sum(asked + shots * 10 for shots in self.examples)


Published = Annotated[
    str | None,
    OnDisk("file", "ask"),
    Field(
        description="published prompts: JSON Lines of relation_id, kind (hgp or mmp) and text, or LPAQA's repository "
        "as it is (LPAQA.zip); none: no published prompts"
    ),
]


class SeparatorOptions(ShotOptions, SampledOptions):
    """Which separators are tried."""

    written: Annotated[int, Field(ge=0, description="infixes from a relation's own templates, at most")] = 3
    mined: Annotated[
        int, Field(ge=0, description="infixes mined from the texts of a dataset's train facts, at most")
    ] = 3
    published: Published = None
    infixes: Annotated[
        int, Field(ge=0, description="infixes from a relation's published prompts, at most, of each kind")
    ] = 3
    code: Annotated[bool, Field(description="also try the released code's ' : ' and commas")] = True
    relations: Relations = ()
    seed: Annotated[int, Field(ge=0, description="seed of the draw of examples")] = 0

    def tokens(self, facts: int, choices: int, relations: int) -> int:
        """Return roughly the number of tokens that a model reads, three of them for each infix."""
        ways = 1 + int(self.code) + self.written + self.mined + (2 * self.infixes if self.published else 0)
        asked = self.of_relation(facts, relations) * choices * 10
        return (len(self.relations) or relations) * ways * (asked + self.shots * 13)


Kind = Literal["unknown", "incorrect"]
Arrangement = Literal["distributed", "contiguous"]
STAR = 114 / 200  # relative position of the first pair after the contiguous ones, read off the paper's figure


class PositionOptions(SuiteOptions):
    """How long the sequences are, and which of their pairs are replaced."""

    pairs: Annotated[int, Field(ge=4, description="pairs in a sequence")] = 200
    replaced: Annotated[int, Field(ge=1, description="pairs of a sequence that are replaced; at most half")] = 40
    kinds: Annotated[
        tuple[Kind, ...],
        Field(description="replacements; unknown: an invented subject and an object; incorrect: another object"),
    ] = ("unknown", "incorrect")
    arrangements: Annotated[
        tuple[Arrangement, ...],
        Field(min_length=1, description="positions of the replaced pairs: spread over the sequence, or contiguous"),
    ] = ("distributed", "contiguous")
    start: Annotated[
        int | None,
        Field(
            ge=0,
            description="position of the first contiguous replaced pair (none: they end at 57 % of the sequence)",
        ),
    ] = None
    draws: Annotated[int, Field(ge=1, description="sequences per relation, each with its own draw and order")] = 1
    bins: Annotated[int, Field(ge=1, description="equal parts of the sequence, for means by part")] = 10
    judged: Annotated[
        bool,
        Field(
            description="validation: in every part of the sequence, objects of the facts taught most must be likelier "
            "than those of facts never taught, with intervals that do not overlap"
        ),
    ] = False
    relations: Relations = ()
    seed: Annotated[int, Field(ge=0, description="seed of facts, order and what is replaced")] = 0

    @property
    def first(self) -> int:
        """The position of the first of the contiguous replaced pairs."""
        if self.start is not None:
            return self.start
        return max(0, min(round(STAR * self.pairs) - self.replaced, self.pairs - self.replaced - 1))

    @property
    def starts(self) -> tuple[int, ...]:
        """The first position of each part of the sequence."""
        return tuple(-(-number * self.pairs // self.bins) for number in range(self.bins))

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if 2 * self.replaced > self.pairs:
            raise ValueError(f"replaced is {self.replaced}; at most half of the {self.pairs} pairs can be replaced")
        if self.first + self.replaced >= self.pairs:
            raise ValueError(
                f"start is {self.start}: {self.replaced} pairs from there leave none to follow; "
                f"give at most {self.pairs - self.replaced - 1}"
            )
        if self.bins > self.pairs:
            raise ValueError(f"bins is {self.bins}; there are {self.pairs} pairs")
        return self

    def tokens(self, facts: int, choices: int, relations: int) -> int:
        """Return roughly the number of tokens that a model reads."""
        sequences = self.draws * (1 + len(self.kinds) * len(self.arrangements))
        return (len(self.relations) or relations) * sequences * self.pairs * 10


class PromptsOptions(SampledOptions):
    """Which prompts precede the choices."""

    kinds: Annotated[
        tuple[Literal["written", "mined"], ...],
        Field(description="written: the dataset's own templates; mined: found in the dataset's evidence"),
    ] = ("written", "mined")
    variants: Annotated[
        tuple[Literal["clean", "mangled"], ...],
        Field(description="clean: templates that end in the object; mangled: any, the object deleted as in the paper"),
    ] = ("clean", "mangled")
    published: Published = None
    prompts: Annotated[int, Field(ge=1, le=100, description="prompts per relation and kind")] = 3
    relations: Relations = ()
    best_only: BestOnly = False
    seed: Annotated[int, Field(ge=0, description="seed of the sample; with IC-LKE's, the same facts are asked")] = 0

    def tokens(self, facts: int, choices: int, relations: int) -> int:
        """Return roughly the number of tokens that a model reads: no examples, ten for a prompt, and the choices."""
        sets = len(self.kinds) * len(self.variants) + 2 * (self.published is not None)
        asked = (len(self.relations) or relations) * self.of_relation(facts, relations)
        return asked * sets * self.prompts * (10 + choices * 4)


class GeneratedOptions(ShotOptions, SampledOptions):
    """What is generated, and after which prompts."""

    new_tokens: Annotated[int, Field(ge=1, description="tokens that the model generates greedily")] = 50
    published: Published = None
    prompts: Annotated[int, Field(ge=1, description="published prompts per relation and kind, at most")] = 3
    layout: LayoutName = "paper"
    relations: Relations = ()
    seed: Annotated[int, Field(ge=0, description="seed of the draw of examples")] = 0

    def tokens(self, facts: int, choices: int, relations: int) -> int:
        """Return roughly the number of tokens that a model reads."""
        asked = self.of_relation(facts, relations) * (5 + WRITTEN_TOKEN * self.new_tokens)
        ways = 1 + (2 * self.prompts if self.published else 0)
        return (len(self.relations) or relations) * (self.shots * 10 + asked * ways)
