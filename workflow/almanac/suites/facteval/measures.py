"""FactEval's metrics: precision, recall and F1 in every mode, pooled and in parts, and recovery of planted knowledge.

With c correct answers, i incorrect or invalid ones and a abstentions (outcome ``missing``), precision is c / (c + i),
recall c / (c + i + a) and F1 2c / (2c + 2i + a). Errors are left out.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from almanac.rows import Measure
from almanac.statistics.paired import ratio_differences
from almanac.suites.chapter import Shown
from almanac.suites.facteval.judging import STRICT
from almanac.suites.facteval.options import FactEvalOptions
from almanac.suites.facteval.questions import FIB, MCQ, NONE, SAQ, STATEMENT, TEMPLATE, TFQ, WH, WRITTEN
from almanac.suites.facteval.reading.scoring import SEVERAL
from almanac.suites.facteval.texts import VALUES
from almanac.suites.judged import SUBJECT, Judged, Not, conditions_of
from almanac.suites.recovery import recovery

FORM = ("experiment", "origin", "negatives")
BY = (*FORM, "context", "reading")
PARTS = ("domain", "cardinality", "object_type", "truth", "answers")
SCORES = {"precision": ("hit", "answered"), "recall": ("hit", "asked"), "f1": ("f1_part", "f1_whole")}
LISTS = {"list_precision": "list_precision", "list_recall": "recalled", "list_f1": "score"}
# The eight columns (experiment, origin) that the paper's AVG is the mean of; Wh-questions count only as a model wrote.
EIGHT = (
    *itertools.product((f"{TFQ}-{STATEMENT}", f"{MCQ}-{FIB}", f"{SAQ}-{FIB}"), (TEMPLATE, WRITTEN)),
    *itertools.product((f"{MCQ}-{WH}", f"{SAQ}-{WH}"), (WRITTEN,)),
)
PAIRED = "with_"  # prefix of a context's column: asked and answered both without a passage and with one of this kind


def derived(frame: pl.DataFrame, options: FactEvalOptions) -> pl.DataFrame:
    """Add the columns that metrics are computed from.

    ``unchanged``: an antifactual passage in which nothing was replaced; ``counted``: all other items. For items that
    are no error: ``asked`` (always true), ``answered``, ``abstained``; ``f1_part`` and ``f1_whole``, whose sums' ratio
    is F1; ``valid`` (an answer with a verdict; empty for abstentions); ``recalled``, which is ``list_recall``, or 0 for
    an abstention. ``with_CONTEXT``: the question was asked and answered both without a passage and with one of this
    kind; ``right_without``: it was right without. ``chosen``: what is said, unless several choices are.
    ``eight``: part of one of the eight columns that the paper averages.
    """
    known, outcome = pl.col("hit").is_not_null(), pl.col("outcome").cast(pl.String)
    found = frame.with_columns(
        pl.col("changed").fill_null(True).alias("counted"),
        pl.col("changed").eq_missing(False).alias("unchanged"),
        pl.any_horizontal(
            (pl.col("experiment") == experiment) & (pl.col("origin") == origin) for experiment, origin in EIGHT
        ).alias("eight"),
        pl.when(pl.col("reason").cast(pl.String).ne_missing(SEVERAL)).then(pl.col("said")).alias("chosen"),
        pl.when(known).then(True).alias("asked"),
        pl.when(known).then(outcome != "missing").alias("answered"),
        pl.when(known).then(outcome == "missing").alias("abstained"),
        pl.when(known & (outcome != "missing")).then(outcome.is_in(["correct", "incorrect"])).alias("valid"),
        pl.when(known).then(pl.col("list_recall").fill_null(0.0)).alias("recalled"),
    ).with_columns(
        (2 * pl.col("hit").cast(pl.Int8)).alias("f1_part"), (1 + pl.col("answered").cast(pl.Int8)).alias("f1_whole")
    )
    return _paired(found)


def _paired(frame: pl.DataFrame) -> pl.DataFrame:
    """Add ``right_without``, and for each kind of passage ``with_CONTEXT`` (see `derived`)."""
    key, usable = ["question", "reading"], pl.col("counted") & pl.col("hit").is_not_null()
    kept = frame.filter(usable)
    # A table from elsewhere may ask the same question several times, if it has one context alone.
    plain = kept.filter(pl.col("context") == NONE).unique(key, keep="last", maintain_order=True)
    plain = plain.select(*key, pl.col("hit").alias("right_without"))
    passages = pl.col("context") != NONE
    frame = frame.join(plain, on=key, how="left", maintain_order="left")
    frame = frame.with_columns(pl.when(passages & usable).then(pl.col("right_without")).alias("right_without"))
    for context in sorted(frame.filter(passages)["context"].cast(pl.String).unique()):
        column, own = PAIRED + context, kept.filter(pl.col("context") == context).select(key).unique()
        both = own.join(plain.select(key), on=key).with_columns(pl.lit(True).alias(column))
        paired = pl.col(column).fill_null(False) & usable & pl.col("context").is_in([NONE, context])
        frame = frame.join(both, on=key, how="left", maintain_order="left").with_columns(paired.alias(column))
    return frame


def measure(judged: Judged, own: Mapping[str, pl.DataFrame], options: FactEvalOptions) -> list[Measure]:
    """Compute every metric of one model on one dataset.

    Returns:
        By experiment (type and style), origin, negatives, context and reading, over the items that are ``counted``:
        precision, recall, F1 and the shares of abstentions and of valid answers, over all relations and by relation;
        precision, recall and F1 by each of `PARTS`; for short answers in mode ``strict`` precision, recall and F1 over
        objects (`_lists`). Further the averages (`_averages`); recovery and abstentions by dose, without a passage and
        in the first mode; and the effect of passages (`robustness`).
    """
    counted = judged.where(counted=True)
    rows: list[Measure] = []
    for by in (BY, (*BY, "relation")):
        rows += scores(counted, *by)
        rows += counted.measures("abstained", "mean", "abstained", by=by)
        rows += counted.where(type=TFQ).measures("valid", "mean", "valid", by=by)
    for part in PARTS:
        rows += scores(counted.where({part: Not(None)}), *BY, part)
    short = counted.where(type=SAQ, reading=STRICT)
    rows += _lists(short) + _lists(short.where(answers="multiple"))
    rows += _averages(counted)
    plain = counted.where(reading=options.modes[0], context=NONE)
    rows += recovery(plain, *FORM)
    rows += plain.where(dose=Not(None)).measures("abstained_by_exposure", "mean", "abstained", by=(*FORM, "dose"))
    return rows + robustness(judged)


def scores(judged: Judged, *by: str) -> list[Measure]:
    """Return precision, recall and F1 of groups; see `_score`."""
    return [row for metric in SCORES for row in _score(judged, metric, by)]


def _score(judged: Judged, metric: str, by: Sequence[str], name: str = "") -> list[Measure]:
    """Return one of `SCORES` by group, as the metric ``name`` if given; intervals are clustered by subject.

    A group in which the model always abstains has the value 0, as in the paper, without an interval.
    """
    return [
        replace(row, value=0.0, low=None, high=None) if 0 < row.n_missing == row.n - row.n_error else row
        for row in judged.measures(name or metric, "ratio", *SCORES[metric], by=by)
    ]


def _lists(judged: Judged) -> list[Measure]:
    """Return precision, recall and F1 over the objects of short answers, as means over questions.

    An abstention is left out of precision, and counts as 0 in recall and F1. Errors are left out, but counted.
    """
    rows = [row for metric, of in LISTS.items() for row in judged.measures(metric, "mean", of, by=BY)]
    return [row for row in rows if row.n > row.n_error]


def _averages(judged: Judged) -> list[Measure]:
    """Return unweighted means over types, styles and origins, for each kind of wrong objects and context.

    ``average_f1`` is over all columns (experiment, origin) that were asked. ``paper_average_precision``, ``…_recall``
    and ``…_f1`` are over the paper's eight (its AVG), if all eight were asked. Short answers have no wrong objects, and
    count for every kind.
    """
    kinds = sorted(map(str, judged.frame["negatives"].drop_nulls().unique()))
    rows = []
    for group in judged.groups("context", "reading"):
        for own in [group.where(negatives=(None, kind)) for kind in kinds] or [group.where(negatives=None)]:
            rows += _average(own, "average_f1", "f1")
            eight = own.where(eight=True)
            rows += [row for metric in SCORES for row in _average(eight, f"paper_average_{metric}", metric, len(EIGHT))]
    return rows


def _average(judged: Judged, name: str, metric: str, columns: int | None = None) -> list[Measure]:
    """Return a metric's mean over columns (experiment, origin); nothing if their number is not ``columns``."""
    values = [row.value for row in _score(judged, metric, FORM) if row.value is not None]
    if columns not in (None, len(values)):
        return []
    mean = sum(values) / len(values) if values else None
    return [judged.measure(name, mean, "other", (*SCORES[metric], "experiment", "origin"))]


def robustness(judged: Judged) -> list[Measure]:
    """Compare each kind of passage with no passage, over the questions that were asked and answered both ways.

    Returns:
        ``f1_without`` and ``f1_with`` over the same questions, and their difference ``f1_change``; ``kept``: of the
        questions right without a passage, the share right with it; ``gained``: of the others, the share right with it;
        ``followed``: the share of answers that name the wrong object stated in the passage; ``no_ops``: the share of
        questions left out because nothing was replaced in their passage.
    """
    by = (*FORM, "reading")
    rows = judged.where(context=Not(NONE)).measures("no_ops", "mean", "unchanged", by=BY)
    for column in judged.frame.columns:
        if column.startswith(PAIRED):
            context = column.removeprefix(PAIRED)
            both = judged.where({column: True})
            plain, passage = both.where(context=NONE), both.where(context=context)
            rows += _score(plain, "f1", by, "f1_without")
            rows += _score(passage, "f1", by, "f1_with")
            rows += _changes(plain, passage, "f1_change", SCORES["f1"], by)
            rows += passage.where(right_without=True).measures("kept", "mean", "hit", by=by)
            rows += passage.where(right_without=False).measures("gained", "mean", "hit", by=by)
            rows += passage.where(follows=Not(None)).measures("followed", "mean", "follows", by=by)
    return rows


def across(judged: Mapping[str, Judged], shown: Shown, options: FactEvalOptions) -> list[Measure]:
    """Return the metrics that compare models, and those of the questions' texts alone.

    Returns:
        For each pair of models, by experiment, origin, negatives and reading, without a passage: ``f1_difference`` and
        ``abstained_difference``, tuned minus base. By style, in each relation and as the mean over relations: the
        similarity between questions written by a model and from templates (`VALUES`).
    """
    rows = []
    for base, tuned in base_and_tuned(list(judged), options.pairs):
        before, after = (judged[name].where(counted=True, context=NONE) for name in (base, tuned))
        for metric, of in (("f1_difference", SCORES["f1"]), ("abstained_difference", ("abstained", "asked"))):
            rows += [replace(row, other=base) for row in _changes(before, after, metric, of, BY)]
    return rows + [row for own in list(judged.values())[:1] for row in _similarity(own, options)]


def _changes(before: Judged, after: Judged, metric: str, of: tuple[str, str], by: Sequence[str]) -> list[Measure]:
    """Return the difference after − before of the ratio ``of`` two columns' sums, for each group that both have."""
    found = ratio_differences(after.frame, before.frame, by, *of, SUBJECT)
    rows = []
    for row in after.measures(metric, "ratio", *of, by=by):
        where = conditions_of(row)
        if change := found.get(tuple(where[name] for name in by)):
            rows.append(replace(row, formula="other", **change._asdict()))
    return rows


def base_and_tuned(models: Sequence[str], pairs: Sequence[str]) -> list[tuple[str, str]]:
    """Return the names of the base and the tuned model of each pair; one pair per world for planted models.

    Args:
        models: the names under which models are asked; those of a model planted in several worlds end in ``-WORLD``.
        pairs: ``BASE:TUNED``, as the configuration names them.
    """
    found = []
    for base, tuned in (pair.split(":") for pair in pairs):
        for name in models:
            world = name.removeprefix(base)
            if name == base + world and world[:1] in ("", "-") and tuned + world in models:
                found.append((name, tuned + world))
    return found


def _similarity(judged: Judged, options: FactEvalOptions) -> list[Measure]:
    """Return the similarity of wordings, from any one model's items: it does not depend on the model."""
    own = judged.where(reading=options.modes[0], bertscore_f1=Not(None))
    no_model: dict[str, Any] = {"model": None, "low": None, "high": None}
    no_model |= dict.fromkeys(("n_correct", "n_incorrect", "n_missing", "n_invalid", "n_error"), 0)
    return [
        replace(row, **no_model)
        for by in (("style",), ("style", "relation"))
        for name in VALUES
        for row in own.measures(name, "macro", name, by=by)
    ]
