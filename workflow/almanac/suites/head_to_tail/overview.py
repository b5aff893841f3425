"""Head-to-Tail's chapter about all sources together: the paper's tables over all of its domains."""

from collections.abc import Sequence

from almanac.suites.chapter import Chapter, Drawing, Shown, Table, filled
from almanac.suites.head_to_tail.asking import QUESTION
from almanac.suites.head_to_tail.chapter import drawing, levels, natural, rate_rows, rates_by, rates_table
from almanac.suites.head_to_tail.judging import JUDGE
from almanac.suites.head_to_tail.score_tables import correlations, score_levels


def overview(shown: Shown, datasets: Sequence[str]) -> Chapter | None:
    """Return the chapter about several datasets together; None if no model was asked all of them in the same way.

    Args:
        shown: the metrics over all datasets (`across.over`).
        datasets: the names of the datasets.
    """
    every = rates_by(shown)
    if not every:
        return None
    asks = (
        f"All questions of {', '.join(datasets)} together, each counting once: the ways of asking that all of them "
        "share, of the models that were asked of all. Domains of several sources are one. Numbers of one source, which "
        "open their items, are in its own chapter."
    )
    # As the paper draws it: questions, read by the judge where there is one.
    drawn = sorted((way for _, way in every if way[1] == QUESTION), key=lambda way: (way[0] != JUDGE, way))
    parts: list[Table | Drawing | str] = [
        rates_table("rates", "All questions (Table 3).", rate_rows(shown)),
        *(one for way in drawn[:1] for one in drawing(shown, way)),
        levels(shown),
        rates_table("top", "The most popular tenth of the head (Table 5).", rate_rows(shown, top=True)),
        natural(shown),
        score_levels(shown),
        correlations(shown),
    ]
    return filled("Head-to-Tail: all sources", asks, parts)
