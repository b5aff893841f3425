"""Progress of a run as a logger plugin of Snakemake: `snakemake --logger almanac`, which profiles/default names.

On a terminal: what runs (rule, model, suite, dataset), how far the run is, and about how long it still takes. In a
file: a line a finished job, and every five minutes one of those at work. Snakemake's own log stays in .snakemake/log; a
dry run is printed as Snakemake prints it. How long it still takes is estimated by the jobs that have ended in the run
(`RunJobs`).
"""

import logging
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from almanac.errors import INTERRUPTED, nearest
from almanac.locked import EXPECTED, MADE, TARGETS, mistake_in
from almanac.progress import NOTE, nothing_in, room
from almanac.project import INSTALLED

NOTES = 5  # of a job, at most; its log has all
QUIET = 300  # seconds after which a file is told what is at work
AT_WORK = 4  # jobs that are named then
REACHED = re.compile(r"[\w ]+: \d+ of \d+")  # a step's line of its progress, in a log
KEYS = ("model", "about", "suite", "dataset", "source", "world", "round", "shard")  # of wildcards, as they are said
# What else of Snakemake's own lines is printed; to create an environment takes minutes.
NOTHING = "Nothing to be done"
SAID = (NOTHING, "Complete log(s)", "Creating conda environment")
ENDED = "Exiting because a job execution failed"
# Snakemake's lines when it is stopped (SIGINT early and late, SIGTERM), and what is said instead. What it says after
# them is of jobs that were stopped.
STOPS = {
    "Cancelling snakemake on user request": INTERRUPTED,
    "Terminating processes on user request": INTERRUPTED,
    "Will exit after finishing currently running jobs": (
        "stopping when the jobs at work have ended; run the same command again to go on"
    ),
}
UNSAID = "Cannot restore"  # before a file that a job has not made when it fails or is stopped; that is said already
# What an executor says before it says nothing more of why a job failed; and of a job that SLURM has run.
UNTOLD = re.compile(r"sbatch call:|Detailed failure reason unavailable|For further error details")
RAN = re.compile(r"SLURM-job '(\S+)' failed, SLURM status is: 'FAILED'")
NO_TARGET = re.compile(r"No rule to produce (.+) \(if you use input functions")
OF_A_JOB = ("CalledProcessError", "RuleException")  # Snakemake's errors of a job that has failed, which is said already


class RunningJob(NamedTuple):
    """A job that runs: its number, its rule, what it is of, since when, and its logs."""

    number: int
    rule: str
    label: str
    since: float
    logs: tuple[Path, ...]

    @classmethod
    def of(cls, values: Mapping[str, Any], since: float) -> Self:
        """Return the job that Snakemake's `JOB_INFO` or `JOB_ERROR` tells of."""
        wildcards = values.get("wildcards") or {}
        order = [key for key in KEYS if key in wildcards] + [key for key in wildcards if key not in KEYS]
        rule = values["rule_name"]
        own = [str(wildcards[key]) for key in order]
        own = [value for value in own if not rule.endswith(f"_{value}")]  # some rules are of one model
        return cls(values["jobid"], rule, " ".join([rule, *own]), since, tuple(map(Path, values.get("log") or ())))

    def _lines(self) -> list[str]:
        texts = [log.read_text(encoding="utf-8", errors="replace") for log in self.logs if log.is_file()]
        return [line for text in texts for line in text.splitlines()]

    def so_far(self, now: float) -> str:
        """Return what the job is, for how long it has run, and how far it is by its log."""
        reached = [line for line in self._lines() if REACHED.match(line)]
        return ", ".join([self.label, as_time(now - self.since), *reached[-1:]])

    def notes(self) -> list[str]:
        """Return what the job's logs say to the user although it has not failed; of many notes the first ones."""
        found = list(dict.fromkeys(line for line in self._lines() if line.startswith(NOTE)))
        more = [f"{NOTE}and {len(found) - NOTES} more in {self.logs[0]}"] if len(found) > NOTES else []
        return [*found[:NOTES], *more]


@dataclass
class RunJobs:
    """The jobs of a run.

    Attributes:
        planned: how many jobs each rule has.
        expected: seconds of a job of each rule, as planned; of a rule that is not named, those of "".
        running: those that run, by number.
        widest: how many have run side by side at most.
        seconds: of each rule, how long its ended jobs took.
        began: when the first began.
        ended: when the last ended.
    """

    planned: Counter[str] = field(default_factory=Counter)
    expected: Mapping[str, float] = field(default_factory=dict)
    running: dict[int, RunningJob] = field(default_factory=dict)
    widest: int = 0
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    began: float | None = None
    ended: float = 0.0

    def expect(self, stats: Mapping[str, Any]) -> None:
        """Take Snakemake's table of jobs by rule, whose last row is their sum; targets that only collect run no job."""
        self.planned = Counter({rule: int(count) for rule, count in stats.items() if rule != "total"})

    @property
    def total(self) -> int:
        """How many jobs there are."""
        return max(sum(self.planned.values()), self.done + len(self.running))

    @property
    def done(self) -> int:
        """How many jobs have ended."""
        return sum(map(len, self.seconds.values()))

    def start(self, job: RunningJob) -> None:
        """A job begins."""
        self.running[job.number] = job
        self.widest = max(self.widest, len(self.running))
        self.began = job.since if self.began is None else self.began

    def finish(self, job: RunningJob, now: float) -> None:
        """A job has ended."""
        self.running.pop(job.number, None)
        self.seconds[job.rule].append(now - job.since)
        self.ended = now

    def left(self) -> str:
        """Return in words how long the rest takes; "" before as many have ended as ran side by side, and at the end.

        A job is taken to last as long as those of its rule did. Where none of its rule has ended yet, it is taken to
        last as planned, times what the ended jobs took of what was planned of them. As many run at a time as did so
        far. On a cluster a job's time includes that in the queue, so that this is a guess.
        """
        if self.began is None or not self.widest <= self.done < self.total:
            return ""
        took = sum(map(sum, self.seconds.values()))
        planned = sum(len(own) * self._planned(rule) for rule, own in self.seconds.items())
        scale = took / planned if planned else 1.0  # a server's answers are planned to take no time here
        side_by_side = max(1.0, took / max(self.ended - self.began, 0.1))
        rest = 0.0
        for rule, count in self.planned.items():
            own = self.seconds.get(rule, [])
            rest += (count - len(own)) * (sum(own) / len(own) if own else scale * self._planned(rule))
        return f"about {as_time(rest / side_by_side)}"

    def _planned(self, rule: str) -> float:
        return self.expected.get(rule, self.expected.get("", 1.0))


def as_time(seconds: float) -> str:
    """Return a time in the unit that a reader would choose: 40 s, 12 min, 3.5 h."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


def at_work(jobs: Sequence[RunningJob], now: float) -> str:
    """Return what is at work, of many jobs the first; "" of none."""
    more = f"; and {len(jobs) - AT_WORK} more" if len(jobs) > AT_WORK else ""
    return f"at work: {'; '.join(job.so_far(now) for job in jobs[:AT_WORK])}{more}" if jobs else ""


def why_failed(values: Mapping[str, Any]) -> str:
    """Return what an executor says of a failed job (SLURM's refusal, or how it ended there), and the logs with text.

    Where a log is on a disk that is full, nothing is in it. SLURM writes none where its node does not see the folder.
    """
    said = " ".join(UNTOLD.split(str(values.get("rule_msg") or ""))[0].split()).rstrip(".")
    logs = [log for log in map(Path, values["log"]) if log.is_file()]
    written = [log for log in logs if log.stat().st_size]
    parts = [said and f": {said}", *(f"; its log: {log}" for log in written)]
    ran = RAN.match(said)
    if ran or not (said or written):
        parts += [f"; {nothing_in(log)}" for log in logs if log not in written]
    if ran and ran[1] not in [log.stem for log in logs]:
        here = f"{Path.cwd()} ({room(Path())} MB are free)"
        parts.append(f"; it wrote no log: does its node see {here}? scontrol show job {ran[1]} names the node")
    return "".join(parts)


def no_target(word: str) -> str:
    """Return what is wrong with a word that Snakemake can make nothing for: a setting out of place, or misspelt."""
    if re.match(r"\w+=", word):
        first = f'make own ARGS="{word} …", elsewhere --config {word} …'
        return f"{word} is a setting and stands where targets do; write settings before other options: {first}"
    listing = f"{'almanac run --' if INSTALLED else 'snakemake'} --list"
    return f"there is no target {word}{nearest(Path(word), map(Path, TARGETS)) or f'; {listing} lists them'}"


def _end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Say in one line that Snakemake was interrupted while it read the workflow; it would print a traceback."""
    if issubclass(kind, KeyboardInterrupt):
        print(f"almanac: {INTERRUPTED}", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


class LogHandler(LogHandlerBase):
    """Prints the progress of a run on stderr."""

    def __post_init__(self) -> None:
        """Refuse a command line that Snakemake would answer with a traceback, before it reads it."""
        if (mistake := mistake_in(sys.argv[1:])) is not None:
            sys.exit(f"almanac: {mistake}")
        sys.excepthook = _end
        self.console = Console(stderr=True, highlight=False, soft_wrap=True)
        self.jobs = RunJobs(expected=EXPECTED)
        self.rows: dict[int, TaskID] = {}
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
        )
        self.display = Progress(*columns, console=self.console, disable=not self.console.is_terminal, transient=True)
        self.whole: TaskID | None = None
        self.stopped = False
        self.closed = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        """Show what a record says of the run."""
        try:
            if self.common_settings.dryrun and not NO_TARGET.search(str(record.msg)):
                print(self.format(record), file=sys.stderr)
            else:
                self._show(record)
        except Exception:  # a run may not end for what could not be shown
            self.handleError(record)

    def _show(self, record: logging.LogRecord) -> None:
        values: Mapping[str, Any] = record.__dict__
        event = values.get("event")
        if event == LogEvent.RUN_INFO:
            self.jobs.expect(values["stats"])
        elif event == LogEvent.JOB_INFO:
            self._start(RunningJob.of(values, record.created))
        elif event == LogEvent.JOB_FINISHED:
            self._finish(values["job_id"], record.created)
        elif event == LogEvent.JOB_ERROR:
            job = self._drop(values["jobid"]) or RunningJob.of(values, record.created)
            if not self.stopped:
                self.console.print(f"failed: {job.label}{why_failed(values)}", markup=False)
        elif event is None or event == LogEvent.ERROR:
            self._say(record, str(values.get("exception", "")))

    def _say(self, record: logging.LogRecord, exception: str) -> None:
        """Print a line of Snakemake's own where it says what nothing else does."""
        text = str(record.msg or "")
        if self.stopped or text.startswith(UNSAID):
            return
        if (said := next((said for stop, said in STOPS.items() if text.startswith(stop)), None)) is not None:
            self.stopped = True
            self.display.stop()
            self.console.print(f"almanac: {said}", markup=False)
        elif text.startswith(ENDED):
            self.display.stop()
        elif (word := NO_TARGET.search(text)) is not None:
            self.console.print(f"almanac: {no_target(word[1])}", markup=False)
        elif text.startswith(SAID) or (record.levelno >= logging.WARNING and not exception.startswith(OF_A_JOB)):
            self.console.print(text, markup=False)
            if text.startswith(NOTHING) and MADE in os.environ:
                words = [sys.executable, "-m", "almanac", "report", "found", *os.environ[MADE].split()]
                subprocess.run(words, stderr=subprocess.DEVNULL, check=False)

    def _start(self, job: RunningJob) -> None:
        self.jobs.start(job)
        if self.whole is None:
            self.display.start()
            self.whole = self.display.add_task("", total=self.jobs.total, note="")
            if self.display.disable:
                threading.Thread(target=self._tell, daemon=True).start()
        self.rows[job.number] = self.display.add_task(job.label, total=None, note="")
        self._update()

    def _tell(self) -> None:
        """Tell a file now and then what is at work: a job may take hours, and on a cluster wait as long."""
        while not self.closed.wait(QUIET):
            if said := at_work(list(self.jobs.running.values()), time.time()):
                self.console.print(said, markup=False)

    def _drop(self, number: int) -> RunningJob | None:
        if (row := self.rows.pop(number, None)) is not None:
            self.display.remove_task(row)
        return self.jobs.running.pop(number, None)

    def _finish(self, number: int, now: float) -> None:
        job = self._drop(number)
        if job is None:
            return
        self.jobs.finish(job, now)
        if self.display.disable:
            took = f"{job.label}, {now - job.since:.0f} s"
            self.console.print(f"{self.jobs.done} of {self.jobs.total}: {took}{self._left('; ')}", markup=False)
        for note in job.notes():
            self.console.print(f"{job.label}: {note}", markup=False)
        self._update()
        if self.jobs.done == self.jobs.total:
            self.display.stop()  # before the findings are printed

    def _left(self, before: str) -> str:
        left = self.jobs.left()
        return f"{before}{left} left" if left else ""

    def _update(self) -> None:
        if self.whole is not None:
            counted = f"{self.jobs.done} of {self.jobs.total} jobs"
            self.display.update(
                self.whole, description=counted, completed=self.jobs.done, total=self.jobs.total, note=self._left("")
            )

    def close(self) -> None:
        """Leave the terminal as it was."""
        self.closed.set()
        self.display.stop()
        super().close()

    @property
    def writes_to_stream(self) -> bool:
        """It takes the place of Snakemake's own printing."""
        return True

    @property
    def writes_to_file(self) -> bool:
        """It writes no file; Snakemake's own log is kept."""
        return False

    @property
    def has_filter(self) -> bool:
        """Of a real run everything is looked at; of a dry run what Snakemake would print."""
        return not self.common_settings.dryrun

    @property
    def has_formatter(self) -> bool:
        """A dry run is printed in Snakemake's own form."""
        return not self.common_settings.dryrun

    @property
    def needs_rulegraph(self) -> bool:
        """It shows no graph."""
        return False
