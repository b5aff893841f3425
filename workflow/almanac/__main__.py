"""`python -m almanac`: the command in a process of its own, which is started as cheaply as it can be.

What is settled here holds for the whole process, so it is for a command's process alone and for none that imports us.
"""

import gc
import sys

from almanac.absent import without
from almanac.cli import VERBS, load, main


def run() -> int:
    """Run the verb of this process's command line; return its exit status."""
    if sys.argv[1:2] and sys.argv[1] in VERBS:
        collected = gc.isenabled()
        gc.disable()
        try:
            _settle_arrow()
            load(sys.argv[1])
        finally:
            gc.freeze()  # None of what is loaded is garbage, so none is looked through, then or later.
            if collected:
                gc.enable()
    return main()


def _settle_arrow() -> None:
    """Make Arrow's first array, for which it looks for pandas, in case that it is ever given one of its series.

    No verb gives it one, and loading pandas takes longer than writing most tables. What asks for pandas itself
    (`to_pandas`, the report) still finds it.
    """
    import pyarrow as pa  # what needs no verb, as --help, needs no Arrow

    with without("pandas"):
        pa.array([], pa.null())


if __name__ == "__main__":
    raise SystemExit(run())
