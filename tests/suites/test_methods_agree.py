"""Methods held against each other on the same facts: by hand, and the limits of kappa."""

import polars as pl
import pytest
from matplotlib.colors import to_hex

from almanac.rows import Measure
from almanac.statistics.agreement import cohens_kappa, kappa
from almanac.statistics.intervals import wilson
from almanac.suites.agreement import Called, agreements, called, of_facts, on_same_facts
from almanac.suites.ic_lke.figures import by_shots
from almanac.suites.judged import OUTCOMES, Judged, as_text, conditions_of
from almanac.suites.looks import COLOURS, coloured, lines_along, look
from almanac.suites.suite import Method


def of(method, facts):
    """What a method calls facts: by name, known and score."""
    rows = [(name, name, known, score) for name, (known, score) in facts.items()]
    frame = pl.DataFrame(rows, ["fact", "subject", "known", "score"], orient="row")
    return Called("s", Method(method, method, {}), {}, frame)


def test_two_methods_are_counted_on_the_facts_that_both_asked():
    one = of("a", {f"f{at}": (at < 50, float(at)) for at in range(100)})
    other = of("b", {f"f{at}": (at < 30 or at >= 90, float(-at)) for at in range(10, 110)})
    [row] = agreements("d", "m", [one, other])
    assert (row.n, row.both, row.first, row.second, row.neither) == (90, 20, 20, 10, 40)
    assert row.agreement == pytest.approx(60 / 90) and row.agreement_low < row.agreement < row.agreement_high
    chance = 40 / 90 * 30 / 90 + 50 / 90 * 60 / 90
    assert row.kappa == pytest.approx((60 / 90 - chance) / (1 - chance))
    assert (row.rho, row.rho_low) == (-1, None)


def test_two_methods_that_share_few_facts_are_not_compared():
    one, few, enough = (of(str(n), {f"f{at}": (at % 2 == 0, 0.0) for at in range(n)}) for n in (99, 19, 20))
    assert agreements("d", "m", [few, one]) == []
    assert [row.n for row in agreements("d", "m", [enough, one])] == [20]


def test_facts_of_one_subject_are_one_draw_of_an_agreement():
    """They agree on all facts of five subjects, and on none of five others."""
    apart = [of(name, {f"f{at}": (at < limit, 0.0) for at in range(100)}) for name, limit in (("a", 25), ("b", 75))]
    subjects = pl.Series("subject", [f"s{at // 10}" for at in range(100)])
    together = [one._replace(facts=one.facts.with_columns(subjects)) for one in apart]
    wide, narrow = (agreements("d", "m", found)[0] for found in (together, apart))
    assert wide.agreement == narrow.agreement == 0.5
    assert wide.agreement_high - wide.agreement_low > 2 * (narrow.agreement_high - narrow.agreement_low)
    assert wide.kappa == narrow.kappa and wide.kappa_high - wide.kappa_low > 2 * (narrow.kappa_high - narrow.kappa_low)
    assert narrow.kappa_low == pytest.approx(kappa(25, 0, 50, 25).low)


@pytest.mark.parametrize(("grades", "said"), [((2, 2), False), ((5, 9), False), ((2, 40), True), ((40, 40), True)])
def test_a_rank_correlation_of_few_values_has_no_interval(grades, said):
    """Of right and wrong alone it is phi, of which the interval would hold the truth too rarely."""
    found = [of(f"m{n}", {f"f{at}": (False, float(at * n // 80)) for at in range(80)}) for n in grades]
    found[1].facts[0, "score"] = 3.0
    [row] = agreements("d", "m", found)
    assert row.rho is not None and (row.rho_low is not None) == said


def test_cohens_own_example_has_his_kappa():
    """Cohen 1960, table 2, as shares of 200 in two categories: agreement .70, by chance .50."""
    assert kappa(70, 30, 30, 70).value == pytest.approx(0.4)


def test_of_verdicts_kappa_counts_who_says_what_alone():
    """Of twelve things both call five true, the first alone three, the second alone one: 8 agree, by chance 6."""
    first, second = [True] * 8 + [False] * 4, [True] * 5 + [False] * 3 + [True] + [False] * 3
    assert cohens_kappa(first, second).value == pytest.approx((8 - 6) / (12 - 6))


def test_kappa_is_one_for_full_agreement_and_none_where_nothing_varies():
    value, low, high = kappa(30, 0, 0, 30)
    assert (value, high) == (1.0, 1.0) and low == pytest.approx(2 * wilson(1.0, 60).low - 1), "chance gives a half"
    value, low, high = kappa(0, 30, 30, 0)
    assert (value, low) == (-1.0, -1.0) and high == pytest.approx(2 * wilson(0.0, 60).high - 1)
    assert kappa(0, 0, 0, 9).value is None
    assert -1 <= kappa(0, 5, 5, 0).value < 0


def test_each_fact_is_counted_once_a_method_that_asked_it():
    rows = of_facts("d", "m", [of("a", {"f": (True, 0.0), "g": (False, 0.0)}), of("b", {"f": (True, 0.0)})])
    assert [(row.fact_id, row.methods, row.known) for row in rows] == [("f", 2, 2), ("g", 1, 0)]
    assert of_facts("d", "m", []) == []


def test_a_fact_is_known_where_more_than_half_of_its_items_are_right():
    frame = pl.DataFrame(
        {
            "fact": ["f", "f", "g", "g", "h", "i"],
            "hit": [True, True, True, False, None, False],
            "score": [1.0] * 6,
            "relation": ["r"] * 6,
            "subject": ["s"] * 6,
            "bucket": [None] * 6,
            "dose": [None] * 6,
            "object_dose": [None] * 6,
            "outcome": ["correct"] * 6,
            "experiment": ["e"] * 6,
        }
    )
    [found] = called(Judged("s", "d", "m", frame), (Method("e", "E", {"experiment": "e"}),))
    assert dict(found.facts.select("fact", "known").rows()) == {"f": True, "g": False, "i": False}


def test_answers_that_are_mostly_not_in_the_form_say_nothing_of_facts():
    def said(invalid, missing, error, hit=0.0):
        counts = {"correct": 10 - invalid, "missing": missing, "invalid": invalid, "error": error}
        outcomes = [name for name, count in counts.items() for _ in range(count)]
        many = len(outcomes)
        frame = pl.DataFrame({"fact": [f"f{at}" for at in range(many)], "outcome": outcomes, "score": [1.0] * many})
        frame = frame.with_columns(
            pl.when(pl.col("outcome") == "invalid").then(hit).otherwise(1.0).alias("hit"),
            *(pl.lit(one).alias(one) for one in ("relation", "subject", "experiment")),
            *(pl.lit(None, pl.Int64).alias(one) for one in ("bucket", "dose", "object_dose")),
        )
        [found] = called(Judged("s", "d", "m", frame), (Method("e", "E", {"experiment": "experiment"}),))
        return found.followed

    assert said(invalid=5, missing=0, error=0)
    assert not said(invalid=6, missing=0, error=0)
    assert not said(invalid=6, missing=9, error=9)  # to abstain is allowed, and no error is an answer
    assert not said(invalid=6, missing=0, error=0, hit=None), "what cannot be judged is counted, too"


def test_the_facts_that_all_methods_asked_are_counted_for_each_of_them():
    def asked(method, first, last, known):
        numbers = range(first, last)
        columns = {
            "fact": [f"f{at:03}" for at in numbers],
            "hit": [float(at % 10 < known) for at in numbers],
            "relation": [f"r{at % 2}" for at in numbers],
            "subject": [f"s{at}" for at in numbers],
            **{name: [int((at % 10 < known) == (name == "correct")) for at in numbers] for name in OUTCOMES[:2]},
            **{name: [0 for _ in numbers] for name in OUTCOMES[2:]},
        }
        where = {"experiment": method}
        return Called("s", Method(method, method, where), where, pl.DataFrame(columns))

    found = [asked("a", 0, 100, 5), asked("b", 40, 140, 2), asked("c", 0, 140, 1)]
    rows = list(on_same_facts("d", "m", found))
    assert [(row.value, row.n, row.n_correct) for row in rows] == [
        (pytest.approx(share), 60, round(60 * share)) for share in (0.5, 0.2, 0.1)
    ]
    assert {tuple(conditions_of(row)["fact"]) for row in rows} == {tuple(f"f{at:03}" for at in range(40, 100))}
    assert all(row.low < row.value < row.high for row in rows)
    assert not list(on_same_facts("d", "m", found[:1])), "one method has nobody to be compared with"
    for apart in (asked("d", 90, 140, 5), asked("d", 90, 101, 5)):
        assert list(on_same_facts("d", "m", [*found, apart])) == rows, "one that shares ten facts is left out"
        assert not list(on_same_facts("d", "m", [found[0], apart])), "ten facts are too few"


def test_a_model_has_one_colour_in_the_figures_of_all_methods():
    def row(model, **where):
        counts = (9, 3, 6, 0, 0, 0)
        own = ("s", "d", model, None, "accuracy", as_text(where), "mean", ("hit",), 0.4, 0.3, 0.5, None, *counts)
        return Measure(*own)

    rows = [row("second", dose=dose, shots=dose) for dose in (0, 4)]
    with coloured({"first": look(0), "second": look(1)}):
        drawn = [lines_along(rows, "dose", "accuracy"), by_shots(rows, {}, 0.1)]
    colours = {to_hex(figure.axes[0].lines[0].get_color()) for figure in drawn}
    assert colours == {COLOURS[1].lower()}
