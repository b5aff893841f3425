import itertools
import re
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from almanac.models.causal import CausalModel
from almanac.models.scoring import seams
from almanac.models.scoring.boundaries import token_range, tokenise
from almanac.models.tokens import Tokens
from almanac.rows import Request

KINDS = ("byte_level", "metaspace", "unigram", "wordpiece")


@pytest.fixture(scope="session", params=KINDS)
def reader(request, tokenizer):
    """A model that only tokenises."""
    return CausalModel(SimpleNamespace(), Tokens(tokenizer(request.param)), "", None)


def choices(text, *given_choices):
    return Request("r", "choices", None, text, choices=given_choices)


def spans(text, *pairs, context=None):
    starts, ends = zip(*pairs, strict=True)
    return Request("r", "spans", context, text, span_starts=starts, span_ends=ends)


def scored_ids(tokenised):
    return [[sequence.ids[slice(*part)] for part in sequence.parts] for sequence in tokenised.sequences]


def plain(text):
    """A text as a lowercasing tokenizer that splits Chinese signs leaves it, without spaces."""
    return text.lower().replace("ï", "i").replace("ë", "e").replace(" ", "")


words = st.text(st.sampled_from("aPR 1290,.:'éï東\n"), min_size=1, max_size=12)


@settings(deadline=None, max_examples=150)
@given(text=st.one_of(st.just(""), words), choice=words)
def test_ids_are_those_of_the_joint_text_and_the_right_ones_are_scored(reader, text, choice):
    [tokenised] = tokenise([choices(text, choice)], {}, reader)
    whole = reader.tokens.tokenizer(text + choice, add_special_tokens=False, return_offsets_mapping=True)
    special = reader.tokens.before(whole["input_ids"])
    # The tokens that end past the boundary, but for a first one that nothing stands before. Ends only: the starts of
    # these offsets are trimmed.
    expected = sum(end > len(text) for _, end in whole["offset_mapping"])
    expected = min(expected, len(special) + len(whole["input_ids"]) - 1) if whole["input_ids"] else 0
    if not expected:
        assert tokenised.problem is not None
        return
    [sequence] = tokenised.sequences
    [(start, stop)] = sequence.parts
    assert sequence.ids == (*special, *whole["input_ids"])
    assert (stop - start, stop) == (expected, len(sequence.ids))


@pytest.mark.parametrize("choice", [" 1815", " 3M", " naïve", " 東京", " Zoë", " Rome is", " x"])
def test_a_choice_after_a_space_holds_exactly_its_own_text(reader, choice):
    text = "Paris is the capital of"
    [tokenised] = tokenise([choices(text, choice)], {}, reader)
    [[ids]] = scored_ids(tokenised)
    if reader.tokens.tokenizer.unk_token_id not in ids:
        assert plain(reader.tokens.decode(ids)) == plain(choice)


def test_a_token_over_the_boundary_belongs_to_the_choice(reader):
    [tokenised] = tokenise([choices("the capi", "tal")], {}, reader)
    [sequence] = tokenised.sequences
    [(start, stop)] = sequence.parts
    assert stop == len(sequence.ids) and start < stop
    assert sequence.ids == (*reader.tokens.prefix, *reader.tokens.ids("the capital"))


def test_a_context_and_a_text_are_one_text(reader):
    split = Request("r", "choices", "c", " the cap", choices=("ital of France",))
    whole = choices("Paris is the cap", "ital of France")
    assert tokenise([split], {"c": "Paris is"}, reader) == tokenise([whole], {}, reader)


def test_a_text_that_is_cut_anywhere_is_tokenised_as_the_whole_or_not_from_there(reader):
    text, said = "Ada Lovelace, Paris; Bordira", (" France", "s", " Rome", ".")
    [whole] = reader.tokens.encode([text + said[0]])
    usable = 0
    for cut in range(1, len(text)):
        [bare] = reader.tokens.encode([text[:cut].rstrip()])
        tails = seams.Seam(cut, tuple(bare.ids), ()).tails(text, said, reader)
        if tails is not None:
            usable += 1
            assert [*bare.ids, *tails[0].ids] == whole.ids
    assert 0 < usable < len(text) - 1


def test_neighbouring_spans_make_up_the_whole(reader):
    text = "Paris is the capital of France"
    pairs = [(0, 5), (5, 8), (8, 20), (20, 30)]
    [tokenised] = tokenise([spans(text, *pairs)], {}, reader)
    [sequence] = tokenised.sequences
    parts = sequence.parts
    assert parts[0][0] == 1 and parts[-1][1] == len(sequence.ids)
    assert all(before[1] == after[0] for before, after in itertools.pairwise(parts))


def test_a_span_starts_where_its_word_does_with_or_without_the_space(reader):
    text = "Paris is the capital of France."
    [tokenised] = tokenise([spans(text, (24, 30), (23, 30))], {}, reader)
    [sequence] = tokenised.sequences
    without, with_ = sequence.parts
    # A token that is nothing but the space before the word is the only one that may differ.
    apart = sequence.ids[with_[0] : without[0]]
    assert without[1] == with_[1] and len(apart) <= 1 and reader.tokens.decode(apart).strip() == ""
    # The same tokens as those of the choice " France", where the full stop is no part of them.
    [[ids]] = scored_ids(tokenise([choices(text[:23], " France")], {}, reader)[0])
    assert sequence.ids[slice(*with_)] == ids


def test_a_span_of_the_text_counts_its_characters_after_the_context(reader):
    [shared] = tokenise([spans(" is the capital", (8, 15), context="c")], {"c": "Rome"}, reader)
    [alone] = tokenise([spans("Rome is the capital", (12, 19))], {}, reader)
    assert shared == alone


def test_pieces_are_tokenised_alone(reader):
    pieces = ("Paris", " is", "the capital")
    [tokenised] = tokenise([Request("r", "spans", None, "", pieces=pieces)], {}, reader)
    [sequence] = tokenised.sequences
    alone = [tuple(reader.tokens.ids(piece)) for piece in pieces]
    assert sequence.ids == (*reader.tokens.prefix, *(token for ids in alone for token in ids))
    assert scored_ids(tokenised)[0][1:] == alone[1:]
    # The first token of all is scored only where BOS stands before it.
    assert scored_ids(tokenised)[0][0] == (alone[0] if reader.tokens.prefix else alone[0][1:])


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (choices("Paris", ""), "has no token that can be scored"),
        (choices("", ""), "has no token that can be scored"),
        (choices("Paris"), "no choices"),
        (spans("Paris", (0, 6)), "does not lie in the text"),
        (spans("Paris", (3, 3)), "does not lie in the text"),
        (Request("r", "spans", None, "Paris"), "give pairs"),
        (Request("r", "spans", None, "", pieces=()), "no pieces"),
        (Request("r", "spans", None, "", pieces=("Paris", "")), r"piece 2 \(''\) has no token"),
    ],
)
def test_what_cannot_be_scored_says_why(reader, request_, reason):
    [tokenised] = tokenise([request_], {}, reader)
    assert tokenised.problem is not None
    assert re.search(reason, tokenised.problem)


def test_the_last_token_of_characters_is_the_one_that_holds_the_last_that_is_no_space():
    """Of ``A b`` and a space, where each token but the first begins with its space."""
    assert token_range([(0, 1), (1, 3), (3, 5)], "A b c", 0, 4) == (0, 2)
