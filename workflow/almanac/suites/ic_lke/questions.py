"""IC-LKE's questions: examples of a relation, a subject, and choices of which one is true (Wu et al., section 3)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

from almanac.dataset.names import ObjectNames
from almanac.errors import AlmanacError
from almanac.rows import Choices, Fact, Request
from almanac.suites.asked import Asked
from almanac.suites.data import Data
from almanac.suites.sampling import asked_facts
from almanac.suites.suite import Own
from almanac.tables import hash_order

TRUE_CHOICE = "true_choice"


@dataclass(frozen=True, slots=True)
class Offered:
    """How many choices an item offers."""

    KEY: ClassVar = ("item",)
    item: int
    offered: int


OFFERED = {"offered": Own(Offered, of="item")}


@dataclass(frozen=True)
class PromptLayout:
    """The strings between subject, object, example and choice."""

    inside: str
    after_example: str
    between: str
    before_subject: str
    before_choice: str
    after_subject: str

    def context(self, pairs: Sequence[tuple[str, str]]) -> str:
        """Return the examples as one text, up to where the test subject begins."""
        if not pairs:
            return ""
        examples = (f"{subject}{self.inside}{found}{self.after_example}" for subject, found in pairs)
        return self.between.join(examples)

    def question(self, subject: str, after_examples: bool) -> str:
        """Return the text between the examples and the choice."""
        return f"{self.before_subject if after_examples else ''}{subject}{self.after_subject}"


LAYOUTS = {
    # One space everywhere. The context ends at the subject and the choice brings its space: no token spans the cut.
    "paper": PromptLayout(" ", "", " ", " ", " ", ""),
    # The released code: " : " inside a pair, a space after it, a comma between pairs, none before the test subject, and
    # the separator twice before the choice.
    "code": PromptLayout(" : ", " ", ", ", "", " : ", " : "),
}


@dataclass(frozen=True)
class Questioner:
    """Turns test facts into questions: what all questions of a dataset share.

    ``facts`` are the train and test facts by relation, ``tested`` those of them that are asked.
    """

    names: ObjectNames
    true: Mapping[tuple[str, str], tuple[str, ...]]
    wrong: Mapping[str, Choices]
    facts: Mapping[str, list[Fact]]
    tested: Mapping[str, list[Fact]]
    asked: Asked

    @classmethod
    def of(
        cls,
        data: Data,
        own: Mapping[str, type],
        sample: int | None,
        seed: int,
        facts: Mapping[str, list[Fact]] | None = None,
    ) -> "Questioner":
        """Return the questioner of the facts of a dataset that are asked, with nothing asked yet.

        Args:
            data: the dataset.
            own: the suite's own tables of what is asked.
            sample: how many facts of a relation are asked (none: all), as `sampling.asked_facts` draws them.
            seed: of that draw.
            facts: the train and test facts of each relation that is asked, as `chosen` has them; none: of all.
        """
        facts = data.drawn if facts is None else facts
        tested = {
            relation_id: asked_facts(of_relation, sample, seed, data.doses)
            for relation_id, of_relation in facts.items()
        }
        return cls(data.names, data.true, data.choices_of(chain(*tested.values())), facts, tested, Asked(own))

    def relations(self) -> Iterator[tuple[str, list[Fact], list[Fact]]]:
        """Yield the relations that can be asked, each with its train and test facts and those that are asked.

        One without a test fact is refused; what is refused after the last one stands in the batch that is taken then.
        """
        for relation_id, own in self.facts.items():
            if tested := self.tested[relation_id]:
                yield relation_id, own, tested
            else:
                self.asked.refuse(f"relation {relation_id}", "it has no test fact")

    def subject(self, fact: Fact) -> str:
        """Return the text shown for a fact's subject."""
        return self.names.label(fact.subject_id)

    def pair(self, fact: Fact) -> tuple[str, str]:
        """Return the texts shown for a fact's subject and object."""
        return self.subject(fact), self.names.label(fact.object_key)

    def labels(self, fact: Fact) -> tuple[str, ...]:
        """Return the choices' labels, the true one last."""
        return (*self.wrong[fact.fact_id].labels, self.names.label(fact.object_key))

    def item(self, fact: Fact, experiment: str, setting: Any, template: str | None = None) -> int:
        """Add one item, without a request, and return its number."""
        accepted = tuple(self.names.label(key) for key in self.true[fact.relation_id, fact.subject_id])
        item = self.asked.item(experiment, setting, fact, accepted, template=template)
        self.asked.own["offered"].append(Offered(item, len(self.wrong[fact.fact_id].labels) + 1))
        return item

    def add(self, fact: Fact, experiment: str, setting: Any, request: Request, template: str | None = None) -> None:
        """Add one item with the request that serves it."""
        item = self.item(fact, experiment, setting, template)
        self.asked.link(item, TRUE_CHOICE, request, len(self.wrong[fact.fact_id].labels))

    def ask_in_context(
        self,
        examples: Sequence[Fact],
        tested: Sequence[Fact],
        layout: PromptLayout,
        experiment: str,
        setting: Any,
        best_only: bool = False,
        template: str | None = None,
    ) -> None:
        """Ask test facts after examples, as `choices` requests that share a context."""
        pairs = list(map(self.pair, examples))
        context_id = self.asked.context(layout.context(pairs)) if pairs else None
        for fact in tested:
            request = Request(
                request_id="",
                kind="choices",
                context_id=context_id,
                text=layout.question(self.subject(fact), bool(pairs)),
                choices=tuple(f"{layout.before_choice}{label}" for label in self.labels(fact)),
                best_only=best_only or None,
            )
            self.add(fact, experiment, setting, request, template)


def chosen(found: Mapping[str, list[Fact]], relations: Sequence[str], suite: str) -> dict[str, list[Fact]]:
    """Return the facts of the relations that a suite's ``relations`` names, or of all where it names none.

    Args:
        found: the facts of each relation of the dataset (`Data.drawn`, `Data.by_relation`).
        relations: those that are named.
        suite: its name, for the message.

    Raises:
        AlmanacError: the dataset has no such relation.
    """
    for relation_id in relations:
        if relation_id not in found:
            raise AlmanacError(
                f"{suite}: relations: {relation_id!r} is not in the dataset, which has {', '.join(found)}; correct it"
            )
    return {relation_id: own for relation_id, own in found.items() if not relations or relation_id in relations}


def draw_examples(facts: Sequence[Fact], shots: int, seed: int, draw: int, key: str = "shots") -> list[Fact]:
    """Draw the in-context examples of a relation from its train facts, in one seeded order.

    Fewer examples of the same draw are the first of more.

    Args:
        facts: of one relation.
        shots: how many.
        seed: of the draws.
        draw: the number of the draw.
        key: the setting that says how many, for the message.

    Raises:
        AlmanacError: there are fewer train facts than ``shots``.
    """
    train = {fact.fact_id: fact for fact in facts if fact.split == "train"}
    if len(train) < shots:
        raise AlmanacError(
            f"relation {facts[0].relation_id!r} has {len(train)} train facts and {shots} examples are asked "
            f"for; lower `{key}` or raise the dataset's `train`"
        )
    order = hash_order(train, seed, "examples", facts[0].relation_id, draw)
    return [train[fact_id] for fact_id in order[:shots]]
