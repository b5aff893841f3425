"""FactEval's numbers on answers that are counted by hand, and whether each can be made again from its items."""

import polars as pl
import pytest
from scipy.stats import binom

from almanac import tables
from almanac.rows import Entity, Fact, Measure, Outcome
from almanac.statistics.intervals import wilson
from almanac.suites import chance, headline
from almanac.suites.data import Data
from almanac.suites.facteval.measures import _paired, base_and_tuned
from almanac.suites.facteval.rows import AnswerVerdict
from almanac.suites.judged import conditions_of

from .running import SUITE, given

TOO_LONG = {"answer": None, "status": "too_long"}
REFUSED = {"answer": None, "status": "refused"}


def saq(fact, relation, gold, answer, **other):
    """Return a short question with what was answered: a text, or why there is none."""
    gold = [gold] if isinstance(gold, str) else list(gold)
    row = {
        "type": "saq",
        "fact_id": fact,
        "relation_id": relation,
        "gold": gold,
        "gold_object": gold,
        "text": f"{fact}?",
    }
    return row | (answer if isinstance(answer, dict) else {"answer": answer}) | other


def tfq(truth, answer, fact="f", **other):
    """Return a statement."""
    row = {"type": "tfq", "truth": truth, "fact_id": fact, "relation_id": "a", "negatives": "relation"}
    return row | (answer if isinstance(answer, dict) else {"answer": answer}) | other


SAQ = [
    saq("a1", "a", "Paris", "Paris", domain="places", cardinality="N-1"),
    saq("a2", "a", "Rome", "It is Oslo", domain="places", cardinality="N-1"),
    saq("a3", "a", "Oslo", "I don't know", domain="places", cardinality="N-1"),
    saq("b1", "b", ("x1", "x2"), "x1 and x3", domain="people", cardinality="N-M"),
    saq("b2", "b", ("y1", "y2"), "y1, y2", domain="people", cardinality="N-M"),
    saq("b3", "b", "z", TOO_LONG),
    saq("b4", "b", "z", REFUSED),
]


@pytest.fixture
def measured(tmp_path):
    """Return what judges and measures rows of one model."""
    return lambda rows, doses=None, **more: given(tmp_path, rows, doses, **more)["model"]


def test_precision_recall_and_f1_are_pooled_over_relations(measured):
    found = measured(SAQ)
    # By hand: 3 correct, 1 incorrect, 2 abstained, 1 error.
    values = {metric: found.one(metric, "saq-wh") for metric in ("precision", "recall", "f1", "abstained")}
    assert values["precision"].value == 3 / 4
    assert values["recall"].value == 3 / 6
    assert values["f1"].value == pytest.approx(2 * 0.75 * 0.5 / 1.25)
    assert values["abstained"].value == 2 / 6
    for row in values.values():
        assert (row.n, row.n_correct, row.n_incorrect, row.n_missing, row.n_error) == (7, 3, 1, 2, 1)
        assert row.low <= row.value <= row.high
    assert found.one("f1", "saq-wh", relation="a").value == pytest.approx(2 * 1 / (2 * 1 + 2 * 1 + 1))
    assert found.one("f1", "saq-wh", relation="b").value == pytest.approx(2 * 2 / (2 * 2 + 1))


def test_parts_are_by_domain_cardinality_and_number_of_true_objects(measured):
    found = measured(SAQ)
    parts = {
        (part, where[part]): (row.value, row.n)
        for row, where in found.conditions
        for part in ("domain", "cardinality", "object_type", "truth", "answers")
        if row.metric == "recall" and where["reading"] == "strict" and part in where
    }
    assert parts == {
        ("domain", "places"): (1 / 3, 3),
        ("domain", "people"): (1.0, 2),
        ("cardinality", "N-1"): (1 / 3, 3),
        ("cardinality", "N-M"): (1.0, 2),
        ("answers", "single"): (1 / 4, 5),
        ("answers", "multiple"): (1.0, 2),
    }


def test_lists_have_partial_credit_and_the_papers_any_match(measured):
    found = measured(SAQ)
    listed = ("list_precision", "list_recall", "list_f1", "recall")
    several = {metric: found.one(metric, "saq-wh", answers="multiple").value for metric in listed}
    assert several == pytest.approx({"list_precision": 0.75, "list_recall": 0.75, "list_f1": 0.75, "recall": 1.0})
    # Over all: precision (1 + 0 + ½ + 1) / 4 of those who answered, recall and F1 over all six.
    overall = {metric: found.one(metric, "saq-wh").value for metric in listed}
    assert overall == pytest.approx(
        {"list_precision": 2.5 / 4, "list_recall": 2.5 / 6, "list_f1": 2.5 / 6, "recall": 0.5}
    )
    assert not found.all("list_f1", reading="official")


def test_an_invalid_verdict_counts_as_incorrect_and_is_counted_apart(measured):
    found = measured([tfq(True, "CORRECT"), tfq(False, "CORRECT"), tfq(True, "Paris"), tfq(False, "UNKNOWN")])
    precision = found.one("precision", "tfq-statement")
    assert (precision.value, precision.n_invalid) == (1 / 3, 1)
    assert found.one("recall", "tfq-statement").value == 1 / 4
    assert found.one("valid", "tfq-statement").value == 2 / 3, "an abstention is no answer"
    true = found.one("precision", "tfq-statement", truth=True)
    assert (true.value, true.n) == (1 / 2, 2)


def test_statements_of_one_fact_make_no_interval_narrower(measured):
    said = {"u": "unknown", "v": "unknown", "w": "CORRECT", "x": "CORRECT"}
    once, twice = (
        measured([tfq(truth, answer, fact) for fact, answer in said.items() for truth in truths]).one(
            "abstained", "tfq-statement"
        )
        for truths in ([True], [True, False])
    )
    assert (twice.value, twice.low, twice.high) == pytest.approx((once.value, once.low, once.high))


@pytest.mark.parametrize(("answer", "followed"), [("New York", False), ("York", True), ("York, New York", True)])
def test_a_wrong_object_within_the_name_of_the_true_one_is_not_followed(measured, answer, followed):
    found = measured([saq("f", "a", "New York", answer, context="antifactual", stated="York", changed=True)])
    assert set(found.own["verdicts"]["follows"]) == {followed}


@pytest.mark.parametrize(
    ("answer", "followed"),
    [("The New York Times", False), ("New York", True), ("New York City", True), ("New York\nTimes Square", True)],
)
def test_a_wrong_object_within_the_name_of_a_third_is_not_followed_but_to_the_released_scorer(
    measured, answer, followed
):
    names = {"Q1": ("New York", ("New York City",)), "Q2": ("New York Times", ()), "Q3": ("New York City Ballet", ())}
    facts = [Fact(f"f-{key}", "a", key, key, *[None] * 3, (), "train", "test") for key in names]
    entities = [Entity(key, label, aliases, None) for key, (label, aliases) in names.items()]
    facts.append(Fact("f", "a", "s", "o", *[None] * 3, (), "test", "test"))
    row = saq("f", "a", "Paris", answer, context="antifactual", stated="New York", changed=True)
    found = measured([row], data=Data.of(entities=entities, facts=facts))
    follows = dict(found.own["verdicts"].select("reading", "follows").iter_rows())
    assert follows == {"strict": followed, "paper": True, "official": True}


def test_the_modes_stand_side_by_side(measured):
    found = measured([tfq(False, "not correct"), saq("g", "a", "1982", "19")])
    assert found.verdicts() == {
        (0, "strict"): "correct",
        (0, "paper"): "correct",
        (0, "official"): "incorrect",
        (1, "strict"): "incorrect",
        (1, "paper"): "incorrect",
        (1, "official"): "correct",
    }
    assert found.one("f1", "saq-wh", "official").value == 1
    assert found.one("f1", "saq-wh").value == 0


def test_where_all_abstain_f1_is_0_without_an_interval(measured):
    found = measured([tfq(True, "unknown"), tfq(False, "I don't know")])
    for metric in ("precision", "recall", "f1"):
        row = found.one(metric, "tfq-statement")
        assert (row.value, row.low, row.high) == (0.0, None, None)


def test_where_nothing_was_answered_there_is_no_number(measured):
    assert {row.value for row in measured([tfq(True, TOO_LONG), saq("g", "a", "x", TOO_LONG)]).measures} == {None}


def test_the_average_is_over_types_and_styles_unweighted(measured):
    rows = [
        *(tfq(True, "CORRECT", f"t{at}") for at in range(9)),
        saq("m", "a", "A", "B", choices=["A", "B"], negatives="relation", style="fib") | {"type": "mcq"},
        saq("n", "a", "A", "A"),
        saq("n", "a", "A", "B", style="fib"),
    ]
    [row] = measured(rows).all("average_f1", reading="strict")
    assert conditions_of(row)["negatives"] == (None, "relation")  # a short answer has no wrong objects
    assert (row.value, row.n) == ((1 + 0 + 1 + 0) / 4, 12)


def mcq(fact, answer, style, **other):
    """Return a question with the choices A, which is right, and B."""
    choices = {"choices": ["A", "B"], "negatives": "relation", "type": "mcq", "style": style}
    return saq(fact, "a", "A", answer, **other) | choices


# Of each of the paper's eight columns: its questions, answered by hand so that its three numbers are known.
EIGHT = [
    *(tfq(True, "CORRECT", f"u{at}", origin="template") for at in range(4)),  # 1, 1, 1
    *(tfq(True, answer, f"v{at}", origin="written") for at, answer in enumerate(("CORRECT", "unknown"))),  # 1, ½, ⅔
    *(mcq(f"w{at}", answer, "fib", origin="template") for at, answer in enumerate(("A", "B", "sorry"))),  # ½, ⅓, 2/5
    mcq("x", "B", "fib", origin="written"),  # 0, 0, 0
    mcq("x", "A", "wh", origin="written"),  # 1, 1, 1
    saq("y", "a", "A", "sorry", style="fib", origin="template"),  # 0, 0, 0
    saq("y", "a", "A", "A", style="fib", origin="written"),  # 1, 1, 1
    *(saq(f"z{at}", "a", "A", answer, origin="written") for at, answer in enumerate(("A", "B"))),  # ½, ½, ½
]
NINTH = [saq("y", "a", "A", "B", origin="template"), mcq("y", "B", "wh", origin="template")]  # not the paper's


@pytest.mark.parametrize("reading", ["strict", "paper", "official"])
def test_the_papers_average_is_of_exactly_its_eight_columns(measured, reading):
    found = measured(EIGHT + NINTH)
    values = {}
    for metric in ("precision", "recall", "f1"):
        [row] = found.all(f"paper_average_{metric}", reading=reading)
        assert row.n == len(EIGHT)
        values[metric] = row.value
    assert values == pytest.approx(
        {
            "precision": (1 + 1 + 1 / 2 + 0 + 1 + 0 + 1 + 1 / 2) / 8,
            "recall": (1 + 1 / 2 + 1 / 3 + 0 + 1 + 0 + 1 + 1 / 2) / 8,
            "f1": (1 + 2 / 3 + 2 / 5 + 0 + 1 + 0 + 1 + 1 / 2) / 8,
        }
    )
    [every] = found.all("average_f1", reading=reading)
    assert (every.value, every.n) == (pytest.approx(values["f1"] * 8 / 10), len(EIGHT) + 2)


def test_without_one_of_the_eight_there_is_no_average_of_the_papers(measured):
    assert not measured(EIGHT[:-2] + NINTH).all("paper_average_f1")


def after(context, fact, answer, **other):
    return saq(fact, "a", "Paris", answer, context=context, **other)


PASSAGES = [
    *(
        after("none", fact, answer)
        for fact, answer in zip("uvwxyz", ("Paris", "Paris", "no", "no", "Paris", "Paris"), strict=True)
    ),
    after("antifactual", "u", "Rome", stated="Rome", changed=True),
    after("antifactual", "v", "Paris", stated="Rome", changed=True),
    after("antifactual", "w", "Paris", stated="Rome", changed=True),
    after("antifactual", "x", "It is Rome", stated="Rome", changed=True),
    after("antifactual", "y", "Paris", stated="Rome", changed=False),  # nothing was replaced
    after("antifactual", "z", TOO_LONG, stated="Rome", changed=True),
    after("antifactual", "t", "Rome", stated="Rome", changed=True),  # was never asked without a passage
    after("relevant", "u", "Paris"),
]


def test_robustness_compares_the_same_questions(measured):
    found = measured(PASSAGES)
    metrics = ("f1_with", "f1_change", "kept", "gained", "followed", "no_ops")
    own = {metric: found.one(metric, "saq-wh", context="antifactual") for metric in metrics}
    own["f1_without"] = found.one("f1_without", "saq-wh", with_antifactual=True)
    # By hand, over u v w x: right without u v, right with v w.
    assert {metric: (row.value, row.n) for metric, row in own.items()} == {
        "f1_without": (0.5, 4),
        "f1_with": (0.5, 4),
        "f1_change": (0, 4),
        "kept": (0.5, 2),
        "gained": (0.5, 2),
        "followed": (0.5, 4),
        "no_ops": (1 / 7, 7),
    }
    assert own["f1_without"].n_correct == own["f1_with"].n_correct == 2
    assert -1 < own["f1_change"].low < 0 < own["f1_change"].high < 1
    assert found.one("kept", "saq-wh", context="relevant").n == 1


def test_recovery_and_abstention_are_by_dose(measured):
    found = measured(SAQ, {"a1": 64, "a2": 0, "a3": 0, "b1": 64, "b2": 4, "b3": 64, "b4": 0})
    right = {dose: found.one("accuracy_by_exposure", "saq-wh", dose=dose).value for dose in (0, 4, 64)}
    assert right == {0: 0, 4: 1, 64: 1}
    abstained = {dose: found.one("abstained_by_exposure", "saq-wh", dose=dose) for dose in (0, 4, 64)}
    assert {dose: row.value for dose, row in abstained.items()} == {0: 2 / 3, 4: 0, 64: 0}
    # Three subjects, asked once each.
    assert (abstained[0].low, abstained[0].high) == pytest.approx(wilson(2 / 3, 3)[1:])
    # An abstention is no hit: never taught, and of the three two say so.
    assert found.one("never_accuracy", "saq-wh").value == 0
    assert found.one("recovery_auc", "saq-wh").value == 1


def test_what_is_recovered_is_of_the_first_mode(measured):
    doses = {"a1": 64, "a2": 0}
    found = measured(SAQ, doses, modes=["official", "strict"])
    assert {where["reading"] for row, where in found.conditions if row.metric == "recovery_auc"} == {"official"}


def test_a_model_that_was_taught_nothing_recovers_nothing(measured):
    metrics = {row.metric for row in measured(SAQ).measures}
    assert "f1" in metrics and not {"recovery_auc", "abstained_by_exposure"} & metrics


def test_what_is_validated_is_the_short_answer_without_a_passage():
    validated = [one for one in SUITE.methods if one.validated]
    assert [one.where for one in validated] == [
        {"experiment": "saq-fib", "context": "none"},
        {"experiment": "saq-wh", "context": "none"},
    ]
    assert {one.guess for one in validated} == {0}
    assert {one.name: one.guess for one in SUITE.methods if not one.validated} == {
        "tfq-statement": 1 / 2,
        "mcq-fib": 1 / 4,
        "mcq-wh": 1 / 4,
    }


ALL = [
    *SAQ,
    *PASSAGES,
    tfq(True, "CORRECT"),
    tfq(False, "not correct", "g"),
    saq("m", "a", "A", "A", choices=["A", "B"], negatives="type", style="fib", domain="places") | {"type": "mcq"},
]


def recomputed(frame, formula, of):
    """Return a number as the page makes it: from the columns of its items."""
    kept = frame.drop_nulls(of).select(pl.col(of).cast(pl.Float64))
    if formula == "ratio":
        kept = kept.filter(pl.col(of[1]) > 0)
        return kept[of[0]].sum() / kept[of[1]].sum() if kept.height else 0.0
    return kept[of[0]].mean()


def test_each_number_is_made_again_from_its_items(measured):
    found = measured(ALL, {"a1": 64, "a2": 0, "u": 4, "v": 0})
    seen = set()
    for row in found.measures:
        items = found.judged.where(conditions_of(row)).frame
        assert (items.height, (items["outcome"] == "correct").sum()) == (row.n, row.n_correct), (row.metric, row.where)
        if row.formula in ("ratio", "mean") and row.value is not None:
            assert recomputed(items, row.formula, row.of) == pytest.approx(row.value, abs=1e-12), (
                row.metric,
                row.where,
            )
            seen.add(row.metric)
    assert seen >= {"precision", "recall", "f1", "abstained", "valid", "list_f1", "f1_without", "kept", "no_ops"}


def test_models_are_compared_before_and_after_tuning(tmp_path):
    rows = [row | {"model": "base-one"} for row in SAQ]
    rows += [row | {"model": "tuned-one"} | ({"answer": "Rome"} if row["fact_id"] == "a2" else {}) for row in SAQ]
    rows += [row | {"model": "tuned-two"} for row in SAQ]
    found = given(tmp_path, rows)
    judged = {name: own.judged for name, own in found.items()}
    across = SUITE.across(judged, None, SUITE.options(pairs=["base:tuned"]))
    assert {(row.model, row.other) for row in across} == {("tuned-one", "base-one")}
    values = {(row.metric, conditions_of(row)["reading"]): row.value for row in across}
    assert all(row.low < row.value < row.high for row in across)
    # By hand: 4 correct of 4 answered and 6 asked, after 3 of them.
    assert values["f1_difference", "strict"] == pytest.approx(2 * 4 / (2 * 4 + 2) - 2 * 3 / (2 * 3 + 2 * 1 + 2))
    assert values["abstained_difference", "strict"] == 0


def test_the_tables_can_be_written(measured, tmp_path):
    odd = saq("a1", "a", "Paris", "<b>&\x00\x07" + "x" * 10_000, context="relevant")
    found = measured([*SAQ, tfq(True, "CORRECT"), odd])
    tables.write(tmp_path / "measures.parquet", Measure, found.measures)
    assert tables.read(tmp_path / "measures.parquet", Measure) == found.measures
    for name, row, frame in (("o", Outcome, found.outcomes), ("v", AnswerVerdict, found.own["verdicts"])):
        with tables.writing(tmp_path / f"{name}.parquet", row) as writer:
            writer.add(frame.to_arrow())
        assert tables.count(tmp_path / f"{name}.parquet", row) == 3 * 9


def test_a_verdict_is_held_against_chance_as_it_was_read(measured):
    """A relation has one fact, and an answer other words than its verdict: chance is a half all the same."""
    said = {"true": "Yes, it is true.", "false": "That is not correct. The correct sentence is another."}
    facts = [f"{at}" for at in range(24)]
    rows = [
        tfq(truth, said["true" if truth or fact < "2" else "false"], fact, relation_id=fact, origin="template")
        for fact in facts
        for truth in (True, False)
    ]
    found = measured([*rows, tfq(True, "CORRECT", "a", origin="template"), tfq(False, "Paris", "a", origin="template")])
    own = {row.metric: row for row in found.headlines}
    told = sum(fact >= "2" for fact in facts)  # these facts alone say something
    assert own[headline.KNOWN].value == pytest.approx((24 + told + 1) / 50)
    assert own[chance.CHANCE].value == pytest.approx(24 / 50), "an answer without a verdict is not right by chance"
    assert own[chance.ABOVE].p == pytest.approx(binom.sf(told, told + 1, 1 / 2))


@pytest.mark.parametrize(
    ("gold", "said"), [("2345", ["2", "two"]), (["1982-05-22", "1983", "1984", "1985"], ["22 May 1982"])]
)
def test_numbers_and_dates_are_right_by_chance_as_they_are_right_however_they_are_written(measured, gold, said):
    for answer in said:
        rows = [
            saq(f"a{at}", "a", gold[max(0, at - 2)], f"Number a{at} has {answer}.", origin="template")
            for at in range(6)
        ]
        own = {row.metric: row for row in measured(rows).headlines}
        assert own[headline.KNOWN].value == 3 / 6
        assert own[chance.CHANCE].value == pytest.approx((3 * 2 / 5 + 3 * 3 / 5) / 6)


@pytest.mark.parametrize(("mode", "answer"), [("paper", "Kingdom"), ("official", "d")])
def test_chance_is_as_lax_as_the_mode_of_the_headline(measured, mode, answer):
    names = ["United Kingdom", "Kingdom of Spain", "Oslo", "Bern", "Kyiv", "Kyoto"]
    rows = [saq(f"a{at}", "a", name, answer, origin="template") for at, name in enumerate(names)]
    own = {row.metric: row for row in measured(rows, modes=(mode,)).headlines}
    assert own[headline.KNOWN].value == 2 / 6
    assert own[chance.CHANCE].value == pytest.approx((2 * 1 / 5 + 4 * 2 / 5) / 6)


@pytest.mark.parametrize("name", ["University of Wisconsin–Madison", "Musée de l’Orangerie", "Großglockner"])
def test_the_released_scorers_chance_reads_names_as_they_are_written(measured, name):
    rows = [
        saq(f"a{at}", "a", gold, f"Number {at} has {name}.", origin="template")
        for at, gold in enumerate([name, name, "Oslo", "Bern", "Kyiv", "Kyoto"])
    ]
    own = {row.metric: row for row in measured(rows, modes=("official",)).headlines}
    assert own[chance.CHANCE].value == pytest.approx((2 * 1 / 5 + 4 * 2 / 5) / 6)


@pytest.mark.parametrize("answer", ["{question} Oslo", "Oslo\nQuestion: of b? Rome, Bern, Kyiv and Kyoto"])
@pytest.mark.parametrize("mode", ["paper", "strict"])
def test_chance_is_of_what_was_read_of_an_answer_and_not_of_other_questions_in_it(measured, mode, answer):
    rows = []
    for at, name in enumerate(["Oslo", "Oslo", "Rome", "Bern", "Kyiv", "Kyoto"]):
        row = saq(f"a{at}", "a", name, "", origin="template", text=f"What is the capital of a{at}?")
        rows.append(row | {"answer": answer.format(question=row["text"])})
    own = {row.metric: row for row in measured(rows, modes=(mode,)).headlines}
    assert own[headline.KNOWN].value == 2 / 6
    assert own[chance.CHANCE].value == pytest.approx((2 * 1 / 5 + 4 * 2 / 5) / 6)


def test_abstentions_are_never_right_by_chance_whatever_else_they_say(measured):
    cities = ["Paris", "Paris", "Rome", "Oslo", "Bern", "Kyiv"]
    rows = [
        saq(f"a{at}", "a", city, "I'm not sure, but I think Paris", origin="template") for at, city in enumerate(cities)
    ]
    own = {row.metric: row for row in measured(rows).headlines}
    assert own[headline.KNOWN].value == own[chance.CHANCE].value == own[chance.ABOVE].value == 0


@pytest.mark.parametrize("answer", ["a city", "Paris, Rome, Oslo or Bern"])
def test_answers_in_which_no_choice_or_several_are_recognised_are_never_right_by_chance(measured, answer):
    choices = ["Paris", "Rome", "Oslo", "Bern"]
    rows = [
        {**saq(f"a{at}", "a", choices[at % 4], answer), "type": "mcq", "choices": choices, "origin": "template"}
        for at in range(8)
    ]
    own = {row.metric: row for row in measured(rows).headlines}
    assert own[headline.KNOWN].value == own[chance.CHANCE].value == own[chance.ABOVE].value == 0
    assert own[chance.ABOVE].p == 1


def test_a_pair_is_found_in_each_world_and_in_no_name_that_only_begins_like_it():
    models = ["base", "tuned", "base-w", "tuned-w", "base2", "tuned2"]
    assert base_and_tuned(models, ["base:tuned"]) == [("base", "tuned"), ("base-w", "tuned-w")]


def test_what_was_right_without_a_passage_was_so_in_the_same_mode():
    rows = [
        ("q", reading, context, True, hit)
        for reading, hits in {"strict": (True, True), "official": (False, True)}.items()
        for context, hit in zip(("none", "relevant"), hits, strict=True)
    ]
    found = _paired(pl.DataFrame(rows, ["question", "reading", "context", "counted", "hit"], orient="row"))
    passages = found.filter(context="relevant").select("reading", "right_without", "with_relevant").rows()
    assert passages == [("strict", True, True), ("official", False, True)]
