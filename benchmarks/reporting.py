"""What was measured, as tables; and which of the engine's bars hold."""

import json
import platform
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from almanac.errors import AlmanacError
from benchmarks.comparing import Agreement, Line

HEADINGS = ("workload", "contender", "items", "tokens/item", "CPU s/item", "times ours", "at equal rate", "agreement")
WIDTHS = (25, 31, 5, 11, 10, 10, 13, 0)
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
PACKAGES = ("torch", "transformers", "tokenizers", "lm_eval", "lm_pub_quiz")
IC_LKE_TIMES = {"ic_lke_50": 100, "ic_lke_80": 200}
SHARE, OVER_LEAST = 0.80, 1.05
# Workload, what a contender's name begins with, how many times its CPU must be ours.
TIMES = (
    *((name, program, times) for name, times in IC_LKE_TIMES.items() for program in ("lm-eval", "LM Pub Quiz")),
    ("statements", "LM Pub Quiz", 3),
    ("masked_statements", "LM Pub Quiz", 2),
    ("masked_answers", "LM Pub Quiz", 2),
    ("greedy_50", "transformers generate,", 5),
    ("greedy_80", "transformers generate,", 5),
)


def cells(line: Line) -> tuple[str, ...]:
    """Return a line as texts."""
    ours = not line.agreement.compared
    return (
        line.workload,
        line.contender,
        str(line.items),
        f"{line.tokens:,.0f}",
        f"{line.cpu:.3g}",
        "1" if ours else f"{line.ratio:.3g}",
        "1" if ours else f"{line.ratio_at_rate:.3g}",
        agreed(line),
    )


def agreed(line: Line) -> str:
    """Return how far a contender agrees with ours, in words."""
    one = line.agreement
    if not one.compared:
        return ""
    if one.largest is None:
        return f"{one.same} of {one.items} texts equal" if line.workload.startswith("greedy") else "sampled"
    said = f"{one.largest:.1e} at most in {one.compared:,}"
    if one.items:
        said += f"; best equal in {one.same} of {one.items}" + (f", {one.near} near" if one.near else "")
    return said


def row(line: Line) -> str:
    """Return one row of a table."""
    return _row(cells(line))


def _row(texts: Sequence[str]) -> str:
    return "| " + " | ".join(text.ljust(width) for text, width in zip(texts, WIDTHS, strict=True)) + " |"


def table(lines: Sequence[Line]) -> str:
    """Return lines as a table."""
    return "\n".join([_row(HEADINGS), _row(["-" * max(3, width) for width in WIDTHS]), *map(row, lines)])


def bars(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """Return which of the engine's bars hold, for what was run.

    A ratio counts as the lower of the two: as measured, and at an equal rate of matrix products; a program counts with
    its better batch size.
    """
    found: list[dict[str, Any]] = []
    for workload, program, least in TIMES:
        against = [line for line in lines if line.workload == workload and line.contender.startswith(program)]
        if against:
            value = min(min(line.ratio, line.ratio_at_rate) for line in against)
            text = f"{workload}: {value:.3g} times less CPU than {against[0].contender.split(',')[0]}"
            found.append(_bar(text, value, least, value >= least))
    for line in lines:
        if "share_of_rate" in line.extra and line.workload in IC_LKE_TIMES:
            share, over = line.extra["share_of_rate"], line.extra["engine_over_least"]
            text = f"{line.workload}: {share:.0%} of the measured rate of matrix products"
            found.append(_bar(text, share, SHARE, share >= SHARE))
            checked = f"{line.extra['tokens_over_least']:.3f} with the sample that is scored plainly too"
            text = f"{line.workload}: {over:.3f} times the least number of tokens, {checked}"
            found.append(_bar(text, over, OVER_LEAST, over <= OVER_LEAST))
    peers = [line.agreement for line in lines if line.agreement.items and not line.contender.startswith("Almanac")]
    judged = [one for one in peers if one.largest is not None]
    if judged:
        items, near = sum(one.items for one in judged), sum(one.near for one in judged)
        wrong = items - near - sum(one.same for one in judged)
        text = f"{wrong} of {items} best answers are not the other program's, {near} more where its two best are near"
        found.append(_bar(text, wrong, 0, wrong == 0))
    return found


def _bar(text: str, value: float, bar: float, holds: bool) -> dict[str, Any]:
    return {
        "text": f"{text} (bar {bar:g}): {'holds' if holds else 'MISSED'}",
        "value": value,
        "bar": bar,
        "holds": holds,
    }


def describe() -> dict[str, str]:
    """Return where and with what was measured."""
    names = Path("/proc/cpuinfo").read_text("utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next((line.partition(":")[2].strip() for line in names if line.startswith("model name")), "")
    found = {"processor": model or platform.processor(), "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def record(lines: Sequence[Line]) -> dict[str, Any]:
    """Return what was measured as plain values."""
    return {"where": describe(), "lines": [line.record() for line in lines], "bars": bars(lines)}


def joined(paths: Sequence[Path]) -> dict[str, Any]:
    """Return what several runs measured as one."""
    runs = [json.loads(path.read_text("utf-8")) for path in paths]
    lines = [line for run in runs for line in run["lines"]]
    return {"where": runs[0]["where"], "lines": lines, "bars": bars([_line(line) for line in lines])}


def document(path: Path, found: Mapping[str, Any]) -> None:
    """Write what was measured between the markers of a document.

    Raises:
        AlmanacError: the document has no markers.
    """
    text = path.read_text("utf-8")
    if BEGIN not in text or END not in text:
        raise AlmanacError(f"{path}: has no lines {BEGIN} and {END}; put them where the tables belong")
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    path.write_text(f"{before}{BEGIN}\n{section(found)}{END}{after}", encoding="utf-8")


def section(found: Mapping[str, Any]) -> str:
    """Return what was measured as a part of a document."""
    where = ", ".join(f"{name.replace('_', '-')} {version}" for name, version in found["where"].items())
    lines = [_line(record) for record in found["lines"]]
    rates = [line.rate_square for line in lines]
    told = "".join(f"- {bar['text']}\n" for bar in found["bars"])
    own = "".join(f"| {' | '.join(one)} |\n" for line in lines if line.extra and (one := _own(line)))
    return (
        f"Measured with {where}, one thread, float32. Large matrix products ran at {min(rates):.0f} to "
        f"{max(rates):.0f} GFLOP a CPU second between the runs.\n\n{table(lines)}\n\n"
        "| workload | tokens/item | least | times least | head rows/item | GFLOP/CPU s | share of rate |\n"
        f"| --- | --- | --- | --- | --- | --- | --- |\n{own}\n{told}"
    )


def _line(record: Mapping[str, Any]) -> Line:
    return Line(**{**record, "agreement": Agreement(**record["agreement"])})


def _own(line: Line) -> tuple[str, ...]:
    extra = line.extra
    return (
        line.workload,
        f"{line.tokens:.1f}",
        f"{extra['least_tokens']:.1f}",
        f"{extra['tokens_over_least']:.3f}",
        f"{line.logits:.1f}",
        f"{extra['gflop_per_s']:.1f}",
        f"{extra['share_of_rate']:.0%}",
    )
