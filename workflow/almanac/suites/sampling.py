"""The facts of a relation that are asked: all test facts, or a seeded sample that balances a planted world's doses."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from almanac.rows import Fact
from almanac.tables import hash_order


def asked_facts(facts: Iterable[Fact], sample: int | None, seed: int, doses: Mapping[str, int]) -> list[Fact]:
    """Return the test facts of one relation, sorted, or a seeded sample of them (none: all).

    Without doses a sample is of the least hashes, and lies in every larger one. With a dose for every test fact it is
    drawn in blocks (`_blocks`), so that it holds as many facts of the lowest dose as of the highest: otherwise a score
    by how often an object was taught, pooled over relations, would tell them apart. Where the doses are even in number
    a sample of an even size then lies in every larger one.

    Args:
        facts: those of the relation, whatever their split.
        sample: how many are asked.
        seed: of the draw; equal for suites that ask the same facts.
        doses: how often facts were taught, where that is known; others' facts may be among them.
    """
    tested = {fact.fact_id: fact for fact in facts if fact.split == "test"}
    order = hash_order(tested, seed, "sample")
    if sample is not None and sample < len(order) and all(name in doses for name in order):
        order = _balanced([tested[name] for name in order], sample, seed, doses)
    return [tested[fact_id] for fact_id in sorted(order[:sample])]


def _balanced(facts: Sequence[Fact], sample: int, seed: int, doses: Mapping[str, int]) -> list[str]:
    """Return a sample of whole blocks; of an odd size one fact more, of a dose between the ends if there is one."""
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
    """Yield blocks of two facts whose doses mirror each other: lowest and highest, and so inwards.

    The pairs of doses come in turn, in an order drawn for the relation; a dose in the middle is a block of its own.
    Within a dose facts come in their order, those first whose object has been drawn least.
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
