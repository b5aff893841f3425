"""Windows partition a request file by position, and what is wrong with the file is found before a model is loaded."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from almanac import tables
from almanac.errors import AlmanacError
from almanac.models import windows
from almanac.rows import Context, Request


def request(number, text="Paris is", context=None, **values):
    return Request(f"{number:064x}", "choices", context, text, **{"choices": (" red", " blue"), **values})


def write(folder, requests, contexts=()):
    tables.write(folder / "requests.parquet", Request, requests)
    tables.write(folder / "contexts.parquet", Context, contexts)
    return folder / "requests.parquet", folder / "contexts.parquet"


@settings(deadline=None)
@given(st.lists(st.integers(0, 40), max_size=60), st.integers(1, 9), st.integers(1, 100))
def test_windows_keep_order_and_bounds_and_are_as_long_as_they_may_be(lengths, most, characters):
    asked = [request(number, "x" * length, choices=()) for number, length in enumerate(lengths)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "REQUESTS", most)
        patch.setattr(windows, "CHARACTERS", characters)
        found = list(windows.windows(asked))
    assert [one for window in found for one in window] == asked
    sizes = [sum(map(windows.size, window)) for window in found]
    for window, total in zip(found, sizes, strict=True):
        assert 1 <= len(window) <= most
        assert total <= characters or len(window) == 1
    for window, total, following in zip(found, sizes, found[1:], strict=False):
        assert len(window) == most or total + windows.size(following[0]) > characters


def test_windows_after_a_window_are_those_of_the_whole(monkeypatch):
    """A run that goes on after its k-th window cuts the rest as an unbroken run does."""
    monkeypatch.setattr(windows, "REQUESTS", 7)
    monkeypatch.setattr(windows, "CHARACTERS", 90)
    asked = [request(number, "x" * (number * 7 % 31)) for number in range(50)]
    whole, start = list(windows.windows(asked)), 0
    for index, window in enumerate(whole):
        assert list(windows.windows(asked[start:])) == whole[index:]
        start += len(window)


def test_what_is_to_be_written_counts_as_well_as_what_is_read():
    assert windows.size(request(0, "four", choices=("ab", "c"))) == 7
    assert windows.size(Request("r", "spans", None, "", pieces=("ab", "cde"))) == 5
    samples = Request("r", "generate", None, "four", max_new_tokens=10, samples=100)
    assert windows.size(samples) == 4 + 4 * 10 * 100
    assert windows.size(Request("r", "generate", None, "four", max_new_tokens=10)) == 44


def test_a_survey_knows_the_number_and_the_contexts_that_are_used(tmp_path):
    contexts = [Context(name, f"text {name}") for name in "abc"]
    asked = [request(number, context=[None, "a", "c"][number % 3]) for number in range(1000)]
    assert windows.survey(*write(tmp_path, asked, contexts)) == windows.Survey(1000, {"a": "text a", "c": "text c"})
    assert windows.survey(*write(tmp_path, [])) == windows.Survey(0, {})


@pytest.mark.parametrize(("first", "second"), [(0, 1), (0, 999), (499, 500)])
def test_a_request_that_stands_twice_is_named_wherever_it_stands(tmp_path, first, second):
    asked = [request(number) for number in range(1000)]
    asked[second] = request(first, "other text")
    with tables.writing(tmp_path / "requests.parquet", Request) as writer:  # `tables.write` would refuse it
        writer.add(tables.arrow_of(Request, asked))
    tables.write(tmp_path / "contexts.parquet", Context, [])
    with pytest.raises(AlmanacError, match=rf"rows {first + 1} and {second + 1}: request {first:064x} occurs twice"):
        windows.survey(tmp_path / "requests.parquet", tmp_path / "contexts.parquet")


def test_ids_that_share_a_hash_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(windows, "hash", len, raising=False)
    assert windows.survey(*write(tmp_path, [request(number) for number in range(500)])).requests == 500


def test_a_context_that_is_not_there_is_named_by_its_first_row(tmp_path):
    asked = [request(number, context="gone" if number > 300 else None) for number in range(500)]
    with pytest.raises(AlmanacError, match=r"requests.parquet: row 302: its context gone is not in .*contexts.parquet"):
        windows.survey(*write(tmp_path, asked, [Context("there", "text")]))
