"""The first thing that the page says, and the last that a run prints: who knows more than chance, by which method."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from almanac.report.lines import share, with_interval
from almanac.suites.chapter import Cell, Chapter, Table
from almanac.suites.headline import ABOVE_CHANCE, NO_FORMAT, NOT_ABOVE, Finding

HEAD = ("model", "of", "method", "known", "chance", "above chance", "facts", "verdict")
RULE = (
    "Known: the share of facts, a mean over relations. Chance: how often the model's own answers would be right for "
    "the other facts of their relation or, where a method calls facts known by a threshold, how often it calls a "
    "false object known. Above chance: the difference; its verdict is a one-sided test at .025, adjusted for all "
    "rows here together (Holm)."
)


def chapter(rows: Sequence[Finding]) -> Chapter:
    """Return the page's first chapter."""
    cells: list[Sequence[Cell]] = [
        (
            str(one.known.model),
            one.known.dataset,
            one.method.label,
            one.known,
            None if one.chance is None else one.chance.value,
            one.above,
            one.facts,
            one.verdict,
        )
        for one in rows
    ]
    return Chapter("What was found", " ".join(sentences(rows)), [Table("findings", RULE, HEAD, cells)])


def sentences(rows: Sequence[Finding]) -> list[str]:
    """Return what was found, in a few sentences: first whether anything is above chance at all."""
    tested = [one for one in rows if one.verdict in (ABOVE_CHANCE, NOT_ABOVE)]
    if not tested:
        return ["Nothing can be said: no method was answered by enough facts, or in the form that was asked for."]
    of: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for one in tested:
        of[str(one.known.model), one.known.dataset].append(one)
    out = []
    if not any(one.verdict == ABOVE_CHANCE for one in tested):
        out.append(f"Nothing is above chance: {_listed({model for model, _ in of})}, {_methods(tested)}.")
    else:
        out += [_of_model(model, dataset, own) for (model, dataset), own in of.items()]
    silent = {str(one.known.model): None for one in rows if not one.facts}
    for model in silent:
        methods = (one.method.label for one in rows if one.known.model == model and not one.facts)
        out.append(f"{model} answers none of {_listed(methods)}.")
    astray = {one.method.label: None for one in rows if one.verdict == NO_FORMAT}
    if astray:
        out.append(f"Not in the form that was asked for are answers to {_listed(astray)}.")
    return out


def _of_model(model: str, dataset: str, rows: Sequence[Finding]) -> str:
    above = [one for one in rows if one.verdict == ABOVE_CHANCE]
    if not above:
        return f"{model} on {dataset}: nothing above chance by {_methods(rows)}."
    most = max(above, key=lambda one: (one.above and one.above.value) or 0.0)
    chance = share(most.chance.value if most.chance else None)
    return (
        f"{model} on {dataset}: above chance by {len(above)} of {_methods(rows)}, most by {most.method.label} "
        f"({share(most.known.value)} known, {chance} by chance)."
    )


def _methods(rows: Sequence[Finding]) -> str:
    count = len({(one.known.suite, one.known.dataset, one.known.where) for one in rows})
    return f"{count} method{'s' * (count != 1)}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def markdown(rows: Sequence[Finding]) -> str:
    """Return the findings as a table in Markdown, without methods that a model has not answered at all."""
    lines = [f"| {' | '.join(HEAD)} |", "| --- | --- | --- | ---: | ---: | ---: | ---: | --- |"]
    for one in (one for one in rows if one.facts):
        above = "–" if one.above is None else with_interval(one.above)
        chance = share(None if one.chance is None else one.chance.value)
        cells = (str(one.known.model), one.known.dataset, one.method.label, with_interval(one.known), chance, above)
        lines.append(f"| {' | '.join(cells)} | {one.facts} | {one.verdict} |")
    return "\n".join(lines)
