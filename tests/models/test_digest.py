import shutil

import pytest

from almanac.models.digest import digests, tokenizer_digest


def model_digest(*model, **more):
    return digests(*model, **more).model


def weights_digest(folder):
    return digests(folder, "float32", "x").weights


@pytest.fixture
def folder(checkpoint, tmp_path):
    return shutil.copytree(checkpoint("llama"), tmp_path / "model")


def test_one_byte_of_the_weights_changes_it(folder):
    before = model_digest(folder, "float32", "causal/1")
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "model.safetensors").write_bytes(weights)
    assert model_digest(folder, "float32", "causal/1") != before


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json"])
def test_settings_and_tokenizer_change_it(folder, name):
    before = model_digest(folder, "float32", "causal/1")
    (folder / name).write_text((folder / name).read_text() + "\n")
    assert model_digest(folder, "float32", "causal/1") != before


def test_dtype_and_wrapper_change_it(folder):
    found = {model_digest(folder, dtype, wrapper) for dtype in ("float32", "bfloat16") for wrapper in ("a/1", "a/2")}
    assert len(found) == 4


def test_place_and_other_files_do_not(folder, checkpoint):
    (folder / "README.md").write_text("a model")
    assert model_digest(folder, "float32", "x") == model_digest(checkpoint("llama"), "float32", "x")


def test_a_loaded_model_carries_it(model, checkpoint):
    one = model("llama")
    assert one.digest == model_digest(checkpoint("llama"), "float32", "causal/1", framing=one.framing.digest)


def test_the_tokenizer_as_loaded_counts_apart_from_its_files(model):
    said = [model(name).identity["tokenizer_as_loaded"] for name in ("llama", "gpt2", "llama2")]
    # Byte-level with and without BOS splits texts alike; what is put before a text is no part of that.
    assert said[0] == said[1] != said[2]


def test_weights_and_tokenizer_have_digests_of_their_own(folder):
    weights, tokenizer = weights_digest(folder), tokenizer_digest(folder)
    assert digests(folder, "float32", "x")[1:] == digests(folder, "bfloat16", "y")[1:] == (weights, tokenizer)
    (folder / "tokenizer_config.json").write_text((folder / "tokenizer_config.json").read_text() + "\n")
    assert weights_digest(folder) == weights
    assert tokenizer_digest(folder) != tokenizer
    changed = tokenizer_digest(folder)
    (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes() + b" ")
    assert weights_digest(folder) != weights
    assert tokenizer_digest(folder) == changed


def test_code_counts_where_it_is_run(folder):
    before = model_digest(folder, "float32", "x"), model_digest(folder, "float32", "x", code=True)
    (folder / "layers").mkdir()
    (folder / "layers" / "attention.py").write_text("import torch\n")
    assert model_digest(folder, "float32", "x") == before[0]
    assert model_digest(folder, "float32", "x", code=True) != before[1]


def test_a_loaded_model_knows_what_it_is_made_of(model, checkpoint):
    said = model("llama").identity
    assert (said["weights"], said["tokenizer"]) == digests(checkpoint("llama"), "float32", "causal/1")[1:]
    assert (said["model"], said["dtype"], said["device"]) == (model("llama").digest, "float32", "cpu")
