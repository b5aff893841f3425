"""The digest of a model: one sha256 over everything that its answers depend on, and digests of its parts."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from almanac import sealed, tables

WEIGHTS = ("*.safetensors", "*.safetensors.index.json")
TOKENIZER = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.*",
    "merges.txt",
    "*.model",
)
SETTINGS = ("config.json", "generation_config.json")
CODE = ("**/*.py",)


class Digests(NamedTuple):
    """The sha256 of a model as it is run, of its weights, and of its tokenizer."""

    model: str
    weights: str
    tokenizer: str


def digests(folder: Path, dtype: str, wrapper: str, code: bool = False, framing: str | None = None) -> Digests:
    """Return the digests of a checkpoint as it is run.

    Args:
        folder: the checkpoint's folder.
        dtype: the dtype that the weights are run in.
        wrapper: the name and version of the class that runs it.
        code: whether the code in the folder is run.
        framing: the digest of the framing of instructed requests.

    Returns:
        sha256 in hexadecimal digits: of the files of the weights and of the tokenizer, by names and contents; and of
        the model, which adds its settings, its code if that is run, dtype, wrapper and framing.
    """
    weights, tokenizer = _digest(folder, WEIGHTS), _digest(folder, TOKENIZER)
    parts = {
        "weights": weights,
        "tokenizer": tokenizer,
        "settings": _digest(folder, SETTINGS),
        "code": _digest(folder, CODE) if code else None,
        "dtype": dtype,
        "wrapper": wrapper,
        "framing": framing,
    }
    return Digests(tables.identity(parts), weights, tokenizer)


def tokenizer_digest(folder: Path) -> str:
    """Return the sha256 of a checkpoint's tokenizer, by names and contents of its files."""
    return _digest(folder, TOKENIZER)


def _digest(folder: Path, patterns: Sequence[str]) -> str:
    paths = {path for pattern in patterns for path in folder.glob(pattern) if path.is_file()}
    return tables.identity({path.relative_to(folder).as_posix(): sealed.sha256(path) for path in paths})
