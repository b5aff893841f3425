"""What is printed after a run (validation, cost of the jobs, reasons of failure), and how numbers are written."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median_low

from almanac.errors import INTERRUPTED
from almanac.job_size import USED
from almanac.locked import LOCK
from almanac.progress import nothing_in, room
from almanac.rows import Measure, Standing, Validation
from almanac.suites.judged import conditions_of
from almanac.suites.standings import ALL
from almanac.suites.validation import NEVER_MISSED

BY_CHANCE = (
    "The intervals at dose 0 are simultaneous at 95 %: one sound set of models in twenty misses that bar by chance. "
    "Worlds of other seeds (planting.worlds.NAME.seed) show whether it was chance."
)
SHOWN = 12  # lines shown of a failed job's log
NAMES = 7  # names in a sentence, at most
FIRST = 12  # rows of a long table that the page shows at first
LITTLE = 10  # free megabytes below which an empty log means that the disk was full
STOPPED = (INTERRUPTED, "KeyboardInterrupt")  # the last line of an interrupted job's log
SLURM = Path(".snakemake/slurm_logs")  # logs of failed jobs that SLURM's executor keeps
# Lines that say why a cluster job failed; that a step was cancelled is only a consequence.
BY_SLURM = re.compile(r"almanac: |\S*slurm\S*: (?!.*CANCELLED AT \S+ \*)")


def failed(logs: Path, since: float = 0.0, cluster: Path = SLURM) -> str:
    """Return why jobs have failed since a time, each reason with the name of its log; interrupted jobs are left out.

    Args:
        logs: the folder of the jobs' logs. Shown is the end of each; an empty log is reported if its disk is full.
        since: a time; logs not written after it are ignored.
        cluster: the folder of SLURM's logs, which say what a job cannot: that it ran out of memory or time, or did not
            start. Of equal reasons only the first log is named.
    """
    parts = []
    for log, lines in _written_since(logs, since):
        if lines and not USED.match(lines[-1]) and not lines[-1].endswith(STOPPED):
            parts.append("\n".join([f"--- {log}", *lines[-SHOWN:]]))
        elif not lines and room(log) < LITTLE:
            parts.append(f"--- {nothing_in(log)}")
    by_reason: dict[str, list[str]] = defaultdict(list)
    for log, lines in _written_since(cluster, since):
        if told := "\n".join(dict.fromkeys(filter(BY_SLURM.match, lines))):
            by_reason[re.sub(r"\d+", "", told)].append(f"--- {log}\n{told}")
    for first, *others in by_reason.values():
        parts.append(first + (f"\n(and of {len(others)} more)" if others else ""))
    return "\n".join(parts)


def _written_since(folder: Path, since: float) -> Iterator[tuple[Path, list[str]]]:
    """Yield the logs of a folder that were written after a time, with their lines."""
    for log in sorted(folder.rglob("*.log")):
        if log.stat().st_mtime >= since:
            yield log, log.read_text("utf-8", "replace").splitlines()


def run_began(folder: Path) -> float:
    """Return when the last run in a folder began, by the time of its lock; 0 if there was none.

    Snakemake's own logs do not tell: a run that was refused, or only displays something, writes one as well.
    """
    lock = folder / LOCK
    return lock.stat().st_mtime if lock.is_file() else 0.0


def spent(logs: Path, since: float = 0.0) -> str:
    """Return a table of jobs, wall seconds, CPU seconds and peak memory by rule, the most costly first.

    Counted is the last run of each job. Jobs run in parallel, so wall seconds add up to more than the time that passed.

    Args:
        logs: the folder of an edition's logs.
        since: a time; jobs that ended before it are not counted.
    """
    sums: dict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0, 0.0])
    for log, lines_of_log in _written_since(logs, since):
        rule = log.relative_to(logs).parts[0].removesuffix(".log")
        found = [match for line in lines_of_log if (match := USED.match(line))]
        if found:
            wall, cpu, memory = map(float, found[-1].groups())
            jobs, all_wall, all_cpu, peak = sums[rule]
            sums[rule] = [jobs + 1, all_wall + wall, all_cpu + cpu, max(peak, memory)]
    lines = [f"{'rule' if since else 'rule (last runs)':<22}{'jobs':>6}{'wall s':>10}{'CPU s':>10}{'MiB':>8}"]
    for rule, (jobs, wall, cpu, memory) in sorted(sums.items(), key=lambda one: -one[1][2]):
        lines.append(f"{rule:<22}{jobs:>6.0f}{wall:>10.1f}{cpu:>10.1f}{memory:>8.0f}")
    total = [sum(totals[at] for totals in sums.values()) for at in range(3)]
    lines.append(f"{'all':<22}{total[0]:>6.0f}{total[1]:>10.1f}{total[2]:>10.1f}")
    return "\n".join(lines)


def validation_lines(rows: Sequence[Validation]) -> str:
    """Return the validation as lines of text, one a model and method; a note follows if a missed bar may be chance."""
    head = (
        f"{'suite':<16}{'model':<12}{'method':<18}{'worlds':>7}{'n':>7}"
        f"{'AUC most v never':>22}{'Spearman':>20}{'dose 0, simult.':>20}{'chance':>8}{'prior':>7}  verdict"
    )
    lines = [head]
    for row in rows:
        verdict = "; ".join(row.failed) or ("meets the bars" if row.judged else "shown, no bars")
        lines.append(
            f"{row.suite:<16}{row.model:<12}{row.method:<18}{row.worlds:>7}{row.n:>7}"
            f"{interval(row.auc, row.auc_low, row.auc_high):>22}"
            f"{interval(row.spearman, row.spearman_low, row.spearman_high):>20}"
            f"{interval(row.never, row.never_low, row.never_high):>20}"
            f"{share(row.chance):>8}{share(row.prior_auc):>7}  {verdict}"
        )
    if any(NEVER_MISSED in row.failed for row in rows):
        lines.append(BY_CHANCE)
    return "\n".join(lines)


def standing_lines(rows: Sequence[Standing]) -> str:
    """Return the order of methods as lines of text, then Kendall's tau between it and the order under each change.

    A star marks methods that have no score but right or wrong (`Standing.graded`).
    """
    head = ("AUC most v never", "less than the first", "balanced accuracy")
    lines = [f"{'place':<7}{'suite':<16}{'method':<22}{head[0]:>22}{head[1]:>24}{head[2]:>24}"]
    for row in (row for row in rows if row.axis == ALL):
        gap = "" if row.gap_low is None else interval(row.gap, row.gap_low, row.gap_high)
        area = interval(row.auc, row.auc_low, row.auc_high)
        balanced = interval(row.balanced, row.balanced_low, row.balanced_high)
        name = row.method + "*" * (not row.graded)
        lines.append(f"{row.place:<7}{row.suite:<16}{name:<22}{area:>22}{gap:>24}{balanced:>24}")
    changed = {(row.axis, row.level): row.tau for row in rows if row.axis != ALL}
    said = [f"{axis} {level} {share(tau)}" for (axis, level), tau in changed.items()]
    return "\n".join([*lines, *([f"Kendall's tau with that order: {', '.join(said)}"] if said else [])])


def measure_lines(rows: Iterable[Measure]) -> str:
    """Return numbers as lines of text, with model, metric and the condition on the items."""
    lines = [f"{'model':<12}{'metric':<20}{'value':>22}{'n':>8}  of"]
    for row in rows:
        conditions = ", ".join(f"{name} {value}" for name, value in conditions_of(row).items())
        lines.append(f"{row.model or '':<12}{row.metric:<20}{with_interval(row):>22}{row.n:>8}  {conditions}")
    return "\n".join(lines)


def shortened(names: Iterable[str], between: str = ", ", most: int = NAMES) -> str:
    """Return names joined by ``between``; if there are more than ``most``, the first ones and how many more."""
    listed = list(dict.fromkeys(names))
    return between.join(listed if len(listed) <= most else [*listed[: most - 1], f"{len(listed) - most + 1} more"])


def asked_by(counts: Sequence[int]) -> str:
    """Return by how many each fact was asked: how many know a fact depends on how many were asked."""
    if min(counts) == max(counts):
        return f"each asked by {counts[0]}"
    half = median_low(counts)
    return f"each asked by {min(counts)} to {max(counts)}" + f", half of them by at most {half}" * (half < max(counts))


def share(value: float | None) -> str:
    """Return a number as shares are written in the field: .873; a dash for none."""
    if value is None:
        return "–"
    # Rounded twice, since sums in another order differ in the last of 17 digits, which can decide a tie. The format z
    # gives zero no sign.
    text = f"{round(value, 12):z.3f}"
    return text[1:] if text.startswith("0.") else text.replace("-0.", "−.").replace("-", "−")


def alone(value: float | None) -> str:
    """Return a number that has no interval, such as a p-value, as `share` does; very small ones as "<.001"."""
    return "<.001" if value is not None and 0 < value < 0.0005 else share(value)


def shown(row: Measure) -> str:
    """Return a number without its interval: counts as whole numbers, others as `share` does."""
    return share(row.value) if row.value is None or row.formula != "count" else f"{row.value:,.0f}"


def with_interval(row: Measure) -> str:
    """Return a number with its interval; see `interval`."""
    return shown(row) if row.low is None else interval(row.value, row.low, row.high)


def interval(value: float | None, low: float | None, high: float | None) -> str:
    """Return a number with its interval, if it has one, both as `share` writes them."""
    return share(value) + ("" if low is None else f" [{share(low)}, {share(high)}]")
