"""Tokens shown as texts are found in a text: where a boundary is decided, it is the tokenizer's own."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.tiny_tokenizers import byte_level, metaspace

from almanac.models.api.alignment import align, special_tokens, token_range
from almanac.models.scoring import boundaries
from almanac.models.tokens import Tokens

KINDS = {"byte_level": Tokens(byte_level()), "metaspace": Tokens(metaspace())}
WORDS = ["Ada", "Lovelace", "naïve", "café", "東京", "Zoë", "é", "1990", "'hello'", "towns", "x", "日本", "Łódź", "🙂"]
SHARE = st.floats(0, 1)
PIECES = [*WORDS, *(f" {word}" for word in WORDS), " ", "  ", "\n", ".", ","]


def shown(tokens: Tokens, text: str) -> list[str]:
    """The tokens of a text as a server shows them, each by itself, after BOS."""
    ids = tokens.ids(text)
    return ["<s>", *(tokens.tokenizer.decode([token]) for token in ids)]


def offsets(tokens: Tokens, text: str) -> list[tuple[int, int]]:
    [encoding] = tokens.encode([text])
    return encoding.offsets


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=300, deadline=None)
@given(
    pieces=st.lists(st.sampled_from(PIECES), min_size=1, max_size=7), cuts=st.tuples(st.floats(0, 1), st.floats(0, 1))
)
def test_what_is_decided_is_what_the_tokenizer_says(kind, pieces, cuts):
    text = "".join(pieces)
    start, end = sorted(round(cut * len(text)) for cut in cuts)
    aligned = align(shown(KINDS[kind], text), text, 1)
    if start == end or aligned is None:
        return
    found = token_range(aligned, text, start, end)
    if found is not None:
        first, stop = boundaries.token_range(offsets(KINDS[kind], text), text, start, end)
        assert found == (first + 1, stop + 1)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=200, deadline=None)
@given(
    words=st.lists(st.sampled_from(["Ada", "Lovelace", "was", "born", "London", "1815", "x"]), min_size=2, max_size=8)
)
def test_plain_words_are_always_decided(kind, words):
    text = " ".join(words)
    start = text.rindex(" ")
    aligned = align(shown(KINDS[kind], text), text, 1)
    assert aligned is not None
    first, stop = boundaries.token_range(offsets(KINDS[kind], text), text, start, len(text))
    assert token_range(aligned, text, start, len(text)) == (first + 1, stop + 1)


def test_tokens_as_vllm_shows_them():
    # Echoed by vLLM 0.32 for a Llama-2 tokenizer: BOS is shown, and every word has lost its space.
    tokens = ["<s>", "Ada", "Lovelace", "was", "born", "in", "London"]
    text = "Ada Lovelace was born in London"
    assert special_tokens(tokens, text) == 1
    aligned = align(tokens, text, 1)
    assert token_range(aligned, text, len("Ada Lovelace was born in"), len(text)) == (6, 7)
    assert token_range(aligned, text, 4, 12) == (2, 3)
    # A byte-level one: the first bytes of ï are shown as nothing, the rest with a replacement character.
    tokens, text = ["<s>", "", "�ve", " café", " 東京"], "naïve café 東京"
    aligned = align(tokens, text, special_tokens(tokens, text))
    assert token_range(aligned, text, 5, len(text)) == (3, 5)
    assert token_range(aligned, text, 10, len(text)) == (4, 5)


def test_a_character_may_begin_in_a_token_that_shows_its_space_alone():
    # As llama-cpp-python shows them: half characters are left out, of ` \xc5` and `\x81` the space stays.
    tokens, text = ["<s>", "in", " ", "", "ód", " now"], "in Łód now"
    aligned = align(tokens, text, 1)
    assert token_range(aligned, text, 3, 6) is None  # Ł begins in the token of the space, or in the next
    assert token_range(aligned, text, 2, 6) == (2, 5)
    # What vLLM shows as nothing it shows whole with the last of a character's tokens.
    tokens, text = ["<s>", "中", "", "国"], "中国"
    assert token_range(align(tokens, text, 1), text, 1, 2) == (2, 4)


def test_tokens_as_llama_cpp_shows_them():
    # Echoed by llama-cpp-python 0.3.36 for a Llama-2 tokenizer: without BOS, the first word with a space of its own.
    tokens, text = [" Ada", " Lovelace", " was", " born"], "Ada Lovelace was born"
    assert special_tokens(tokens, text) == 0
    assert token_range(align(tokens, text, 0), text, len("Ada Lovelace was"), len(text)) == (3, 4)
    assert token_range(align(tokens, text, 0), text, 0, len("Ada")) == (0, 1)
    assert special_tokens([" ", " Ada"], " Ada") == 0
    assert special_tokens(["Ada", "  was"], "Ada was") is None


def test_a_boundary_among_hidden_characters_is_not_decided():
    tokens, text = ["<s>", "a", "", "", "b"], "a   b"  # Three spaces in two tokens and b's own: which is which?
    aligned = align(tokens, text, 1)
    assert token_range(aligned, text, 1, 5) == (2, 5)
    assert token_range(aligned, text, 2, 5) is None
    assert token_range(aligned, text, 3, 5) is None


@pytest.mark.parametrize("tokens", [["<s>", "Ada", " Loveless"], ["Ada"], ["<s>", "Ada", " Lovelace", "!"], []])
def test_tokens_of_another_text_are_not_found(tokens):
    assert special_tokens(tokens, "Ada Lovelace") is None


def test_a_text_without_special_tokens():
    assert special_tokens(["Ada", " Lovelace"], "Ada Lovelace") == 0
    assert token_range(align(["Ada", " Lovelace"], "Ada Lovelace", 0), "Ada Lovelace", 3, 12) == (1, 2)
