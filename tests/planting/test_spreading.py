"""Spreading keeps every count, whatever the counts."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from almanac.errors import AlmanacError
from almanac.planting import spreading


@settings(max_examples=60, deadline=None)
@given(
    counts=st.dictionaries(st.text(min_size=1, max_size=4), st.integers(1, 30), min_size=1, max_size=30),
    extra=st.integers(0, 20),
    seed=st.integers(0, 1000),
)
def test_spread_gives_each_key_its_count_and_never_twice_a_document(counts, extra, seed):
    size = max(counts.values()) + extra
    documents = spreading.spread(counts, [5] * size, random.Random(seed))
    assert Counter(key for keys in documents for key in keys) == counts
    assert all(len(set(keys)) == len(keys) for keys in documents)


@given(
    dose=st.integers(0, 200),
    shares=st.lists(st.floats(0.01, 1), min_size=1, max_size=5),
    offset=st.floats(0, 1, exclude_max=True),
)
def test_a_dose_is_shared_out_to_within_one_and_whole(dose, shares, offset):
    parts = spreading.shared_out(dose, shares, offset)
    assert sum(parts) == dose
    for part, share in zip(parts, shares, strict=True):
        assert abs(part - dose * share / sum(shares)) <= 1 + 1e-9


@given(count=st.integers(1, 40), total=st.integers(40, 400), seed=st.integers(0, 1000))
def test_each_stretch_of_the_stream_has_one_occurrence(count, total, seed):
    documents = spreading.spread({"fact": count}, [1] * total, random.Random(seed))
    places = [at for at, keys in enumerate(documents) if keys]
    for part, at in enumerate(places):
        assert part * total // count <= at < (part + 1) * total // count


def test_more_occurrences_than_documents_are_refused():
    with pytest.raises(AlmanacError, match="fact: 3 occurrences cannot stand in 2 documents"):
        spreading.spread({"fact": 3}, [9, 9], random.Random(0))
