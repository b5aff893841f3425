"""Human labels: agreement with them, and files of them that are refused."""

import pytest
from tests.suites.karr import worlds
from tests.suites.karr.worlds import METHODS, answered, knows, logprobs, rows_of, value, world

from almanac.errors import AlmanacError
from almanac.rows import Rating
from almanac.suites.karr import labels
from almanac.suites.karr.method import METHOD
from almanac.suites.karr.options import KarrOptions
from almanac.tables import write, write_jsonl


def rate(fact, rater="r", given="known"):
    return Rating(fact, rater, given, None)


def test_labels_equal_to_the_doses_agree_as_the_doses_do(tmp_path):
    data, exposures = world()
    write_jsonl(tmp_path / "labels.jsonl", [rate(row.fact_id, given=str(row.dose)) for row in exposures])
    options = worlds.OPTIONS.model_copy(update={"labels": str(tmp_path / "labels.jsonl"), "labels_known": 16.0})
    rows = rows_of(METHOD.measure(answered(data, exposures, logprobs(data, exposures, knows), options), options))
    for method in METHODS:
        for metric in ("recall", "kendall", "kendall_p"):
            assert rows[method, "facts", f"{metric}_labels", None, None, None].value == value(rows, method, metric)
        assert rows[method, "facts", "recall_labels", None, None, None].n == sum(row.dose >= 16 for row in exposures)


def test_asking_waits_for_the_file_of_labels():
    options = KarrOptions(labels="labels.jsonl")
    assert (options.files("ask"), options.files("measure")) == (("labels.jsonl",), ())
    assert KarrOptions().files("ask") == ()


def test_labels_of_several_raters_are_averaged_and_those_of_another_model_left_out():
    facts = ["a|s|o", "b|s|x/y"]
    rows = [rate("a|s|o", "r"), rate("a|s|o", "q", "unknown"), rate("b|s|x/y", "r", "3"), rate("m/b|s|x/y", "q", "4")]
    assert labels.reference(rows, "m", facts) == {"a|s|o": 0.5, "b|s|x/y": 3.5}
    assert labels.reference(rows, "other", facts) == {"a|s|o": 0.5, "b|s|x/y": 3.0}


def test_labels_may_be_given_to_measuring_alone(tmp_path):
    data, exposures = world()
    write(tmp_path / "labels.parquet", Rating, [rate(row.fact_id, given=str(row.dose)) for row in exposures])
    given = answered(data, None, logprobs(data, exposures, knows))
    options = worlds.OPTIONS.model_copy(update={"labels": str(tmp_path / "labels.parquet")})
    assert value(rows_of(METHOD.measure(given, options)), "paper", "kendall_labels") > 0.4


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "labels.jsonl: holds no label"),
        ([rate("P36|x|y")], "P36|x|y: r: the dataset has no such fact; write FACT or MODEL/FACT, like 'a|as0|ao0'"),
        ([rate("a|as0|ao0", given="maybe")], "a|as0|ao0: r: the value 'maybe' is no label; write known, unknown or a"),
        ([rate("a|as0|ao0", given="nan")], "the value 'nan' is no label"),
        ([rate("a|as0|ao0"), rate("a|as0|ao0", given="unknown")], "a|as0|ao0: r: labels this fact twice"),
        ([rate("a|as9|ao9")], "none of the 1 labels is of a fact that is asked"),
    ],
)
def test_wrong_labels_are_refused_before_anything_is_asked(tmp_path, rows, message):
    data, _ = world()
    write_jsonl(tmp_path / "labels.jsonl", rows)
    options = KarrOptions(labels=str(tmp_path / "labels.jsonl"), sample=1, seed=3)
    with pytest.raises(AlmanacError) as error:
        METHOD.ask(data, options, lambda: None)
    assert message in str(error.value)


def test_a_file_that_is_no_table_of_labels_is_refused_by_its_line(tmp_path):
    data, _ = world()
    (tmp_path / "labels.jsonl").write_text('{"fact": "a|as0|ao0", "known": true}\n')
    with pytest.raises(AlmanacError, match="line 1 is no row of Rating"):
        METHOD.ask(data, KarrOptions(labels=str(tmp_path / "labels.jsonl")), lambda: None)
    with pytest.raises(AlmanacError, match="cannot be read"):
        METHOD.ask(data, KarrOptions(labels=str(tmp_path / "none.jsonl")), lambda: None)
