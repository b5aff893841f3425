"""IC-LKE's numbers, by hand."""

import math
import random
import statistics

import numpy as np
import polars as pl
import pytest
from tests.suites.support import Trial, number, ok, silent

from almanac import tables
from almanac.rows import Choices, Entity, Fact, Measure, NotAsked, Template
from almanac.statistics.intervals import wilson
from almanac.statistics.ranks import auc, spearman
from almanac.suites.chapter import Shown
from almanac.suites.data import Data
from almanac.suites.ic_lke.choices import chance
from almanac.suites.ic_lke.eic import Eic
from almanac.suites.ic_lke.generated import Generated
from almanac.suites.ic_lke.options import IcLkeOptions
from almanac.suites.ic_lke.positions import Positions
from almanac.suites.ic_lke.prompts import Prompts
from almanac.suites.ic_lke.separators import Separators
from almanac.suites.ic_lke.suite import IcLke
from almanac.suites.ic_lke.sweep import Sweep
from almanac.suites.judged import OUTCOMES, Judged, Not, Range, from_text

# Each fact: relation, subject, the shares of its four choices (the true one last), and the status of the response.
ASKED = {
    "a1": ("a", "s1", (0.1, 0.1, 0.1, 0.7), "ok"),
    "a2": ("a", "s1", (0.1, 0.15, 0.1, 0.65), "ok"),
    "a3": ("a", "s2", (0.55, 0.15, 0.1, 0.2), "ok"),
    "a4": ("a", "s3", (0.25, 0.25, 0.25, 0.25), "ok"),
    "b1": ("b", "s4", (0.02, 0.02, 0.01, 0.95), "ok"),
    "b2": ("b", "s5", (0.2, 0.2, 0.05, 0.55), "ok"),
    "c1": ("c", "s6", (0.85, 0.025, 0.025, 0.1), "ok"),
    "c2": ("c", "s7", None, "too_long"),
}
ALL = {"experiment": "in_context", "shots": 0, "draw": 0}
SURE = {**ALL, "hit": Not()}


def answered(folder, asked=ASKED, doses=None, order=None, cloze=None, **options):
    """Ask facts and answer them so; log-probabilities lack a common constant, as a model's do."""
    facts = [
        Fact(name, relation, subject, f"o{name[-1]}", *[None] * 3, (), "test", "test")
        for name, (relation, subject, _, _) in asked.items()
    ]
    keys = sorted({key for fact in facts for key in (fact.subject_id, fact.object_id)})
    rows = {
        "facts": facts,
        "entities": [Entity(key, key, (), None) for key in keys],
        "choices": [Choices(fact.fact_id, tuple("xyz"), tuple("xyz")) for fact in facts],
        "templates": [Template(name, name, "[X] is [Y].", "statement", "t", None, ()) for name in "abc"],
    }
    if order is not None:
        rows = {name: random.Random(order).sample(own, len(own)) for name, own in rows.items()}

    def reply(question):
        if question.item.experiment == "cloze" and cloze is not None:
            return silent(cloze)
        shares, status = asked[question.item.fact_id][2:]
        return silent(status) if shares is None else ok(logprobs=tuple(math.log(share) - 40.0 for share in shares))

    settings = IcLkeOptions(shots=0, cloze=cloze is not None, **options)
    return Trial(folder, IcLke(), Data.of(**rows), settings, doses=doses).ask().answer(reply)


def test_accuracy_is_the_mean_of_the_relations_shares(tmp_path):
    rows = answered(tmp_path).measures()
    # By hand: a 2 of 4 (a tie loses), b 2 of 2, c 0 of 1 (one has no answer).
    shares = {relation: number(rows, "accuracy", **ALL, relation=relation).value for relation in "abc"}
    assert shares == {"a": 0.5, "b": 1.0, "c": 0.0}
    overall = number(rows, "accuracy", **ALL)
    assert overall.value == 0.5
    assert overall.low < 0.5 < overall.high
    assert (overall.n, overall.n_correct, overall.n_incorrect, overall.n_error) == (8, 4, 3, 1)
    assert (overall.n_missing, overall.n_invalid) == (0, 0)


def test_probability_mass_is_the_mean_share_of_the_true_choice(tmp_path):
    rows = answered(tmp_path).measures()
    # By hand: a (.7 + .65 + .2 + .25) / 4 = .45, b (.95 + .55) / 2 = .75, c .1; together 1.3 / 3.
    for relation, value in {"a": 0.45, "b": 0.75, "c": 0.1}.items():
        assert number(rows, "probability_mass", **ALL, relation=relation).value == pytest.approx(value)
    assert number(rows, "probability_mass", **ALL).value == pytest.approx(1.3 / 3)


def test_accuracy_at_k_is_over_the_facts_answered_with_that_confidence(tmp_path):
    apart = {name: (relation, name, *rest) for name, (relation, _, *rest) in ASKED.items()}
    rows, shared = answered(tmp_path / "apart", apart).measures(), answered(tmp_path / "shared").measures()
    # By hand: the largest shares are .7 .65 .55 .25 (a), .95 .55 (b), .85 (c); a's .55 and the .85 are of wrong ones.
    for level, n, correct in ((0.2, 7, 4), (0.5, 6, 4), (0.6, 4, 3), (0.8, 2, 1), (0.9, 1, 1)):
        row = number(rows, "accuracy_at_k", **ALL, confidence=Range(level))
        assert (row.n, row.n_correct) == (n, correct)
        assert (row.value, row.low, row.high) == pytest.approx(tuple(wilson(correct / n, n)))
    fewer = number(shared, "accuracy_at_k", **ALL, confidence=Range(0.2))
    assert (fewer.value, fewer.n) == (4 / 7, 7)
    assert fewer.high - fewer.low > wilson(4 / 7, 7).high - wilson(4 / 7, 7).low, "a subject's facts are one draw"


def test_fewer_facts_are_surer(tmp_path):
    rows = [row for row in answered(tmp_path).measures() if row.metric == "accuracy_at_k"]
    levels = [from_text(row.where)["confidence"].least for row in rows]
    assert levels == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    assert [row.n for row in rows] == sorted((row.n for row in rows), reverse=True)


def test_chance_is_one_in_as_many_as_there_are_choices(tmp_path):
    assert number(answered(tmp_path).measures(), "chance", **ALL).value == 0.25


def test_chance_is_a_mean_over_relations_where_some_have_fewer_choices():
    frame = pl.DataFrame(
        {
            "relation": ["few", "few", "few", "many", "silent"],
            "offered": [2, 2, 2, 10, 3],
            "hit": [True, False, True, False, None],
            "outcome": ["correct", "incorrect", "correct", "incorrect", "error"],
        }
    )
    assert chance(Judged("ic_lke", "d", "m", frame)).value == pytest.approx((1 / 2 + 1 / 10) / 2)
    assert chance(Judged("ic_lke", "d", "m", frame.filter(relation="silent"))).value is None


def test_a_table_of_measures_names_each_slice_once(tmp_path):
    doses = {name: (0, 4)[at % 2] for at, name in enumerate(ASKED)}
    rows = answered(tmp_path / "asked", doses=doses, cloze="unsupported", draws=2).measures()
    assert tables.write(tmp_path / "measures.parquet", Measure, rows) == len(rows)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [("too_long", "error"), ("unsupported", "error"), ("failed", "error"), ("refused", "missing")],
)
def test_what_was_not_answered_is_counted_and_left_out(tmp_path, status, outcome):
    known = {name: row for name, row in ASKED.items() if name != "c2"}
    unknown = {f"x{at}": (relation, f"t{at}", None, status) for at, relation in enumerate("aabbbd")}
    plain, mixed = (
        answered(tmp_path / name, asked).measures() for name, asked in (("plain", known), ("mixed", known | unknown))
    )
    for metric in ("accuracy", "probability_mass"):
        for part in ({}, *({"relation": relation} for relation in "abc")):
            first, second = (number(rows, metric, **ALL, **part) for rows in (plain, mixed))
            assert (first.value, first.low, first.high) == (second.value, second.low, second.high)
        assert number(mixed, metric, **ALL, relation="d").value is None
        overall = number(mixed, metric, **ALL)
        assert (overall.n, getattr(overall, f"n_{outcome}")) == (13, 6)
        assert overall.n == sum(getattr(overall, f"n_{kind}") for kind in OUTCOMES)
    at_k = [[row for row in rows if row.metric == "accuracy_at_k"] for rows in (plain, mixed)]
    assert at_k[0] == at_k[1]


def test_a_model_that_answers_nothing_has_no_number_at_all(tmp_path):
    unknown = {name: (*row[:2], None, "unsupported") for name, row in ASKED.items()}
    rows = answered(tmp_path, unknown, {"a1": 0, "a2": 4}).measures()
    assert {row.value for row in rows} == {None}
    assert number(rows, "accuracy", **ALL).n_error == 8


def test_order_does_not_matter(tmp_path):
    doses = dict(zip(ASKED, (0, 4, 0, 4, 64, 64, 0, 64), strict=True))
    straight = answered(tmp_path / "straight", doses=doses).measures()
    assert straight == answered(tmp_path / "mixed", doses=dict(reversed(doses.items())), order=7).measures()


def test_the_deviation_is_of_the_accuracies_of_the_draws(tmp_path):
    """The paper's Table 9, a model each."""
    rows = answered(tmp_path / "several", draws=2, cloze="unsupported").measures()
    shots = next(from_text(row.where)["shots"] for row in rows if row.metric == "deviation_over_draws")
    values = [number(rows, "accuracy", experiment="in_context", shots=shots, draw=draw).value for draw in (0, 1)]
    found = number(rows, "deviation_over_draws", experiment="in_context", shots=shots)
    assert found.value == pytest.approx(statistics.stdev(values))
    alone = answered(tmp_path / "one", draws=1, cloze="unsupported").measures()
    assert "deviation_over_draws" not in {row.metric for row in alone}


def test_experiments_and_draws_are_measured_apart(tmp_path):
    rows = answered(tmp_path, draws=2, cloze="unsupported").measures()
    overall = {
        (where["experiment"], where["shots"], where["draw"]): (row.value, row.n)
        for row in rows
        if row.metric == "accuracy" and "relation" not in (where := from_text(row.where))
    }
    assert overall == {
        ("in_context", 0, 0): (0.5, 8),
        ("in_context", 0, 1): (0.5, 8),
        ("cloze", None, None): (None, 8),
    }


def test_facts_of_one_subject_count_as_one_draw(tmp_path):
    shares = [(0.1, 0.1, 0.1, 0.7), (0.7, 0.1, 0.1, 0.1)]
    apart = {f"f{at:02}": ("a", f"s{at}", shares[at % 4 < 2], "ok") for at in range(40)}
    joined = {name: (row[0], f"s{int(name[1:]) // 2}", *row[2:]) for name, row in apart.items()}
    wide, narrow = (
        number(answered(tmp_path / name, asked).measures(), "accuracy", **ALL)
        for name, asked in (("joined", joined), ("apart", apart))
    )
    assert wide.value == narrow.value == 0.5
    assert wide.high - wide.low > 1.2 * (narrow.high - narrow.low)


def test_recovery_is_over_the_facts_that_have_a_dose_and_an_answer(tmp_path):
    doses = {"a1": 64, "a2": 4, "a3": 0, "b1": 64, "c1": 0, "c2": 0}  # a4 and b2 have none, c2 no answer
    rows = answered(tmp_path, doses=doses).measures()
    by_dose = {dose: number(rows, "accuracy_by_exposure", **SURE, dose=dose) for dose in (0, 4, 64)}
    assert {dose: (row.value, row.n) for dose, row in by_dose.items()} == {0: (0.0, 2), 4: (1.0, 1), 64: (1.0, 2)}
    area = number(rows, "recovery_auc", **SURE, dose=(0, 64))
    assert (area.value, area.low, area.high) == auc([0.7, 0.95], [0.2, 0.1])
    rank = number(rows, "recovery_spearman", **SURE, dose=Not())
    assert (rank.value, rank.low, rank.high) == spearman([64, 4, 0, 64, 0], [1, 1, 0, 1, 0])
    never = number(rows, "never_accuracy", **SURE, dose=0)
    assert (never.value, never.low, never.high) == wilson(0, 2)
    # `n` is how many facts the number is of: top and never, all, never.
    assert (area.n, rank.n, never.n) == (4, 5, 2)


def test_without_exposures_there_is_no_recovery(tmp_path):
    metrics = {row.metric for row in answered(tmp_path).measures()}
    assert not metrics & {"accuracy_by_exposure", "recovery_auc", "prior_auc"}


def test_an_objects_frequency_is_all_its_doses_together(tmp_path):
    # The objects are o1 to o4, by the fact's last letter.
    frame = answered(tmp_path, doses={"a1": 4, "b1": 16, "c1": 0, "b2": 64, "elsewhere": 9}).judged().frame
    taught = dict(frame.select("object", "object_dose").rows())
    assert {key: taught[key] for key in ("o1", "o2", "o3")} == {"o1": 20, "o2": 64, "o3": 0}


def test_numbers_are_finite(tmp_path):
    for row in answered(tmp_path, doses={name: at for at, name in enumerate(ASKED)}).measures():
        assert all(value is None or np.isfinite(value) for value in (row.value, row.low, row.high))


@pytest.mark.parametrize("suite", [Eic, Generated, Positions, Prompts, Separators, Sweep])
def test_of_a_study_that_was_asked_nothing_there_is_no_table(suite):
    own = {"infixes": pl.DataFrame(schema=["relation_id", "separator", "text"])}
    refused = [NotAsked("relation P1", "it has no template")]
    found = suite().chapter(Shown("d", 4, [], refused=refused, own=own), suite.options.model_construct())
    assert list(found.parts) == ["1 not asked; the first: relation P1 (it has no template)."]


@pytest.mark.parametrize("layout", ["paper", "code"])
def test_the_prediction_is_the_choice_without_its_separator(tmp_path, layout):
    asked = answered(tmp_path, layout=layout)
    labels = {label for row in asked.data.offered["offered"] for label in row}
    assert {row.prediction for row in asked.outcomes()} - {None} <= labels


def test_the_chapter_says_how_examples_are_written(tmp_path):
    for layout, written in (("paper", "“subject object subject"), ("code", "“subject : object , subject : object")):
        asked = answered(tmp_path / layout, layout=layout)
        assert written in asked.suite.chapter(asked.shown(), asked.options).asks
