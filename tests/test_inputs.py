"""What a configuration names on the user's disk is looked at before anything runs, and known by more than its date."""

import os
import shutil
import subprocess

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.models.tiny_networks import llama
from tests.models.tiny_tokenizers import byte_level

from almanac.config import check
from almanac.config.inputs import check_inputs, check_pinned, check_writable, files, fingerprints
from almanac.errors import AlmanacError
from almanac.models import checkpoint
from almanac.weight_files import INDEX, stored_parameters
from almanac.weight_files import weights as weights_of


def save(folder, seed=0):
    torch.manual_seed(seed)
    words = byte_level()
    llama(len(words)).save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return save(tmp_path_factory.mktemp("models") / "mine")


@pytest.fixture
def home(saved, tmp_path):
    """A folder with everything that the configuration names."""
    shutil.copytree(saved, tmp_path / "mine")
    for folder in ("facts", "lama"):
        (tmp_path / folder).mkdir()
    for name in ("facts/facts.csv", "facts/entities.csv", "lama/data.zip", "phrases.yaml", "drafts.jsonl"):
        (tmp_path / name).write_text("x")
    (tmp_path / "facts" / "facts.csv").write_text("relation_id,subject_id,object_id\nP,Q1,Q2\n")
    (tmp_path / "facts" / "entities.csv").write_text("entity_id,label\n")
    return tmp_path


def configuration(home, **changes):
    values = {
        "edition": "tiny",
        "sources": {
            "own": {"path": f"{home}/facts"},
            "births": {"kind": "google_re", "path": f"{home}/lama"},
        },
        "datasets": {"own": {"source": "own", "train": 50, "drafts": f"{home}/drafts.jsonl"}},
        "suites": {"facteval": {"own": {"abstentions": f"{home}/phrases.yaml"}}},
        "models": [
            {"name": "mine", "path": f"{home}/mine"},
            {"name": "far", "api": "http://localhost:1/v1", "api_tokenizer": f"{home}/mine"},
        ],
    }
    return check(values | changes, "tiny.yaml", home)


def refusal(home, **changes):
    with pytest.raises(AlmanacError) as error:
        check_inputs(configuration(home, **changes), home / "results")
    return str(error.value)


def test_results_are_refused_where_nothing_can_be_written(tmp_path):
    check_writable(tmp_path / "results" / "mine")
    (tmp_path / "results").write_text("a file")
    with pytest.raises(AlmanacError, match=r"results/mine: cannot be written, since .*results is no writable folder"):
        check_writable(tmp_path / "results" / "mine")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(tmp_path)], check=False).returncode:
        pytest.skip("a read-only file system can be mounted by root alone")
    try:
        with pytest.raises(AlmanacError) as error:
            check_writable(tmp_path)
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
    assert str(error.value) == f"{tmp_path}: is on a read-only file system; work in a copy on another disk"


def test_what_is_there_is_good(home):
    check_inputs(configuration(home), home / "results")


@pytest.mark.parametrize(
    ("gone", "message"),
    [
        ("facts", "sources.own.path: there is no folder {home}/facts"),
        ("facts/entities.csv", "sources.own.path: {home}/facts: has no table 'entities'"),
        ("lama", "sources.births.path: there is no folder {home}/lama"),
        ("lama/data.zip", "sources.births.path: {home}/lama: lacks data.zip"),
        ("drafts.jsonl", "datasets.own.drafts: there is no file {home}/drafts.jsonl"),
        ("phrases.yaml", "suites.facteval.own.abstentions: there is no file {home}/phrases.yaml"),
        ("mine", "models.mine.path: there is no folder {home}/mine"),
        ("mine/tokenizer.json", "models.mine.path: model {home}/mine: the folder lacks a tokenizer"),
        ("mine/config.json", "models.mine.path: model {home}/mine: the folder lacks config.json"),
        ("mine/model.safetensors", "models.mine.path: model {home}/mine: the folder lacks weights (*.safetensors)"),
    ],
)
def test_what_is_missing_is_named_with_its_key(home, gone, message):
    path = home / gone
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert f"configuration of 'tiny': {message.format(home=home)}" in refusal(home)


def test_the_folder_of_a_tokenizer_is_looked_at_too(home):
    shutil.rmtree(home / "mine")
    (home / "mine").mkdir()
    said = refusal(home)
    assert f"models.far.api_tokenizer: {home}/mine: holds no tokenizer" in said
    assert len(said.splitlines()) == 2, "all mistakes together"


def test_the_nearest_name_is_proposed_for_a_misspelt_one(home):
    models = [{"name": "mine", "path": f"{home}/mien"}]
    assert f"there is no folder {home}/mien; did you mean {home}/mine?" in refusal(home, models=models)
    suites = {"facteval": {"own": {"abstentions": f"{home}/phrase.yaml"}}}
    assert f"there is no file {home}/phrase.yaml; did you mean {home}/phrases.yaml?" in refusal(home, suites=suites)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"relation,subject_id,object_id\n", "facts.csv: lacks the column relation_id; it has"),
        ("relation_id,subject_id".encode("utf-16"), "facts.csv: is no UTF-8, but looks like UTF-16; save the file as"),
    ],
)
def test_the_beginning_of_a_table_is_looked_at_before_any_job(home, raw, message):
    (home / "facts" / "facts.csv").write_bytes(raw)
    assert f"sources.own.path: {home}/facts/{message}" in refusal(home)


def test_pickled_weights_are_no_weights(home):
    (home / "mine" / "model.safetensors").rename(home / "mine" / "pytorch_model.bin")
    assert (
        f"models.mine.path: model {home}/mine: holds pytorch_model.bin, which is not read, and no safetensors"
        in refusal(home)
    )


def test_a_file_that_is_there_is_not_said_to_be_missing(home):
    (home / "mine.gguf").write_bytes(b"")
    models = [{"name": "mine", "path": f"{home}/mine.gguf"}]
    assert f"models.mine.path: model {home}/mine.gguf: is a file, and a model is a folder" in refusal(
        home, models=models
    )


@pytest.mark.parametrize("kept", [4, 200, -1])
def test_weights_that_were_cut_are_not_taken(home, kept):
    path = home / "mine" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    assert f"models.mine.path: model {home}/mine: model.safetensors" in refusal(home)


def test_a_missing_part_of_the_weights_is_named(home):
    index = '{"weight_map": {"a": "model.safetensors", "b": "model-2.safetensors"}}'
    (home / "mine" / INDEX).write_text(index)
    assert "the folder lacks model-2.safetensors" in refusal(home)


def test_weights_that_no_index_names_are_none(home):
    """Mistral's checkpoints hold all weights again, as consolidated.safetensors, which nothing loads."""
    folder = home / "mine"
    count, whole = stored_parameters(folder), weights_of(folder)
    (folder / "consolidated.safetensors").write_bytes(whole[0].read_bytes())
    assert (stored_parameters(folder), weights_of(folder)) == (count, whole)
    (folder / INDEX).write_text('{"weight_map": {"a": "consolidated.safetensors"}}')
    assert (stored_parameters(folder), weights_of(folder)) == (count, whole), "the single file is loaded"
    (folder / INDEX).write_text('{"weight_map": {"a": "model.safetensors"}}')
    assert (stored_parameters(folder), weights_of(folder)) == (count, whole)
    whole[0].unlink()
    assert "the folder lacks model.safetensors" in refusal(home)


def test_a_chat_template_next_to_a_servers_tokenizer_is_read_too_and_is_none_itself(home):
    template = home / "mine" / "chat_template.jinja"
    chats = [{"name": "mine", "path": f"{home}/mine", "wrapper": "chat"}]
    with pytest.raises(AlmanacError, match="wrapper: chat needs a chat template and the tokenizer has none"):
        configuration(home, models=chats)
    template.write_text("{{ messages }}")
    assert configuration(home, models=chats)
    [far] = [one for one in configuration(home).models if one.name == "far"]
    assert {template, home / "mine" / "tokenizer.json"} <= {*files(far, "tokenizer")}
    (home / "mine" / "tokenizer.json").unlink()
    (home / "mine" / "tokenizer_config.json").unlink()
    assert f"models.far.api_tokenizer: {home}/mine: holds no tokenizer" in refusal(home)


@pytest.mark.parametrize("run", [True, False])
def test_a_checkpoints_own_code_is_read_where_it_is_run(home, run):
    code = home / "mine" / "modeling_mine.py"
    code.write_text("")
    own = {"name": "mine", "path": f"{home}/mine", "trust_remote_code": run, "revision": "0" * 40}
    [mine] = configuration(home, models=[own]).models
    assert (code in files(mine, "checkpoint")) == run


def test_masks_and_frequencies_that_old_checkpoints_hold_are_no_parameters(home):
    folder = home / "mine"
    count, weights = stored_parameters(folder), load_file(folder / "model.safetensors")
    masks = ("h.0.attn.bias", "gpt_neox.layers.0.attention.bias", "h.0.attn.causal_mask")
    others = ("h.0.attn.masked_bias", "embeddings.position_ids", "layers.0.rotary_emb.inv_freq")
    held = {name: torch.ones(1, 1, 8, 8) for name in masks} | {name: torch.ones(8) for name in others}
    save_file(weights | held, folder / "model.safetensors")
    assert stored_parameters(folder) == count == llama(len(byte_level())).num_parameters()
    save_file(weights | {"h.0.attn.c_attn.bias": torch.ones(8)}, folder / "model.safetensors")
    assert stored_parameters(folder) == count + 8


def test_a_file_in_the_editions_own_folder_is_not_taken_for_a_proofread_one(home):
    own = home / "results" / "drafts.jsonl"
    own.parent.mkdir()
    own.write_text("")
    datasets = {"own": {"source": "own", "train": 50, "drafts": str(own)}}
    assert f"datasets.own.drafts: {own} lies in {home}/results" in refusal(home, datasets=datasets)


@pytest.mark.parametrize("name", ["a {word}", "a {model}", "two\nlines"])
def test_what_snakemake_would_read_as_its_own_is_refused_in_a_path(home, name):
    (home / "facts").rename(home / name)
    sources = {"own": {"path": f"{home}/{name}"}}
    assert "sources.own.path" in refusal(home, sources=sources)
    assert "holds a brace or a line break" in refusal(home, sources=sources)


def test_a_revision_that_is_still_to_be_looked_up_is_enough_for_a_plan_and_not_for_a_run(home):
    config = configuration(home, models=[{"name": "hub", "hub": "owner/name", "revision": "unpinned"}])
    check_inputs(config, home / "results")
    with pytest.raises(AlmanacError, match=r"models\.hub\.revision: is not pinned yet; .*`git ls-remote .*owner/name"):
        check_pinned(config)


def test_a_checkpoint_replaced_by_an_older_one_of_the_same_size_is_another(home, tmp_path):
    other = save(tmp_path / "other", seed=1)
    weights, before = home / "mine" / "model.safetensors", fingerprints(checkpoint.files(home / "mine"))
    assert fingerprints(checkpoint.files(home / "mine")) == before
    os.utime(other / "model.safetensors", ns=(0, 10**18))
    shutil.copy2(other / "model.safetensors", weights)
    after = fingerprints(checkpoint.files(home / "mine"))
    assert len(before) == len(after) > 3
    assert [(old.split()[:2], new.split()[:2]) for old, new in zip(before, after, strict=True) if old != new] == [
        (["model.safetensors", str(weights.stat().st_size)],) * 2
    ]


def test_weights_of_another_shape_are_others_whatever_their_size_and_date(home):
    weights = home / "mine" / "model.safetensors"
    before, time = fingerprints([weights]), weights.stat().st_mtime_ns
    weights.write_bytes(weights.read_bytes().replace(b"layers.0", b"layers.9", 1))
    os.utime(weights, ns=(time, time))
    # Known at the next start of the program: within one, files of one size and time are read once.
    from almanac.config.inputs import _head

    _head.cache_clear()
    assert fingerprints([weights]) != before


def test_a_file_is_known_by_its_name_and_not_by_where_it_lies(home):
    before = fingerprints([home / "phrases.yaml"])
    shutil.copytree(home, home.with_name("moved"), copy_function=shutil.copy2)
    assert fingerprints([home.with_name("moved") / "phrases.yaml"]) == before
