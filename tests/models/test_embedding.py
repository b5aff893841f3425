"""Token embeddings: the same alone and in a batch, marks told apart, and BERTScore as the package computes it."""

import shutil

import numpy as np
import pytest
import torch
from tiny_tokenizers import wordpiece
from transformers import AutoModel, AutoTokenizer, BertConfig, BertModel, T5Config, T5Model

from almanac import tables
from almanac.cli import main
from almanac.errors import AlmanacError
from almanac.models.embedding import embed
from almanac.rows import Item, Question, QuestionSimilarity

TEXTS = ["the river", "a long river in the north", "the river is long and old, they say"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("bert")
    torch.manual_seed(1)
    tokenizer = wordpiece()
    tokenizer.model_max_length = 48
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=48,
    )
    BertModel(config).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def test_a_text_is_embedded_as_it_is_alone(folder):
    found = embed(folder, TEXTS)
    tokenizer, network = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    for text in TEXTS:
        read = tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            states = network(**read).last_hidden_state[0].numpy()
        np.testing.assert_allclose(found[text].vectors, states, atol=1e-5)
        special = tokenizer.get_special_tokens_mask(read["input_ids"][0].tolist(), already_has_special_tokens=True)
        assert found[text].counted == tuple(not one for one in special)
        assert not found[text].counted[0] and not found[text].counted[-1]


def test_places_do_not_depend_on_where_a_tokenizer_pads(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "left")
    tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
    tokenizer.save_pretrained(tmp_path / "left")
    found, other = embed(tmp_path / "left", TEXTS), embed(folder, TEXTS)
    for text in TEXTS:
        np.testing.assert_allclose(found[text].vectors, other[text].vectors, atol=1e-5)


def test_of_an_encoder_decoder_the_encoder_embeds(tmp_path):
    tokenizer = wordpiece()
    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 2, "num_heads": 2}
    T5Model(T5Config(vocab_size=len(tokenizer), **sizes)).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    assert embed(tmp_path, TEXTS)[TEXTS[0]].vectors.shape[1] == 16


def test_a_layer_can_be_chosen(folder):
    first, last = (embed(folder, TEXTS, layer)[TEXTS[0]].vectors for layer in (0, 2))
    np.testing.assert_array_equal(last, embed(folder, TEXTS)[TEXTS[0]].vectors)
    assert np.abs(first - last).max() > 0.01
    with pytest.raises(AlmanacError, match="has the layers 0 to 2; found 7"):
        embed(folder, TEXTS, 7)


def test_what_cannot_be_embedded_is_named(folder, tmp_path):
    with pytest.raises(AlmanacError, match="nowhere: is no model"):
        embed(tmp_path / "nowhere", TEXTS)
    with pytest.raises(AlmanacError, match="reads 48 tokens; 'river river"):
        embed(folder, ["river " * 60])


def test_the_command_compares_wordings(folder, tmp_path):
    blank = dict.fromkeys(Question.__slots__)
    asked = blank | {"relation_id": "r", "type": "saq", "style": "wh", "context": "none", "gold": (), "gold_object": ()}
    questions = [
        Question(**asked | {"item_id": f"{fact}-{origin}", "origin": origin, "text": text})
        for fact, texts in (("same", (TEXTS[0], TEXTS[0])), ("other", (TEXTS[0], TEXTS[1])))
        for origin, text in zip(("template", "written"), texts, strict=True)
    ]
    items = [
        Item(one.item_id, "facteval", "saq-wh", one.item_id.split("-")[0], "r", None, "s", ()) for one in questions
    ]
    tables.write(tmp_path / "questions.parquet", Question, questions)
    tables.write(tmp_path / "items.parquet", Item, items)
    output = tmp_path / "similarity.parquet"
    words = ["--requests", str(tmp_path), "--embedder", str(folder), "--output", str(output)]
    assert main(["measure", "similarity", *words]) == 0
    rows = {row.relation_id: row for row in tables.read(output, QuestionSimilarity)}
    assert rows["r"].pairs == 2
    assert 0.5 < rows["r"].f1 < 1  # one pair is the same text


def test_bertscore_is_the_packages_from_texts_on(folder):
    package = pytest.importorskip("bert_score", exc_type=ImportError)
    from almanac.suites.facteval.analyses import bertscore

    found = embed(folder, TEXTS)
    own = [bertscore(found[TEXTS[1]].vectors, found[one].vectors, (found[TEXTS[1]].counted, found[one].counted))
           for one in TEXTS]  # fmt: skip
    theirs = package.score([TEXTS[1]] * 3, TEXTS, model_type=str(folder), num_layers=2, idf=False)
    assert np.array(own) == pytest.approx(np.array([one.numpy() for one in theirs]).T, abs=1e-5)
