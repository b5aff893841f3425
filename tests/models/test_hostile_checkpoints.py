"""Checkpoints whose files ask for more than they hold: a clear message, and little memory."""

import json
import os
import resource
import shutil
from contextlib import nullcontext

import pytest
import torch
from safetensors.torch import load_file, save_file

from almanac.errors import AlmanacError
from almanac.models import checkpoint as by_files
from almanac.models.building import bounded
from almanac.models.options import AnswerOptions
from almanac.models.registry import load

WEIGHTS = "model.safetensors"
MOST = 400  # MiB that a refusal may add to the process


def configured(**values):
    def change(folder):
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | values))

    return change


def headed(head, data=b"", length=None):
    def change(folder):
        text = head if isinstance(head, bytes) else json.dumps(head).encode()
        (folder / WEIGHTS).write_bytes((length or len(text)).to_bytes(8, "little") + text + data)

    return change


def sparse(size):
    """Weights of so many bytes that fill no disk, in one tensor that the config knows."""

    def change(folder):
        head = {"lm_head.weight": {"dtype": "F32", "shape": [size // 4], "data_offsets": [0, size]}}
        headed(head)(folder)
        with (folder / WEIGHTS).open("r+b") as handle:
            handle.truncate((folder / WEIGHTS).stat().st_size + size)

    return change


def long_header(folder):
    """Its header is said to be all of a file of 64 GiB, which fills no disk."""
    with (folder / WEIGHTS).open("wb") as handle:
        handle.write((2**36 - 8).to_bytes(8, "little"))
        handle.truncate(2**36)


def tensor(shape, *offsets, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": list(offsets)}


CASES = {
    "a header of 2^60 bytes": (headed(b"{}", length=2**60), "header"),
    "a header as long as a file of 64 GiB": (long_header, "header"),
    "a header of brackets": (headed(b"[" * 1_000_000), "header cannot be read"),
    "a header that is no object": (headed([1, 2]), "header cannot be read"),
    "tensors that overlap": (
        headed({"a": tensor([4], 0, 16), "b": tensor([4], 8, 24)}, bytes(24)),
        "b begins at 8, and the tensor before it ends at 16",
    ),
    "a gap between tensors": (
        headed({"a": tensor([2], 0, 8), "b": tensor([2], 16, 24)}, bytes(24)),
        "b begins at 16, and the tensor before it ends at 8",
    ),
    "a shape beyond 2^63": (headed({"a": tensor([2**32, 2**32], 0, 8)}, bytes(8)), "a has the shape"),
    "a negative shape": (headed({"a": tensor([-2, -1], 0, 8)}, bytes(8)), "header cannot be read"),
    "an unknown type": (headed({"a": tensor([2], 0, 8, dtype="F33")}, bytes(8)), "F33"),
    "weights of 2^43 bytes": (sparse(2**43), r"needs 8192\.0 GiB of memory in float32, and there are \d+"),
    "a vocabulary of 2^40": (configured(vocab_size=2**40), "config.json asks for more than"),
    "a vocabulary of 10^8": (configured(vocab_size=10**8), "config.json asks for more than"),
    "a width of 2^30": (configured(hidden_size=2**30), "config.json asks for more than"),
    "10^9 layers": (configured(num_hidden_layers=10**9), r"num_hidden_layers is 1000000000"),
    "9,000 narrow layers": (
        configured(num_hidden_layers=9_000, hidden_size=4, num_attention_heads=2, intermediate_size=1),
        "config.json asks for more than",
    ),
    "a config of brackets": (
        lambda folder: (folder / "config.json").write_text("[" * 1_000_000),
        "config.json cannot be read",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_asks_for_more_than_it_holds_is_refused_with_little_memory(checkpoint, tmp_path, name):
    change, said = CASES[name]
    folder = shutil.copytree(checkpoint("llama"), tmp_path / "model")
    change(folder)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(AlmanacError, match=rf"{folder}.*{said}"):
        load(str(folder), AnswerOptions())
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST * 1024


def test_what_is_no_weight_is_bounded_too(checkpoint):
    """Some families make a square of as many positions as the config says, which no file holds."""
    with (
        pytest.raises(AlmanacError, match=r"config\.json asks for more than.*mask \[50000, 50000\]"),
        bounded(checkpoint("llama"), quantised=False),
    ):
        torch.nn.Module().register_buffer("mask", torch.empty(50_000, 50_000, device="meta"))


def test_weights_that_are_missing_are_not_made_as_large_as_the_config_wants(checkpoint, tmp_path):
    """What no file holds has no shape to differ from: transformers would fill it with random numbers."""
    folder = shutil.copytree(checkpoint("llama"), tmp_path / "model")
    weights = load_file(folder / WEIGHTS)
    kept = {name: value for name, value in weights.items() if "layers" in name or name == "model.norm.weight"}
    save_file(kept, folder / WEIGHTS, metadata={"format": "pt"})
    configured(vocab_size=10**7)(folder)
    with pytest.raises(AlmanacError, match=r"config\.json asks for more than"):
        load(str(folder), AnswerOptions())


@pytest.mark.parametrize(("dtype", "bits"), [("float32", 32), ("bfloat16", 16)])
def test_what_weights_need_is_their_numbers_in_the_type_they_run_in(checkpoint, dtype, bits):
    folder = checkpoint("llama")
    needed = sum(value.numel() for value in load_file(folder / WEIGHTS).values()) * bits // 8
    by_files.check_memory(folder, dtype, needed)
    with pytest.raises(AlmanacError, match=r"needs 0\.0 GiB of memory"):
        by_files.check_memory(folder, dtype, needed - 1)


@pytest.mark.parametrize(("key", "refused"), [("num_hidden_layers", True), ("vocab_size_per_layer_input", False)])
def test_how_many_layers_there_are_is_bounded_and_not_how_large_they_are(tmp_path, key, refused):
    """Gemma 3n has a vocabulary of 262,144 tokens in each layer."""
    (tmp_path / "config.json").write_text(json.dumps({"text_config": {key: 262_144}}))
    with pytest.raises(AlmanacError, match=f"{key} is 262144") if refused else nullcontext():
        by_files.check_config(tmp_path)


def test_the_memory_there_is_is_no_more_than_the_machines():
    assert 2**28 < by_files.memory() <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
