import hypothesis.strategies as st
from hypothesis import given

from almanac.models.scoring.boundaries import TokenSequence
from almanac.models.scoring.forest.trie import Growing

TEXTS = st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=9).map(tuple), min_size=1, max_size=30)


def whole(ids):
    """Return a sequence of which all but the first token is scored."""
    return TokenSequence(ids, ((1, len(ids)),))


def grown(texts):
    growing = Growing()
    edges = [growing.add(whole(ids)) for ids in texts]
    forest, place = growing.in_order()
    return growing, edges, forest, place


@given(TEXTS)
def test_there_is_a_node_for_every_distinct_beginning_that_something_follows(texts):
    _, _, forest, _ = grown(texts)
    beginnings = {ids[:length] for ids in texts for length in range(1, len(ids))}
    assert len(forest) == len(beginnings)


@given(TEXTS)
def test_the_path_to_a_node_and_the_edge_behind_it_spell_the_text(texts):
    growing, edges, forest, place = grown(texts)
    for ids, own in zip(texts, edges, strict=True):
        for position, edge in enumerate(own, 1):
            node, path = int(place[growing.edge_nodes[edge]]), []
            assert forest.depths[node] == position - 1
            while node >= 0:
                path.append(int(forest.tokens[node]))
                node = int(forest.parents[node])
            assert (*path[::-1], growing.edge_tokens[edge]) == ids[: position + 1]


@given(TEXTS)
def test_an_ancestor_is_what_the_ends_say(texts):
    _, _, forest, _ = grown(texts)
    for node in range(len(forest)):
        ancestors, above = set(), node
        while above >= 0:
            ancestors.add(above)
            above = int(forest.parents[above])
        assert ancestors == {other for other in range(node + 1) if node < forest.ends[other]}


@given(TEXTS, st.randoms(use_true_random=False))
def test_the_forest_does_not_depend_on_the_order(texts, draws):
    shuffled = draws.sample(texts, len(texts))
    (_, _, one, _), (_, _, other, _) = grown(texts), grown(shuffled)
    assert one.tokens.tolist() == other.tokens.tolist()
    assert one.parents.tolist() == other.parents.tolist()


def test_a_head_is_walked_once_and_meets_texts_that_are_spelt_out():
    head = (5, 6, 7)
    growing = Growing()
    shared = growing.add(TokenSequence((8, 9), ((3, 5),), head))
    apart = growing.add(TokenSequence((5, 6, 7, 8, 9), ((3, 5),)))
    assert shared == apart
    assert len(growing.tokens) == 4


def test_a_text_of_one_token_that_nothing_stands_before_has_nothing_to_score():
    growing = Growing()
    assert growing.add(TokenSequence((5,), ((1, 1),))) == []
    assert growing.tokens == []
