"""FactEval's numbers on answers that are counted by hand."""

import dataclasses

import pytest

from almanac import tables
from almanac.rows import Entity, Exposure, Fact, FactEvalVerdict, Item, Link, Measure, Outcome, Response
from almanac.statistics.intervals import wilson
from almanac.suites.facteval.judging import Answer
from almanac.suites.facteval.measures import chances, recovers
from almanac.suites.facteval.measuring import measured
from almanac.suites.facteval.options import FactEvalOptions
from almanac.suites.method import Answered, Data

from .judged import question

NONE = "context=none"


def asked(rows, exposures=None):
    """Return what was asked and answered; a row is (fact, relation, question, answer or status)."""
    items, links, questions, responses, facts = [], [], [], [], {}
    for at, (name, relation, one, answer) in enumerate(rows):
        where = "" if one.negatives is None else f",negatives={one.negatives}"
        setting = f"origin={one.origin}{where},context={one.context}"
        experiment = f"{one.type}-{one.style}"
        item_id = f"{at}"
        items.append(Item(item_id, "facteval", experiment, name, relation, None, setting, one.gold))
        questions.append(dataclasses.replace(one, item_id=item_id, relation_id=relation))
        links.append(Link(item_id, "answer", f"q{at}", None, None))
        text = None if isinstance(answer, Answer) else (answer,)
        status = answer.outcome if isinstance(answer, Answer) else "ok"
        responses.append(
            Response(f"q{at}", {"error": "too_long", "missing": "refused"}.get(status, "ok"), None, texts=text)
        )
        facts[name] = Fact(name, relation, f"s-{name}", f"o-{name}", *[None] * 3, (), "test", "test")
    return Answered(
        "m", "d", Data(facts=list(facts.values())), items, links, [], responses, {"questions": questions}, exposures
    )


def slices(found, mode="paper"):
    return {
        (row.experiment, row.setting.replace(f",mode={mode}", ""), row.metric, row.relation_id, row.exposure): row
        for row in found.measures
        if f"mode={mode}" in row.setting
    }


SAQ = [
    ("a1", "a", question("saq", "Paris", domain="places", cardinality="N-1"), "Paris"),
    ("a2", "a", question("saq", "Rome", domain="places", cardinality="N-1"), "It is Oslo"),
    ("a3", "a", question("saq", "Oslo", domain="places", cardinality="N-1"), "I don't know"),
    ("b1", "b", question("saq", ("x1", "x2"), domain="people", cardinality="N-M"), "x1 and x3"),
    ("b2", "b", question("saq", ("y1", "y2"), domain="people", cardinality="N-M"), "y1, y2"),
    ("b3", "b", question("saq", "z"), Answer(None, "error")),
    ("b4", "b", question("saq", "z"), Answer(None, "missing")),
]


def test_precision_recall_and_f1_are_pooled_over_relations():
    found = slices(measured(asked(SAQ), FactEvalOptions()))
    key = "saq-wh", f"origin=template,{NONE}"
    # By hand: 3 correct, 1 incorrect, 2 abstained, 1 error.
    values = {metric: found[*key, metric, None, None] for metric in ("precision", "recall", "f1", "abstained")}
    assert values["precision"].value == 3 / 4
    assert values["recall"].value == 3 / 6
    assert values["f1"].value == pytest.approx(2 * 0.75 * 0.5 / 1.25)
    assert values["abstained"].value == 2 / 6
    for row in values.values():
        assert (row.n, row.n_correct, row.n_incorrect, row.n_missing, row.n_error) == (7, 3, 1, 2, 1)
        assert row.low <= row.value <= row.high
    assert found[*key, "f1", "a", None].value == pytest.approx(2 * 1 / (2 * 1 + 2 * 1 + 1))
    assert found[*key, "f1", "b", None].value == pytest.approx(2 * 2 / (2 * 2 + 1))


def test_parts_are_by_domain_cardinality_and_number_of_true_objects():
    found = slices(measured(asked(SAQ), FactEvalOptions()))
    base = f"origin=template,{NONE}"
    parts = {
        key[1].removeprefix(base + ","): row for key, row in found.items() if key[2] == "recall" and key[1] != base
    }
    assert {name: (row.value, row.n) for name, row in parts.items()} == {
        "domain=places": (1 / 3, 3),
        "domain=people": (1.0, 2),
        "cardinality=N-1": (1 / 3, 3),
        "cardinality=N-M": (1.0, 2),
        "answers=single": (1 / 4, 5),
        "answers=multiple": (1.0, 2),
    }


def test_lists_have_partial_credit_beside_the_papers_any_match():
    found = slices(measured(asked(SAQ), FactEvalOptions()))
    several = f"origin=template,{NONE},answers=multiple"
    values = {metric: found["saq-wh", several, metric, None, None].value for metric in LISTED}
    assert values == pytest.approx({"list_precision": 0.75, "list_recall": 0.75, "list_f1": 0.75, "recall": 1.0})
    # Over all: precision (1 + 0 + ½ + 1) / 4 of those who answered, recall and F1 over all six.
    overall = {metric: found["saq-wh", f"origin=template,{NONE}", metric, None, None].value for metric in LISTED}
    assert overall == pytest.approx(
        {"list_precision": 2.5 / 4, "list_recall": 2.5 / 6, "list_f1": 2.5 / 6, "recall": 0.5}
    )


LISTED = ("list_precision", "list_recall", "list_f1", "recall")


def tfq(truth, answer, name="f", **other):
    return (name, "a", question("tfq", truth=truth, negatives="relation", **other), answer)


def test_an_invalid_verdict_counts_as_incorrect_and_is_counted_apart():
    rows = [tfq(True, "CORRECT"), tfq(False, "CORRECT"), tfq(True, "Paris"), tfq(False, "UNKNOWN")]
    found = slices(measured(asked(rows), FactEvalOptions()))
    key = "tfq-statement", f"origin=template,negatives=relation,{NONE}"
    precision = found[*key, "precision", None, None]
    assert (precision.value, precision.n_invalid) == (1 / 3, 1)
    assert found[*key, "recall", None, None].value == 1 / 4
    assert found[*key, "valid", None, None].value == 2 / 4
    true = found[key[0], key[1] + ",statements=true", "precision", None, None]
    assert (true.value, true.n) == (1 / 2, 2)


def test_statements_of_one_fact_make_no_interval_narrower():
    said = {"u": "unknown", "v": "unknown", "w": "CORRECT", "x": "CORRECT"}
    key = "tfq-statement", f"origin=template,negatives=relation,{NONE}", "abstained", None, None
    once, twice = (
        slices(measured(asked(rows), FactEvalOptions()))[key]
        for rows in (
            [tfq(True, answer, name) for name, answer in said.items()],
            [tfq(truth, answer, name) for name, answer in said.items() for truth in (True, False)],
        )
    )
    assert (twice.value, twice.low, twice.high) == pytest.approx((once.value, once.low, once.high))


@pytest.mark.parametrize(("answer", "followed"), [("New York", False), ("York", True), ("York, New York", True)])
def test_a_wrong_object_within_the_name_of_the_true_one_is_not_followed(answer, followed):
    one = question("saq", "New York", context="antifactual", stated="York", changed=True)
    found = measured(asked([("f", "a", one, answer)]), FactEvalOptions())
    assert {row.follows for row in found.beside["verdicts"]} == {followed}


@pytest.mark.parametrize(
    ("answer", "followed"),
    [("The New York Times", False), ("New York", True), ("New York City", True), ("New York\nTimes Square", True)],
)
def test_a_wrong_object_within_the_name_of_a_third_is_not_followed_but_to_the_released_scorer(answer, followed):
    whole = asked(
        [("a", "a", question("saq", "Paris", context="antifactual", stated="New York", changed=True), answer)]
    )
    names = {"Q1": ("New York", ("New York City",)), "Q2": ("New York Times", ()), "Q3": ("New York City Ballet", ())}
    facts = [Fact(f"f-{key}", "a", key, key, *[None] * 3, (), "train", "test") for key in names]
    entities = [Entity(key, label, aliases, None) for key, (label, aliases) in names.items()]
    whole = dataclasses.replace(whole, data=Data(entities=entities, facts=[*whole.data.facts, *facts]))
    found = {row.mode: row.follows for row in measured(whole, FactEvalOptions()).beside["verdicts"]}
    assert found == {"paper": followed, "official": True}


def test_both_modes_stand_side_by_side():
    rows = [tfq(False, "not correct"), ("g", "a", question("saq", "1982"), "19")]
    found = measured(asked(rows), FactEvalOptions())
    verdicts = {(row.item_id, row.mode): row.outcome for row in found.beside["verdicts"]}
    assert verdicts == {
        ("0", "paper"): "correct",
        ("0", "official"): "incorrect",
        ("1", "paper"): "incorrect",
        ("1", "official"): "correct",
    }
    assert [row.outcome for row in found.outcomes] == ["correct", "incorrect"]  # one outcome an item: mode paper
    assert slices(found, "official")["saq-wh", f"origin=template,{NONE}", "f1", None, None].value == 1
    assert slices(found)["saq-wh", f"origin=template,{NONE}", "f1", None, None].value == 0


def test_where_all_abstain_f1_is_0_without_an_interval():
    found = slices(measured(asked([tfq(True, "unknown"), tfq(False, "I don't know")]), FactEvalOptions()))
    row = found["tfq-statement", f"origin=template,negatives=relation,{NONE}", "f1", None, None]
    assert (row.value, row.low, row.high) == (0.0, None, None)


def test_where_nothing_was_answered_there_is_no_number():
    found = measured(asked([tfq(True, Answer(None, "error"))]), FactEvalOptions())
    assert {row.value for row in found.measures} == {None}


def test_the_average_is_over_types_and_styles_unweighted():
    rows = [
        *(tfq(True, "CORRECT", f"t{at}") for at in range(9)),
        ("m", "a", question("mcq", "A", choices=("A", "B"), negatives="relation", style="fib"), "B"),
        ("n", "a", question("saq", "A"), "A"),
        ("n", "a", question("saq", "A", style="fib"), "B"),
    ]
    found = slices(measured(asked(rows), FactEvalOptions()))
    row = found["all", f"negatives=relation,{NONE}", "average_f1", None, None]
    assert (row.value, row.n) == ((1 + 0 + 1 + 0) / 4, 12)


def saq_in(context, name, answer, **other):
    return (name, "a", question("saq", "Paris", context=context, text=f"{name}?", **other), answer)


def test_robustness_compares_the_same_questions():
    rows = [
        *(
            saq_in("none", name, answer)
            for name, answer in zip("uvwxyz", ("Paris", "Paris", "no", "no", "Paris", "Paris"), strict=True)
        ),
        saq_in("antifactual", "u", "Rome", stated="Rome", changed=True),
        saq_in("antifactual", "v", "Paris", stated="Rome", changed=True),
        saq_in("antifactual", "w", "Paris", stated="Rome", changed=True),
        saq_in("antifactual", "x", "It is Rome", stated="Rome", changed=True),
        saq_in("antifactual", "y", "Paris", stated="Rome", changed=False),  # nothing was replaced
        saq_in("antifactual", "z", Answer(None, "error"), stated="Rome", changed=True),
    ]
    found = slices(measured(asked(rows), FactEvalOptions()))
    own = {metric: found["saq-wh", "origin=template,context=antifactual", metric, None, None] for metric in
           ("f1_without", "f1_with", "kept", "gained", "followed", "no_ops")}  # fmt: skip
    # By hand, over u v w x: right without u v, right with v w.
    assert {metric: (row.value, row.n) for metric, row in own.items()} == {
        "f1_without": (0.5, 4),
        "f1_with": (0.5, 4),
        "kept": (0.5, 2),
        "gained": (0.5, 2),
        "followed": (0.5, 4),
        "no_ops": (1 / 6, 6),
    }


def test_recovery_and_abstention_are_by_dose():
    doses = {"a1": 64, "a2": 0, "a3": 0, "b1": 64, "b2": 4, "b3": 64, "b4": 0}
    found = slices(measured(asked(SAQ, [Exposure(*one) for one in doses.items()]), FactEvalOptions()))
    key = "saq-wh", f"origin=template,{NONE}"
    assert {dose: found[*key, "accuracy_by_exposure", None, dose].value for dose in (0, 4, 64)} == {0: 0, 4: 1, 64: 1}
    abstained = {dose: found[*key, "abstained_by_exposure", None, dose] for dose in (0, 4, 64)}
    assert {dose: row.value for dose, row in abstained.items()} == {0: 2 / 3, 4: 0, 64: 0}
    # The variance of three subjects, with 2 below, stands for two observations.
    assert (abstained[0].low, abstained[0].high) == pytest.approx(wilson(2 / 3, 2)[1:])
    # An abstention is no hit: never taught, and of the three two say so.
    assert found[*key, "never_accuracy", None, None].value == 0
    assert found[*key, "recovery_auc", None, None].value == 1


def test_what_validates_recovery_is_the_short_answer_without_a_passage():
    rows = [*SAQ[:1], saq_in("relevant", "u", "Paris"), tfq(True, "CORRECT")]
    items = asked(rows).items
    assert [recovers(item) for item in items] == [True, False, False]
    assert chances(items, []) == {"saq-wh": 0, "tfq-statement": 0.5}


def test_the_tables_can_be_written(tmp_path):
    rows = [*SAQ, tfq(True, "CORRECT"), saq_in("relevant", "a1", "<b>&\x00\x07" + "x" * 10_000)]
    found = measured(asked(rows), FactEvalOptions())
    for name, row, own in (
        ("measures", Measure, found.measures),
        ("outcomes", Outcome, found.outcomes),
        ("verdicts", FactEvalVerdict, found.beside["verdicts"]),
    ):
        path = tmp_path / f"{name}.parquet"
        tables.write(path, row, own)
        assert tables.read(path, row) == own
