"""How large a job is: what it needs, by the model's parameters and the tokens it reads; and what it has used."""

import os
import re
import resource
import sys
import time
from pathlib import Path
from typing import NamedTuple

BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
BASE_MIB = 1500  # an interpreter with PyTorch loaded, measured with the demo's models
GPU_FROM = 300_000_000  # parameters; below, a CPU core is as quick as waiting for a GPU
THREADS_FROM = 30_000_000  # parameters; below, starting and loading take longer than answering
GPU_DEVICES = ("nvidia[0-9]*", "kfd", "dxg")  # of NVIDIA, of AMD, and of either in Windows' Linux
CPU_FLOPS, GPU_FLOPS = 2e10, 1e14  # what one core and one card do at the least
# By benchmarks.tables (docs/performance.md): measuring 6.5 million requests takes 1.9 MiB a stored MiB above its start,
# and freezing them 0.3 s a stored MiB, four times which is left for slower disks and cores.
UNPACKED = 2
MEGABYTE_MINUTES = 0.02
# What a stored MiB of facts counts for: building two million takes 4.3 MiB a MiB of JSON Lines, 57 one of Parquet.
FACTS_TEXT, FACTS_PARQUET = 2.5, 30
LEAST_MINUTES, MOST_MINUTES = 10, 24 * 60
# The last line of a job's log (`used`), after the name of its verb.
USED = re.compile(r"^almanac \w+: (?P<wall>[\d.]+) s wall, (?P<cpu>[\d.]+) s CPU, (?P<mib>\d+) MiB$")


class Needs(NamedTuple):
    """What a job asks of a scheduler."""

    mem_mb: int
    runtime: int
    gpu: int


def needs(
    parameters: int,
    tokens: int,
    dtype: str = "float32",
    gpu: bool = False,
    training: bool = False,
    megabytes: float = 0,
    attempt: int = 1,
) -> Needs:
    """Return what a job needs.

    Args:
        parameters: of the model; 0 for a job without one.
        tokens: tokens the model reads, about.
        dtype: the weights' type.
        gpu: whether it takes a GPU; else it runs on a core.
        training: whether gradients and optimizer states are held too (four copies of the weights).
        megabytes: MiB of the tables that a job without a model reads, as they are stored.
        attempt: 1 for the first; each later one gets as much again, memory and time.

    Returns:
        Memory in MiB, run time in minutes, number of GPUs.
    """
    held = held_bytes(parameters, dtype) * (4 if training else 1)
    memory = BASE_MIB + held / 2**20 + megabytes * UNPACKED
    minutes = LEAST_MINUTES + seconds(parameters, tokens, gpu, training) / 60 + megabytes * MEGABYTE_MINUTES
    return Needs(int(memory * attempt), int(min(MOST_MINUTES, minutes * attempt)), int(gpu))


def gpu_seen(devices: Path = Path("/dev")) -> bool:
    """Return whether a GPU may be here, by what the system shows: PyTorch knows, and takes seconds to load."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return False
    return sys.platform == "darwin" or any(any(devices.glob(name)) for name in GPU_DEVICES)


def facts_megabytes(folder: Path) -> float:
    """Return what building a dataset of a folder's facts needs, as MiB of tables; see `needs`."""
    sizes = {path: path.stat().st_size / 2**20 for path in folder.rglob("*") if path.is_file()}
    return sum(size * (FACTS_PARQUET if path.suffix == ".parquet" else FACTS_TEXT) for path, size in sizes.items())


def held_bytes(parameters: int, dtype: str = "float32") -> float:
    """Return the memory that a model takes where it runs, about: its weights and a third more."""
    return parameters * BYTES[dtype] * 1.3


def seconds(parameters: int, tokens: int, gpu: bool, training: bool = False) -> float:
    """Return the time in which a model reads tokens, about: on a GPU or on one core.

    Two operations a parameter and token (six in training); all experts of a mixture are counted.
    """
    flops = 2 * parameters * tokens * (3 if training else 1)
    return flops / (GPU_FLOPS if gpu else CPU_FLOPS)


def children() -> float:
    """Return the CPU seconds of this process's ended children: not 0 at the start where a shell became this process."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime


def used(started: float, inherited: float = 0.0) -> str:
    """Return what this process has used, its ended children's CPU time included, in the form of `USED`.

    Args:
        started: when it began, by `time.perf_counter`.
        inherited: what `children` gave then.
    """
    own = resource.getrusage(resource.RUSAGE_SELF)
    cpu = own.ru_utime + own.ru_stime + children() - inherited
    mib = own.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)  # macOS counts bytes, Linux KiB
    return f"{time.perf_counter() - started:.1f} s wall, {cpu:.1f} s CPU, {mib:.0f} MiB"
