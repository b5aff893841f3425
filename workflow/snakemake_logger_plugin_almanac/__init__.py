"""Progress of a run as a logger plugin of Snakemake: `snakemake --logger almanac`, which profiles/default names.

On a terminal: what runs (rule, model, suite, dataset), how far the run is, and about how long it still takes. In a
file: a line a finished job. Snakemake's own log stays in .snakemake/log; a dry run is printed as Snakemake prints it.
"""

import logging
import os
import subprocess
import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from almanac.errors import INTERRUPTED
from almanac.locked import MADE, mistake_in
from almanac.remaining import RunJobs, RunningJob

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
OF_A_JOB = ("CalledProcessError", "RuleException")  # Snakemake's errors of a job that has failed, which is said already


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
        self.jobs = RunJobs()
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

    def emit(self, record: logging.LogRecord) -> None:
        """Show what a record says of the run."""
        try:
            if self.common_settings.dryrun:
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
            logs = "".join(f"; its log: {log}" for log in values["log"])
            if not self.stopped:
                self.console.print(f"failed: {job.label}{logs}", markup=False)
        elif event is None or event == LogEvent.ERROR:
            self._say(record, str(values.get("exception", "")))

    def _say(self, record: logging.LogRecord, exception: str) -> None:
        """Print a line of Snakemake's own where it says what nothing else does."""
        text = str(record.msg or "")
        if self.stopped:
            return
        if (said := next((said for stop, said in STOPS.items() if text.startswith(stop)), None)) is not None:
            self.stopped = True
            self.display.stop()
            self.console.print(f"almanac: {said}", markup=False)
        elif text.startswith(ENDED):
            self.display.stop()
        elif text.startswith(SAID) or (record.levelno >= logging.WARNING and not exception.startswith(OF_A_JOB)):
            self.console.print(text, markup=False)
            if text.startswith(NOTHING) and MADE in os.environ:
                words = [sys.executable, "-m", "almanac", "report", "found", "--edition", os.environ[MADE]]
                subprocess.run(words, stderr=subprocess.DEVNULL, check=False)

    def _start(self, job: RunningJob) -> None:
        self.jobs.start(job)
        if self.whole is None:
            self.display.start()
            self.whole = self.display.add_task("", total=self.jobs.total, note="")
        self.rows[job.number] = self.display.add_task(job.label, total=None, note="")
        self._update()

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
