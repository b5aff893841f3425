import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.models import tiny_encoders
from transformers import NllbMoeConfig, NllbMoeForConditionalGeneration

from almanac.errors import AlmanacError
from almanac.models.answering import answer
from almanac.models.options import AnswerOptions
from almanac.models.registry import load
from almanac.models.scoring import encdec
from almanac.models.seq2seq import Seq2SeqModel
from almanac.models.tokens import Tokens
from almanac.rows import Request


def made(tmp_path, name, **changes):
    """Make a checkpoint and change its configs; none removes a setting."""
    folder = tiny_encoders.make(name, tmp_path / "model")
    for file in ("config.json", "generation_config.json"):
        settings = json.loads((folder / file).read_text()) | changes
        (folder / file).write_text(json.dumps({key: value for key, value in settings.items() if value is not None}))
    return folder


def test_the_family_is_found_by_name(encoder):
    assert all(isinstance(encoder(name), Seq2SeqModel) for name in ("t5", "flan", "bart"))


def test_an_old_name_of_t5_ends_like_a_causal_model(tmp_path):
    folder = made(tmp_path, "t5", architectures=["T5WithLMHeadModel"])
    assert isinstance(load(str(folder), AnswerOptions(device="cpu")), Seq2SeqModel)


@pytest.mark.parametrize("family", ["masked", "causal"])
def test_an_encoder_decoder_is_no_other_family(tmp_path, family):
    folder = tiny_encoders.make("bart", tmp_path / "model")
    with pytest.raises(AlmanacError, match=f"bart is an encoder-decoder and cannot be run as a {family} model"):
        load(str(folder), AnswerOptions(family=family, device="cpu"))


def test_no_other_family_is_an_encoder_decoder(tmp_path):
    folder = tiny_encoders.make("bert", tmp_path / "model")
    with pytest.raises(AlmanacError, match="bert is no encoder-decoder and cannot be run as a seq2seq model"):
        load(str(folder), AnswerOptions(family="seq2seq", device="cpu"))


def test_an_answer_begins_as_the_checkpoint_says(encoder):
    assert encoder("t5").start == (0,)
    bart = encoder("bart")
    assert bart.start == (2, *bart.tokens.prefix) == (2, 1)  # As it was trained: </s>, then the text with its <s>.


def test_a_checkpoint_without_a_start_is_refused(tmp_path):
    folder = made(tmp_path, "t5", decoder_start_token_id=None, bos_token_id=None)
    with pytest.raises(AlmanacError, match="decoder_start_token_id; write it there"):
        load(str(folder), AnswerOptions(device="cpu"))


def test_the_encoder_reads_what_the_tokenizer_gives(encoder):
    for name in ("t5", "bart"):
        one = encoder(name)
        text = "Paris is the capital of"
        assert list(one.wrap(one.tokens.ids(text))[0]) == one.tokens.tokenizer(text)["input_ids"]


def pieces(model, choice):
    return model.tokens.tokenizer.convert_ids_to_tokens(model.answer_ids(choice))


def test_the_leading_space_of_a_choice_is_the_tokenizers_own(encoder, tokenizer):
    t5 = encoder("t5")
    assert pieces(t5, " London") == pieces(t5, "London") == t5.tokens.tokenizer.tokenize("London")
    assert pieces(t5, " London")[0].startswith("▁Lo")
    # A tokenizer that puts ▁ before every text, a space or not: the space is not written twice.
    llama = Seq2SeqModel(t5.network, Tokens(tokenizer("metaspace")), "", None)
    assert llama.tokens.ids(" London") != llama.tokens.ids("London")
    assert llama.answer_ids(" London") == llama.answer_ids("London") == llama.tokens.ids("London")
    assert llama.answer_ids("  London") == llama.tokens.ids(" London")  # One space, not all.


def test_other_tokenizers_get_a_choice_as_it_is_written(encoder):
    bart = encoder("bart")
    assert pieces(bart, " London")[0].startswith("Ġ")
    assert not pieces(bart, "London")[0].startswith("Ġ")


def test_t5_has_no_limit_but_its_tokenizers(tmp_path, encoder):
    assert encoder("bart").max_length == tiny_encoders.LENGTH
    folder = made(tmp_path, "t5", n_positions=512)  # As the published configs say.
    assert load(str(folder), AnswerOptions(device="cpu")).max_length is None
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"model_max_length": 40}))
    assert load(str(folder), AnswerOptions(device="cpu")).max_length == 40


def test_flan_keeps_a_head_of_its_own(tmp_path):
    """T5 1.1 and Flan-T5 do not share the head's weights with the embeddings, nor scale what it reads."""
    folder = made(tmp_path, "flan", tie_word_embeddings=False, scale_decoder_outputs=None)
    weights = load_file(folder / "model.safetensors")
    weights["lm_head.weight"] = torch.randn(weights["shared.weight"].shape)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    network = load(str(folder), AnswerOptions(device="cpu")).network
    assert torch.equal(network.lm_head.weight, weights["lm_head.weight"])
    assert torch.equal(network.shared.weight, weights["shared.weight"])
    assert not network.config.scale_decoder_outputs


def test_other_kinds_are_not_answered(encoder):
    assert {"choices", "spans", "generate", "similarity"} == encoder("t5").KINDS


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_what_ends_a_text_is_scored_as_an_answer_to_the_rest(encoder, name):
    text, end = "The capital of France is Paris", " Paris"
    span = Request("s", "spans", None, text, span_starts=(len(text) - len(end),), span_ends=(len(text),))
    choice = Request("c", "choices", None, text.removesuffix(end), choices=(end,))
    behind = Request("b", "spans", "c", " is Paris", span_starts=(3,), span_ends=(9,))
    found = answer(encoder(name), [span, choice, behind], {"c": "The capital of France"})
    assert [one.status for one in found] == ["ok"] * 3
    assert found[0].token_counts == found[1].token_counts
    assert found[0].logprobs == pytest.approx(found[1].logprobs, abs=1e-6)
    assert found[2].logprobs == pytest.approx(found[1].logprobs, abs=1e-6)


@pytest.mark.parametrize(
    ("places", "reason"),
    [
        (((0, 5),), "at the end of the text"),
        (((0, 14), (9, 14)), "scores only a single span"),
        (((0, 14),), "nothing stands before the span"),
    ],
)
def test_what_the_encoder_reads_is_not_scored(encoder, places, reason):
    starts, ends = zip(*places, strict=True)
    request = Request("s", "spans", None, "Paris is a red", span_starts=starts, span_ends=ends)
    [found] = answer(encoder("t5"), [request], {})
    assert found.status == "unsupported" and reason in found.reason


def test_a_request_may_spell_out_a_sentinel(encoder):
    """What T5 was trained on: the text with <extra_id_0> for a span, and the span after the sentinel."""
    t5 = encoder("t5")
    request = Request("r", "choices", None, "Paris is <extra_id_0>.", choices=("<extra_id_0> red",))
    [found] = encdec.tokenise([request], {}, t5)
    sentinel = t5.tokens.tokenizer.convert_tokens_to_ids("<extra_id_0>")
    [sequence] = found.sequences
    assert sentinel in sequence.head
    assert sequence.tail == (0, sentinel, *t5.tokens.ids("red"))


def test_what_is_written_has_the_limit_of_what_is_read(encoder):
    bart = encoder("bart")
    room = bart.max_length - len(bart.start)
    asked = [Request(str(new), "generate", None, "Paris", max_new_tokens=new) for new in (room, room + 1)]
    fits, over = answer(bart, asked, {})
    assert fits.status == "ok"
    assert (over.status, over.reason) == (
        "too_long",
        f"{bart.max_length + 1} tokens; the model reads at most {bart.max_length}",
    )


def test_a_mixture_of_experts_writes_what_transformers_writes(tmp_path):
    """It looks for the routers' logits beside the encoder's states."""
    words = tiny_encoders.t5_tokenizer()
    layers = {"encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64}
    heads = {"encoder_attention_heads": 4, "decoder_attention_heads": 4, "num_experts": 2, "expert_capacity": 64}
    ids = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 0, "decoder_start_token_id": 0}
    torch.manual_seed(0)
    network = NllbMoeForConditionalGeneration(
        NllbMoeConfig(vocab_size=len(words), d_model=32, init_std=0.3, encoder_sparse_step=1, decoder_sparse_step=1,
                      **layers, **heads, **ids)
    ).eval()  # fmt: skip
    network.save_pretrained(tmp_path)
    words.save_pretrained(tmp_path)
    request = Request("r", "generate", None, "Paris is the capital of", max_new_tokens=6)
    [found] = answer(load(str(tmp_path), AnswerOptions(device="cpu")), [request], {})
    written = network.generate(**words(request.text, return_tensors="pt"), max_new_tokens=6, do_sample=False)
    assert (found.status, found.texts) == ("ok", (words.decode(written[0], skip_special_tokens=True),))
