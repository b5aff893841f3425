"""What the page shows of one suite on one dataset, or of the edition as a whole: the form of every chapter."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from matplotlib.figure import Figure

from almanac.rows import Measure


@dataclass(frozen=True)
class Chapter:
    """A chapter of the page.

    Attributes:
        anchor: its id in the page.
        title: its heading, which also stands in the page's list of contents.
        template: the file in `templates/` that shows it; its names are those of ``values``, and ``vectors``.
        values: what the template reads.
        figures: its figures by the name of their file, unique in the edition.
        measures: the rows that go into `tables/measures.csv`.
    """

    anchor: str
    title: str
    template: str
    values: Mapping[str, Any]
    figures: Mapping[str, Figure] = field(default_factory=dict)
    measures: Sequence[Measure] = ()
