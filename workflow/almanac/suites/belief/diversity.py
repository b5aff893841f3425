"""How much the templates of a relation differ: in words, in syntax and in meaning (Zhao et al., Table 9).

    python -m almanac.suites.belief.diversity resources/templates/lama.jsonl
    python -m almanac.suites.belief.diversity FILE … --parser en_core_web_sm    (environment of envs/lemmas.txt)
    python -m almanac.suites.belief.diversity FILE … --embedder FOLDER          (Almanac's own environment)

Each number is the mean distance between two templates of a relation, averaged over relations:

- words: the Jaccard distance between the sets of lower-case words, without slots;
- syntax: 2d / (n + m + d), where d is the tree edit distance (Zhang and Shasha 1989; unit costs) between the dependency
  trees of n and m tokens; nodes are labelled by dependency relation and ordered as in the sentence. It lies between 0
  and 1 (Li and Zhang 2011), and is the Jaccard distance if d is the size of a symmetric difference;
- meaning: 1 minus the cosine, and the Euclidean distance, of the mean last hidden states of a model.

For syntax and meaning the slots hold the same two names in all templates. Table 9's syntax is a distance of Oya (2020)
that we could not recover; its meaning is the Euclidean distance for BERT-large, with unspecified pooling.
"""

import argparse
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from itertools import combinations, starmap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from almanac import punctuation
from almanac.dataset import templates
from almanac.errors import AlmanacError
from almanac.suites.belief.lemmas import load_spacy
from almanac.suites.belief.templates import AskedTemplate, of_rows, rows_of

filled = partial(templates.filled, subject="Kenya", found="Peru")
WORD = re.compile(rf"{punctuation.WORD}(?:['’]{punctuation.WORD})*")
BATCH = 64  # texts per forward pass
ENVIRONMENT = "envs/lemmas.txt"
Distances = Callable[[Sequence[str]], Iterable[float]]  # returns the distance of every two of some texts


class Tree(NamedTuple):
    """A dependency tree with an extra root node, in preorder.

    Attributes:
        labels: ``(tokens + 1,)``, the dependency relation of each node; the root's is empty.
        children: ``(tokens + 1,)``, the indices of each node's children, in the order of the sentence.
    """

    labels: tuple[str, ...]
    children: tuple[tuple[int, ...], ...]


def words(text: str) -> frozenset[str]:
    """Return the lower-case words of a template, slots left out."""
    return frozenset(WORD.findall(templates.SLOT.sub(" ", text).lower()))


def by_words(texts: Sequence[str]) -> Iterator[float]:
    """Yield the Jaccard distance between the words of every two texts; 0 for two texts without words."""
    for one, other in combinations(map(words, texts), 2):
        either = one | other
        yield 1 - len(one & other) / len(either) if either else 0.0


def tree_of(tokens: Iterable[Any]) -> Tree:
    """Return the dependency tree of a text.

    Args:
        tokens: spaCy's tokens, with their index ``i``, their ``head`` (themselves at the root) and ``dep_``.
    """
    below: dict[int, list[Any]] = defaultdict(list)
    for token in tokens:
        below[-1 if token.head.i == token.i else token.head.i].append(token)
    labels: list[str] = []
    children: list[tuple[int, ...]] = []

    def add(label: str, number: int) -> int:
        place = len(labels)
        labels.append(label)
        children.append(())
        children[place] = tuple(add(token.dep_, token.i) for token in below[number])
        return place

    add("", -1)
    return Tree(tuple(labels), tuple(children))


def share(edits: float, one: int, other: int) -> float:
    """Normalise the tree edit distance d of trees of n and m tokens: 2d / (n + m + d)."""
    return 2 * edits / (one + other + edits) if edits else 0.0


def by_syntax(model: str) -> Distances:
    """Return a function that measures the distances of dependency trees, parsed by a spaCy pipeline (name or folder).

    Raises:
        AlmanacError: spaCy, the pipeline or edist is not installed, or the pipeline has no parser.
    """
    try:
        edits = import_module("edist.ted").ted
    except ImportError:
        raise AlmanacError(
            f"edist (tree edit distance) is not installed here; run this in the environment of {ENVIRONMENT}"
        ) from None
    pipeline = load_spacy(model, exclude=("ner", "lemmatizer"))
    if "parser" not in pipeline.pipe_names:
        raise AlmanacError(f"spaCy model {model!r} has no parser; name a trained pipeline, such as en_core_web_sm")

    @cache
    def distance(one: Tree, other: Tree) -> float:
        count = float(edits(*map(list, one), *map(list, other)))
        return share(count, len(one.labels) - 1, len(other.labels) - 1)

    return lambda texts: starmap(distance, combinations(map(tree_of, pipeline.pipe(map(filled, texts))), 2))


def by_meaning(folder: str) -> tuple[Distances, Distances]:
    """Return functions that measure 1 minus the cosine, and the Euclidean distance, of a model's mean hidden states.

    Raises:
        AlmanacError: torch is not installed, or the folder holds no model.
    """
    from scipy.spatial.distance import pdist  # of Almanac's own environment, as torch

    embed = embedder(folder)

    def vectors(texts: Sequence[str]) -> NDArray[np.float64]:
        return embed([filled(text) for text in texts])

    return lambda texts: pdist(vectors(texts), "cosine"), lambda texts: pdist(vectors(texts))


def embedder(folder: str) -> Callable[[Sequence[str]], NDArray[np.float64]]:
    """Return a function that embeds texts, ``(texts, width)``: the mean of the last hidden states of all tokens.

    Special tokens are included. Of an encoder-decoder model the encoder is used. Batches hold texts of equal length, so
    that nothing is padded; each distinct text is read once.

    Raises:
        AlmanacError: torch is not installed, or the folder holds no model.
    """
    try:
        import torch
        from transformers import AutoModel, AutoTokenizer
    except ImportError:
        raise AlmanacError(
            "torch or transformers is not installed here; run this in Almanac's own environment, without --parser"
        ) from None
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model: Any = AutoModel.from_pretrained(folder, local_files_only=True).eval()
    except (OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise AlmanacError(f"{folder}: {reason}; name the folder of a model in transformers' format") from None
    if model.config.is_encoder_decoder:
        model = model.get_encoder()
    known: dict[str, NDArray[np.float64]] = {}

    def embed(texts: Sequence[str]) -> NDArray[np.float64]:
        ids = {text: tokenizer(text)["input_ids"] for text in texts if text not in known}
        by_length: dict[int, list[str]] = defaultdict(list)
        for text, own in ids.items():
            by_length[len(own)].append(text)
        for alike in by_length.values():
            for start in range(0, len(alike), BATCH):
                some = alike[start : start + BATCH]
                with torch.inference_mode():
                    states = model(input_ids=torch.tensor([ids[text] for text in some])).last_hidden_state
                known.update(zip(some, states.double().mean(dim=1).numpy(), strict=True))  # (texts, width)
        return np.stack([known[text] for text in texts])

    return embed


def mean_distance(relations: Iterable[Sequence[str]], distances: Distances) -> float | None:
    """Return the mean over relations of their templates' mean pairwise distance; None if no relation has two."""
    means = [statistics.fmean(distances(texts)) for texts in relations if len(texts) > 1]
    return statistics.fmean(means) if means else None


def table(files: Mapping[str, Mapping[str, Sequence[AskedTemplate]]], measures: Mapping[str, Distances]) -> list[str]:
    """Return the lines of a table with two rows per file: all of its templates, and the written ones alone."""
    rows = []
    for name, by_relation in files.items():
        for kept, chosen in (("all", lambda one: True), ("written", lambda one: one.written)):
            texts = [[one.text for one in own if chosen(one)] for own in by_relation.values()]
            counts = sorted({len(own) for own in texts})
            each = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
            found = [mean_distance(texts, measure) for measure in measures.values()]
            cells = ["–" if value is None else f"{value:.4f}" for value in found]
            rows.append([f"{name}, {kept}", str(len(texts)), each, *cells])
    return markdown(["templates", "relations", "of each", *measures], rows)


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table; the first column is text, the others are numbers."""
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---", *["---:"] * (len(head) - 1)], *rows)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table of distances for files of templates."""
    parser = argparse.ArgumentParser(description="how different the templates of a relation are (Zhao et al., Table 9)")
    parser.add_argument("files", type=Path, nargs="+", help="templates: as in resources/templates, or a user's own")
    parser.add_argument("--parser", help="a spaCy pipeline or its folder, for syntax")
    parser.add_argument("--embedder", help="a model's folder, for meaning")
    given = parser.parse_args(arguments)
    try:
        last = Counter(path.name for path in dict.fromkeys(given.files))
        files = {str(path) if last[path.name] > 1 else path.name: of_rows(rows_of(path)) for path in given.files}
        if empty := [name for name, own in files.items() if not own]:
            raise AlmanacError(f"{', '.join(empty)}: no template with [X] and [Y] once each")
        measures: dict[str, Distances] = {"words": by_words}
        if given.parser:
            measures["syntax"] = by_syntax(given.parser)
        if given.embedder:
            measures["meaning, 1 − cosine"], measures["meaning, Euclidean"] = by_meaning(given.embedder)
        print("\n".join(table(files, measures)))
    except AlmanacError as error:
        print(f"almanac: {error}")
        return 1
    if not given.parser:
        print(f"\nNo syntax: name a spaCy pipeline (--parser, in the environment of {ENVIRONMENT}).")
    if not given.embedder:
        print("\nNo meaning: name a model's folder (--embedder, in Almanac's own environment).")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
