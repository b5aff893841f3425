"""What is wrong with how a command sends its jobs to a cluster, before any is sent: its profile and its partitions."""

import contextlib
import io
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from almanac.errors import AlmanacError, did_you_mean, no_such
from almanac.locked import SHOWS
from almanac.yaml_file import read_yaml

HERE = ("local", "dryrun", "touch")  # the executors that run nothing elsewhere


def check_cluster(command: Sequence[str], snakefile: Path) -> bool:
    """Refuse a command that would run here what was meant for a cluster, or end in a traceback of the SLURM executor.

    Args:
        command: Snakemake's arguments, which it has taken.
        snakefile: the Snakefile, beside which a profile may lie.

    Returns:
        Whether its jobs go to other machines; while a Snakefile is read Snakemake itself cannot say.

    Raises:
        AlmanacError: a workflow profile that is not there, SLURM where there is none, or an unknown key of a partition.
    """
    from snakemake.cli import parse_args  # a second, and the jobs' environments have no Snakemake

    try:
        with contextlib.redirect_stderr(io.StringIO()):  # "Using profile …", which it has said before
            given = parse_args(list(command))[1]
    except SystemExit:  # the words of a program that has called Snakemake as a library
        return False
    if given.workflow_profile not in (None, "none"):
        profile = Path(given.workflow_profile)
        # Where Snakemake looks for it; if it is nowhere, it says nothing and runs everything here.
        if not any((folder / profile).exists() for folder in (Path(), Path("profiles"), snakefile.parent / "profiles")):
            raise AlmanacError(no_such(profile, "profile"))
    if given.executor == "slurm":
        if isinstance(given.slurm_partition_config, str | Path):
            _check_partitions(Path(given.slurm_partition_config))
        if re.search(r"\s", str(Path.cwd())):  # the executor writes paths into a shell script as they are
            raise AlmanacError(
                f"this folder has a space in its path ({Path.cwd()}), with which SLURM's executor cannot start a job; "
                "clone Almanac into a path without one"
            )
        shows = given.dryrun or any(word in SHOWS for word in command)
        if not shows and shutil.which("sbatch") is None:
            raise AlmanacError("there is no sbatch here; start this on a login node of the cluster")
    return given.executor not in (None, *HERE)


def _of_this_cluster() -> set[str]:
    """Return the names of SLURM's partitions here; none where it does not say."""
    if shutil.which("sinfo") is None:
        return set()
    said = subprocess.run(["sinfo", "--noheader", "--all", "--format=%R"], capture_output=True, text=True, check=False)
    return set(said.stdout.split()) if said.returncode == 0 else set()


def _check_partitions(path: Path) -> None:
    """Refuse what the executor would refuse without naming the file, and SLURM for each job anew."""
    from snakemake_executor_plugin_slurm.partitions import PartitionLimits  # type: ignore[import-untyped]

    elsewhere = {"cluster", "clusters", "slurm_cluster"}
    allowed = {field.name for field in fields(PartitionLimits)} | elsewhere
    partitions = read_yaml(path).get("partitions")
    there = _of_this_cluster()
    for name, limits in partitions.items() if isinstance(partitions, dict) else ():
        if not isinstance(limits, dict):
            raise AlmanacError(f"{path}: partitions.{name}: must hold keys and values, as max_gpu: 0; found {limits!r}")
        for key in sorted(limits.keys() - allowed, key=str):
            raise AlmanacError(f"{path}: partitions.{name}.{key}: is unknown{did_you_mean(str(key), allowed)}")
        if there and name not in there and elsewhere.isdisjoint(limits):
            raise AlmanacError(
                f"{path}: partitions.{name}: SLURM has no such partition here{did_you_mean(str(name), there)}"
            )
