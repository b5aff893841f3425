"""Draws by identity: order does not matter, more keep what fewer drew, all places differ."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from almanac.sources import drawing
from almanac.sources.drawing import RunningLowest, hashes, lowest, places
from almanac.tables import hash_order

IDS = st.lists(st.integers(0, 2**64 - 1), unique=True, max_size=80).map(lambda ids: np.array(ids, np.uint64))


def test_the_published_generator():
    """SplitMix64 seeded with 1234567: the first outputs of its authors' code."""
    weyl = int(drawing.WEYL)
    states = np.array([1, 2, 3], np.uint64)
    found = places(states, 1234567)
    assert [int(value) for value in found] == [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert weyl == 0x9E3779B97F4A7C15


@given(IDS, st.integers(0, 2**64 - 1))
def test_no_two_share_a_place(ids, seed):
    assert len(set(places(ids, seed).tolist())) == len(ids)


@given(IDS, st.integers(0, 20), st.integers(0, 2**64 - 1), st.randoms())
def test_a_draw_depends_on_identity_alone(ids, count, seed, random):
    shuffled = ids.tolist()
    random.shuffle(shuffled)
    drawn = lowest(ids, count, seed).tolist()
    assert lowest(np.array(shuffled, np.uint64), count, seed).tolist() == drawn
    assert len(drawn) == min(count, len(ids))
    assert lowest(ids, count + 3, seed).tolist()[:count] == drawn
    kept = [number for number in ids.tolist() if number not in drawn[:1]]
    assert set(drawn[1:]) <= set(lowest(np.array(kept, np.uint64), count, seed).tolist())
    running = RunningLowest(count, seed)
    for start in range(0, len(shuffled), 7):
        running.add(np.array(shuffled[start : start + 7], np.uint64))
    assert running.drawn.tolist() == drawn


@given(st.sets(st.text(max_size=4), max_size=40), st.integers(0, 9))
def test_hashes_order_keys_as_hash_order_does(keys, seed):
    ordered = sorted(keys)
    found = hashes([key.encode() for key in ordered], seed, "choices", "P1|a|b")
    assert [ordered[at] for at in np.argsort(found)] == hash_order(keys, seed, "choices", "P1|a|b")


def test_parts_are_the_whole(monkeypatch):
    ids = np.arange(1000, dtype=np.uint32)
    whole = {count: lowest(ids, count, 7).tolist() for count in (0, 1, 30, 990, 2000)}
    for part in (1, 10, 64, 999):
        monkeypatch.setattr(drawing, "PART", part)
        assert {count: lowest(ids, count, 7).tolist() for count in whole} == whole


def test_hashes_of_parts_are_those_of_the_whole(monkeypatch):
    keys = [str(number).encode() for number in range(100)]
    whole = hashes(keys, "a").tolist()
    monkeypatch.setattr(drawing, "PART", 7)
    assert hashes(keys, "a").tolist() == whole


def test_a_draw_is_even():
    drawn = [len(lowest(np.arange(100, dtype=np.uint64), 30, seed)) for seed in range(3)]
    assert drawn == [30] * 3
    hits = np.zeros(100)
    for seed in range(2000):
        hits[lowest(np.arange(100, dtype=np.uint64), 30, seed).astype(int)] += 1
    assert abs(hits - 600).max() < 5 * np.sqrt(2000 * 0.3 * 0.7), "five standard deviations"
