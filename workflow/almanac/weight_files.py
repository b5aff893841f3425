"""Which files of a checkpoint's folder hold its weights, and how many parameters these have, by their headers alone."""

import json
import math
import re
from pathlib import Path

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
# What training saves beside a model's weights, in files of the same endings.
BESIDES = re.compile("adapter_|optimizer|scheduler|scaler|rng_state|training_args")
# Tensors that older checkpoints hold and that are no parameters: causal masks (GPT-2's and GPT-NeoX's are a `bias` of
# four dimensions), positions and the frequencies of rotary embeddings.
BUFFER = re.compile(r"(^|\.)(masked_bias|causal_mask|position_ids|inv_freq|cos_cached|sin_cached)$")
DAMAGED = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)


def listed(folder: Path) -> set[str]:
    """Return the names of the files that weights are loaded from, where they are known.

    Transformers takes the single file where it is there, whatever an index says.
    """
    single = {SINGLE} if (folder / SINGLE).is_file() else set()
    try:
        named = set(json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"].values())
    except DAMAGED:
        return single  # no index, or a damaged one; loading it will say so
    return named if single <= named else single


def weights(folder: Path) -> list[Path]:
    """Return the safetensors files of a folder that are loaded: model.safetensors, or those that an index names.

    An adapter's and an optimizer's are none of them, nor is a second copy of the weights (consolidated.safetensors).
    """
    known = listed(folder)
    found = sorted(path for path in folder.glob("*.safetensors") if not BESIDES.match(path.name))
    return [path for path in found if not known or path.name in known]


def stored_parameters(folder: Path) -> int:
    """Return the number of parameters in a folder's weights; 0 if there are none, or they cannot be read."""
    total = 0
    for path in weights(folder):
        try:
            with path.open("rb") as handle:
                header = json.loads(handle.read(int.from_bytes(handle.read(8), "little")))
            shapes = {name: entry["shape"] for name, entry in header.items() if name != "__metadata__"}
            total += sum(math.prod(shape) for name, shape in shapes.items() if not _is_buffer(name, shape))
        except (*DAMAGED, MemoryError, OverflowError):
            return 0  # loading it will say so
    return total


def _is_buffer(name: str, shape: list[int]) -> bool:
    return BUFFER.search(name) is not None or (name.endswith(".bias") and len(shape) == 4)
