"""Head-to-Tail's tables of scores by rules, of verdicts by the judge and by people, and of their correlations."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from almanac.suites.chapter import Cell, Shown, Table
from almanac.suites.head_to_tail.across import CORRELATIONS, PAIRS
from almanac.suites.head_to_tail.asking import HeadToTailSetting
from almanac.suites.head_to_tail.buckets import BUCKETS
from almanac.suites.head_to_tail.judging import JUDGE
from almanac.suites.head_to_tail.measures import BY, ONCE, PLAIN, SCORES
from almanac.suites.judged import Not

NAMES = {"named": "names one", "exact": "exact match", "f1": "token F1", "rouge_l": "ROUGE-L"}


def way_name(key: Sequence[Any]) -> str:
    """Describe to a reader how items were asked and judged; ``key`` begins with the values of `BY`."""
    reading, experiment, prompt = map(str, key[: len(BY)])
    return f"{experiment}, {HeadToTailSetting(prompt).label()}, by {reading}"


def scores(shown: Shown) -> Table:
    """Return the scores by rules over all questions (Table 14)."""
    rows: list[Sequence[Cell]] = []
    for row in shown.valued("exact", *BY, **ONCE):
        where = {name: shown.at(row)[name] for name in (*BY, *ONCE)}
        numbers = [shown.one(score + form, row.model, **where) for score in SCORES for form in ("", PLAIN)]
        rows.append([row.model, way_name(tuple(where.values())), *numbers])
    head = ("model", "asked", *(f"{NAMES[score]}{form}" for score in SCORES for form in ("", ", no variants")))
    caption = "Scores by rules, the best over the true answers, with and without variants of these (Table 14)."
    return Table("scores", caption, head, rows, folded=True)


def score_levels(shown: Shown) -> Table:
    """Return the scores by rules in each domain and bucket (Table 14)."""
    rows: list[Sequence[Cell]] = []
    for row in shown.find("exact", *BY, "domain", "level", **ONCE):
        where = shown.at(row)
        others = [shown.one(score, row.model, **where) for score in SCORES]
        key = [where[name] for name in BY]
        rows.append([row.model, way_name(key), str(where["domain"]), str(where["level"]), row.n - row.n_error, *others])
    place = {name: at for at, name in enumerate([*dict.fromkeys(cells[0] for cells in rows), *BUCKETS])}
    rows.sort(key=lambda cells: (place[cells[0]], str(cells[1]), str(cells[2]), place[cells[3]]))
    caption = "Scores by rules by domain and bucket, the best over true answers and their variants (Table 14)."
    head = ("model", "asked", "domain", "bucket", "answers", *NAMES.values())
    return Table("score_levels", caption, head, rows, folded=True)


def judged(shown: Shown) -> Iterator[Table]:
    """Yield the tables of the judge's replies, of a person's verdicts, and of the correlations."""
    rows: list[Sequence[Cell]] = []
    for row in shown.find("verdict_given", "experiment", "prompt", parsed=Not(None), reading=JUDGE, **ONCE):
        where = dict(shown.at(row))
        del where["parsed"]
        apart = shown.one("disagreement", row.model, disagrees=Not(None), **where)
        fooled = shown.one("false_accept", row.model, false_accept=Not(None), **where)
        rows.append([row.model, way_name((JUDGE, where["experiment"], where["prompt"])), row.n, row, apart, fooled])
    caption = (
        "The judge's replies: how often they contain a verdict (otherwise the answer counts as incorrect), and how "
        "often it differs from the rules. For one answer in ten it was also shown another question's answer: how often "
        "it called that correct."
    )
    head = ("model", "asked", "replies", "with a verdict", "against the rules", "wrong answers called correct")
    yield Table("judge", caption, head, rows)
    rows = []
    for row in shown.find("kappa", *BY, **ONCE, human=Not(None), hit=Not(None)):
        agreed = shown.one("agreement", row.model, **shown.at(row))
        rows.append([row.model, way_name([shown.at(row)[name] for name in BY]), row.n, agreed, row])
    caption = "Agreement with a person's verdicts on the same answers."
    yield Table("people", caption, ("model", "asked", "answers", "agreement", "kappa"), rows)
    yield correlations(shown)


def correlations(shown: Shown) -> Table:
    """Return the correlations over models between the judge's rates and those by rules (Table 8)."""
    rows: list[Sequence[Cell]] = []
    for rate, score in product(PAIRS, SCORES):
        metrics = [f"{name}_{rate}_{score}_{end}" for name in CORRELATIONS for end in ("min", "mean")]
        for row in shown.valued(f"spearman_{rate}_{score}_mean", "experiment", "prompt", **ONCE):
            where = shown.at(row)
            others = [shown.one(metric, None, **where) for metric in metrics]
            rows.append([way_name((JUDGE, where["experiment"], where["prompt"])), rate, score, row.n, *others])
    caption = (
        "Correlation of the judge's and the rules' rates over models, both of the answers that the judge replied to: "
        "the least and the mean over domains and buckets (Table 8)."
    )
    correlated = ("Spearman, least", "Spearman, mean", "Pearson, least", "Pearson, mean")
    head = ("asked", "rate", "score", "cells", *correlated)
    return Table("correlations", caption, head, rows, folded=True)
