"""Prompts packed into rows of small prefix trees: each sees its own tokens and no other's."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from almanac.models.scoring.forest.machines import TreeMachine
from almanac.models.scoring.forest.prefill import packed

RESTS = st.sets(st.lists(st.integers(0, 2), min_size=1, max_size=9).map(tuple), min_size=1, max_size=25)
WIDTH = 12


@given(RESTS)
def test_every_prompt_stands_in_one_row_and_each_token_sees_what_its_prompt_begins_with(rests):
    found = list(packed(list(rests), WIDTH))
    assert sorted(rest for row in found for rest in row.paths) == sorted(rests)
    for row in found:
        assert len(row.ids) <= WIDTH
        for rest, path in row.paths.items():
            assert tuple(row.ids[place] for place in path) == rest
            for depth, place in enumerate(path):
                assert row.depths[place] == depth
                assert [one for one in range(place + 1) if row.ends[one] > place] == path[: depth + 1]
        beginnings = {rest[:stop] for rest in row.paths for stop in range(1, len(rest) + 1)}
        assert len(row.ids) == len(beginnings), "what prompts of a row begin with stands in it once"
        assert row.stem == max(
            stop for stop in range(min(map(len, row.paths)) + 1) if len({one[:stop] for one in row.paths}) == 1
        )


def test_prompts_that_share_a_long_beginning_stand_apart_from_those_that_do_not():
    ones, others = ([(kind, *range(40), last) for last in range(3)] for kind in (1, 2))
    assert [list(row.paths) for row in packed([*ones, *others], 400)] == [ones, others]
    short = [(kind, last) for kind in (1, 2, 3) for last in range(3)]
    assert len(list(packed(short, 400))) == 1, "what saves next to nothing is no reason for another row"


def test_a_prompt_longer_than_a_row_has_one_to_itself():
    long = tuple(range(WIDTH + 3))
    assert [list(row.paths) for row in packed([(*long, 1), (0,), (0, 7)], WIDTH)] == [[(0,)], [(*long, 1)], [(0, 7)]]


def test_what_mixes_tokens_after_the_last_attention_is_computed_at_all_of_them(model, monkeypatch):
    one = model("llama")
    last = one.network.model.layers[-1].mlp
    with TreeMachine(one).session(), torch.inference_mode():
        assert len(TreeMachine(one)._last_maps) == 4, "the output of attention, and the three maps after it"
        own = last.forward
        monkeypatch.setattr(last, "forward", lambda states: own(states + states.mean(dim=1, keepdim=True)))
        assert TreeMachine(one)._last_maps == ()
