"""Human labels: agreement with them, and files of them that are refused."""

import pytest
from tests.suites.karr import worlds
from tests.suites.karr.worlds import METHODS, answered, asked, knows, logprobs, world

from almanac.errors import AlmanacError
from almanac.rows import Rating
from almanac.suites.karr import labels
from almanac.suites.karr.options import KarrOptions
from almanac.tables import write, write_jsonl


def rate(fact, rater="r", given="known"):
    return Rating(fact, rater, given, None)


def with_labels(path, **more):
    return worlds.OPTIONS.model_copy(update={"labels": str(path), **more})


def test_labels_equal_to_the_doses_agree_as_the_doses_do(tmp_path):
    data, exposures = world()
    path = tmp_path / "labels.jsonl"
    write_jsonl(path, [rate(row.fact_id, given=str(row.dose)) for row in exposures])
    options = with_labels(path, labels_known=16.0)
    asking = answered(data, exposures, logprobs(data, exposures, knows), options)
    path.unlink()  # what was asked holds the labels
    found = asking.measured()
    for method in METHODS:
        for metric in ("recall", "kendall"):
            own, other = found.find(f"{metric}_labels", method), found.find(metric, method)
            assert (own.value, own.low, own.high, own.p) == (other.value, other.low, other.high, other.p)
        assert found.find("recall_labels", method).n == sum(row.dose >= 16 for row in exposures)


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
    asking = answered(data, None, logprobs(data, exposures, knows))
    assert asking.measured(with_labels(tmp_path / "labels.parquet")).value("kendall_labels", "paper") > 0.4


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "labels.jsonl: holds no label"),
        ([rate("P36|x|y")], "P36|x|y: r: the dataset has no such fact; write FACT or MODEL/FACT, like 'a|as0|ao0'"),
        ([rate("a|as0|ao0", given="maybe")], "a|as0|ao0: r: the value 'maybe' is not a label; write known, unknown"),
        ([rate("a|as0|ao0", given="nan")], "the value 'nan' is not a label"),
        ([rate("a|as0|ao0"), rate("a|as0|ao0", given="unknown")], "a|as0|ao0: r: labels this fact twice"),
        ([rate("a|as9|ao9")], "none of the 1 labels is of a fact that is asked"),
    ],
)
def test_wrong_labels_are_refused_before_anything_is_asked(tmp_path, rows, message):
    write_jsonl(tmp_path / "labels.jsonl", rows)
    with pytest.raises(AlmanacError) as error:
        asked(world()[0], KarrOptions(labels=str(tmp_path / "labels.jsonl"), sample=1, seed=3))
    assert message in str(error.value)


def test_a_file_that_is_no_table_of_labels_is_refused_by_its_line(tmp_path):
    (tmp_path / "labels.jsonl").write_text('{"fact": "a|as0|ao0", "known": true}\n')
    for name, message in (("labels", "line 1 is no row of Rating"), ("none", "cannot be read")):
        with pytest.raises(AlmanacError, match=message):
            asked(world()[0], KarrOptions(labels=str(tmp_path / f"{name}.jsonl")))
