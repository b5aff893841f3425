"""Head-to-Tail's metrics of one model: accuracy, hallucination and missing rate, in all the groups of the paper.

The three are means over questions (micro averages). Errors, items without any answer, are left out, so the three sum to
1 in every group. With a graded score (F1, ROUGE-L) the hallucination rate is 1 − score − missing rate.
"""

from collections.abc import Mapping

import polars as pl

from almanac.rows import Measure
from almanac.statistics.agreement import cohens_kappa
from almanac.statistics.intervals import Estimate, combined
from almanac.suites.head_to_tail.judging import JUDGE, RULES
from almanac.suites.head_to_tail.options import HeadToTailOptions
from almanac.suites.judged import Judged, Not, conditions_of
from almanac.suites.recovery import recovery

BY = ("reading", "experiment", "prompt")
ONCE = {"repeat": None}  # the greedy answer, not those at temperature 1
RATES = {"accuracy": "hit", "hallucination": "hallucinated", "missing": "missing"}
SCORES = ("named", "exact", "f1", "rouge_l")
PLAIN = "_plain"  # suffix of scores without variants of the true answers
WRONG = "_wrong"  # suffix of the hallucination rate by a score
PARTS = (("level",), ("domain",), ("domain", "level"))
ENDS = ("head", "tail")
COMMON = ("head", "torso")  # the buckets of predicates that Table 6 takes together


def derived(frame: pl.DataFrame, options: HeadToTailOptions) -> pl.DataFrame:
    """Add the columns that metrics are computed from.

    ``level`` is the subject's bucket: the one it was asked by, or with popularity by exposure the one by how often the
    planted model was taught facts about it. ``missing``, ``hallucinated``; SCORE``_wrong``, 1 minus the score, or 0 if
    the answer is missing; ``agrees``: a person's verdict equals the outcome.
    """
    answered = pl.col("hit").is_not_null()
    missing = pl.when(answered).then(pl.col("outcome") == "missing")
    level = "exposed_bucket" if options.popularity == "exposure" else "asked_bucket"
    frame = frame.with_columns(missing.alias("missing"), pl.col(level).alias("level"))
    wrong = [
        (1 - pl.col(name).cast(pl.Float64) - (pl.col("outcome") == "missing").cast(pl.Float64)).alias(name + WRONG)
        for name in (score + form for score in SCORES for form in ("", PLAIN))
    ]
    return frame.with_columns(
        (~pl.col("hit") & ~pl.col("missing")).alias("hallucinated"),
        (pl.col("hit") == pl.col("human")).alias("agrees"),
        *wrong,
    )


def measure(judged: Judged, own: Mapping[str, pl.DataFrame], options: HeadToTailOptions) -> list[Measure]:
    """Compute every metric of one model on one dataset.

    Returns:
        By reading, experiment (question or cloze) and prompt, for greedy answers: the metrics of `divided`; the rates
        by type of the subject, by relation and by popularity of the relation (Table 6); metrics of the judge and of a
        person's verdicts; for planted models recovery. From repeated answers: stability.
    """
    once = judged.where(ONCE)
    rows = divided(once)
    for part in ("kind", "relation"):
        rows += rates(once.where({part: Not(None)}), *BY, part)
    rows += rates(once.where(predicate_bucket=COMMON), *BY) + rates(once.where(predicate_bucket="tail"), *BY)
    rows += _judged(once)
    rows += judged.where(reading=RULES, repeat=Not(None), differs=Not(None)).measures(
        "unstable", "mean", "differs", by=("experiment", "prompt")
    )
    return rows + _taught(once, options)


def divided(once: Judged) -> list[Measure]:
    """Return the rates over all questions and by `PARTS`, and the scores by rules, with and without variants.

    These are Tables 3, 4, 9, 11 and 14; with the rates for the most popular subjects of the head (Tables 5, 12, 13) and
    for natural questions (Table 10), and the fall of accuracy from head to tail (``fall``).
    """
    rows = rates(once, *BY)
    for part in PARTS:
        rows += rates(once.where({name: Not(None) for name in part}), *BY, *part)
    for own in (once.where(top=True), once.where(natural=True)):
        rows += rates(own, *BY) + rates(own, *BY, "domain")
    rows += rates(once.where(natural=True, level=Not(None)), *BY, "level")
    return rows + _falls(once) + _scores(once.where(reading=RULES))


def _falls(once: Judged) -> list[Measure]:
    """Return the accuracy in the head minus that in the tail; their subjects differ, so the shares are independent."""
    rows = []
    for by in (BY, (*BY, "domain")):
        for group in once.where({"level": ENDS}, **{name: Not(None) for name in by[len(BY) :]}).groups(*by):
            shares = group.measures("accuracy", "mean", "hit", by=("level",))
            found = {conditions_of(row)["level"]: Estimate(row.value, row.low, row.high) for row in shares}
            if found.keys() == {*ENDS}:
                fall = combined([(1, found["head"]), (-1, found["tail"])])
                rows.append(group.measure("fall", fall, of=("hit", "level")))
    return rows


def rates(judged: Judged, *by: str) -> list[Measure]:
    """Return accuracy, hallucination and missing rate by group."""
    return [row for metric, of in RATES.items() for row in judged.measures(metric, "mean", of, by=by)]


def _scores(rules: Judged) -> list[Measure]:
    """Return the mean of each score by rules, with and without variants, and its hallucination rate (Table 14)."""
    rows = []
    for by in (BY, (*BY, "level"), (*BY, "domain", "level")):
        own = rules.where({name: Not(None) for name in by[len(BY) :]})
        for name in (score + form for score in SCORES for form in ("", PLAIN)):
            rows += own.measures(name, "mean", name, by=by) + own.measures(name + WRONG, "mean", name + WRONG, by=by)
    # The missing rate by the extended list.
    return rows + rules.measures("missing_extended", "mean", "unknown", by=BY)


def _judged(once: Judged) -> list[Measure]:
    """Return the judge's rates of verdicts, disagreement and false accepts, and the agreement with a person."""
    rows: list[Measure] = []
    for own, metric, of in (
        (once.where(reading=JUDGE, parsed=Not(None)), "verdict_given", "parsed"),
        (once.where(reading=JUDGE, disagrees=Not(None)), "disagreement", "disagrees"),
        (once.where(reading=JUDGE, false_accept=Not(None)), "false_accept", "false_accept"),
    ):
        rows += own.measures(metric, "mean", of, by=BY)
        for part in ("level", "domain"):
            rows += own.where({part: Not(None)}).measures(metric, "mean", of, by=(*BY, part))
    for group in once.where(human=Not(None), hit=Not(None)).groups(*BY):
        right, person = group.frame["hit"].to_list(), group.frame["human"].to_list()
        rows.append(group.measure("kappa", cohens_kappa(right, person), of=("hit", "human")))
        rows += group.measures("agreement", "mean", "agrees")
    return rows


def _taught(once: Judged, options: HeadToTailOptions) -> list[Measure]:
    """Return recovery, and the rates of a planted model by exposure of the subject.

    The rates by dose and ``level`` are the control: at one dose of the fact, does the subject's popularity matter?
    """
    rows = recovery(once.where(reading=RULES), "experiment", "prompt")
    taught = once.where(dose=Not(None))
    if options.popularity != "exposure":
        rows += rates(taught.where(exposed_bucket=Not(None)), *BY, "exposed_bucket")
    return rows + rates(taught.where(level=Not(None)), *BY, "dose", "level")
