"""What the page says is known: facts that most know and fewest know, and how much of each relation."""

import numpy as np
import polars as pl
from scipy.stats import binom

from almanac.dataset.names import ObjectNames
from almanac.report.counting import Counting
from almanac.report.known import FactFound, RelationFound, sentences, tables
from almanac.report.written import write_table
from almanac.statistics.intervals import Estimate


def test_facts_that_most_know_and_fewest_know_are_shown_and_lead_to_their_answers():
    facts = [FactFound("world", f"P|Q{at}", f"fact {at}", at, at, 10) for at in range(9)]
    [table] = tables(facts, [])
    assert [(row[1], row[2].text, row[3]) for row in table.rows] == [
        *(("known", f"fact {at}", f"{at} of 10") for at in (8, 7, 6)),
        *(("unknown", f"fact {at}", f"{at} of 10") for at in (2, 1, 0)),
    ]
    assert table.rows[0][2].target == "#fact=world%2FP%7CQ8"
    assert list(tables([], [])) == []
    asked = [FactFound("world", f"P|Q{at}", f"fact {at}", at, int(at == 0), at + 1) for at in range(9)]
    assert [row[3] for table in tables(asked, []) for row in table.rows] == [
        "1 of 1",
        "0 of 7",
        "0 of 8",
        "0 of 9",
    ]  # most sure last


def test_relations_stand_by_what_is_known_of_them_a_table_a_dataset_and_a_model_a_column():
    of = {"capital": {"m": 0.2, "n": 0.4}, "author": {"m": 0.9}, "area": {"m": 0.1, "n": 0.6}}
    found = [
        RelationFound(
            "real", label[0], label, {model: Estimate(own, 0.0, 1.0) for model, own in known.items()}, 0.05, 8
        )
        for label, known in of.items()
    ]
    [table] = tables([], found)
    assert (table.name, table.head, table.folded, table.narrow) == (
        "relations-real",
        ("relation", "m", "n", "chance", "above chance", "facts"),
        False,
        True,
    )
    shown = [(link.text, *(one.value for one in known)) for link, *known, _, _, _ in table.rows]
    assert shown == [("author", 0.9, None), ("area", 0.1, 0.6), ("capital", 0.2, 0.4)]
    assert [row[-3:] for row in table.rows] == [(0.05, None, 8)] * 3
    assert "Above chance are 0 of 3." in table.caption
    [sure] = tables([], [found[0]._replace(above=["m", "n"]), found[1]])
    assert [row[-2] for row in sure.rows] == [None, "m, n"]
    [alone] = tables([], [found[1]._replace(above=["m"])])
    assert alone.rows[0][-2] == "yes"
    assert "Above chance are 1 of 1." in alone.caption
    assert table.rows[0][0].target == "#relation=real%2Fa"
    assert (table.rows[1][1].low, table.rows[1][1].high) == (0.0, 1.0)
    several = list(tables([], [*found, found[0]._replace(dataset="world")]))
    assert [(one.name, one.folded) for one in several] == [("relations-real", True), ("relations-world", True)]


def counted(hits, chances):
    """Return what is known of relations: the hits of a model by relation, a row a method and a column a fact."""
    counting = Counting([], {"d": ObjectNames({})}, {"d": {name: name for name in hits}})
    facts = [(name, f"{name}|s{at}") for name, own in hits.items() for at in range(own.shape[1])]
    names = {"fact": [fact for _, fact in facts], "relation": [name for name, _ in facts]}
    frame = pl.DataFrame(names | {"subject": names["fact"], "object": names["fact"]}).with_columns(dose=None)
    counting.name("d", frame)
    for at in range(len(next(iter(hits.values())))):
        own = pl.Series("hit", np.concatenate([one[at] for one in hits.values()]), pl.Float64)
        counting.count("d", "m", frame.with_columns(own), True, chances, chances)
    return {one.label: one for one in counting.relations()}


def test_a_relation_is_above_chance_by_the_tail_of_a_binomial_adjusted_for_all_relations():
    hits = {"a": np.zeros((2, 10)), "b": np.zeros((2, 10)), "c": np.zeros((2, 10))}
    hits["a"][:, :5] = 1
    hits["b"][:, :3] = 1
    hits["c"][0, :9] = 1  # by one of two methods: 4.5 of 10
    chances = {"a": 0.1, "b": 0.1, "c": 0.2}
    found = counted(hits, chances)
    assert [found[name].known["m"].value for name in "abc"] == [0.5, 0.3, 0.45]
    ps = {name: binom.sf(k - 1, 10, chances[name]) for name, k in (("a", 5), ("b", 3), ("c", 5))}
    assert ps["a"] * 3 < 0.025 < ps["c"] * 2
    assert {name: list(one.above) for name, one in found.items()} == {"a": ["m"], "b": [], "c": []}


def test_who_knows_nothing_is_above_chance_in_a_relation_of_few_pages_however_alike_its_methods_answer():
    rng, pages = np.random.default_rng(1), 200
    chances = {f"r{at}": chance for at, chance in enumerate((0.02, 0.05, 0.1, 0.25, 0.5) * 4)}
    wrong = 0
    for page in range(pages):
        draws = {name: rng.random((3, 12)) < chance for name, chance in chances.items()}
        if page % 2:  # all methods answer as the first does
            draws = {name: np.repeat(own[:1], 3, axis=0) for name, own in draws.items()}
        wrong += any(one.above for one in counted(draws, chances).values())
    assert wrong <= binom.ppf(0.999, pages, 0.025)


def test_a_run_ends_with_the_relations_that_are_above_chance(tmp_path):
    of = {"author": ["m"], "capital": []} | {f"r{at}": ["m"] for at in range(8)}
    found = [
        RelationFound(dataset, label, label, {"m": Estimate(0.5, 0.1, 0.9)}, 0.1, 9, above if dataset == "real" else [])
        for dataset in ("real", "world")
        for label, above in of.items()
    ]
    for table in tables([], found):
        write_table(table, tmp_path, f"answer-{table.name}")
    assert list(sentences(tmp_path)) == [
        "Dataset real: 9 of 10 relations are above chance (author, r0, r1, r2, r3, r4, 3 more).",
        "Dataset world: 0 of 10 relations are above chance.",
    ]
