import shutil

import pytest

from almanac.models.digest import model_digest


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
    digests = {model_digest(folder, dtype, wrapper) for dtype in ("float32", "bfloat16") for wrapper in ("a/1", "a/2")}
    assert len(digests) == 4


def test_place_and_other_files_do_not(folder, checkpoint):
    (folder / "README.md").write_text("a model")
    assert model_digest(folder, "float32", "x") == model_digest(checkpoint("llama"), "float32", "x")


def test_a_loaded_model_carries_it(model, checkpoint):
    assert model("llama").digest == model_digest(checkpoint("llama"), "float32", "causal/1")
