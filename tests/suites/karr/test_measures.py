"""Thresholds, baselines and recovery, on a world whose models know what they were taught."""

import math
from dataclasses import replace

import polars as pl
import pytest
from tests.suites.karr import worlds
from tests.suites.karr.worlds import METHODS, OPTIONS, TEMPLATES, answered, knows, logprobs, measured, world

from almanac.suites.answers import Answers
from almanac.suites.judged import Range, conditions_of
from almanac.suites.karr import measures
from almanac.suites.karr.asking import FACTS, NULL, SPURIOUS
from almanac.suites.karr.judging import WANTED, calibrates, thresholds, whole_facts
from almanac.suites.karr.measures import CURVE


@pytest.fixture(scope="module")
def knowing():
    return measured()


@pytest.mark.parametrize("mode", OPTIONS.modes)
def test_planted_knowledge_is_recovered_and_the_null_is_not(knowing, mode):
    assert knowing.value("recovery_auc", mode) > 0.97
    assert knowing.value("recovery_auc_karr_s", mode) > 0.9
    assert knowing.value("kendall", mode) > 0.4
    assert knowing.find("kendall", mode).p < 1e-6
    assert knowing.value("spurious_delta", mode, (FACTS, NULL)) < 0 or mode == "official"


def test_sentences_weighed_by_their_likelihood_recover_what_was_planted_too():
    found = measured(options=OPTIONS.model_copy(update={"modes": ("weighted",), "baselines": False}))
    assert found.value("recovery_auc", "weighted") > 0.97
    assert found.value("spurious_delta", "weighted", (FACTS, NULL)) < 0
    assert 1 < found.value("threshold", "weighted") < math.exp(knows(16))
    assert found.own["thresholds"]["mode"].to_list() == ["weighted"], "only what was asked has a threshold"


def test_false_objects_of_a_file_are_measured_against_the_same_facts_own(tmp_path):
    path = tmp_path / "objects.jsonl"
    path.write_text('{"relation_id": "a", "object": "ao3"}\n', "utf-8")
    more = {"spurious_objects": str(path), "modes": ("paper",), "null": False, "baselines": False}
    found = measured(options=OPTIONS.model_copy(update=more))
    asked = {of: found.find("known", "paper", of, paired=True) for of in (FACTS, SPURIOUS)}
    assert {row.n for row in asked.values()} == {36 - 3}  # of relation a, those of which it is not true
    assert asked[SPURIOUS].value < asked[FACTS].value
    delta = found.find("spurious_delta", "paper", (FACTS, SPURIOUS), paired=True)
    assert delta.value == pytest.approx(asked[SPURIOUS].value - asked[FACTS].value)
    assert delta.low < delta.value < delta.high < 0  # a fact's two answers go against each other


def test_the_papers_threshold_is_chosen_on_one_half_and_holds_on_the_other(knowing):
    assert 1 < knowing.value("threshold", "paper") < math.exp(knows(16))
    assert knowing.value("held_out_taught", "paper") > 0.6
    assert knowing.value("held_out_never", "paper") < 0.2
    assert knowing.value("held_out_null", "paper", NULL) < 0.2
    assert knowing.value("threshold", "official") == 22.0
    halves = knowing.judged.frame.group_by("fact").agg(pl.col("calibrating").unique())["calibrating"]
    assert set(map(len, halves)) == {1}  # a fact is in one half with all that it is asked with
    assert 20 < halves.explode().sum() < 52


@pytest.mark.parametrize(("some", "chosen"), [(10, (math.exp(4.75), 10, 30)), (4, (OPTIONS.threshold, None, None))])
def test_the_threshold_parts_what_was_taught_most_from_what_never_was_and_from_the_null(some, chosen):
    """Taught facts are at 1 to 10, facts never taught at 4.5, false objects of both at 2.5; those taught less are at 0.

    In the half that is held out all is the other way round. Of four taught facts nothing is chosen.
    """
    ids = [f"f{at}" for at in range(100)]
    halves = [[one for one, own in zip(ids, calibrates(ids), strict=True) if own == half] for half in (True, False)]
    rows, doses = [], []
    for sign, own in zip((1, -1), halves, strict=True):
        for dose, facts in ((16, own[:some]), (0, own[10:20]), (2, own[20:30])):
            for at, fact in enumerate(facts):
                doses.append((fact, dose))
                score = {16: at + 1.0, 0: 4.5, 2: 0.0}[dose]
                rows += [("paper", FACTS, fact, sign * score)]
                rows += [("paper", NULL, fact, sign * 2.5)] * (dose != 2)
    judged = pl.DataFrame(rows, ["experiment", "asked", "fact_id", "score"], orient="row")
    exposures = pl.DataFrame(doses, ["fact_id", "dose"], orient="row")
    [found] = thresholds(judged, exposures, OPTIONS)
    assert (found.mode, found.threshold, found.taught, found.never) == ("paper", pytest.approx(chosen[0]), *chosen[1:])


def test_without_planted_facts_the_threshold_is_as_set():
    found = measured(taught=False)
    assert found.value("threshold", "paper") == OPTIONS.threshold
    assert not any(metric.startswith(("recovery", "held_out", "kendall")) for metric in found.metrics())


def test_the_curve_falls_with_the_threshold(knowing):
    assert len(set(CURVE)) == 12 and list(CURVE) == sorted(CURVE)
    for mode in OPTIONS.modes:
        curve = [knowing.value("known_at", mode, ratio=Range(level)) for level in CURVE]
        assert curve == sorted(curve, reverse=True)
        assert curve[CURVE.index(22.0)] < curve[0]


class OneByOne(Answers):
    """Hands on an item at a time."""

    def parts(self, columns, own=(), size=1):
        return super().parts(columns, own, size)


def test_what_becomes_of_items_does_not_depend_on_how_many_are_judged_at_once():
    """K-Prompts reads what is drawn for another item, and what runs read is asked for another item."""
    data, exposures = world(templates=(*TEMPLATES, "[X] is from [Y]."), aliases=2)
    options = OPTIONS.model_copy(update={"templates": 2, "aliases": 1, "resamples": 2, "sample": 5})
    asking = answered(data, exposures, logprobs(data, exposures, knows), options)
    few = OneByOne(**vars(asking.answers()))
    together, apart = asking.measured(), worlds.Measured(few, data.data, options)
    assert len(list(whole_facts(few.parts(WANTED, ["draws"])))) > 10
    assert apart.rows == together.rows
    assert all(apart.own[name].equals(rows) for name, rows in together.own.items())
    assert set(together.own["runs"]["replaced"]) == {"templates", "names"}


def test_every_number_says_which_items_it_counts(knowing):
    for row in knowing.rows:
        own = knowing.judged.where(conditions_of(row)).frame
        assert row.n == own.height
        assert row.n_correct == own["hit"].sum() == (own["outcome"] == "correct").sum()


def test_a_model_that_knows_nothing_is_at_one():
    found = measured(lambda dose: 0.0)
    assert found.value("median_log_karr", "paper") == pytest.approx(0, abs=0.15)
    assert 0.3 < found.value("recovery_auc", "paper") < 0.7
    assert found.value("known", "lama_at_1") < 0.25


def test_the_baselines_on_the_same_facts(knowing):
    at_1, at_10 = knowing.value("known", "lama_at_1"), knowing.value("known", "lama_at_10")
    assert 0.3 < at_1 < at_10
    assert knowing.value("known", "pararel") <= knowing.value("known", "lama_at_1")
    assert 0 < knowing.value("consistency", "pararel") < 1
    for name in ("lama_at_1", "pararel", "k_prompts"):
        assert knowing.value("recovery_auc", name) > 0.9


def test_a_subjects_facts_are_one_draw_of_the_consistency(knowing):
    """As many facts again, of the same subjects and answered alike, say nothing more of other subjects."""
    frame = knowing.judged.frame
    again = frame.with_columns((pl.col("fact").cast(pl.String) + " again").cast(pl.Categorical).alias("fact"))

    def consistency(frame):
        rows = measures.measure(replace(knowing.judged, frame=frame), knowing.own, OPTIONS)
        [row] = [row for row in rows if row.metric == "consistency"]
        return row.value, row.low, row.high

    once = consistency(frame)
    assert once[1] < once[0] < once[2]
    assert consistency(pl.concat([frame, again])) == pytest.approx(once)


def test_facts_without_an_answer_have_no_value_and_are_counted():
    found = measured(status="too_long")
    for experiment in METHODS:
        row = found.find("without_value", experiment)
        assert (row.value, row.n, row.n_error) == (1.0, 72, 72)
        assert found.value("known", experiment) is None


def test_an_object_of_several_tokens_is_none_of_lamas():
    data, exposures = world()
    asking = worlds.Asking(data)
    asking.ask()
    several = asking.answer(
        logprobs(data, exposures, knows),
        change=lambda row: worlds.changed(row, ranks=row.ranks and (None,) * len(row.ranks)),
    ).measured()
    row = several.find("without_value", "lama_at_1")
    assert (row.value, row.n_invalid) == (1.0, row.n)


def test_the_rate_on_the_null_is_what_a_method_guesses(knowing):
    [paper] = [method for method in worlds.SUITE.methods if method.name == "paper"]
    own = knowing.judged.where(paper.guess).frame
    assert own.height == 72 and set(own["asked"]) == {NULL}
    assert knowing.value("known", "paper", NULL) == pytest.approx(own["hit"].mean())
    assert {method.name for method in worlds.SUITE.methods} == {*METHODS, "weighted"}
    for method in (one for one in worlds.SUITE.methods if one.name in METHODS):  # each stands among its items once
        assert knowing.judged.where(method.where).frame["fact"].n_unique() == 72


def test_the_curve_of_all_facts_is_the_mean_of_the_relations_curves(knowing):
    for level in CURVE:
        parts = [knowing.value("known_at", "paper", ratio=Range(level), relation=name) for name in "ab"]
        assert knowing.value("known_at", "paper", ratio=Range(level)) == pytest.approx(sum(parts) / 2)


def test_objects_at_ten_thousand_nats_below_have_the_same_values(knowing):
    """Nothing underflows to zero or becomes no number between the responses and the page."""
    found = measured(level=-10_000.0)
    for mode in ("karr", "karr_s", "karr_r"):
        wanted = knowing.value(f"median_log_{mode}", "paper")
        assert found.value(f"median_log_{mode}", "paper") == pytest.approx(wanted, abs=1e-9)
    for method in ("paper", "lama_at_1", "lama_at_10", "pararel"):
        assert found.value("known", method) == knowing.value("known", method)
    assert found.value("known", "k_prompts") == found.value("without_value", "k_prompts") == 0
    assert found.value("recovery_auc", "k_prompts") == knowing.value("recovery_auc", "k_prompts")
    assert all(math.isfinite(row.value) for row in found.rows if row.value is not None)


def test_an_empty_denominator_is_counted_with_its_reason():
    """Without relations drawn there is nothing to divide by: no value, and every fact says why."""
    data, exposures = world()
    asking = answered(data, exposures, logprobs(data, exposures, knows))
    path = asking.folder / "asked" / "draws.parquet"
    rows = [row for row in worlds.tables.read(path, worlds.Draw) if row.role != "relation"]
    worlds.tables.write(path, worlds.Draw, rows)
    found = asking.measured()
    assert set(found.own["values"]["reason"]) == {"the denominator over relations is empty"}
    for mode in OPTIONS.modes:
        assert found.value("without_value", mode) == 1
        assert found.value("known", mode) is None
    assert found.value("without_value", "lama_at_1") == 0


def test_with_one_template_everything_but_the_consistency_has_a_value():
    found = measured(size={"templates": TEMPLATES[:1]})
    for method in METHODS:
        assert found.value("recovery_auc", method) > 0.7
    assert found.value("known", "pararel") == found.value("known", "lama_at_1")
    assert found.value("consistency", "pararel") is None
