import dataclasses
import hashlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from almanac.rows import Fact, Request
from almanac.suites.asking import Asked, asked_facts, missing_responses
from almanac.tables import identity

REQUEST = Request("", "choices", None, "Paris", choices=(" France", " Italy"))
CHANGES = {
    "kind": "fill",
    "context_id": identity("a context"),
    "text": "Paris ",
    "choices": (" Italy", " France"),
    "span_starts": (0,),
    "span_ends": (5,),
    "pieces": ("Paris",),
    "max_new_tokens": 1,
    "stop": ("\n",),
    "samples": 2,
    "temperature": 0.0,
    "seed": 0,
    "top_k": 5,
    "exclude": ("France",),
    "per_token": False,
    "best_only": True,
    "instruction": "Answer in one word.",
    "options": ("Paris", "Washington, D.C."),
}


def test_every_part_of_a_request_can_change():
    assert set(CHANGES) | {"request_id"} == {field.name for field in dataclasses.fields(Request)}


@pytest.mark.parametrize("part", CHANGES)
def test_a_request_with_another_part_has_another_id(part):
    asked = Asked()
    first, second = asked.request(REQUEST), asked.request(dataclasses.replace(REQUEST, **{part: CHANGES[part]}))
    assert first != second
    assert set(asked.requests) == {first, second}


def test_equal_requests_stand_once_whatever_id_they_came_with():
    asked = Asked()
    ids = {asked.request(REQUEST), asked.request(dataclasses.replace(REQUEST, request_id="mine"))}
    assert ids == set(asked.requests)
    assert [row.request_id for row in asked.requests.values()] == list(ids)


def test_an_id_does_not_hang_on_what_was_asked_before():
    other = dataclasses.replace(REQUEST, text="Rome")
    first, second = Asked(), Asked()
    assert [first.request(REQUEST), first.request(other)] == [second.request(other), second.request(REQUEST)][::-1]


def test_equal_contexts_stand_once():
    asked = Asked()
    assert asked.context("one") == asked.context("one") != asked.context("two")
    assert sorted(row.text for row in asked.contexts.values()) == ["one", "two"]
    assert all(asked.contexts[key].context_id == key for key in asked.contexts)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.one_of(st.none(), st.integers(0, 5)), st.text(max_size=4)), max_size=40), st.integers(1, 9)
)
def test_shards_partition_the_requests_by_context(asked_for, buckets):
    asked = Asked()
    for context, text in asked_for:
        context_id = None if context is None else asked.context(f"context {context}")
        asked.request(dataclasses.replace(REQUEST, context_id=context_id, text=text))
    shards = asked.shards(buckets)
    assert len(shards) == buckets
    together = [row for shard in shards for row in shard]
    assert sorted(row.request_id for row in together) == sorted(asked.requests)
    of_context = {}
    for index, shard in enumerate(shards):
        assert shard == sorted(shard, key=lambda row: (row.kind, row.context_id or "", row.text, row.request_id))
        for row in shard:
            if row.context_id is not None:
                assert of_context.setdefault(row.context_id, index) == index


def test_shards_may_be_empty_and_do_not_hang_on_order():
    assert Asked().shards(3) == [[], [], []]
    requests = [dataclasses.replace(REQUEST, text=str(number)) for number in range(20)]
    forwards, backwards = Asked(), Asked()
    for request in requests:
        forwards.request(request)
    for request in reversed(requests):
        backwards.request(request)
    assert forwards.shards(4) == backwards.shards(4)


FACTS = [
    Fact(f"{relation}|Q{at}|O", relation, f"Q{at}", "O", *[None] * 3, (), ("test", "train", None)[at % 3], "own")
    for relation in ("b", "a")
    for at in range(30)
]


def test_the_facts_asked_are_test_facts_by_relation_and_none_is_left_without_a_sample():
    test = sorted((fact.relation_id, fact.fact_id) for fact in FACTS if fact.split == "test")
    assert [(fact.relation_id, fact.fact_id) for fact in asked_facts(FACTS[::-1], None, 0)] == test


def test_the_facts_asked_are_those_of_the_least_hashes_so_that_a_relation_alone_is_asked_the_same():
    label = json.dumps(["3", "sample"], separators=(",", ":"))
    found = asked_facts(FACTS, 4, 3)
    for relation in ("a", "b"):
        own = [fact for fact in FACTS if fact.relation_id == relation]
        test = [fact.fact_id for fact in own if fact.split == "test"]
        least = sorted(test, key=lambda name: hashlib.sha256((label + name).encode()).digest())[:4]
        assert [fact.fact_id for fact in found if fact.relation_id == relation] == sorted(least)
        assert asked_facts(own, 4, 3) == [fact for fact in found if fact.relation_id == relation]


def test_a_request_without_an_answer_is_missing():
    assert missing_responses(["b", "a", "c"], ["c"]) == ["a", "b"]
    assert missing_responses(["a"], ["a", "unasked"]) == []
