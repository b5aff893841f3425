"""Small tokenizers of every kind that the models bring, trained on a few sentences."""

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

TEXT = [
    "Ada Lovelace was born in London in 1815. Paris is the capital of France, and Rome is the capital of Italy.",
    "The river flows through 12 towns; naïve café 東京 Zoë said: 'hello' 1990 times. 3M makes tape.",
    "Bordira makes the red clock. The clock of Bordira is red and the tape of Paris is blue.",
]
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>"]


def special_tokens(single: str, model: Tokenizer) -> processors.TemplateProcessing:
    """Put special tokens around a text, as ``<s> $A </s>`` says."""
    names = [name for name in single.split() if name != "$A"]
    return processors.TemplateProcessing(
        single=single, special_tokens=[(name, model.token_to_id(name)) for name in names]
    )


def trained(model: Tokenizer, trainer: Any, special: Sequence[str]) -> Tokenizer:
    """Train a tokenizer to the same pieces and scores in every run.

    A trainer breaks ties by the pieces' numbers, which it draws for pieces with a prefix or suffix; those are given as
    special tokens, which fixes their numbers, and are plain tokens afterwards. Scores differ in their last digits.
    """
    model.train_from_iterator(TEXT * 3, trainer)
    plain = json.loads(model.to_str())
    plain["added_tokens"] = [token for token in plain["added_tokens"] if token["content"] in special]
    if plain["model"]["type"] == "Unigram":
        scores = dict(plain["model"]["vocab"])
        pieces = [*special, *sorted(set(scores) - set(special))]
        plain["model"]["vocab"] = [[piece, round(scores[piece], 1)] for piece in pieces]
    return Tokenizer.from_str(json.dumps(plain))


def byte_level(
    bos: bool = True,
    mask: bool = False,
    ends: str | None = None,
    nfc: bool = False,
    special: Sequence[str] = SPECIAL,
    **named: str,
) -> PreTrainedTokenizerFast:
    """BPE over bytes, as GPT-2 and most later models have it; ``ends`` are the special tokens around a text."""
    model = Tokenizer(models.BPE())
    if nfc:
        model.normalizer = normalizers.NFC()
    model.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    model.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=420, special_tokens=list(special), initial_alphabet=alphabet, show_progress=False
    )
    model = trained(model, trainer, special)
    named = named or {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    if mask:
        model.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True, normalized=False)])
        named["mask_token"] = "<mask>"
    ends = ends or ("<s> $A </s>" if mask else "<s> $A" if bos else None)
    if ends is not None:
        model.post_processor = special_tokens(ends, model)
        named.setdefault("bos_token", ends.split()[0])
    else:
        model.post_processor = processors.ByteLevel(trim_offsets=True)
    return PreTrainedTokenizerFast(tokenizer_object=model, **named)


def metaspace(bos: bool = True, prepend: bool = True) -> PreTrainedTokenizerFast:
    """BPE as Llama-2 ships it: a prepended ▁, no pre-tokenizer, bytes for what is unknown.

    Without the prepended ▁ it is Gemma's, whose pre-tokenizer splits at spaces that the normalizer has replaced.
    """
    model = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    model.normalizer = normalizers.Replace(" ", "▁")
    model.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always" if prepend else "never", split=True)
    bytes_ = [f"<0x{value:02X}>" for value in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=480, special_tokens=SPECIAL + bytes_, show_progress=False)
    model = trained(model, trainer, SPECIAL)
    first = [normalizers.Prepend("▁")] if prepend else []
    model.normalizer = normalizers.Sequence([*first, normalizers.Replace(" ", "▁")])
    model.pre_tokenizer = None if prepend else pre_tokenizers.Split(" ", "merged_with_previous")
    strip = [decoders.Strip(" ", 1, 0)] if prepend else []
    model.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), *strip])
    if bos:
        model.post_processor = special_tokens("<s> $A", model)
    return PreTrainedTokenizerFast(
        tokenizer_object=model, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


def unigram(
    ends: str | None = None, lowercase: bool = False, special: Sequence[str] = SPECIAL, whole: int = 0, **named: str
) -> PreTrainedTokenizerFast:
    """Unigram over metaspaces, as T5, XLNet and ALBERT have it.

    ``ends`` are the special tokens around a text; words up to ``whole`` letters are pieces (the trainer finds few: in
    so short a text hardly a part of one word stands in another).
    """
    model = Tokenizer(models.Unigram())
    model.normalizer = normalizers.Sequence([normalizers.NFKC(), *([normalizers.Lowercase()] if lowercase else [])])
    model.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    model.decoder = decoders.Metaspace()
    alphabet = sorted({letter for text in TEXT for letter in text})
    trainer = trainers.UnigramTrainer(
        vocab_size=200, special_tokens=list(special), unk_token="<unk>", initial_alphabet=alphabet, show_progress=False
    )
    model = trained(model, trainer, special)
    plain = json.loads(model.to_str())
    words = {
        word for text in TEXT for word, _ in model.pre_tokenizer.pre_tokenize_str(model.normalizer.normalize_str(text))
    }
    plain["model"]["vocab"] += [
        [word, -8.0] for word in sorted(words) if len(word) <= whole and model.token_to_id(word) is None
    ]
    model = Tokenizer.from_str(json.dumps(plain))
    if ends is not None:
        model.post_processor = special_tokens(ends, model)
    named = {"pad_token": "<pad>", "unk_token": "<unk>"} | (named or {"bos_token": "<s>", "eos_token": "</s>"})
    return PreTrainedTokenizerFast(tokenizer_object=model, **named)


def word_bpe() -> PreTrainedTokenizerFast:
    """BPE over lower-case words that end in ``</w>``, as the first GPT has it."""
    model = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    model.normalizer = normalizers.BertNormalizer(lowercase=True)
    model.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    model.decoder = decoders.BPEDecoder(suffix="</w>")
    last = [f"{letter}</w>" for letter in letters(model)]
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=["<unk>", *last], end_of_word_suffix="</w>", show_progress=False
    )
    model = trained(model, trainer, ["<unk>"])
    return PreTrainedTokenizerFast(tokenizer_object=model, unk_token="<unk>")


def metaspace_padded() -> PreTrainedTokenizerFast:
    """As Llama-2's, with a padding token that was added later: many a checkpoint has no embedding for it."""
    tokenizer = metaspace()
    tokenizer.add_special_tokens({"pad_token": "[PAD]"})
    return tokenizer


def letters(model: Tokenizer) -> list[str]:
    """Return the letters of the text as a tokenizer normalises it."""
    return sorted({letter for text in TEXT for letter in model.normalizer.normalize_str(text)} - {" "})


def wordpiece() -> PreTrainedTokenizerFast:
    model = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    model.normalizer = normalizers.BertNormalizer(lowercase=True)
    model.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    model.decoder = decoders.WordPiece()
    special = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]"]
    later = [f"##{letter}" for letter in letters(model)]
    trainer = trainers.WordPieceTrainer(vocab_size=260, special_tokens=[*special, *later], show_progress=False)
    model = trained(model, trainer, special)
    model.post_processor = special_tokens("[CLS] $A [SEP]", model)
    return PreTrainedTokenizerFast(
        tokenizer_object=model,
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        unk_token="[UNK]",
    )


END = "<|endoftext|>"
ONE_SPECIAL = {"special": (END,), "bos_token": END, "eos_token": END, "unk_token": END}
NEOX = ONE_SPECIAL | {"special": (END, "<|padding|>"), "pad_token": "<|padding|>"}
NAMED = {"pad_token": "<pad>", "unk_token": "<unk>"}
BRACKETS = {"bos_token": "[CLS]", "eos_token": "[SEP]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
ANGLES = {"bos_token": "<s>", "eos_token": "</s>", "cls_token": "<cls>", "sep_token": "<sep>", "mask_token": "<mask>"}
TOKENIZERS = {
    "byte_level": byte_level,
    "byte_level_gpt2": partial(byte_level, bos=False, **ONE_SPECIAL),
    "byte_level_nfc": partial(byte_level, bos=False, nfc=True, **NEOX),
    "byte_level_opt": partial(
        byte_level,
        ends="</s> $A",
        special=("<s>", "<pad>", "</s>", "<unk>"),
        bos_token="</s>",
        eos_token="</s>",
        **NAMED,
    ),
    "byte_level_glm": partial(byte_level, ends="[gMASK] <sop> $A", special=(*SPECIAL, "[gMASK]", "<sop>"), **NAMED),
    "byte_level_mask": partial(byte_level, mask=True),
    "metaspace": metaspace,
    "metaspace_padded": metaspace_padded,
    "metaspace_no_bos": partial(metaspace, bos=False),
    "metaspace_bare": partial(metaspace, prepend=False),
    "unigram": unigram,
    "unigram_t5": partial(unigram, "$A </s>", special=("<pad>", "</s>", "<unk>"), whole=7, eos_token="</s>"),
    "unigram_xlnet": partial(
        unigram,
        "$A <sep> <cls>",
        special=("<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>"),
        whole=7,
        **ANGLES,
    ),
    "unigram_albert": partial(
        unigram,
        "[CLS] $A [SEP]",
        lowercase=True,
        special=("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"),
        whole=7,
        mask_token="[MASK]",
        **BRACKETS,
    ),
    "wordpiece": wordpiece,
    "word_bpe": word_bpe,
}
