import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.models import tiny_networks, tiny_tokenizers
from transformers import (
    AutoConfig,
    AutoTokenizer,
    BigBirdConfig,
    BigBirdForMaskedLM,
    Gemma3Config,
    Gemma3ForConditionalGeneration,
    LlavaConfig,
    LlavaForConditionalGeneration,
    XmodConfig,
    XmodForCausalLM,
)

from almanac.errors import AlmanacError
from almanac.models.answering import LocalAnswerer
from almanac.models.causal import CausalModel
from almanac.models.checkpoint import WRAPPED, all_tensors, complete
from almanac.models.hub import download
from almanac.models.masked import MaskedModel
from almanac.models.options import AnswerOptions
from almanac.models.registry import load, max_length
from almanac.models.tokens import Tokens
from almanac.rows import Request


def copy_of(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "model")


def test_the_family_follows_the_architecture(model):
    assert isinstance(model("llama"), CausalModel)
    assert isinstance(model("gpt2"), CausalModel)
    assert isinstance(model("bert"), MaskedModel)
    assert isinstance(model("modernbert"), MaskedModel)


def saved(folder, network, tokenizer):
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def test_a_decoder_that_reads_pictures_too_is_a_causal_model(tmp_path):
    tokenizer = tiny_tokenizers.metaspace(prepend=False)
    text = tiny_networks.SHAPE | {"vocab_size": len(tokenizer), "num_key_value_heads": 2, "head_dim": 8}
    sight = tiny_networks.SHAPE | {"image_size": 28, "patch_size": 14}
    settings = {"mm_tokens_per_image": 1, "image_token_index": 3, "boi_token_index": 4, "eoi_token_index": 5}
    network = Gemma3ForConditionalGeneration(Gemma3Config(text_config=text, vision_config=sight, **settings))
    assert isinstance(load(saved(tmp_path, network, tokenizer), AnswerOptions()), CausalModel)


def test_a_decoder_that_transformers_lists_only_among_those_that_read_pictures_reads_texts(tmp_path):
    tokenizer = tiny_tokenizers.byte_level()
    text = tiny_networks.SHAPE | {"model_type": "llama", "vocab_size": len(tokenizer)}
    sight = tiny_networks.SHAPE | {"model_type": "clip_vision_model", "image_size": 28, "patch_size": 14}
    network = LlavaForConditionalGeneration(LlavaConfig(text_config=text, vision_config=sight)).eval()
    tiny_networks.sharpen(network)
    found = load(saved(tmp_path, network, tokenizer), AnswerOptions())
    assert isinstance(found, CausalModel)
    (encoding,) = found.tokens.encode(["The capital of Peru is Lima"])
    ids = torch.tensor([[*found.tokens.prefix, *encoding.ids]])
    with torch.inference_mode():
        truth = network(ids).logits[0].log_softmax(-1)
    (answer,) = LocalAnswerer(found).answer(
        [Request("1", "choices", None, "The capital of Peru is", choices=(" Lima", " Rome"))], {}
    )
    last = len(found.tokens.encode(["The capital of Peru is"])[0].ids) + len(found.tokens.prefix)
    wanted = sum(float(truth[at - 1, ids[0, at]]) for at in range(last, ids.shape[1]))
    assert answer.logprobs[0] == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize(
    "odd",
    [
        {"attn_implementation": "flash_attention_2"},
        {"_attn_implementation": "flash_attention_2"},
        {"return_dict": False},
    ],
)
def test_how_a_checkpoint_was_trained_does_not_hinder_asking_it(checkpoint, tmp_path, odd):
    folder = copy_of(checkpoint("llama"), tmp_path)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | odd))
    assert isinstance(load(str(folder), AnswerOptions()), CausalModel)


def test_a_tokenizer_that_is_a_sentencepiece_file_alone_is_named_with_what_writes_another(checkpoint, tmp_path):
    folder = copy_of(checkpoint("llama"), tmp_path)
    (folder / "tokenizer.json").rename(folder / "tokenizer.model")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "LlamaTokenizer"}))
    with pytest.raises(
        AlmanacError, match=r"where the package sentencepiece is installed, so that it has a tokenizer.json"
    ):
        load(str(folder), AnswerOptions())


def test_a_network_that_reads_no_text_is_named(tmp_path):
    tokenizer = tiny_tokenizers.byte_level()
    network = XmodForCausalLM(XmodConfig(vocab_size=len(tokenizer), is_decoder=True, **tiny_networks.SHAPE))
    with pytest.raises(AlmanacError, match=f"{tmp_path}: xmod reads no text as a causal model .*unknown"):
        load(saved(tmp_path, network, tokenizer), AnswerOptions())


def test_special_tokens_are_those_the_tokenizer_adds(model):
    assert (model("llama").tokens.prefix, model("llama").tokens.suffix) == ((1,), ())
    assert model("gpt2").tokens.prefix == ()  # It has no BOS of its own accord.
    assert (model("bert").tokens.prefix, model("bert").tokens.suffix) == ((1,), (2,))


def test_special_tokens_are_added_once(model):
    llama = model("llama")
    bare = llama.tokens.ids("Paris")
    assert llama.wrap(bare) == ((1, *bare), 1)
    assert llama.wrap([1, *bare]) == ((1, *bare), 0)


def test_the_length_is_the_smaller_of_config_and_tokenizer(checkpoint, model, tmp_path):
    assert model("gpt2").max_length == 96
    folder = copy_of(checkpoint("gpt2"), tmp_path)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"model_max_length": 40}))
    assert load(str(folder), AnswerOptions()).max_length == 40


@pytest.mark.parametrize("kind", ["roberta", "longformer", "ibert", "data2vec-text"])
def test_positions_that_are_counted_from_the_padding_token_are_fewer(kind):
    config = AutoConfig.for_model(kind, max_position_embeddings=130, pad_token_id=1)
    assert max_length(config, SimpleNamespace(model_max_length=10**30)) == 128


@pytest.mark.parametrize("path", ["/nowhere/at/all", "./here", "a/b/c"])
def test_a_path_that_is_not_there_is_named(path):
    with pytest.raises(AlmanacError, match=f"there is no folder {Path(path)}.*; give a folder with config.json"):
        load(path, AnswerOptions())


@pytest.mark.parametrize(("name", "revision"), [("a/b/c", "0" * 40), ("owner/name", "main"), ("owner/name", "abc123")])
def test_a_hub_name_needs_a_pinned_commit(tmp_path, name, revision):
    with pytest.raises(AlmanacError, match=f"model {name} at {revision}: needs a repository owner/name and a commit"):
        download(name, revision, tmp_path)


def test_a_hub_name_is_not_downloaded_offline(monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(AlmanacError, match="unset HF_HUB_OFFLINE"):
        download("almanac-nobody/nothing", "0" * 40, tmp_path)


@pytest.mark.parametrize(
    ("name", "missing"),
    [("config.json", "config.json"), ("model.safetensors", "safetensors"), ("tokenizer.json", "tokenizer")],
)
def test_a_missing_file_is_named(checkpoint, tmp_path, name, missing):
    folder = copy_of(checkpoint("llama"), tmp_path)
    (folder / name).unlink()
    with pytest.raises(AlmanacError, match=f"{folder}: the folder lacks .*{missing}.*save_pretrained"):
        load(str(folder), AnswerOptions())


@pytest.mark.parametrize("name", ["adapter_config.json", "adapter_model.safetensors"])
@pytest.mark.parametrize("base", [True, False])
def test_an_adapter_is_not_left_out_in_silence(checkpoint, tmp_path, name, base):
    folder = copy_of(checkpoint("llama"), tmp_path)
    if name.endswith(".safetensors"):
        shutil.copyfile(folder / "model.safetensors", folder / name)
    else:
        (folder / name).write_text("{}")
    if not base:
        (folder / "model.safetensors").unlink()
        (folder / "config.json").unlink()
    with pytest.raises(AlmanacError, match=rf"holds an adapter \({name}\).* not be applied; .*`merge_and_unload\(\)`"):
        load(str(folder), AnswerOptions())


def test_an_optimizers_states_are_no_weights(checkpoint, tmp_path):
    folder = copy_of(checkpoint("llama"), tmp_path)
    whole = all_tensors(folder)
    shutil.copyfile(folder / "model.safetensors", folder / "optimizer.safetensors")
    assert all_tensors(folder) == whole
    (folder / "model.safetensors").unlink()
    with pytest.raises(AlmanacError, match=r"the folder lacks weights \(\*\.safetensors\)"):
        load(str(folder), AnswerOptions())


OTHER_FILES = {
    "model.gguf": "gguf_file=NAME.*or serve it",
    "model-Q4.GGUF": "gguf_file=NAME.*or serve it",
    "epoch=3.ckpt": "load it with the code that made it",
    "pytorch_model.bin": "load it with the code that made it",
    "consolidated.00.pth": "load it with the code that made it",
    "weights.pt": "load it with the code that made it",
}


@pytest.mark.parametrize("name", [*OTHER_FILES, "model.safetensors", "model.zip"])
def test_a_file_is_no_model_and_its_ending_says_what_to_do(tmp_path, name):
    (tmp_path / name).write_bytes(b"")
    remedy = OTHER_FILES.get(name, "name its folder" if name.endswith("safetensors") else "name such a folder")
    with pytest.raises(
        AlmanacError, match=f"model {tmp_path}/{name}: is a file, and a model is a folder .*; .*{remedy}"
    ):
        load(str(tmp_path / name), AnswerOptions())


@pytest.mark.parametrize("name", OTHER_FILES)
@pytest.mark.parametrize("beside", [True, False])
def test_weights_in_a_file_of_another_form_are_named_with_what_to_do(checkpoint, tmp_path, name, beside):
    folder = copy_of(checkpoint("llama"), tmp_path) if beside else tmp_path
    (folder / "model.safetensors").unlink(missing_ok=True)
    for path in ("optimizer.pt", "training_args.bin", name):
        (folder / path).write_bytes(b"")
    with pytest.raises(AlmanacError, match=f"model {folder}: holds {name}, which is not read.*; .*{OTHER_FILES[name]}"):
        load(str(folder), AnswerOptions())


def test_the_checkpoints_of_a_training_run_are_named(checkpoint, tmp_path):
    for step in (1000, 500):
        shutil.copytree(checkpoint("llama"), tmp_path / f"checkpoint-{step}")
    (tmp_path / "training_args.bin").write_bytes(b"")
    said = (
        f"holds no weights itself, but checkpoint-500, checkpoint-1000; name one of them, as {tmp_path}/checkpoint-1000"
    )
    with pytest.raises(AlmanacError, match=said):
        load(str(tmp_path), AnswerOptions())
    load(str(tmp_path / "checkpoint-1000"), AnswerOptions())
    for step in range(2000, 8000, 1000):
        shutil.copytree(checkpoint("llama"), tmp_path / f"checkpoint-{step}")
    with pytest.raises(AlmanacError, match=r"but checkpoint-3000, .*, checkpoint-7000 and 3 more; name one"):
        load(str(tmp_path), AnswerOptions())


@pytest.mark.parametrize(
    "change", [{"model_type": "unheard_of"}, {"architectures": ["LlamaForSequenceClassification"]}]
)
def test_an_unknown_architecture_is_named(checkpoint, tmp_path, change):
    folder = copy_of(checkpoint("llama"), tmp_path)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(AlmanacError, match=str(folder)):
        load(str(folder), AnswerOptions())


def test_sparse_attention_that_a_short_text_switches_off_is_never_used(tmp_path, capsys):
    torch.manual_seed(0)
    tokenizer = tiny_tokenizers.wordpiece()
    shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    sparse = {"attention_type": "block_sparse", "block_size": 2, "num_random_blocks": 1, "max_position_embeddings": 64}
    network = BigBirdForMaskedLM(BigBirdConfig(vocab_size=len(tokenizer), pad_token_id=0, **shape, **sparse))
    tiny_networks.sharpen(network)
    network.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    ids = torch.arange(5, 45)[None] % len(tokenizer)
    peer = BigBirdForMaskedLM.from_pretrained(tmp_path).eval()
    with torch.inference_mode():
        first, _, later = peer(ids).logits, peer(ids[:, :4]), peer(ids).logits
    assert (first - later).abs().max() > 0.1, "what came before decides"
    found = load(str(tmp_path), AnswerOptions())
    assert "note: " in capsys.readouterr().err
    with torch.inference_mode():
        assert torch.equal(found.network(ids).logits, later)


def test_a_head_that_was_never_trained_is_refused(checkpoint):
    with pytest.raises(AlmanacError, match=r"which a causal model needs|cannot be loaded as a causal model"):
        load(str(checkpoint("modernbert")), AnswerOptions(family="causal"))
    with pytest.raises(AlmanacError, match="mask token"):
        load(str(checkpoint("llama")), AnswerOptions(family="masked"))


def test_missing_weights_are_refused(checkpoint, tmp_path):
    folder = copy_of(checkpoint("llama"), tmp_path)
    weights = load_file(folder / "model.safetensors")
    del weights["lm_head.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(AlmanacError, match=r"the weights lack lm_head\.weight"):
        load(str(folder), AnswerOptions())


def test_weights_of_more_layers_than_the_network_has_are_refused(checkpoint, tmp_path):
    folder = copy_of(checkpoint("llama"), tmp_path)
    config = json.loads((folder / "config.json").read_text())
    fewer = config | {"num_hidden_layers": config["num_hidden_layers"] - 1}
    (folder / "config.json").write_text(json.dumps(fewer))
    named = (
        rf"the weights have model\.layers\.{fewer['num_hidden_layers']}\..*, which the network of config\.json does not"
    )
    with pytest.raises(AlmanacError, match=named):
        load(str(folder), AnswerOptions())


def with_weights(folder, tmp_path, names):
    """Return a copy of a checkpoint with further weights."""
    folder = copy_of(folder, tmp_path)
    whole = load_file(folder / "model.safetensors") | {name: torch.ones(2, 2) for name in names}
    save_file(whole, folder / "model.safetensors", {"format": "pt"})
    return folder


@pytest.mark.parametrize(
    ("name", "family", "tuned"),
    [
        ("llama", "auto", "model.layers.0.self_attn.q_proj.lora_A.default.weight"),
        ("llama", "auto", "model.layers.1.self_attn.v_proj.bias"),
        ("llama", "auto", "model.layers.0.mlp.adapter.down_proj.weight"),
        ("llama", "auto", "prompt_encoder.default.embedding.weight"),
        ("llama", "auto", "model.norm.bias"),
        ("gpt2", "auto", "transformer.h.0.attn.c_attn.lora_B"),
        ("gpt2", "auto", "lm_head.bias"),
        ("bert", "auto", "bert.encoder.layer.0.attention.self.query.ia3_l.default"),
        ("neox", "auto", "gpt_neox.embed_in.lora_embedding_A.default"),
    ],
)
def test_what_was_trained_is_not_left_out_in_silence(checkpoint, tmp_path, name, family, tuned):
    folder = with_weights(checkpoint(name), tmp_path, [tuned, "model.layers.0.self_attn.rotary_emb.inv_freq"])
    with pytest.raises(
        AlmanacError, match=rf"the weights have {tuned}, for which .* no place .*`merge_and_unload\(\)`"
    ):
        load(str(folder), AnswerOptions(family=family))


@pytest.mark.parametrize(
    ("name", "family", "others"),
    [
        (
            "llama",
            "auto",
            "model.layers.0.self_attn.rotary_emb.inv_freq model.layers.0.self_attn.k_scale v_head.weight",
        ),
        (
            "llama",
            "auto",
            "model.vision_tower.layers.0.q_proj.bias model.mtp_layers.0.q_proj.weight model.vision_adapter.w",
        ),
        ("gpt2", "auto", "transformer.h.0.attn.bias transformer.h.0.attn.masked_bias"),
        ("neox", "auto", "gpt_neox.layers.0.attention.masked_bias gpt_neox.layers.0.attention.rotary_emb.inv_freq"),
        ("bert", "auto", "cls.seq_relationship.weight bert.pooler.dense.bias bert.embeddings.position_ids"),
        ("bert", "encoder", "cls.seq_relationship.weight"),
        ("modernbert", "auto", "classifier.bias"),
    ],
)
def test_buffers_and_heads_of_other_tasks_may_be_left_out(checkpoint, tmp_path, capsys, name, family, others):
    found = load(
        str(with_weights(checkpoint(name), tmp_path, others.split())), AnswerOptions(family=family, device="cpu")
    )
    assert "note: " not in capsys.readouterr().err
    assert "unused" not in found.identity


def test_parts_that_the_layers_lack_are_named(checkpoint, tmp_path, capsys):
    """As the norms of Qwen3's queries in a network of Llama's."""
    names = [f"model.layers.0.self_attn.{one}_norm.weight" for one in "kq"]
    found = load(str(with_weights(checkpoint("llama"), tmp_path, names)), AnswerOptions())
    assert f"note: {tmp_path}/model: weights without a place in config.json's network are not used: {names[0]}, " in (
        capsys.readouterr().err
    )
    assert found.identity["unused"] == ", ".join(names)


def test_what_is_left_of_a_pre_training_in_a_layer_is_named_and_does_not_refuse_the_model(checkpoint, tmp_path, capsys):
    """As DeBERTa-v3's second table of words."""
    left = "bert.embeddings.word_embeddings._weight"
    found = load(str(with_weights(checkpoint("bert"), tmp_path, [left])), AnswerOptions())
    assert found.identity["unused"] == left and left in capsys.readouterr().err


@pytest.mark.parametrize("prefix", WRAPPED)
def test_weights_that_are_named_by_a_wrapper_say_which(checkpoint, tmp_path, prefix):
    folder = copy_of(checkpoint("llama"), tmp_path)
    named = {f"{prefix}{name}": one for name, one in load_file(folder / "model.safetensors").items()}
    save_file(named, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(AlmanacError, match=rf"all weights begin with '{prefix}'.* take it out .*save_pretrained"):
        complete(folder)


def test_a_layer_of_another_kind_is_none_too_many(checkpoint, tmp_path):
    """As the one that predicts several tokens at once."""
    folder = copy_of(checkpoint("llama"), tmp_path)
    weights = load_file(folder / "model.safetensors")
    last = max(int(name.split(".")[2]) for name in weights if ".layers." in name)
    own = {
        name.replace(f".{last}.", f".{last + 1}."): one for name, one in weights.items() if f".layers.{last}." in name
    }
    own[f"model.layers.{last + 1}.eh_proj.weight"] = torch.ones(2, 2)
    save_file(
        weights | {name: one.clone() for name, one in own.items()}, folder / "model.safetensors", {"format": "pt"}
    )
    load(str(folder), AnswerOptions())


def test_thinking_needs_room_in_what_the_model_reads(checkpoint):
    with pytest.raises(AlmanacError, match=r"thinking_tokens: 100000 leaves nothing of the \d+ tokens that it reads"):
        load(str(checkpoint("llama")), AnswerOptions(thinking_tokens=100_000, wrapper="plain"))


def test_a_token_that_the_chat_template_writes_needs_an_embedding(checkpoint, tmp_path):
    folder = copy_of(checkpoint("llama"), tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rows = len(tokenizer)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|turn|>"]})
    tokenizer.chat_template = "{% for m in messages %}<|turn|>{{ m.content }}{% endfor %}"
    tokenizer.save_pretrained(folder)
    tiny_networks.llama(rows).save_pretrained(folder)
    with pytest.raises(AlmanacError, match=rf"its chat template writes '<\|turn\|>', token {rows} .* embeds {rows};"):
        load(str(folder), AnswerOptions())
    load(str(folder), AnswerOptions(wrapper="plain"))


ASKED = "The capital of Peru is [MASK]."


@pytest.mark.parametrize("name", tiny_tokenizers.TOKENIZERS)
def test_a_special_token_that_is_text_changes_no_other_text(name):
    tokenizer = tiny_tokenizers.TOKENIZERS[name]()
    without = None if "[MASK]" in tokenizer.get_vocab() else Tokens(tokenizer).ids(ASKED)
    tokenizer.add_special_tokens({"extra_special_tokens": ["[MASK]", "<|turn|>"]})
    tokens, special = Tokens(tokenizer, as_text="[MASK]"), Tokens(tokenizer)
    (mask, turn) = tokenizer.convert_tokens_to_ids(["[MASK]", "<|turn|>"])
    assert mask in special.ids(ASKED)
    assert mask not in tokens.ids(ASKED)
    assert without is None or tokens.ids(ASKED) == without
    assert (tokens.prefix, tokens.suffix) == (special.prefix, special.suffix)
    others = [*tiny_tokenizers.TEXT, *tokenizer.all_special_tokens, "<s> a</s> <|turn|>b <mask> [MASK 東京 ]["]
    for text in (one for one in others if "[MASK]" not in one):
        assert tokens.encode([text])[0].ids == special.encode([text])[0].ids
        assert tokens.encode([text])[0].offsets == special.encode([text])[0].offsets
    assert turn in tokens.ids(others[-1])


def test_only_a_masked_model_reads_a_mask_as_its_token(checkpoint, model, tmp_path):
    """BELIEF and FactEval speak of [MASK] to models of all families; GLM-4's tokenizer has such a token."""
    masked = model("bert").tokens
    assert masked.mask_id in masked.ids(ASKED)
    folder = copy_of(checkpoint("llama"), tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"extra_special_tokens": ["[MASK]"]})
    tokenizer.save_pretrained(folder)
    assert load(str(folder), AnswerOptions()).tokens.ids(ASKED) == model("llama").tokens.ids(ASKED)


def test_a_tokenizer_that_leaves_merges_out_by_chance_does_so_no_longer(checkpoint, tmp_path):
    folder = copy_of(checkpoint("llama"), tmp_path)
    saved = json.loads((folder / "tokenizer.json").read_text())
    saved["model"]["dropout"] = 0.5
    (folder / "tokenizer.json").write_text(json.dumps(saved))
    text = "The capital of Peru is Lima, and that of Chile is Santiago."
    plain = load(str(checkpoint("llama")), AnswerOptions()).tokens.encode([text])[0].ids
    tokens = load(str(folder), AnswerOptions()).tokens
    assert all(tokens.encode([text])[0].ids == plain for _ in range(5))


def test_the_dtype_is_the_weights(checkpoint):
    assert load(str(checkpoint("llama")), AnswerOptions(dtype="bfloat16")).network.dtype == torch.bfloat16


def test_ordinary_tokens_without_an_embedding_are_refused_and_added_ones_are_not(checkpoint, tmp_path):
    folder = copy_of(checkpoint("llama"), tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rows = tokenizer.vocab_size
    network = tiny_networks.llama(rows)
    network.save_pretrained(folder)
    tokenizer.add_special_tokens({"pad_token": "<a padding of its own>"})
    tokenizer.save_pretrained(folder)
    assert len(tokenizer) > rows
    load(str(folder), AnswerOptions())
    tiny_networks.llama(rows - 5).save_pretrained(folder)
    with pytest.raises(AlmanacError, match=f"its tokenizer has {rows} tokens, and the network embeds {rows - 5}"):
        load(str(folder), AnswerOptions())
