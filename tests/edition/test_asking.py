"""What a round's files hold: every request once, neighbours alike, a context in one shard, and all of it or nothing."""

import itertools
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from almanac import tables
from almanac.edition import asking
from almanac.edition.asking import write_asked
from almanac.errors import AlmanacError
from almanac.rows import Context, Item, Link, NotAsked, Request, Setting
from almanac.suites.asked import Asked

REQUEST = Request("", "choices", None, "", choices=(" France", " Italy"))
TABLES = {"items", "links", "settings", "contexts", "refused"}


class Way(NamedTuple):
    """How an item is asked."""

    number: int


@dataclass(frozen=True, slots=True)
class Note:
    """A row of a suite's own."""

    KEY: ClassVar = ("item",)
    item: int
    text: str


def asked(texts, size=3, first=0):
    """Yield what asks a list of (context or none, text), an item each, some at a time."""
    held = Asked({"notes": Note}, first=first)
    for at, (context, text) in enumerate(texts):
        context_id = None if context is None else held.context(f"context {context}")
        item = held.item("e", Way(at % 2), None)
        held.link(item, "only", replace(REQUEST, context_id=context_id, text=text))
        held.own["notes"].append(Note(item, text))
        held.refuse(f"thing {at % 2}", "no reason")
        if (at + 1) % size == 0:
            yield held.take()
    yield held.take()


def shards_of(folder, shards):
    return [tables.read(folder / f"requests-{shard}.parquet", Request) for shard in range(shards)]


def test_the_files_of_more_shards_than_there_are_now_go(tmp_path):
    """What a later round is made of is every request file of the folder."""
    (tmp_path / "requests-mine.parquet").touch()
    for shards in (3, 1):
        write_asked(tmp_path, asked([(None, "a"), (None, "b")]), {"notes": Note}, shards)
        assert len(list(tmp_path.glob("requests-*.parquet"))) == shards + 1, "and a person's own"
    assert [row.text for row in shards_of(tmp_path, 1)[0]] == ["a", "b"]


def order(row):
    return row.kind, row.context_id or "", row.text, row.request_id


TEXTS = st.lists(st.tuples(st.one_of(st.none(), st.integers(0, 4)), st.text("abÜ\U0001f600 ", max_size=2)), max_size=40)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS, st.integers(1, 5), st.integers(1, 7), st.sampled_from([1, 4, 9, 200_000]))
def test_every_request_stands_once_in_the_shard_of_its_context(tmp_path_factory, texts, shards, size, run):
    folder = tmp_path_factory.mktemp("asked")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asking, "RUN", run)
        counts = write_asked(folder, asked(texts, size), {"notes": Note}, shards)
    found = shards_of(folder, shards)
    together = [row for shard in found for row in shard]
    assert len({row.request_id for row in together}) == len(together) == len(set(texts)) == counts["requests"]
    text_of = {row.context_id: row.text for row in tables.read(folder / "contexts.parquet", Context)}
    assert {(text_of.get(row.context_id), row.text) for row in together} == {
        (None if context is None else f"context {context}", text) for context, text in texts
    }
    shard_of = {}
    for number, shard in enumerate(found):
        for row in shard:
            assert shard_of.setdefault(row.context_id or row.request_id, number) == number
            assert row.request_id == tables.identity(tables.as_dict(replace(row, request_id="")))
    if run == 200_000:
        assert found == [sorted(shard, key=order) for shard in found]


def stretches(rows):
    """The sorted stretches that a list falls into."""
    cuts = [0, *(at for at in range(1, len(rows)) if order(rows[at]) < order(rows[at - 1])), len(rows)]
    return [rows[start:stop] for start, stop in itertools.pairwise(cuts)]


def test_very_many_requests_are_sorted_a_run_at_a_time_and_an_equal_one_stays_in_the_first(tmp_path, monkeypatch):
    first, second = ["d", "b", "f"], ["b", "e", "a", "f"]  # b and f come again
    texts = [(None, text) for text in (*first, *second)]
    monkeypatch.setattr(asking, "RUN", 3)
    write_asked(tmp_path, asked(texts, 3), {"notes": Note}, 1)
    [rows] = shards_of(tmp_path, 1)
    assert [[row.text for row in own] for own in stretches(rows)] == [["b", "d", "f"], ["a", "e"]]


def test_a_run_of_requests_that_are_all_known_adds_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(asking, "RUN", 2)
    counts = write_asked(tmp_path, asked([(None, text) for text in "ababab"], 2), {"notes": Note}, 2)
    assert counts["requests"] == sum(map(len, shards_of(tmp_path, 2))) == 2


def test_files_do_not_hang_on_the_order_of_asking_nor_on_batches(tmp_path):
    texts = [(at % 4 or None, f"text {at}") for at in range(30)]
    for name, own in {"there": asked(texts), "back": asked(texts[::-1], 7)}.items():
        write_asked(tmp_path / name, own, {"notes": Note}, 3)
    for shard in range(3):
        there, back = (tmp_path / name / f"requests-{shard}.parquet" for name in ("there", "back"))
        assert there.read_bytes() == back.read_bytes()


def test_a_shard_may_be_empty_and_so_may_all(tmp_path):
    counts = write_asked(tmp_path, asked([(None, "a")]), {"notes": Note}, 3)
    assert sorted(map(len, shards_of(tmp_path, 3))) == [0, 0, 1]
    assert counts == {"items": 1, "links": 1, "settings": 1, "contexts": 0, "refused": 1, "notes": 1, "requests": 1}
    assert set(write_asked(tmp_path / "none", asked([]), {"notes": Note}, 2).values()) == {0}
    assert shards_of(tmp_path / "none", 2) == [[], []]


def test_what_batches_have_in_common_stands_once_and_items_are_counted_through_them(tmp_path):
    texts = [(at // 5, f"text {at}") for at in range(10)]
    counts = write_asked(tmp_path, asked(texts, 3, first=4), {"notes": Note}, 2)
    assert (counts["settings"], counts["contexts"], counts["refused"]) == (2, 2, 2)
    names = [row.setting for row in tables.read(tmp_path / "settings.parquet", Setting)]
    items = tables.read(tmp_path / "items.parquet", Item)
    assert [row.item for row in items] == list(range(4, 14))
    assert [row.setting for row in items] == names * 5
    links = tables.read(tmp_path / "links.parquet", Link)
    text_of = {row.request_id: row.text for shard in shards_of(tmp_path, 2) for row in shard}
    assert [(row.item, text_of[row.request_id]) for row in links] == [(at + 4, f"text {at}") for at in range(10)]
    assert tables.read(tmp_path / "notes.parquet", Note) == [Note(at + 4, f"text {at}") for at in range(10)]
    assert [row.thing for row in tables.read(tmp_path / "refused.parquet", NotAsked)] == ["thing 0", "thing 1"]


def test_where_asking_ends_in_an_error_nothing_is_written_and_what_was_there_stays(tmp_path):
    def breaks(texts):
        yield from itertools.islice(asked(texts), 2)
        raise AlmanacError("relation 'r' has 2 train facts")

    texts = [(None, str(at)) for at in range(20)]
    with pytest.raises(AlmanacError, match="2 train facts"):
        write_asked(tmp_path, breaks(texts), {"notes": Note}, 2)
    assert list(tmp_path.iterdir()) == []
    write_asked(tmp_path, asked(texts), {"notes": Note}, 2)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(before) == {f"{name}.parquet" for name in (*TABLES, "notes", "requests-0", "requests-1")}
    with pytest.raises(AlmanacError, match="2 train facts"):
        write_asked(tmp_path, breaks(texts[::-1]), {"notes": Note}, 2)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_folder_that_is_none_is_named_without_a_traceback(tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(AlmanacError, match=r"file/items\.parquet: cannot be written .*; give a folder that exists"):
        write_asked(tmp_path / "file", asked([]), {"notes": Note}, 1)
