import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from almanac.models.scoring.forest.plan import Shape, plan, rows
from almanac.models.scoring.forest.trie import Forest, Growing

TEXTS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=40).map(tuple), min_size=1, max_size=40)
SHAPES = st.sampled_from([Shape(8, 12, 3), Shape(16, 24, 4), Shape(16, 200, 8), Shape()])


def forest_of(texts) -> Forest:
    growing = Growing()
    for ids in texts:
        growing.add_place(ids)
    return growing.in_order()[0]


def trunks(trunk):
    yield trunk
    for grown in trunk.trunks:
        yield from trunks(grown)


def path(forest, node):
    found = []
    while node >= 0:
        found.append(node)
        node = int(forest.parents[node])
    return found[::-1]


@given(TEXTS, SHAPES)
def test_every_token_has_one_place_of_its_own(texts, shape):
    forest = forest_of(texts)
    own = []
    for trunk in trunks(plan(forest, shape)):
        own += trunk.nodes[trunk.copied :]
        for packed in rows(forest, trunk, shape):
            own += packed.nodes[packed.own].tolist()
    assert sorted(own) == list(range(len(forest)))


@given(TEXTS, SHAPES)
def test_what_a_place_sees_with_the_trunk_is_its_path(texts, shape):
    forest = forest_of(texts)

    def check(trunk, above):
        stem = above + trunk.nodes
        if trunk.nodes:
            assert stem == path(forest, trunk.nodes[-1])
        assert len(stem) == trunk.length
        for packed in rows(forest, trunk, shape):
            for nodes, ends in zip(packed.nodes, packed.ends, strict=True):
                for place, node in enumerate(nodes.tolist()):
                    if node >= 0:
                        seen = [int(nodes[other]) for other in range(place + 1) if place < ends[other]]
                        assert stem + seen == path(forest, node)
        for grown in trunk.trunks:
            check(grown, stem)

    check(plan(forest, shape), [])


@given(TEXTS, SHAPES)
def test_what_is_not_there_sees_and_is_seen_by_nothing_else(texts, shape):
    forest = forest_of(texts)
    for trunk in trunks(plan(forest, shape)):
        for packed in rows(forest, trunk, shape):
            empty = packed.nodes < 0
            width = packed.nodes.shape[1]
            assert np.array_equal(packed.ends[empty], np.tile(np.arange(1, width + 1), (len(packed.nodes), 1))[empty])
            assert not packed.own[empty].any()


def in_context(facts, choices, prefix, draws):
    """Return texts as in-context scoring asks them: one prefix, subjects of 3 tokens, choices of 3 of a pool."""
    pool = [tuple(draws.integers(5, 3000, size=draws.integers(2, 5)).tolist()) for _ in range(700)]
    stem = tuple(draws.integers(5, 16000, size=prefix).tolist())
    for _ in range(facts):
        subject = tuple(draws.integers(5, 16000, size=3).tolist())
        for choice in draws.choice(len(pool), choices, replace=False):
            yield (*stem, *subject, *pool[choice][:-1])


def test_in_context_questions_are_fed_with_five_percent_more_tokens_than_there_are():
    forest = forest_of(in_context(60, 100, 300, np.random.default_rng(0)))
    shape = Shape()
    root = plan(forest, shape)
    [trunk] = root.trunks
    assert (len(root.pool), trunk.length) == (0, 300)
    fed = trunk.length + sum(packed.nodes.size for packed in rows(forest, trunk, shape))
    assert fed <= 1.05 * len(forest)


def test_a_long_text_that_shares_nothing_is_a_trunk_by_itself_and_short_ones_share_rows():
    texts = [tuple(range(1000)), *((first, 2, 3, 4, 5, 6, 7) for first in range(2000, 2030))]
    forest = forest_of(texts)
    root = plan(forest, Shape())
    assert [trunk.length for trunk in root.trunks] == [1000]
    [packed] = rows(forest, root, Shape())
    assert packed.nodes.shape == (2, 192)
    assert (packed.nodes >= 0).sum() == 210


def test_trunks_stand_on_trunks():
    stem = tuple(range(100))
    texts = [(*stem, *range(start, start + 100), end) for start in (1000, 2000) for end in range(3000, 3600)]
    root = plan(forest_of(texts), Shape())
    [first] = root.trunks
    assert [trunk.length for trunk in first.trunks] == [200, 200]
    assert [len(trunk.pool) for trunk in first.trunks] == [600, 600]
