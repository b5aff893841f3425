"""A checkpoint's folder by its files alone: which of them are read, and whether they are whole. Nothing is loaded."""

import json
from pathlib import Path

from almanac.errors import AlmanacError, no_such
from almanac.models.digest import CODE, SETTINGS, TOKENIZER, WEIGHTS
from almanac.models.wrappers import TEMPLATES

INDEX = "model.safetensors.index.json"
NEEDED = {
    "config.json": ("config.json",),
    "weights (*.safetensors)": ("*.safetensors",),
    "a tokenizer (tokenizer.json)": ("tokenizer.json", "vocab.*", "*.model"),
}


def files(folder: Path, code: bool = False) -> list[Path]:
    """Return the files of a folder that a model's answers depend on, its code where that is run."""
    patterns = (*WEIGHTS, *TOKENIZER, *SETTINGS, *TEMPLATES, *(CODE if code else ()))
    return sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})


def complete(folder: Path) -> Path:
    """Check that a folder holds what a checkpoint needs, and that its weights are whole.

    Raises:
        AlmanacError: there is no such folder, a file is missing, or weights are cut or damaged.
    """
    if not folder.is_dir():
        raise AlmanacError(
            f"model: {no_such(folder, 'folder')}; give a folder with config.json, safetensors and a tokenizer, or "
            "bring one from a hub with `almanac pull model`"
        )
    missing = [what for what, patterns in NEEDED.items() if not any(any(folder.glob(one)) for one in patterns)]
    missing += [] if missing else sorted(_listed(folder) - {path.name for path in folder.glob("*.safetensors")})
    if missing:
        pickled = (
            " (pickled weights are not read: convert them with save_pretrained)" if any(folder.glob("*.bin")) else ""
        )
        raise AlmanacError(
            f"model {folder}: the folder lacks {', '.join(missing)}{pickled}; save the model and its tokenizer "
            "there with save_pretrained"
        )
    for path in sorted(folder.glob("*.safetensors")):
        if (wrong := _damage(path)) is not None:
            raise AlmanacError(f"model {folder}: {path.name} {wrong}; copy it there again, whole")
    return folder


def _listed(folder: Path) -> set[str]:
    """Return the files that weights are spread over, where an index says so."""
    try:
        return set(json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"].values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set()  # none, or damaged; loading it will say so


def header(path: Path) -> bytes:
    """Return the header of a safetensors file, its length before it: names, shapes and places of all tensors.

    Raises:
        ValueError: the file is shorter than its header.
    """
    with path.open("rb") as handle:
        length = handle.read(8)
        if len(length) < len(bytes(8)) or int.from_bytes(length, "little") > path.stat().st_size - len(length):
            raise ValueError("is shorter than its header")
        return length + handle.read(int.from_bytes(length, "little"))


def _damage(path: Path) -> str | None:
    """Return what is wrong with a safetensors file, by its header and its size, or none."""
    try:
        head = header(path)
        tensors = {name: entry for name, entry in json.loads(head[8:]).items() if name != "__metadata__"}
        wanted = len(head) + max((entry["data_offsets"][1] for entry in tensors.values()), default=0)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        return "is damaged: its header cannot be read"
    found = path.stat().st_size
    return None if found == wanted else f"has {found} bytes, and its header says {wanted}"
