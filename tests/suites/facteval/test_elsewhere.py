"""The scorer by itself, on tables of questions and answers from elsewhere."""

import csv
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from almanac.cli import main
from almanac.errors import AlmanacError
from almanac.rows import Outcome
from almanac.tables import read_jsonl

from .running import from_file

ROWS = [
    {"item_id": "t", "type": "tfq", "truth": True, "answer": "not correct"},
    {"item_id": "m", "type": "mcq", "choices": ["New York", "York"], "gold": ["New York"], "answer": "New York"},
    {"item_id": "s", "type": "saq", "gold": ["1982"], "answer": "19"},
    {"item_id": "d", "type": "saq", "gold": ["1982-05-22"], "answer": "22 May 1982"},
    {"item_id": "b", "type": "saq", "gold": ["Barack Obama"], "answer": "Obama"},
    {"item_id": "e", "type": "saq", "gold": ["Paris"], "answer": ""},
    {"item_id": "l", "type": "saq", "gold": ["A b", "C d"], "gold_object": ["1", "2"], "answer": "A b, x"},
    {"item_id": "h", "type": "saq", "gold": ["Paris"], "answer": "<b>Paris</b>\x07" + "x" * 10_000},
    {"item_id": "x", "type": "saq", "gold": ["Paris"], "answer": None, "status": "too_long"},
]
MODES = ("strict", "paper", "official")
VERDICTS = {  # strict, paper, official: by hand
    "t": ("incorrect", "incorrect", "correct"),
    "m": ("correct", "correct", "incorrect"),
    "s": ("incorrect", "incorrect", "correct"),
    "d": ("correct", "incorrect", "incorrect"),
    "b": ("incorrect", "correct", "correct"),
    "e": ("incorrect", "incorrect", "incorrect"),
    "l": ("correct", "correct", "correct"),
    "h": ("correct", "correct", "correct"),
    "x": ("error", "error", "error"),
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


def score(folder, rows=ROWS, ending=".jsonl", **options):
    """Return what was found of each model, and the items' names in the file."""
    found = from_file(write(folder, rows, ending), folder, **options)
    names = {item: name for one in found.values() for item, name in one.given.items()}
    return found, names


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet"])
def test_the_modes_of_every_kind_of_file(tmp_path, ending):
    found, names = score(tmp_path, ending=ending)
    outcomes = {(names[item], mode): outcome for (item, mode), outcome in found["model"].verdicts().items()}
    assert {name: tuple(outcomes[name, mode] for mode in MODES) for name in VERDICTS} == VERDICTS
    verdicts = {(names[row["item"]], row["reading"]): row for row in found["model"].own["verdicts"].to_dicts()}
    listed = verdicts["l", "strict"]
    assert (listed["list_precision"], listed["list_recall"]) == (0.5, 0.5)
    assert verdicts["x", "strict"]["reason"] == "too_long"


def test_one_mode_alone(tmp_path):
    found, names = score(tmp_path, modes=["official"])
    outcomes = {names[item]: outcome for (item, _), outcome in found["model"].verdicts().items()}
    assert outcomes == {name: official for name, (*_, official) in VERDICTS.items()}
    assert {where["reading"] for _, where in found["model"].conditions} == {"official"}


def test_models_are_measured_apart(tmp_path):
    rows = [row | {"model": model} for model in ("one", "two") for row in ROWS[:2]]
    rows[-1] |= {"answer": "York"}
    found, names = score(tmp_path, rows)
    assert sorted(names.values()) == ["m", "t"]  # the same questions
    assert {model: own.one("recall", "mcq-wh").value for model, own in found.items()} == {"one": 1.0, "two": 0.0}


def test_a_model_is_measured_by_its_own_questions_alone(tmp_path):
    rows = [row | {"model": "one"} for row in ROWS] + [
        ROWS[0] | {"model": "two"},
        ROWS[1] | {"model": "two", "text": "?"},
    ]
    found, names = score(tmp_path, rows)
    assert len(names) == len(ROWS) + 1  # of one name, and two questions
    assert {model: own.judged.frame["item"].n_unique() for model, own in found.items()} == {"one": len(ROWS), "two": 2}
    assert found["two"].one("recall", "mcq-wh").n == 1


def test_models_of_different_questions_are_measured_by_the_command(tmp_path, capsys):
    models = (("org/a", 1), ("org/a", 2), ("../b", 1), ("../b", 3), ("模型甲", 1), ("模型乙", 1))
    rows = [ROWS[at] | {"model": model} for model, at in models]
    path = write(tmp_path, rows, ".jsonl")
    assert main(["measure", "facteval", "--answers", str(path), "--output", str(tmp_path / "out")]) == 0
    assert sorted(one.name for one in (tmp_path / "out").iterdir()) == ["b", "org-a", "模型乙", "模型甲"]
    for name, items in (("org-a", [1, 2]), ("b", [1, 3])):
        found = read_jsonl(tmp_path / "out" / name / "outcomes.jsonl", Outcome)
        assert len(found) == len(MODES) * len(items)
    path = write(tmp_path, [ROWS[1] | {"model": model} for model in ("a/b", "a b")], ".jsonl")
    assert main(["measure", "facteval", "--answers", str(path), "--output", str(tmp_path / "out")]) == 1
    assert "the models a/b, a b would share a folder; rename all but one" in capsys.readouterr().err


def test_questions_without_a_name_are_shared_by_models_too(tmp_path):
    bare = [{name: value for name, value in row.items() if name != "item_id"} for row in ROWS[:3]]
    rows = [row | {"model": model} for model in ("one", "two") for row in [*bare, bare[0] | {"answer": "correct"}]]
    found, names = score(tmp_path, rows)
    assert sorted(names.values()) == ["1", "2", "3", "4"]
    for own in found.values():
        [row] = own.all("precision", experiment="tfq-statement", reading="official", truth=True)
        assert (row.value, row.n) == (1.0, 2)  # asked the same twice, with two answers


def test_a_list_of_abstentions_can_be_given_for_each_mode(tmp_path):
    for name in ("own", "published"):
        (tmp_path / f"{name}.txt").write_text(f"{name} phrase\n", "utf-8")
    rows = [
        {"item_id": name, "type": "saq", "gold": ["Paris"], "answer": f"my {name} phrase"}
        for name in ("own", "published")
    ]
    lists = {"abstentions": str(tmp_path / "own.txt"), "official_abstentions": str(tmp_path / "published.txt")}
    found, names = score(tmp_path, rows, **lists)
    missing = {(names[item], mode) for (item, mode), one in found["model"].verdicts().items() if one == "missing"}
    assert missing == {("own", "strict"), ("own", "paper"), ("published", "official")}


GOOD = {"type": "saq", "gold": ["Paris"], "answer": "Paris"}


def mistake(folder, rows):
    """Return what is said of a table that is refused."""
    with pytest.raises(AlmanacError) as error:
        score(folder, rows)
    return str(error.value)


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
        ({"gold": ["Paris", "\ud800"]}, "column 'gold': has half a character"),
        ({"gold_object": ["1", "2"]}, "column 'gold_object': has 2 texts and gold 1"),
        ({"type": "mcq"}, "column 'choices': has fewer than two"),
        ({"type": "mcq", "choices": ["Rome", "Oslo"]}, "column 'choices': ('Rome', 'Oslo') holds none of gold"),
        (
            {"type": "mcq", "gold": ["Paris", "Lutetia"], "choices": ["Lutetia", "Rome", "Paris"]},
            "column 'choices': ['Lutetia', 'Paris'] are all in gold; a multiple-choice question has one true choice",
        ),
        ({"answer": None}, "column 'answer': there is none"),
        ({"answer": ["Paris"]}, "column 'answer': ['Paris'] is no text"),
        ({"answer": "\ud800"}, "column 'answer': has half a character"),
        ({"status": "lost"}, "column 'status': 'lost' is no status"),
    ],
)
def test_a_bad_row_is_named_with_its_column(tmp_path, row, message):
    assert f"answers.jsonl: row 2, {message}" in mistake(tmp_path, [GOOD, GOOD | row])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("type,answer,answer,gold\nsaq,Paris,Lyon,Paris\n", "has the column 'answer' twice; keep one of them"),
        ("type,answer,gold\n", "holds no row"),
        ('answer\n"Paris, France"\n"Paris",no doubt\n', "lacks the column type"),
    ],
)
def test_a_table_that_says_a_thing_twice_or_nothing_is_refused(tmp_path, text, message):
    path = tmp_path / "answers.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(AlmanacError, match=f"answers.csv: {message}"):
        from_file(path, tmp_path)


def test_all_bad_rows_are_named_at_once(tmp_path):
    said = mistake(tmp_path, [GOOD | {"type": "essay"}] * 30)
    assert "row 1, " in said and "row 20, " in said and "row 21, " not in said
    assert "… and 10 more" in said


def test_a_question_of_a_model_has_one_row(tmp_path):
    said = mistake(tmp_path, [GOOD | {"item_id": "q"}] * 2)
    assert "row 2, column 'item_id': 'q' of model 'model' is in row 1 too" in said


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"type": "saq", "gold": ["x"]}], "lacks the column answer; it has type, gold"),
        ([{"type": "saq", "gold": ["x"], "Answer": "x"}], "lacks the column answer; it has type, gold, Answer; rename"),
        ([GOOD | {"domian": "places"}], "has the unknown column 'domian'; known are type, answer, choices"),
    ],
)
def test_a_bad_header_is_refused(tmp_path, rows, message):
    assert f"answers.jsonl: {message}" in mistake(tmp_path, rows)


def test_a_row_of_another_width_is_refused(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("type,gold,answer\nsaq,Paris,Paris,France\n", "utf-8")
    with pytest.raises(AlmanacError, match="row 1, has more or fewer cells than the header"):
        from_file(path, tmp_path)


def test_contexts_of_a_fact_are_compared(tmp_path):
    base = GOOD | {"fact_id": "f", "text": "Where?"}
    found, _ = score(tmp_path, [base | {"context": "none"}, base | {"context": "told", "answer": "Rome"}])
    assert found["model"].one("kept", "saq-wh", context="told").value == 0.0


def test_questions_that_cannot_be_told_apart_are_refused_where_contexts_are_compared(tmp_path):
    base = GOOD | {"fact_id": "f", "template_id": "t"}
    rows = [base, base | {"answer": "Rome"}, base | {"context": "relevant"}]
    said = mistake(tmp_path, rows)
    assert "row 2, column 'text': asks the same as row 1" in said and "row 3" not in said
    score(tmp_path, [*rows[:2], *(row | {"model": "other"} for row in rows[1:])])
    score(tmp_path, [row | {"text": f"Where, {at}?"} for at, row in enumerate(rows)])


def test_what_a_question_is_counted_by_does_not_tell_it_from_another(tmp_path):
    rows = [GOOD, GOOD | {"domain": "places"}, GOOD | {"context": "relevant"}]
    assert "row 2, column 'text': asks the same as row 1" in mistake(tmp_path, rows)


def test_a_true_and_a_false_statement_without_their_texts_are_two_questions(tmp_path):
    base = {"type": "tfq", "answer": "correct", "fact_id": "f", "template_id": "t"}
    rows = [base | {"truth": truth, "context": context} for context in ("none", "relevant") for truth in (True, False)]
    own = score(tmp_path, rows)[0]["model"]
    found = {metric: own.one(metric, "tfq-statement", context="relevant") for metric in ("f1_with", "kept", "gained")}
    assert (found["f1_with"].n, found["kept"].value, found["kept"].n) == (2, 1.0, 1)
    assert (found["gained"].value, found["gained"].n) == (0.0, 1)
