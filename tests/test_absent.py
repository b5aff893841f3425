"""A package that looks absent for a while."""

import importlib
import sys

import pytest

from almanac.absent import without


@pytest.fixture
def package(tmp_path, monkeypatch):
    (tmp_path / "of_use.py").write_text("VALUE = 1")
    monkeypatch.syspath_prepend(tmp_path)
    yield "of_use"
    sys.modules.pop("of_use", None)


def test_a_hidden_package_cannot_be_imported_until_afterwards(package):
    with without(package):
        with pytest.raises(ModuleNotFoundError, match=package):
            importlib.import_module(package)
        assert importlib.import_module("graphlib"), "others can"
    assert importlib.import_module(package).VALUE == 1


def test_a_package_that_is_loaded_stays(package):
    importlib.import_module(package)
    with without(package):
        assert importlib.import_module(package).VALUE == 1


def test_an_error_brings_it_back(package):
    before = list(sys.meta_path)
    with pytest.raises(ValueError, match="anything"), without(package):
        raise ValueError("anything")
    assert sys.meta_path == before
    assert importlib.import_module(package).VALUE == 1
