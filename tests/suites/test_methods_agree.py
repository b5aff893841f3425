"""Methods held against each other on the same facts: by hand, and the limits of kappa."""

import polars as pl
import pytest

from almanac.suites.agreement import Called, agreements, called, kappa, of_facts
from almanac.suites.judged import Judged
from almanac.suites.suite import Method


def of(method, facts):
    """What a method calls facts: by name, known and score."""
    rows = [(name, known, score) for name, (known, score) in facts.items()]
    return Called("s", method, "{}", pl.DataFrame(rows, ["fact", "known", "score"], orient="row"))


def test_two_methods_are_counted_on_the_facts_that_both_asked():
    one = of("a", {f"f{at}": (at < 50, float(at)) for at in range(100)})
    other = of("b", {f"f{at}": (at < 30 or at >= 90, float(-at)) for at in range(10, 110)})
    [row] = agreements("d", "m", [one, other])
    assert (row.n, row.both, row.first, row.second, row.neither) == (90, 20, 20, 10, 40)
    assert row.agreement == pytest.approx(60 / 90) and row.agreement_low < row.agreement < row.agreement_high
    chance = 40 / 90 * 30 / 90 + 50 / 90 * 60 / 90
    assert row.kappa == pytest.approx((60 / 90 - chance) / (1 - chance))
    assert row.rho == -1


def test_cohens_own_example_has_his_kappa():
    """Cohen 1960, table 2, as shares of 200 in two categories: agreement .70, by chance .50."""
    assert kappa(70, 30, 30, 70).value == pytest.approx(0.4)


def test_kappa_is_one_for_full_agreement_and_none_where_nothing_varies():
    assert kappa(5, 0, 0, 5) == (1.0, 1.0, 1.0)
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
            "experiment": ["e"] * 6,
        }
    )
    [found] = called(Judged("s", "d", "m", frame), (Method("e", "E", {"experiment": "e"}),))
    assert dict(found.facts.select("fact", "known").rows()) == {"f": True, "g": False, "i": False}
