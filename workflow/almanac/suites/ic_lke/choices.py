"""Judging choices, and the numbers that IC-LKE and its studies share.

Every metric leaves out items without an answer: refused ones are ``missing``, those that are too long, unsupported or
failed are ``error``.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
import polars as pl

from almanac.rows import Measure
from almanac.suites.answers import Answers
from almanac.suites.data import Data
from almanac.suites.ic_lke.questions import OFFERED
from almanac.suites.judged import Condition, Judged
from almanac.suites.options import SuiteOptions
from almanac.suites.suite import Judgements, Own, Suite

Settings = TypeVar("Settings", bound=SuiteOptions)
WANTED = ("status", "index", "logprobs", "choices")
PAPER = "Wu et al., Towards Reliable Latent Knowledge Estimation in LLMs"


class ChoiceSuite(Suite[Settings]):
    """A suite whose items are choices: correct where the true one alone has the highest log-probability (ties lose).

    ``score`` is the log of the true choice's share among the choices (nats; an upper bound where only the best choice
    was asked and it is not the true one), ``confidence`` the share of the predicted choice, ``prediction`` its text.
    """

    paper = PAPER
    own: Mapping[str, Own] = OFFERED

    def judge(self, answers: Answers, data: Data, options: Settings) -> Iterator[Judgements]:
        """Judge every item by the one request that serves it."""
        for part in answers.parts(WANTED):
            yield Judgements(judge_choices(part.links), {})

    def derived(self, frame: pl.DataFrame, options: Settings) -> pl.DataFrame:
        """Add ``probability``: the true object's share of the probability of all choices."""
        return frame.with_columns(pl.col("score").exp().alias("probability"))


def judge_choices(links: pl.DataFrame) -> pl.DataFrame:
    """Return the outcomes of items that one request each serves.

    Args:
        links: one an item: ``item``, ``status``, ``index`` of the true choice, ``logprobs`` (nats) and ``choices``.
    """
    answered = (pl.col("status") == "ok") & pl.col("logprobs").is_not_null() & pl.col("index").is_not_null()
    found = links.with_columns(answered.alias("answered"))
    own = found.filter("answered")
    best, score, confidence, correct = shares(own["logprobs"], own["index"].to_numpy())
    labels = own["choices"].list.get(pl.Series(best, dtype=pl.Int64)).str.strip_chars() if own.height else None
    judged = own.select("item").with_columns(
        pl.Series("prediction", labels if labels is not None else [], dtype=pl.String),
        pl.Series("outcome", np.where(correct, "correct", "incorrect"), dtype=pl.String),
        pl.Series("score", score, dtype=pl.Float64),
        pl.Series("confidence", confidence, dtype=pl.Float64),
    )
    return found.select("item", "status").join(judged, on="item", how="left", maintain_order="left").select(
        "item", "prediction", pl.col("outcome").fill_null(unanswered()), "score", "confidence"
    )


def unanswered() -> pl.Expr:
    """Return the outcome of an item without an answer by its ``status``: missing where the model refused, else error."""
    return pl.when(pl.col("status") == "refused").then(pl.lit("missing")).otherwise(pl.lit("error"))


def shares(logprobs: pl.Series, true: Any) -> tuple[Any, Any, Any, Any]:
    """Return what log-probabilities of choices say of items.

    Args:
        logprobs: of each item's choices, nats.
        true: the place of each item's true choice, ``(items,)``.

    Returns:
        Arrays ``(items,)``: the place of the best choice, the log of the true one's share among all, the share of the
        best, and whether the true one alone is best.
    """
    if not len(logprobs):
        return np.array([], int), np.array([]), np.array([]), np.array([], bool)
    counts = logprobs.list.len().to_numpy().astype(int)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    values = logprobs.explode().to_numpy()
    highest = np.maximum.reduceat(values, starts)
    with np.errstate(invalid="ignore", divide="ignore"):  # every choice may be impossible
        total = highest + np.log(np.add.reduceat(np.exp(values - np.repeat(highest, counts)), starts))
    first = np.repeat(starts, counts)
    is_best = values == np.repeat(highest, counts)
    place = np.arange(len(values)) - first
    best = np.minimum.reduceat(np.where(is_best, place, np.iinfo(int).max), starts)
    at_true = values[starts + true]
    alone = np.add.reduceat(is_best.astype(int), starts) == 1
    return best, at_true - total, np.exp(highest - total), (at_true == highest) & alone & (counts > 1) | (counts == 1)


def accuracy(
    judged: Judged,
    *by: str,
    metric: str = "accuracy",
    where: Mapping[str, Condition] | None = None,
    relations: bool = True,
) -> list[Measure]:
    """Return the accuracy of each group as mean over relations, and in each; a fact's several answers count as one."""
    own = judged.where(where)
    rows = own.measures(metric, "macro_of_facts", "hit", by=by)
    return rows + (own.measures(metric, "macro_of_facts", "hit", by=(*by, "relation")) if relations else [])


def chance(judged: Judged) -> Measure:
    """Return chance, one in as many choices as there are at most; nothing where nothing was answered."""
    answered = judged.frame["hit"].is_not_null().any()
    most = judged.frame["offered"].max()
    return judged.measure("chance", 1 / most if answered and most else None, of=("offered",))  # type: ignore[operator]


def deviation(judged: Judged, of: str) -> float | None:
    """Return the standard deviation (of a sample, n - 1) of the accuracies of several askings; none of fewer than two.

    Args:
        judged: items of all askings.
        of: the column that tells the askings apart.
    """
    found = [row.value for row in accuracy(judged, of, relations=False) if row.value is not None]
    return float(np.std(found, ddof=1)) if len(found) > 1 else None


def deviations(judged: Judged, metric: str, of: str) -> list[Measure]:
    """Return the `deviation` of the askings in each relation, and its mean over the relations that have one."""
    each = [own.measure(metric, deviation(own, of), "deviation", ("hit", of)) for own in judged.groups("relation")]
    known = [row.value for row in each if row.value is not None]
    return [judged.measure(metric, float(np.mean(known)) if known else None, "other", ("hit", of)), *each]


def answered(judged: Judged) -> bool:
    """Return whether every item has an answer: a longer text may be too long for some."""
    return bool(judged.frame["hit"].is_not_null().all())


