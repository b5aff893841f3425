"""Parts outlive the process that wrote them, and only those of the same job are gone on with."""

from dataclasses import replace
from pathlib import Path

import pytest

from almanac import tables
from almanac.errors import AlmanacError
from almanac.models.parts import DoneParts
from almanac.rows import Response


def responses(first, last):
    return [Response(f"{number:064x}", "ok", None, logprobs=(-1.5 * number,)) for number in range(first, last)]


def test_parts_are_found_again_and_joined(tmp_path):
    output = tmp_path / "responses-0.parquet"
    first = DoneParts(output, "identity")
    assert (first.rows, first.paths) == (0, [])
    first.add(responses(0, 3))
    first.add(responses(3, 4))
    again = DoneParts(output, "identity")
    assert again.rows == 4
    again.add(responses(4, 9))
    assert not output.exists()
    again.join({"almanac.model": "m"})
    assert tables.read(output, Response) == responses(0, 9)
    assert tables.read_metadata(output) == {"almanac.model": "m"}
    again.remove()
    assert list(tmp_path.iterdir()) == [output]
    tables.write(tmp_path / "whole.parquet", Response, responses(0, 9), {"almanac.model": "m"})
    assert output.read_bytes() == (tmp_path / "whole.parquet").read_bytes()


def test_parts_of_another_identity_are_ignored_and_removed(tmp_path):
    output = tmp_path / "responses-0.parquet"
    DoneParts(output, "one").add(responses(0, 3))
    beside = DoneParts(tmp_path / "responses-1.parquet", "one")
    beside.add(responses(5, 6))
    other = DoneParts(output, "two")
    assert other.rows == 0
    other.remove_others()
    assert DoneParts(output, "one").rows == 0
    assert DoneParts(tmp_path / "responses-1.parquet", "one").rows == 1


def test_what_jobs_of_the_same_version_have_left_can_be_taken_out(tmp_path):
    output = tmp_path / "responses-0.parquet"
    one, older = DoneParts(output, "11-one"), DoneParts(output, "1-one")
    for parts in (one, older):
        parts.add(responses(0, 3))
        parts.add(responses(3, 5))
        parts.keep(responses(5, 6)[0])
    one.paths[1].write_bytes(one.paths[1].read_bytes()[:-1])
    two = DoneParts(output, "11-two")
    assert list(two.left([two.folder])) == [responses(0, 3), responses(5, 6)]


def test_what_is_kept_after_a_line_that_was_cut_off_is_not_lost_with_it(tmp_path):
    first, second, third = responses(0, 3)
    output = tmp_path / "responses-0.parquet"
    parts = DoneParts(output, "1-one")
    for one in (first, second):
        parts.keep(one)
    journal = parts.own / "journal.jsonl"
    journal.write_text(journal.read_text()[:-20])
    DoneParts(output, "1-one").keep(third)
    assert list(DoneParts(output, "1-one").kept().values()) == [first, third]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_disk_that_is_full_is_said_to_be_so(tmp_path):
    parts = DoneParts(tmp_path / "responses-0.parquet", "1-one")
    parts.own.mkdir(parents=True)
    (parts.own / "journal.jsonl").symlink_to("/dev/full")
    with pytest.raises(AlmanacError, match=r"the disk is full \(.*journal.jsonl\); free some space"):
        parts.keep(responses(0, 1)[0])


@pytest.mark.parametrize("damage", ["empty", "cut", "gone"])
def test_what_follows_a_part_that_is_not_whole_is_done_again(tmp_path, damage):
    output = tmp_path / "responses-0.parquet"
    parts = DoneParts(output, "identity")
    for index in range(3):
        parts.add(responses(index, index + 1))
    if damage == "gone":
        parts.paths[1].unlink()
    else:
        content = parts.paths[1].read_bytes()
        parts.paths[1].write_bytes(b"" if damage == "empty" else content[:-1])
    again = DoneParts(output, "identity")
    assert again.rows == 1
    assert [path.name for path in again.own.iterdir()] == ["000000.parquet"]


def test_a_part_that_is_damaged_later_leaves_no_joined_file(tmp_path):
    parts = DoneParts(tmp_path / "responses-0.parquet", "identity")
    parts.add(responses(0, 3))
    parts.add(responses(3, 4))
    parts.paths[1].write_bytes(b"PAR1")
    with pytest.raises(AlmanacError, match=r"000001\.parquet: is no readable Parquet file"):
        parts.join({})
    assert list(tmp_path.iterdir()) == [parts.folder]


def test_no_parts_make_an_empty_file(tmp_path):
    output = tmp_path / "responses-0.parquet"
    DoneParts(output, "identity").join({})
    assert tables.read(output, Response) == []


def test_a_part_is_checked_as_every_table_is(tmp_path):
    parts = DoneParts(tmp_path / "responses-0.parquet", "identity")
    with pytest.raises(AlmanacError, match="rows 1 and 2 have the same key"):
        parts.add(responses(0, 1) * 2)
    assert parts.rows == 0
    assert DoneParts(tmp_path / "responses-0.parquet", "identity").rows == 0


def test_what_a_file_cannot_hold_fails_alone_in_whichever_column_it_stands(tmp_path):
    """Tokens, too: a tokenizer's own code may split a character."""
    output = tmp_path / "responses-0.parquet"
    parts = DoneParts(output, "identity")
    half = "half \ud83d"
    bad = {"texts": ("fine", half), "tokens": (half,), "reason": half, "logprobs": ("x",), "token_counts": (2**70,)}
    rows = [replace(one, **{name: value}) for one, (name, value) in zip(responses(0, 5), bad.items(), strict=True)]
    parts.add([*rows, *responses(5, 9)])
    parts.join({})
    found = tables.read(output, Response)
    assert found[5:] == responses(5, 9)
    assert [one.request_id for one in found[:5]] == [one.request_id for one in rows]
    for name, one in zip(bad, found, strict=False):
        assert one.status == "failed" and f"it cannot be written: column '{name}': " in one.reason
        assert one.logprobs is one.texts is one.tokens is None
