"""What a job asks of a scheduler, held against what the benchmarks of docs/performance.md took; what it has used."""

import sys
import time
from types import SimpleNamespace

import pytest

from almanac import job_size
from almanac.config import EditionConfig
from almanac.edition import jobs
from almanac.edition.jobs import Jobs, by_name
from almanac.edition.layout import Layout
from almanac.job_size import (
    BASE_MIB,
    FACTS_PARQUET,
    LEAST_MINUTES,
    MOST_MINUTES,
    USED,
    facts_megabytes,
    gpu_seen,
    needs,
    used,
)

MIB = 2**20
# (stored MiB that the job reads, MiB of memory at most, CPU seconds), by `python -m benchmarks.tables`.
MEASURED = {
    "judging and measuring 1,000,000 requests": (131.6e6 / MIB, 498, 9.8),
    "judging and measuring 6,500,000 requests": (854.7e6 / MIB, 1809, 30.1),
    "freezing 6,500,000 requests": (998.7e6 / MIB, 172, 265.3),
}
TWO_MILLION_FACTS = {"jsonl": (183.6, 1045, 78), "parquet": (13.8, 1035, 45)}


@pytest.mark.parametrize("job", MEASURED)
def test_a_job_of_tables_gets_what_such_a_job_took_and_not_many_times_that(job):
    stored, memory, seconds = MEASURED[job]
    asked = needs(0, 0, megabytes=stored)
    assert memory < asked.mem_mb < BASE_MIB + 2 * stored + 1
    assert 2 * seconds / 60 < asked.runtime < 60
    assert asked.gpu == 0


def test_memory_grows_as_fast_as_was_measured():
    """From one to 6.5 million requests: what is left above need does not shrink, however many there are."""
    (less, low, _), (more, high, _) = list(MEASURED.values())[:2]
    growth = (high - low) / (more - less)
    assert 1.5 < growth < (needs(0, 0, megabytes=2000).mem_mb - needs(0, 0, megabytes=1000).mem_mb) / 1000


@pytest.mark.parametrize("form", TWO_MILLION_FACTS)
@pytest.mark.parametrize("times", [1, 10])
def test_a_dataset_of_millions_of_facts_is_built_in_what_it_asks_for(tmp_path, form, times):
    """The start, 250 MiB, is not paid ten times."""
    stored, memory, seconds = TWO_MILLION_FACTS[form]
    (tmp_path / "deeper").mkdir()
    with (tmp_path / "deeper" / f"facts.{form}").open("wb") as handle:
        handle.truncate(int(stored * times * MIB))
    asked = needs(0, 0, megabytes=facts_megabytes(tmp_path))
    assert 250 + (memory - 250) * times < asked.mem_mb < 250 + (memory - 250) * times + BASE_MIB + 1500 * times
    assert seconds * times / 60 < asked.runtime


def test_the_job_that_builds_a_dataset_counts_the_facts_beside_the_record_that_it_waits_for(tmp_path):
    values = {"edition": "mine", "sources": {"mine": {"path": "facts"}}, "datasets": {"real": {"source": "mine"}}}
    config = EditionConfig.model_validate(values)
    layout = Layout(tmp_path, config)
    pulled = layout.source("mine")
    pulled.mkdir(parents=True)
    with (pulled / "facts.parquet").open("wb") as handle:
        handle.truncate(100 * MIB)
    memory = by_name(Jobs(config, layout).building_needs)["mem_mb"]
    wildcards = SimpleNamespace(dataset="real")
    assert memory(wildcards, SimpleNamespace(size_mb=0), 1) == needs(0, 0, megabytes=100 * FACTS_PARQUET).mem_mb
    assert memory(wildcards, SimpleNamespace(size_mb=0), 2) == 2 * memory(wildcards, SimpleNamespace(size_mb=0), 1)


def test_facts_that_are_not_there_weigh_nothing(tmp_path):
    assert facts_megabytes(tmp_path / "none") == 0
    (tmp_path / "facts.parquet").write_bytes(b"0" * MIB)
    assert facts_megabytes(tmp_path) == pytest.approx(FACTS_PARQUET)


def test_each_attempt_asks_for_as_much_again_and_no_more_than_a_day():
    first, second = (needs(10**9, 10**9, gpu=True, attempt=attempt) for attempt in (1, 2))
    assert second.mem_mb == pytest.approx(2 * first.mem_mb, abs=1)
    assert second.runtime == pytest.approx(2 * first.runtime, abs=1)
    assert first.runtime > LEAST_MINUTES
    assert needs(10**12, 10**15).runtime == MOST_MINUTES


@pytest.mark.parametrize(
    ("parameters", "device", "gpus", "gpu"),
    [
        (7 * 10**9, "auto", 1, 1),
        (7 * 10**9, "auto", 0, 0),
        (7 * 10**9, "cpu", 1, 0),
        (25 * 10**7, "auto", 1, 0),
        (25 * 10**7, "cuda", 1, 1),
        (25 * 10**7, "cuda", 0, 1),
    ],
)
def test_a_job_asks_for_the_time_of_what_it_runs_on(tmp_path, parameters, device, gpus, gpu):
    values = {
        "edition": "mine",
        "sources": {"mine": {"path": "facts"}},
        "datasets": {"real": {"source": "mine"}},
        "suites": {"ic_lke": {"real": {}}},
        "models": [{"name": "m", "path": "m", "parameters": parameters, "device": device}],
        "gpus": gpus,
    }
    config = EditionConfig.model_validate(values)
    job = SimpleNamespace(model="m", suite="ic_lke", dataset="real")
    asked = Jobs(config, Layout(tmp_path, config)).scoring_needs(job, None, 1)
    minutes = LEAST_MINUTES + 2 * parameters * config.shard_tokens("ic_lke", "real") / (1e14 if gpu else 2e10) / 60
    assert (asked.gpu, asked.runtime) == (gpu, int(min(MOST_MINUTES, minutes)))


@pytest.mark.parametrize(
    ("parameters", "settings", "card", "threads"),
    [
        (7 * 10**9, {}, True, 1),  # a card does the work
        (7 * 10**9, {}, False, 16),  # one job at a time
        (7 * 10**9, {"gpus": 0}, True, 4),  # two shards of two models, side by side
        (10**8, {}, True, 4),
        (10**8, {"shards": 1}, True, 8),
        (10**8, {"shards": 64}, True, 1),
        (10**8, {"answer_together": 10**12}, True, 4),  # one suite each: as many jobs
        (10**6, {}, False, 1),  # too small to share
    ],
)
def test_a_job_has_its_part_of_the_cores(tmp_path, monkeypatch, parameters, settings, card, threads):
    monkeypatch.setattr(jobs, "gpu_seen", lambda: card)
    config = EditionConfig.model_validate(
        {
            "edition": "mine",
            "sources": {"mine": {"path": "facts"}},
            "datasets": {"real": {"source": "mine"}},
            "suites": {"ic_lke": {"real": {}}},
            "models": [{"name": name, "path": name, "parameters": parameters} for name in ("m", "n")],
        }
        | settings
    )
    job = SimpleNamespace(model="m", suite="ic_lke", dataset="real")
    assert Jobs(config, Layout(tmp_path, config), cores=16).threads(job) == threads
    assert Jobs(config, Layout(tmp_path, config)).threads(job) == 1


@pytest.mark.parametrize(
    ("device", "visible", "platform", "seen"),
    [
        ("nvidia0", None, "linux", True),
        ("nvidia3", "0", "linux", True),
        ("nvidiactl", None, "linux", False),
        ("nvidia0", "", "linux", False),
        ("kfd", None, "linux", True),
        ("tty", None, "linux", False),
        ("tty", None, "darwin", True),
    ],
)
def test_a_card_is_seen_by_its_device(tmp_path, monkeypatch, device, visible, platform, seen):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    (tmp_path / device).touch()
    assert gpu_seen(tmp_path) is seen


def test_memory_holds_the_weights():
    """Llama-2-7B in bfloat16: 13.5 GB of weights."""
    assert needs(6_738_415_616, 0, "bfloat16").mem_mb * MIB > 13.5e9


@pytest.mark.parametrize(("platform", "unit"), [("linux", 2**10), ("darwin", 1)])
def test_what_a_process_has_used_is_told_in_the_same_units_everywhere(monkeypatch, platform, unit):
    """The largest memory is counted in KiB by Linux and in bytes by macOS (`man getrusage`)."""
    found = SimpleNamespace(ru_utime=1.0, ru_stime=0.5, ru_maxrss=300 * MIB // unit)
    monkeypatch.setattr(job_size.resource, "getrusage", lambda who: found)
    monkeypatch.setattr(sys, "platform", platform)
    line = USED.match(f"almanac plant: {used(time.perf_counter() - 2)}")
    assert (float(line["wall"]), float(line["cpu"]), int(line["mib"])) == (pytest.approx(2, abs=0.5), 3.0, 300)
