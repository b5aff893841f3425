"""What a suite asks: a request's id is its content, items are counted on, and settings are values."""

import dataclasses
import hashlib
import json
from typing import NamedTuple

import pytest

from almanac import tables
from almanac.errors import AlmanacError
from almanac.rows import Fact, Request, Setting
from almanac.rows.requests import KINDS
from almanac.suites.answers import expanded
from almanac.suites.asked import Asked
from almanac.suites.data import Data
from almanac.suites.sampling import asked_facts
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
    "other": "Rome",
    "layer": 1,
}


class Asking(NamedTuple):
    """How an item is asked, in every type that a field may have."""

    style: str | None = None
    shots: int | None = None
    share: float | None = None
    sure: bool | None = None


def test_every_part_of_a_request_can_change():
    assert set(CHANGES) | {"request_id"} == {field.name for field in dataclasses.fields(Request)}


@pytest.mark.parametrize("part", CHANGES)
def test_a_request_with_another_part_has_another_id(part):
    asked = Asked()
    first, second = asked.request(REQUEST), asked.request(dataclasses.replace(REQUEST, **{part: CHANGES[part]}))
    assert first != second
    assert asked.take().requests.column("request_id").to_pylist() == [first, second]


def test_equal_requests_and_contexts_stand_once_whatever_id_they_came_with():
    asked = Asked()
    ids = {asked.request(REQUEST), asked.request(dataclasses.replace(REQUEST, request_id="mine"))}
    assert asked.context("one") == asked.context("one") != asked.context("two")
    batch = asked.take()
    assert batch.requests.column("request_id").to_pylist() == list(ids)
    assert batch.contexts.to_pylist() == [{"context_id": identity(text), "text": text} for text in ("one", "two")]


def test_an_id_does_not_hang_on_what_was_asked_before_in_the_same_batch_or_another():
    other = dataclasses.replace(REQUEST, text="Rome")
    first, second = Asked(), Asked()
    ids = [first.request(REQUEST), first.request(other)]
    assert ids == [second.request(other), second.request(REQUEST)][::-1]
    first.take()
    assert ids == [first.request(REQUEST), first.request(other)]


def test_items_are_counted_on_from_batch_to_batch_and_from_what_came_before():
    asked = Asked(first=7)
    assert [asked.item("e", Asking(), None) for _ in range(2)] == [7, 8]
    assert asked.take().items.column("item").to_pylist() == [7, 8]
    assert asked.item("e", Asking(), None) == 9
    assert asked.take().items.column("item").to_pylist() == [9]
    assert asked.take().items.num_rows == 0


def test_an_item_has_its_facts_relation_or_one_of_its_own():
    asked = Asked()
    asked.item("e", Asking(), Fact("f", "r", "s", "o", None, None, None, (), "test", "t"), ("yes",), name="S")
    asked.item("e", Asking(), None, relation="r2", template="t2")
    found = asked.take().items.to_pylist()
    assert [(row["fact_id"], row["relation_id"], row["template_id"], row["name"]) for row in found] == [
        ("f", "r", None, "S"),
        (None, "r2", "t2", None),
    ]
    assert [row["accepted"] for row in found] == [["yes"], []]


def test_a_link_that_is_made_twice_counts_once_and_one_in_another_role_too():
    asked = Asked()
    for role in ("one", "one", "two"):
        asked.link(3, role, REQUEST, 1, 0.5)
    found = asked.take()
    assert [(row["item"], row["role"], row["index"], row["weight"]) for row in found.links.to_pylist()] == [
        (3, "one", 1, 0.5),
        (3, "two", 1, 0.5),
    ]
    assert found.requests.num_rows == 1


@pytest.mark.parametrize(
    "settings",
    [
        [Asking("a"), Asking("b"), Asking()],
        [Asking("a,shots=1"), Asking("a", 1)],
        [Asking('a",shots=1'), Asking("a", 1)],
        [Asking("None"), Asking(None)],
        [Asking("1"), Asking("true"), Asking(sure=True), Asking(shots=1), Asking(share=1.5), Asking(sure=False)],
        [Asking("ein Ü, zwei\n")],
        [],
    ],
)
def test_settings_come_back_as_the_values_that_they_are_each_by_a_name_of_its_own(settings, tmp_path):
    asked = Asked()
    names = [asked.setting(one) for one in settings * 2]
    assert names[: len(settings)] == names[len(settings) :]
    assert len(set(names)) == len(settings)
    with tables.writing(tmp_path / "settings.parquet", Setting) as writer:
        writer.add(asked.take().settings)
    found = expanded(tables.read(tmp_path / "settings.parquet", Setting), Asking)
    assert found.select(Asking._fields).rows() == [tuple(one) for one in settings]
    assert found["setting"].to_list() == names[: len(settings)]


def test_a_setting_without_fields_is_the_only_one():
    class Only(NamedTuple):
        """There is one way."""

    asked = Asked()
    assert {asked.setting(Only()), asked.setting(Only())} == {"only"}
    [row] = [Setting(**row) for row in asked.take().settings.to_pylist()]
    assert expanded([row], Only).columns == ["setting", "setting_label"]


def test_what_could_not_be_asked_is_said_once():
    asked = Asked()
    asked.refuse("relation r", "it has no test fact")
    asked.refuse("relation r", "another reason")
    assert asked.take().refused.to_pylist() == [{"thing": "relation r", "reason": "it has no test fact"}]


FACTS = [
    Fact(f"{relation}|Q{at}|O", relation, f"Q{at}", "O", *[None] * 3, (), ("test", "train", None)[at % 3], "own")
    for relation in ("b", "a")
    for at in range(30)
]


def test_the_facts_asked_are_the_test_facts_of_each_relation_sorted():
    found = Data.of(facts=FACTS[::-1]).tested(None, 0)
    assert list(found) == ["a", "b"]
    for relation, own in found.items():
        test = sorted(fact.fact_id for fact in FACTS if (fact.split, fact.relation_id) == ("test", relation))
        assert [fact.fact_id for fact in own] == test


def test_a_sample_is_that_of_the_least_hashes_so_that_a_relation_alone_is_asked_the_same():
    label = json.dumps(["3", "sample"], separators=(",", ":"))
    for relation, own in Data.of(facts=FACTS).tested(4, 3).items():
        test = [fact.fact_id for fact in FACTS if (fact.split, fact.relation_id) == ("test", relation)]
        least = sorted(test, key=lambda name: hashlib.sha256((label + name).encode()).digest())[:4]
        assert [fact.fact_id for fact in own] == sorted(least)
        assert asked_facts([fact for fact in FACTS if fact.relation_id == relation], 4, 3, {}) == own


def test_a_kind_of_request_that_there_is_not_and_a_text_for_a_list_are_refused():
    asked = Asked()
    with pytest.raises(AlmanacError, match="there is no kind of request 'choice'; did you mean choices\\?"):
        asked.request(dataclasses.replace(REQUEST, kind="choice"))
    with pytest.raises(AlmanacError, match="accepted must be a list of texts, found the text 'Rome'"):
        asked.item("capitals", Asking(), None, "Rome")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "generate"])
def test_a_request_without_what_its_kind_needs_is_refused_before_a_model_is_asked(kind):
    with pytest.raises(AlmanacError, match=f"a request of the kind '{kind}' needs .*: 'The capital of Peru is'"):
        Asked().request(Request("", kind, None, "The capital of Peru is"))


def test_a_setting_has_values_of_the_types_that_its_class_says():
    class Shots(NamedTuple):
        shots: int

    with pytest.raises(AlmanacError, match="table of Shots: row 1, column 'shots': 'two' is no int64"):
        Asked().setting(Shots("two"))
