"""The chapters there are, in the order of the page."""

from collections.abc import Callable, Sequence

from almanac.edition.layout import Layout
from almanac.report import comparison, facteval, karr, lke, prompts
from almanac.report.chapter import Chapter

WRITERS: tuple[Callable[[Layout], Sequence[Chapter]], ...] = (
    comparison.chapters,
    prompts.chapters,
    lke.chapters,
    karr.chapters,
    facteval.chapters,
)


def chapters(layout: Layout) -> list[Chapter]:
    """Read an edition into the chapters that follow IC-LKE's; a suite that was not asked has none."""
    return [chapter for write in WRITERS for chapter in write(layout)]
