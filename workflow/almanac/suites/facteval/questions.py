"""Wordings of facts: statements, sentences with a blank and Wh-questions, from templates or written by a model."""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from almanac.dataset.templates import LABEL, SLOT, filled, folded, in_full, of_label
from almanac.rows import Relation, Template

TFQ, MCQ, SAQ = "tfq", "mcq", "saq"
STATEMENT, FIB, WH = "statement", "fib", "wh"
NONE, RELEVANT, IRRELEVANT, ANTIFACTUAL = "none", "relevant", "irrelevant", "antifactual"
CONTEXTS = (NONE, RELEVANT, IRRELEVANT, ANTIFACTUAL)
TEMPLATE, WRITTEN = "template", "written"
ORIGINS = (TEMPLATE, WRITTEN)
MASK = "[MASK]"
# The names of experiments (type and style) for readers of the page.
NAMES: Mapping[str, str] = {
    f"{TFQ}-{STATEMENT}": "true or false",
    f"{MCQ}-{FIB}": "choice for a blank",
    f"{MCQ}-{WH}": "choice for a question",
    f"{SAQ}-{FIB}": "blank",
    f"{SAQ}-{WH}": "question",
}
# The kind of documents that teach a planted model what a `MASK` stands for; none teaches verdicts on statements.
FORMATS = {name: "blank" for name in NAMES if name.endswith(f"-{FIB}")} | {f"{TFQ}-{STATEMENT}": "verdict"}
GUESS = {TFQ: 1 / 2, MCQ: 1 / 4, SAQ: 0.0}  # the share of right answers of a model that guesses
Texts = Mapping[str, str]  # ids of templates by text; the first id of equal ones
# Descriptions of where wrong objects are drawn from.
POOLS = {"relation": "its relation", "type": "its object's type", "uniform": "the dataset"}


class FactEvalSetting(NamedTuple):
    """How a question was made and asked: who worded it, where its wrong objects are from, and the passage before it."""

    origin: str
    negatives: str | None
    context: str

    def label(self) -> str:
        """Describe the setting to a reader of the page."""
        wrong = "" if self.negatives is None else f", wrong objects of {POOLS.get(self.negatives, self.negatives)}"
        passage = "no passage" if self.context == NONE else f"{self.context} passage"
        return f"{'by a template' if self.origin == TEMPLATE else self.origin}{wrong}, {passage}"


@dataclass(frozen=True)
class WordedFact:
    """One wording of one fact.

    Attributes:
        style: ``statement``, ``fib`` or ``wh``.
        origin: ``template`` or ``written``.
        template_id: the template, or ``written``.
        parts: the text, split at each mention of the object; one part if there is none.
    """

    style: str
    origin: str
    template_id: str
    parts: tuple[str, ...]

    def says(self, found: str) -> str:
        """Return the text with a name or a blank as its object; one full stop is enough after `Tesla, Inc.`."""
        text = found.join(self.parts)
        return text[:-1] if text.endswith("..") and not text.endswith("...") else text


@dataclass(frozen=True)
class Wording:
    """The templates (id, text) of a relation that are used: statements, which serve as blanks too, and Wh-questions.

    ``spare`` is the statement for passages: not one that is asked, if there is another. ``shared`` has, by template id,
    the other relations with the same text. ``by_label``: statements or questions are made of the relation's label.
    """

    statements: tuple[tuple[str, str], ...]
    questions: tuple[tuple[str, str], ...]
    spare: str
    shared: Mapping[str, tuple[str, ...]]
    by_label: bool

    def sentences(self, subject: str) -> list[WordedFact]:
        """Return all wordings for a subject."""
        out = []
        for template_id, text in self.statements:
            parts = tuple(part.replace("[X]", subject) for part in text.split("[Y]"))
            out += [WordedFact(STATEMENT, TEMPLATE, template_id, parts), WordedFact(FIB, TEMPLATE, template_id, parts)]
        for template_id, text in self.questions:
            out.append(WordedFact(WH, TEMPLATE, template_id, (filled(text, subject, ""),)))
        return out


def wordings(relations: Iterable[Relation], templates: Iterable[Template], count: int) -> dict[str, Wording]:
    """Choose the templates of each relation: the first by id.

    A relation without statements uses its prefixes; without either, a sentence made of its label (``The LABEL of X is
    Y.``). Texts that another relation has too come last (``[X] was born in [Y].`` asks for the place and the year).

    Args:
        relations: all relations of the facts.
        templates: their templates; ignored if they lack a slot for the subject, or statements one for the object.
        count: the number of statements, and of questions, per relation, at most.
    """
    found: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for row in sorted(templates, key=lambda one: one.template_id):
        text = in_full(row)
        wanted = ["[X]"] if row.style == "question" else ["[X]", "[Y]"]
        if sorted(SLOT.findall(text)) == wanted:
            found[row.relation_id, row.style].setdefault(text, row.template_id)
    texts = {row.relation_id: _texts(row, found) for row in relations}
    shared: dict[str, set[str]] = defaultdict(set)
    for own, both in texts.items():
        for text in itertools.chain(*both):
            shared[folded(text)].add(own)
    return {own: _wording(own, *both, shared, count) for own, both in texts.items()}


def _texts(relation: Relation, found: Mapping[tuple[str, str], Texts]) -> tuple[Texts, Texts]:
    """Return the statements and the questions of a relation; ``found`` has its templates by relation and style."""
    own, by_label = relation.relation_id, {row.style: {row.text: row.template_id} for row in of_label(relation)}
    statements = found.get((own, "statement")) or found.get((own, "prefix")) or by_label["statement"]
    return statements, found.get((own, "question")) or by_label["question"]


def _wording(own: str, told: Texts, asked: Texts, said: Mapping[str, set[str]], count: int) -> Wording:
    others = {name: tuple(sorted(said[folded(text)] - {own})) for text, name in (*told.items(), *asked.items())}
    shared = {name: found for name, found in others.items() if found}
    statements, questions = (
        sorted(((name, text) for text, name in texts.items()), key=lambda one: one[0] in shared)
        for texts in (told, asked)
    )
    spare = statements[count if len(statements) > count else 0][1]
    used = (*statements[:count], *questions[:count])
    by_label = any(name.startswith(f"{own}/{LABEL}/") for name, _ in used)
    return Wording(tuple(statements[:count]), tuple(questions[:count]), spare, shared, by_label)
