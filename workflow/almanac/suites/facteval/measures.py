"""FactEval's numbers: precision, recall and F1 in both modes, pooled and in parts, and what they recover.

`scored.py` says how each status counts.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from almanac.rows import Exposure, Fact, FactEvalVerdict, Item, Measure, Outcome, Question
from almanac.statistics.intervals import NOTHING, Estimate, macro_share
from almanac.suites.facteval.judging import MODES, PAPER
from almanac.suites.facteval.questions import MCQ, NONE, SAQ, SUITE, TFQ
from almanac.suites.facteval.robustness import robustness
from almanac.suites.facteval.scored import Scored, joined, scores, share_of
from almanac.suites.judging import Judged, Sheet, recovery_rows, times_taught

ALL = "all"  # the experiment that averages over the others


def _answers(question: Question) -> str | None:
    """Return whether a short answer has one true object or several."""
    if question.type != SAQ:
        return None
    return "single" if len(set(question.gold_object)) == 1 else "multiple"


PARTS: dict[str, Callable[[Question], str | None]] = {
    "domain": lambda question: question.domain,
    "cardinality": lambda question: question.cardinality,
    "object_type": lambda question: question.object_type,
    "statements": lambda question: None if question.truth is None else str(question.truth).lower(),
    "answers": _answers,
}


def measure(
    dataset: str,
    items: Sequence[Item],
    questions: Sequence[Question],
    verdicts: Sequence[FactEvalVerdict],
    facts: Sequence[Fact],
    exposures: Sequence[Exposure] | None = None,
) -> list[Measure]:
    """Compute every measure of one model on one dataset.

    Args:
        dataset: the dataset's name.
        items: what was asked.
        questions: one an item.
        verdicts: one an item and mode, of one model.
        facts: the facts of the items.
        exposures: the planned doses where the model was taught these facts.

    Returns:
        Rows by experiment (type and style) and setting (origin, negatives, context, mode, and the part where a row
        speaks of one): precision, recall, F1, shares of abstentions and of verdicts, lists, robustness, recovery.
        Questions whose antifactual replacement changed nothing are left out and counted in ``no_ops``.
    """
    rows: list[Measure] = []
    taught = times_taught(exposures or (), {fact.fact_id: fact for fact in facts})
    for mode in sorted({verdict.mode for verdict in verdicts}, key=MODES.index):
        groups = joined(items, questions, [one for one in verdicts if one.mode == mode], facts, exposures)
        changed = {key: kept for key, group in groups.items() if (kept := [one for one in group if _changed(one)])}
        for (experiment, setting), group in changed.items():
            sheet = Sheet(SUITE, dataset, experiment, group[0].verdict.model, f"{setting},mode={mode}")
            rows += _pooled_rows(sheet, group)
            rows += _part_rows(sheet, group)
            if group[0].question.type == SAQ and mode == PAPER:
                rows += _list_rows(sheet, group)
            if exposures is not None and mode == PAPER and group[0].question.context == NONE:
                own = [one.judged for one in group]
                rows += recovery_rows(sheet, own, taught)
                rows += _abstention_rows(sheet, own)
        rows += _average_rows(dataset, mode, changed) + robustness(dataset, mode, groups)
    return rows


def _changed(one: Scored) -> bool:
    """Whether a question is what its context says: an antifactual passage in which nothing was replaced is not."""
    return one.question.changed is not False


def _pooled_rows(sheet: Sheet, group: Sequence[Scored]) -> list[Measure]:
    """Return the numbers over all relations together, and by relation."""
    rows = []
    by_relation: dict[str | None, list[Judged]] = {None: [one.judged for one in group]}
    for one in group:
        by_relation.setdefault(one.question.relation_id, []).append(one.judged)
    for relation, own in by_relation.items():
        found = scores(own) | {"abstained": share_of(own, "missing")}
        if group[0].question.type == TFQ:
            found["valid"] = share_of(own, "correct", "incorrect")
        rows += [sheet.row(metric, estimate, own, relation) for metric, estimate in found.items()]
    return rows


def _part_rows(sheet: Sheet, group: Sequence[Scored]) -> list[Measure]:
    """Return the numbers by domain, cardinality, type of object, truth of the statement, number of true objects."""
    rows = []
    for name, part_of in PARTS.items():
        parts: dict[str, list[Judged]] = defaultdict(list)
        for one in group:
            part = part_of(one.question)
            if part is not None:
                parts[part].append(one.judged)
        for part, own in sorted(parts.items()):
            rows += _in(sheet, f"{name}={part}", scores(own), own)
    return rows


def _in(sheet: Sheet, part: str, found: Mapping[str, Estimate], group: Sequence[Judged]) -> list[Measure]:
    own = Sheet(sheet.suite, sheet.dataset, sheet.experiment, sheet.model, f"{sheet.setting},{part}")
    return [own.row(metric, estimate, group) for metric, estimate in found.items()]


def _list_rows(sheet: Sheet, group: Sequence[Scored]) -> list[Measure]:
    """Return precision, recall and F1 over the objects of short answers, the mean over questions.

    An abstention has none and is left out of precision; in recall and F1 it counts 0. Errors are counted alone.
    """
    rows = []
    several = [one for one in group if _answers(one.question) == "multiple"]
    for part, asked in ((sheet.setting, group), (f"{sheet.setting},answers=multiple", several)):
        own = [one for one in asked if one.verdict.outcome != "error"]
        if not own:
            continue
        listed = Sheet(sheet.suite, sheet.dataset, sheet.experiment, sheet.model, part)
        said = [one for one in own if one.verdict.precision is not None]
        judged = [one.judged for one in asked]
        precision = _mean(said, [one.verdict.precision or 0.0 for one in said])
        recall = _mean(own, [one.verdict.recall or 0.0 for one in own])
        credit = _mean(own, [one.verdict.credit or 0.0 for one in own])
        for metric, estimate in (("list_precision", precision), ("list_recall", recall), ("list_f1", credit)):
            rows.append(listed.row(metric, estimate, judged))
    return rows


def _mean(group: Sequence[Scored], values: Sequence[float]) -> Estimate:
    return macro_share([values], [[one.judged.subject for one in group]])


def _abstention_rows(sheet: Sheet, group: Sequence[Judged]) -> list[Measure]:
    """Return the share of abstentions by how often a fact was taught."""
    by_dose: dict[int, list[Judged]] = defaultdict(list)
    for one in group:
        if one.dose is not None:
            by_dose[one.dose].append(one)
    return [
        sheet.row("abstained_by_exposure", share_of(own, "missing"), own, exposure=dose)
        for dose, own in sorted(by_dose.items())
    ]


def _average_rows(dataset: str, mode: str, groups: Mapping[tuple[str, str], Sequence[Scored]]) -> list[Measure]:
    """Return the unweighted mean of F1 over types, styles and origins, of each kind of wrong objects and context.

    Over both origins these are the paper's eight columns and two of Wh-questions from templates. A short answer has no
    wrong objects and stands in each.
    """
    pooled: dict[tuple[str, str | None], list[Sequence[Scored]]] = defaultdict(list)
    for group in groups.values():
        pooled[group[0].question.context, group[0].question.negatives].append(group)
    kinds = {negatives for _, negatives in pooled}
    kinds = kinds - {None} or kinds
    rows = []
    for context in dict.fromkeys(context for context, _ in pooled):
        for negatives in sorted(kinds, key=str):
            own = list({id(group): group for kind in (negatives, None) for group in pooled[context, kind]}.values())
            values = [scores([one.judged for one in group])["f1"].value for group in own]
            known = [value for value in values if value is not None]
            if own:
                mean = Estimate(sum(known) / len(known), None, None) if known else NOTHING
                where = "" if negatives is None else f"negatives={negatives},"
                sheet = Sheet(SUITE, dataset, ALL, own[0][0].verdict.model, f"{where}context={context},mode={mode}")
                rows.append(sheet.row("average_f1", mean, [one.judged for group in own for one in group]))
    return rows


def recovers(item: Item) -> bool:
    """Whether an item counts when the recovery of planted knowledge is validated: short answers without a passage."""
    return item.experiment.startswith(f"{SAQ}-") and f"context={NONE}" in item.setting


def chances(items: Iterable[Item], outcomes: Iterable[Outcome]) -> dict[str, float]:
    """Return the share of correct answers of each experiment at which nothing is known.

    One in as many as there are choices of a question: four, or two verdicts. A short answer cannot be guessed; that a
    model which always names a frequent object is sometimes right is what the rate at dose 0 shows.
    """
    of = {TFQ: 1 / 2, MCQ: 1 / 4, SAQ: 0.0}
    return {experiment: of[experiment.partition("-")[0]] for experiment in {item.experiment for item in items}}
