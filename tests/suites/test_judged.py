"""A number counts the items that its ``where`` selects, and its formula makes it of them."""

import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.suites.support import check_numbers, meets, number

from almanac.statistics.intervals import Estimate
from almanac.suites.judged import (
    OUTCOMES,
    Judged,
    Not,
    Range,
    as_text,
    chosen,
    conditions_of,
    from_text,
    narrows,
    order,
)

CONDITIONS = {
    "text": ["a", "Ü b", None, ("a", None), ("a", "Ü b"), (), Not("a"), Not()],
    "number": [0, 2, None, (0, 2), (0, None), Not(2), Not(), Range(1), Range(below=2), Range(0, 2), Range()],
    "share": [0.5, 0.1, None, Range(0.5), Range(0.1, 0.5), Range(below=0.1), Not(0.5), Not()],
    "sure": [True, False, None, (True, None), Not(True), Not()],
}
ITEMS = [
    (text, value, share, sure)
    for text in ("a", "Ü b", "c", None)
    for value in (0, 1, 2, None)
    for share in (0.1, 0.3, 0.5, 1.0, None)
    for sure in (True, False, None)
]
FRAME = pl.DataFrame(
    ITEMS, {"text": pl.String, "number": pl.Int64, "share": pl.Float64, "sure": pl.Boolean}, orient="row"
).with_columns(pl.col("text").cast(pl.Categorical), pl.lit("correct").alias("outcome"))
PAIRS = [(column, condition) for column, listed in CONDITIONS.items() for condition in listed]


def judged(frame=FRAME):
    return Judged("s", "d", "m", frame)


@pytest.mark.parametrize(("column", "condition"), PAIRS, ids=str)
def test_a_condition_selects_what_the_page_selects_by_its_text(column, condition):
    text = as_text({column: condition})
    assert as_text(from_text(text)) == text
    written = json.loads(text)[column]
    wanted = [row for row in ITEMS if meets(dict(zip(CONDITIONS, row, strict=True))[column], written)]
    assert judged().where({column: condition}).frame.select(*CONDITIONS).rows() == wanted
    assert judged().where(from_text(text)).frame.select(*CONDITIONS).rows() == wanted
    assert FRAME.filter(chosen(column, condition)).height == len(wanted)


def test_conditions_on_several_columns_are_met_together_and_stay_with_the_number():
    found = judged().where({"text": ("a", None)}, number=Range(1)).where(sure=Not())
    assert found.frame.height == 2 * 2 * 5 * 2
    row = found.measure("any", 0.5)
    assert row.n == 40
    assert conditions_of(row) == {"text": ("a", None), "number": Range(1), "sure": Not()}
    assert row.where == '{"number":{"from":1},"sure":{"not":null},"text":["a",null]}'


@pytest.mark.parametrize(
    "new",
    [*CONDITIONS["number"], (1,), (1, 2), 1, Range(1, 2), Not(0)],
    ids=str,
)
@pytest.mark.parametrize("old", [*CONDITIONS["number"], (1, 2)], ids=str)
def test_what_narrows_a_condition_selects_a_part_of_it_and_anything_else_is_refused(new, old):
    twice = FRAME.filter(chosen("number", old)).filter(chosen("number", new))
    if narrows(new, old):
        found = judged().where(number=old).where(number=new)
        assert found.frame.equals(twice)
        assert found.frame.equals(FRAME.filter(chosen("number", new))), "the later condition says it all"
        assert found.conditions == {"number": new}
    else:
        with pytest.raises(ValueError, match=r"number: .* does not narrow"):
            judged().where(number=old).where(number=new)


def test_a_value_of_a_list_and_a_part_of_any_value_narrow():
    assert narrows("a", ("a", "b"))
    assert narrows(("a", "b"), Not(None))
    assert narrows(None, ("a", None))
    assert narrows(Range(1), Not())
    assert narrows((1, 2), Range(1, 3))
    assert not narrows(3, Range(1, 3))
    assert not narrows("a", "b")
    assert not narrows((0, None), Not())


@pytest.mark.parametrize(
    "values",
    [
        (0, 1, 2, 16, 64, None),
        (1e-05, 0.05, 0.1, 0.25, 2.5),
        ("P6", "P17", "P106"),
        ((1,), (2,), (16,)),
        (0, 2**70),
    ],
)
def test_conditions_that_are_written_as_text_are_sorted_by_the_numbers_in_them(values):
    for shots in (4, 16):
        texts = [as_text({"dose": value, "shots": shots}) for value in values]
        assert sorted(sorted(texts), key=order) == texts


@given(st.lists(st.one_of(st.text(), st.floats(allow_nan=False, allow_infinity=False), st.integers(), st.none())))
def test_any_conditions_can_be_sorted(values):
    texts = [as_text({"a": value}) for value in values]
    assert sorted(sorted(texts, key=order)) == sorted(texts)


def test_groups_are_sorted_none_first_and_each_says_what_it_is_of():
    groups = list(judged().groups("text", "sure"))
    keys = [(group.conditions["text"], group.conditions["sure"]) for group in groups]
    assert keys == [(text, sure) for text in (None, "a", "c", "Ü b") for sure in (None, False, True)]
    for group in groups:
        assert group.frame.height == 4 * 5
        assert judged().where(group.conditions).frame.equals(group.frame)
    assert [group.frame.height for group in judged().groups()] == [FRAME.height]
    assert list(judged(FRAME.clear()).groups("text")) == []


def test_a_number_of_no_items_has_no_value_and_of_groups_there_is_none():
    nothing = judged(FRAME.clear().with_columns(pl.lit("r").alias("relation"), pl.lit("s").alias("subject")))
    [row] = nothing.measures("accuracy", "mean", "share")
    assert (row.value, row.low, row.n, row.n_correct) == (None, None, 0, 0)
    assert nothing.measures("accuracy", "macro", "share", by=("text",)) == []
    assert nothing.measure("any", None).n == 0


def test_a_formula_that_has_no_interval_for_groups_is_refused():
    with pytest.raises(
        ValueError, match=r"'median' is not one of those for groups \(mean, .*, ratio\); compute the value"
    ):
        judged().measures("any", "median", "share")


def test_a_number_of_a_group_has_its_estimate_test_and_other_model():
    row = judged().measure("difference", Estimate(0.1, -0.1, 0.3), "other", ("share",), 0.04, "other model")
    assert (row.suite, row.dataset, row.model, row.other) == ("s", "d", "m", "other model")
    assert (row.value, row.low, row.high, row.p, row.of) == (0.1, -0.1, 0.3, 0.04, ("share",))
    assert judged().measure("cost", 7).value == 7.0


ITEM = st.fixed_dictionaries(
    {
        "experiment": st.sampled_from(["x", "y", None]),
        "shots": st.sampled_from([0, 5, None]),
        "relation": st.sampled_from("ab"),
        "number": st.integers(0, 7),
        "outcome": st.sampled_from(OUTCOMES),
        "above": st.sampled_from([0.0, 1.0, 2.0, None]),
        "below": st.sampled_from([0.0, 2.0, 3.0, None]),
    }
)


@settings(deadline=None, max_examples=60)
@given(st.lists(ITEM, max_size=40), st.sampled_from([(), ("experiment",), ("shots", "relation")]))
def test_every_number_of_every_formula_is_that_of_the_items_that_it_says(rows, by):
    schema = dict.fromkeys(("experiment", "relation", "outcome", "fact", "subject"), pl.String)
    schema |= {"item": pl.UInt32, "shots": pl.Int64, "above": pl.Float64, "below": pl.Float64}
    known = {"item": range(len(rows)), "fact": [], "subject": []}
    for row in rows:
        known["fact"].append(f"{row['relation']}{row['number']}")
        known["subject"].append(f"{row['relation']}{row['number'] // 2}")
    columns = {name: [row[name] for row in rows] for name in schema if name not in known}
    frame = pl.DataFrame({**known, **columns}, schema).with_columns(
        pl.when(pl.col("outcome").is_in(["correct", "incorrect"])).then(pl.col("outcome") == "correct").alias("hit"),
    )
    frame = frame.with_columns(pl.col(pl.String).cast(pl.Categorical))
    found = Judged("s", "d", "m", frame)
    numbers = []
    for formula in ("mean", "macro", "macro_of_facts"):
        numbers += found.measures(formula, formula, "hit", by=by)
        numbers += found.where(hit=Not(None), shots=Range(1)).measures(formula, formula, "hit", by=by)
    numbers += found.measures("ratio", "ratio", "above", "below", by=by)
    check_numbers(found, numbers)
    of_metric = {row.metric for row in numbers}
    assert of_metric >= ({"mean", "ratio"} if rows or not by else set())
    if not by:
        assert number(numbers, "mean").n == len(rows)
