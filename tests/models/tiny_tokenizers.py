"""Small tokenizers of every kind that the models bring, trained on a few sentences."""

import json

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

TEXT = [
    "Ada Lovelace was born in London in 1815. Paris is the capital of France, and Rome is the capital of Italy.",
    "The river flows through 12 towns; naïve café 東京 Zoë said: 'hello' 1990 times. 3M makes tape.",
    "Bordira makes the red clock. The clock of Bordira is red and the tape of Paris is blue.",
]
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>"]


def byte_level(bos: bool = True, mask: bool = False) -> PreTrainedTokenizerFast:
    model = Tokenizer(models.BPE())
    model.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    model.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=420, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    model.train_from_iterator(TEXT * 3, trainer)
    options = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    if mask:
        model.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True, normalized=False)])
        options["mask_token"] = "<mask>"
    if bos:
        ends = "<s> $A </s>" if mask else "<s> $A"
        model.post_processor = processors.TemplateProcessing(single=ends, special_tokens=[("<s>", 1), ("</s>", 2)])
        options["bos_token"] = "<s>"
    else:
        model.post_processor = processors.ByteLevel(trim_offsets=True)
    return PreTrainedTokenizerFast(tokenizer_object=model, **options)


def metaspace() -> PreTrainedTokenizerFast:
    """BPE as Llama-2 ships it: a prepended ▁, no pre-tokenizer, bytes for what is unknown."""
    model = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    model.normalizer = normalizers.Replace(" ", "▁")
    model.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=True)
    bytes_ = [f"<0x{value:02X}>" for value in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=480, special_tokens=SPECIAL + bytes_, show_progress=False)
    model.train_from_iterator(TEXT * 3, trainer)
    # The trainer made the bytes special tokens, which are left out of a decoded text; here they are plain tokens.
    plain = json.loads(model.to_str())
    plain["added_tokens"] = [token for token in plain["added_tokens"] if token["content"] in SPECIAL]
    model = Tokenizer.from_str(json.dumps(plain))
    model.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    model.pre_tokenizer = None
    model.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    model.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=model, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


def unigram() -> PreTrainedTokenizerFast:
    model = Tokenizer(models.Unigram())
    model.normalizer = normalizers.NFKC()
    model.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    model.decoder = decoders.Metaspace()
    alphabet = sorted({letter for text in TEXT for letter in text})
    trainer = trainers.UnigramTrainer(
        vocab_size=200, special_tokens=SPECIAL, unk_token="<unk>", initial_alphabet=alphabet, show_progress=False
    )
    model.train_from_iterator(TEXT * 3, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=model, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


def wordpiece() -> PreTrainedTokenizerFast:
    model = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    model.normalizer = normalizers.BertNormalizer(lowercase=True)
    model.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    model.decoder = decoders.WordPiece()
    special = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]"]
    model.train_from_iterator(
        TEXT * 3, trainers.WordPieceTrainer(vocab_size=260, special_tokens=special, show_progress=False)
    )
    model.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=model,
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        unk_token="[UNK]",
    )


TOKENIZERS = {"byte_level": byte_level, "metaspace": metaspace, "unigram": unigram, "wordpiece": wordpiece}
