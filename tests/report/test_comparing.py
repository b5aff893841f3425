"""Each two models side by side: one table of all methods, whose tests are adjusted together, and a sentence a pair."""

from dataclasses import replace

import pytest

from almanac.edition.pairs import MODELS
from almanac.report.comparing import chapter, sentences
from almanac.report.known import RelationFound, RelationsFound
from almanac.rows import Measure
from almanac.suites.comparison import ALONE, BOTH
from almanac.suites.judged import as_text, from_text
from almanac.suites.listing import SUITES

WHERE = as_text(SUITES["ic_lke"].methods[0].where)


def difference(value, p, n=40, one="second", other="first", metric="difference"):
    row = ("ic_lke", "facts", one, other, metric, WHERE, "other", ("hit", "fact"))
    return Measure(*row, value, value - 0.1, value + 0.1, p, n, 0, 0, 0, 0, 0)


def test_each_pair_is_a_row_and_tests_are_adjusted_for_all_of_them():
    rows = [difference(0.2, 0.001), difference(0.1, 0.04), difference(-0.2, 0.002), difference(0.5, 0.9, n=3)]
    [table] = chapter([*rows, difference(0.3, 0.01, metric="pearson")]).parts
    assert [row[2:4] for row in table.rows] == [("second", "first")] * 4
    # Holm: the least p thrice, the next twice, the last once; of three facts nothing is tested.
    assert [row[6] for row in table.rows] == [pytest.approx(0.003), pytest.approx(0.04), pytest.approx(0.004), None]
    assert table.rows[3][5] is None


def test_a_sentence_names_the_methods_by_which_models_differ_and_how_much_while_these_are_few():
    rows = [difference(0.2, 0.001), difference(0.1, 0.04), difference(-0.25, 0.002)]
    assert sentences(rows) == [
        "On facts, second has more right than first by 2 of 3 methods compared "
        "(IC-LKE .200; IC-LKE .100), and fewer by 1 (IC-LKE .250)."
    ]
    [said] = sentences([difference(at / 10, 1e-9) for at in range(1, 7)])
    assert said.endswith("has more right than first by 6 of 6 methods compared (.100 to .600).")
    [said] = sentences([difference(-0.25, 0.002), difference(0.1, 0.9)])
    assert said == "On facts, second has fewer right than first by 1 of 2 methods compared (IC-LKE .250)."


def test_what_is_not_sure_is_said_to_be_not_distinguishable():
    assert sentences([difference(0.2, 0.2)]) == [
        "On facts, second and first do not differ by more than chance, by 1 method compared; the narrowest interval of "
        "second minus first is .100 to .300 (IC-LKE)."
    ]
    assert sentences([difference(0.2, 0.01, n=19)]) == ["No two models answered 20 facts of one method."]


def alone(count, one, other, where=WHERE):
    return replace(difference(count, None, one=one, other=other, metric=ALONE), low=None, high=None, where=where)


def test_how_many_facts_each_alone_knows_is_said_since_what_was_learnt_and_forgotten_may_cancel_each_other():
    both = alone(9, "second", "first"), alone(8, "first", "second"), replace(alone(7, "second", "first"), metric=BOTH)
    [said] = sentences([difference(0.02, 0.9), *both])
    assert "do not differ by more than chance" in said
    assert said.endswith(" By IC-LKE, 9 of 40 facts are known to second alone, 8 to first alone, and 7 to both.")
    [said] = sentences([difference(0.02, 0.9), *both], chosen=[("first", "second")])
    assert said.endswith("8 of 40 facts are known to first alone, 9 to second alone, and 7 to both.")
    none = [alone(0, "second", "first"), alone(0, "first", "second")]
    assert "alone" not in sentences([difference(0.0, 1.0), *none])[0]


def test_a_method_by_which_neither_knows_what_the_other_does_not_has_no_narrow_interval_to_tell():
    silent = as_text({**from_text(WHERE), "setting": "silent"})
    narrow = replace(difference(0.0, 1.0, n=50), low=-0.01, high=0.01, where=silent)
    both = [replace(alone(7, "second", "first", where), metric=BOTH) for where in (WHERE, silent)]
    rows = [difference(0.02, 0.9), narrow, alone(9, "second", "first"), alone(8, "first", "second"), *both]
    [said] = sentences(rows)
    assert "second minus first is −.080 to .120 (IC-LKE" in said
    assert "alone" not in said, "what each alone knows is told by the method with most facts"
    [said] = sentences([*rows, alone(1, "second", "first", silent)])
    assert "is −.010 to .010 (IC-LKE" in said and " 1 of 50 facts " in said


def test_many_pairs_take_one_sentence_and_very_many_no_chapter():
    pairs = [(f"m{one}", f"m{other}") for one in range(MODELS) for other in range(one)]
    rows = [difference(0.2, 1e-9 if at < 5 else 1.0, one=one, other=other) for at, (one, other) in enumerate(pairs)]
    told = f"Of {len(pairs)} comparisons of two models by one method"
    assert sentences(rows) == [f"{told}, 5 differ by more than chance, adjusted for all."]
    others = [difference(0.2, 1.0, one=f"planted {at}", other=None, metric="pearson") for at in range(3)]
    assert sentences([*rows, *others]) == sentences(rows)
    two = [*rows, difference(0.2, 1e-9, one="m1", other="m0"), difference(0.2, 1e-9, one="m1", other="m0")]
    assert sentences(two)[0].endswith("; most are between m1 and m0 (3 of 3 methods on facts).")
    [one] = sentences([*rows[:5], *(replace(row, p=1.0) for row in rows[:5]), *rows[6:]][4:])
    assert ", 1 differs by more than chance, adjusted for all; it is between " in one
    more = [*rows, difference(0.2, 1.0, one="one too many")]
    assert chapter(more) is None and "No two of these 10 models are compared" in sentences(more)[0]
    chosen = chapter([*rows, difference(0.2, 1.0, one="one too many")], [("m0", "m1")])
    [table] = chosen.parts
    assert table.rows[0][2:4] == ("m0", "m1") and len(table.rows) == 1, "in the order that was chosen"
    [stored] = [row for row in rows if (row.model, row.other) == ("m1", "m0")]
    own = table.rows[0][4]
    assert (own.value, own.low, own.high, own.p) == (-stored.value, -stored.high, -stored.low, stored.p)
    assert table.rows[0][5] == table.rows[0][6], "adjusted for itself alone"
    [alike] = chapter([difference(0.0, 1.0)], [("first", "second")]).parts[-1].rows
    assert str(alike[4].value) == "0.0"
    assert "before any result was seen" in chosen.asks
    assert sentences(more, chosen=[("m0", "m1")])[0].startswith("On facts, m0 has fewer right than m1")
    assert len(sentences(rows, chosen=pairs[:12])) == 12 and len(sentences(rows, chosen=pairs[:13])) == 1
    assert chapter([]) is None
    assert sentences([]) == []


def test_checkpoints_of_one_run_are_compared_with_the_one_before_however_many_there_are():
    steps = [f"step-{step}" for step in range(100, 1300, 100)]
    rows = [difference(0.2, 0.001, one=one, other=other) for at, one in enumerate(steps) for other in steps[:at]]
    [table] = chapter(rows).parts
    assert [row[2:4] for row in table.rows] == list(zip(steps[1:], steps, strict=False))
    assert table.rows[0][6] == pytest.approx(0.011), "adjusted for these 11 alone"
    baseline = [difference(0.2, 0.001, one=one, other="baseline") for one in steps]
    assert len(chapter([*rows, *baseline]).parts[0].rows) == 11 + 12, "a run counts as one of the models"


def test_how_many_facts_one_of_two_models_alone_has_right_stands_in_their_row_and_opens_them():
    where = as_text({**from_text(difference(0.1, 0.3).where), "fact": ["f1", "f2"]})
    alone = [
        replace(difference(300, None, one="second", other="first", metric=ALONE), low=None, high=None),
        replace(difference(2, None, one="first", other="second", metric=ALONE), low=None, high=None, where=where),
    ]
    [table] = chapter([difference(0.1, 0.3), *alone]).parts
    row = dict(zip(table.head, table.rows[0], strict=True))
    assert (row["model"], row["one alone"], row["facts"]) == ("second", 300, 40), "too many to be listed"
    assert row["other alone"] == alone[1] and row["both"] is None
    [table] = chapter([difference(0.1, 0.3), replace(alone[0], metric=BOTH)], [("first", "second")]).parts
    assert dict(zip(table.head, table.rows[0], strict=True))["both"] == 300, "in whatever order"


def test_that_models_differ_from_one_that_was_taught_nothing_true_is_no_finding():
    rows = [difference(0.4, 1e-9, one="m", other="null"), difference(0.2, 1e-9, one="m", other="n")]
    assert [said.split()[2:5] for said in sentences(rows, ["null"])] == [["m", "has", "more"]]
    assert len(sentences(rows)) == 2 and sentences(rows[:1], ["null"]) == []
    many = [difference(0.2, 1.0, one=f"m{one}", other=f"m{other}") for one in range(MODELS - 3) for other in range(one)]
    [told] = sentences([*many, *rows], ["null"])
    assert told.startswith(
        f"Of {len(many) + 1} comparisons of two models by one method, those with a control left out, 1"
    )
    assert len(chapter(rows).parts[0].rows) == 2, "the table has it all the same"


def test_how_models_are_judged_alike_is_said_of_the_methods_that_need_it():
    method = next(one for one in SUITES["karr"].methods if one.compared)
    where = as_text({**method.where})
    of_karr = replace(difference(0.2, 0.01), suite="karr", where=where)
    note, _ = chapter([of_karr, replace(of_karr, model="third"), difference(0.1, 0.2)]).parts
    assert note == f"{method.label}: {method.compared}"


def relations(labels, where=WHERE):
    found = [RelationFound(name, label, {}, [], [], [], []) for name, label in labels.items()]
    return RelationsFound("ic_lke", "facts", where, "IC-LKE", ["first", "second"], found)


def of_relation(name, value, p, **of):
    where = as_text({**from_text(WHERE), "relation": name})
    return replace(difference(value, p, n=9, metric="difference_of_relation", **of), where=where)


def test_in_which_relations_models_differ_is_told_by_the_method_that_tells_of_relations_adjusted_for_all_of_them():
    rows = [
        difference(0.1, 0.01),
        of_relation("p", 0.5, 0.01),
        of_relation("q", -0.6, 0.02),
        of_relation("r", 0.7, 0.04),
    ]
    rows.append(of_relation("s", 0.1, 0.9))
    of = [relations({"p": "capital", "q": "currency", "r": "language"})]
    where = as_text({**from_text(of_relation("q", 0.1, 0.1).where), "fact": ["f1", "f2"]})
    lost = replace(of_relation("q", 2, None, one="first", other="second"), metric=ALONE, low=None, where=where)
    *_, table = chapter([*rows, lost], relations=of).parts
    assert [row[5:7] for row in table.rows] == [(0, 0), (0, 0), (0, lost), (0, 0)]
    assert [(row[0].text, row[3].value, row[4], row[7]) for row in table.rows] == [
        ("capital", 0.5, pytest.approx(0.04), 9),  # Holm: the least p four times
        ("language", 0.7, pytest.approx(0.08), 9),  # the second three times is .06, the third twice .08
        ("currency", -0.6, pytest.approx(0.06), 9),
        ("s", 0.1, 0.9, 9),
    ]
    assert table.rows[0][0].target == "#relation=facts%2Fp"
    *_, many = chapter([rows[0], *(of_relation(f"p{at}", 0.5, 1e-9) for at in range(15))], relations=of).parts
    assert (table.first, many.first) == (12, 15), "all that differ are seen at once"
    told = "On facts, by IC-LKE, second has more right than first in 1 of 4 relations (capital)."
    assert sentences(rows, relations=of)[1:] == [told]
    assert sentences(rows, chosen=[("first", "second")], relations=of)[1:] == [
        "On facts, by IC-LKE, first has fewer right than second in 1 of 4 relations (capital)."
    ], "in the order that was chosen"
    none = [replace(row, p=0.5) if row.metric == "difference_of_relation" else row for row in rows]
    assert sentences(none, relations=of)[1:] == [
        "On facts, by IC-LKE, second and first differ by more than chance in none of 4 relations."
    ]
    assert len(sentences(rows, ["first"], relations=of)) == 0, "nothing is said of a control"
    assert len(sentences(rows, relations=[relations({}, as_text({"another": "method"}))])) == 1
    both = sentences([*rows, of_relation("t", -0.9, 1e-9)], relations=of)[1]
    assert (
        both
        == "On facts, by IC-LKE, second has more right than first in 1 of 5 relations (capital), and fewer in 1 (t)."
    )
