"""Load a command's modules and models without garbage collection, which is faster."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Keep the garbage collector away from objects that are loaded in the block and stay until the process ends.

    The collector takes a fifth of the time of importing torch and a transformers model, and frees nothing there. In a
    process other than `python -m almanac` (a notebook, a test) this does nothing, since its other objects may become
    garbage.
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
