"""LAMA-UHN's second rule: facts that a masked model guesses from the subject's name alone.

A model fills the blank in a sentence about each word of the subject's name (Poerner et al. 2020). A pair is guessable
if each of its objects is among the three likeliest tokens for some word. Since this needs a separate model (theirs:
bert-base-cased), it is a step before asking; the setting `guessed` names its output file.
"""

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import polars as pl

from almanac import tables
from almanac.dataset.text import normalise
from almanac.errors import AlmanacError
from almanac.suites.belief.prompts import BLANK
from almanac.suites.data import Data
from almanac.suites.prompts import prompts

KINDS = {"P19": "city", "P20": "city", "P27": "country", "P103": "language", "P1412": "language"}
LIKELIEST = 3
BATCH = 64
Fill = Callable[[Sequence[str]], Iterable[Sequence[str]]]  # texts with a blank → the likeliest tokens of each


@dataclass(frozen=True, slots=True)
class Guessed:
    """A pair of subject and relation whose objects a model guesses from the subject's name."""

    KEY: ClassVar = ("relation_id", "subject_id")
    relation_id: str
    subject_id: str


def guessed(data: Data, fill: Fill) -> list[Guessed]:
    """Return the guessed pairs of the relations that the rule applies to (`KINDS`, by Wikidata's property).

    Raises:
        AlmanacError: the dataset has none of these relations.
    """
    kinds = {row.relation_id: KINDS.get(row.property or "") for row in data.relations}
    objects: dict[tuple[str, str], set[str]] = {}
    known = pl.Series([relation for relation, kind in kinds.items() if kind], dtype=pl.String)
    for relation, subject, key in data.triples.filter(pl.col("relation_id").is_in(known.implode())).iter_rows():
        objects.setdefault((relation, subject), set()).add(normalise(data.names.label(key)))
    if not objects:
        raise AlmanacError(f"{data.folder}: has none of the relations {', '.join(KINDS)}, to which the rule is limited")
    wanted = {pair: [(str(kinds[pair[0]]), part) for part in data.names.label(pair[1]).split()] for pair in objects}
    asked = sorted({one for own in wanted.values() for one in own})
    sentence: str = prompts("belief")["common_name"]["text"]
    found = fill([sentence.format(name=part, kind=kind, blank=BLANK) for kind, part in asked])
    top = {one: {normalise(token) for token in tokens} for one, tokens in zip(asked, found, strict=True)}
    return [
        Guessed(*pair)
        for pair, own in sorted(objects.items())
        if own <= set().union(*(top[one] for one in wanted[pair]))
    ]


def filler(folder: str) -> Fill:
    """Return a function that fills blanks by a masked checkpoint.

    Raises:
        AlmanacError: the folder holds no masked model, or its tokenizer has no mask token.
    """
    import torch  # of the models' environment: nothing else of a suite needs it
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    try:
        words = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = AutoModelForMaskedLM.from_pretrained(folder, local_files_only=True).eval()
    except (OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise AlmanacError(f"{folder}: {reason}; name the folder of a masked model, such as bert-base-cased") from None
    if words.mask_token is None:
        raise AlmanacError(f"{folder}: its tokenizer has no mask token; name the folder of a masked model")

    def fill(texts: Sequence[str]) -> Iterable[Sequence[str]]:
        for start in range(0, len(texts), BATCH):
            part = [text.replace(BLANK, words.mask_token) for text in texts[start : start + BATCH]]
            inputs = words(part, return_tensors="pt", padding=True)
            with torch.inference_mode():
                logits = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]).logits
            blank = inputs["input_ids"] == words.mask_token_id  # (texts, tokens), one a text
            for likely in logits[blank].topk(LIKELIEST).indices.tolist():
                yield [str(words.decode([token])).strip() for token in likely]

    return fill


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the file of a dataset's guessed pairs."""
    parser = argparse.ArgumentParser(description="find the pairs that LAMA-UHN's second rule leaves out (masked model)")
    parser.add_argument("dataset", type=Path, help="a dataset's folder: results/EDITION/dataset/NAME")
    parser.add_argument("--model", required=True, help="a masked checkpoint's folder (the paper: bert-base-cased)")
    parser.add_argument("--output", required=True, type=Path)
    given = parser.parse_args(arguments)
    try:
        found = guessed(Data(given.dataset), filler(given.model))
        tables.write_jsonl(given.output, found)
    except AlmanacError as error:
        print(f"almanac: {error}")
        return 1
    print(f"{len(found):,} pairs are guessed from the subject's name")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
