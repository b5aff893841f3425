"""What the jobs of an edition have spent and which failed: read from the last line of each rule's log."""

import re
from collections import defaultdict
from pathlib import Path

LINE = re.compile(r"^almanac \w+: ([\d.]+) s wall, ([\d.]+) s CPU, (\d+) MiB$")


SHOWN = 12  # lines of a failed job's log


def failed(root: Path) -> str:
    """Return the end of every log whose job did not come to its end, with the log's name."""
    parts = []
    for log in sorted((root / "logs").rglob("*.log")):
        lines = log.read_text("utf-8", "replace").splitlines()
        if lines and not LINE.match(lines[-1]):
            parts.append("\n".join([f"--- {log}", *lines[-SHOWN:]]))
    return "\n".join(parts)


def spent(root: Path) -> str:
    """Return a table of jobs, wall seconds, CPU seconds and largest memory by rule, the most costly first.

    The seconds are those of the last run of each job, wherever it ran; jobs run side by side, so wall seconds add up to
    more than the time that passed.
    """
    sums: dict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0, 0.0])
    for log in sorted((root / "logs").rglob("*.log")):
        rule = log.relative_to(root / "logs").parts[0].removesuffix(".log")
        found = [match for line in log.read_text("utf-8", "replace").splitlines() if (match := LINE.match(line))]
        if found:
            wall, cpu, memory = map(float, found[-1].groups())
            own = sums[rule]
            own[0], own[1], own[2], own[3] = own[0] + 1, own[1] + wall, own[2] + cpu, max(own[3], memory)
    lines = [f"{'rule':<22}{'jobs':>6}{'wall s':>10}{'CPU s':>10}{'MiB':>8}"]
    for rule, (jobs, wall, cpu, memory) in sorted(sums.items(), key=lambda one: -one[1][2]):
        lines.append(f"{rule:<22}{jobs:>6.0f}{wall:>10.1f}{cpu:>10.1f}{memory:>8.0f}")
    total = [sum(own[at] for own in sums.values()) for at in range(3)]
    lines.append(f"{'all':<22}{total[0]:>6.0f}{total[1]:>10.1f}{total[2]:>10.1f}")
    return "\n".join(lines)
