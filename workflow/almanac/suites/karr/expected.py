"""The second round of KaRR: each fact with the false object that one model expects most, whatever the subject.

The first round asks for the blank behind a relation's template with a literal ``[X]``. The paper puts the model's
likeliest object there in the true one's place.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from almanac.errors import AlmanacError
from almanac.rows import Choices, Fact, Link, NotAsked, Request, Response
from almanac.suites.asking import asked_facts
from almanac.suites.karr.draws import Pools
from almanac.suites.karr.options import EXPECTED
from almanac.suites.karr.requests import FACTS, MINED, SPURIOUS, SUITE, KarrAsked, ask_object, expectation


def ask(
    pools: Pools,
    choices: Iterable[Choices],
    links: Iterable[Link],
    asked: Mapping[str, Request],
    answered: Mapping[str, Response],
    on_fact: Callable[[], object] = lambda: None,
) -> KarrAsked:
    """Ask every fact of the first round with the object that the model expects most of those that are not true of it.

    Args:
        pools: of the first round.
        choices: the wrong choices of each fact.
        links: of the first round.
        asked: its requests, by id.
        answered: the model's responses to them.
        on_fact: called after each fact.

    Returns:
        Items of every method with the setting ``spurious``. A fact is refused whose relation's question has no answer,
        or whose relation has no common object that is not true of its subject.

    Raises:
        AlmanacError: the first round has not asked a fact, or with other settings.
    """
    out = KarrAsked()
    wrong = {row.fact_id: row.labels for row in choices}
    mined = {link.item_id: link.request_id for link in links if link.role == MINED}
    mode = pools.options.modes[0]
    for fact in asked_facts(pools.facts, pools.options.sample, pools.options.seed):
        if fact.relation_id not in pools.templates:
            continue  # the first round has refused it
        question = expectation(pools, fact.relation_id)
        request_id = mined.get(f"{SUITE}/{mode}/{FACTS}/{fact.fact_id}")
        if request_id is None or replace(asked[request_id], request_id="") != question:
            raise AlmanacError(
                f"ask karr: fact {fact.fact_id}: the first round has not asked which object a model expects there; ask "
                "it with spurious: true, of the same dataset and with the same settings as the second"
            )
        found = _expected(pools, fact, question.choices or (), answered[request_id])
        if isinstance(found, NotAsked):
            out.refused.append(found)
        else:
            ask_object(out, pools, fact, {SPURIOUS: found}, wrong)
        on_fact()
    out.share()
    return out


def _expected(pools: Pools, fact: Fact, labels: Sequence[str], response: Response) -> str | NotAsked:
    """Return the object that a model expects most, of equals the commonest, or why there is none."""
    thing = f"fact {fact.fact_id}"
    if response.status != "ok" or response.logprobs is None:
        return NotAsked(thing, f"the object that the model expects is not known: {response.status}: {response.reason}")
    logs = dict(zip(labels, response.logprobs, strict=True))
    common = pools.common_objects[fact.relation_id][:EXPECTED]
    false = pools.untrue(fact, common)
    if not false:
        return NotAsked(thing, f"each of the relation's {len(common)} most common objects is true of its subject")
    return max(false, key=lambda key: logs[pools.names.label(key)])
