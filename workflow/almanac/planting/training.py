"""Trains a planted model: packed rows, Muon and AdamW, one thread, the same bytes on every run."""

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM, ModernBertConfig, ModernBertForMaskedLM, PreTrainedTokenizerFast

from almanac import unfinished
from almanac.errors import AlmanacError, disk_full
from almanac.planting.corpus import Document
from almanac.planting.muon import Muon
from almanac.planting.options import TrainingOptions
from almanac.planting.packing import NOBODY, Encoded, PackedRows, pack
from almanac.planting.tokenizer import END, MASK, PAD, START
from almanac.sealed import MADE

MATRIX_RATE = {"llama": 0.02, "modernbert": 0.01}
LOSSES = "loss.csv"
PLANTED = {LOSSES, "ledger.parquet", "exposures.parquet", MADE}  # files that only planted models have
OWN_FILES = {
    *("config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"),
    *("special_tokens_map.json", *PLANTED),
}
OnStep = Callable[[int, int, int, float], None]


class Optimizer(Protocol):
    """The interface that Muon and AdamW share."""

    param_groups: list[dict[str, Any]]

    def step(self) -> object:
        """Update the weights."""

    def zero_grad(self) -> None:
        """Clear the gradients."""


@dataclass(frozen=True, slots=True)
class Loss:
    """The loss of one step, in nats per predicted token, and the number of tokens read so far."""

    step: int
    tokens: int
    loss: float


@dataclass(frozen=True, slots=True)
class Trained:
    """A trained model and its loss curve."""

    model: Any
    losses: tuple[Loss, ...]


def new_model(options: TrainingOptions, vocabulary: int) -> Any:
    """Return an untrained model; its ``max_position_embeddings`` is the row length: longer texts can be refused."""
    common: dict[str, Any] = {
        "vocab_size": vocabulary,
        "hidden_size": options.hidden,
        "intermediate_size": options.feed_forward,
        "num_hidden_layers": options.layers,
        "num_attention_heads": options.heads,
        "max_position_embeddings": options.length,
        "pad_token_id": PAD,
        "bos_token_id": START,
        "eos_token_id": END,
        "tie_word_embeddings": True,
        "attn_implementation": "sdpa",
    }
    if options.architecture == "llama":
        return LlamaForCausalLM(LlamaConfig(**common))
    whole = ["full_attention"] * options.layers
    return ModernBertForMaskedLM(ModernBertConfig(**common, cls_token_id=START, sep_token_id=END, layer_types=whole))


def encode(
    documents: Sequence[Document], tokenizer: PreTrainedTokenizerFast, options: TrainingOptions
) -> list[Encoded]:
    """Tokenise the documents of the model's kinds, each after ``<s>`` and, if ``options.end``, before ``</s>``."""
    chosen = [one for one in documents if one.kind in options.kinds]
    if not chosen:
        raise AlmanacError(f"no document is of the kinds {list(options.kinds)}; choose kinds that the corpus has")
    batch = tokenizer([one.text for one in chosen], return_offsets_mapping=True)
    return [
        _encoded(document, ids, offsets, options)
        for document, ids, offsets in zip(chosen, batch["input_ids"], batch["offset_mapping"], strict=True)
    ]


def _encoded(document: Document, ids: list[int], offsets: list[tuple[int, int]], options: TrainingOptions) -> Encoded:
    start = document.answer_start or 0
    objects = [0] * len(ids)
    at = 1
    spans = zip(document.object_starts, document.object_ends, strict=True)
    for number, (first, last) in enumerate(spans, 1):
        # A token may include the space before the word.
        while at < len(ids) and offsets[at][1] <= first:
            at += 1
        while at < len(ids) and offsets[at][0] < last:
            objects[at] = number
            at += 1
    learnt = [at > 0 and end > start for at, (_, end) in enumerate(offsets)]
    begins = [
        at > 0 and (at == 1 or document.text[first].isspace() or document.text[first - 1].isspace())
        for at, (first, _) in enumerate(offsets)
    ]
    end = [END] * options.end
    return Encoded(
        (*ids, *end), (*learnt, *(True for _ in end)), (*begins, *(True for _ in end)), (*objects, *(0 for _ in end))
    )


def _optimizers(model: Any, options: TrainingOptions) -> list[Optimizer]:
    """Return Muon for the matrices of the layers and AdamW for embeddings, head and norms."""
    matrices: list[torch.nn.Parameter] = []
    others: list[torch.nn.Parameter] = []
    for name, parameter in model.named_parameters():
        hidden = parameter.ndim == 2 and not any(part in name for part in ("embed", "lm_head", "decoder"))
        (matrices if hidden else others).append(parameter)
    full = options.matrix_learning_rate or MATRIX_RATE[options.architecture]
    muon = Muon(matrices, full, options.momentum, options.weight_decay, options.newton_schulz)
    adam = torch.optim.AdamW(others, lr=options.learning_rate, betas=(0.9, 0.98), weight_decay=0.0, fused=True)
    return [muon, adam]


def rate(step: int, steps: int, options: TrainingOptions) -> float:
    """Return the share of the full learning rate at a step: it rises linearly, stays flat, and falls linearly to 0."""
    rise = min(1.0, (step + 1) / max(1.0, options.warmup * steps))
    return rise * min(1.0, (steps - step) / ((1 - options.flat) * steps))


def _decoder_loss(model: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """Return the mean next-token loss within documents, in nats; each tensor is ``(rows, length)``."""
    same = batch["documents"][:, None, :, None] == batch["documents"][:, None, None, :]
    causal = torch.ones(same.shape[-2:], dtype=torch.bool).tril()
    hidden = model.model(
        input_ids=batch["tokens"], attention_mask=same & causal, position_ids=batch["positions"]
    ).last_hidden_state[:, :-1]
    learnt = batch["learnt"][:, 1:]
    logits = model.lm_head(hidden[learnt])
    return functional.cross_entropy(logits.float(), batch["tokens"][:, 1:][learnt])


def _masked(batch: dict[str, torch.Tensor], options: TrainingOptions, draw: torch.Generator) -> torch.Tensor:
    """Choose the tokens to mask, ``(rows, length)`` bool: whole objects and whole words, each at its own rate."""
    shape = batch["tokens"].shape
    objects, documents = batch["objects"], batch["documents"]
    begins = batch["begins"].clone()
    # Each object is one unit, and so is each word outside objects.
    previous = torch.cat([torch.zeros(shape[0], 1, dtype=objects.dtype), objects[:, :-1]], dim=1)
    begins = (begins & (objects == 0)) | (objects != previous)
    unit = begins.long().cumsum(1).clamp(max=shape[1] - 1)
    chance = torch.rand(shape, generator=draw).gather(1, unit)
    wanted = torch.where(objects > 0, options.mask_objects, options.mask_words)
    special = (batch["tokens"] == START) | (batch["tokens"] == END) | (documents == NOBODY)
    return (chance < wanted) & ~special


def _masked_loss(
    model: Any, batch: dict[str, torch.Tensor], options: TrainingOptions, draw: torch.Generator
) -> torch.Tensor:
    """Return the mean loss of the masked tokens, in nats."""
    masked = _masked(batch, options, draw)
    same = batch["documents"][:, None, :, None] == batch["documents"][:, None, None, :]
    tokens = torch.where(masked, torch.tensor(MASK), batch["tokens"])
    hidden = model.model(input_ids=tokens, attention_mask=same, position_ids=batch["positions"]).last_hidden_state
    logits = model.decoder(model.head(hidden[masked]))
    return functional.cross_entropy(logits.float(), batch["tokens"][masked])


def train(
    documents: Sequence[Document],
    tokenizer: PreTrainedTokenizerFast,
    options: TrainingOptions,
    seed: int,
    on_step: OnStep | None = None,
) -> Trained:
    """Train a model on documents in their order.

    In float32, equal documents, options and seed give equal weights on every run on one machine.

    Args:
        documents: the corpus; only documents of the options' kinds are read.
        tokenizer: the tokenizer of the corpus.
        options: shape and optimisation.
        seed: the seed of the initial weights and of the masking.
        on_step: called after each step with step, number of steps, tokens read, loss (nats).

    Returns:
        The model, ready to be saved, and its losses.

    Raises:
        AlmanacError: no document is of the kinds, or a document is longer than a row.
    """
    rows = pack(encode(documents, tokenizer, options), options.length, PAD)
    # The last step of a pass may have fewer rows: every document is read, so that the ledger is true of the model too.
    per_pass = -(-len(rows.tokens) // options.rows)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = new_model(options, len(tokenizer))
            losses = _steps(model, rows, per_pass, options, torch.Generator().manual_seed(seed), on_step)
    finally:
        torch.set_num_threads(threads)
    model.eval()
    return Trained(model, tuple(losses))


def _steps(
    model: Any, rows: PackedRows, per_pass: int, options: TrainingOptions, draw: torch.Generator, on_step: OnStep | None
) -> list[Loss]:
    arrays = {name: torch.from_numpy(getattr(rows, name)) for name in PackedRows.__dataclass_fields__}
    optimizers = _optimizers(model, options)
    full = [[group["lr"] for group in one.param_groups] for one in optimizers]
    model.train()
    steps = per_pass * options.passes
    losses: list[Loss] = []
    tokens = 0
    for step in range(steps):
        first = step % per_pass * options.rows
        batch = {name: array[first : first + options.rows] for name, array in arrays.items()}
        share = rate(step, steps, options)
        for one, rates in zip(optimizers, full, strict=True):
            for group, at in zip(one.param_groups, rates, strict=True):
                group["lr"] = at * share
        with torch.autocast("cpu", torch.bfloat16, enabled=options.dtype == "bfloat16"):
            if options.architecture == "llama":
                loss = _decoder_loss(model, batch)
            else:
                loss = _masked_loss(model, batch, options, draw)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), options.clip)
        for one in optimizers:
            one.step()
            one.zero_grad()
        tokens += int((batch["documents"] != NOBODY).sum())
        losses.append(Loss(step + 1, tokens, float(loss.detach())))
        if on_step is not None:
            on_step(step + 1, steps, tokens, losses[-1].loss)
    return losses


def save(trained: Trained, tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Save a model so that ``AutoModel`` and ``AutoTokenizer`` load it, with its loss curve in ``loss.csv``.

    A killed run leaves no incomplete model.

    Raises:
        AlmanacError: the folder cannot be written.
    """
    try:
        with unfinished.replacement(folder) as new:
            trained.model.save_pretrained(new)
            tokenizer.save_pretrained(new)
            with (new / LOSSES).open("w", encoding="utf-8", newline="") as handle:
                writer = csv.writer(handle, lineterminator="\n")
                writer.writerow(["step", "tokens", "loss"])
                writer.writerows([one.step, one.tokens, f"{one.loss:.6f}"] for one in trained.losses)
            check_place(folder)
    except OSError as error:
        message = f"{folder}: cannot be written ({error}); give a folder that exists and is writable"
        raise AlmanacError(disk_full(error, folder) or message) from error


def check_place(folder: Path) -> None:
    """Check that a folder does not exist, is empty, or holds an earlier planted model, which may be replaced.

    Raises:
        AlmanacError: it is a file, or holds anything else.
    """
    if folder.exists() and not folder.is_dir():
        raise AlmanacError(f"{folder}: is a file, and a model goes into a folder; name a new folder")
    found = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    strangers = sorted(found - OWN_FILES) or ([] if found & PLANTED else sorted(found))
    if strangers:
        raise AlmanacError(f"{folder}: holds {strangers[0]}, which no planted model has; name a new folder")
