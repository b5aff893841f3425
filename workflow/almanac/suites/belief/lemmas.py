"""Matches texts by their lemmas: whether those of one stand within those of the other (Zhao et al., section 3.3).

Lemmas come from a file made with spaCy, or without one from simple rules (`by_rule`). A separate command makes the
file, so that nothing else needs spaCy:

    python -m almanac.suites.belief.lemmas --model en_core_web_lg --output lemmas.jsonl results/EDITION

It reads every distinct answer and name (of objects and of subjects) of the suites ``belief`` of an edition.
"""

import argparse
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

from almanac import tables
from almanac.dataset.templates import cleaned, first_line
from almanac.dataset.text import normalise, runs, same_value, singular
from almanac.errors import AlmanacError
from almanac.punctuation import MARKS, UNSPACED, unstopped

# A hyphen or a full stop separates words (Paris-based, Paris.The), as in spaCy's tokenizer. Parts of a word are: the
# signs within a number (1,500.5); combining marks, such as the vowels of Indic scripts; and signs that distinguish
# names: the minus of a number, `+` and `#` after a word (A+, C#), and a minus after one of up to two letters (AB-).
# In scripts without spaces each character is a word.
_LETTERS = rf"[^\W{UNSPACED}](?:[^\W{UNSPACED}]|[{MARKS}])*"
WORD = re.compile(
    rf"(?=[\w{MARKS}])[{UNSPACED}]|"
    rf"(?:(?<![^\s(])-(?=\d))?{_LETTERS}(?:'{_LETTERS}|(?<=\d)[.,]\d+)*"
    r"(?:[+#]+|(?<!\w{3})(?<!\d)-(?![\w'-]))?"
)
SEPARATOR = " "
Lemmas = Callable[[str], tuple[str, ...]]  # returns the lemmas of a text


@dataclass(frozen=True, slots=True)
class Lemmatised:
    """A text and its lemmas."""

    KEY: ClassVar = ("text",)
    text: str
    lemmas: tuple[str, ...]


def lemmas_of(path: str | None) -> Lemmas:
    """Return a function that lemmatises texts: by looking them up in a file, or without one by rule.

    Raises:
        AlmanacError: the file cannot be read. The function raises it for a text that the file lacks.
    """
    if path is None:
        return cache(by_rule)
    known = {row.text: row.lemmas for row in tables.read_jsonl(path, Lemmatised)}

    def lemmas(text: str) -> tuple[str, ...]:
        if text not in known:
            raise AlmanacError(
                f"{path}: has no lemmas of the text {text[:60]!r}, and lemmas by rule would not match its others; "
                "make the file again from the answered edition (docs/belief.md), or leave `lemmas` out"
            )
        return known[text]

    return lemmas


def by_rule(text: str) -> tuple[str, ...]:
    """Return the lower-case words of a text, without most punctuation, possessive *'s* and regular plural endings.

    Numbers are normalised: 1,500 is 1500. The rules are applied to both sides of every comparison, so a name that they
    shorten wrongly (*Paris*) still equals itself.
    """
    words = WORD.findall(normalise(text).replace("_", " "))  # emphasis: _Paris_
    return tuple(same_value(singular(word.removesuffix("'s"))) for word in words)


def naming(accepted: Sequence[str], lemmas: Lemmas) -> Lemmas:
    """Return a function that lemmatises texts, and also those of signs alone that equal an accepted name.

    So the answer `€` matches the accepted name `€`, while other answers of signs alone match nothing.

    Args:
        accepted: the names; quotation marks around them and a full stop are ignored.
        lemmas: lemmatises texts that have words.
    """

    def lemmatise(text: str) -> tuple[str, ...]:
        if words := lemmas(text) if text else ():
            return words
        signs = _signs(text)
        return tuple(signs.split()) if signs in map(_signs, accepted) else ()

    return lemmatise


def _signs(text: str) -> str:
    """Return the form in which texts without words are compared."""
    return cleaned(unstopped(normalise(text)))


def within(part: Sequence[str], whole: Sequence[str]) -> bool:
    """Return whether ``part`` is a contiguous run of ``whole``; an empty one is not."""
    return bool(runs(part, whole))


def without(part: Sequence[str], whole: Sequence[str]) -> list[str]:
    """Return the lemmas ``whole`` with empty ones in every place where ``part`` stands."""
    left = list(whole)
    for first, last in runs(part, whole):
        left[first:last] = [""] * (last - first)
    return left


def alike(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether one of two texts, as lemmas, contains the other: the match in two directions."""
    return within(one, other) or within(other, one)


def parts_of(lemmas: Sequence[str]) -> list[str]:
    """Return every contiguous run of lemmas, joined by `SEPARATOR`, each once."""
    return sorted({SEPARATOR.join(lemmas[start:stop]) for start, stop in combinations(range(len(lemmas) + 1), 2)})


def is_one_word(text: str) -> bool:
    """Return whether the first line of a text is a single word, ignoring punctuation."""
    return sum(re.search(r"\w", word) is not None for word in first_line(text).split()) == 1


def load_spacy(model: str, exclude: Sequence[str]) -> Any:
    """Load a spaCy pipeline.

    Args:
        model: its name or folder, or ``blank``: spaCy's English tokenizer and lookup tables alone.
        exclude: the components that are not needed.

    Raises:
        AlmanacError: spaCy or the model is not installed.
    """
    try:
        spacy = import_module("spacy")  # in an environment of its own: nothing else of Almanac needs it
    except ImportError:
        raise AlmanacError(
            "spaCy is not installed here; run this in the environment of envs/lemmas.txt (docs/belief.md), "
            "or go without: leave `lemmas` out, or --parser"
        ) from None
    try:
        if model != "blank":
            return spacy.load(model, exclude=list(exclude))
        pipeline = spacy.blank("en")
        pipeline.add_pipe("lemmatizer", config={"mode": "lookup"})
        pipeline.initialize()
        return pipeline
    except (OSError, ValueError) as error:
        raise AlmanacError(
            f"spaCy model {model!r}: {error}; name an installed pipeline, its folder, or blank"
        ) from None


def with_spacy(model: str, texts: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Yield the lemmas of texts by a spaCy model; see `load_spacy`.

    Raises:
        AlmanacError: spaCy or the model is not installed.
    """
    for found in load_spacy(model, exclude=("ner", "parser")).pipe(texts, batch_size=1000):
        yield tuple(token.lemma_.lower() for token in found if not (token.is_punct or token.is_space))


def texts_of(folder: Path) -> list[str]:
    """Return every distinct text of an edition that is compared, sorted: accepted names, subjects' names, answers."""
    import pyarrow.parquet as pq

    found: set[str] = set()
    for path in sorted(folder.glob("requests/belief/**/items.parquet")):
        for batch in pq.ParquetFile(path).iter_batches(columns=["accepted", "name"]):
            found.update(batch.column(0).flatten().unique().to_pylist())
            found.update(filter(None, batch.column(1).unique().to_pylist()))
    for path in sorted(folder.glob("responses/*/belief/**/responses-*.parquet")):
        for batch in pq.ParquetFile(path).iter_batches(columns=["texts"]):
            found.update(map(first_line, batch.column(0).flatten().unique().to_pylist()))
    return sorted(found - {""})


def main() -> int:
    """Write the file of lemmas of an edition's texts."""
    parser = argparse.ArgumentParser(description="the lemmas of every text that BELIEF compares, by spaCy")
    parser.add_argument("edition", type=Path, help="an edition's folder, answered: results/EDITION")
    parser.add_argument("--model", required=True, help="a spaCy pipeline, its folder, or blank: lookup tables alone")
    parser.add_argument("--output", required=True, type=Path)
    arguments = parser.parse_args()
    try:
        texts = texts_of(arguments.edition)
        if not texts:
            raise AlmanacError(f"{arguments.edition}: no texts of a suite belief; answer the edition first")
        tables.write_jsonl(arguments.output, map(Lemmatised, texts, with_spacy(arguments.model, texts)))
    except AlmanacError as error:
        print(f"almanac: {error}")
        return 1
    print(f"{len(texts):,} texts")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
