"""Template and model-written wordings: which are compared, and what is averaged."""

import pytest

from almanac.rows import Item
from almanac.suites.facteval.analyses import Similarity
from almanac.suites.facteval.similarity import Pair, pairs, similarity

from .judged import question


def asked(rows):
    """Return items and questions of (fact, question) rows."""
    items, questions = [], []
    for at, (fact, kind, other) in enumerate(rows):
        one = question(kind, "x", item_id=str(at), **other)
        items.append(Item(str(at), "facteval", "e", fact, one.relation_id, None, "s", ()))
        questions.append(one)
    return items, questions


def test_wordings_of_one_fact_and_style_are_paired():
    written = {"origin": "written"}
    rows = [
        ("f", "tfq", {"truth": True, "text": "A is B."}),
        ("f", "tfq", {"truth": False, "text": "A is C."}),
        ("f", "tfq", {"truth": True, "text": "B it is that A is."} | written),
        ("f", "tfq", {"truth": False, "text": "C it is that A is."} | written),
        ("f", "saq", {"style": "fib", "text": "A is [MASK]."}),
        ("f", "mcq", {"style": "fib", "text": "A is [MASK].", "choices": ("x", "y")}),
        ("f", "saq", {"style": "fib", "text": "A is [MASK].", "context": "relevant"}),
        ("f", "saq", {"style": "fib", "text": "[MASK] is A."} | written),
        ("g", "saq", {"style": "fib", "text": "G is [MASK]."}),
        ("h", "saq", {"style": "wh", "text": "What is H?"} | written),
    ]
    assert pairs(*asked(rows)) == [
        Pair("fib", "r", "A is [MASK].", "[MASK] is A."),
        Pair("statement", "r", "A is B.", "B it is that A is."),
    ]


def test_the_mean_is_over_relations():
    found = [Pair("wh", relation, "t", text) for relation, text in (("a", "1"), ("a", "0"), ("a", "0.5"), ("b", "1"))]
    rows = {row.relation_id: row for row in similarity(found, lambda written, _: Similarity(*[float(written)] * 3))}
    assert rows[None].pairs == 4
    assert (rows["a"].f1, rows["b"].f1, rows[None].f1) == pytest.approx((0.5, 1, 0.75))


def test_without_pairs_there_is_nothing():
    assert similarity([], lambda *_: Similarity(1, 1, 1)) == []
