"""How far a run of the workflow is, and about how long it still takes: by the jobs that have ended in it."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

KEYS = ("model", "about", "suite", "dataset", "source", "world", "round", "shard")  # of wildcards, as they are said


class RunningJob(NamedTuple):
    """A job that runs: its number, its rule, what it is of, and since when."""

    number: int
    rule: str
    label: str
    since: float

    @classmethod
    def of(cls, values: Mapping[str, Any], since: float) -> Self:
        """Return the job that Snakemake's `JOB_INFO` or `JOB_ERROR` tells of."""
        wildcards = values.get("wildcards") or {}
        order = [key for key in KEYS if key in wildcards] + [key for key in wildcards if key not in KEYS]
        rule = values["rule_name"]
        own = [str(wildcards[key]) for key in order]
        own = [value for value in own if not rule.endswith(f"_{value}")]  # some rules are of one model
        return cls(values["jobid"], rule, " ".join([rule, *own]), since)


@dataclass
class RunJobs:
    """The jobs of a run.

    Attributes:
        planned: how many jobs each rule has.
        running: those that run, by number.
        seconds: of each rule, how long its ended jobs took.
        began: when the first began.
        ended: when the last ended.
    """

    planned: Counter[str] = field(default_factory=Counter)
    running: dict[int, RunningJob] = field(default_factory=dict)
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
        self.began = job.since if self.began is None else self.began

    def finish(self, job: RunningJob, now: float) -> None:
        """A job has ended."""
        self.running.pop(job.number, None)
        self.seconds[job.rule].append(now - job.since)
        self.ended = now

    def left(self) -> str:
        """Return in words how long the rest takes, "" before any job has ended and after the last.

        A job is taken to last as long as those of its rule did; as many run at a time as did so far. Where none of a
        rule has ended yet, its jobs are taken to last as long as all did, and the words are "at least": what is quick
        runs first, and what loads a model later.
        """
        if self.began is None or not self.done or self.done >= self.total:
            return ""
        every = [second for own in self.seconds.values() for second in own]
        mean = sum(every) / len(every)
        side_by_side = max(1.0, sum(every) / max(self.ended - self.began, 0.1))
        rest = 0.0
        for rule, count in self.planned.items():
            own = self.seconds.get(rule, [])
            rest += (count - len(own)) * (sum(own) / len(own) if own else mean)
        known = all(self.seconds.get(rule) for rule in self.planned)
        return f"{'about' if known else 'at least'} {as_time(rest / side_by_side)}"


def as_time(seconds: float) -> str:
    """Return a time in the unit that a reader would choose: 40 s, 12 min, 3.5 h."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"
