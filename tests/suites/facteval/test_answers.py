"""The scorer by itself, on tables of questions and answers from elsewhere."""

import csv
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from almanac import tables
from almanac.cli import main
from almanac.rows import FactEvalVerdict, Measure, Outcome

ROWS = [
    {"item_id": "t", "type": "tfq", "truth": True, "answer": "not correct"},
    {"item_id": "m", "type": "mcq", "choices": ["New York", "York"], "gold": ["New York"], "answer": "New York"},
    {"item_id": "s", "type": "saq", "gold": ["1982"], "answer": "19"},
    {"item_id": "d", "type": "saq", "gold": ["1982-05-22"], "answer": "22 May 1982"},
    {"item_id": "e", "type": "saq", "gold": ["Paris"], "answer": ""},
    {"item_id": "l", "type": "saq", "gold": ["A b", "C d"], "gold_object": ["1", "2"], "answer": "A b, x"},
    {"item_id": "h", "type": "saq", "gold": ["Paris"], "answer": "<b>Paris</b>\x07" + "x" * 10_000},
    {"item_id": "x", "type": "saq", "gold": ["Paris"], "answer": None, "status": "too_long"},
]
VERDICTS = {  # paper, official: by hand
    "t": ("incorrect", "correct"),
    "m": ("correct", "incorrect"),
    "s": ("incorrect", "correct"),
    "d": ("correct", "incorrect"),
    "e": ("incorrect", "incorrect"),
    "l": ("correct", "correct"),
    "h": ("correct", "correct"),
    "x": ("error", "error"),
}


def write(folder, rows, ending):
    path = folder / f"answers{ending}"
    if ending == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    elif ending == ".parquet":
        names = dict.fromkeys(name for row in rows for name in row)
        pq.write_table(pa.table({name: [row.get(name) for row in rows] for name in names}), path)
    else:
        names = dict.fromkeys(name for row in rows for name in row)
        with path.open("w", newline="", encoding="utf-8") as handle:
            lines = csv.DictWriter(handle, list(names))
            lines.writeheader()
            for row in rows:
                lines.writerow({name: "|".join(cell) if isinstance(cell, list) else cell for name, cell in row.items()})
    return path


def score(folder, rows=ROWS, ending=".jsonl", *flags):
    path = write(folder, rows, ending)
    return main(["measure", "facteval", "--answers", str(path), "--output", str(folder / "out"), *flags])


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet"])
def test_both_modes_of_every_kind_of_file(tmp_path, ending, capsys):
    assert score(tmp_path, ending=ending) == 0
    found = tables.read(tmp_path / "out" / "verdicts.parquet", FactEvalVerdict)
    by_item = {row.item_id: {} for row in found}
    for row in found:
        by_item[row.item_id][row.mode] = row.outcome
    assert {name: (modes["paper"], modes["official"]) for name, modes in by_item.items()} == VERDICTS
    listed = next(row for row in found if (row.item_id, row.mode) == ("l", "paper"))
    assert (listed.precision, listed.recall) == (0.5, 0.5)
    assert len(tables.read(tmp_path / "out" / "outcomes.parquet", Outcome)) == len(ROWS)
    assert "saq-wh" in capsys.readouterr().out


def test_one_mode_alone(tmp_path):
    assert score(tmp_path, ROWS, ".jsonl", "--modes", "official") == 0
    measures = tables.read(tmp_path / "out" / "measures.parquet", Measure)
    assert {row.setting.rpartition("mode=")[2].split(",")[0] for row in measures} == {"official"}
    outcomes = {row.item_id: row.outcome for row in tables.read(tmp_path / "out" / "outcomes.parquet", Outcome)}
    assert outcomes == {name: official for name, (_, official) in VERDICTS.items()}


def test_models_are_measured_apart(tmp_path):
    rows = [row | {"model": model} for model in ("one", "two") for row in ROWS[:2]]
    rows[-1] |= {"answer": "York"}
    assert score(tmp_path, rows) == 0
    measures = tables.read(tmp_path / "out" / "measures.parquet", Measure)
    found = {row.model: row.value for row in measures if (row.experiment, row.metric) == ("mcq-wh", "recall")
             and row.setting.endswith("paper")}  # fmt: skip
    assert found == {"one": 1.0, "two": 0.0}


def test_a_list_of_abstentions_can_be_given_for_each_mode(tmp_path):
    for name in ("own", "published"):
        (tmp_path / f"{name}.txt").write_text(f"{name} phrase\n", "utf-8")
    rows = [
        {"item_id": name, "type": "saq", "gold": ["Paris"], "answer": f"my {name} phrase"}
        for name in ("own", "published")
    ]
    flags = ["--abstentions", str(tmp_path / "own.txt"), "--official-abstentions", str(tmp_path / "published.txt")]
    assert score(tmp_path, rows, ".jsonl", *flags) == 0
    found = tables.read(tmp_path / "out" / "verdicts.parquet", FactEvalVerdict)
    assert {(row.item_id, row.mode) for row in found if row.outcome == "missing"} == {
        ("own", "paper"),
        ("published", "official"),
    }


GOOD = {"type": "saq", "gold": ["Paris"], "answer": "Paris"}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"type": "essay"}, "column 'type': 'essay' is no type; allowed are tfq, mcq, saq"),
        ({"type": "tfq"}, "column 'truth': is empty"),
        ({"type": "tfq", "truth": "maybe"}, "column 'truth': 'maybe' is neither true nor false"),
        ({"gold": []}, "column 'gold': is empty"),
        ({"gold": ["Paris", ""]}, "column 'gold': ['Paris', ''] has an empty text"),
        ({"gold": [["Paris", "City of Light"]]}, "column 'gold': ['Paris', 'City of Light'] is no text"),
        ({"gold": {"Paris": 1}}, "column 'gold': {'Paris': 1} is no list of texts"),
        ({"gold": ["Paris", "\ud800"]}, "column 'gold': holds half a character"),
        ({"gold_object": ["1", "2"]}, "column 'gold_object': has 2 texts and gold 1"),
        ({"type": "mcq"}, "column 'choices': has fewer than two"),
        ({"type": "mcq", "choices": ["Rome", "Oslo"]}, "column 'choices': ('Rome', 'Oslo') holds none of gold"),
        ({"answer": None}, "column 'answer': there is none"),
        ({"answer": ["Paris"]}, "column 'answer': ['Paris'] is no text"),
        ({"answer": "\ud800"}, "column 'answer': holds half a character"),
        ({"status": "lost"}, "column 'status': 'lost' is no status"),
    ],
)
def test_a_bad_row_is_named_with_its_column(tmp_path, row, message, capsys):
    assert score(tmp_path, [GOOD, GOOD | row]) == 1
    said = capsys.readouterr().err
    assert f"answers.jsonl: row 2, {message}" in said
    assert "Traceback" not in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("type,answer,answer,gold\nsaq,Paris,Lyon,Paris\n", "has the column answer twice; keep one of them"),
        ("type,answer,gold\n", "holds no row"),
    ],
)
def test_a_table_that_says_a_thing_twice_or_nothing_is_refused(tmp_path, text, message, capsys):
    path = tmp_path / "answers.csv"
    path.write_text(text, "utf-8")
    assert main(["measure", "facteval", "--answers", str(path), "--output", str(tmp_path / "out")]) == 1
    assert f"answers.csv: {message}" in capsys.readouterr().err


def test_all_bad_rows_are_named_at_once(tmp_path, capsys):
    assert score(tmp_path, [GOOD | {"type": "essay"}] * 30) == 1
    said = capsys.readouterr().err
    assert "row 1, " in said and "row 20, " in said and "row 21, " not in said
    assert "and 10 more mistakes" in said


def test_a_question_of_a_model_has_one_row(tmp_path, capsys):
    assert score(tmp_path, [GOOD | {"item_id": "q"}] * 2) == 1
    assert "row 2, column 'item_id': 'q' of model 'model' stands in row 1 too" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"type": "saq", "gold": ["x"]}], "lacks the column answer; needed are type, answer"),
        ([GOOD | {"domian": "places"}], "has the unknown column domian"),
    ],
)
def test_a_bad_header_is_refused(tmp_path, rows, message, capsys):
    assert score(tmp_path, rows) == 1
    assert f"answers.jsonl: {message}" in capsys.readouterr().err


def test_a_row_of_another_width_is_refused(tmp_path, capsys):
    path = tmp_path / "answers.csv"
    path.write_text("type,gold,answer\nsaq,Paris,Paris,France\n", "utf-8")
    assert main(["measure", "facteval", "--answers", str(path), "--output", str(tmp_path / "out")]) == 1
    assert "row 1, has more or fewer cells than the header" in capsys.readouterr().err


def test_a_table_needs_a_place_for_its_numbers(tmp_path, capsys):
    path = write(tmp_path, ROWS, ".jsonl")
    assert main(["measure", "facteval", "--answers", str(path)]) == 1
    assert "--answers needs --output" in capsys.readouterr().err


def test_contexts_of_a_fact_are_compared(tmp_path):
    base = GOOD | {"fact_id": "f", "text": "Where?"}
    rows = [base | {"context": "none"}, base | {"context": "relevant", "answer": "Rome"}]
    assert score(tmp_path, rows) == 0
    measures = tables.read(tmp_path / "out" / "measures.parquet", Measure)
    assert [row.value for row in measures if row.metric == "kept" and row.setting.endswith("paper")] == [0.0]


def test_questions_that_cannot_be_told_apart_are_refused_where_contexts_are_compared(tmp_path, capsys):
    base = GOOD | {"fact_id": "f", "template_id": "t"}
    rows = [base, base | {"answer": "Rome"}, base | {"context": "relevant"}]
    assert score(tmp_path, rows) == 1
    said = capsys.readouterr().err
    assert "row 2, column 'text': asks the same as row 1" in said and "row 3" not in said
    assert score(tmp_path, [*rows[:2], *(row | {"model": "other"} for row in rows[1:])]) == 0
    assert score(tmp_path, [row | {"text": f"Where, {at}?"} for at, row in enumerate(rows)]) == 0


def test_a_true_and_a_false_statement_without_their_texts_are_two_questions(tmp_path):
    base = {"type": "tfq", "answer": "correct", "fact_id": "f", "template_id": "t"}
    rows = [base | {"truth": truth, "context": context} for context in ("none", "relevant") for truth in (True, False)]
    assert score(tmp_path, rows) == 0
    measures = tables.read(tmp_path / "out" / "measures.parquet", Measure)
    own = {row.metric: row for row in measures if row.setting.endswith("context=relevant,mode=paper")}
    assert (own["f1_with"].n, own["kept"].value, own["kept"].n) == (2, 1.0, 1)
    assert (own["gained"].value, own["gained"].n) == (0.0, 1)
