"""The digest of a model: one sha256 over everything that its answers depend on."""

from pathlib import Path

from almanac import tables

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


def model_files(folder: Path) -> list[Path]:
    """Return the files of a checkpoint that its answers depend on, by name."""
    return sorted({path for pattern in WEIGHTS + TOKENIZER + SETTINGS for path in folder.glob(pattern)})


def model_digest(folder: Path, dtype: str, wrapper: str) -> str:
    """Return the digest of a checkpoint as it is run.

    Args:
        folder: the checkpoint's folder.
        dtype: the type that the weights are run in.
        wrapper: the name and version of the class that runs it.

    Returns:
        sha256 in hexadecimal digits over the names and contents of weights, tokenizer and config, dtype and wrapper.
    """
    files = {path.name: tables.sha256(path) for path in model_files(folder)}
    return tables.identity({"files": files, "dtype": dtype, "wrapper": wrapper})
