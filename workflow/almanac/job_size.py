"""Estimate the memory and time that a job needs, by its model and input, and measure what it has used."""

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
GPU_DEVICES = ("nvidia[0-9]*", "kfd", "dxg")  # device files of NVIDIA, of AMD, and of both in Windows' Linux (WSL)
CPU_FLOPS, GPU_FLOPS = 2e10, 1e14  # operations per second that one core and one GPU reach at least
# Measured by benchmarks.tables (docs/performance.md): measuring 6.5 million requests takes 1.9 MiB of memory per stored
# MiB, in addition to the process's at its start; freezing takes 0.3 s per stored MiB, times four for slower machines.
UNPACKED = 2
MEGABYTE_MINUTES = 0.02
# Factors for stored MiB of facts: building two million takes 4.3 MiB per MiB of JSON Lines, and 57 per MiB of Parquet.
FACTS_TEXT, FACTS_PARQUET = 2.5, 30
LEAST_MINUTES, MOST_MINUTES = 10, 24 * 60
# The last line of a job's log (`used`), after the name of its verb.
USED = re.compile(r"^almanac \w+: (?P<wall>[\d.]+) s wall, (?P<cpu>[\d.]+) s CPU, (?P<mib>\d+) MiB$")


class Needs(NamedTuple):
    """The resources that a job asks a scheduler for: memory in MiB, run time in minutes, number of GPUs."""

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
    """Estimate the resources of a job.

    Args:
        parameters: number of parameters of the model; 0 for a job without one.
        tokens: approximate number of tokens that the model reads.
        dtype: the weights' type.
        gpu: whether the job uses a GPU; else it runs on one core.
        training: whether gradients and optimizer states are held too (four copies of the weights).
        megabytes: stored MiB of the tables that a job without a model reads.
        attempt: 1 for the first attempt; attempt n gets n times the memory and time.

    Returns:
        Memory in MiB, run time in minutes, number of GPUs.
    """
    held = held_bytes(parameters, dtype) * (4 if training else 1)
    memory = BASE_MIB + held / 2**20 + megabytes * UNPACKED
    minutes = LEAST_MINUTES + seconds(parameters, tokens, gpu, training) / 60 + megabytes * MEGABYTE_MINUTES
    return Needs(int(memory * attempt), int(min(MOST_MINUTES, minutes * attempt)), int(gpu))


def gpu_seen(devices: Path = Path("/dev")) -> bool:
    """Return whether this machine may have a GPU, by its device files: asking PyTorch would take seconds to load it."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return False
    return sys.platform == "darwin" or any(any(devices.glob(name)) for name in GPU_DEVICES)


def facts_megabytes(folder: Path) -> float:
    """Return the ``megabytes`` (see `needs`) of a job that builds a dataset from a folder of facts."""
    sizes = {path: path.stat().st_size / 2**20 for path in folder.rglob("*") if path.is_file()}
    return sum(size * (FACTS_PARQUET if path.suffix == ".parquet" else FACTS_TEXT) for path, size in sizes.items())


def held_bytes(parameters: int, dtype: str = "float32") -> float:
    """Return the approximate memory of a model while it runs: 1.3 times its weights."""
    return parameters * BYTES[dtype] * 1.3


def seconds(parameters: int, tokens: int, gpu: bool, training: bool = False) -> float:
    """Return the approximate time in which a model reads tokens, on a GPU or on one core.

    It assumes two operations per parameter and token (six in training), and counts all experts of a mixture.
    """
    flops = 2 * parameters * tokens * (3 if training else 1)
    return flops / (GPU_FLOPS if gpu else CPU_FLOPS)


def children() -> float:
    """Return the CPU seconds of this process's ended children; not 0 at its start if it replaced a shell (exec)."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime


def used(started: float, inherited: float = 0.0) -> str:
    """Return the time and memory that this process and its ended children have used, in the form of `USED`.

    Args:
        started: `time.perf_counter` at its start.
        inherited: `children` at its start.
    """
    usage = resource.getrusage(resource.RUSAGE_SELF)
    cpu = usage.ru_utime + usage.ru_stime + children() - inherited
    mib = usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)  # macOS counts bytes, Linux KiB
    return f"{time.perf_counter() - started:.1f} s wall, {cpu:.1f} s CPU, {mib:.0f} MiB"
