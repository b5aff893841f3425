"""Each two models side by side: one table of all methods, whose tests are adjusted together, and a sentence a pair."""

import pytest

from almanac.report.comparing import MODELS, chapter
from almanac.rows import Measure
from almanac.suites.judged import as_text
from almanac.suites.listing import SUITES

WHERE = as_text(SUITES["ic_lke"].methods[0].where)


def difference(value, p, n=40, one="second", other="first", metric="difference"):
    row = ("ic_lke", "facts", one, other, metric, WHERE, "other", ("hit", "fact"))
    return Measure(*row, value, value - 0.1, value + 0.1, p, n, 0, 0, 0, 0, 0)


def test_each_pair_is_a_row_and_tests_are_adjusted_for_all_of_them():
    rows = [difference(0.2, 0.001), difference(0.1, 0.04), difference(-0.2, 0.002), difference(0.5, 0.9, n=3)]
    found = chapter([*rows, difference(0.3, 0.01, metric="pearson")])
    [table] = found.parts
    assert [row[2:4] for row in table.rows] == [("second", "first")] * 4
    # Holm: the least p thrice, the next twice, the last once; of three facts nothing is tested.
    assert [row[6] for row in table.rows] == [pytest.approx(0.003), pytest.approx(0.04), pytest.approx(0.004), None]
    assert found.asks == "On facts, second has more right than first by 2 of 3 methods, and fewer by 1."
    assert table.rows[3][5] is None


def test_what_is_not_sure_is_said_to_be_not_distinguishable():
    assert (
        chapter([difference(0.2, 0.2)]).asks
        == "On facts, second and first do not differ by more than chance, by 1 method."
    )
    assert chapter([difference(0.2, 0.01, n=19)]).asks == "No two models answered 20 facts of one method."


def test_many_pairs_take_one_sentence_and_very_many_no_chapter():
    pairs = [(f"m{one}", f"m{other}") for one in range(MODELS) for other in range(one)]
    rows = [difference(0.2, 1e-9 if at < 5 else 1.0, one=one, other=other) for at, (one, other) in enumerate(pairs)]
    told = f"Of {len(pairs)} differences between two models by the same method, 5 are more than chance."
    assert chapter(rows).asks == told
    assert chapter([*rows, difference(0.2, 1.0, one="one too many")]) is None
    assert chapter([]) is None
