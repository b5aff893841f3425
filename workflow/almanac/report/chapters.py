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
        on_dataset = shown(layout, suite, dataset, askings, between)
        measures[suite.name, dataset] = list(on_dataset.measures)
        with noted(f"in the chapter of suite {suite.name}, dataset {dataset}"):
            chapter = suite.chapter(on_dataset, layout.options(askings[0]))
            if not isinstance(chapter, Chapter | None):
                raise AlmanacError(
                    f"suite {suite.name}: its `chapter` must return a Chapter or None, found {chapter!r:.80}"
                )
        if chapter is None and on_dataset.refused:
            chapter = Chapter(suite.label, " ".join([f"Nothing of {dataset} is asked.", *on_dataset.not_asked()]), [])
        if chapter is not None:
            found.append(Page(f"{suite.name}-{dataset}", suite.name, dataset, chapter))
        compared_here = [row for row in between if (row.suite, row.dataset) == (suite.name, dataset)]
        for method in suite.methods:
            settings = comparison_chapter.by_setting(method, compared_here, suite.methods)
            labels = method_labels((suite.name, method.name, where) for where in settings)
            for at, (label, rows) in enumerate(zip(labels.values(), settings.values(), strict=True)):
                named = replace(method, label=label)
                comparison = comparison_chapter.chapter(named, rows, on_dataset.models, on_dataset.relations)
                if comparison is not None:
                    anchor = f"{suite.name}-{method.name}-{dataset}" + (f"-{at}" if at else "")
                    compared.append(Page(anchor, suite.name, dataset, comparison))
    numbers = [row for rows in measures.values() for row in rows]
    findings, facts = findings_of(layout, numbers), asked.facts_asked(layout)
    relations = list(of_relations(findings, numbers, facts))
    together = {
        "course": course.chapter(findings, between),
        "compared": comparing.chapter(between, layout.config.compare, relations),
        "agreement": agreeing.chapter(layout),
        "recovered": recovering.chapter(layout),
        "trust": trust.chapter(layout, findings),
    }
    methods = [Page(name, "", "", chapter) for name, chapter in together.items() if chapter is not None]
    nulls, figures = _nulls(layout, findings, between), agreeing.forests(layout.config, between, findings)
    texts = sentences.told(layout, findings, numbers, between, facts, relations)
    answered = answer.chapter(texts, findings, nulls, facts, figures, relations)
    pages = [Page("answer", "", "", answered), *methods, *found, *compared]
    anchors = Counter(page.anchor for page in pages)
    if twice := next((page for page in pages if anchors[page.anchor] > 1), None):
        raise AlmanacError(
            f"two chapters of the page would have the address {twice.anchor}; give dataset {twice.dataset} another name"
        )
    return pages, measures


def _overviews(layout: Layout, between: Sequence[Measure]) -> tuple[list[Page], dict[tuple[str, str], list[Measure]]]:
    """Return a chapter for each suite that has numbers over several datasets, and these numbers."""
    pages, measures = [], {}
    for suite in SUITES.values():
        numbers = [row for row in between if (row.suite, row.dataset) == (suite.name, "")]
        chapter = suite.overview(Shown("", 0, (), measures=numbers), pooled(layout, suite)) if numbers else None
        if chapter is not None:
            measures[suite.name, ""] = numbers
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
        if null is not None and (of_null := known.get((null.model, *key[1:]))) is not None:
            out[key] = judged.get(key, of_null)
    return out


def with_facts(pages: Sequence[Page], facts: Sequence[FactFound]) -> list[Page]:
    """Return the chapters; the first gets a table of facts that are known and unknown."""
    (first, *others), table = pages, facts_table(facts)
    parts = [*first.chapter.parts, *([] if table is None else [table])]
    return [replace(first, chapter=replace(first.chapter, parts=parts)), *others]
