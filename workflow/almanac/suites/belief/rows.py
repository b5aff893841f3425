"""BELIEF's own tables."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class PromptTraits:
    """Which prompt of its pair (a subject and a relation) an item is.

    ``prompt`` numbers the prompts of a pair that are asked alike, the label and the first template being 0. ``group``
    is the written template that the wording belongs to, ``written`` whether it is that itself, ``form`` its style
    (``statement``, ``entailment``, ``question_answer``). ``alias``: asked by another name than the label;
    ``ambiguous``: by a name that another entity has as its label. ``guessable``: every true object's label stands
    in the subject's, which LAMA-UHN leaves out. ``sampled``: its confidence is sampled. ``labels``: how many of the
    accepted names are labels of true objects, which come first.
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
    """The prompts of a relation, as the paper's Table 1 counts them, and where its templates come from.

    ``pairs`` of subject and relation; ``triples``, one a true object of them; ``names`` of the subjects that are asked;
    ``derived``: triples of any name of a subject with any name of an object; ``prompts`` = names × templates.
    ``guessable`` pairs LAMA-UHN leaves out; ``ambiguous`` names are another entity's label; ``unsafe`` names of objects
    are stop words or have at most two letters.
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
    """What the numbers need of an answer in addition to the verdict.

    ``answer`` is the prediction as answers are compared. Of a filled blank: ``object_tokens``, those of the true name
    with the fewest, and ``by_alias``: another name of a true object is likelier than the label of any; none where there
    are labels alone. Of a text: ``one_word``, whether its first line is a single word; ``unsafe``, whether it is right
    by an unsafe name alone; ``sequence``, the probability of the whole text, and ``answer_tokens``, how many it has. Of
    ranked objects ``offered``: of how many, on average, one is true.
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
    """The log-probability (nats) of a relation's object where the subject says nothing."""

    KEY: ClassVar = ("item", "place")
    item: int
    place: int
    logprob: float
