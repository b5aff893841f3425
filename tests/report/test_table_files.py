"""The page's tables as files: every digit in CSV, and text that Markdown and LaTeX take for text."""

import csv
from dataclasses import replace

import polars as pl
from matplotlib.figure import Figure

from almanac.columns import columns
from almanac.report.written import SHORT, as_frame, exact, latex, markdown, reference, summary, write_table
from almanac.rows import Measure
from almanac.suites.chapter import Chapter, Drawing, PageLink, Table

NUMBER = Measure("s", "d", "m", None, "accuracy", "{}", "mean", ("hit",), 1 / 3, 0.1, 0.6, None, 9, 3, 6, 0, 0, 0)
TABLE = Table(
    "t",
    "a caption",
    ("model", "known", "facts"),
    [("a|b_1 & 5 %", NUMBER, 1200), ("none", None, 0), (PageLink("x — y", "#fact=z"), 0.25, None)],
)


def test_csv_has_all_digits_and_a_column_for_each_end_of_an_interval(tmp_path):
    write_table(TABLE, tmp_path, "shown")
    rows = list(csv.reader((tmp_path / "shown.csv").open(encoding="utf-8")))
    assert rows[0] == ["model", "known", "known, low", "known, high", "facts"]
    assert float(rows[1][1]) == 1 / 3
    assert rows[1:] == [
        ["a|b_1 & 5 %", repr(1 / 3), "0.1", "0.6", "1200"],
        ["none", "", "", "", "0"],
        ["x — y", "0.25", "", "", ""],
    ]
    count = replace(NUMBER, formula="count", value=3.0, low=None, high=None)
    assert repr([*exact(Table("t", "", ("facts",), [(count,)]))]) == "[['facts'], [3]]"
    assert {path.suffix for path in tmp_path.iterdir()} == {".csv", ".md", ".parquet", ".tex"}


def test_parquet_has_the_columns_of_csv_and_numbers_as_numbers(tmp_path):
    write_table(TABLE, tmp_path, "shown")
    found = pl.read_parquet(tmp_path / "shown.parquet")
    assert found.rows() == [
        ("a|b_1 & 5 %", 1 / 3, 0.1, 0.6, 1200),
        ("none", None, None, None, 0),
        ("x — y", 0.25, None, None, None),
    ]
    twice = as_frame(Table("t", "", ("model", "of", "of", "of"), [("m", 1, "x", None), ("m", None, 2, None)]))
    assert twice.columns == ["model", "of", "of (2)", "of (3)"] and twice["of (2)"].to_list() == ["x", "2"]
    assert as_frame(Table("t", "", ("model",), [])).height == 0


def test_the_reference_names_every_column_of_every_table_and_what_its_numbers_are_made_of():
    found = reference({"shown": TABLE}, {"measures": Measure})
    assert "| known | number | `accuracy`: mean of hit |" in found
    assert "| known, low; known, high | number | its 95 % interval |" in found
    assert "| facts | whole number |  |" in found
    assert "| object_dose | how often the model was taught" in found, "what numbers are made of is a column of items"
    assert all(f"| {name} |" in found for name in columns(Measure)) and "the items that it counts" in found


def test_markdown_keeps_its_columns_whatever_the_labels_hold():
    lines = markdown(TABLE).splitlines()
    assert lines[2] == r"| a\|b_1 & 5 % | .333 [.100, .600] | 1,200 |"
    assert lines[4] == "| x — y | .250 | – |"


def test_latex_has_the_rules_of_booktabs_and_escapes_what_it_would_read():
    lines = latex(TABLE).splitlines()
    assert lines[0] == r"\begin{tabular}{lrr}", "numbers and their heads are aligned to the right"
    assert lines[4] == r"a\textbar{}b\_1 \& 5 \% & .333 [.100, .600] & 1,200 \\"
    odd = latex(Table("t", "", ("model",), [("#~^{}$→",)])).splitlines()[4]
    assert odd == r"\#\textasciitilde{}\textasciicircum{}\{\}\$$\to$ \\"
    starts = latex(Table("t", "", ("[s]", "r"), [("[a] b", "[c]"), ("*d", "e")])).splitlines()
    assert [starts[at] for at in (2, 4, 5)] == [r"{}[s] & r \\", r"{}[a] b & [c] \\", r"{}*d & e \\"]
    assert [line for line in lines if "rule" in line] == [r"\toprule", r"\midrule", r"\bottomrule"]


def test_latex_of_more_lines_than_a_page_has_repeats_its_head_on_each():
    most = latex(Table("t", "", ("model", "facts"), [("m", 1)] * SHORT))
    assert most.startswith(r"\begin{tabular}{lr}") and "endhead" not in most
    begin, _, head, _, *lines = latex(Table("t", "", ("model", "facts"), [("m", 1)] * (SHORT + 1))).splitlines()
    assert (begin, head) == (r"\begin{longtable}{lr}", r"model & facts \\")
    assert lines == [r"\endhead", r"\bottomrule", r"\endfoot", *[r"m & 1 \\"] * (SHORT + 1), r"\end{longtable}"]


def test_the_summary_has_what_was_found_with_its_notes_and_no_long_or_folded_table():
    long = Table("long", "too long", ("model",), [("m",)] * (SHORT + 1))
    folded = Table("more", "folded", ("model",), [("m",)], folded=True)
    drawings = [Drawing(name, f"Of {name}.", Figure) for name in ("curve", "other")]
    found = summary({"answer": Chapter("What was found", "Nothing.", [*drawings, TABLE, long, folded, "a note"])})
    first = "## What was found\n\nNothing.\n\n![What was found](../figures/answer-curve.svg)\n\nOf curve.\n\n"
    assert found.startswith(f"{first}a caption\n\n| model | known | facts |\n| --- |"), "of figures the first alone"
    assert found.endswith("| x — y | .250 | – |\n\na note\n") and found.count("| model") == 1
