"""A plugin of pytest that notes which tests run which lines, and for how long, for `benchmarks.mutation`.

Only tests that passed are noted, without their parameters; what runs before the first test, at import, is no test's.
"""

import json
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from coverage import Coverage

SOURCE = "workflow/almanac"


def named(node: str) -> str:
    """Return a test's name without its parameters, and without the group in which it ran."""
    return node.partition("[")[0].partition("@")[0]


class Tracing:
    """What is noted in one process."""

    def __init__(self, notes: str) -> None:
        self.notes = notes
        self.coverage = Coverage(data_file=None, config_file=False, include=[f"{Path(SOURCE).absolute()}/*"])
        self.seconds: dict[str, float] = defaultdict(float)
        self.failed: set[str] = set()
        self.coverage.start()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Note the lines of a test, its fixtures' included, as its own."""
        name = named(item.nodeid)
        start = time.process_time()
        self.coverage.switch_context(name)
        yield
        self.seconds[name] += time.process_time() - start

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Leave out what does not pass as it is."""
        if report.failed:
            self.failed.add(named(report.nodeid))

    def pytest_sessionfinish(self, session: Any) -> None:
        """Write the notes."""
        self.coverage.stop()
        data, lines = self.coverage.get_data(), {}
        for file in data.measured_files():
            by_line = data.contexts_by_lineno(file)
            own = {line: sorted(set(names) - self.failed - {""}) for line, names in by_line.items()}
            lines[str(Path(file).relative_to(Path.cwd()))] = {line: names for line, names in own.items() if names}
        worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
        Path(f"{self.notes}.{worker}").write_text(json.dumps({"seconds": self.seconds, "lines": lines}), "utf-8")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the place of the notes."""
    parser.addoption("--notes", required=True, help="where the notes go, a file for each worker")


def pytest_configure(config: pytest.Config) -> None:
    """Trace, but not in a process that only gives out tests."""
    if not config.getoption("numprocesses", None) or hasattr(config, "workerinput"):
        config.pluginmanager.register(Tracing(config.getoption("notes")), "almanac-tracing")
