"""The order of methods as lines of text, as `measure across` prints it."""

from dataclasses import replace

from tests.report.test_recovering import ORDER, row

from almanac.report.lines import share, standing_lines, validation_lines
from almanac.rows import Validation
from almanac.suites.validation import NEVER_MISSED


def test_the_order_and_what_is_left_of_it_are_printed():
    changed = [row("pararel", 1, 0.95, "world", "one", tau=-1.0), row("paper", 2, 0.9, "world", "one", tau=-1.0)]
    head, *lines, last = standing_lines([*ORDER, *changed]).splitlines()
    assert [line.split()[:3] for line in lines] == [
        ["1", "karr", "paper"],
        ["2", "karr", "pararel"],
        ["3", "karr", "lama_at_1"],
    ]
    assert "AUC most v never" in head and ".900 [.850, .920]" in lines[1] and ".050 [.000, .100]" in lines[1]
    assert last == "Kendall's tau with that order: world one −1.000"
    assert lines[0].endswith(".930 [.900, .950]")
    assert len(standing_lines(ORDER).splitlines()) == 4
    marked = standing_lines([replace(ORDER[0], graded=False), ORDER[1]]).splitlines()
    assert "paper* " in marked[1] and "*" not in marked[2]


def test_a_bar_that_chance_may_miss_is_said_to_be_one():
    def of(*failed):
        numbers = (0.9, 0.8, 1.0, 0.5, 0.4, 0.6, 0.02, 0.01, 0.04, 0.05, 0.5)
        return Validation("ic_lke", "in_context", "{}", "base", 3, 3600, *numbers, True, failed)

    assert validation_lines([of()]).endswith("meets the bars")
    for numbers in (".900 [.800, 1.000]", ".500 [.400, .600]", ".020 [.010, .040]"):
        assert f" {numbers} " in validation_lines([of()])
    assert validation_lines([of("AUC is below 0.95")]).endswith("AUC is below 0.95")
    assert "show whether it was chance" in validation_lines([of(NEVER_MISSED)]).splitlines()[-1]


def test_neither_the_sign_of_zero_nor_the_last_of_seventeen_digits_is_seen_in_a_share():
    assert share(-0.0001) == ".000"
    assert share(0.0625) == share(0.0625 + 1e-16) == ".062"
