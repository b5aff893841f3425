"""What the page says is known: how much of each relation, and facts that most know and fewest know."""

from almanac.report.asked import FactsAsked
from almanac.report.known import FactFound, facts_table, of_relations
from almanac.report.lines import asked_by
from almanac.rows import Measure, RelationCount
from almanac.suites.headline import ABOVE_CHANCE, NOT_ABOVE, TOO_FEW, Finding
from almanac.suites.suite import Method


def test_facts_that_most_know_and_fewest_know_are_shown_and_lead_to_their_answers():
    facts = [FactFound("world", f"P|Q{at}", f"fact {at}", at, at, 10) for at in range(9)]
    table = facts_table(facts)
    assert [(row[1], row[2].text, row[3]) for row in table.rows] == [
        *(("known", f"fact {at}", f"{at} of 10") for at in (8, 7, 6)),
        *(("unknown", f"fact {at}", f"{at} of 10") for at in (2, 1, 0)),
    ]
    assert table.rows[0][2].target == "#fact=world%2FP%7CQ8"
    assert facts_table([]) is None


def test_times_taught_are_explained_where_they_stand_and_one_fact_is_known():
    facts = [FactFound("world", f"P|Q{at}", "", None, 10 - at, 10) for at in range(9)]
    table = facts_table(facts)
    assert "times taught" not in table.on_page.head and "Times taught" not in table.caption
    assert "1 is known by all that asked them" in table.caption and table.caption.count("  ") == 0
    taught = facts_table([one._replace(dose=8) for one in facts])
    assert "times taught" in taught.on_page.head and "Times taught" in taught.caption


def test_half_of_the_facts_are_told_of_only_where_they_were_asked_by_fewer():
    assert asked_by([19, 20, 20]) == "each asked by 19 to 20"
    assert asked_by([3, 4, 9]) == "each asked by 3 to 9, half of them by at most 4"
    assert asked_by([3, 3]) == "each asked by 3"


def test_what_all_know_is_not_called_unknown_and_what_none_knows_not_known():
    def kinds(*known):
        table = facts_table([FactFound("world", f"P|Q{at}", "", None, count, 2) for at, count in enumerate(known)])
        return [(row[1], row[3]) for row in table.rows]

    assert kinds(*[2] * 9) == [("known", "2 of 2")] * 3
    assert kinds(*[0] * 9) == [("unknown", "0 of 2")] * 3
    assert kinds(*[2] * 9, 1) == [("known", "2 of 2")] * 3 + [("unknown", "1 of 2")]


def test_facts_that_few_methods_asked_are_not_among_those_that_most_know_or_fewest():
    asked = [FactFound("world", f"P|Q{at}", f"fact {at}", at, int(at == 4), at + 1) for at in range(9)]
    table = facts_table(asked)
    assert [row[3] for row in table.rows] == ["1 of 5", "0 of 7", "0 of 8", "0 of 9"]  # most sure last
    assert "of 5 facts of dataset world, 0 are known by all that asked them and 4 by none" in table.caption


def number(metric, value, p=None, model="m", where='{"method":"a"}', n=24):
    """Return a number of so many items, of which four have no answer."""
    return Measure("suite", "d", model, None, metric, where, "mean", ("hit",), value, 0.0, 1.0, p, n, 0, 0, 0, 0, 4)


def finding(method, facts, verdict=NOT_ABOVE, model="m"):
    where = f'{{"method":"{method}"}}'
    return Finding(Method(method, method.upper(), {}), number("headline", 0.5, None, model, where), None, None, facts,
                   None, verdict)  # fmt: skip


def numbers(of, model="m", method="a"):
    """Return what is known of relations: by relation the share, chance, p, and p without what names give away."""
    for relation, (share, chance, p, *without) in of.items():
        where = f'{{"method":"{method}","relation":"{relation}"}}'
        yield number("known_of_relation", share, None, model, where)
        yield number("chance_of_relation", chance, p, model, where)
        yield number("given_of_relation", 0.25, *(without or [p]), model, where)


FACTS = FactsAsked("d", [RelationCount(one, one.upper(), True, *[0] * 8) for one in "pqrst"])


def test_relations_are_told_by_the_tested_method_with_most_facts_and_adjusted_for_all_of_them():
    found = [finding("b", 90), finding("a", 100, ABOVE_CHANCE), finding("c", 500, TOO_FEW)]
    of = {"p": (0.9, 0.3, 0.01), "q": (0.5, 0.1, 0.006), "r": (0.2, 0.1, 0.3), "s": (0.1, 0.1, None)}
    of["t"] = (0.2, 0.3, 1e-9)  # whatever a test says: no more is known than by chance
    other = numbers({"p": (0.0, 0.0, 1e-9)}, method="b")
    [one] = of_relations(found, [*numbers(of), *other], [FACTS])
    assert (one.dataset, one.method, list(one.models)) == ("d", "A", ["m"])
    assert [(row.label, bool(row.above)) for row in one.relations] == [
        ("Q", True),  # .006 × 4 is at most .025
        ("P", False),  # .01 × 3 is more
        ("R", False),
        ("T", False),
        ("S", False),
    ]
    assert str(one) == "Dataset d: 1 of 5 relations is above chance, by A: Q."
    table = one.table(several=False)
    assert table.head == ("relation", "above chance", "beyond names", "known", "chance", "by names", "answers")
    assert (table.rows[0][0].text, table.rows[0][0].target) == ("Q", "#relation=d%2Fq")
    assert [(*row[1:3], row[3].value, *row[4:]) for row in table.rows[:2]] == [
        ("yes", "yes", 0.5, 0.1, 0.25, 20),
        ("not shown", "not shown", 0.9, 0.3, 0.25, 20),
    ]
    assert (table.narrow, table.folded, table.first) == (True, False, 12)
    alike = one._replace(relations=one.relations[1:]).table(several=False)
    assert alike.on_page.head == [*alike.head], "all columns that the caption explains, though all rows say one"
    assert table.caption.startswith("What is known of each relation, by A.\n\n"), "how many is said above it"
    assert one.table(several=True).folded


def test_of_several_models_each_has_a_column_and_the_verdict_names_those_that_know():
    found = [finding("b", 150), *(finding("a", 100, model=name) for name in ("m", "n", "o"))]
    known = {"m": {"p": (0.5, 0.1, 1e-4), "q": (0.1, 0.0, 0.5)}, "n": {"p": (0.6, 0.3, 1e-5)}}
    known["m"]["no answer"] = (None, 0.1, 1e-9)
    known["not tested"] = {"p": (1.0, 0.0, 1e-9), "q": (1.0, 0.0, 1e-9)}
    rows = [row for name, of in known.items() for row in numbers(of, name)]
    [one] = of_relations(found, rows, [FACTS])
    assert str(one) == "Dataset d: 1 of 2 relations is above chance for at least one model, by A: P."
    table = one.table(several=False)
    assert table.head == ("relation", "above chance", "beyond names", "m", "n", "o", "chance", "by names", "answers")
    first, second = table.rows
    assert (*first[1:3], first[3].value, first[4].value, *first[5:7]) == ("m, n", "m, n", 0.5, 0.6, None, 0.2)
    assert (*second[1:3], second[3].value, *second[4:7]) == ("not shown", "not shown", 0.1, None, None, 0.0)
    assert (table.narrow, table.folded) == (False, True)


def test_what_is_above_chance_also_without_facts_that_names_give_away_stands_first():
    """Of p, what is known may be names alone; of r nothing is above chance, whatever is without them."""
    of = {"p": (0.9, 0.1, 1e-6, 0.4), "q": (0.5, 0.1, 1e-6, 1e-4), "r": (0.1, 0.1, 0.5, 1e-6)}
    [one] = of_relations([finding("a", 99)], list(numbers(of)), [FACTS])
    assert str(one) == "Dataset d: 2 of 3 relations are above chance, by A: Q, P; beyond names: Q."
    verdicts = [row[1:3] for row in one.table(several=False).rows]
    assert verdicts == [("yes", "yes"), ("yes", "not shown"), ("not shown", "not shown")]
    [one] = of_relations([finding("a", 99)], list(numbers(of | {"q": (0.1, 0.1, 1.0)})), [FACTS])
    assert str(one).endswith("is above chance, by A: P; beyond names: none.")


def test_where_nothing_is_tested_nothing_is_told_of_relations():
    assert list(of_relations([finding("a", 9, TOO_FEW)], list(numbers({"p": (0.5, 0.1, 0.0)})), [FACTS])) == []
    assert list(of_relations([], [], [FACTS])) == []
    single = list(numbers({"p": (0.5, 0.1, 0.0)}))
    assert list(of_relations([finding("a", 99)], single, [FACTS])) == [], "the table of methods says it"
    many = {f"p{at}": (0.5, 0.1, 1e-6) for at in range(9)}
    [one] = of_relations([finding("a", 99)], list(numbers(many)), [FACTS])
    assert str(one) == "Dataset d: 9 of 9 relations are above chance, by A: p0, p1, p2, p3, p4, p5, 3 more."
    many = {f"p{at}": (0.5, 0.1, 1e-6) for at in range(15)}
    [one] = of_relations([finding("a", 99)], list(numbers(many)), [FACTS])
    assert one.table(several=False).first == 15, "all that are above chance are seen at once"
