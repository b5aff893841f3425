"""BELIEF's own tables."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class PromptTraits:
    """The prompt of an item, among the prompts of its pair (a subject and a relation).

    ``prompt`` numbers a pair's prompts in one way of asking; 0 has the subject's label and the first template.
    ``group`` is the written template that the template belongs to, and ``written`` says whether it is that itself.
    ``form`` is its style (``statement``, ``entailment``, ``question_answer``). ``alias``: the subject is called by
    another name than its label; ``ambiguous``: by a name that is another entity's label. ``guessable``: LAMA-UHN leaves
    the pair out, since the subject's name gives the object away. ``sampled``: the confidence is sampled. The first
    ``labels`` of the accepted names are labels of true objects, the others aliases.
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
    """The size of a relation's grid of prompts, as in the paper's Table 1, and the source of its templates.

    Numbers of: ``templates`` and their ``groups``; ``pairs`` of subject and relation; ``triples`` of a pair and a true
    object; ``names`` of subjects; ``derived`` triples, of a subject's name, the relation and an accepted name;
    ``prompts`` = names × templates; ``guessable`` pairs, which LAMA-UHN leaves out; ``ambiguous`` names of subjects,
    which are another entity's label; ``unsafe`` aliases of objects, which are stop words or have at most two letters.
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

    ``answer`` is the normalised prediction, as agreement compares it. For a blank: ``object_tokens`` is the number of
    tokens of the shortest true name; ``by_alias`` says whether an alias of a true object is likelier than every true
    label, and is empty without aliases. For a text: ``one_word``: its first line is a single word; ``unsafe``: it is
    right only by an unsafe name; ``sequence``: its probability; ``answer_tokens``: its number of tokens. For ranked
    objects: ``offered`` is the number of choices per true object.
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
    """The log-probability (nats) of one of a relation's objects after a content-free subject such as N/A."""

    KEY: ClassVar = ("item", "place")
    item: int
    place: int
    logprob: float
