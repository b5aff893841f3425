"""What Head-to-Tail's figures show: rates in the panel of their domain, at the places of their buckets."""

from almanac.rows import Measure
from almanac.suites.head_to_tail.figures import head_to_tail
from almanac.suites.judged import as_text


def row(metric, value, model="m", **where):
    of = "head_to_tail", "d", model, None, metric, as_text(where), "ratio", ()
    return Measure(*of, value, value - 0.1, value + 0.1, None, 9, 5, 4, 0, 0, 0)


def drawn(axes):
    """Return the buckets and values of a panel by the label of their line."""
    lines = {box.get_label(): box.lines[0].get_xydata().tolist() for box in axes.containers}
    return {label: [(round(at), round(value, 3)) for at, value in points] for label, points in lines.items()}


def test_a_line_shows_the_rates_of_one_model_in_one_domain_from_head_to_tail():
    numbers = {
        ("a", "films"): {"tail": 0.1, "head": 0.8, "torso": 0.3},
        ("b", "films"): {"tail": 0.2, "head": 0.9},
        ("a", "books"): {"head": 0.6, "torso": 0.5},
    }
    rows = {
        rate: [
            row(rate, abs(less - value), model, domain=domain, level=level)
            for (model, domain), own in numbers.items()
            for level, value in own.items()
        ]
        for rate, less in (("accuracy", 0), ("hallucination", 1))
    }
    books, films, no_books, no_films = head_to_tail(rows).axes
    assert [books.get_title(), films.get_title()] == ["books", "films"]
    assert [no_books.get_ylabel(), books.get_ylabel()] == ["hallucination", "accuracy"]
    assert drawn(books) == {"a": [(0, 0.6), (1, 0.5)]}
    assert drawn(films) == {"a": [(0, 0.8), (1, 0.3), (2, 0.1)], "b": [(0, 0.9), (2, 0.2)]}
    assert drawn(no_books) == {"a": [(0, 0.4), (1, 0.5)]}
    assert drawn(no_films) == {"a": [(0, 0.2), (1, 0.7), (2, 0.9)], "b": [(0, 0.1), (2, 0.8)]}
