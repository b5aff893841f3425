"""Loading what a command needs without looking for garbage among it."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Load what stays until the process ends: the garbage collector looks at none of it, then or later.

    A fifth of the time that importing torch and a transformers model takes is the collector's, which frees nothing
    there. In a process that is not `python -m almanac` (a notebook, a test) everything is left as it is, since
    what else is held there may become garbage.
    """
    if getattr(sys.modules["__main__"].__spec__, "name", None) != "almanac.__main__":
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
