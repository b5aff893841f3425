"""What holds for all tests: how long one takes says how busy the machine is; those of one file share a worker."""

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Each run draws other examples, so that a few a run are many in a week. One that fails is printed, to be tried again.
settings.register_profile(
    "almanac", max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("almanac")
# Programs that tests start end by these signals, also where `nohup`, or a script's `&`, has the tests ignore them.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
# Compiled modules are kept, also where a container says otherwise: else each of hundreds of processes compiles all.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Two threads show what depends on their order; one a core, in each of as many workers, only wait for one another.
os.environ.setdefault("POLARS_MAX_THREADS", "2")


@pytest.hookimpl(tryfirst=True)  # before the plugin that runs tests side by side reads the groups
def pytest_collection_modifyitems(items):
    """Put the tests of a file on one worker, so that what they share is made once."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(str(Path(item.fspath).relative_to(Path(__file__).parent))))
