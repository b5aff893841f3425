"""How far to trust each method: a chapter for models that were not planted, with results of a published edition."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from almanac.edition.layout import Layout
from almanac.edition.published import carried
from almanac.suites.chapter import Cell, Chapter, Table, spread
from almanac.suites.headline import Finding
from almanac.suites.judged import conditions_of
from almanac.suites.listing import guessing
from almanac.suites.standings import ALL, FORMAT
from almanac.suites.suite import Method

EDITION = "almanac-2026.14"
# Its largest decoder; and, for methods that the decoder was not asked, an instruction-tuned and a masked model.
LARGEST = ("large", "instruct", "masked")
HEAD = (
    "method",
    "planted model",
    "facts",
    "AUC, most v. never taught",
    "ρ with times taught",
    "never taught",
    "guessing",
)
ASKS = (
    "What these models were taught is not known, so this page cannot say which method is right about them. The "
    f"published edition {EDITION} can say so of small models trained on invented worlds, in which each fact occurs a "
    "known number of times. AUC: the chance that a fact taught most often scores above one never taught (1 is perfect, "
    ".5 a coin). ρ: rank correlation of times taught and correctness. Never taught: the share of such facts that the "
    "method calls known, which should be guessing: one in as many as there are choices, or how often false objects are "
    "called known or stand in a text. A dash stands where neither is defined, as for most open answers."
)
CAPTION = (
    "What the methods asked here recover of planted knowledge in one model of that edition, over all its worlds: its "
    "largest or, where that was not asked so, the one that was taught to follow instructions or the masked one."
)
ORDER = (
    "The same methods on the same facts of several models of that edition, in the order of their AUC, with places "
    "among all methods asked there; less than the first: the difference, with its interval. Balanced accuracy: the "
    "mean of the share called known of facts taught most often and of the share not called known of others. A method "
    "marked * says right or wrong and has no other score, so that its AUC is its balanced accuracy, by which to "
    "compare it with others. Last, their AUC for a model that never read lists and questions: a method that falls "
    "there may miss what a model knows if it is not used to the method's form."
)
ORDER_HEAD = ("place", "method", "AUC", "less than the first", "balanced accuracy", "form never read")
LIMITS = (
    "AUC says whether a method orders facts rightly; how many it calls known depends on its threshold, so compare "
    "models within a method, and not methods by their shares. "
    "A method that fails there cannot be trusted here; one that succeeds there has passed the easiest test: the models "
    "are small and were trained on texts of these forms. Settings, such as the number of examples, may differ."
)


def chapter(layout: Layout, findings: Sequence[Finding]) -> Chapter | None:
    """Return the chapter; none if a model of this edition was planted, or nothing asked here was published there."""
    models = layout.config.participants()
    if any(models[asking.model].model.planted is not None for asking in layout.config.asked()):
        return None
    published = carried(EDITION, "validation")
    rows = [row for model in reversed(LARGEST) for row in reversed(published) if row.model == model]
    chosen = {(row.suite, row.method): row for row in rows}
    # Of a method whose items are counted in groups, such as questions of two origins, only some groups are published.
    nearest = sorted(findings, key=lambda one: _shared(one, chosen.get((one.known.suite, one.method.name))))
    methods = {(one.known.suite, one.method.name): one.method for one in nearest}
    found = {key: chosen[key] for key in methods if key in chosen}
    if not found:
        return None
    best = sorted(found, key=lambda key: -(found[key].auc or 0.0))
    parts: list[Table | str] = [Table("methods", CAPTION, HEAD, [_cells(methods[key], found[key]) for key in best])]
    if ordered := list(_order(methods)):
        parts.append(Table("order", ORDER, ORDER_HEAD, ordered))
    told = {methods[key].label for key in found}
    missing = dict.fromkeys(one.method.label for one in findings if one.method.label not in told)
    if missing:
        parts.append(f"No recovery is published there of: {'; '.join(missing)}.")
    return Chapter("How far to trust each method", ASKS, [*parts, LIMITS])


def _shared(one: Finding, row: Any) -> int:
    """Return how many conditions on its items a finding has in common with a published row."""
    return len(conditions_of(one.known).items() & conditions_of(row).items()) if row else 0


def _order(methods: Mapping[tuple[str, str], Method]) -> Iterator[Sequence[Cell]]:
    """Yield the methods asked here in the order of the published edition, all on the same facts."""
    rows = carried(EDITION, "standings")
    unread = {(row.suite, row.method): row for row in reversed(rows) if row.axis == FORMAT}
    for row in (row for row in rows if row.axis == ALL and (row.suite, row.method) in methods):
        key = row.suite, row.method
        gap = spread(row, "gap", row.facts) if row.gap_low is not None else None
        area, area_unread = (spread(one, "auc", one.facts) if one else None for one in (row, unread.get(key)))
        balanced = spread(row, "balanced", row.facts)
        yield row.place, methods[key].label + "*" * (not row.graded), area, gap, balanced, area_unread


def _cells(method: Method, row: Any) -> Sequence[Cell]:
    numbers = (spread(row, name, row.n) for name in ("auc", "spearman", "never"))
    return (method.label, row.model, row.n, *numbers, guessing(row.suite, row.method, row.chance))
