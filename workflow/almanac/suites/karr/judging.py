"""Turns a model's responses into each fact's KaRR, the thresholds, and the outcomes of all methods."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from almanac.frames import frame_of, frame_of_values
from almanac.rows import Fact, Rating
from almanac.statistics.agreement import best_cut
from almanac.suites.answers import Answers, Part
from almanac.suites.data import Data
from almanac.suites.karr import labels
from almanac.suites.karr.asking import BLANK, FACTS, NULL
from almanac.suites.karr.baselines import K_PROMPTS, LAMA, PARAREL, FilledBlank, KarrVerdict, k_prompts, lama, pararel
from almanac.suites.karr.draws import FactDraw
from almanac.suites.karr.estimator import VARIANTS, KarrEstimate, estimate
from almanac.suites.karr.numbers import Numbers, Strings, UnansweredError
from almanac.suites.karr.options import KarrOptions
from almanac.suites.karr.rows import Draw, KarrLeaf, KarrValue, Labelled, ReplacedRun, Threshold
from almanac.suites.karr.runs import Runs
from almanac.suites.karr.strings import plan
from almanac.suites.suite import Judgements
from almanac.tables import seed_of

WANTED = (
    *("experiment", "asked", "fact_id", "role", "index", "text", "choices", "span_starts", "per_token", "pieces"),
    *("status", "reason", "logprobs", "token_counts", "token_logprobs", "ranks", "tokens"),
)
# From `index` on, the fields of a `FilledBlank`.
FILLED = ("item", "role", "index", "choices", "status", "logprobs", "ranks", "tokens", "token_counts")
LEAST = 5  # a threshold is chosen from at least so many facts taught most often, and so many never taught or false
LOGARITHMS = pl.col("numerator", "by_subject", "by_relation")


class AskedItem(NamedTuple):
    """An item: a fact, the method by which it is asked, and with which object (``asked``: facts, null or spurious)."""

    item: int
    experiment: str
    asked: str
    fact_id: str


def judge(answers: Answers, data: Data, options: KarrOptions) -> Iterator[Judgements]:
    """Yield KaRR values and leaves part by part; at the end, with all values known, the thresholds and the outcomes.

    Raises:
        AlmanacError: ``resamples`` is set and there is no dataset, or the file of labels is wrong.
    """
    runs = Runs.of(data, options) if options.resamples else None
    found = [_frame((), ())]
    for part in whole_facts(answers.parts(WANTED, ["draws"])):
        judged = _Part.of(part, options)
        verdicts, values, leaves = [], [], []
        for question in judged.questions:
            if question.experiment in VARIANTS:
                karr, leaf_rows = judged.karr(question)
                values.append((question.item, *karr))
                leaves += leaf_rows
                verdicts.append(KarrVerdict(score=karr.karr))
            else:
                verdicts.append(judged.baseline(question))
            if runs is not None and question.asked == FACTS:
                drawn, blanks = judged.drawn_for(question), judged.blanks[question.item]
                runs.add(question.experiment, question.fact_id, drawn, judged.numbers, blanks)
        found.append(_frame(judged.questions, verdicts))
        # The logarithm of 0 is written as no value.
        finite = frame_of_values(KarrValue, values).with_columns(pl.when(LOGARITHMS.is_finite()).then(LOGARITHMS))
        yield Judgements(pl.DataFrame(), {"values": finite, "leaves": frame_of_values(KarrLeaf, leaves)})
    whole = pl.concat(found)
    limits = thresholds(whole, answers.exposures, options)
    logs = {limit.mode: math.log(limit.threshold) for limit in limits}
    tables = {
        "thresholds": frame_of(Threshold, limits),
        "runs": frame_of(ReplacedRun, runs.rows(logs) if runs is not None else ()),
        "labelled": _labelled(whole, answers, data, options),
    }
    yield Judgements(_outcomes(whole, logs), tables)


def whole_facts(parts: Iterable[Part]) -> Iterator[Part]:
    """Yield parts cut only between facts: a K-Prompts item reads the draw and strings of the fact's KaRR item."""
    held: Part | None = None
    for part in parts:
        links, tables = part
        if held is not None:
            links = pl.concat([held.links, links])
            tables = {name: pl.concat([held.own[name], rows]) for name, rows in tables.items()}
        others = (links["fact_id"] != links["fact_id"][-1]).arg_true()
        if len(others):
            cut = others[-1] + 1
            first = pl.col("item") < links["item"][cut]
            yield Part(links.head(cut), {name: rows.filter(first) for name, rows in tables.items()})
            links, tables = links.slice(cut), {name: rows.filter(~first) for name, rows in tables.items()}
        held = Part(links, tables)
    if held is not None:
        yield held


@dataclass(frozen=True)
class _Part:
    """Items of some facts, cut only between facts (`whole_facts`).

    Attributes:
        questions: the items in order.
        numbers: the log-probabilities of strings, by mode.
        drawn: the draws, by mode, object asked with (``asked``) and fact.
        blanks: the filled blanks of each item, by the index of their template.
    """

    questions: Sequence[AskedItem]
    numbers: Mapping[str, Numbers]
    drawn: Mapping[tuple[str, str, str], FactDraw]
    blanks: Mapping[int, Mapping[int, FilledBlank]]
    options: KarrOptions

    @classmethod
    def of(cls, part: Part, options: KarrOptions) -> "_Part":
        links = part.links
        strings = Strings.of(links)
        items = links.unique("item", keep="first", maintain_order=True).select(AskedItem._fields)
        questions = [AskedItem(*row) for row in items.iter_rows()]
        rows: dict[int, list[Draw]] = defaultdict(list)
        for values in part.own["draws"].iter_rows():
            rows[values[0]].append(Draw(*values))
        blanks: dict[int, dict[int, FilledBlank]] = defaultdict(dict)
        filled = links.filter(pl.col("role").cast(pl.String).str.starts_with(BLANK)).select(FILLED)
        for item, role, *fields in filled.iter_rows():
            blanks[item][int(role.removeprefix(f"{BLANK}-"))] = FilledBlank(*fields)
        return cls(
            questions,
            {mode: Numbers(strings, variant) for mode, variant in VARIANTS.items()},
            {one[1:]: FactDraw.of(rows[one.item]) for one in questions if one.experiment in VARIANTS},
            blanks,
            options,
        )

    def drawn_for(self, question: AskedItem) -> FactDraw | None:
        """Return the draw that scores an item; K-Prompts reads that of the mode ``paper``."""
        mode = "paper" if question.experiment == K_PROMPTS else question.experiment
        return self.drawn.get((mode, question.asked, question.fact_id))

    def karr(self, question: AskedItem) -> tuple[KarrEstimate, list[tuple[Any, ...]]]:
        """Return the KaRR of an item, or the reason why it has none, and the rows of its leaves."""
        variant, numbers = VARIANTS[question.experiment], self.numbers[question.experiment]
        rows: list[tuple[Any, ...]] = []
        try:
            leaves = numbers.leaves(plan(self.drawn[question[1:]], variant), rows)
        except UnansweredError as reason:
            return KarrEstimate(reason=str(reason)), []
        return estimate(leaves, variant), [(question.item, *row) for row in rows]

    def baseline(self, question: AskedItem) -> KarrVerdict:
        """Score an item of a baseline: ParaRel by all drawn templates, LAMA by the first, K-Prompts by the draw."""
        blanks = [blank for _, blank in sorted(self.blanks[question.item].items())]
        if question.experiment == PARAREL:
            return pararel(blanks[: self.options.templates])
        if question.experiment in LAMA:
            return lama(blanks[0], LAMA[question.experiment])
        drawn = self.drawn_for(question)
        return KarrVerdict() if drawn is None else k_prompts(self.numbers["paper"], drawn, self.options.k_prompts)


def _frame(questions: Sequence[AskedItem], verdicts: Sequence[KarrVerdict]) -> pl.DataFrame:
    """Return items with their verdicts as columns of compact types."""
    name, number = pl.Categorical, pl.Float64
    types = (pl.UInt32, name, name, pl.String, pl.Boolean, number, pl.String, number, name)
    columns = dict(zip((*AskedItem._fields, *KarrVerdict._fields), types, strict=True))
    rows = [(*question, *verdict) for question, verdict in zip(questions, verdicts, strict=True)]
    return pl.DataFrame(rows, columns, orient="row")


def calibrates(facts: Sequence[str]) -> list[bool]:
    """Return for each fact whether it is in the half from which thresholds are chosen; depends on its id alone."""
    return [seed_of("karr", "half", fact) % 2 == 0 for fact in facts]


def thresholds(judged: pl.DataFrame, exposures: pl.DataFrame | None, options: KarrOptions) -> list[Threshold]:
    """Return the threshold of each mode that was asked, as a KaRR (no logarithm).

    The released code's mode has its own. Other modes use the cut that best separates the facts taught most often from
    those never taught and those with a false object (``null``), on one half of the planted facts (`calibrates`), or the
    option ``threshold`` if that half has fewer than `LEAST` of either.

    Args:
        judged: ``experiment``, ``asked``, ``fact_id`` and ``score`` (log KaRR, or none) of all items.
        exposures: ``fact_id`` and ``dose`` of the facts that the model was taught.
        options: the suite's options.
    """
    found = []
    for mode, variant in VARIANTS.items():
        asked = judged.filter(pl.col("experiment") == mode)
        if asked.is_empty():
            continue
        scored = asked.filter(pl.col("asked").is_in([FACTS, NULL]) & pl.col("score").is_not_null())
        chosen = None if exposures is None or variant.threshold else _chosen(mode, scored, exposures)
        found.append(chosen or Threshold(mode, variant.threshold or options.threshold))
    return found


def _chosen(mode: str, judged: pl.DataFrame, exposures: pl.DataFrame) -> Threshold | None:
    """Return the best cut of one mode as a threshold; none if too few facts were taught, or too few never taught."""
    scored = judged.join(exposures.select("fact_id", "dose"), on="fact_id", how="inner")
    null, dose = pl.col("asked") == NULL, pl.col("dose")
    top = pl.lit(scored["dose"].max(), pl.Int64)
    scored = scored.filter(pl.Series(calibrates(scored["fact_id"].to_list()), dtype=pl.Boolean))
    taught = scored.filter(~null & (dose > 0) & (dose == top))["score"].to_list()
    never = scored.filter(null | (dose == 0))["score"].to_list()
    cut = best_cut(taught, never) if min(len(taught), len(never)) >= LEAST else None
    return None if cut is None else Threshold(mode, math.exp(cut), len(taught), len(never))


def _outcomes(judged: pl.DataFrame, limits: Mapping[str, float]) -> pl.DataFrame:
    """Return the outcome of each item; one of a mode is known above its mode's log threshold, in ``limits``."""
    limit = pl.col("experiment").cast(pl.String).replace_strict(limits, default=None, return_dtype=pl.Float64)
    known = pl.coalesce("known", pl.col("score") > limit)
    valued = pl.when(known).then(pl.lit("correct")).when(~known).then(pl.lit("incorrect"))
    outcome = valued.otherwise(pl.col("without").cast(pl.String)).alias("outcome")
    return judged.select("item", "prediction", outcome, "score", "confidence")


def _labelled(judged: pl.DataFrame, answers: Answers, data: Data, options: KarrOptions) -> pl.DataFrame:
    """Return the mean human label of each true fact that has one; labels were asked along, or come from a file."""
    rows = [Rating(*row) for row in answers.own("labels").iter_rows()]
    facts = data.frame("facts", Fact, ["fact_id"])["fact_id"].to_list() if rows or options.labels else []
    if not rows and options.labels is not None:
        rows = labels.read(Path(options.labels), facts, judged["fact_id"].unique().to_list())
    means = labels.reference(rows, answers.model, facts)
    true = judged.filter((pl.col("asked") == FACTS) & pl.col("fact_id").is_in(list(means))).select("item", "fact_id")
    return frame_of(Labelled, (Labelled(item, means[fact]) for item, fact in true.iter_rows()))
