"""The blind readings of templates: what a sheet says, and the drawing of another."""

import json
from collections import Counter

import pytest

from almanac import tables
from almanac.suites.belief.blind import SYMMETRIC, broken, draw, exchanged
from almanac.suites.belief.quality import ITEMS, SHEET, TemplateReading, main
from almanac.suites.belief.templates import SETS, shipped

KNOWN = {name: shipped(name) for name in SETS}
TEXTS = {(name, one.template_id): one.text for name, own in KNOWN.items() for listed in own.values() for one in listed}


def rows_of(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def written(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return str(path)


def marks(path, change=lambda row: {}):
    """What ships, with some marks changed."""
    return written(path, [row | change(row) for row in rows_of(SHEET)])


def test_the_reading_that_ships_told_spoiled_templates_apart_and_found_the_others_good(capsys):
    """Its numbers are those of resources/templates/README.md, and the templates of a relation share few words."""
    assert main([]) == 0
    said = capsys.readouterr().out
    assert "| all | 200 | 0.995 | 0.955 | 0.985 | 1.000 | 3.94 | 0.27 |" in said
    assert "| templates | 0 | 0 | 1 | 11 | 188 |" in said
    assert "0 of 200 templates that were not spoiled were called spoiled" in said
    assert "holds : 37 of 40 spoiled templates were called spoiled" in said
    assert said.count("holds : ") == 3
    assert "| lama | 0.8950 | " in said, "as the command of diversity says"
    tables_said = [table.splitlines() for table in said.split("\n\n") if table.startswith("|")]
    assert all(len({line.count("|") for line in table}) == 1 for table in tables_said), "cells of a table's lines"
    assert "lama P30/g3/4: The part of the world in which [X] is situated is [Y]. → The continent in which " in said


def test_a_sheet_of_todays_texts_has_none_that_was_altered(capsys, tmp_path):
    as_now = marks(tmp_path / "now.jsonl", lambda row: {"text": TEXTS[row["set"], row["template_id"]]})
    assert main([as_now]) == 0
    assert "changed since" not in capsys.readouterr().out


def test_a_reader_who_sees_nothing_or_templates_that_are_poor_miss_the_bars(capsys, tmp_path):
    assert main([marks(tmp_path / "blind.jsonl", lambda row: {"called_spoiled": False})]) == 1
    said = capsys.readouterr().out
    assert "missed: 0 of 40 spoiled templates were called spoiled" in said and said.count("holds : ") == 2
    assert main([marks(tmp_path / "poor.jsonl", lambda row: {"fluency": 0})]) == 1
    assert "missed: the others average at least 3.6 of 4" in capsys.readouterr().out


def test_means_and_deviation_are_those_of_a_hand_made_sheet(capsys, tmp_path):
    """Sums 4 and 1: a mean of 2.5, and a deviation of 3/√2."""
    keys = [("lama", "P19/g1/0"), ("lama", "P19/g1/1")]
    rows = [
        tables.as_dict(TemplateReading(*key, TEXTS[key], None, *given, False, None))
        for key, given in zip(keys, ((1, 1, 1, 1), (0, 0, 0, 1)), strict=True)
    ]
    assert main([written(tmp_path / "two.jsonl", rows)]) == 1
    assert "| lama | 2 | 0.500 | 0.500 | 0.500 | 1.000 | 2.50 | 2.12 |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"template_id": "P19/g9/0"},
            "template 'P19/g9/0' of 'lama' is no shipped template; sets are lama, shipped, invented",
        ),
        ({"fluency": 2}, "fluency is 2; write 0 or 1"),
        ({"overlap": 0, "template_in_relation": 1}, "overlap is 0, though one implies the other"),
    ],
)
def test_what_is_wrong_in_a_sheet_is_named(capsys, tmp_path, change, said):
    rows = rows_of(SHEET)
    path = written(tmp_path / "sheet.jsonl", [rows[0] | change, *rows[1:]])
    assert main([path]) == 1
    assert (line := capsys.readouterr().out).startswith(f"almanac: {path}: template ") and said in line


def test_a_template_that_is_read_twice_a_sheet_without_rows_and_none_are_refused(capsys, tmp_path):
    assert main([written(tmp_path / "twice.jsonl", [*rows_of(SHEET), rows_of(SHEET)[0]])]) == 1
    assert main([written(tmp_path / "empty.jsonl", [])]) == 1
    assert main([str(tmp_path / "none.jsonl")]) == 1
    (tmp_path / "text.jsonl").write_text("P19 is fluent\n", "utf-8")
    assert main([str(tmp_path / "text.jsonl")]) == 1
    said = capsys.readouterr().out
    assert "is there more than once; keep one" in said and "has no row" in said and "cannot be read" in said
    assert "text.jsonl: line 1 is no row of TemplateReading" in said


def test_of_many_mistakes_twenty_are_shown_and_the_others_counted(capsys, tmp_path):
    assert main([marks(tmp_path / "poor.jsonl", lambda row: {"fluency": 2})]) == 1
    said = capsys.readouterr().out
    assert said.count("fluency is 2") == 20 and f"… and {len(rows_of(SHEET)) - 20} more" in said


def test_a_sheet_is_two_hundred_templates_as_they_ship_and_forty_others_spoiled_and_does_not_say_which(tmp_path):
    path, again = tmp_path / "sheet.jsonl", tmp_path / "again.jsonl"
    assert main(["--draw", "7", str(path)]) == main(["--draw", "7", str(again)]) == 0
    assert path.read_bytes() == again.read_bytes()
    sheet, key = rows_of(path), rows_of(tmp_path / "sheet.key.jsonl")
    assert [row["number"] for row in sheet] == [row["number"] for row in key] == list(range(1, 241))
    assert not {"set", "template_id", "spoiled"} & sheet[0].keys()
    assert all(row["relation"] for row in sheet)
    assert [row["text"] for row in sheet] == [row["text"] for row in key]
    assert len({(row["set"], row["template_id"]) for row in key}) == 240
    for row in key:
        assert (row["text"] == TEXTS[row["set"], row["template_id"]]) == (row["spoiled"] is None), row
        assert row["text"].count("[X]") == row["text"].count("[Y]") == 1
    count = Counter(row["spoiled"] for row in key)
    assert count[None] == 200 and min(count[kind] for kind in ("swap", "relation", "broken")) >= 10


def test_slots_are_not_exchanged_where_that_says_the_same():
    for seed in range(20):
        for mark, drawn in draw(KNOWN, seed):
            assert drawn.spoiled != "swap" or mark.relation_id not in SYMMETRIC


def test_a_broken_template_lacks_one_word_and_has_another_elsewhere():
    for text in list(TEXTS.values())[::50]:
        words, found = Counter(text.split()), broken(text, 3).split()
        assert (words - Counter(found)).total() == 1 and not Counter(found) - words
        left = iter(text.split())
        assert not all(word in left for word in found), "more than a word left out"
    assert exchanged("[X]'s place is [Y].") == "[Y]'s place is [X]."


def test_a_filled_in_sheet_is_read_with_its_key(capsys, tmp_path):
    path = tmp_path / "sheet.jsonl"
    assert main(["--draw", "1", str(path)]) == 0
    assert main([str(path)]) == 1
    assert f"{path}: number 1: write what the reader says of fluency, " in capsys.readouterr().out
    spoiled = {row["number"] for row in rows_of(tmp_path / "sheet.key.jsonl") if row["spoiled"]}
    rows = [row | dict.fromkeys(ITEMS, 1) | {"called_spoiled": row["number"] in spoiled} for row in rows_of(path)]
    assert main([written(path, rows)]) == 0
    said = capsys.readouterr().out
    assert (
        "| all | 200 | 1.000 | 1.000 | 1.000 | 1.000 | 4.00 | 0.00 |" in said
        and "40 of 40 spoiled templates were called spoiled" in said
    )
    assert main(["--draw", "2", str(path)]) == 1
    assert "exists already; name another file" in capsys.readouterr().out
    assert main([written(path, [rows[0] | {"text": "[X]: [Y]"}, *rows[1:]])]) == 1
    assert main([written(path, [*rows, rows[0] | {"fluency": 0}])]) == 1
    assert capsys.readouterr().out.count("number 1 must be there once and read") == 2
    assert main([written(path, [*rows, rows[0] | {"number": 241}])]) == 1
    assert "number 241 is not in sheet.key.jsonl" in capsys.readouterr().out
    (tmp_path / "sheet.key.jsonl").unlink()
    assert main([str(path)]) == 1
    assert "sheet.key.jsonl: cannot be read" in capsys.readouterr().out
