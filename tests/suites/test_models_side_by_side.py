"""Models side by side: a board small enough to be read by eye, and identities that must hold on any."""

import itertools
import random
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.suites.support import number

from almanac import tables
from almanac.rows import Measure
from almanac.suites.chapter import Drawing, Entrant, Table
from almanac.suites.comparison import ALONE, DIFFERENCE_OF_RELATION, Board, compare, ordered, size_pairs
from almanac.suites.comparison_chapter import by_setting, chapter
from almanac.suites.headline import FEW
from almanac.suites.judged import Judged, Not, as_text, conditions_of, from_text
from almanac.suites.suite import Method

B = 1_000_000_000
ENTRANTS = [
    Entrant("llama-7b", "Llama", None, 7 * B),
    Entrant("llama-65b", "Llama", None, 65 * B),
    Entrant("llama-13b", "Llama", None, 13 * B),
    Entrant("vicuna-13b", "Llama", "llama-13b", 13 * B),
    Entrant("opt-6.7b", "OPT", None, 67 * B // 10),
    Entrant("masked", "masked"),
]
# Of two relations with four questions each, which ones are right (+), wrong (-) or without an answer (e).
MARKS = {
    "llama-7b": "++-- +---",
    "llama-65b": "++++ +-++",
    "llama-13b": "++-+ +--+",
    "vicuna-13b": "++-- +--+",
    "opt-6.7b": "+-+e --++",
    "masked": "eeee eeee",
}


METHOD = Method("in_context", "IC-LKE", {"experiment": "in_context"})


def judged(marks, relations=2, draws=1, popular=(None,)):
    """What became of marks: every relation has as many questions, each of a subject of its own; buckets in turn."""
    each = len(next(iter(marks.values())).replace(" ", "")) // relations
    kinds = {"+": "correct", "-": "incorrect", "e": "error"}
    found = {}
    for model, own in marks.items():
        rows = [
            (item, "in_context", draw, f"r{at // each}", f"q{at}", f"s{at}", popular[at % len(popular)], kinds[mark])
            for item, (draw, at, mark) in enumerate(
                (draw, at, mark) for draw in range(draws) for at, mark in enumerate(own.replace(" ", ""))
            )
        ]
        columns = ["item", "experiment", "draw", "relation", "fact", "subject", "bucket", "outcome"]
        frame = pl.DataFrame(rows, columns, orient="row").with_columns(pl.col("bucket").cast(pl.String))
        hit = pl.when(pl.col("outcome") != "error").then(pl.col("outcome") == "correct").alias("hit")
        untaught = (pl.lit(None, pl.Float64).alias(name) for name in ("score", "dose", "object_dose"))
        frame = frame.with_columns(hit, *untaught).with_columns(pl.col(pl.String).cast(pl.Categorical))
        found[model] = Judged("ic_lke", "d", model, frame)
    return found


def of_many_facts(rows):
    """The same numbers as if each relation had enough facts to be drawn."""
    return [replace(row, n=FEW) if row.metric == "relation_accuracy" else row for row in rows]


def together(*draws):
    """Several draws of the same questions, whose answers differ."""
    return {
        model: replace(
            own, frame=pl.concat(one[model].frame.with_columns(draw=pl.lit(at)) for at, one in enumerate(draws))
        )
        for model, own in draws[0].items()
    }


def board(found, entrants, method=METHOD):
    """What models answered, where a method has one setting."""
    [one] = Board.each(found, entrants, method)
    return one


def made(marks, entrants, relations=2):
    """The numbers between models of these marks."""
    return compare(board(judged(marks, relations), entrants))


ROWS = made(MARKS, ENTRANTS)
BY = {"experiment": "in_context"}


def value(metric, model=None, other=None, **where):
    """The one number of a metric, between these models, by these further conditions."""
    own = [row for row in ROWS if (row.metric, row.model, row.other) == (metric, model, other)]
    return number(own, metric, **BY, **where)


def test_the_board_has_mean_and_deviation_over_relations():
    assert value("mean_accuracy", "llama-65b", hit=Not()).value == pytest.approx((1 + 0.75) / 2)
    assert value("relation_deviation", "llama-65b").value == pytest.approx(0.25 / np.sqrt(2))
    # One question of OPT has no answer: two of three, and two of four.
    opt = value("mean_accuracy", "opt-6.7b", hit=Not())
    assert (opt.value, opt.n) == (pytest.approx((2 / 3 + 2 / 4) / 2), 7)


def test_where_subjects_have_a_popularity_head_torso_and_tail_are_told_apart():
    assert not [row for row in ROWS if row.metric == "popularity_accuracy"]
    every = compare(board(judged(MARKS, popular=("head", "torso", "tail", None)), ENTRANTS))
    rows = [row for row in every if row.metric == "popularity_accuracy"]
    found = {(row.model, from_text(row.where)["bucket"]): (row.value, row.n) for row in rows}
    # Of each relation the first question is of the head, the second of the torso, the third of the tail.
    assert {bucket: found["llama-13b", bucket] for bucket in ("head", "torso", "tail")} == {
        "head": (1.0, 2), "torso": (0.5, 2), "tail": (0.0, 2),
    }  # fmt: skip
    assert found["opt-6.7b", "tail"] == (1.0, 2) and not [model for model, _ in found if model == "masked"]
    tables_shown = [part for part in chapter(METHOD, every, ENTRANTS, {}).parts if isinstance(part, Table)]
    [table] = [part for part in tables_shown if part.name == "popularity"]
    assert table.head == ("model", "head", "torso", "tail")
    assert ("llama-13b", [1.0, 0.5, 0.0]) in [(row[0], [cell.value for cell in row[1:]]) for row in table.rows]


def drawn_names(figure, side):
    """The names of a map's rows (side 0, left of it) or columns (1, above it), in their order."""
    texts = [text for text in figure.axes[0].texts if text.get_position()[side] < 0]
    return [text.get_text() for text in sorted(texts, key=lambda text: text.get_position()[1 - side])]


def test_a_table_has_the_p_of_a_tuned_model_as_the_number_that_it_is():
    found = chapter(METHOD, ROWS, ENTRANTS, {})
    [table] = [part for part in found.parts if isinstance(part, Table) and part.name == "tuned"]
    shown = {(row[0], row[1]): row[table.head.index("p")] for row in table.rows}
    assert shown == {(row.model, row.other): row.p for row in ROWS if row.metric == "tuned_difference"}
    assert shown and all(isinstance(p, float) for p in shown.values())


def test_of_many_relations_those_with_most_and_fewest_right_answers_are_named_and_not_called_known():
    means = [row for row in ROWS if row.metric == "relation_mean"]
    [first, *_] = means
    assert conditions_of(first)["relation"] == "r0"
    assert first.value == pytest.approx((2 / 4 + 4 / 4 + 3 / 4 + 2 / 4 + 2 / 3) / 5)
    others = [row for row in ROWS if row.metric != "relation_mean"]

    def told(values):
        many = [
            replace(first, value=value, where=first.where.replace("r0", f"r{at:02}")) for at, value in enumerate(values)
        ]
        found = chapter(METHOD, of_many_facts([*others, *many]), ENTRANTS, {"r00": "the first"})
        return [one for one in found.parts if isinstance(one, str) and one.startswith("Most right answers")]

    assert told([(10 - at) / 10 for at in range(10)]) == [], "both would name all of them"
    [said] = told([(11 - at) / 20 for at in range(11)])
    assert said.startswith(
        "Most right answers, a mean over models: the first .550, r01 .500, r02 .450, r03 .400, r04 .350. "
        "Fewest: r06 .250, r07 .200, r08 .150, r09 .100, r10 .050. Chance is not taken off"
    )
    assert "Fewest" not in told([0.5] * 11)[0] and told([0.0] * 11) == []


def test_pre_trained_models_are_drawn_alone_where_tuned_ones_stand_beside():
    found = chapter(METHOD, of_many_facts(ROWS), ENTRANTS, {"r0": "first", "r1": "second"})
    drawn = {part.name: part.draw() for part in found.parts if isinstance(part, Drawing)}
    figures = (drawn["relations"], drawn["relations-pretrained"])
    every, alone = (set(drawn_names(one, 1)) for one in figures)
    assert every - alone == {"vicuna-13b"} and len(alone) == 4
    untuned = [one for one in ENTRANTS if one.base is None]
    names = [one.name for one in untuned]
    rows = made({name: MARKS[name] for name in names}, untuned)
    parts = chapter(METHOD, of_many_facts(rows), untuned, {}).parts
    assert not [part for part in parts if isinstance(part, Drawing) and part.name.endswith("pretrained")]
    # Their relations go by their own mean: as if nobody else had been asked.
    first = next(part.draw() for part in parts if isinstance(part, Drawing) and part.name == "relations")
    labels = {"first": "r0", "second": "r1"}
    order = [labels[name] for name in drawn_names(drawn["relations-pretrained"], 0)]
    assert order == drawn_names(first, 0)


def test_numbers_of_another_method_are_no_part_of_a_methods_chapter():
    others = [replace(row, where=as_text({"experiment": "sequence"})) for row in ROWS]
    assert by_setting(METHOD, [*ROWS, *others]) == {as_text(BY): ROWS}


def test_a_number_is_in_the_chapter_of_the_method_that_says_most_of_it():
    narrow = replace(METHOD, name="narrow", where={**METHOD.where, "wording": 0})
    others = [replace(row, where=as_text({**from_text(row.where), "wording": 0})) for row in ROWS]
    methods = (METHOD, narrow)
    assert by_setting(METHOD, [*ROWS, *others], methods) == {as_text(BY): ROWS}
    assert by_setting(narrow, [*ROWS, *others], methods) == {as_text({**BY, "wording": 0}): others}


def test_a_method_of_one_reading_has_its_chapter_where_the_suite_does_not_say_which():
    read = {**BY, "reading": "strict"}
    rows = [replace(row, where=as_text({**from_text(row.where), "reading": "strict"})) for row in ROWS]
    assert by_setting(METHOD, rows) == {as_text(read): rows}


def test_what_answered_nothing_is_on_the_board_without_a_number():
    row = value("mean_accuracy", "masked", hit=Not())
    assert (row.value, row.low, row.n) == (None, None, 0)
    assert not [
        row for row in ROWS if row.metric in ("relation_accuracy", "pearson") and "masked" in (row.model, row.other)
    ]


def test_families_go_by_the_member_closest_to_7_billion_and_members_by_accuracy():
    order = [row.model for row in ROWS if row.metric == "mean_accuracy"]
    # OPT-6.7B (.583) beats Llama-7B (.375), so OPT comes first though Llama-65B is the best of all.
    assert order == ["opt-6.7b", "llama-65b", "llama-13b", "vicuna-13b", "llama-7b", "masked"]


def test_of_members_equally_close_the_untuned_one_speaks_for_the_family():
    entrants = [
        Entrant("chat", "A", "plain", 7 * B),
        Entrant("plain", "A", None, 7 * B),
        Entrant("b", "B", None, 7 * B),
    ]
    assert ordered(entrants, {"chat": 0.9, "plain": 0.3, "b": 0.5}) == ["b", "chat", "plain"]
    assert ordered(entrants[::-1], dict.fromkeys(("chat", "plain", "b"), 0.5)) == ["chat", "plain", "b"], "A before B"


def test_a_member_of_unknown_size_or_without_an_answer_does_not_speak_for_the_family():
    entrants = [
        Entrant("large", "A", None, 70 * B),
        Entrant("unknown", "A"),
        Entrant("silent", "A", None, 7 * B),
        Entrant("b", "B", None, 7 * B),
    ]
    assert ordered(entrants, {"large": 0.4, "unknown": 0.9, "b": 0.5}) == ["b", "unknown", "large", "silent"]


def test_relations_are_ranked_by_their_mean_over_models():
    found = [(from_text(row.where)["relation"], row.n) for row in ROWS if row.metric == "relation_mean"]
    assert found == [("r0", 5), ("r1", 5)]
    assert value("relation_mean", relation="r0").value == pytest.approx((0.5 + 1 + 0.75 + 0.5 + 2 / 3) / 5)


def test_nulls_count_neither_for_relations_nor_for_subsumption_and_worlds_are_no_family():
    def planted(name, size, **more):
        return Entrant(name, "planted", None, size, **more)

    entrants = [planted("one", 1, world="w"), planted("two", 2, world="w"), planted("three", 3, world="v")]
    assert size_pairs(entrants) == [("one", "two")]
    assert size_pairs([planted("null", 1, world="w", permuted=True), *entrants[1:]]) == []
    rows = made({"one": "++++ +---", "null": "---- ----"}, [entrants[0], planted("null", 1, permuted=True)])
    assert [row.value for row in rows if row.metric == "relation_mean"] == [1.0, 0.25]


def test_subsumption_is_the_mean_over_relations_of_the_shared_part():
    # llama-7b knows 2 and 1; llama-65b knows all of them. vicuna knows 2 and 2, its base all of these.
    assert size_pairs(ENTRANTS) == [("llama-7b", "llama-65b")]
    assert value("subsumption_size", "llama-7b", "llama-65b").value == 1.0
    assert value("subsumption_tuned", "vicuna-13b", "llama-13b").value == 1.0
    assert value("subsumption_tuned", "vicuna-13b", "llama-13b").n == 4
    rows = made(
        {"small": "++++ +---", "large": "+--- -+++"}, [Entrant("small", "F", None, 1), Entrant("large", "F", None, 2)]
    )
    [eta] = [row.value for row in rows if row.metric == "subsumption_size"]
    assert eta == pytest.approx((1 / 4 + 0 / 1) / 2)


def test_tuned_against_base_is_paired():
    row = value("tuned_difference", "vicuna-13b", "llama-13b")
    assert row.value == pytest.approx((-0.25 + 0) / 2)
    assert row.low <= row.value <= row.high
    assert (row.p, row.n) == (1.0, 8)  # one question differs: a coin thrown once


def random_marks(models, relations, each, seed):
    chance = random.Random(seed)
    return {model: "".join(chance.choice("+-") for _ in range(relations * each)) for model in models}


@pytest.mark.parametrize("first", ["llama-13b", "vicuna-13b"])
def test_a_tuned_model_stands_against_its_base_wherever_both_stand_and_whatever_they_share(first):
    entrants = sorted((one for one in ENTRANTS if "-13b" in one.name), key=lambda one: one.name != first)
    for theirs, value in (("++-- eeee", -1 / 4), ("eeee +--+", None)):
        rows = made({"llama-13b": "++-+ eeee", "vicuna-13b": theirs}, entrants)
        [row] = [row for row in rows if row.metric in ("tuned_difference", "difference")]
        assert (row.metric, row.model, row.other) == ("tuned_difference", "vicuna-13b", "llama-13b")
        assert row.value == value


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 10**6))
def test_correlations_are_those_of_numpy_and_families_are_means_of_their_pairs(seed):
    entrants = [Entrant(name, name[0], None, 7) for name in ("a1", "a2", "b1")]
    marks = random_marks(("a1", "a2", "b1"), 6, 9, seed)
    rows = made(marks, entrants, relations=6)
    shares = {model: [own[at : at + 9].count("+") / 9 for at in range(0, 54, 9)] for model, own in marks.items()}
    if any(len(set(own)) == 1 for own in shares.values()):
        return
    matrix = {
        frozenset(pair): np.corrcoef(shares[pair[0]], shares[pair[1]])[0, 1]
        for pair in itertools.combinations(shares, 2)
    }
    for row in rows:
        if row.metric == "pearson":
            assert row.value == pytest.approx(matrix[frozenset((row.model, row.other))])
    cells = {frozenset((row.model, row.other)): row.value for row in rows if row.metric == "series_pearson"}
    between = (matrix[frozenset(("a1", "b1"))] + matrix[frozenset(("a2", "b1"))]) / 2
    assert cells[frozenset("ab")] == pytest.approx(between)
    assert cells[frozenset("a")] == pytest.approx(matrix[frozenset(("a1", "a2"))])
    assert cells[frozenset("b")] is None  # a family of one has no pair


def test_a_model_knows_all_that_it_knows():
    marks = random_marks(("one",), 3, 10, 4)
    rows = made(marks | {"two": marks["one"]}, [Entrant("one", "F"), Entrant("two", "F", "one")], relations=3)
    found = {row.metric: row for row in rows if row.other == "one"}
    assert found["subsumption_tuned"].value == 1.0
    assert (found["tuned_difference"].value, found["tuned_difference"].p) == (0.0, 1.0)


def test_facts_that_one_of_two_models_alone_has_right_are_counted_for_both():
    rows = made({"one": "+--- ++--", "two": "-+-- -++-"}, [Entrant("one", "F"), Entrant("two", "G")], relations=2)
    alone = {(row.model, row.other): (row.value, row.n) for row in rows if row.metric == ALONE}
    assert alone == {("one", "two"): (2, 2), ("two", "one"): (2, 2)}  # a fact of each relation either way
    of = judged({"one": "+--- ++--", "two": "-+-- -++-"})
    for row in rows:
        if row.metric == ALONE:
            listed, other = from_text(row.where), of[row.other].frame
            facts = of[row.model].where(listed).frame
            assert facts["hit"].to_list() == [True, True]
            assert not other.filter(pl.col("fact").is_in(list(listed["fact"])))["hit"].any()
    [difference] = [row for row in rows if row.metric == "difference"]
    assert difference.value == 0


def test_the_order_of_the_models_changes_nothing():
    assert made(MARKS, ENTRANTS[::-1])[:12] == ROWS[:12]


def test_the_numbers_of_one_model_count_the_items_that_they_say():
    found = judged(MARKS)
    for row in ROWS:
        if row.metric in ("mean_accuracy", "relation_accuracy"):
            assert found[row.model].where(from_text(row.where)).frame.height == row.n


def test_of_a_fact_that_is_asked_several_times_the_share_of_right_answers_counts():
    alike = judged(MARKS, draws=3)
    assert compare(board(alike, ENTRANTS)) == ROWS
    entrants = [Entrant("base", "F"), Entrant("tuned", "F", "base")]
    draws = ({"base": own, "tuned": theirs} for own, theirs in (("++-- ++", "++-+ +-"), ("++-- -e", "+--+ +-")))
    [one] = Board.each(together(*map(judged, draws)), entrants, METHOD)
    rows = {(row.metric, row.model): row for row in compare(one) if row.metric != "relation_accuracy"}
    # Of the first relation base has 1, 1, 0 and tuned 1, 1/2, 0; of the second base 0, 1/2, 1 (an error does not count)
    # and tuned 1, 1, 0.
    assert rows["mean_accuracy", "base"].value == pytest.approx((2 / 3 + 1.5 / 3) / 2)
    assert rows["mean_accuracy", "tuned"].value == pytest.approx((1.5 / 3 + 2 / 3) / 2)
    difference = rows["tuned_difference", "tuned"]
    assert difference.value == pytest.approx(rows["mean_accuracy", "tuned"].value - rows["mean_accuracy", "base"].value)
    # Half is not known: the tuned model knows one and two facts, of which base knows one and none.
    assert rows["subsumption_tuned", "tuned"].value == pytest.approx((1 + 0) / 2)
    assert (rows[ALONE, "tuned"].value, rows[ALONE, "base"].value) == (2, 2)
    listed = from_text(rows[ALONE, "tuned"].where)
    assert list(listed["fact"]) == ["q3", "q4"]


def test_a_model_that_did_not_follow_the_form_is_listed_and_has_no_difference_from_others():
    entrants = [Entrant(name, name) for name in ("one", "two", "astray")]
    found = judged({"one": "++-- +---", "two": "+--- +---", "astray": "+--- ----"})
    said = found["astray"].frame["outcome"].cast(pl.String).replace("incorrect", "invalid").cast(pl.Categorical)
    found["astray"] = replace(found["astray"], frame=found["astray"].frame.with_columns(said.alias("outcome")))
    rows = compare(board(found, entrants))
    assert {row.model for row in rows if row.metric == "mean_accuracy"} == {"one", "two", "astray"}
    assert [(row.model, row.other) for row in rows if row.metric == "difference"] == [("two", "one")]
    assert list(Board.each({"astray": found["astray"]}, entrants[2:], METHOD)) == [], "noughts of nobody's knowledge"


def test_each_setting_of_a_method_is_compared_by_itself():
    parted = replace(METHOD, by=("draw",))
    boards = list(Board.each(judged(MARKS, draws=2), ENTRANTS, parted))
    assert [one.where for one in boards] == [{**BY, "draw": 0}, {**BY, "draw": 1}]
    rows = [row for one in boards for row in compare(one)]
    of = by_setting(parted, [*rows, *ROWS])  # those of all draws together are of another method
    assert [[replace(row, where="") for row in own] for own in of.values()] == [
        [replace(row, where="") for row in ROWS] for _ in boards
    ]
    assert list(of) == [as_text(one.where) for one in boards]


def test_every_number_has_a_key_of_its_own(tmp_path):
    assert tables.write(tmp_path / "across.parquet", Measure, ROWS) == len(ROWS)


def test_where_each_model_is_a_family_of_its_own_nothing_is_said_of_families():
    marks = {"one": "+--- ++-- +++- ++++", "other": "++-- +--- ++++ +++-"}
    marks |= {"third": marks["one"], "fourth": marks["other"]}
    entrants = [Entrant(name, name, None, 2_000_000) for name in marks]
    rows = made(marks, entrants, 4)
    few = [row for row in rows if {row.model, row.other} <= {"one", "other", "third", None}]
    assert chapter(METHOD, of_many_facts(few), entrants, {}) is None, "the table of all methods says it of three"
    found = chapter(METHOD, of_many_facts(rows), entrants, {})
    [table] = [part for part in found.parts if isinstance(part, Table) and part.name == "correlations"]
    assert [row[2] for row in table.rows] == ["models"] * 6
    [board, said] = chapter(METHOD, rows, entrants, {}).parts
    assert board.name == "board" and said.startswith("Of a relation 4 facts are asked (the median), fewer than 20")
    captions = " ".join(part.caption for part in found.parts if isinstance(part, Drawing))
    assert "models are ordered by their accuracy" in captions
    assert "families" not in captions


def test_two_models_that_are_compared_have_a_difference_in_each_relation_and_others_have_none():
    def relations(*wanted, metric=DIFFERENCE_OF_RELATION):
        rows = compare(board(judged(MARKS), ENTRANTS), lambda one, other: {one, other} in map(set, wanted))
        return [row for row in rows if row.metric == metric and "relation" in from_text(row.where)]

    found = {from_text(row.where)["relation"]: row for row in relations(("llama-7b", "llama-65b"))}
    # Of four questions each: ++-- and +---, against ++++ and +-++.
    assert {name: (row.model, row.other, row.value, row.n) for name, row in found.items()} == {
        "r0": ("llama-65b", "llama-7b", 0.5, 4),
        "r1": ("llama-65b", "llama-7b", 0.5, 4),
    }
    assert [row.p for row in found.values()] == [0.5, 0.5], "two questions, each a coin's side"
    lost = relations(("llama-7b", "llama-65b"), metric=ALONE)
    assert [(row.model, row.other, row.value, from_text(row.where)["fact"]) for row in lost] == [
        ("llama-65b", "llama-7b", 2.0, ("q2", "q3")),
        ("llama-65b", "llama-7b", 2.0, ("q6", "q7")),
    ], "and the other way there is nothing"
    [tuned, _] = relations(("llama-13b", "vicuna-13b"))
    assert (tuned.model, tuned.other, tuned.value, tuned.p) == ("vicuna-13b", "llama-13b", -0.25, 1.0)
    assert len(relations(*itertools.combinations(MARKS, 2))) == 2 * 10, "all but those of a model without answers"
