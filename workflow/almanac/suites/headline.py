"""The headline of a method for a model: the share of known facts, the share expected by chance, and the difference."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from almanac.errors import AlmanacError, did_you_mean
from almanac.rows import Measure
from almanac.statistics import grouped
from almanac.statistics.intervals import Estimate
from almanac.suites.answers import Answers
from almanac.suites.chance import ABOVE, CHANCE, GIVEN, against_false, against_others, against_statements
from almanac.suites.chapter import NOT_TAUGHT, Entrant
from almanac.suites.data import Data
from almanac.suites.judged import FACT, RELATION, SUBJECT, Judged, conditions_of
from almanac.suites.suite import Method, Suite
from almanac.suites.truths import Truths, objects_of

# The metrics.
KNOWN, FACTS = "headline", "headline_facts"
OTHER_RELATIONS = "headline_other_relations"
KNOWN_OF_RELATION = "known_of_relation"
WITHOUT_WORDS = "headline_without_words"  # the share of answers without any letter or digit
NULL_KNOWN = "null_model_known"  # known of a model's null, if the method judges it by what it found in the model
NULL_NEVER = "null_model_known_never"  # the same on facts that the model was never taught
FEW = 20  # with fewer answered facts of a method, or shared by several methods, nothing is concluded
LEVEL = 0.025  # familywise level of all one-sided tests of an edition
ABOVE_CHANCE, NOT_ABOVE, TOO_FEW, NO_FORMAT, UNDEFINED = (
    "above chance",
    "not distinguishable from chance",
    "too few facts",
    "mostly invalid answers",
    "no chance defined",
)
TESTED = (ABOVE_CHANCE, NOT_ABOVE)  # the verdicts of a test


class Finding(NamedTuple):
    """The headline of one method for one model on one dataset.

    Attributes:
        known: the share of facts that the method calls known, a mean over relations, with an interval for these.
        chance: the share expected by chance; None if that is not defined.
        above: the difference, with its interval; ``p`` is one-sided and not adjusted.
        facts: the number of facts that were answered.
        adjusted: the p after Holm's adjustment over all findings of the edition.
        verdict: one of the five in this module, or `NOT_TAUGHT`.
        other_relations: ``known`` again, with the interval for other relations.
        without_words: the share of answers without words, if there are any.
        beyond_names: whether it is above chance also without the facts that names give away (`Data.given_by_names`): by
            the same test of the remaining facts, adjusted in the same way. None if it is not above chance.
    """

    method: Method
    known: Measure
    chance: Measure | None
    above: Measure | None
    facts: int
    adjusted: float | None
    verdict: str
    other_relations: Measure | None = None
    without_words: Measure | None = None
    beyond_names: bool | None = None

    @property
    def label(self) -> str:
        """Return what the page calls the method, with the number of examples where it shows any."""
        shots = conditions_of(self.known).get("shots") if "shots" in self.method.by else None
        label, examples = self.method.label, f"{shots} examples"
        return label if shots is None or label.endswith(examples) else f"{label}, {examples}"


def measures(
    suite: Suite[Any], options: Any, judged: Judged, said: pl.DataFrame, answers: Answers, data: Data
) -> Iterator[Measure]:
    """Yield the headline numbers of a model: known and, if defined, chance and the difference.

    ``said`` has the answers as they were read: ``item``, ``reading`` and ``prediction``.

    Raises:
        AlmanacError: the suite's `offered` lacks a column, or a method names an unknown reading or column.
    """
    readings, objects, forms = suite.readings(options), None, None
    for method in suite.counted(options):
        reading = _reading(suite.name, method, readings, judged.frame.columns)
        texts = said.filter(pl.col("reading") == reading).drop("reading")
        truths: Truths | None = None  # computed once for all groups of the method
        for group in judged.where(method.where).groups(*method.by):
            if group.frame.is_empty():
                continue
            answered = group.frame.filter(pl.col("hit").is_not_null() & pl.col("fact").is_not_null())
            yield from group.measures(KNOWN, "macro_of_facts", "hit")
            beyond = grouped.macro(group.frame, [], "hit", RELATION, SUBJECT, FACT, drawn=True).rows()
            yield group.measure(OTHER_RELATIONS, Estimate(*beyond[0]) if beyond else None, "macro_of_facts", ("hit",))
            yield group.measure(FACTS, answered["fact"].n_unique(), "other", ("fact",))
            yield from group.measures(KNOWN_OF_RELATION, "macro_of_facts", "hit", by=[RELATION])
            if answered.is_empty() or not (method.by_answer or isinstance(method.guess, Mapping)):
                continue
            if objects is None:
                objects, forms = objects_of(data), suite.forms(data, options)
            if truths is None:
                offered = _offered(suite, method, answers, data, options)
                accepts = suite.accepts(method, options)
                truths = Truths.of(answers, offered, objects, accepts, forms, suite.asks_subjects)
            if method.by_answer:
                yield from _without_words(group, answered, texts)
                states = truths.offered is not None and "shown" in truths.offered.columns
                chance = against_statements if states else against_others
                yield from chance(group, _with_answers(method, answered, texts), truths)
            elif isinstance(method.guess, Mapping):
                false = judged.where({**{name: group.conditions[name] for name in method.by}, **method.guess})
                yield from against_false(group, answered, false, truths)


def _reading(suite: str, method: Method, readings: Sequence[str], columns: Sequence[str]) -> str:
    """Return the reading of a method; refuse an unknown reading, or an unknown column of answers."""
    reading = str(method.where.get("reading", readings[0]))
    if reading not in readings:
        raise AlmanacError(
            f"suite {suite}: method {method.name} names the reading {reading!r}, which these settings lack (then "
            f"`counted` must leave the method out){did_you_mean(reading, readings)}"
        )
    if method.answer not in ("prediction", *columns):
        raise AlmanacError(
            f"suite {suite}: method {method.name}: answer is {method.answer!r}, which is no column of its "
            f"items{did_you_mean(method.answer, columns)}"
        )
    return reading


def _with_answers(method: Method, answered: pl.DataFrame, read: pl.DataFrame) -> pl.DataFrame:
    """Add ``prediction``: the answer, or what was recognised in it (`Method.answer`), if anything.

    An abstention becomes an empty answer, which is right for no fact, whatever else it says.
    """
    if method.answer == "prediction":
        found = answered.join(read, on="item", how="left", maintain_order="left")
        missing = (pl.col("outcome").cast(pl.String) == "missing") & pl.col("prediction").is_not_null()
        return found.with_columns(pl.when(missing).then(pl.lit("")).otherwise("prediction").alias("prediction"))
    return answered.with_columns(pl.col(method.answer).cast(pl.String).fill_null("").alias("prediction"))


def _without_words(own: Judged, answered: pl.DataFrame, read: pl.DataFrame) -> Iterator[Measure]:
    """Yield the share of answers without any letter or digit, if there are any."""
    said = read.join(answered, on="item", how="semi")["prediction"].cast(pl.String).drop_nulls()
    if silent := said.filter(~said.str.contains(r"[\p{L}\p{N}]")).len():
        yield own.measure(WITHOUT_WORDS, silent / len(said), "other", ("prediction",))


def _offered(suite: Suite[Any], method: Method, answers: Answers, data: Data, options: Any) -> pl.DataFrame | None:
    found = suite.offered(method, answers, data, options)
    if found is not None and not ("offered" in found.columns and {"item", "fact"} & set(found.columns)):
        there = ", ".join(found.columns)
        raise AlmanacError(
            f"suite {suite.name}: `offered` returns {there}; it must have `offered`, and `item` or `fact`"
        )
    return found


def findings(
    rows: Sequence[Measure], methods: Mapping[str, Sequence[Method]], models: Mapping[str, Entrant]
) -> list[Finding]:
    """Return the finding of each method for each model; the tests of all verdicts are adjusted together (Holm 1979).

    Args:
        rows: the numbers of an edition; those that are not headline numbers are ignored.
        methods: the methods of each suite.
        models: by name, models that may not have been taught a method's format.
    """
    by_headline: dict[tuple[str, str, str | None, str], dict[str, Measure]] = defaultdict(dict)
    for row in rows:
        if row.metric in (KNOWN, OTHER_RELATIONS, CHANCE, ABOVE, GIVEN, FACTS, WITHOUT_WORDS):
            by_headline[row.suite, row.dataset, row.model, row.where][row.metric] = row
    found = [(metrics, method_of(metrics[KNOWN], methods[metrics[KNOWN].suite])) for metrics in by_headline.values()]
    lacks = [_lack(metrics, method, models.get(str(metrics[KNOWN].model))) for metrics, method in found]
    tested = [metrics for (metrics, _), lack in zip(found, lacks, strict=True) if lack is None]
    adjusted, of_rest = (iter(holm([p_of(one.get(metric)) for one in tested])) for metric in (ABOVE, GIVEN))
    out = []
    for (metrics, method), lack in zip(found, lacks, strict=True):
        p, beyond = (next(adjusted), next(of_rest)) if lack is None else (None, None)
        verdict = lack or (ABOVE_CHANCE if p is not None and p <= LEVEL else NOT_ABOVE)
        beyond_names = beyond <= LEVEL if beyond is not None and verdict == ABOVE_CHANCE and GIVEN in metrics else None
        numbers = metrics[KNOWN], metrics.get(CHANCE), metrics.get(ABOVE), int(metrics[FACTS].value or 0)
        more = metrics.get(OTHER_RELATIONS), metrics.get(WITHOUT_WORDS)
        out.append(Finding(method, *numbers, p, verdict, *more, beyond_names))
    return out


def p_of(row: Measure | None) -> float:
    """Return the p of a number; 1 if it has none."""
    return 1.0 if row is None or row.p is None else row.p


def method_of(row: Measure, methods: Sequence[Method]) -> Method:
    """Return the method of a headline number: the one with most conditions, all of them among the number's own.

    Raises:
        AlmanacError: there is none.
    """
    where = conditions_of(row)
    fitting = [one for one in methods if all(where.get(name, ...) == value for name, value in one.where.items())]
    if not fitting:
        raise AlmanacError(
            f"suite {row.suite}: no method has numbers with the conditions {row.where}; measure the edition again"
        )
    return max(fitting, key=lambda one: len(one.where))


def _lack(metrics: Mapping[str, Measure], method: Method, model: Entrant | None) -> str | None:
    """Return the verdict that replaces a test, if there is nothing to test."""
    row, facts = metrics[KNOWN], metrics[FACTS].value or 0
    if model is not None and not model.understands(method.format) and facts:
        return NOT_TAUGHT
    if not followed(row.n, row.n_error, row.n_missing, row.n_invalid):
        return NO_FORMAT
    if facts < FEW:
        return TOO_FEW
    return None if ABOVE in metrics and metrics[ABOVE].p is not None else UNDEFINED


def followed(n: int, errors: int, missing: int, invalid: int) -> bool:
    """Return whether at least half of the answers to ``n`` items have the required form, abstentions left out."""
    return invalid <= (n - errors - missing) / 2


def holm(ps: Sequence[float]) -> list[float]:
    """Return p-values adjusted for multiple tests (Holm, Scandinavian Journal of Statistics 6, 1979)."""
    given = np.asarray(ps, dtype=float)
    order = given.argsort(kind="stable")
    adjusted = np.empty_like(given)
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, given[order] * np.arange(len(given), 0, -1)))
    return [float(p) for p in adjusted]
