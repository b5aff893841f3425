"""EIC-LKE's questions (Wu et al., section 3, "efficient in-context learning").

The train facts of a relation stand in one sequence, and from some place on a test fact stands between them every few
pairs; a sequence carries one choice of each of its test facts, so that as many sequences as a fact has choices score
many facts at once. Subjects and choices are tokenised apart and their ids put together. The paper leaves open which
places these are; ours are after 50, 55, … 95 of 100 train facts, ten a sequence. What stands behind the last test fact
cannot change any score of a causal model and is left out.

A choice is read behind the choices of earlier test facts, most of them wrong. ``isolated`` is the control: the same
places, and only train facts before.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from almanac.rows import Fact, Item, NotAsked, Request
from almanac.suites.asking import Asked, asked_facts
from almanac.suites.ic_lke.eic.options import EicOptions
from almanac.suites.ic_lke.requests import IN_CONTEXT, LAYOUTS, Questioner, by_relation, draw_examples
from almanac.suites.method import Data
from almanac.tables import hash_order

SUITE = "eic_lke"
SEQUENCE, ISOLATED = "sequence", "isolated"
CHOICE = "choice "  # begins a link's role; the choice's number follows
GLUE = {"comma": ", ", "space": " "}


@dataclass(frozen=True, slots=True)
class Cost:
    """What an experiment makes a model read: texts, their characters, and those with each shared context once."""

    KEY: ClassVar = ("experiment",)
    experiment: str
    texts: int
    characters: int
    distinct: int


def ask(data: Data, options: EicOptions, on_step: Callable[[], object] = lambda: None) -> Asked:
    """Ask the test facts in sequences, isolated, and as IC-LKE asks them behind the same first examples.

    Args:
        data: a dataset's tables.
        options: places, separators, sample, seed.
        on_step: called after each relation.

    Returns:
        An item a fact and experiment. In sequences an item has a link a choice, whose ``index`` is the piece.

    Raises:
        AlmanacError: a relation has fewer train facts than ``examples``.
    """
    questioner = Questioner.of(data.facts, data.entities, data.choices, SUITE)
    asked = questioner.asked
    for relation_id, own in by_relation(data.facts).items():
        asked_of = asked_facts(own, options.sample, options.seed)
        if asked_of:
            examples = draw_examples(own, options.examples, options.seed, 0, "examples")
            first = examples[: options.first]
            questioner.ask_in_context(first, asked_of, LAYOUTS["paper"], IN_CONTEXT, f"shots={options.first}")
            _ask_groups(questioner, examples, asked_of, options)
        else:
            asked.refused.append(NotAsked(f"relation {relation_id}", "it has no test fact"))
        on_step()
    asked.beside["costs"] = _costs(asked)
    return asked


def _ask_groups(
    questioner: Questioner, examples: Sequence[Fact], asked_of: Sequence[Fact], options: EicOptions
) -> None:
    facts = {fact.fact_id: fact for fact in asked_of}
    order = hash_order(facts, options.seed, "slots")
    slots = options.slots
    for at in range(0, len(order), len(slots)):
        placed = [(slot, facts[name]) for slot, name in zip(slots, order[at : at + len(slots)], strict=False)]
        _ask_sequences(questioner, examples, placed, options)
        if options.isolated:
            _ask_isolated(questioner, examples, placed, options)


def _ask_sequences(
    questioner: Questioner, examples: Sequence[Fact], placed: Sequence[tuple[int, Fact]], options: EicOptions
) -> None:
    """Ask a group of test facts, each after its number of train facts; a sequence carries one choice of each.

    A fact's choices come in an order of its own. In the order of the table, where the true one stands last, all true
    choices would share a sequence: they alone would be read behind true choices.
    """
    glue = GLUE[options.between]
    context_id = questioner.asked.context(_text(questioner, examples[: options.first], glue))
    items = [questioner.item(fact, SEQUENCE, f"slots={len(options.slots)}") for _, fact in placed]
    labels = [questioner.labels(fact) for _, fact in placed]
    orders = [
        hash_order(map(str, range(len(own))), options.seed, "choices", fact.fact_id)
        for own, (_, fact) in zip(labels, placed, strict=True)
    ]
    for number in range(max(map(len, labels))):
        pieces: list[str] = []
        carried: list[tuple[Item, str, int]] = []
        for place, (slot, fact) in enumerate(placed):
            if place:
                pieces.append(glue + _text(questioner, examples[placed[place - 1][0] : slot], glue))
            if number < len(orders[place]):
                choice = orders[place][number]
                pieces += [f"{glue}{questioner.subject(fact)}", f" {labels[place][int(choice)]}"]
                carried.append((items[place], f"{CHOICE}{choice}", len(pieces) - 1))
        request = Request("", "spans", context_id, "", pieces=tuple(pieces))
        for item, role, index in carried:
            questioner.link(item, role, request, index)


def _ask_isolated(
    questioner: Questioner, examples: Sequence[Fact], placed: Sequence[tuple[int, Fact]], options: EicOptions
) -> None:
    """Ask each test fact at its place by itself: only train facts stand before it."""
    glue = GLUE[options.between]
    for slot, fact in placed:
        context_id = questioner.asked.context(_text(questioner, examples[:slot], glue))
        choices = tuple(f" {label}" for label in questioner.labels(fact))
        request = Request("", "choices", context_id, f"{glue}{questioner.subject(fact)}", choices=choices)
        questioner.add(fact, ISOLATED, f"slots={len(options.slots)}", request)


def _text(questioner: Questioner, facts: Sequence[Fact], glue: str) -> str:
    return glue.join(f"{subject} {found}" for subject, found in map(questioner.pair, facts))


def _costs(asked: Asked) -> list[Cost]:
    """Return what each experiment makes a model read; a request that serves several facts counts once."""
    experiment_of = {item.item_id: item.experiment for item in asked.items}
    requests: dict[str, dict[str, Request]] = {}
    for link in asked.links:
        own = requests.setdefault(experiment_of[link.item_id], {})
        own[link.request_id] = asked.requests[link.request_id]
    rows = []
    for experiment, own in sorted(requests.items()):
        lengths = {key: len(context.text) for key, context in asked.contexts.items()}
        texts = [(request.context_id, length) for request in own.values() for length in _lengths(request)]
        alone = sum(length for _, length in texts)
        whole = alone + sum(lengths[context_id] for context_id, _ in texts if context_id is not None)
        shared = alone + sum(lengths[context_id] for context_id in {one for one, _ in texts} if context_id is not None)
        rows.append(Cost(experiment, len(texts), whole, shared))
    return rows


def _lengths(request: Request) -> Iterator[int]:
    """Yield the characters of each text that a request makes a model read, its context aside."""
    if request.pieces is not None:
        yield sum(map(len, request.pieces))
    for choice in request.choices or ():
        yield len(request.text) + len(choice)
