"""A SLURM cluster on this machine, for tests: real daemons, two nodes, one of them with two GPUs that are none.

Debian's packages slurm-wlm and munge are enough: apt-get install --no-install-recommends slurm-wlm munge. All files lie
in one folder; nothing of the machine's own SLURM, if there is any, is touched. There is no accounting, so that jobs
are asked about by squeue. slurmd wants to be root.
"""

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "scontrol", "sinfo")
NODES = ("plain", "cards")  # the node of the partition cpu, and that of the partition gpu
CORES, MEMORY, CARDS = 4, 16_000, 2  # of each node, as SLURM is told; the memory in MiB
PATIENCE = 60  # seconds for a daemon to come up or to end

CONFIGURATION = """\
ClusterName=local
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
SlurmctldPort={ports[0]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
JobAcctGatherParams=OverMemoryKill
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=sched_interval=1,bf_interval=1
SlurmdParameters=config_overrides
GresTypes=gpu
ReturnToService=2
MinJobAge=86400
KillWait=2
AccountingStorageType=accounting_storage/none
NodeName=plain NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs={cores} RealMemory={memory} State=UNKNOWN
NodeName=cards NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs={cores} RealMemory={memory} \
Gres=gpu:fake:{cards} State=UNKNOWN
PartitionName=cpu Nodes=plain Default=YES State=UP
PartitionName=gpu Nodes=cards State=UP
"""


def missing() -> str | None:
    """Why no cluster can be had here, if none can."""
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    if lacking:
        return f"SLURM is not installed (no {', '.join(lacking)}); apt-get install slurm-wlm munge"
    return "slurmd must be started by root" if os.geteuid() else None


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on; they are all held until the last is found."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def until(what: str, true) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, f"waited {PATIENCE} s for {what}"
        time.sleep(0.1)


class Cluster:
    """The daemons, and the commands that ask them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.configuration = folder / "slurm.conf"

    def environment(self) -> dict[str, str]:
        """What a client of the cluster has in its environment."""
        return {"SLURM_CONF": str(self.configuration), "PATH": f"{self.folder}/bin{os.pathsep}{os.environ['PATH']}"}

    def call(self, *words: str) -> str:
        """Run one of SLURM's commands and return what it prints."""
        environment = os.environ | self.environment()
        return subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout

    def jobs(self) -> list[dict[str, str]]:
        """Every job so far: id, state, name, partition, node, GPUs and the rule, which its comment names."""
        names = ("id", "state", "name", "partition", "node", "gpus", "comment")
        printed = self.call("squeue", "--all", "--states=all", "--noheader", "--format=%A|%T|%j|%P|%N|%b|%k")
        return [dict(zip(names, line.split("|"), strict=True)) for line in printed.splitlines()]

    def start(self) -> None:
        host = socket.gethostname().partition(".")[0]
        folder = self.folder
        for name in ("bin", "state", *(f"spool-{node}" for node in NODES)):
            (folder / name).mkdir(parents=True)
        folder.chmod(0o755)
        # The executor's job drops every SLURM_* variable before it calls srun, where the configuration stands elsewhere
        # than a real cluster has it.
        srun = folder / "bin" / "srun"
        srun.write_text(f'#!/bin/sh\nSLURM_CONF={self.configuration} exec {shutil.which("srun")} "$@"\n')
        srun.chmod(0o755)
        key = folder / "munge.key"
        key.touch(0o600)
        key.write_bytes(secrets.token_bytes(1024))
        cards = [folder / f"card{number}" for number in range(CARDS)]
        for card in cards:
            os.mknod(card, 0o020666, os.makedev(1, 3))  # as /dev/null is
        (folder / "gres.conf").write_text(
            f"AutoDetect=off\nNodeName=cards Name=gpu Type=fake File={folder}/card[0-{CARDS - 1}]\n"
        )
        values = {"host": host, "folder": folder, "ports": free_ports(3), "cores": CORES}
        self.configuration.write_text(CONFIGURATION.format(**values, memory=MEMORY, cards=CARDS))
        munged = {"key-file": key, "socket": folder / "munge.socket", "pid-file": folder / "munged.pid"}
        munged |= {"log-file": folder / "munged.log", "seed-file": folder / "munge.seed"}
        self._daemon("munged", "--force", *(f"--{name}={path}" for name, path in munged.items()))
        self._daemon("slurmctld", "-f", str(self.configuration))
        for node in NODES:
            self._daemon("slurmd", "-f", str(self.configuration), "-N", node)
        idle = ("sinfo", "--noheader", "--Node", "--states=idle", "--format=%N")
        until("both nodes", lambda: sorted(self.call(*idle).split()) == sorted(NODES))

    def _daemon(self, *words: str) -> None:
        with (self.folder / "started.log").open("a") as log:
            subprocess.run(words, stdout=log, stderr=log, check=True)

    def stop(self) -> None:
        """End the jobs, then the daemons, each by the number that it wrote down itself."""
        with contextlib.suppress(subprocess.CalledProcessError):
            self.call("scancel", "--me")
            until("the jobs to end", lambda: not self.call("squeue", "--noheader").strip())
        for name in (*(f"slurmd-{node}" for node in NODES), "slurmctld", "munged"):
            path = self.folder / f"{name}.pid"
            if path.is_file():
                number = int(path.read_text())
                with contextlib.suppress(ProcessLookupError):
                    os.kill(number, signal.SIGTERM)
                until(f"{name} to end", lambda number=number: not Path(f"/proc/{number}").exists())
