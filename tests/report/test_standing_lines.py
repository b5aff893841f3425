"""The order of methods as lines of text, as `measure across` prints it."""

from tests.report.test_recovering import ORDER, row

from almanac.report.lines import standing_lines


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
    assert len(standing_lines(ORDER).splitlines()) == 4
