"""Find the weight files in a checkpoint's folder, and count their parameters by their headers alone."""

import json
import math
import re
from pathlib import Path

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
# Files with the same endings that training saves next to a model's weights.
BESIDES = re.compile("adapter_|optimizer|scheduler|scaler|rng_state|training_args")
# Tensors of older checkpoints that are no parameters: causal masks (GPT-2's and GPT-NeoX's are a `bias` of four
# dimensions), positions, and the frequencies of rotary embeddings.
BUFFER = re.compile(r"(^|\.)(masked_bias|causal_mask|position_ids|inv_freq|cos_cached|sin_cached)$")
DAMAGED = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)


def listed(folder: Path) -> set[str]:
    """Return the names of the files that weights are loaded from; empty if neither a single file nor an index exists.

    If the single file exists, transformers loads it, whatever an index says.
    """
    single = {SINGLE} if (folder / SINGLE).is_file() else set()
    try:
        named = set(json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"].values())
    except DAMAGED:
        return single  # no index, or a damaged one, which loading will report
    return named if single <= named else single


def weights(folder: Path) -> list[Path]:
    """Return the safetensors files of a folder that are loaded: model.safetensors, or those that an index names.

    Files of adapters and optimizers are left out, and so is a second copy of the weights (consolidated.safetensors).
    """
    known = listed(folder)
    found = sorted(path for path in folder.glob("*.safetensors") if not BESIDES.match(path.name))
    return [path for path in found if not known or path.name in known]


def stored_parameters(folder: Path) -> int:
    """Return the number of parameters in a folder's weights; 0 if there are none or they cannot be read."""
    total = 0
    for path in weights(folder):
        try:
            with path.open("rb") as handle:
                header = json.loads(handle.read(int.from_bytes(handle.read(8), "little")))
            shapes = {name: entry["shape"] for name, entry in header.items() if name != "__metadata__"}
            total += sum(math.prod(shape) for name, shape in shapes.items() if not _is_buffer(name, shape))
        except (*DAMAGED, MemoryError, OverflowError):
            return 0  # loading will report it
    return total


def _is_buffer(name: str, shape: list[int]) -> bool:
    return BUFFER.search(name) is not None or (name.endswith(".bias") and len(shape) == 4)
