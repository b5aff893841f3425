"""Loading a package without another that it takes up only because it is there."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType


@contextmanager
def without(package: str) -> Iterator[None]:
    """Let a package look absent for a while, as where it is not installed; one that is loaded already stays."""
    finder = _Refusal(package)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Refusal:
    """A finder that ends the search for one package by raising (Python's reference, section 5.3.3)."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        """Refuse the package; leave all others to the finders behind."""
        if fullname == self.package:
            raise ModuleNotFoundError(f"{fullname} is hidden here", name=fullname)
