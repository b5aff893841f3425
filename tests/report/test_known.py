"""What the page says is known: facts that most know and fewest know, and how much of each relation."""

from almanac.report.known import FactFound, RelationFound, tables
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
        ("relation", "m", "n", "chance", "facts"),
        False,
        True,
    )
    shown = [(link.text, *(one.value for one in known), chance, facts) for link, *known, chance, facts in table.rows]
    assert shown == [("author", 0.9, None, 0.05, 8), ("area", 0.1, 0.6, 0.05, 8), ("capital", 0.2, 0.4, 0.05, 8)]
    assert table.rows[0][0].target == "#relation=real%2Fa"
    assert (table.rows[1][1].low, table.rows[1][1].high) == (0.0, 1.0)
    several = list(tables([], [*found, found[0]._replace(dataset="world")]))
    assert [(one.name, one.folded) for one in several] == [("relations-real", True), ("relations-world", True)]
