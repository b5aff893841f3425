"""Checks the files of a checkpoint's folder: which ones are read, and whether they are complete. Nothing is loaded."""

import contextlib
import json
import math
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec

from almanac.errors import AlmanacError, no_such
from almanac.models.digest import CODE, SETTINGS, TOKENIZER, WEIGHTS
from almanac.models.wrappers import TEMPLATES
from almanac.weight_files import BESIDES, listed, weights

CONFIG = "config.json"
METADATA = "__metadata__"  # the only key of a header that is no tensor
LENGTH = 8  # bytes before the header, which hold its length
MOST_HEADER = 100_000_000  # bytes; the format's own limit
MOST_COUNTED = 100_000  # layers, experts or labels
COUNT = re.compile("^(?!.*size).*(layer|expert|label)")  # counts, not sizes: Gemma 3n has vocab_size_per_layer_input
Whole = Annotated[int, msgspec.Meta(ge=0)]
READ = f"{CONFIG}, safetensors and a tokenizer"
TOKENIZERS = ("tokenizer.json", "vocab.*", "*.model")
ADAPTER = ("adapter_config.json", "adapter_model.*")
SAVE = "save the model and its tokenizer with save_pretrained into a folder of their own"
# What to do with files that are not read, by their ending.
REMEDIES = {
    ".safetensors": "name its folder",
    ".gguf": (
        "convert it with transformers (`from_pretrained(FOLDER, gguf_file=NAME)` of AutoModelForCausalLM and "
        f"AutoTokenizer; {SAVE}), or serve it (llama.cpp has a server) and give the server's address"
    ),
    **dict.fromkeys((".bin", ".ckpt", ".pt", ".pth"), f"load it with the code that made it, and {SAVE}"),
}
# Prefixes that training wrappers put before the names of all weights, and how to save the model without them.
WRAPPED = {
    "base_model.model.": "peft: `merge_and_unload()`",
    "module.": "`accelerator.unwrap_model(model)`, or its `.module`",
    "_orig_mod.": "compiled: its `._orig_mod`",
}
MOST_NAMED = 5  # checkpoints that a message lists


def files(folder: Path, code: bool = False) -> list[Path]:
    """Return the files of a folder that a model's answers depend on, with its code if that is run."""
    patterns = (*WEIGHTS, *TOKENIZER, *SETTINGS, *TEMPLATES, *(CODE if code else ()))
    return sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})


def complete(folder: Path) -> Path:
    """Check that a folder has all files of a checkpoint, and that its weights are complete.

    Raises:
        AlmanacError: it is no folder, holds an adapter, lacks a file, or its weights are truncated, damaged or named by
            a training wrapper.
    """
    if folder.is_file():
        remedy = REMEDIES.get(folder.suffix.lower(), "name such a folder")
        raise AlmanacError(f"model {folder}: is a file, and a model is a folder with {READ}; {remedy}")
    if not folder.is_dir():
        raise AlmanacError(
            f"model: {no_such(folder, 'folder')}; give a folder with {READ}, or bring one from a hub with "
            "`almanac pull model`"
        )
    if adapter := _found(folder, ADAPTER):
        raise AlmanacError(
            f"model {folder}: holds an adapter ({adapter[0].name}), which would not be applied; merge it into its base "
            f"model (peft: `merge_and_unload()`), and {SAVE}"
        )
    if not weights(folder):
        _look_inside(folder)
    missing = [] if (folder / CONFIG).is_file() else [CONFIG]
    missing += [] if weights(folder) else sorted(listed(folder)) or ["weights (*.safetensors)"]
    missing += [] if _found(folder, TOKENIZERS) else ["a tokenizer (tokenizer.json)"]
    missing += [] if missing else sorted(listed(folder) - {path.name for path in weights(folder)})
    if missing:
        raise AlmanacError(
            f"model {folder}: the folder lacks {', '.join(missing)}; save the model and its tokenizer there with "
            "save_pretrained, or leave it out until a training run has saved it whole"
        )
    named: list[str] = []
    for path in weights(folder):
        try:
            named += tensors(path)
        except ValueError as error:
            raise AlmanacError(f"model {folder}: {path.name} {error}; copy it there again, whole") from error
    for prefix, remedy in WRAPPED.items():
        if named and all(name.startswith(prefix) for name in named):
            raise AlmanacError(
                f"model {folder}: the names of all weights begin with {prefix!r}, as of a model that was saved in its "
                f"wrapper for training; take it out ({remedy}), and {SAVE}"
            )
    check_config(folder)
    return folder


def _found(folder: Path, patterns: Iterable[str]) -> list[Path]:
    return sorted(path for pattern in patterns for path in folder.glob(pattern))


def _look_inside(folder: Path) -> None:
    """Refuse a folder without weights if it holds checkpoints in subfolders, or weights of another format."""
    below = next(filter(None, (list(folder.glob(f"{depth}*.safetensors")) for depth in ("*/", "*/*/"))), [])
    names = {path.parent.relative_to(folder).as_posix() for path in below}
    inside = sorted(names, key=lambda name: (len(name), name))
    if inside and not (folder / CONFIG).is_file():  # with a config it is a checkpoint itself
        more = f" and {len(inside) - MOST_NAMED} more" if len(inside) > MOST_NAMED else ""
        raise AlmanacError(
            f"model {folder}: holds no weights itself, but {', '.join(inside[-MOST_NAMED:])}{more}; name one of "
            f"them, as {folder / inside[-1]}, or several with spaces between"
        )
    others = [path for path in _found(folder, ("*",)) if not BESIDES.match(path.name) and path.suffix != ".safetensors"]
    if unread := [path for path in others if path.suffix.lower() in REMEDIES]:
        raise AlmanacError(
            f"model {folder}: holds {unread[0].name}, which is not read, and no safetensors; "
            f"{REMEDIES[unread[0].suffix.lower()]}"
        )


def header(path: Path) -> bytes:
    """Return a safetensors file's length field and header, which has names, shapes and places of all tensors.

    Raises:
        ValueError: the file is shorter than its header, or the header is longer than the format allows.
    """
    with path.open("rb") as handle:
        length = handle.read(LENGTH)
        size = int.from_bytes(length, "little")
        if len(length) < LENGTH or size > path.stat().st_size - LENGTH:
            raise ValueError("is shorter than its header")
        if size > MOST_HEADER:
            raise ValueError(f"says that its header has {size} bytes; safetensors allows {MOST_HEADER}")
        return length + handle.read(size)


class Tensor(msgspec.Struct):
    """A tensor's entry in a header: its dtype, its shape, and where its bytes begin and end."""

    dtype: Annotated[str, msgspec.Meta(pattern="^(BOOL|[A-Z]+[0-9]+.*)$")]
    shape: list[Whole]
    data_offsets: tuple[Whole, Whole]

    @property
    def bits(self) -> int:
        """Return the number of bits per number, by the dtype's name."""
        digits = re.search(r"\d+", self.dtype)
        return int(digits[0]) if digits else 8


def tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file by its header, in the order of their bytes.

    Raises:
        ValueError: the file is shorter than its header, or the header does not fit the file.
    """
    head = header(path)
    try:
        entries = msgspec.json.decode(head[LENGTH:], type=dict[str, msgspec.Raw])
        found = {name: msgspec.json.decode(raw, type=Tensor) for name, raw in entries.items() if name != METADATA}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"is damaged: its header cannot be read ({error})") from error
    ordered = dict(sorted(found.items(), key=lambda one: one[1].data_offsets))
    last = 0
    for name, one in ordered.items():
        begin, end = one.data_offsets
        if begin != last:
            raise ValueError(f"is damaged: {name} begins at {begin}, and the tensor before it ends at {last}")
        if (end - begin) * 8 != math.prod(one.shape) * one.bits:
            raise ValueError(f"is damaged: {name} has the shape {one.shape} of {one.dtype} and {end - begin} bytes")
        last = end
    if (size := path.stat().st_size - len(head)) != last:
        raise ValueError(f"has {size + len(head)} bytes, and its header says {last + len(head)}")
    return ordered


def all_tensors(folder: Path) -> list[Tensor]:
    """Return the tensors of all weight files in a `complete` folder."""
    return [one for path in weights(folder) for one in tensors(path).values()]


def check_memory(folder: Path, dtype: str, most: int) -> None:
    """Check, by the headers, that the weights fit into memory.

    Args:
        folder: a `complete` checkpoint.
        dtype: the dtype that it is run in; quantised weights stay as they are stored.
        most: the available memory in bytes.

    Raises:
        AlmanacError: they do not fit, with both figures.
    """
    wide, run = {"F64", "F32", "F16", "BF16"}, {"float32": 32}.get(dtype, 16)
    bits = sum(math.prod(one.shape) * (run if one.dtype in wide else one.bits) for one in all_tensors(folder))
    if bits > most * 8:
        smaller = "use dtype: bfloat16, " if run == 32 else ""
        raise AlmanacError(
            f"model {folder}: needs {bits / 8 / 2**30:.1f} GiB of memory in {dtype}, and there are {most / 2**30:.1f}; "
            f"{smaller}run it on a machine that has more, or serve it and ask it by its address (docs/api.md)"
        )


def memory() -> int:
    """Return the bytes of memory that this process may use: all of the machine's, or the limit of its control group."""
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    with contextlib.suppress(OSError, IndexError):
        group = Path("/sys/fs/cgroup") / Path("/proc/self/cgroup").read_text().split("::/", 1)[1].strip()
        limits = [path / "memory.max" for path in (group, *group.parents)]
        found += [int(text) for path in limits if path.is_file() and (text := path.read_text().strip()).isdigit()]
    return min(found)


def check_config(folder: Path) -> None:
    """Check that config.json names no absurd number of layers, experts or labels, since its class makes lists of them.

    Raises:
        AlmanacError: a number is too large, or the file cannot be read.
    """
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise AlmanacError(f"model {folder}: {CONFIG} cannot be read ({error}); save it again") from error
    for key, value in _counts(config):
        if value > MOST_COUNTED:
            raise AlmanacError(
                f"model {folder}: {CONFIG}: {key} is {value}; allowed are {MOST_COUNTED}; correct it, or use another "
                "checkpoint"
            )


def _counts(config: Any) -> Iterator[tuple[str, int]]:
    """Yield the numbers of layers, experts and labels in a config, each with its key."""
    for key, value in config.items() if isinstance(config, dict) else ():
        if isinstance(value, dict):
            yield from _counts(value)
        elif isinstance(value, int) and COUNT.search(key):
            yield key, value
