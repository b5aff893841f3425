"""Check how a command sends its jobs to a cluster, before any is sent: the profile and SLURM's partitions."""

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

HERE = ("local", "dryrun", "touch")  # executors that run no jobs on other machines


def check_cluster(command: Sequence[str], snakefile: Path) -> bool:
    """Refuse a command that would run a cluster's jobs here, or make the SLURM executor end in a traceback.

    Args:
        command: Snakemake's arguments, already accepted by it.
        snakefile: the Snakefile; a profile may lie next to it.

    Returns:
        Whether jobs go to other machines, which Snakemake itself cannot tell while it reads a Snakefile.

    Raises:
        AlmanacError: the workflow profile does not exist, SLURM is not available, the working folder's path has a
            space, or a partition is unknown or has an unknown key.
    """
    from snakemake.cli import parse_args  # takes a second, and the jobs' environments have no Snakemake

    try:
        with contextlib.redirect_stderr(io.StringIO()):  # hides "Using profile …", which was printed before
            given = parse_args(list(command))[1]
    except SystemExit:  # not Snakemake's arguments: a program has called Snakemake as a library
        return False
    if given.workflow_profile not in (None, "none"):
        profile = Path(given.workflow_profile)
        # The folders in which Snakemake looks for it; if it finds none, it silently runs everything here.
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
    """Return the names of SLURM's partitions here; empty if `sinfo` is missing or fails."""
    if shutil.which("sinfo") is None:
        return set()
    sinfo = subprocess.run(["sinfo", "--noheader", "--all", "--format=%R"], capture_output=True, text=True, check=False)
    return set(sinfo.stdout.split()) if sinfo.returncode == 0 else set()


def _check_partitions(path: Path) -> None:
    """Refuse unknown partitions and keys: the executor would not name the file, and SLURM would refuse each job."""
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
