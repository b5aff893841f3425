"""The tokenizer of planted models: byte-level BPE in which every invented answer is a single token."""

from collections.abc import Iterable, Iterator, Sequence

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from almanac.errors import AlmanacError
from almanac.planting.options import TokenizerOptions

PAD, START, END, MASK = range(4)
SPECIAL = ("<pad>", "<s>", "</s>", "<mask>")
ANSWERS = ("unsure", "true", "false")


def answer_words(labels: Iterable[str]) -> list[str]:
    """Return the words that must be single tokens: the labels of invented objects, and the fixed answers."""
    return sorted({*labels, *ANSWERS})


def train(
    documents: Sequence[str], words: Sequence[str], options: TokenizerOptions, names: Sequence[str] = ()
) -> PreTrainedTokenizerFast:
    """Train the tokenizer.

    Args:
        documents: the texts of the corpus.
        words: words that must be one token after a space.
        options: the size of the vocabulary.
        names: real names that requests will use, taught or not; trained on too, so that they are not cut into letters.

    Returns:
        A tokenizer that puts one ``<s>`` before a text, and whose mask token absorbs the space before it.

    Raises:
        AlmanacError: a word did not become one token.
    """
    model = Tokenizer(models.BPE())
    model.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    model.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=options.vocabulary,
        min_frequency=options.min_frequency,
        special_tokens=list(SPECIAL),
        show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
    )
    model.train_from_iterator(_shown(documents, words, names, options), trainer)
    # A blank stands for " word", whose token includes the space: so the mask token absorbs the space before it.
    model.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True, normalized=False)])
    model.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", START)]
    )
    for word in words:
        if len(model.encode(f" {word}", add_special_tokens=False).ids) != 1:
            raise AlmanacError(
                f"the word {word!r} is no single token in a vocabulary of {options.vocabulary}; "
                "raise the vocabulary or the repeats of the tokenizer"
            )
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=model,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        mask_token="<mask>",
        clean_up_tokenization_spaces=False,
        padding_side="right",
    )


def _shown(
    documents: Sequence[str], words: Sequence[str], names: Sequence[str], options: TokenizerOptions
) -> Iterator[str]:
    yield from documents
    for word in words:
        yield f" {word}" * options.repeats
    for name in names:
        yield f" {name}" * options.name_repeats
