"""Progress of long steps: a bar on a terminal, ten lines in a log."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm


@contextmanager
def progress(total: int | None, what: str) -> Iterator[Callable[..., None]]:
    """Yield a callable that is told of steps done: ``done(steps=1, note="", total=None)``.

    Args:
        total: how many steps there will be; if none, the first call says so.
        what: the name of the steps.
    """
    with tqdm(total=total, desc=what, disable=None) as bar:
        reached, expected = 0, total or 0

        def done(steps: int = 1, note: str = "", total: int | None = None) -> None:
            nonlocal reached, expected
            bar.total = expected = total or expected
            before, reached = reached, reached + steps
            if note:
                bar.set_postfix_str(note, refresh=False)
            bar.update(steps)
            if bar.disable and expected and reached * 10 // expected > before * 10 // expected:
                print(f"{what}: {reached} of {expected} {note}".rstrip(), file=sys.stderr, flush=True)

        yield done
