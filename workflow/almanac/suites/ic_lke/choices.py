"""The scoring of choices, and the metrics shared by IC-LKE and its experiments.

Every metric leaves out unanswered items: refused ones have the outcome ``missing``; those that are too long,
unsupported or failed have ``error``.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar, TypeVar

import numpy as np
import polars as pl

from almanac.rows import Measure
from almanac.suites.answers import Answers
from almanac.suites.data import Data
from almanac.suites.ic_lke.questions import LAYOUTS, OFFERED
from almanac.suites.judged import Judged, Range
from almanac.suites.options import SuiteOptions
from almanac.suites.recovery import recovery
from almanac.suites.suite import Judgements, Method, Own, Suite

Settings = TypeVar("Settings", bound=SuiteOptions)
WANTED = ("status", "index", "logprobs", "choices")
LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # of confidence, for accuracy@K
PAPER = "Wu et al., Towards Reliable Latent Knowledge Estimation in LLMs"


class ChoiceSuite(Suite[Settings]):
    """A suite of multiple-choice items, correct if the true choice alone has the highest log-probability (ties lose).

    ``score`` is the log of the true choice's share of the probability of all choices (nats). It is an upper bound if
    ``best_only`` is set and another choice won. ``confidence`` is the share of the predicted choice, ``prediction`` its
    text.
    """

    paper = PAPER
    own: ClassVar[Mapping[str, Own]] = OFFERED

    def judge(self, answers: Answers, data: Data, options: Settings) -> Iterator[Judgements]:
        """Judge every item by its only request."""
        for part in answers.parts(WANTED):
            yield Judgements(judge_choices(part.links), {})

    def offered(self, method: Method, answers: Answers, data: Data, options: Settings) -> pl.DataFrame:
        """Return the choices of each fact."""
        return data.offered

    def derived(self, frame: pl.DataFrame, options: Settings) -> pl.DataFrame:
        """Add ``probability``: the true object's share of the probability of all choices."""
        return frame.with_columns(pl.col("score").exp().alias("probability"))


def judge_choices(links: pl.DataFrame) -> pl.DataFrame:
    """Return the outcomes of items that have one request each.

    Args:
        links: one an item: ``item``, ``status``, ``index`` of the true choice, ``logprobs`` (nats) and ``choices``.

    Returns:
        ``item``, ``prediction``, ``outcome``, ``score`` and ``confidence``, as in `ChoiceSuite`; of tied best choices
        the first is predicted.
    """
    logs, index = pl.col("logprobs"), pl.col("index")
    highest, true = logs.list.max(), logs.list.get(index)
    below = logs - highest
    shares = below.list.eval(pl.element().exp()).list.sum()  # of all choices, the highest being 1
    chosen = pl.col("choices").list.get(logs.list.arg_max())
    judged = links.filter(pl.col("status") == "ok", logs.is_not_null(), index.is_not_null()).select(
        "item",
        chosen.str.strip_prefix(LAYOUTS["code"].before_choice).str.strip_chars().alias("prediction"),
        ((true == highest) & (below.list.count_matches(0.0) == 1)).alias("hit"),
        (true - (highest + shares.log())).alias("score"),
        (1 / shares).alias("confidence"),
    )
    whole = links.select("item", "status").join(judged, on="item", how="left", maintain_order="left")
    return whole.select("item", "prediction", outcome(pl.col("hit")), "score", "confidence")


def outcome(hit: pl.Expr) -> pl.Expr:
    """Return the outcome of an item: correct or incorrect; unanswered, missing if the model refused, else error."""
    silent = pl.when(pl.col("status") == "refused").then(pl.lit("missing")).otherwise(pl.lit("error"))
    known = pl.when(hit).then(pl.lit("correct")).when(~hit).then(pl.lit("incorrect"))
    return known.otherwise(silent).alias("outcome")


def accuracy(judged: Judged, *by: str, metric: str = "accuracy") -> list[Measure]:
    """Return the accuracy of each group as mean over relations, and in each relation; a fact's answers are averaged."""
    keys = (by, (*by, "relation"))
    return [row for group_keys in keys for row in judged.measures(metric, "macro_of_facts", "hit", by=group_keys)]


def of_choices(judged: Judged, *by: str) -> list[Measure]:
    """Return the metrics that all experiments with choices share, for each group.

    Returns:
        ``accuracy`` and ``probability_mass`` (mean over relations, and in each), ``chance``, ``accuracy_at_k`` over the
        facts answered with a confidence of at least K, and the recovery of what was taught.
    """
    rows = accuracy(judged, *by) + recovery(judged, *by)
    for keys in (by, (*by, "relation")):
        rows += judged.measures("probability_mass", "macro", "probability", by=keys)
    for group in judged.groups(*by):
        rows += [chance(group), *accuracy_at_k(group)]
    return rows


def accuracy_at_k(judged: Judged) -> list[Measure]:
    """Return the accuracy over the facts answered with a confidence of at least K, for each K in `LEVELS`."""
    sure = (judged.where(confidence=Range(least=level)) for level in LEVELS)
    return [row for items in sure for row in items.measures("accuracy_at_k", "mean", "hit")]


def chance(judged: Judged) -> Measure:
    """Return the accuracy of guessing, 1 / choices, as mean over relations; none if nothing was answered."""
    answered = judged.frame.filter(pl.col("hit").is_not_null())
    of_relations = answered.group_by("relation", maintain_order=True).agg(one_in=(1 / pl.col("offered")).mean())
    return judged.measure("chance", of_relations.select(pl.col("one_in").mean()).item(), of=("offered",))


def deviation(judged: Judged, column: str) -> float | None:
    """Return the standard deviation (n - 1) of the accuracies of the groups of a column, if there are at least two."""
    rows = judged.measures("accuracy", "macro_of_facts", "hit", by=[column])
    found = [row.value for row in rows if row.value is not None]
    return float(np.std(found, ddof=1)) if len(found) > 1 else None


def deviations(judged: Judged, metric: str, column: str) -> list[Measure]:
    """Return `deviation` in each relation, and its mean over the relations that have one."""
    each = [group.measure(metric, deviation(group, column), of=("hit", column)) for group in judged.groups("relation")]
    known = [row.value for row in each if row.value is not None]
    return [judged.measure(metric, float(np.mean(known)) if known else None, of=("hit", column)), *each]
