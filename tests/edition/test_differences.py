"""Two editions side by side: what differs is found whatever the form and the order of the tables, and nothing else."""

import csv
import errno
import json
import math
import os
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from almanac import tables
from almanac.cli import main
from almanac.config import EditionConfig
from almanac.edition import differences as module
from almanac.edition.archive import freeze
from almanac.edition.differences import IN_A, IN_B, differences, opened
from almanac.edition.layout import BETWEEN, Layout
from almanac.edition.unpacking import unpack
from almanac.rows import Measure, Response
from almanac.versions import MAKER

P1, P2 = '{"relation":"P1"}', '{"relation":"P2"}'
VALUES = [
    Measure("s", "d", "m", None, metric, P1, "mean", ("hit",), value, None, 0.5, None, 7, *[0] * 5)
    for metric, value in (("one", 0.25), ("two", None), ("three", 1e-3), ("four", 7.0))
]


def edition(root: Path, rows: list[Measure]) -> Layout:
    layout = Layout(root, EditionConfig(edition="own"))
    root.mkdir(parents=True)
    (root / "edition.json").write_text(layout.config.model_dump_json())
    (root / "report.html").write_text(f'<meta name="generator" content="{MAKER}">a page of {root}')
    for table, row in BETWEEN.items():
        tables.write(layout.between(table), row, rows if table == "across" else [])
    return layout


def found(a: Path, b: Path, tolerance: float = 1e-9) -> list[tuple]:
    """What differs, as (table, kind, column, rows): rows by the cells of their key, of values also both sides'."""
    with opened(a) as one, opened(b) as two:
        return [
            (each.table, each.kind, each.column, each.rows.rows() if each.rows is not None else None)
            for each in differences(one, two, tolerance)
        ]


def swapped(kind: str) -> str:
    return kind[:-1] + {"A": "B", "B": "A"}[kind[-1]] if kind[-1] in "AB" else kind


def test_an_edition_is_its_frozen_archive_and_what_is_unpacked_of_it(tmp_path):
    layout = edition(tmp_path / "results" / "own", VALUES)
    freeze(layout, tmp_path / "own.zip")
    unpack(tmp_path / "own.zip", tmp_path / "unpacked")
    sides = [layout.root, tmp_path / "own.zip", tmp_path / "unpacked"]
    assert [found(a, b) for a in sides for b in sides] == [[]] * 9


def test_a_folder_that_is_a_link_to_another_disk_is_looked_into(tmp_path):
    layout = edition(tmp_path / "results" / "own", VALUES)
    folder = next(path for path in layout.root.iterdir() if any(path.rglob("*.parquet")))
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    other = edition(tmp_path / "other", VALUES)
    assert not found(layout.root, other.root)


def test_rows_meet_by_the_key_of_their_class_whatever_their_order(tmp_path):
    changed = [replace(VALUES[0], value=0.5, n=8), VALUES[1], replace(VALUES[2], where=P2), VALUES[3]]
    a, b = edition(tmp_path / "a", VALUES), edition(tmp_path / "b", changed[::-1])
    freeze(b, tmp_path / "b.zip")
    key = ("s", "d", "m", None, "one", P1)
    expected = [
        ("row only in A", None, [("s", "d", "m", None, "three", P1)]),
        ("row only in B", None, [("s", "d", "m", None, "three", P2)]),
        ("value", "value", [(*key, 0.25, 0.5)]),
        ("value", "n", [(*key, 7, 8)]),
    ]
    for other in (b.root, tmp_path / "b.zip"):
        assert found(a.root, other) == [("measures/across", *one) for one in expected]
    for side in (a, b):  # the record of either says whose key it is
        record = (side.root / "edition.json").rename(tmp_path / "record")
        assert found(a.root, b.root) == [("measures/across", *one) for one in expected]
        record.rename(side.root / "edition.json")


@pytest.mark.parametrize(
    ("name", "row", "kind"),
    [
        ("contexts", {"context_id": "c", "text": "%s"}, "value"),
        ("entities", {"entity_id": "e", "label": "%s"}, "value"),
        ("entities", {"id": "e", "label": "%s"}, "row only in A"),  # without the key of its class
    ],
)
def test_a_table_whose_name_alone_is_known_has_the_key_of_its_class(tmp_path, name, row, kind):
    for side in ("a", "b"):
        (tmp_path / side).mkdir()
        pl.DataFrame({key: [value.replace("%s", side)] for key, value in row.items()}).write_parquet(
            tmp_path / side / f"{name}.parquet"
        )
    assert found(tmp_path / "a", tmp_path / "b")[0][1] == kind


def test_a_table_that_is_not_known_is_compared_by_all_columns_without_floats(tmp_path):
    for side, rows in {
        "a": [("x", [1], 1.0), ("x", [2], 2.0), ("y", [1], 3.0)],
        "b": [("y", [1], 3.5), ("x", [1], 1.0), ("x", [3], 2.0)],
    }.items():
        (tmp_path / side).mkdir()
        pl.DataFrame(rows, ["name", "list", "score"], orient="row").write_ndjson(tmp_path / side / "own.jsonl")
    assert found(tmp_path / "a", tmp_path / "b") == [
        ("own", "row only in A", None, [("x", [2])]),
        ("own", "row only in B", None, [("x", [3])]),
        ("own", "value", "score", [("y", [1], 3.0, 3.5)]),
    ]


def test_tables_columns_and_types_of_one_side_are_named(tmp_path):
    for side, own, extra in (("a", 1, {"old": ["x"], "empty": [None]}), ("b", "1", {"new": [2.0]})):
        (tmp_path / side / "deep").mkdir(parents=True)
        pl.DataFrame({"name": ["n"], "own": [own], **extra}).write_parquet(tmp_path / side / "deep" / "t.parquet")
        pl.DataFrame({"name": ["n"]}).write_parquet(tmp_path / side / f"only_{side}.parquet")
        (tmp_path / side / "notes.txt").write_text(side)
        pl.DataFrame({"name": [side]}).write_parquet(tmp_path / side / ".unfinished.parquet")
    a_to_b = found(tmp_path / "a", tmp_path / "b")
    assert a_to_b == [
        ("deep/t", "column only in A", "old", None),
        ("deep/t", "column only in B", "new", None),
        ("deep/t", "column of another type", "own", [("Int64", "String")]),
        ("deep/t", "row only in A", None, [("n", '{"own":1}')]),
        ("deep/t", "row only in B", None, [("n", '{"own":"1"}')]),
        ("only_a", "table only in A", None, None),
        ("only_b", "table only in B", None, None),
    ]
    turned = {(table, swapped(kind), column) for table, kind, column, _ in found(tmp_path / "b", tmp_path / "a")}
    assert turned == {(table, kind, column) for table, kind, column, _ in a_to_b}


def test_a_table_that_a_side_has_in_both_forms_meets_its_like(tmp_path):
    for side in ("a", "b"):
        (tmp_path / side).mkdir()
        pl.DataFrame({"name": ["n"]}).write_parquet(tmp_path / side / "t.parquet")
    pl.DataFrame({"name": ["m"]}).write_ndjson(tmp_path / "a" / "t.jsonl")
    assert found(tmp_path / "a", tmp_path / "b") == [("t.jsonl", "table only in A", None, None)]


@pytest.mark.parametrize(
    ("a", "b", "tolerance", "equal"),
    [
        (1.0, 1.0 + 1e-10, 1e-9, True),
        (1.0, 1.0 + 1e-8, 1e-9, False),
        (1e12, 1e12 + 1, 1e-9, True),
        (1e-12, 2e-12, 1e-9, True),
        (1.0, 1.0 + 1e-15, 0.0, False),
        (1.0, None, 1.0, False),
        (None, None, 0.0, True),
        (math.nan, math.nan, 0.0, True),
        (math.nan, 1.0, 1.0, False),
        (math.inf, math.inf, 0.0, True),
        (math.inf, 1.0, 1.0, False),
        (math.inf, -math.inf, 1.0, False),
        (0.0, -0.0, 0.0, True),
    ],
)
@pytest.mark.parametrize("listed", [False, True])
def test_floats_are_held_against_each_other_as_math_isclose_does(tmp_path, a, b, tolerance, equal, listed):
    if None not in (a, b):
        assert math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance) == equal or math.isnan(a)
    for side, value in (("a", a), ("b", b)):
        (tmp_path / side).mkdir()
        values = [[0.5, value], [1.0], [], None] if listed else [value, 1.0, 2.0, None]
        kind = pl.List(pl.Float64) if listed else pl.Float64
        frame = pl.DataFrame({"name": list("wxyz"), "v": pl.Series(values, dtype=kind)})
        frame.write_parquet(tmp_path / side / "t.parquet")
    assert [one[1:3] for one in found(tmp_path / "a", tmp_path / "b", tolerance)] == [("value", "v")] * (not equal)


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        (pl.Series([1], dtype=pl.Int32), pl.Series([1.0]), True),
        (pl.Series([1]), pl.Series([1.5]), False),
        (pl.Series([2**53]), pl.Series([2**53 + 1], dtype=pl.UInt64), False),
    ],
)
def test_numbers_of_two_types_are_compared_by_value(tmp_path, a, b, equal):
    for side, value in (("a", a), ("b", b)):
        (tmp_path / side).mkdir()
        pl.DataFrame({"name": ["x"], "v": value}).write_parquet(tmp_path / side / "t.parquet")
    assert (found(tmp_path / "a", tmp_path / "b") == []) is equal


def test_a_column_of_json_lines_may_have_its_first_value_late(tmp_path):
    for side, value in (("a", 0.5), ("b", 0.25)):
        (tmp_path / side).mkdir()
        rows = [json.dumps({"name": at} | ({"v": value} if at == 999 else {})) for at in range(1000)]
        (tmp_path / side / "t.jsonl").write_text("\n".join(rows))
    assert found(tmp_path / "a", tmp_path / "b") == [("t", "value", "v", [(999, 0.5, 0.25)])]


def test_lists_of_other_lengths_differ(tmp_path, capsys):
    for side, values in (("a", [[0.5], [], None, [1.0, 2.0]]), ("b", [[0.5, 0.5], None, [], [1.0, 2.0 + 1e-12]])):
        (tmp_path / side).mkdir()
        frame = pl.DataFrame({"name": list("wxyz"), "v": pl.Series(values, dtype=pl.List(pl.Float64))})
        frame.write_parquet(tmp_path / side / "t.parquet")
    [(_, _, _, rows)] = found(tmp_path / "a", tmp_path / "b")
    assert [row[0] for row in rows] == ["w", "x", "y"]
    assert main(["differences", str(tmp_path / "a"), str(tmp_path / "b")]) == 1
    assert '  v: [0.5] | [0.5,0.5] {"name":"w"}' in capsys.readouterr().out.splitlines()


def test_rows_of_one_key_are_paired_by_their_floats(tmp_path):
    for side, scores in (("a", [3.0, 1.0, 2.0, 2.0]), ("b", [2.0, 1.0 + 1e-12, 9.0, 2.0])):
        (tmp_path / side).mkdir()
        twice = 2 if side == "a" else 1  # of y one side has a row twice
        frame = pl.DataFrame({"name": ["x"] * 4 + ["y"] * twice, "score": scores + [5.0] * twice})
        frame.write_parquet(tmp_path / side / "t.parquet")
    assert found(tmp_path / "a", tmp_path / "b") == [
        ("t", "row only in A", None, [("y",)]),
        ("t", "value", "score", [("x", 3.0, 9.0)]),
    ]


def test_rows_of_one_key_whose_floats_have_equal_sums_are_paired_although_last_digits_differ(tmp_path):
    for side, one, other in (("a", [0.0, 2.0], [3.0, 1.0]), ("b", [1e-13, 2.0 - 1e-13], [3.0, 1.0])):
        (tmp_path / side).mkdir()
        pl.DataFrame({"name": ["x", "x"], "one": one, "other": other}).write_parquet(tmp_path / side / "t.parquet")
    assert found(tmp_path / "a", tmp_path / "b") == []


def test_an_empty_table_of_json_lines_has_the_columns_of_the_other(tmp_path):
    for side, rows in (("a", []), ("b", VALUES[:2])):
        (tmp_path / side).mkdir()
        tables.write_jsonl(tmp_path / side / "t.jsonl", rows)
    [(_, kind, _, rows)] = found(tmp_path / "a", tmp_path / "b")
    assert (kind, len(rows)) == ("row only in B", 2)
    assert found(tmp_path / "a", tmp_path / "a") == []


RESPONSES = st.lists(
    st.builds(
        Response,
        request_id=st.sampled_from([f"r{at}" for at in range(9)]),
        status=st.sampled_from(["ok", "failed"]),
        reason=st.none() | st.just("none"),
        logprobs=st.none() | st.lists(st.floats(-9, 0), max_size=3).map(tuple),
        texts=st.none() | st.lists(st.text(max_size=2), max_size=2).map(tuple),
        bounds=st.just((True,)),
    ),
    max_size=9,
    unique_by=lambda row: row.request_id,
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(RESPONSES, RESPONSES, st.booleans(), st.sampled_from([1, 2, 50_000]))
def test_it_is_what_a_comparison_of_rows_one_by_one_finds(tmp_path_factory, first, second, frozen, block):
    root = tmp_path_factory.mktemp("sides")
    for side, rows in (("a", first), ("b", second)):
        (root / side).mkdir()
        if frozen and side == "b":
            tables.write_jsonl(root / side / "responses.jsonl", rows)
        else:
            tables.write(root / side / "responses.parquet", Response, rows)
    own, other = ({row.request_id: tables.as_dict(row) for row in rows} for rows in (first, second))
    expected = {("row only in A", None, name) for name in own.keys() - other.keys()}
    expected |= {("row only in B", None, name) for name in other.keys() - own.keys()}
    # JSON Lines have no column of which there is no value; one that the other side has values of is named once.
    has = {column for row in second for column in tables.as_dict(row)}
    lacking = {column for row in first for column in tables.as_dict(row) if column not in has and frozen and second}
    expected |= {
        ("value", column, name)
        for name in own.keys() & other.keys()
        for column in (own[name].keys() | other[name].keys()) - lacking
        if own[name].get(column) != other[name].get(column)
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", block)
        # The place tells nothing here and the name neither: Response's key comes from a layout that says so.
        patch.setattr(module, "NAMED", ({"responses": Response},))
        differing = found(root / "a", root / "b", 0.0)
    assert {column for _, kind, column, _ in differing if kind == "column only in A"} == lacking
    assert {(kind, column, row[0]) for _, kind, column, rows in differing for row in rows or ()} == expected
    values = [row for _, kind, _, rows in differing if kind == "value" for row in rows]
    assert all(row[-2] != row[-1] for row in values)


def test_tables_that_archives_do_not_carry_are_counted_apart(tmp_path, capsys):
    layout = edition(tmp_path / "results" / "own", VALUES)
    freeze(layout, tmp_path / "own.zip")
    tables.write(layout.root / "outcomes" / "m" / "said.parquet", Measure, VALUES)
    assert main(["differences", str(layout.root), str(tmp_path / "own.zip")]) == 0
    said = capsys.readouterr().out
    assert f"A: {layout.root}, {len(BETWEEN) + 1} tables" in said
    assert f"{len(BETWEEN)} tables on both sides, 0 of them differ; 0 only in A, 0 only in B; 1 not compared: " in said
    other = edition(tmp_path / "other", VALUES)
    for sides, only in (((layout, other), "1 only in A, 0 only in B"), ((other, layout), "0 only in A, 1 only in B")):
        assert main(["differences", *(str(one.root) for one in sides)]) == 1, "of two folders both have all"
        assert f"0 of them differ; {only}\n" in capsys.readouterr().out


@pytest.mark.parametrize("block", [1, 50_000])
def test_the_command_prints_the_first_of_each_kind_and_lists_all(tmp_path, capsys, monkeypatch, block):
    monkeypatch.setattr(module, "BLOCK", block)
    many = [replace(VALUES[0], model=f"m{at}") for at in range(10)]
    a = edition(tmp_path / "a", many)
    b = edition(tmp_path / "b", [replace(row, value=None) for row in many[2:]])
    words = ["differences", str(a.root), str(b.root), "--output", str(tmp_path / "list.csv")]
    assert main(words) == 1
    said = capsys.readouterr().out.splitlines()
    assert "measures/across: 2 rows only in A; value differs in 8 rows" in said
    assert sum(line.startswith("  row only in A {") for line in said) == 2
    assert sum(line.startswith("  value: 0.25 | nothing {") for line in said) == 3
    assert said[-1] == "5 tables on both sides, 1 of them differ; 0 only in A, 0 only in B"
    with (tmp_path / "list.csv").open(newline="") as handle:
        listed = list(csv.DictReader(handle))
    assert [row["kind"] for row in listed] == ["row only in A"] * 2 + ["value"] * 8
    assert listed[2]["a"] == "0.25" and listed[2]["b"] == ""
    assert json.loads(listed[2]["row"])["model"] == "m2"
    assert main([*words, "--all"]) == 1
    assert sum(line.startswith("  value: ") for line in capsys.readouterr().out.splitlines()) == 8


def test_the_status_says_whether_anything_differs(tmp_path, capsys):
    a, b = edition(tmp_path / "a", VALUES), edition(tmp_path / "b", [replace(VALUES[0], value=0.26), *VALUES[1:]])
    assert main(["differences", str(a.root), str(a.root)]) == 0
    assert main(["differences", str(a.root), str(b.root)]) == 1
    assert main(["differences", str(a.root), str(b.root), "--tolerance", "0.1"]) == 0
    capsys.readouterr()
    (tmp_path / "empty").mkdir()
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "measures").mkdir()
    (tmp_path / "damaged" / "measures" / "across.parquet").write_bytes(b"PAR1")
    flipped = shutil.copytree(a.root, tmp_path / "flipped") / "measures" / "across.parquet"
    content = bytearray(flipped.read_bytes())
    content[10] ^= 1
    flipped.write_bytes(content)
    with zipfile.ZipFile(tmp_path / "pages.zip", "w") as archive:
        archive.writestr("report.html", "")
    for wrong, message in {
        "nowhere": "nowhere: is no folder and no zip archive",
        "a/edition.json": "edition.json: is no folder and no zip archive",
        "empty": "empty: holds no table (.parquet or .jsonl)",
        "pages.zip": "pages.zip: holds no table",
        "damaged": "measures/across: cannot be read on one side",
        "flipped": "across.parquet: is damaged: its bytes do not give its checksum",
    }.items():
        assert main(["differences", str(a.root), str(tmp_path / wrong)]) == 2
        said = capsys.readouterr().err
        assert message in said and "Traceback" not in said
    listed = tmp_path / "list.csv"
    assert main(["differences", str(a.root), str(tmp_path / "damaged"), "--output", str(listed)]) == 2
    assert not listed.exists(), "it is whole, or not there"
    with pytest.raises(SystemExit) as stop:
        main(["differences", str(a.root), str(b.root), "--tolerance", "-1"])
    assert stop.value.code == 2


def test_a_damaged_member_of_an_archive_is_named(tmp_path, capsys):
    layout = edition(tmp_path / "a", VALUES * 1)
    freeze(layout, tmp_path / "a.zip")
    content = bytearray((tmp_path / "a.zip").read_bytes())
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        at = archive.getinfo("measures/across.jsonl").header_offset + 100  # behind the header
    content[at] ^= 0x55
    (tmp_path / "b.zip").write_bytes(content)
    assert main(["differences", str(tmp_path / "a.zip"), str(tmp_path / "b.zip")]) == 2
    assert "b.zip: measures/across.jsonl: cannot be read" in capsys.readouterr().err


def test_a_full_disk_is_no_damage_of_an_archive(tmp_path, capsys, monkeypatch):
    freeze(edition(tmp_path / "a", VALUES), tmp_path / "a.zip")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shutil, "copyfileobj", full)
    assert main(["differences", str(tmp_path / "a.zip"), str(tmp_path / "a.zip")]) == 2
    said = capsys.readouterr().err
    assert "the disk is full; free some space and run the same command again" in said and "get the archive" not in said


def test_values_come_with_the_columns_of_their_key(tmp_path):
    a, b = edition(tmp_path / "a", VALUES), edition(tmp_path / "b", [replace(VALUES[0], p=0.01), *VALUES[1:]])
    with opened(a.root) as one, opened(b.root) as two:
        [each] = differences(one, two, 1e-9)
    assert each.rows.columns == [*Measure.KEY, IN_A, IN_B]
