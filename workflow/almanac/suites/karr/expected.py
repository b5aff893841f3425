"""The second round of KaRR: each fact with the false object that one model expects most, whatever the subject.

The first round asks for the blank after one template of each relation, with a literal ``[X]`` as subject. The most
probable of the relation's common objects that is not true replaces the true object (the paper takes tokens instead).
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from almanac.errors import AlmanacError
from almanac.rows import Fact, NotAsked
from almanac.suites.answers import Answers
from almanac.suites.asked import Batch
from almanac.suites.karr.asking import FACTS, MINED, SPURIOUS, Asker, expectation
from almanac.suites.karr.baselines import K_PROMPTS, LAMA, PARAREL
from almanac.suites.karr.draws import FactDraw, Pools
from almanac.suites.karr.estimator import VARIANTS
from almanac.suites.karr.rows import Draw

WANTED = (
    *("experiment", "asked", "fact_id", "relation_id", "role", "text", "choices"),
    *("status", "reason", "logprobs", "token_counts"),
)


def ask(asker: Asker, facts: Sequence[Fact], before: Answers) -> Iterator[Batch]:
    """Yield every fact of the first round with the false object that the model expects most.

    A fact is refused if its relation's question has no answer, or if each common object of the relation is true of its
    subject or cannot be written by the tokenizer.

    Raises:
        AlmanacError: the first round asked other facts, by other methods, with other draws, or without `expectation`.
    """
    pools, options = asker.pools, asker.pools.options
    first = _First(before, pools)
    objects = []
    for fact in facts:
        found = first.expected(pools, fact)
        if isinstance(found, NotAsked):
            asker.asked.refuse(found.thing, found.reason)
        else:
            objects.append((fact, {SPURIOUS: found}))
    prompts = [K_PROMPTS] if "paper" in options.modes else []
    methods = {*options.modes, *((*LAMA, PARAREL, *prompts) if options.baselines else ())}
    first.check_facts({fact.fact_id for fact in facts}, methods)
    yield from asker.ask(objects)


class _First:
    """What the second round needs of the first.

    Attributes:
        methods: the methods by which each fact was asked; a mode counts only if these settings give the same draws.
        mined: by relation, the response to `expectation` with its request.
    """

    def __init__(self, before: Answers, pools: Pools) -> None:
        self.methods: dict[str, set[str]] = defaultdict(set)
        self.mined: dict[str, Mapping[str, Any]] = {}
        facts = {fact.fact_id: fact for listed in pools.data.split_facts.values() for fact in listed}
        for part in before.parts(WANTED, ["draws"]):
            links = part.links.filter(pl.col("asked") == FACTS)
            drawn = {key[0]: rows for key, rows in part.own["draws"].group_by("item")}
            asked = links.unique("item", keep="first", maintain_order=True).select("item", "experiment", "fact_id")
            for item, experiment, fact_id in asked.iter_rows():
                methods, fact = self.methods[fact_id], facts.get(fact_id)
                if experiment in pools.options.modes and fact is not None:
                    asked_draw = FactDraw.of(Draw(**row) for row in drawn[item].iter_rows(named=True))
                    if asked_draw != pools.draw(fact, fact.object_key, VARIANTS[experiment]):
                        continue
                methods.add(experiment)
            mined = links.filter(pl.col("role") == MINED).unique("relation_id", keep="first", maintain_order=True)
            for row in mined.iter_rows(named=True):
                self.mined.setdefault(row["relation_id"], row)

    def expected(self, pools: Pools, fact: Fact) -> str | NotAsked:
        """Return the false object that the model expects most (of ties the most common one), or why there is none."""
        thing, question = f"fact {fact.fact_id}", expectation(pools, fact.relation_id)
        mined = self.mined.get(fact.relation_id) if fact.fact_id in self.methods else None
        if mined is None or (mined["text"], tuple(mined["choices"])) != (question.text, question.choices):
            raise _differs(fact.fact_id, "has not asked which object a model expects there")
        if mined["status"] != "ok" or mined["logprobs"] is None:
            reason = f"the object that the model expects is not known: {mined['status']}: {mined['reason']}"
            return NotAsked(thing, reason)
        counts = mined["token_counts"] or (1,) * len(mined["choices"])
        # A name that the tokenizer cannot write has the log-probability of the unknown token.
        written = zip(mined["choices"], mined["logprobs"], counts, strict=True)
        logs = {label: logprob for label, logprob, count in written if count}
        common = pools.common_objects[fact.relation_id]
        false = [key for key in pools.data.false_objects(fact, common) if pools.names.label(key) in logs]
        if not false:
            unwritten = "" if len(logs) == len(counts) else " or cannot be written by the tokenizer"
            what = f"is true of its subject{unwritten}"
            return NotAsked(thing, f"each of the relation's {len(common)} most common objects {what}")
        return max(false, key=lambda key: logs[pools.names.label(key)])

    def check_facts(self, facts: set[str], methods: set[str]) -> None:
        """Raise if the second round leaves out a fact of the first, or asks it by other methods."""
        for fact_id, asked_by in self.methods.items():
            lacking = asked_by ^ (methods if fact_id in facts else set())
            if lacking:
                which = ", ".join(sorted(lacking))
                raise _differs(fact_id, f"and the second do not both ask it, with the same draws, by {which}")


def _differs(fact_id: str, what: str) -> AlmanacError:
    return AlmanacError(
        f"ask karr: fact {fact_id}: the first round {what}; ask it with spurious: true, of the same dataset and with "
        "the same settings as the second"
    )
