"""Items, links, requests and responses as one table, a few items at a time: against a join in plain Python."""

import itertools
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from almanac import tables
from almanac.edition.asking import write_asked
from almanac.errors import AlmanacError
from almanac.rows import Item, Request, Response
from almanac.suites.answers import BY, Answers, RoundFiles, _placed
from almanac.suites.asked import Asked

COLUMNS = ("experiment", "way", "role", "index", "weight", "round", "text", "choices", "status", "logprobs")


class Way(NamedTuple):
    """How an item is asked."""

    way: str


@dataclass(frozen=True, slots=True)
class Note:
    """A row of a suite's own about an item."""

    KEY: ClassVar = ("item",)
    item: int
    note: str


class Given(NamedTuple):
    """A round: who answers, how many items it has, and its links (item, role, text of the request)."""

    answerer: str
    items: int
    links: list[tuple[int, str, str]]


def request(text):
    return Request("", "choices", None, text, choices=(f" {text}", " no"))


def response(at, text):
    """What the answerer of a round says to a text: something else in every round."""
    status = ("ok", "refused")[(at + ord(text)) % 3 == 2]
    return Response("", status, None, (-float(at) - 1, float(ord(text))) if status == "ok" else None)


def written(folder, rounds, *, without=(), shards=2, setting=Way):
    """Write what rounds ask and answer, without the responses to some texts (round, text)."""
    files, first = [], 0
    for at, given_round in enumerate(rounds):
        asked = Asked({"notes": Note}, first=first)
        for _ in range(given_round.items):
            item = asked.item(f"round {at}", Way(f"way {first % 2}"), None)
            asked.own["notes"].append(Note(item, f"note {item}"))
            first += 1
        for item, role, text in given_round.links:
            asked.link(item, role, request(text), item, item / 2)
        place = folder / f"round-{at}"
        write_asked(place, [asked.take()], {"notes": Note}, shards)
        one = RoundFiles.of(f"round {at}", place, (), given_round.answerer)
        paths = []
        for path in one.requests:
            rows = [row for row in tables.read(path, Request) if (at, row.text) not in without]
            paths.append(path.with_name(f"answers to {path.name}"))
            found = (replace(response(at, row.text), request_id=row.request_id) for row in rows)
            tables.write(paths[-1], Response, found)
        files.append(replace(one, responses=tuple(paths)))
    return Answers("m", "d", files, setting, {"notes": Note})


def joined(rounds):
    """The same in plain Python: a row a link, by item, round and the order in which they were made."""
    rows = []
    starts = [sum(one.items for one in rounds[:at]) for at in range(len(rounds) + 1)]
    for at, one in enumerate(rounds):
        for item, role, text in dict.fromkeys(one.links):
            asked_in = next(place for place, start in enumerate(starts[1:]) if item < start)
            answered_in = next(
                place
                for place, other in enumerate(rounds)
                if other.answerer == one.answerer and text in {link[2] for link in other.links}
            )
            said = response(answered_in, text)
            rows.append(
                (
                    *(item, f"round {asked_in}", f"way {item % 2}", role, item, item / 2, f"round {at}", text),
                    *([f" {text}", " no"], said.status, None if said.logprobs is None else list(said.logprobs)),
                )
            )
    return sorted(rows, key=lambda row: row[0])


@st.composite
def some_rounds(draw):
    rounds, items = [], 0
    for _ in range(draw(st.integers(1, 3))):
        own = draw(st.integers(0 if items else 1, 5))
        items += own
        link = st.tuples(st.integers(0, items - 1), st.sampled_from("ab"), st.sampled_from("rstuvw"))
        rounds.append(Given(draw(st.sampled_from(["m", "judge"])), own, draw(st.lists(link, max_size=12))))
    return rounds


@settings(deadline=None, max_examples=40)
@given(some_rounds(), st.integers(1, 30), st.integers(1, 3))
def test_parts_are_the_join_whole_items_in_their_order_whatever_their_size(tmp_path_factory, rounds, size, shards):
    answers = written(tmp_path_factory.mktemp("asked"), rounds, shards=shards)
    assert answers.count == sum(one.items for one in rounds)
    parts = list(answers.parts(COLUMNS, ("notes",), size))
    rows = [row for part in parts for row in part.links.select("item", *COLUMNS).rows()]
    assert rows == joined(rounds)
    notes = [row for part in parts for row in part.own["notes"].rows()]
    assert notes == [(item, f"note {item}") for item in range(answers.count)]
    for part in parts:
        told = set(part.own["notes"]["item"])
        assert set(part.links["item"]) <= told, "a table of items is that of the part's items"
        assert part.links.height <= size or len(told) == 1
    for one, other in itertools.pairwise(parts):
        assert one.own["notes"]["item"].max() < other.own["notes"]["item"].min(), "no item is in two parts"


def test_only_what_is_wanted_is_there_and_without_responses_what_was_asked(tmp_path):
    rounds = [Given("m", 2, [(0, "a", "r"), (1, "a", "s")])]
    answers = written(tmp_path, rounds, without={(0, "r"), (0, "s")})
    [part] = answers.parts(("text", "way"))
    assert part.links.columns == ["item", "text", "way"]
    assert part.links.rows() == [(0, "r", "way 0"), (1, "s", "way 1")]
    assert dict(part.own) == {}
    [part] = answers.parts(("role",), ("notes",))
    assert part.links.join(part.own["notes"], on="item")["note"].to_list() == ["note 0", "note 1"], "they join"
    unanswered = replace(answers, rounds=[replace(one, responses=()) for one in answers.rounds])
    assert [part.links["text"].to_list() for part in unanswered.parts(("text",))] == [["r", "s"]]
    with pytest.raises(AlmanacError, match="2 of 2 requests have no response"):
        list(unanswered.parts(("status",)))


def test_of_two_rounds_that_ask_one_request_of_a_model_the_first_response_counts(tmp_path):
    links = [(0, "a", "r")]
    same = written(tmp_path / "same", [Given("m", 1, links), Given("m", 0, [(0, "b", "r")])])
    [part] = same.parts(("role", "logprobs"))
    assert part.links.select("role", "logprobs").rows() == [("a", [-1.0, 114.0]), ("b", [-1.0, 114.0])]
    other = written(tmp_path / "other", [Given("m", 1, links), Given("judge", 0, [(0, "b", "r")])])
    [part] = other.parts(("role", "logprobs"))
    assert part.links.select("role", "logprobs").rows() == [("a", [-1.0, 114.0]), ("b", [-2.0, 114.0])]


@pytest.mark.parametrize(
    ("answerer", "without", "message"),
    [
        ("m", {(0, "r")}, "model 'm': 1 of 3 requests have no response, the first is {r}; run `answer` on their shard"),
        ("m", {(1, "t"), (1, "s")}, "model 'm': 1 of 3 requests have no response, the first is {t};"),
        ("judge", {(1, "t"), (1, "s")}, "model 'judge': 2 of 4 requests have no response, the first is {s};"),
    ],
)
def test_a_missing_response_is_named_with_the_model_in_whichever_round_it_is(tmp_path, answerer, without, message):
    rounds = [Given("m", 2, [(0, "a", "r"), (1, "a", "s")]), Given(answerer, 1, [(2, "a", "s"), (2, "a", "t")])]
    answers = written(tmp_path, rounds, without=without)
    ids = {text: Asked().request(request(text)) for text in "rst"}
    with pytest.raises(AlmanacError) as error:
        list(answers.parts(("status",)))
    assert message.format(**ids) in str(error.value)


def test_a_column_that_there_is_not_is_named(tmp_path):
    answers = written(tmp_path, [Given("m", 1, [(0, "a", "r")])])
    with pytest.raises(
        AlmanacError, match=r"there is no column logprob of items, .* or responses; did you mean logprobs\?"
    ):
        list(answers.parts(("logprob", "status", "answer")))


def test_a_field_of_the_setting_that_another_column_hides_is_refused(tmp_path):
    class Hidden(NamedTuple):
        text: str
        way: str

    answers = written(tmp_path, [Given("m", 1, [(0, "a", "r")])], setting=Hidden)
    assert [part.links.columns for part in answers.parts(("way",))] == [["item", "way"]]
    with pytest.raises(AlmanacError, match=r"Hidden: a field 'text' .* rename the field"):
        list(answers.parts(("text",)))


def test_items_that_are_not_counted_through_the_rounds_are_refused(tmp_path):
    answers = written(tmp_path, [Given("m", 2, [(0, "a", "r")]), Given("m", 2, [(2, "a", "s")])])
    second = tmp_path / "round-1"
    asked = Asked({"notes": Note})  # as if it were the first
    asked.link(asked.item("e", Way("w"), None), "a", request("r"))
    write_asked(second, [asked.take()], {"notes": Note}, 2)
    with pytest.raises(
        AlmanacError, match=r"round-1/items\.parquet: the items from 2 on do not continue .*before\.count"
    ):
        list(answers.parts(("role",)))


def test_a_link_to_an_item_that_there_is_not_is_refused(tmp_path):
    answers = written(tmp_path, [Given("m", 2, [(0, "a", "r"), (2, "a", "s")])])
    with pytest.raises(AlmanacError, match="a link is to item 2 of 2 items"):
        list(answers.parts(("role",)))


def test_own_tables_are_read_through_all_rounds(tmp_path):
    answers = written(tmp_path, [Given("m", 2, []), Given("m", 1, [])])
    assert answers.own("notes")["item"].to_list() == [0, 1, 2]
    assert [row.item for one in answers.rounds for row in tables.read(one.folder / "items.parquet", Item)] == [0, 1, 2]


KEYS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)), max_size=12)


@given(KEYS, KEYS)
def test_a_link_has_the_first_row_of_its_whole_key(wanted, there):
    """Keys that share one of their numbers are not mistaken for each other."""
    types = {"answerer": pl.UInt8, "key": pl.Int64, "more": pl.Int64}
    links, rows = (pl.DataFrame(found, types, orient="row") for found in (wanted, there))
    placed, kept = _placed(links, rows.with_columns(score=pl.int_range(pl.len())), BY, "response")
    assert placed["response"].to_list() == [there.index(key) if key in there else None for key in wanted]
    assert kept["score"].to_list() == list(range(len(there)))


def test_a_response_that_stands_twice_is_refused(tmp_path):
    """Written by something else than `answer`; of two that differ the first would count, and nobody would know."""
    answers = written(tmp_path, [Given("m", 2, [(0, "a", "A"), (1, "a", "B")])], shards=1)
    [path] = answers.rounds[0].responses
    rows = tables.read_arrow(path, Response).replace_schema_metadata()
    pq.write_table(pa.concat_tables([rows, rows.slice(0, 1)]), path)
    with pytest.raises(
        AlmanacError, match=r"round-0: 3 responses to 2 requests of .*, but each needs exactly one; delete"
    ):
        list(answers.parts(["status"]))


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("logprobs", [float("nan"), 0.0], r"has the logprobs \[nan, 0\.0\], which no model returns"),
        ("logprobs", [float("-inf"), 0.0], r"has the logprobs \[-inf, 0\.0\], which no model returns"),
        ("status", "fine", r"has the status 'fine', which no model returns"),
        ("status", {"said": "ok"}, r"is no readable Parquet file \(.*; delete it and run again"),
    ],
)
def test_what_no_model_says_is_refused_with_its_file_and_request(tmp_path, column, value, said):
    answers = written(tmp_path, [Given("m", 2, [(0, "a", "A"), (1, "a", "B")])], shards=1)
    [path] = answers.rounds[0].responses
    rows = tables.read_arrow(path, Response).replace_schema_metadata()
    at = rows.column_names.index(column)
    pq.write_table(rows.set_column(at, column, pa.array([value] * rows.num_rows)), path)
    with pytest.raises(AlmanacError, match=rf"{path}: .*{said}"):
        list(answers.parts(["status", "logprobs"]))
