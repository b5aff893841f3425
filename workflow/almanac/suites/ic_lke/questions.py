"""IC-LKE's questions: examples of a relation, a subject, and choices, one of them true (Wu et al., section 3)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar

from almanac.errors import AlmanacError
from almanac.rows import Fact, Request
from almanac.suites.asked import Asked
from almanac.suites.data import Data
from almanac.suites.suite import Asks, Own
from almanac.tables import hash_order

TRUE_CHOICE = "true_choice"


@dataclass(frozen=True, slots=True)
class Offered:
    """How many choices an item offers.

    Attributes:
        offered: the number of choices.
    """

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
        examples = (f"{subject}{self.inside}{label}{self.after_example}" for subject, label in pairs)
        return self.between.join(examples)

    def question(self, subject: str, after_examples: bool) -> str:
        """Return the text between the examples and the choice."""
        return f"{self.before_subject if after_examples else ''}{subject}{self.after_subject}"


LAYOUTS = {
    # One space everywhere. The text ends at the subject and the choice brings its space: no token spans the cut.
    "paper": PromptLayout(" ", "", " ", " ", " ", ""),
    # The released code: " : " inside a pair, a space after it, a comma between pairs but not before the test subject,
    # and the separator twice before the choice.
    "code": PromptLayout(" : ", " ", ", ", "", " : ", " : "),
}


class Questioner:
    """Turns the test facts of a dataset into a suite's items and requests.

    ``facts`` holds the train and test facts by relation, ``tested`` those that are asked.
    """

    def __init__(self, suite: Asks[Any], data: Data, options: Any, relations: Sequence[str] = ()) -> None:
        """Start with no items; ``tested`` is sampled by the options ``sample``, ``at_least`` and ``seed``.

        Raises:
            AlmanacError: the dataset has no such relation.
        """
        self.facts = {name: data.split_facts[name] for name in data.chosen(relations, f"{suite.name}: relations")}
        tested = data.tested(options.sample, options.seed, options.at_least)
        self.tested = {relation_id: tested[relation_id] for relation_id in self.facts}
        self.names, self.true = data.names, data.true_objects
        self.wrong = data.choices_of(chain(*self.tested.values()))
        self.asked = Asked(suite.tables("asked"))

    def relations(self) -> Iterator[tuple[str, list[Fact], list[Fact]]]:
        """Yield each relation that can be asked with its train and test facts, and with the facts that are asked.

        A relation without a test fact is refused in the batch that is taken next, which may be after the iteration.
        """
        for relation_id, facts in self.facts.items():
            if tested := self.tested[relation_id]:
                yield relation_id, facts, tested
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
        """Add an item without a request, and return its number."""
        accepted = tuple(self.names.label(key) for key in self.true[fact.relation_id, fact.subject_id])
        item = self.asked.item(experiment, setting, fact, accepted, template=template)
        self.asked.own["offered"].append(Offered(item, len(self.wrong[fact.fact_id].labels) + 1))
        return item

    def add(
        self,
        fact: Fact,
        experiment: str,
        setting: Any,
        request: Request,
        template: str | None = None,
        before: str = " ",
    ) -> None:
        """Add an item with its request, to which the choices are added, each preceded by ``before``."""
        item = self.item(fact, experiment, setting, template)
        offered = replace(request, choices=tuple(f"{before}{label}" for label in self.labels(fact)))
        self.asked.link(item, TRUE_CHOICE, offered, len(self.wrong[fact.fact_id].labels))

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
        """Ask test facts after examples, as `choices` requests that share one context."""
        pairs = list(map(self.pair, examples))
        context_id = self.asked.context(layout.context(pairs)) if pairs else None
        for fact in tested:
            text = layout.question(self.subject(fact), bool(pairs))
            request = Request("", "choices", context_id, text, best_only=best_only or None)
            self.add(fact, experiment, setting, request, template, layout.before_choice)


def draw_examples(facts: Sequence[Fact], shots: int, seed: int, draw: int, key: str = "shots") -> list[Fact]:
    """Draw the in-context examples of a relation: the first ``shots`` of its train facts in a seeded order.

    Fewer examples of the same draw are therefore the beginning of more. ``key`` names the option in the error message.

    Raises:
        AlmanacError: there are fewer train facts than ``shots``.
    """
    train = {fact.fact_id: fact for fact in facts if fact.split == "train"}
    if len(train) < shots:
        raise AlmanacError(
            f"relation {facts[0].relation_id!r} has {len(train)} train facts and {shots} examples are asked for; "
            f"lower `{key}`, raise the dataset's `train`, or, where facts have a `split`, make more of them `train`"
        )
    order = hash_order(train, seed, "examples", facts[0].relation_id, draw)
    return [train[fact_id] for fact_id in order[:shots]]
