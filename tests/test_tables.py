"""Tables come back as they were written, and a row that does not fit is refused by its row and column."""

import dataclasses
import hashlib
import inspect
import json
import types
import typing
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.test_cli import FILLING

from almanac import rows, sealed, tables
from almanac.errors import AlmanacError
from almanac.rows import Choices, Context, Entity, Exposure, Refused, Response

ROWS = [kind for _, kind in inspect.getmembers(rows, dataclasses.is_dataclass)]
SIMPLE = {
    str: st.text(max_size=8),
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
}
EXAMPLES = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))


def values_of(annotation: Any) -> st.SearchStrategy[Any]:
    if isinstance(annotation, types.UnionType):
        return st.one_of([st.none() if part is type(None) else values_of(part) for part in typing.get_args(annotation)])
    if typing.get_origin(annotation) is tuple:
        return st.lists(values_of(typing.get_args(annotation)[0]), max_size=3).map(tuple)
    return SIMPLE[annotation]


def rows_of(kind: type) -> st.SearchStrategy[list[Any]]:
    fields = {name: values_of(hint) for name, hint in typing.get_type_hints(kind).items() if name != "KEY"}
    return st.lists(
        st.builds(kind, **fields), max_size=4, unique_by=lambda row: tuple(getattr(row, name) for name in kind.KEY)
    )


@pytest.mark.parametrize("kind", ROWS, ids=lambda kind: kind.__name__)
def test_every_table_comes_back_as_it_was_written(kind, tmp_path):
    @EXAMPLES
    @given(rows_of(kind))
    def comes_back(written):
        assert tables.write(tmp_path / "table.parquet", kind, written) == len(written)
        assert tables.read(tmp_path / "table.parquet", kind) == written
        tables.write_jsonl(tmp_path / "table.jsonl", written)
        assert sorted(tables.read_jsonl(tmp_path / "table.jsonl", kind), key=repr) == sorted(written, key=repr)

    comes_back()


def test_infinite_log_probabilities_survive_in_parquet(tmp_path):
    response = Response("r", "ok", None, logprobs=(float("-inf"), -0.5))
    tables.write(tmp_path / "r.parquet", Response, [response])
    assert tables.read(tmp_path / "r.parquet", Response) == [response]


@pytest.mark.parametrize(
    ("kind", "row", "column", "found"),
    [
        (Exposure, Exposure("f", "often"), "dose", "'often'"),
        (Exposure, Exposure("f", 1.5), "dose", "1.5"),
        (Exposure, Exposure("f", 2**63), "dose", str(2**63)),
        (Context, Context("c", 7), "text", "7"),
        (Context, Context("c", "\ud800"), "text", "ud800"),
        (Context, Context(["c"], "text"), "context_id", "['c']"),
        (Entity, Entity("e", "label", "alias", None), "aliases", "'alias'"),
        (Entity, Entity("e", "label", (1,), None), "aliases", "1"),
        (Entity, Entity("e", "label", None, None), "aliases", "none"),
        (Entity, Entity("e", None, (), None), "label", "none"),
        (Choices, Choices("f", ("a", None), ("A", "B")), "distractors", "none"),
    ],
)
def test_a_wrong_value_is_named_by_file_row_and_column_and_nothing_is_written(tmp_path, kind, row, column, found):
    good = {Exposure: Exposure("x", 1), Context: Context("x", ""), Entity: Entity("x", "X", (), None)}.get(
        kind, Choices("x", (), ())
    )
    path = tmp_path / "table.parquet"
    with pytest.raises(AlmanacError) as error:
        tables.write(path, kind, [good, row])
    message = str(error.value)
    assert message.startswith(f"{path}: row 2, column '{column}'")
    assert found in message
    assert list(tmp_path.iterdir()) == []


def test_a_repeated_key_names_both_rows_and_the_key(tmp_path):
    path = tmp_path / "refused.parquet"
    repeated = [Refused("P1", None, "a"), Refused("P1", "f", "b"), Refused("P1", None, "c")]
    with pytest.raises(AlmanacError, match=r"rows 1 and 3 .*relation_id='P1', fact_id=None"):
        tables.write(path, Refused, repeated)
    assert not path.exists()


def test_a_failed_write_keeps_what_was_there(tmp_path):
    path = tmp_path / "table.parquet"
    tables.write(path, Exposure, [Exposure("f", 1)])
    before = path.read_bytes()
    with pytest.raises(AlmanacError):
        tables.write(path, Exposure, [Exposure("f", None)])
    with pytest.raises(ZeroDivisionError), tables.atomic(path) as temporary:
        temporary.write_bytes(b"half")
        raise ZeroDivisionError
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "write", [lambda path: tables.write(path, Exposure, []), lambda path: tables.write_jsonl(path, [])]
)
def test_a_path_that_cannot_be_written_is_named(tmp_path, write):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "table", tmp_path / "file" / "deeper" / "table"):
        with pytest.raises(AlmanacError, match=r"cannot be written") as error:
            write(path)
        assert str(path) in str(error.value)
    (tmp_path / "folder").mkdir()
    with pytest.raises(AlmanacError, match=r"folder: cannot be written .*Is a directory"):
        write(tmp_path / "folder")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_a_missing_table_says_what_to_do(tmp_path):
    with pytest.raises(AlmanacError, match=r"gone\.parquet: there is no such file; make it first"):
        tables.read(tmp_path / "gone.parquet", Exposure)
    with pytest.raises(AlmanacError, match=r"gone\.jsonl: cannot be read"):
        tables.read_jsonl(tmp_path / "gone.jsonl", Exposure)


@pytest.mark.parametrize("damage", ["empty", "half", "middle", "text"])
def test_a_damaged_table_is_refused_by_name(tmp_path, damage):
    path = tmp_path / "contexts.parquet"
    tables.write(path, Context, [Context(str(number), "text" * 20) for number in range(500)])
    whole = path.read_bytes()
    path.write_bytes(
        {
            "empty": b"",
            "half": whole[: len(whole) // 2],
            "middle": whole[:40] + bytes(200) + whole[240:],
            "text": b"context_id,text\n",
        }[damage]
    )
    with pytest.raises(AlmanacError, match=r"contexts\.parquet: is (no readable Parquet file|damaged)"):
        tables.read(path, Context)


def test_a_table_of_another_kind_is_refused_with_the_columns_that_differ(tmp_path):
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"fact_id": ["f"], "amount": [1]}), path)
    with pytest.raises(AlmanacError, match=r"no table of Exposure: missing columns \['dose'\], unknown .*\['amount'\]"):
        tables.read(path, Exposure)


def test_json_lines_are_canonical(tmp_path):
    entities = [
        Entity("Q2", "Zoë", ("b", "a"), None),
        Entity("Q10", "東京", (), "city"),
        Entity("Q1", "line\nbreak", (), None),
    ]
    tables.write_jsonl(tmp_path / "one.jsonl", entities)
    tables.write_jsonl(tmp_path / "two.jsonl", reversed(entities))
    assert (tmp_path / "one.jsonl").read_bytes() == (
        '{"aliases":["b","a"],"entity_id":"Q2","label":"Zoë"}\n'
        '{"aliases":[],"entity_id":"Q1","label":"line\\nbreak"}\n'
        '{"aliases":[],"entity_id":"Q10","label":"東京","type":"city"}\n'
    ).encode()
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()


@pytest.mark.parametrize(
    "line", ['{"fact_id":"f"', '{"fact_id":"f"}', '{"fact_id":"f","dose":1,"more":2}', "[1]", '"text"']
)
def test_a_bad_line_is_named_by_its_number(tmp_path, line):
    path = tmp_path / "doses.jsonl"
    path.write_text('{"dose":1,"fact_id":"e"}\n' + line + "\n")
    with pytest.raises(AlmanacError, match=r"doses\.jsonl: line 2 is no row of Exposure"):
        tables.read_jsonl(path, Exposure)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"entity_id":"Q1","aliases":[]}', "it lacks label; a line has entity_id, label, aliases and may have type"),
        ('{"entity_id":"Q1","label":"a","aliases":[],"alias":"b"}', "'alias' is unknown; a line has entity_id, label,"),
        ('{"entity_id":"Q1","Label":"a"}', "it lacks label, aliases; 'Label' is unknown; a line has entity_id, label,"),
        ('["Q1"]', '["Q1"] is no JSON object; write one a line'),
        ('{"entity_id":"Q1","label":"a","aliases":[],"label":"b"}', "the key 'label' is given twice"),
        ('{"entity_id"', "Expecting ':' delimiter at character 13; write one JSON object a line"),
    ],
)
def test_the_fields_that_a_line_lacks_or_that_are_unknown_are_named_with_those_that_there_are(tmp_path, line, said):
    path = tmp_path / "entities.jsonl"
    path.write_text(line)
    with pytest.raises(AlmanacError, match=r"entities\.jsonl: line 1 is no row of Entity: ") as found:
        tables.read_jsonl(path, Entity)
    assert said in str(found.value)


def test_what_editors_on_windows_add_to_lines_is_no_part_of_them(tmp_path):
    (tmp_path / "doses.jsonl").write_bytes(
        '\ufeff{"dose":1,"fact_id":"e"}\r\n\r\n{"dose":2,"fact_id":"f"}\r\n'.encode()
    )
    assert tables.read_jsonl(tmp_path / "doses.jsonl", Exposure) == [Exposure("e", 1), Exposure("f", 2)]


@pytest.mark.parametrize(
    ("line", "column"), [('{"dose":"1","fact_id":"f"}', "dose"), ('{"dose":1,"fact_id":5}', "fact_id")]
)
def test_a_value_of_another_type_is_named_by_row_and_column(tmp_path, line, column):
    path = tmp_path / "doses.jsonl"
    path.write_text('{"dose":1,"fact_id":"e"}\n' + line + "\n")
    with pytest.raises(AlmanacError, match=rf"doses\.jsonl: row 2, column '{column}': .* is no "):
        tables.read_jsonl(path, Exposure)


def test_a_number_is_read_as_text_where_that_is_allowed(tmp_path):
    path = tmp_path / "doses.jsonl"
    path.write_text('{"dose":1,"fact_id":5}\n')
    assert tables.read_jsonl(path, Exposure, ("fact_id",)) == [Exposure("5", 1)]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_equal_values_have_one_canonical_text(value):
    text = tables.canonical(value)
    assert json.loads(text) == value
    assert tables.canonical(json.loads(json.dumps(value, indent=3))) == text
    assert tables.identity(value) == hashlib.sha256(text.encode()).hexdigest()


def test_the_sha256_is_that_of_the_standard(tmp_path):
    (tmp_path / "abc").write_bytes(b"abc")
    assert sealed.sha256(tmp_path / "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_a_seed_is_64_bits_of_its_parts_and_keeps_them_apart():
    digest = hashlib.sha256(b'["1","split","P19"]').digest()
    assert tables.seed_of(1, "split", "P19") == int.from_bytes(digest[:8], "big")
    assert (
        len({tables.seed_of("ab", "c"), tables.seed_of("a", "bc"), tables.seed_of("abc"), tables.seed_of("c", "ab")})
        == 4
    )


KEYS = st.sets(st.text(max_size=4), max_size=20)


@given(KEYS, KEYS, st.integers(0, 5))
def test_a_key_keeps_its_place_among_the_others_when_keys_come_and_go(kept, others, seed):
    alone = tables.hash_order(kept, seed, "draw")
    together = tables.hash_order(sorted(kept | others), seed, "draw")
    assert sorted(together) == sorted(kept | others)
    assert [key for key in together if key in kept] == alone


def test_every_place_is_equally_likely():
    keys = [f"k{number}" for number in range(4)]
    first = [tables.hash_order(keys, seed)[0] for seed in range(2000)]
    counts = [first.count(key) for key in keys]
    assert sum((count - 500) ** 2 / 500 for count in counts) < 16.3  # chi square, 3 degrees of freedom, p = .001


def batch(**columns) -> pa.Table:
    whole = {
        "entity_id": pa.array(["Q1", "Q2"], pa.large_string()),
        "label": pa.array(["one", "two"], pa.string_view()),
        "aliases": pa.array([["1"], []], pa.large_list(pa.large_string())),
        "type": pa.array([None, "number"]),
    }
    return pa.table(whole | columns)


def test_batches_of_other_arrow_types_and_another_order_become_the_same_rows(tmp_path):
    turned = batch().select(["type", "aliases", "label", "entity_id"])
    assert tables.write_batches(tmp_path / "e.parquet", Entity, [batch(), *turned.to_batches()]) == 4
    rows = [Entity("Q1", "one", ("1",), None), Entity("Q2", "two", (), "number")]
    assert tables.read(tmp_path / "e.parquet", Entity) == rows * 2
    assert tables.write_batches(tmp_path / "none.parquet", Entity, []) == 0
    assert tables.read(tmp_path / "none.parquet", Entity) == []


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"label": pa.array(["one", None])}, "row 4, column 'label': a value is required, found none"),
        ({"aliases": pa.array([["1", None], []])}, "rows from 3, column 'aliases': an element is missing"),
        ({"aliases": pa.array(["1", "2"])}, "rows from 3, column 'aliases': string does not become list"),
        ({"votes": pa.array([1, 2])}, "a batch has the columns"),
    ],
)
def test_a_batch_that_does_not_fit_is_named_and_nothing_is_written(tmp_path, columns, message):
    with pytest.raises(AlmanacError) as error:
        tables.write_batches(tmp_path / "e.parquet", Entity, [batch(), batch(**columns)])
    assert message in str(error.value)
    assert list(tmp_path.iterdir()) == []


def exposures(first, last):
    return [Exposure(f"fact {number:06}", number) for number in range(first, last)]


def test_a_long_table_is_written_in_row_groups_of_one_size(tmp_path):
    path = tmp_path / "long.parquet"
    tables.write(path, Exposure, exposures(0, 10_000))
    found = pq.ParquetFile(path).metadata
    assert [found.row_group(index).num_rows for index in range(found.num_row_groups)] == [4096, 4096, 1808]
    assert tables.count(path, Exposure) == 10_000


@pytest.mark.parametrize("start", [0, 1, 255, 256, 4095, 4096, 5000, 9999, 10_000, 20_000])
def test_a_streamed_table_goes_on_after_any_row(tmp_path, start):
    path = tmp_path / "long.parquet"
    tables.write(path, Exposure, exposures(0, 10_000))
    assert list(tables.read_rows(path, Exposure, start)) == tables.read(path, Exposure)[start:]
    assert max((batch.num_rows for batch in tables.stream(path, Exposure, start=start)), default=0) <= tables.BATCH


def test_a_stream_gives_the_columns_that_are_wanted(tmp_path):
    path = tmp_path / "long.parquet"
    tables.write(path, Exposure, exposures(0, 300))
    assert [batch.schema.names for batch in tables.stream(path, Exposure, ["dose"])] == [["dose"], ["dose"]]


@pytest.mark.parametrize("kind", ROWS, ids=lambda kind: kind.__name__)
def test_a_streamed_table_is_the_table(kind, tmp_path):
    @EXAMPLES
    @given(rows_of(kind))
    def comes_back(written):
        tables.write(tmp_path / "table.parquet", kind, written)
        assert list(tables.read_rows(tmp_path / "table.parquet", kind)) == written

    comes_back()


@pytest.mark.parametrize("sizes", [[], [0], [3, 0, 5], [4096, 1], [100] * 60, [9000, 1, 3192]])
def test_rows_that_are_added_are_written_as_if_they_came_together(tmp_path, sizes):
    every, first = exposures(0, sum(sizes)), 0
    tables.write(tmp_path / "whole.parquet", Exposure, every, {"almanac.model": "abc"})
    with tables.writing(tmp_path / "added.parquet", Exposure, {"almanac.model": "abc"}) as writer:
        for size in sizes:
            writer.add(tables.arrow_of(Exposure, every[first : first + size]))
            first += size
    assert (tmp_path / "added.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()


def test_what_does_not_fit_is_named_by_its_row_in_the_whole_and_nothing_is_written(tmp_path):
    with pytest.raises(AlmanacError, match="row 4, column 'label': a value is required"):  # noqa: SIM117
        with tables.writing(tmp_path / "e.parquet", Entity) as writer:
            writer.add(batch())
            writer.add(batch(label=pa.array(["one", None])))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ROWS, ids=lambda kind: kind.__name__)
def test_rows_come_back_from_arrow(kind):
    @EXAMPLES
    @given(rows_of(kind))
    def come_back(rows):
        assert tables.from_arrow(kind, tables.arrow_of(kind, rows)) == rows

    come_back()


def test_a_file_without_metadata_says_nothing_of_itself(tmp_path):
    tables.write(tmp_path / "plain.parquet", Exposure, [])
    assert tables.read_metadata(tmp_path / "plain.parquet") == {}


def test_a_table_in_one_row_group_is_streamed_too(tmp_path):
    """Another program's file may hold all its rows in one group: its batches are as small."""
    path = tmp_path / "foreign.parquet"
    pq.write_table(pa.table({"fact_id": [str(number) for number in range(9000)], "dose": list(range(9000))}), path)
    assert pq.ParquetFile(path).num_row_groups == 1
    assert {batch.num_rows for batch in tables.stream(path, Exposure)} <= {tables.BATCH, 9000 % tables.BATCH}


@pytest.mark.parametrize("kind", FILLING)
def test_a_full_disk_is_named_with_the_file_however_it_is_written(kind, tmp_path):
    expected = rf"the disk is full \({tmp_path / 'a.txt'}\); free some space and run the same command again"
    with pytest.raises(AlmanacError, match=f"^{expected}$"), tables.atomic(tmp_path / "a.txt"):
        FILLING[kind]()
    assert list(tmp_path.iterdir()) == []
