"""IC-LKE's questions: examples of a relation, a subject, and 100 choices (Wu et al., section 3)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from almanac.dataset.names import ObjectNames, true_objects
from almanac.errors import AlmanacError
from almanac.rows import Choices, Entity, Fact, Item, Link, Request, Template
from almanac.suites.asking import Asked, asked_facts
from almanac.suites.ic_lke.options import IcLkeOptions
from almanac.tables import hash_order

SUITE = "ic_lke"
IN_CONTEXT = "in_context"
CLOZE = "cloze"
TRUE_CHOICE = "true_choice"
DRAW = ",draw="  # what a setting ends with: the number of the draw of examples


@dataclass(frozen=True)
class Layout:
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
    "paper": Layout(" ", "", " ", " ", " ", ""),
    # The released code: " : " inside a pair, a space after it, a comma between pairs, none before the test subject, and
    # the separator twice before the choice.
    "code": Layout(" : ", " ", ", ", "", " : ", " : "),
}


@dataclass(frozen=True)
class Questioner:
    """Turns test facts into requests: what all questions of a dataset share."""

    names: ObjectNames
    true: Mapping[tuple[str, str], tuple[str, ...]]
    wrong: Mapping[str, Choices]
    asked: Asked
    suite: str = SUITE

    @classmethod
    def of(
        cls, facts: Sequence[Fact], entities: Sequence[Entity], choices: Sequence[Choices], suite: str = SUITE
    ) -> "Questioner":
        """Return the questioner of a dataset, with nothing asked yet."""
        wrong = {row.fact_id: row for row in choices}
        return cls(ObjectNames.of(entities), true_objects(facts), wrong, Asked(), suite)

    def subject(self, fact: Fact) -> str:
        """Return the text shown for a fact's subject."""
        return self.names.label(fact.subject_id)

    def pair(self, fact: Fact) -> tuple[str, str]:
        """Return the texts shown for a fact's subject and object."""
        return self.subject(fact), self.names.label(fact.object_key)

    def labels(self, fact: Fact) -> tuple[str, ...]:
        """Return the choices' labels, the true one last."""
        return (*self.wrong[fact.fact_id].labels, self.names.label(fact.object_key))

    def add(self, fact: Fact, experiment: str, setting: str, request: Request, template: str | None = None) -> None:
        """Add one item with the request that serves it."""
        item = self.item(fact, experiment, setting, template)
        true_choice = len(self.wrong[fact.fact_id].labels)
        self.link(item, TRUE_CHOICE, request, true_choice)

    def item(self, fact: Fact, experiment: str, setting: str, template: str | None = None) -> Item:
        """Add one item, without a request, and return it."""
        item_id = f"{self.suite}/{experiment}/{setting}/{fact.fact_id}"
        accepted = tuple(self.names.label(key) for key in self.true[fact.relation_id, fact.subject_id])
        item = Item(item_id, self.suite, experiment, fact.fact_id, fact.relation_id, template, setting, accepted)
        self.asked.items.append(item)
        return item

    def link(self, item: Item, role: str, request: Request, index: int | None) -> None:
        """Add a request that serves an item."""
        self.asked.links.append(Link(item.item_id, role, self.asked.request(request), index, None))

    def ask_in_context(
        self,
        examples: Sequence[Fact],
        tested: Sequence[Fact],
        layout: Layout,
        experiment: str,
        setting: str,
        best_only: bool = False,
        template: str | None = None,
    ) -> None:
        """Ask test facts behind examples, as `choices` requests that share a context."""
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


def ask(
    facts: Sequence[Fact],
    entities: Sequence[Entity],
    choices: Sequence[Choices],
    templates: Sequence[Template],
    options: IcLkeOptions,
    on_relation: Callable[[], object] = lambda: None,
) -> Asked:
    """Put every test fact as a `choices` request behind the examples of its relation.

    One draw of examples serves all test facts of a relation, so that they share a context. The true choice stands last.

    Args:
        facts: a dataset's facts; ``split`` tells train from test.
        entities: the names of subjects and objects.
        choices: the wrong choices of each test fact.
        templates: sentences of the relations, for the cloze; of each relation the first whose object comes last.
        options: number of examples, draws, layout, cloze, seed.
        on_relation: called after each relation.

    Raises:
        AlmanacError: a relation has fewer train facts than examples are asked for.
    """
    questioner = Questioner.of(facts, entities, choices)
    sentences = {row.relation_id: row for row in reversed(templates) if row.text.rstrip(" .").endswith("[Y]")}
    for relation_id, own in by_relation(facts).items():
        asked_of = asked_facts(own, options.sample, options.seed)
        for draw in range(options.draws):
            examples = draw_examples(own, options.shots, options.seed, draw)
            setting = f"shots={options.shots}{DRAW}{draw}"
            layout = LAYOUTS[options.layout]
            questioner.ask_in_context(examples, asked_of, layout, IN_CONTEXT, setting, options.best_only)
        if options.cloze and relation_id in sentences:
            _ask_cloze(questioner, asked_of, sentences[relation_id])
        on_relation()
    return questioner.asked


def _ask_cloze(questioner: Questioner, tested: Sequence[Fact], template: Template) -> None:
    """Ask a sentence with a blank for the object, to be filled from the choices."""
    for fact in tested:
        text = template.text.replace("[X]", questioner.subject(fact)).replace("[Y]", "[MASK]")
        request = Request(request_id="", kind="fill", context_id=None, text=text, choices=questioner.labels(fact))
        questioner.add(fact, CLOZE, "template", request, template.template_id)


def by_relation(facts: Iterable[Fact]) -> dict[str, list[Fact]]:
    """Return the facts of each relation, relations sorted."""
    found: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        found[fact.relation_id].append(fact)
    return dict(sorted(found.items()))


def chosen(facts: Iterable[Fact], relations: Sequence[str], suite: str) -> dict[str, list[Fact]]:
    """Return the facts of the relations that a suite's ``relations`` names, or of all where it names none.

    Raises:
        AlmanacError: the dataset has no such relation.
    """
    found = by_relation(facts)
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
