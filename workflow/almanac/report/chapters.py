"""The chapters of an edition's page: what was found, each suite on each dataset, then comparisons of models."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from almanac.config import Asking
from almanac.edition.layout import Layout
from almanac.edition.measuring import findings_of, pooled, shown
from almanac.errors import AlmanacError, noted
from almanac.report import agreeing, answer, asked, comparing, course, recovering, sentences, trust
from almanac.report.known import FactFound, facts_table, of_relations
from almanac.report.page import Page
from almanac.rows import Measure
from almanac.suites import comparison_chapter
from almanac.suites.chapter import Chapter, Shown
from almanac.suites.headline import NULL_KNOWN, Finding
from almanac.suites.listing import SUITES, method_labels


def chapters(layout: Layout) -> tuple[list[Page], dict[tuple[str, str], list[Measure]]]:
    """Return the chapters, the findings first, and every number by suite and dataset."""
    between = layout.read(layout.between("across"), Measure)
    found, measures = _overviews(layout, between)
    compared: list[Page] = []
    for suite, dataset, askings in layout.askings():
        own = shown(layout, suite, dataset, askings, between)
        measures[suite.name, dataset] = list(own.measures)
        with noted(f"in the chapter of suite {suite.name}, dataset {dataset}"):
            chapter = suite.chapter(own, layout.options(askings[0]))
            if not isinstance(chapter, Chapter | None):
                raise AlmanacError(
                    f"suite {suite.name}: its `chapter` must return a Chapter or None, found {chapter!r:.80}"
                )
        if chapter is None and own.refused:
            chapter = Chapter(suite.label, " ".join([f"Nothing of {dataset} is asked.", *own.not_asked()]), [])
        if chapter is not None:
            found.append(Page(f"{suite.name}-{dataset}", suite.name, dataset, chapter))
        compared_here = [row for row in between if (row.suite, row.dataset) == (suite.name, dataset)]
        for method in suite.methods:
            settings = comparison_chapter.by_setting(method, compared_here, suite.methods)
            labels = method_labels((suite.name, method.name, where) for where in settings)
            for at, (label, rows) in enumerate(zip(labels.values(), settings.values(), strict=True)):
                one = comparison_chapter.chapter(replace(method, label=label), rows, own.models, own.relations)
                if one is not None:
                    anchor = f"{suite.name}-{method.name}-{dataset}" + (f"-{at}" if at else "")
                    compared.append(Page(anchor, suite.name, dataset, one))
    every = [row for own in measures.values() for row in own]
    first, facts = findings_of(layout, every), asked.facts_asked(layout)
    relations = list(of_relations(first, every, facts))
    together = {
        "course": course.chapter(first, between),
        "compared": comparing.chapter(between, layout.config.compare, relations),
        "agreement": agreeing.chapter(layout),
        "recovered": recovering.chapter(layout),
        "trust": trust.chapter(layout, first),
    }
    methods = [Page(name, "", "", one) for name, one in together.items() if one is not None]
    nulls, figures = _nulls(layout, first, between), agreeing.forests(layout.config, between, first)
    told = sentences.told(layout, first, every, between, facts, relations)
    answered = answer.chapter(told, first, nulls, facts, figures, relations)
    pages = [Page("answer", "", "", answered), *methods, *found, *compared]
    named = Counter(one.anchor for one in pages)
    if twice := next((one for one in pages if named[one.anchor] > 1), None):
        raise AlmanacError(
            f"two chapters of the page would have the address {twice.anchor}; give dataset {twice.dataset} another name"
        )
    return pages, measures


def _overviews(layout: Layout, between: Sequence[Measure]) -> tuple[list[Page], dict[tuple[str, str], list[Measure]]]:
    """Return a chapter for each suite that has numbers over several datasets, and these numbers."""
    pages, measures = [], {}
    for suite in SUITES.values():
        own = [row for row in between if (row.suite, row.dataset) == (suite.name, "")]
        chapter = suite.overview(Shown("", 0, (), measures=own), pooled(layout, suite)) if own else None
        if chapter is not None:
            measures[suite.name, ""] = own
            pages.append(Page(suite.name, suite.name, "", chapter))
    return pages, measures


def _nulls(layout: Layout, rows: Sequence[Finding], between: Sequence[Measure]) -> dict[answer.Key, Measure]:
    """Return what each method finds in a model's null, by the key of what it finds in the model.

    A method whose threshold is chosen for each model judges the null at the threshold of the model.
    """
    known = {answer.key_of(one.known): one.known for one in rows}
    judged = {answer.key_of(row): row for row in between if row.metric == NULL_KNOWN}
    out = {}
    for key in known:
        null = layout.config.null_of(Asking(*key[:3]))
        if null is not None and (own := known.get((null.model, *key[1:]))) is not None:
            out[key] = judged.get(key, own)
    return out


def with_facts(pages: Sequence[Page], facts: Sequence[FactFound]) -> list[Page]:
    """Return the chapters; the first gets a table of facts that are known and unknown."""
    (first, *others), table = pages, facts_table(facts)
    parts = [*first.chapter.parts, *([] if table is None else [table])]
    return [replace(first, chapter=replace(first.chapter, parts=parts)), *others]
