"""The second round of KaRR: each fact with the false object that one model expects most, whatever the subject.

The first round asks for the blank behind a relation's template with a literal ``[X]``. The paper puts the model's
likeliest object there in the true one's place.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from almanac.errors import AlmanacError
from almanac.rows import Choices, Draw, Fact, Item, Link, NotAsked, Request, Response
from almanac.suites.asking import asked_facts
from almanac.suites.karr.draws import Pools
from almanac.suites.karr.estimator import VARIANTS
from almanac.suites.karr.requests import (
    FACTS,
    MINED,
    SPURIOUS,
    SUITE,
    KarrAsked,
    ask_object,
    expectable,
    expectation,
)


def ask(
    pools: Pools,
    choices: Iterable[Choices],
    items: Iterable[Item],
    links: Iterable[Link],
    draws: Iterable[Draw],
    asked: Mapping[str, Request],
    answered: Mapping[str, Response],
    on_fact: Callable[[], object] = lambda: None,
) -> KarrAsked:
    """Ask every fact of the first round with the object that the model expects most of those that are not true of it.

    Args:
        pools: of the first round.
        choices: the wrong choices of each fact.
        items: of the first round.
        links: of the first round.
        draws: of the first round.
        asked: its requests, by id.
        answered: the model's responses to them.
        on_fact: called after each fact.

    Returns:
        Items of every method with the setting ``spurious``. A fact is refused whose relation's question has no answer,
        or whose relation has no common object that is not true of its subject.

    Raises:
        AlmanacError: the first round has asked other facts, by other methods, with other draws or with no question
            what is expected.
    """
    out = KarrAsked()
    wrong = {row.fact_id: row.labels for row in choices}
    first = _First.of(items, links, draws)
    for fact in asked_facts(pools.facts, pools.options.sample, pools.options.seed):
        if fact.relation_id not in pools.templates:
            continue  # the first round has refused it
        question = expectation(pools, fact.relation_id)
        request_id = first.mined.get(fact.fact_id)
        if request_id is None or replace(asked[request_id], request_id="") != question:
            raise _differs(fact.fact_id, "has not asked which object a model expects there")
        first.check_draws(pools, fact)
        found = _expected(pools, fact, question.choices or (), answered[request_id])
        if isinstance(found, NotAsked):
            out.refused.append(found)
        else:
            ask_object(out, pools, fact, {SPURIOUS: found}, wrong)
        on_fact()
    first.check_facts(out)
    out.share()
    return out


@dataclass(frozen=True)
class _First:
    """What the second round needs of the first.

    Attributes:
        methods: by which each fact was asked.
        mined: the request that asks what is expected, by fact.
        draws: by item.
    """

    methods: Mapping[str, set[str]]
    mined: Mapping[str, str]
    draws: Mapping[str, set[Draw]]

    @classmethod
    def of(cls, items: Iterable[Item], links: Iterable[Link], draws: Iterable[Draw]) -> "_First":
        methods: dict[str, set[str]] = defaultdict(set)
        fact_of, drawn = {}, defaultdict(set)
        for item in items:
            fact_of[item.item_id] = item.fact_id
            if item.setting == FACTS:
                methods[item.fact_id].add(item.experiment)
        for row in draws:
            drawn[row.item_id].add(row)
        mined = {fact_of[link.item_id]: link.request_id for link in links if link.role == MINED}
        return cls(methods, mined, drawn)

    def check_draws(self, pools: Pools, fact: Fact) -> None:
        """Refuse a fact for whose true object other texts would be drawn than were."""
        for mode in pools.options.modes:
            item_id = f"{SUITE}/{mode}/{FACTS}/{fact.fact_id}"
            drawn = pools.draw(fact, fact.object_key, VARIANTS[mode]).rows(item_id)
            if self.draws.get(item_id) != set(drawn):
                raise _differs(fact.fact_id, f"has not asked it in the mode {mode}, or with other draws")

    def check_facts(self, out: KarrAsked) -> None:
        """Refuse what leaves out a fact of the first round, without a word, or asks one by other methods."""
        asked: dict[str, set[str]] = defaultdict(set)
        for item in out.asked.items:
            asked[item.fact_id].add(item.experiment)
        told = {row.thing for row in out.refused}
        for fact_id, methods in self.methods.items():
            if f"fact {fact_id}" not in told and asked[fact_id] != methods:
                lacking = ", ".join(sorted(methods ^ asked[fact_id]))
                raise _differs(fact_id, f"and the second do not both ask it by {lacking}")


def _differs(fact_id: str, what: str) -> AlmanacError:
    return AlmanacError(
        f"ask karr: fact {fact_id}: the first round {what}; ask it with spurious: true, of the same dataset and with "
        "the same settings as the second"
    )


def _expected(pools: Pools, fact: Fact, labels: Sequence[str], response: Response) -> str | NotAsked:
    """Return the object that a model expects most, of equals the commonest, or why there is none."""
    thing = f"fact {fact.fact_id}"
    if response.status != "ok" or response.logprobs is None:
        return NotAsked(thing, f"the object that the model expects is not known: {response.status}: {response.reason}")
    logs = dict(zip(labels, response.logprobs, strict=True))
    common = expectable(pools, fact.relation_id)
    false = pools.untrue(fact, common)
    if not false:
        return NotAsked(thing, f"each of the relation's {len(common)} most common objects is true of its subject")
    return max(false, key=lambda key: logs[pools.names.label(key)])
