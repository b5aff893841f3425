"""BELIEF's own tables."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class PromptTraits:
    """The prompt of an item, among the prompts of its pair (a subject and a relation).

    Attributes:
        prompt: its number among the prompts of the pair that are asked alike; the label and the first template are 0.
        group: the written template that the wording belongs to.
        written: whether it is that template itself, and no paraphrase.
        form: the wording's style: ``statement``, ``entailment`` or ``question_answer``.
        alias: whether the subject is named otherwise than by its label.
        ambiguous: whether another entity has that name as its label.
        guessable: whether LAMA-UHN leaves the pair out: every true object's label stands in the subject's, or the pair
            is in the file `guessed`.
        sampled: whether its confidence is sampled.
        labels: how many of the accepted names are labels of true objects; they come first.
    """

    KEY: ClassVar = ("item",)
    item: int
    prompt: int
    group: str
    written: bool
    form: str
    alias: bool
    ambiguous: bool
    guessable: bool
    sampled: bool
    labels: int


@dataclass(frozen=True, slots=True)
class Grid:
    """The size of a relation's grid of prompts, as in the paper's Table 1.

    Attributes:
        source: where its templates come from.
        templates: how many templates it has.
        groups: how many of them are written; the others are their paraphrases.
        pairs: pairs of a subject and the relation.
        triples: pairs with each of their true objects.
        names: names of the subjects that are asked.
        derived: triples of a subject's name, the relation and an accepted name of the object.
        prompts: names × templates.
        guessable: pairs that LAMA-UHN leaves out.
        ambiguous: names that are another entity's label.
        unsafe: aliases of objects that are stop words or have at most two letters.
    """

    KEY: ClassVar = ("relation_id",)
    relation_id: str
    source: str
    templates: int
    groups: int
    pairs: int
    triples: int
    names: int
    derived: int
    prompts: int
    guessable: int
    ambiguous: int
    unsafe: int


@dataclass(frozen=True, slots=True)
class Said:
    """What metrics need of an answer in addition to its outcome.

    Attributes:
        answer: the normalised prediction, as agreement compares it.
        object_tokens: of a filled blank, the number of tokens of the shortest true name.
        by_alias: of a filled blank, whether another name of a true object is likelier than the label of any; empty
            where there are labels alone.
        one_word: of a text, whether its first line is a single word.
        unsafe: of a text, whether it is right by an unsafe name alone.
        sequence: of a text, its probability.
        answer_tokens: of a text, how many tokens it has.
        offered: of ranked objects, the number of choices per true object.
    """

    KEY: ClassVar = ("item",)
    item: int
    answer: str | None
    object_tokens: int | None
    by_alias: bool | None
    one_word: bool | None
    unsafe: bool | None
    sequence: float | None
    answer_tokens: int | None
    offered: float | None


@dataclass(frozen=True, slots=True)
class Leaning:
    """How likely one of a relation's objects is after a content-free subject such as N/A.

    Attributes:
        place: the object's position among the choices.
        logprob: its log-probability in nats.
    """

    KEY: ClassVar = ("item", "place")
    item: int
    place: int
    logprob: float
