"""Makes prompts of drawn questions: each question by every prompt, and as a cloze (a sentence to be completed)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

import polars as pl

from almanac.dataset.names import ObjectNames
from almanac.rows import Entity, Fact
from almanac.suites.asked import Asked, Batch, greedy
from almanac.suites.data import Data
from almanac.suites.head_to_tail.buckets import count, predicates
from almanac.suites.head_to_tail.drawing import AskedWording, DrawnQuestion, QuestionDrawing
from almanac.suites.head_to_tail.options import HeadToTailOptions
from almanac.suites.head_to_tail.rows import EntityTraits
from almanac.suites.head_to_tail.templates import QuestionWording
from almanac.suites.prompts import prompts
from almanac.tables import seed_of

QUESTION, CLOZE = "question", "cloze"
ANSWER = "answer"  # the role of the request for the answer
TOP = 10  # one in so many of the head's questions counts as most popular


class HeadToTailSetting(NamedTuple):
    """The prompt of an item; and which of the answers at temperature 1 is judged (empty: the greedy answer)."""

    prompt: str
    repeat: int | None = None

    def label(self) -> str:
        """Describe the setting to a reader of the page."""
        said = self.prompt.replace("_", "-")
        return said if self.repeat is None else f"{said}, asked again at temperature 1, answer {self.repeat + 1}"


def instruction(prompt: str, example: tuple[str, str] | None = None) -> str:
    """Return the text before a question: the instruction and its shots, separated by blank lines.

    Args:
        prompt: the name of the prompt.
        example: a question of the same template with its answer, which some prompts include.
    """
    told = prompts("head_to_tail")["ask"][prompt]
    shots = [tuple(shot) for shot in told.get("shots", ())]
    if told.get("example") and example is not None:
        shots.append(example)
    parts = [told["text"], *(f"Question: {question}\nAnswer: {answer}" for question, answer in shots)]
    # The model's wrapper adds one line break; a second one makes a blank line before the question.
    return "\n\n".join(parts) + ("\n" if shots else "")


def ask(data: Data, options: HeadToTailOptions, own: Mapping[str, type]) -> Iterator[Batch]:
    """Draw the questions (`QuestionDrawing`), and yield their requests."""
    asked = Asked(own)
    drawing = QuestionDrawing(data, options, asked.refuse)
    askings = list(drawing.askings())
    asked.own["buckets"] += count(drawing.popular, drawing.measured)
    asker = _DrawnAsker(data, options, asked, askings)
    for asking in askings:
        asker.ask(asking)
        yield asked.take()
    yield asked.take()


def most_popular(drawn: Sequence[DrawnQuestion]) -> set[tuple[str, str]]:
    """Return (fact, name) of the most popular tenth of each type's head questions, rounded up; ties by fact."""
    head = [row for row in drawn if row.bucket == "head"]
    head.sort(key=lambda row: (row.kind, -(row.popularity or 0), row.fact_id))
    kinds = [list(own) for _, own in groupby(head, lambda row: row.kind)]
    return {(row.fact_id, row.name) for own in kinds for row in own[: -(-len(own) // TOP)]}


def _names(data: Data, askings: Sequence[AskedWording]) -> ObjectNames:
    """Return the names of the objects of the drawn questions alone, since a dataset may be large."""
    rows = [row for one in askings for row in (*one.drawn, *([one.spare] if one.spare else []))]
    keys = sorted({key for row in rows for key in row.objects})
    found = data.frame("entities", Entity).filter(pl.col("entity_id").is_in(keys))
    return ObjectNames.of(
        Entity(name, label, tuple(aliases), kind)
        for name, label, aliases, kind in found.select("entity_id", "label", "aliases", "type").rows()
    )


class _DrawnAsker:
    """Makes the items and requests of drawn questions."""

    def __init__(self, data: Data, options: HeadToTailOptions, asked: Asked, askings: Sequence[AskedWording]) -> None:
        self.options, self.asked = options, asked
        self.names, self.predicates = _names(data, askings), predicates(data)
        self.top = most_popular([row for one in askings for row in one.drawn])

    def ask(self, asking: AskedWording) -> None:
        """Ask the questions of one template in every form and by every prompt."""
        for form in (QUESTION, CLOZE) if self.options.cloze else (QUESTION,):
            if form == CLOZE and asking.wording.cloze is None and asking.drawn:
                self.asked.refuse(f"relation {asking.relation.relation_id}: {CLOZE}", "no sentence ends in the object")
                continue
            for prompt in self.options.prompts:
                example = None
                if prompts("head_to_tail")["ask"][prompt].get("example"):
                    if asking.spare is None:
                        if asking.drawn:
                            thing = f"{asking.wording.template_id}: {form}, {prompt}"
                            self.asked.refuse(thing, "no question is left as an example")
                        continue
                    text = self._text(asking.wording, asking.spare, form)
                    example = (text, self.names.label(asking.spare.objects[0]))
                for row in asking.drawn:
                    self._one(asking, row, form, prompt, instruction(prompt, example))

    def _text(self, wording: QuestionWording, row: DrawnQuestion, form: str) -> str:
        """Return the question or the cloze about one subject."""
        kind = self.names.entities[row.objects[0]].type if row.objects[0] in self.names.entities else None
        own = wording.variants.get(kind or "", {QUESTION: wording.question, CLOZE: wording.cloze or ""})
        return own[form].replace("[Y]", prompts("head_to_tail")["blank"]).replace("[X]", row.name)

    def _one(self, asking: AskedWording, row: DrawnQuestion, form: str, prompt: str, told: str) -> None:
        """Ask one question in one way: greedily, and again at temperature 1 if ``repeats`` is set."""
        options, relation, wording = self.options, asking.relation, asking.wording
        once = greedy(self._text(wording, row, form), options.answer_tokens, instruction=told)
        seed = seed_of(options.seed, "repeats", once.instruction, once.text) % 2**31
        again = replace(once, samples=options.repeats, temperature=1.0, seed=seed)
        fact = Fact(row.fact_id, relation.relation_id, row.subject, None, None, None, None, (), None, "")
        accepted = tuple(dict.fromkeys(name for key in row.objects for name in self.names.names(key)))
        natural = wording.natural and relation.relation_id not in options.unnatural
        traits = (row.popularity, row.bucket, (row.fact_id, row.name) in self.top)
        predicate = self.predicates.get(relation.relation_id)
        for repeat in (None, *range(options.repeats)):
            setting = HeadToTailSetting(prompt, repeat)
            item = self.asked.item(form, setting, fact, accepted, template=wording.template_id)
            question = EntityTraits(item, wording.domain, row.kind, *traits, predicate, natural, wording.answer_kind)
            self.asked.own["questions"].append(question)
            self.asked.link(item, ANSWER, once if repeat is None else again, repeat or 0)
