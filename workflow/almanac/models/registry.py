"""Loads a checkpoint from a folder as a model that answers requests; nothing is downloaded."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
)
from transformers.utils import logging as transformers_logging

from almanac import tables
from almanac.errors import AlmanacError
from almanac.models import checkpoint, devices, own_code
from almanac.models.building import bounded
from almanac.models.causal import CausalModel
from almanac.models.digest import digests
from almanac.models.framing import BLANK, framing_of
from almanac.models.masked import EncoderModel, MaskedModel
from almanac.models.options import AnswerOptions
from almanac.models.permutation import PermutationModel
from almanac.models.seq2seq import Seq2SeqModel
from almanac.models.tokens import Tokens
from almanac.progress import print_notes
from almanac.sealed import MADE, PULLED, checked_record

Model = CausalModel | MaskedModel | Seq2SeqModel
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
# How the names of architectures end; the first match counts, since XLNet, Flaubert and an old name of T5 end like a
# causal model. A checkpoint without a head, or with one that is not used, is an encoder only if the user says so: it
# answers requests of the kind similarity only.
FAMILIES: dict[str, tuple[str, ...]] = {
    "masked": ("ForMaskedLM", "XLNetLMHeadModel", "FlaubertWithLMHeadModel"),
    "seq2seq": ("ForConditionalGeneration", "T5WithLMHeadModel", "MarianMTModel"),
    "causal": ("ForCausalLM", "LMHeadModel"),
    "encoder": (),
}
AUTO: dict[str, tuple[Any, Any]] = {
    "causal": (CausalModel, AutoModelForCausalLM),
    "masked": (MaskedModel, AutoModelForMaskedLM),
    "seq2seq": (Seq2SeqModel, AutoModelForSeq2SeqLM),
    "encoder": (EncoderModel, AutoModel),
}
# Besides RoBERTa and models named after it, these count positions from the padding token's id.
PADDED_FROM = ("camembert", "xmod", "mpnet", "esm", "longformer", "ibert", "data2vec-text", "luke")
# Names of weights that fine-tuning adds to a network: LoRA and similar methods, adapters, prompts.
TUNED = re.compile(
    r"(^|[._])(lora|ia3|loha|lokr|hada|oft|boft|vera)_|(^|\.)(adapters?|base_layer|original_module|prompt_(enc|emb).*)\."
)
PART = re.compile(r"(\.bias|_scale(_inv)?)$")  # weights without which a part of a layer computes something else
# Harmless weights: buffers that networks now make themselves, cache scales of servers, and BERT's next-sentence head.
UNUSED = re.compile(
    r"rotary|inv_freq|position_ids|causal_mask|\.(attn|attention)\.(masked_)?bias$|\.version$|\.[kv]_scale$"
    r"|seq_relationship"
)
LENGTHS = (
    "max_position_embeddings",
    "n_positions",
    "n_ctx",
    "max_seq_len",
    "seq_length",
    "max_encoder_position_embeddings",
)


def load(path: str, options: AnswerOptions) -> Model:
    """Load a model from a folder, without downloading anything; code in the folder is run only if it is trusted.

    ``path``: a folder with config.json, safetensors and a tokenizer.

    Raises:
        AlmanacError: the folder is wrong, files or weights are missing, the model needs more memory than there is, its
            architecture is unknown, the device does not exist, or the checkpoint needs code that is not trusted.
    """
    try:
        devices.check(options.device)
    except AlmanacError as error:
        raise AlmanacError(f"model {path}: {error}") from error
    folder = checkpoint.complete(Path(path).expanduser())
    for name in (PULLED, MADE):  # a user's own checkpoint has no record of its files
        if (folder / name).is_file():
            checked_record(folder / name)
    checkpoint.check_memory(folder, options.dtype, checkpoint.memory())
    own_code.check(folder, options.trust_remote_code, options.revision)
    config = _config(options, folder)
    family = _family(options, folder, config)
    # Other models have no masks: they read "[MASK]" as plain text, even if their tokenizer has such a token (GLM-4's).
    tokens = Tokens(_tokenizer(options, folder), as_text=BLANK if family in {"causal", "seq2seq"} else None)
    framing = framing_of(options.wrapper, tokens.tokenizer, str(folder), options.thinking_tokens)
    wrapper = PermutationModel if config.model_type == "xlnet" else AUTO[family][0]
    if family == "masked" and tokens.mask_id is None:
        raise AlmanacError(
            f"{folder}: a masked model needs a mask token and its tokenizer has none; "
            "set mask_token in tokenizer_config.json"
        )
    _check_vocabulary(folder, tokens, config, [] if framing.template is None else framing.template.probes())
    network, unused = _network(options, folder, config, family)
    own_code.check_ran(network, folder)
    kind = wrapper.WRAPPER + (f", {tokens.as_text} as text" if tokens.as_text else "")
    found = digests(folder, options.dtype, kind, options.trust_remote_code, framing.digest)
    identity = {
        **found._asdict(),
        # Transformers may build another tokenizer than the file describes (Llama, Qwen); the one in use counts.
        "tokenizer_as_loaded": tables.identity(tokens.plain.to_str()),
        "wrapper": framing.identity,
        **({"thinking": framing.thinking_mode} if framing.thinking_mode else {}),
        **({"unused": ", ".join(unused)} if unused else {}),
        "dtype": options.dtype,
        "device": devices.describe(network.device),
        **{package: version(package) for package in ("torch", "transformers")},
    }
    limit = max_length(config, tokens.tokenizer)
    if limit is not None and framing.thinking >= limit and family != "seq2seq":
        raise AlmanacError(
            f"model {folder}: thinking_tokens: {framing.thinking} leaves nothing of the {limit} tokens that it reads; "
            "set fewer"
        )
    return wrapper(
        network=network, tokens=tokens, digest=found.model, max_length=limit, identity=identity, framing=framing
    )


def _config(options: AnswerOptions, folder: Path) -> Any:
    try:
        trust = options.trust_remote_code
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=trust)
    except Exception as error:  # a damaged file makes the libraries raise errors of a dozen kinds
        own_code.refuse(folder, error)
        raise AlmanacError(
            f"model {folder}: config.json names no architecture that this version of transformers knows "
            f"({_first_line(error)}); use a checkpoint of a known architecture"
        ) from error
    # BigBird's sparse attention turns to full attention for good at the first short text: the order would matter.
    if getattr(config, "attention_type", None) == "block_sparse":
        config.attention_type = "original_full"
        print_notes([f"{folder}: uses full attention, even for texts that are long enough for its sparse attention"])
    config._attn_implementation = None  # a checkpoint may name the kernel of the machine that it was trained on
    config.return_dict = True
    return config


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _family(options: AnswerOptions, folder: Path, config: Any) -> str:
    """Return the family: the one in the options, or else by the architectures that the config names."""
    names = list(config.architectures or [])
    found = [family for family, endings in FAMILIES.items() if any(name.endswith(endings) for name in names)]
    # A decoder that also reads images (Gemma 3, from 4B on) has a name that ends like an encoder-decoder's.
    found = ["causal" if one == "seq2seq" and not config.is_encoder_decoder else one for one in found]
    family = options.family if options.family != "auto" else next(iter(found), None)
    if family is None:
        endings = ", ".join(ending for one in FAMILIES.values() for ending in one)
        raise AlmanacError(
            f"model {folder}: the config's architectures are {names}; known are those that end in {endings}; "
            f"name the family ({', '.join(FAMILIES)}) if the checkpoint holds such a head; an encoder needs none"
        )
    if config.is_encoder_decoder != (family == "seq2seq"):
        kind = "an encoder-decoder" if config.is_encoder_decoder else "no encoder-decoder"
        raise AlmanacError(
            f"model {folder}: {config.model_type} is {kind} and cannot be run as a {family} model; name the family "
            f"that it is ({', '.join(FAMILIES)})"
        )
    return family


def _tokenizer(options: AnswerOptions, folder: Path) -> Any:
    try:
        trust = options.trust_remote_code
        return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=trust, use_fast=True)
    except Exception as error:  # a damaged file makes the libraries raise errors of a dozen kinds
        own_code.refuse(folder, error)
        problem = f"the tokenizer cannot be read ({_first_line(error)}); save it again with save_pretrained"
        alone = not (folder / "tokenizer.json").exists() and any(folder.glob("*.model"))
        if alone and re.search("sentencepiece|tiktoken", str(error), re.IGNORECASE):
            problem += " where the package sentencepiece is installed, so that it has a tokenizer.json"
        raise AlmanacError(f"model {folder}: {problem}") from error


def _check_vocabulary(folder: Path, tokens: Tokens, config: Any, chats: Sequence[str]) -> None:
    """Refuse a tokenizer if ordinary tokens, or tokens that its chat template writes, have no embedding.

    Other added tokens, such as padding, may have none.

    Raises:
        AlmanacError: naming both counts, or the first token without an embedding.
    """
    rows, tokenizer = getattr(config.get_text_config(), "vocab_size", None), tokens.tokenizer
    if rows is None:
        return
    if tokenizer.vocab_size > rows:
        raise AlmanacError(
            f"model {folder}: its tokenizer has {tokenizer.vocab_size} tokens, and the network embeds {rows}; save the "
            "tokenizer with which it was trained, or resize the embeddings and train it again"
        )
    if written := [at for chat in chats for at in tokens.ids(chat) if at >= rows]:
        token = tokenizer.convert_ids_to_tokens(written[0])
        raise AlmanacError(
            f"model {folder}: its chat template writes {token!r}, token {written[0]} of the tokenizer, and the network "
            f"embeds {rows}; resize the embeddings and train it with them, or name another wrapper, as plain"
        )


def _network(options: AnswerOptions, folder: Path, config: Any, family: str) -> tuple[Any, list[str]]:
    """Return the network, and the first three weights in its layers that it does not use (see `_without_place`)."""
    auto: Any = AutoModelForCausalLM if config.model_type == "xlnet" else AUTO[family][1]
    own = getattr(config, "auto_map", None) or {}  # the classes of the checkpoint's own code
    listed = type(config) in auto._model_mapping or auto.__name__ in own
    if auto is AutoModelForCausalLM and not listed and type(config) in AutoModelForImageTextToText._model_mapping:
        auto = AutoModelForImageTextToText  # its decoder also reads texts without images
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        with bounded(folder, quantised=getattr(config, "quantization_config", None) is not None):
            network, loaded = auto.from_pretrained(
                folder,
                config=config,
                dtype=DTYPES[options.dtype],
                use_safetensors=True,
                local_files_only=True,
                trust_remote_code=options.trust_remote_code,
                output_loading_info=True,
            )
    except AlmanacError:
        raise
    except Exception as error:  # as above, or a package that a quantised checkpoint needs is missing
        own_code.refuse(folder, error)
        remedy = "give the family that its weights have, or another checkpoint"
        if isinstance(error, ImportError):
            remedy = "install what is missing, or give a checkpoint that needs none of it"
        raise AlmanacError(
            f"model {folder}: {config.model_type} cannot be loaded as a {family} model ({_first_line(error)}); {remedy}"
        ) from error
    if further := _layers_too_many(network, loaded["unexpected_keys"]):
        raise AlmanacError(
            f"model {folder}: the weights have {', '.join(further[:3])}, which the network of config.json does not (it "
            "would be a part of what was trained); save config.json with the number of layers of the weights"
        )
    tuned, unused = _without_place(network, loaded["unexpected_keys"])
    if tuned:
        raise AlmanacError(
            f"model {folder}: the weights have {', '.join(tuned[:3])}, for which the network of config.json has no "
            "place (they would be left out); merge an adapter into its model (peft: `merge_and_unload()`) and save "
            "that, or the config.json that goes with the weights (of biases, or a quantisation)"
        )
    # An encoder's pooling layer is not used: only hidden states are.
    missing = sorted(name for name in loaded["missing_keys"] if family != "encoder" or not name.startswith("pooler."))
    if missing:
        raise AlmanacError(
            f"model {folder}: the weights lack {', '.join(missing[:3])}, which a {family} model "
            "needs (they would be random numbers); give the family that the checkpoint was trained as"
        )
    network = network.to(devices.resolve(options.device)).eval()
    if family == "causal" and (config.model_type == "xlnet" or _sees_what_follows(folder, network)):
        raise AlmanacError(
            f"model {folder}: {config.model_type} attends to the tokens after a position too, so that it cannot be "
            "scored as a causal model; use the family masked"
        )
    if unused:
        print_notes([f"{folder}: weights without a place in config.json's network are not used: {', '.join(unused)}"])
    return network, unused


def _layers_too_many(network: Any, unexpected: Iterable[str]) -> list[str]:
    """Return the unused weights that form further layers of the kind that a network has.

    A layer that also has weights of another kind, such as one that predicts several tokens, does not count.
    """
    held = {re.sub(r"\.\d+\.", ".", name) for name in network.state_dict()}
    layers: dict[str, list[str]] = defaultdict(list)
    for name in sorted(unexpected):
        if numbered := re.match(r".*?\.\d+\.", name):
            layers[numbered[0]].append(name)
    further = (names for names in layers.values() if all(re.sub(r"\.\d+\.", ".", name) in held for name in names))
    return [name for names in further for name in names]


def _without_place(network: Any, unexpected: Iterable[str]) -> tuple[list[str], list[str]]:
    """Find the unused weights that the network seems to have been trained with.

    Known harmless weights, heads of other tasks and anything else outside the layers are ignored.

    Returns:
        First, weights of fine-tuning, and biases or scales for parts of layers that have none. Second, the first three
        other weights in layers, such as query norms that these lack, or leftovers of DeBERTa's pre-training.
    """

    def bare(name: str) -> str:
        return name.removeprefix(f"{network.base_model_prefix}.")

    modules = {bare(name): module for name, module in network.named_modules()}
    buffers = {bare(name) for name, _ in network.named_buffers()}
    quantised = getattr(network.config, "quantization_config", None) is not None  # has scales, and biases of zeros
    tuned: list[str] = []
    others: list[str] = []
    for name in sorted(unexpected):
        parts = bare(name).split(".")
        within = [modules[path] for n in range(1, len(parts)) if (path := ".".join(parts[:n])) in modules]
        if TUNED.search(name):
            tuned.append(name)
        elif not within or bare(name) in buffers or UNUSED.search(name) or quantised:
            continue
        elif not isinstance(within[-1], torch.nn.ModuleList):  # else it is a further layer, of another kind
            part = PART.search(name) and not any(within[-1].children())
            (tuned if part else others).append(name)
    more = [f"and {len(others) - 3} more"] if len(others) > 3 else []
    return tuned, [*others[:3], *more]


@torch.inference_mode()
def _sees_what_follows(folder: Path, network: Any) -> bool:
    """Return whether the last token changes logits before it, as in encoders that are loaded with a causal head.

    Raises:
        AlmanacError: the network cannot read a text.
    """
    ids = torch.arange(8).repeat(2, 1) % network.config.get_text_config().vocab_size
    ids[1, -1] = 0
    ids = ids.to(network.device)
    try:
        output = network(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False)
    except Exception as error:  # Architectures fail in many ways.
        raise AlmanacError(
            f"model {folder}: {network.config.model_type} reads no text as a causal model "
            f"({type(error).__name__}: {_first_line(error)}); it may need a setting in config.json, or is of a kind "
            "that cannot be asked"
        ) from error
    one, other = output.logits[:, :-1].float()
    rounding = 1e-4 if network.dtype == torch.float32 else 0.05
    return bool((one - other).abs().max() > rounding * one.abs().max())


def max_length(config: Any, tokenizer: Any) -> int | None:
    """Return the most tokens that a model reads, special ones included: the smaller limit of config and tokenizer.

    A tokenizer's limit of a million or more means that it has none.
    """
    text = config.get_text_config()
    limits = [int(value) for name in LENGTHS if isinstance(value := getattr(text, name, None), int) and value > 0][:1]
    # T5 has relative positions only; its config names the length that it was trained on.
    limits = [] if hasattr(text, "relative_attention_num_buckets") and config.is_encoder_decoder else limits
    # If positions are counted from the padding token's id, the first ones cannot be used.
    if "roberta" in text.model_type or text.model_type in PADDED_FROM:
        limits = [limit - int(text.pad_token_id or 0) - 1 for limit in limits]
    if tokenizer.model_max_length < 1_000_000:
        limits.append(int(tokenizer.model_max_length))
    return min(limits, default=None)
