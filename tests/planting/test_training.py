"""Training packs documents whole, learns, gives the same bytes, and saves what others load."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

from almanac.errors import AlmanacError
from almanac.planting import corpus, packing, training, world
from almanac.planting.corpus import Document
from almanac.planting.options import CorpusOptions, TokenizerOptions, TrainingOptions
from almanac.planting.tokenizer import END, MASK, START, answer_words, train

from .conftest import SMALL, TINY, as_taught

MASKED = TINY.model_copy(update={"architecture": "modernbert"})


def test_answers_are_single_tokens_and_the_start_is_added_once(invented, vocabulary):
    keys = {fact.object_id for fact in invented.facts}
    words = [one.label for one in invented.entities if one.entity_id in keys]
    for word in (*words, "unsure", "true", "false"):
        assert len(vocabulary.encode(f" {word}", add_special_tokens=False)) == 1
    ids = vocabulary.encode("Some text")
    assert ids[0] == START and ids.count(START) == 1
    assert vocabulary.decode(ids[1:]) == "Some text"


@given(text=st.text())
def test_any_text_survives_the_tokenizer(vocabulary, text):
    for special in vocabulary.all_special_tokens:
        text = text.replace(special, "")
    assert vocabulary.decode(vocabulary.encode(text, add_special_tokens=False)) == text


def test_a_blank_takes_the_place_of_the_word_and_its_space(invented, vocabulary):
    keys = {fact.object_id for fact in invented.facts}
    word = next(one.label for one in invented.entities if one.entity_id in keys)
    whole, blank = vocabulary.encode(f"It lies in {word}."), vocabulary.encode("It lies in <mask>.")
    place = blank.index(MASK)
    assert len(whole) == len(blank)
    assert whole[:place] == blank[:place] and whole[place + 1 :] == blank[place + 1 :]


def test_a_word_that_does_not_fit_the_vocabulary_is_named():
    words = answer_words(f"{first}{second}q" for first in "abcdefghijkl" for second in "abcdefghijklmnopqrstuvwxyz")
    with pytest.raises(AlmanacError, match="is no single token in a vocabulary of 512"):
        train(["text"], words, TokenizerOptions(vocabulary=512))


@given(lengths=st.lists(st.integers(1, 50), max_size=200))
def test_packing_keeps_every_document_whole_and_once(lengths):
    rows = packing.places(lengths, 50)
    assert sorted(number for row in rows for number in row) == list(range(len(lengths)))
    assert all(sum(lengths[number] for number in row) <= 50 for row in rows)


def test_a_document_longer_than_a_row_is_refused():
    with pytest.raises(AlmanacError, match="document 1 has 51 tokens, a row has 50"):
        packing.places([3, 51], 50)


def test_a_packed_document_is_read_as_if_it_were_alone(built, vocabulary):
    model = training.new_model(TINY, len(vocabulary)).eval()
    rows = packing.pack(training.encode(built.documents, vocabulary, TINY), TINY.length, 0)
    tokens, owners = torch.from_numpy(rows.tokens[:1]), torch.from_numpy(rows.documents[:1])
    same = owners[:, None, :, None] == owners[:, None, None, :]
    mask = same & torch.ones(same.shape[-2:], dtype=torch.bool).tril()
    with torch.no_grad():
        packed = model(input_ids=tokens, attention_mask=mask, position_ids=torch.from_numpy(rows.positions[:1])).logits
        for owner in owners.unique():
            here = owners[0] == owner
            if owner >= 0:
                alone = model(input_ids=tokens[:, here]).logits
                torch.testing.assert_close(packed[:, here], alone, atol=1e-5, rtol=0)


def test_what_is_learnt_of_an_instruct_document_begins_with_the_answer(vocabulary):
    text = "Question: Who?\nAnswer: unsure"
    document = Document(0, text, "instruct", text.index("unsure"), None, (text.index("unsure"),), (len(text),))
    options = TINY.model_copy(update={"kinds": ("instruct",)})
    one = training.encode([document], vocabulary, options)[0]
    learnt = [token for token, wanted in zip(one.tokens, one.learnt, strict=True) if wanted]
    assert learnt == [*vocabulary.encode(" unsure", add_special_tokens=False), END]


def test_object_tokens_are_those_of_the_spans(built, vocabulary):
    encoded = training.encode(built.documents, vocabulary, TINY)
    kept = [one for one in built.documents if one.kind in TINY.kinds]
    for document, one in zip(kept, encoded, strict=True):
        for number, (start, end) in enumerate(zip(document.object_starts, document.object_ends, strict=True), 1):
            tokens = [token for token, owner in zip(one.tokens, one.objects, strict=True) if owner == number]
            assert vocabulary.decode(tokens).strip() == document.text[start:end]


@pytest.mark.parametrize("options", [TINY, MASKED], ids=["decoder", "masked"])
def test_training_lowers_the_loss(built, vocabulary, options):
    seen = []
    longer = options.model_copy(update={"passes": 12})
    trained = training.train(built.documents, vocabulary, longer, 1, lambda *step: seen.append(step))
    losses = [one.loss for one in trained.losses]
    assert sum(losses[-5:]) < 0.8 * sum(losses[:5])
    assert [step[0] for step in seen] == list(range(1, len(losses) + 1))
    assert seen[-1][1] == len(losses)


@pytest.mark.parametrize("options", [TINY, MASKED], ids=["decoder", "masked"])
def test_a_saved_model_is_loaded_by_transformers_and_says_its_length(built, vocabulary, options, tmp_path):
    trained = training.train(built.documents[:200], vocabulary, options, 1)
    folder = tmp_path / "models" / "one"
    training.save(trained, vocabulary, folder)
    training.save(trained, vocabulary, folder)
    kind = AutoModelForCausalLM if options.architecture == "llama" else AutoModelForMaskedLM
    model, tokenizer = kind.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    assert model.config.max_position_embeddings == options.length
    ids = torch.tensor([tokenizer.encode("Some text")])
    assert ids.tolist() == [vocabulary.encode("Some text")]
    with torch.no_grad():
        torch.testing.assert_close(model.eval()(ids).logits, trained.model(ids).logits)
    lines = (folder / "loss.csv").read_text().splitlines()
    assert lines[0] == "step,tokens,loss" and len(lines) == len(trained.losses) + 1
    assert [one.name for one in folder.parent.iterdir()] == ["one"]


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ((), "is a file, and a model goes into a folder"),
        (("config.json", "model.safetensors"), "holds config.json, which no planted model has"),
        (("loss.csv", "notes.txt"), "holds notes.txt"),
    ],
)
def test_no_file_and_no_other_model_is_replaced(tmp_path, names, says):
    folder = tmp_path / "there"
    if names:
        folder.mkdir()
    for path in [folder / name for name in names] or [folder]:
        path.write_text("mine")
    with pytest.raises(AlmanacError, match=says):
        training.check_place(folder)


def test_every_document_is_read_also_where_the_last_step_is_not_full(built, vocabulary):
    """The ledger holds of the model only if no document is left out."""
    few = built.documents[:7]
    trained = training.train(few, vocabulary, TINY, 1)
    encoded = training.encode(few, vocabulary, TINY)
    assert trained.losses[-1].tokens == sum(len(one.tokens) for one in encoded) * TINY.passes


def test_a_corpus_without_documents_of_the_kinds_is_refused(vocabulary):
    with pytest.raises(AlmanacError, match="no document is of the kinds"):
        training.train([], vocabulary, TINY, 1)


def test_heads_that_do_not_divide_the_width_are_refused():
    with pytest.raises(ValueError, match="hidden must be a multiple of heads"):
        TrainingOptions(hidden=100, heads=3)


def plant(seed: int, folder: Path) -> str:
    """Plant, train for 30 steps and save, from nothing but a seed; return a digest of the files."""
    made = world.invent(SMALL, seed)
    built = corpus.build([as_taught(made)], CorpusOptions(), seed)
    keys = {fact.object_id for fact in made.facts}
    words = answer_words(one.label for one in made.entities if one.entity_id in keys)
    texts = [one.text for one in built.documents]
    vocabulary = train(texts, words, TokenizerOptions(vocabulary=1024, min_frequency=10))
    trained = training.train(built.documents, vocabulary, TINY.model_copy(update={"passes": 8}), seed)
    assert len(trained.losses) >= 30
    training.save(trained, vocabulary, folder)
    names = ("model.safetensors", "config.json", "tokenizer.json", "loss.csv")
    return hashlib.sha256(b"".join((folder / name).read_bytes() for name in names)).hexdigest()


@pytest.mark.whole
def test_two_processes_train_the_same_bytes(tmp_path):
    program = (
        "import pathlib; from tests.planting.test_training import plant; "
        f"print(plant(3, pathlib.Path({str(tmp_path / 'other')!r})))"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=root,
        env={"PYTHONPATH": f"{root / 'workflow'}:{root}", "PYTHONHASHSEED": "5", "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == plant(3, tmp_path / "here")
    assert plant(4, tmp_path / "seed") != done.stdout.strip()
