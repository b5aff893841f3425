"""Methods in the order in which they tell what planted models were taught: on the same facts, and under changes."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from almanac.suites.agreement import Called, called
from almanac.suites.judged import OUTCOMES, Judged
from almanac.suites.standings import (
    ALL,
    BALANCED,
    CHOICES,
    CRITERION,
    DOSE,
    FORMAT,
    HALVES,
    MODEL,
    WORLD,
    CalledFacts,
    called_facts,
    standings,
)
from almanac.suites.suite import Method

DOSES = (0, 1, 8, 64)


def scores(noise, seed, facts=200, subjects=None):
    """What a method with so much noise calls facts of four doses; known are the upper half of its scores."""
    rng = np.random.default_rng(seed)
    doses = np.array(DOSES)[np.arange(facts) % len(DOSES)]
    found = np.log1p(doses) + rng.normal(0, 1, facts) * noise if noise is not None else rng.normal(0, 1, facts)
    names = [f"f{at:03}" for at in range(facts)]
    return pl.DataFrame(
        {
            "fact": names,
            "subject": names if subjects is None else [f"s{at % subjects}" for at in range(facts)],
            "dose": doses,
            "object_dose": [73] * facts,
            "score": found,
            "hit": (found > np.median(found)).astype(float),
        }
    )


def told(method, noise, world="one", model="base", axis=ALL, level="", **more):
    seed = sum(map(ord, f"{method}{world}{model}{axis}{level}"))
    found = Called("s", Method(method, method, {}), {}, scores(noise, seed, **more))
    return CalledFacts(world, model, axis, level, found)


def rows_of(found, axis=ALL, level=""):
    return [row for row in standings(found) if (row.axis, row.level) == (axis, level)]


def test_the_method_with_least_noise_is_first_and_one_that_knows_nothing_is_at_a_half():
    found = [
        told(method, noise, world, model)
        for method, noise in {"sharp": 0.5, "dull": 3.0, "blind": None}.items()
        for world in ("one", "two", "three")
        for model in ("small", "base")
    ]
    first, second, last = rows_of(found)
    assert [row.method for row in (first, second, last)] == ["sharp", "dull", "blind"]
    assert (first.place, first.worlds, first.models, first.facts) == (1, 3, ("base", "small"), 300)
    assert first.auc > 0.99 and first.average_precision > 0.99 and first.spearman > 0.6
    assert last.auc_low < 0.5 < last.auc_high and last.average_precision == pytest.approx(0.5, abs=0.1)
    assert last.gap_low > 0 and last.gap == pytest.approx(first.auc - last.auc)
    assert first.gap == 0 and first.gap_low is None, "no gap to itself"
    assert first.known_most > 0.99 and first.known_never < 0.01 and first.prior_auc == 0.5
    for world in ("one", "two", "three"):
        own = rows_of(found, WORLD, world)
        assert [row.method for row in own] == ["sharp", "dull", "blind"] and {row.tau for row in own} == {1.0}
    assert {row.facts for row in rows_of(found, MODEL, "small")} == {300}


def test_facts_taught_fewer_times_are_held_against_the_same_never_taught():
    found = [told(method, noise) for method, noise in {"sharp": 0.5, "dull": 3.0}.items()]
    assert {row.level for row in standings(found) if row.axis == DOSE} == {"1", "8"}, "neither never nor most often"
    for dose in (1, 8):
        rows = rows_of(found, DOSE, str(dose))
        facts = {one.found.method.name: one.found.facts for one in found}
        for row in rows:
            own = facts[row.method]
            some, never = (own.filter(pl.col("dose") == one)["score"].to_list() for one in (dose, 0))
            assert row.auc == pytest.approx(stats.mannwhitneyu(some, never).statistic / len(some) / len(never))
            assert row.known_most == own.filter(pl.col("dose") == dose)["hit"].mean()
            assert row.facts == 100


def test_by_what_is_called_known_methods_stand_otherwise():
    """A method whose scores are best may draw its line in the wrong place."""
    sharp = told("sharp", 0.5)
    # A fact that is asked in two wordings may be half known.
    strict = sharp.found.facts.with_columns(hit=(0.5 * (pl.col("score") > 4.3) + 0.5 * (pl.col("score") > 4)))
    sharp = sharp._replace(found=sharp.found._replace(facts=strict))
    found = [sharp, told("dull", 1.5), told("blind", None)]
    every, by_verdict = rows_of(found), rows_of(found, CRITERION, BALANCED)
    assert [row.method for row in every] == ["sharp", "dull", "blind"]
    assert [(row.place, row.method) for row in by_verdict] == [(1, "dull"), (2, "sharp"), (3, "blind")]
    balanced = {row.method: (row.balanced, row.balanced_low, row.balanced_high) for row in every}
    assert all((row.auc, row.auc_low, row.auc_high) == pytest.approx(balanced[row.method]) for row in by_verdict)
    assert by_verdict[1].gap == pytest.approx(balanced["dull"][0] - balanced["sharp"][0])
    areas = [
        [one[row.method] for row in every] for one in ({r.method: r.auc for r in rows} for rows in (every, by_verdict))
    ]
    assert by_verdict[0].tau == pytest.approx(stats.kendalltau(*areas).statistic)


def test_where_a_method_has_no_other_score_its_auc_is_its_balanced_accuracy_with_the_same_interval():
    def two_valued(one):
        facts = one.found.facts.with_columns(pl.col("hit").alias("score"))
        return one._replace(found=one.found._replace(facts=facts))

    graded = [told("a", 2.0, world, model, subjects=60) for world in ("one", "two") for model in ("small", "base")]
    alone = [
        two_valued(told("b", 2.0, world, model, subjects=60)) for world in ("one", "two") for model in ("small", "base")
    ]
    found = {row.method: row for row in rows_of([*graded, *alone])}
    assert found["a"].graded and not found["b"].graded
    # Among the right ones some are righter, and one of the wrong ones is not all wrong.
    partly = two_valued(told("b", 2.0, facts=800))
    hit, one = pl.col("hit"), pl.int_range(pl.len()).over("hit") == 0
    score = pl.when(hit == 0).then(0.4 * one).when(one).then(0.67).otherwise(1)
    facts = partly.found.facts.with_columns(score=score)
    rows = rows_of([told("a", 2.0, facts=800), partly._replace(found=partly.found._replace(facts=facts))])
    assert [row.graded for row in rows if row.method == "b"] == [False]
    often = pl.int_range(pl.len()) % 8 == 0
    halves = facts.with_columns(pl.when(often).then(0.5).otherwise("hit").alias(name) for name in ("hit", "score"))
    rows = rows_of([told("a", 2.0, facts=800), partly._replace(found=partly.found._replace(facts=halves))])
    assert [row.graded for row in rows if row.method == "b"] == [True], "right in one of two wordings"
    own = found["b"]
    assert (own.auc, own.auc_low, own.auc_high) == pytest.approx((own.balanced, own.balanced_low, own.balanced_high))
    for row in found.values():
        assert row.balanced == pytest.approx((row.known_most + 1 - row.known_never) / 2)
    assert found["a"].auc > found["a"].balanced, "a graded score orders facts that its line does not part"


def test_only_facts_that_every_method_scored_for_every_model_are_counted():
    part = told("b", 1.0, facts=120)
    lacking = told("b", 1.0, model="small", facts=120)
    frame = lacking.found.facts.with_columns(pl.when(pl.col("fact") != "f003").then(pl.col("score")).alias("score"))
    lacking = lacking._replace(found=lacking.found._replace(facts=frame))
    found = [told("a", 1.0), told("a", 1.0, model="small"), part, lacking]
    assert {row.facts for row in rows_of(found)} == {59}, "of 120 facts 30 were taught most and 30 never; one lacks"


def test_a_method_that_few_were_asked_and_a_model_that_lacks_one_are_left_out():
    found = [told(method, 1.0, model=model) for method in "ab" for model in ("small", "base", "large", "huge")]
    found.append(told("rare", 0.1, model="base"))
    assert [row.method for row in rows_of(found)].count("rare") == 0
    found = [one for one in found if (one.model, one.found.method.name) != ("small", "b")]
    assert {row.models for row in rows_of(found)} == {("base", "huge", "large")}
    assert standings(found[:1]) == [] and standings([]) == []


def test_of_equal_methods_few_tables_call_any_worse_than_the_first():
    """Which is first is chosen by the same facts: at 1.96 standard errors every fifth table or more has such a row."""
    wrong = 0
    for table in range(60):
        rows = rows_of([told(f"{table} {method}", 4.0) for method in range(8)])
        wrong += any((row.gap_low or 0.0) > 0 for row in rows)
    assert wrong <= 8  # 5 % expected: more than 8 of 60 in one of 200 runs


def test_the_interval_of_a_difference_near_an_auc_of_one_reaches_further_to_the_side_where_errors_are():
    first, other = rows_of([told("sharp", 1.0, facts=400), told("dull", 2.0, facts=400)])
    assert first.auc > 0.99 and other.gap == pytest.approx(first.auc - other.auc)
    assert other.gap_high - other.gap > 1.3 * (other.gap - other.gap_low)


def test_methods_that_are_equal_share_a_place_and_of_few_facts_nothing_is_said():
    found = [told("a", 0.0), told("b", 0.0), told("c", 5.0)]
    assert [(row.place, row.gap_low is None) for row in rows_of(found)] == [(1, True), (1, True), (3, False)]
    assert rows_of([told(name, 0.5, facts=40) for name in "ab"]) != []
    assert rows_of([told(name, 0.5, facts=36) for name in "ab"]) == []


def test_where_too_few_facts_are_shared_by_all_models_nothing_is_said_of_one_alone():
    found = [told(method, 0.5, model=model) for method in "ab" for model in ("small", "base")]
    parts = [pl.col("fact") < "f100", pl.col("fact") >= "f090"]
    found = [
        one._replace(found=one.found._replace(facts=one.found.facts.filter(parts[one.model == "base"])))
        for one in found
    ]
    assert rows_of([one for one in found if one.model == "base"]) != [] and standings(found) == []


def test_an_order_that_is_turned_round_has_a_tau_of_minus_one():
    found = [told("a", 0.5), told("b", 3.0), told("a", 3.0, axis=FORMAT, level="prose", model="prose")]
    found += [told("b", 0.5, axis=FORMAT, level="prose", model="prose"), told("a", 1.0, axis=CHOICES, level="5")]
    own = rows_of(found, FORMAT, "prose")
    assert [(row.method, row.tau) for row in own] == [("b", -1.0), ("a", -1.0)]
    assert rows_of(found, CHOICES, "5") == [], "one method alone has no order"


def test_facts_of_one_subject_are_one_draw():
    """With ten subjects of twenty facts each the interval is wider, if what a subject's facts score is shared."""
    rng = np.random.default_rng(1)

    def frame(subjects):
        shared = rng.normal(0, 2, 10)
        own = scores(1.0, 5, subjects=subjects)
        return own.with_columns(pl.col("score") + pl.Series(shared[np.arange(200) % 10]))

    def width(subjects):
        method = Method("b", "B", {})
        found = [told("a", 1.0), CalledFacts("one", "base", ALL, "", Called("s", method, {}, frame(subjects)))]
        row = next(row for row in rows_of(found) if row.method == "b")
        return row.auc_high - row.auc_low

    assert width(10) > width(None)


def test_each_half_of_a_relations_templates_is_asked_of_its_own_items():
    items = [(fact, template) for fact in range(8) for template in "abc"]
    frame = pl.DataFrame(
        {
            "fact": [f"f{fact}" for fact, _ in items],
            "template": [template for _, template in items],
            "hit": [template == "c" for _, template in items],
            "score": [float(template == "c") for _, template in items],
            "relation": ["r"] * len(items),
            "subject": [f"s{fact}" for fact, _ in items],
            "bucket": [None] * len(items),
            "dose": [64 * (fact % 2) for fact, _ in items],
            "object_dose": [64] * len(items),
            "outcome": ["correct" if template == "c" else "incorrect" for _, template in items],
            "experiment": ["e"] * len(items),
        }
    )
    assert set(OUTCOMES) >= {"correct", "incorrect"}
    method = Method("m", "M", {"experiment": "e"})

    def told(frame):
        judged = Judged("s", "d", "m", frame)
        return list(called_facts(called(judged, [method]), judged, "one", "base", 4))

    found = {one.level: one.found.facts for one in told(frame)}
    assert found[HALVES[0]]["hit"].to_list() == [0.0] * 8, "of three templates two are the first half"
    assert found[HALVES[1]]["hit"].to_list() == [1.0] * 8
    assert found[""]["hit"].to_list() == [pytest.approx(1 / 3)] * 8
    for alone in (frame.filter(pl.col("template") == "c"), frame.with_columns(template=pl.lit(None, pl.String))):
        assert {one.axis for one in told(alone)} == {ALL}, "one template has no halves, nor has an item of all of them"
    other = frame.filter(pl.col("template") == "c").with_columns(relation=pl.lit("q"), fact=pl.col("fact") + "q")
    found = {one.level: one.found.facts for one in told(pl.concat([frame, other]))}
    assert all({*other["fact"]} <= {*found[half]["fact"]} for half in HALVES), "a relation with one is in both"
