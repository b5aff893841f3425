"""How alike texts are: the same in any company, BERTScore as the package computes it, the distance of plain means."""

import math
import shutil
from typing import get_args

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.models.tiny_tokenizers import wordpiece
from transformers import AutoModel, AutoTokenizer, BertConfig, BertModel

from almanac.cli import main
from almanac.config.models import ModelConfig
from almanac.errors import AlmanacError
from almanac.models.answering import answer
from almanac.models.embedding import compare, embed, read
from almanac.models.options import AnswerOptions
from almanac.models.registry import load
from almanac.rows import Context, Request
from almanac.tables import write

TEXTS = ["the river", "a long river in the north", "the river is long and old, they say [MASK]"]
LENGTH = 48


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Make an encoder without a head, as models of sentence embeddings are."""
    path = tmp_path_factory.mktemp("bert")
    torch.manual_seed(1)
    tokenizer = wordpiece()
    tokenizer.model_max_length = LENGTH
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=LENGTH,
    )
    BertModel(config).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def headless(folder):
    return load(str(folder), AnswerOptions(family="encoder", device="cpu"))


def pair(one, other, layer=None, name="q"):
    return Request(name, "similarity", None, one, other=other, layer=layer)


def asked(model, *requests):
    return answer(model, list(requests), {})


def test_a_text_is_embedded_as_it_is_alone(folder, headless):
    texts = [read(headless, text) for text in TEXTS]
    found = embed(headless, [text.ids for text in texts])
    tokenizer, network = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    for text, own in zip(TEXTS, texts, strict=True):
        read_alone = tokenizer(text, return_tensors="pt")
        assert list(own.ids) == read_alone["input_ids"][0].tolist()
        assert (own.start, own.end) == (1, len(own.ids) - 1)  # between [CLS] and [SEP]
        with torch.no_grad():
            states = network(**read_alone).last_hidden_state[0].numpy()
        np.testing.assert_allclose(found[own.ids], states, atol=1e-5)


def test_a_pair_is_answered_the_same_in_any_company(headless):
    requests = [pair(one, other, name=f"{one}|{other}") for one in TEXTS for other in TEXTS]
    together = asked(headless, *requests)
    assert [row.status for row in together] == ["ok"] * len(requests)
    assert {row.engine for row in together} == {"embedding/1"}
    for request, row in zip(requests, together, strict=True):
        [alone] = asked(headless, request)
        assert row.similarities == pytest.approx(alone.similarities, abs=1e-6)


def test_bertscore_is_the_packages_from_texts_on(folder, headless):
    package = pytest.importorskip("bert_score", exc_type=ImportError)
    own = [row.similarities[:3] for row in asked(headless, *(pair(TEXTS[1], one, name=one) for one in TEXTS))]
    theirs = package.score([TEXTS[1]] * 3, TEXTS, model_type=str(folder), num_layers=2, idf=False)
    assert np.array(own) == pytest.approx(np.array([one.numpy() for one in theirs]).T, abs=1e-5)


def test_the_distance_is_that_of_the_means_of_the_texts_own_tokens(folder, headless):
    tokenizer, network = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    means = []
    for text in TEXTS[:2]:
        with torch.no_grad():
            means.append(network(**tokenizer(text, return_tensors="pt")).last_hidden_state[0, 1:-1].mean(dim=0))
    [row] = asked(headless, pair(*TEXTS[:2]))
    assert row.similarities[3] == pytest.approx(1 - float(torch.cosine_similarity(*means, dim=0)), abs=1e-5)


def test_a_text_is_as_like_itself_as_can_be(model, encoder, headless):
    """Every family compares: causal, masked, an encoder-decoder's encoder, an encoder without a head."""
    for one in (model("llama"), model("gpt2"), model("bert"), encoder("t5"), headless):
        same, other = asked(one, pair(TEXTS[0], TEXTS[0], name="same"), pair(TEXTS[0], TEXTS[1], name="other"))
        assert same.similarities == pytest.approx((1, 1, 1, 0), abs=1e-6), one
        assert other.status == "ok" and other.similarities[2] < 1 and other.similarities[3] > 0, one


def test_a_layer_can_be_chosen(headless):
    names = ("first", "last", "none", "beyond")
    requests = [pair(*TEXTS[:2], layer, name) for name, layer in zip(names, (0, 2, None, 7), strict=True)]
    first, last, none, beyond = asked(headless, *requests)
    assert last.similarities == none.similarities != first.similarities
    assert (beyond.status, beyond.reason) == ("failed", "ValueError: the model has the layers 0 to 2; found 7")


def test_what_cannot_be_compared_says_why(headless):
    long, empty, nothing = asked(
        headless, pair("river " * 60, TEXTS[0], name="long"), pair("", TEXTS[0], name="empty"), pair(TEXTS[0], None)
    )
    assert (long.status, long.reason) == ("too_long", "62 tokens; the model reads at most 48")
    assert {(row.status, row.reason) for row in (empty, nothing)} == {
        ("failed", "one of the two texts has no token; give both")
    }
    [other] = asked(headless, Request("q", "choices", None, TEXTS[0], choices=(" x", " y")))
    assert (other.status, "answers similarity;" in other.reason) == ("unsupported", True)


def test_an_encoder_without_a_head_is_named_as_one(folder, tmp_path):
    with pytest.raises(AlmanacError, match="an encoder needs none"):
        load(str(folder), AnswerOptions())
    with pytest.raises(AlmanacError, match="a masked model needs"):
        load(str(folder), AnswerOptions(family="masked"))
    shutil.copytree(folder, tmp_path / "bare")
    weights = BertModel.from_pretrained(folder, add_pooling_layer=False)  # as saved under a head
    weights.save_pretrained(tmp_path / "bare")
    bare = load(str(tmp_path / "bare"), AnswerOptions(family="encoder", device="cpu"))
    assert asked(bare, pair(*TEXTS[:2]))[0].status == "ok"


@pytest.mark.parametrize("family", get_args(ModelConfig.model_fields["family"].annotation))
def test_every_family_of_a_configuration_is_one_of_the_command(family, folder, tmp_path, capsys):
    write(tmp_path / "requests-0.parquet", Request, [pair(*TEXTS[:2])])
    write(tmp_path / "contexts.parquet", Context, [])
    files = ["--requests", "requests-0.parquet", "--contexts", "contexts.parquet", "--output", "out.parquet"]
    files = [str(tmp_path / one) if one.endswith("parquet") else one for one in files]
    status = main(["answer", "--model", str(folder), "--family", family, "--device", "cpu", *files])
    assert (status, "needs none" in capsys.readouterr().err) == (
        (0, False) if family == "encoder" else (1, family == "auto")
    )
    assert (tmp_path / "out.parquet").exists() == (family == "encoder")


def embedded(rng, tokens):
    return rng.normal(size=(tokens, 16))


def test_bertscore_by_hand():
    candidate, reference = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[3.0, 0.0]])
    found = compare(candidate, reference, (0, 2), (0, 1))
    assert found[:3] == pytest.approx((0.5, 1.0, 2 / 3))
    assert found.distance == pytest.approx(1 - 1 / math.sqrt(5))  # of (½, 1) and (3, 0)
    assert compare(reference, candidate, (0, 1), (0, 2))[:3] == pytest.approx((1.0, 0.5, 2 / 3))


def test_special_tokens_can_be_matched_but_do_not_count():
    candidate, reference = np.eye(3)[[0, 1]], np.eye(3)[[2, 1]]
    assert compare(candidate, reference, (1, 2), (1, 2)) == pytest.approx((1, 1, 1, 0))
    assert compare(candidate, reference, (0, 2), (0, 2)) == pytest.approx((0.5, 0.5, 0.5, 0.5))


@given(st.integers(0, 10**6))
def test_bertscore_is_the_bert_score_packages(seed):
    utils = pytest.importorskip("bert_score.utils", exc_type=ImportError)
    rng = np.random.default_rng(seed)
    sizes = rng.integers(3, 12, size=2)
    own, other = (embedded(rng, size) for size in sizes)
    weights = [torch.ones(1, size) for size in sizes]
    for weight in weights:
        weight[0, 0] = weight[0, -1] = 0  # the package gives the special tokens around a text no weight
    masks = [torch.ones(1, size) for size in sizes]
    found = utils.greedy_cos_idf(
        torch.tensor(other)[None], masks[1].double(), weights[1].double(),
        torch.tensor(own)[None], masks[0].double(), weights[0].double(),
    )  # fmt: skip
    places = [(1, int(size) - 1) for size in sizes]
    assert compare(own, other, *places)[:3] == pytest.approx([float(one) for one in found], abs=1e-6)
