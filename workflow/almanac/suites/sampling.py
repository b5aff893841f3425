"""Which facts of a relation are asked: all test facts, or a seeded sample that balances a planted world's doses."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from almanac.rows import Fact
from almanac.tables import hash_order


def asked_facts(facts: Iterable[Fact], sample: int | None, seed: int, doses: Mapping[str, int]) -> list[Fact]:
    """Return the test facts of one relation, sorted, or a seeded sample of them.

    Without doses a sample has the facts with the smallest hashes, and is part of every larger sample. If every test
    fact has a dose, the sample is drawn in blocks (`_blocks`), so that it has as many facts of the lowest dose as of
    the highest: otherwise the frequency of objects, pooled over relations, would separate the two. If the number of
    doses is even, a sample of even size is then part of every larger sample.

    Args:
        facts: the facts of the relation, of any split.
        sample: the number of facts to ask; None: all.
        seed: the seed of the draw; equal for suites that ask the same facts.
        doses: how often facts were taught, if known; it may have facts of other relations.
    """
    tested = {fact.fact_id: fact for fact in facts if fact.split == "test"}
    order = hash_order(tested, seed, "sample")
    if sample is not None and sample < len(order) and all(name in doses for name in order):
        order = _balanced([tested[name] for name in order], sample, seed, doses)
    return [tested[fact_id] for fact_id in sorted(order[:sample])]


def _balanced(facts: Sequence[Fact], sample: int, seed: int, doses: Mapping[str, int]) -> list[str]:
    """Return a sample of whole blocks; for an odd size one fact more, of a middle dose if there is one."""
    levels = sorted({doses[fact.fact_id] for fact in facts})
    ends = {levels[0], levels[-1]}
    drawn: list[str] = []
    for block in _blocks(facts, levels, seed, doses):
        wanted = sample - len(drawn)
        if not wanted:
            break
        if len(block) <= wanted:
            drawn += block
        elif not ends.intersection(doses[name] for name in block):
            drawn += block[:wanted]
    taken = set(drawn)  # facts whose dose has no partner left come last
    drawn += [fact.fact_id for fact in facts if fact.fact_id not in taken]
    return drawn[:sample]


def _blocks(
    facts: Sequence[Fact], levels: Sequence[int], seed: int, doses: Mapping[str, int]
) -> Iterator[tuple[str, ...]]:
    """Yield blocks of two facts of mirrored doses: lowest and highest, second lowest and second highest, and so on.

    The pairs of doses take turns, in an order drawn for the relation; facts of the middle dose are blocks of one.
    Within a dose, facts whose object has been drawn least come first, otherwise in their given order.
    """
    half = range((len(levels) + 1) // 2)
    pairs = {str(at): sorted({levels[at], levels[-1 - at]}) for at in half}
    order = [pairs[name] for name in hash_order(pairs, seed, "blocks", facts[0].relation_id)]
    left = {level: [fact for fact in facts if doses[fact.fact_id] == level] for level in levels}
    used: Counter[str] = Counter()
    while order := [pair for pair in order if all(left[level] for level in pair)]:
        for pair in order:
            block = []
            for level in pair:
                fact = min(left[level], key=lambda one: used[one.object_key])
                left[level].remove(fact)
                used[fact.object_key] += 1
                block.append(fact.fact_id)
            yield tuple(block)
