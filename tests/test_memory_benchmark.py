"""The memory benchmark's requests are as `ask` would write them; that memory stays flat is tested with the verb."""

import dataclasses
import sys

import pytest
from benchmarks import memory

from almanac import tables
from almanac.edition.asking import write_asked
from almanac.rows import Request
from almanac.suites.asked import Asked


def test_the_requests_are_those_that_ask_would_write(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "CHUNK", 30)
    memory.write_requests(tmp_path / "requests.parquet", 100)
    asked = Asked()
    for one in memory.requests(0, 100):
        asked.request(dataclasses.replace(one, request_id=""))
    write_asked(tmp_path / "asked", [asked.take()], {}, 1)
    written = tables.read(tmp_path / "asked" / "requests-0.parquet", Request)
    assert tables.read(tmp_path / "requests.parquet", Request) == written
    assert sorted(path.name for path in tmp_path.iterdir()) == ["asked", "requests.parquet"]


def test_a_process_is_measured_by_what_it_used_and_not_by_what_started_it():
    small = memory.measure([sys.executable, "-c", "pass"])
    large = memory.measure([sys.executable, "-c", "held = b'x' * (300 * 2**20)"])
    assert small.memory < 100
    assert 290 < large.memory - small.memory < 310
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        memory.measure([sys.executable, "-c", "1 / 0"])
