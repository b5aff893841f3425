"""The garbage collector while a command loads what it needs."""

import gc
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from almanac.loading import loading


def test_elsewhere_than_in_our_own_process_nothing_changes():
    """A notebook's objects may become garbage: they are not made lasting."""
    before = gc.get_freeze_count()
    with loading():
        assert gc.isenabled()
    assert gc.get_freeze_count() == before


def test_what_our_own_process_loads_is_looked_at_neither_then_nor_later(monkeypatch):
    main = ModuleType("__main__")
    main.__spec__ = ModuleSpec("almanac.__main__", None)
    monkeypatch.setitem(sys.modules, "__main__", main)
    try:
        with pytest.raises(ImportError), loading():
            loaded = [[]]
            assert not gc.isenabled()
            raise ImportError
        assert gc.isenabled() and gc.get_freeze_count()
        assert not any(one is loaded for one in gc.get_objects())
    finally:
        gc.unfreeze()
