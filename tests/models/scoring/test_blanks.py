import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from almanac.models.answering import answer
from almanac.models.scoring import blanks
from almanac.rows import Request

NAMES = ("bert", "modernbert", "llama", "gpt2", "neox", "llama2", "gemma")
MASKED = ("bert", "modernbert")


def fill(text, **values):
    return Request("r", "fill", None, text, **values)


def ask(model, text, **values):
    [response] = answer(model, [fill(text, **values)], {})
    return response


def whole(model):
    return len(model.tokens.words)


@pytest.mark.parametrize("name", NAMES)
def test_probabilities_are_those_of_the_full_softmax(model, name):
    one = model(name)
    response = ask(one, "Paris is the capital of [MASK]", top_k=whole(one))
    assert response.status == "ok"
    assert list(response.probabilities) == sorted(response.probabilities, reverse=True)
    assert len(response.tokens) == whole(one) - len(one.tokens.special_ids)
    # What is left out keeps its share.
    blank = blanks.read_blank(fill("Paris is the capital of [MASK]"), "Paris is the capital of [MASK]", one)
    from almanac.models.scoring import reference

    [row] = reference.distributions(one, [(blank.ids, blank.position)])
    special = math.fsum(math.exp(row[token]) for token in one.tokens.special_ids)
    assert math.fsum(response.probabilities) == pytest.approx(1 - special, abs=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_excluded_words_and_special_tokens_are_left_out_and_ranks_move_up(model, name):
    one = model(name)
    text = "Paris is the capital of [MASK]"
    best = ask(one, text, top_k=3)
    word = best.tokens[0]
    rest = ask(one, text, top_k=3, exclude=(word,))
    assert word not in rest.tokens
    assert not set(one.tokens.tokenizer.all_special_tokens) & set(ask(one, text, top_k=whole(one)).tokens)


@pytest.mark.parametrize("name", NAMES)
def test_a_choice_of_one_token_has_the_probability_and_rank_of_its_token(model, name):
    one = model(name)
    text, word = "Rome and [MASK]", "the"
    response = ask(one, text, top_k=whole(one), choices=(word, "Ada Lovelace"))
    assert response.token_counts[1] > 1 and response.ranks[1] is None
    if response.token_counts[0] == 1:
        rank = response.ranks[0]
        assert response.tokens[rank] == word
        assert math.exp(response.logprobs[0]) == pytest.approx(response.probabilities[rank], rel=1e-4)


def test_a_choice_that_the_tokenizer_cannot_write_has_no_token_and_no_rank(model):
    response = ask(model("bert"), "Rome and [MASK]", top_k=1, choices=("Rome", "Ωμέγα", "red Ωμέγα"), per_token=True)
    assert response.status == "ok" and all(map(math.isfinite, response.logprobs))
    assert response.token_counts[1:] == (0, 0) and response.ranks[1:] == (None, None)
    assert len(response.token_logprobs) == response.token_counts[0] > 0


@pytest.mark.parametrize("name", NAMES)
def test_a_rank_counts_what_is_allowed(model, name):
    one = model(name)
    text = "Rome and [MASK]"
    last = ask(one, text, top_k=5, choices=("the",))
    if last.ranks[0]:
        moved = ask(one, text, choices=("the",), exclude=(last.tokens[0],))
        assert moved.ranks[0] < last.ranks[0]


def test_the_blank_is_one_mask_and_takes_its_space_with_it(model):
    one = model("modernbert")
    request = fill("Paris is [MASK].", choices=("red",))
    blank = blanks.read_blank(request, request.text, one)
    mask = one.mask_id
    assert blank.ids == (1, *one.tokens.ids("Paris is"), mask, *one.tokens.ids("."), 2)
    [sequence] = blank.choices
    assert sequence.ids == (1, *one.tokens.ids("Paris is red."), 2)


def test_a_tokenizer_whose_mask_leaves_the_space_gets_the_same_ids(model):
    import json

    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    from almanac.models.masked import MaskedModel
    from almanac.models.tokens import Tokens

    one = model("modernbert")
    settings = json.loads(one.tokens.tokenizer.backend_tokenizer.to_str())
    for token in settings["added_tokens"]:
        token["lstrip"] = False
    plain = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(settings)), mask_token="<mask>", pad_token="<pad>"
    )
    other = MaskedModel(one.network, Tokens(plain), "", None)
    request = fill("Paris is [MASK].")
    assert blanks.read_blank(request, request.text, other).ids == blanks.read_blank(request, request.text, one).ids


def test_gemmas_tokenizer_binds_a_space_to_the_word_after_it(model):
    """mmBERT is a ModernBERT with Gemma's tokenizer."""
    from tests.models.tiny_tokenizers import metaspace

    from almanac.models.masked import MaskedModel
    from almanac.models.tokens import Tokens

    words = metaspace(prepend=False)
    words.add_special_tokens({"mask_token": "<mask>"})
    one = MaskedModel(model("modernbert").network, Tokens(words), "", None)
    request = fill("Paris is [MASK].", choices=("red",))
    blank = blanks.read_blank(request, request.text, one)
    [sequence] = blank.choices
    red = words.convert_tokens_to_ids("▁red")
    assert sequence.ids == one.wrap(one.tokens.ids("Paris is red."))[0]
    assert blank.ids == tuple(one.mask_id if token == red else token for token in sequence.ids)


@pytest.mark.parametrize("name", MASKED)
def test_a_choice_of_several_tokens_is_scored_from_left_to_right(model, name):
    """log P(a _ | blank blank) + log P(b | a blank), each of the full softmax."""
    one = model(name)
    request = fill("The [MASK] is red.", choices=("Ada Lovelace",))
    [sequence] = blanks.read_blank(request, request.text, one).choices
    [(start, stop)] = sequence.parts
    assert stop - start > 1
    expected = 0.0
    for position in range(start, stop):
        ids = list(sequence.ids)
        ids[position:stop] = [one.mask_id] * (stop - position)
        with torch.no_grad():
            row = torch.log_softmax(one.network(input_ids=torch.tensor([ids])).logits[0, position].double(), -1)
        expected += float(row[sequence.ids[position]])
    response = ask(one, request.text, choices=request.choices, per_token=True)
    assert response.logprobs[0] == pytest.approx(expected, abs=1e-4)
    assert math.fsum(response.token_logprobs) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("name", ("llama", "gpt2", "neox", "llama2", "gemma"))
def test_a_final_blank_is_the_next_word(model, name):
    one = model(name)
    filled = ask(one, "Paris is the capital of [MASK]", choices=("France", "Ada Lovelace"))
    request = Request("c", "choices", None, "Paris is the capital of", choices=(" France", " Ada Lovelace"))
    [chosen] = answer(one, [request], {})
    assert filled.logprobs == pytest.approx(chosen.logprobs, abs=1e-4)
    assert filled.token_counts == chosen.token_counts


def test_causal_models_fill_final_blanks_only(model):
    response = ask(model("llama"), "Paris is [MASK].", top_k=3)
    assert response.status == "unsupported"
    assert "ends the text" in response.reason


@pytest.mark.parametrize("text", ["Paris is red.", "[MASK] is [MASK]."])
def test_one_blank_is_needed(model, text):
    response = ask(model("bert"), text, top_k=3)
    assert response.status == "failed"
    assert f"found {text.count('[MASK]')}" in response.reason


def test_a_word_inside_a_word_is_tokenised_on_its_own(model):
    tokens = model("modernbert").tokens
    assert blanks.words_ids("Lon", ["don", "g"], " is", tokens) == [tokens.ids("don"), tokens.ids("g")]
    assert blanks.words_ids("in ", ["London"], " is", tokens) == [tokens.ids(" London")]


@pytest.mark.parametrize("name", ["albert", "xlnet"])
@pytest.mark.parametrize("right", [".", " and Rome.", ""])
def test_what_follows_a_blank_is_what_follows_the_word(encoder, name, right):
    """The tokenizers of these put a space before every text: none may come between a blank and a full stop."""
    one = encoder(name)
    request = fill(f"Paris is [MASK]{right}", choices=("red",))
    blank = blanks.read_blank(request, request.text, one)
    [sequence] = blank.choices
    [(start, stop)] = sequence.parts
    assert sequence.ids == one.wrap(one.tokens.ids(f"Paris is red{right}"))[0]
    assert sequence.ids[start:stop] == tuple(one.tokens.ids("red"))
    assert blank.ids == (*sequence.ids[:start], one.mask_id, *sequence.ids[stop:])


def test_encoder_decoders_fill_no_blanks(encoder):
    one = encoder("t5")
    blank = blanks.read_blank(fill("Paris is [MASK]."), "Paris is [MASK].", one)
    assert blank.unsupported
    assert ask(one, "Paris is [MASK].").status == "unsupported"


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(-4, 0), st.booleans()), min_size=1, max_size=40), st.integers(0, 50))
def test_the_top_is_that_of_a_full_sort_and_ties_go_by_id(model, given_, k):
    tokens = model("bert").tokens
    values = torch.tensor([float(value) for value, _ in given_])
    mask = torch.tensor([allowed for _, allowed in given_])
    order = sorted((-value, token) for token, (value, allowed) in enumerate(given_) if allowed)[:k]
    words, probabilities = blanks.top(values, mask, k, tokens)
    assert words == [tokens.words[token] for _, token in order]
    assert probabilities == pytest.approx([math.exp(-value) for value, _ in order])


def test_ranks_count_what_is_likelier_and_allowed():
    logprobs = torch.log(torch.tensor([0.4, 0.1, 0.2, 0.2, 0.1]))
    mask = torch.tensor([True, True, False, True, True])
    choices = [(0, 1), (1, 1), (2, 1), (3, 1), (1, 2), (4, 0)]
    assert blanks.ranks(logprobs, mask, choices) == [0, 2, 1, 1, None, None]


@given(st.lists(st.tuples(st.integers(-4, 0), st.booleans()), min_size=1, max_size=40))
def test_the_rank_of_a_token_is_its_place_among_the_likeliest_tied_or_not(given_):
    # Half precision ties many logits: a model of equal logits would otherwise have every object at rank 0.
    logprobs = torch.tensor([float(value) for value, _ in given_])
    mask = torch.tensor([allowed for _, allowed in given_])
    order = [token for _, token in sorted((-value, token) for token, (value, allowed) in enumerate(given_) if allowed)]
    assert blanks.ranks(logprobs, mask, [(token, 1) for token in order]) == list(range(len(order)))
