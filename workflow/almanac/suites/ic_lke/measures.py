"""IC-LKE's numbers (Wu et al., section 3) and what they recover of planted knowledge.

Every metric leaves out items without an answer (too long, unsupported, failed); ``n_error`` says how many they were.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from almanac.errors import AlmanacError
from almanac.rows import Exposure, Fact, Item, Link, Measure, Outcome, Request, Response
from almanac.statistics.intervals import NOTHING, Estimate, macro_share, wilson
from almanac.statistics.recovery import Sample, estimates
from almanac.suites.asking import missing_responses
from almanac.suites.ic_lke.requests import SUITE

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def judge(
    model: str,
    items: Sequence[Item],
    links: Sequence[Link],
    requests: Iterable[Request],
    responses: Iterable[Response],
) -> list[Outcome]:
    """Judge every item: correct where the true choice alone has the highest log-probability (ties lose).

    Returns:
        One outcome an item, in its order. ``score`` is the log of the true choice's share among the choices (nats; an
        upper bound where only the best choice was asked and it is not the true one), ``confidence`` the share of the
        predicted choice, ``prediction`` its text.

    Raises:
        AlmanacError: a request has no response.
    """
    asked = {request.request_id: request for request in requests}
    answered = {response.request_id: response for response in responses}
    missing = missing_responses(asked, answered)
    if missing:
        raise AlmanacError(
            f"model {model!r}: {len(missing)} of {len(asked)} requests have no response, the first is {missing[0]}; "
            "run `answer` on their shard again"
        )
    link_of = {link.item_id: link for link in links}
    return [_judge_one(model, item, link_of[item.item_id], asked, answered) for item in items]


def _judge_one(
    model: str, item: Item, link: Link, asked: Mapping[str, Request], answered: Mapping[str, Response]
) -> Outcome:
    response, request = answered[link.request_id], asked[link.request_id]
    if response.status != "ok" or response.logprobs is None or link.index is None:
        outcome = "missing" if response.status == "refused" else "error"
        return Outcome(model, item.item_id, None, outcome, None, None)
    values = np.asarray(response.logprobs, dtype=float)
    total = float(np.logaddexp.reduce(values))
    rivals = np.delete(values, link.index)
    correct = bool(values[link.index] > rivals.max())
    # The true choice stands last, so argmax names a rival where they tie.
    best = int(values.argmax())
    return Outcome(
        model=model,
        item_id=item.item_id,
        prediction=(request.choices or ())[best].strip(),
        outcome="correct" if correct else "incorrect",
        score=float(values[link.index]) - total,
        confidence=math.exp(float(values[best]) - total),
    )


@dataclass(frozen=True)
class Judged:
    """An item with its outcome, and what the slices need of its fact."""

    item: Item
    outcome: Outcome
    subject: str
    object_key: str
    dose: int | None

    @property
    def answered(self) -> bool:
        """Whether the model gave an answer that can be judged."""
        return self.outcome.score is not None

    @property
    def hit(self) -> float:
        """1 for a correct answer, else 0."""
        return float(self.outcome.outcome == "correct")


def measure(
    dataset: str,
    items: Sequence[Item],
    outcomes: Sequence[Outcome],
    facts: Sequence[Fact],
    choices: int,
    exposures: Sequence[Exposure] | None = None,
) -> list[Measure]:
    """Compute every measure of one model on one dataset.

    Args:
        dataset: the dataset's name, written on every row.
        items: what was asked.
        outcomes: one an item, of one model.
        facts: the dataset's facts.
        choices: choices an item; chance is one in as many.
        exposures: the planned doses where the model was taught these facts; the recovery speaks of facts that have one
            (dose 0 included: names that the model met, and a fact it did not).

    Returns:
        Rows by experiment and setting: accuracy and probability mass a relation and overall (mean over relations),
        accuracy@K, and with exposures the recovery.
    """
    rows: list[Measure] = []
    taught = times_taught(exposures or (), {fact.fact_id: fact for fact in facts})
    for (experiment, setting), group in gather(items, outcomes, facts, exposures).items():
        sheet = Sheet(dataset, experiment, group[0].outcome.model, setting)
        rows += _plain_rows(sheet, group, choices)
        if exposures is not None:
            rows += _recovery_rows(sheet, group, taught)
    return rows


def gather(
    items: Sequence[Item],
    outcomes: Sequence[Outcome],
    facts: Sequence[Fact],
    exposures: Sequence[Exposure] | None,
) -> dict[tuple[str, str], list[Judged]]:
    """Join items with outcomes, facts and doses, by (experiment, setting), sorted."""
    fact_of = {fact.fact_id: fact for fact in facts}
    doses = {row.fact_id: row.dose for row in exposures or ()}
    outcome_of = {outcome.item_id: outcome for outcome in outcomes}
    groups: dict[tuple[str, str], list[Judged]] = defaultdict(list)
    for item in items:
        fact, outcome = fact_of[item.fact_id], outcome_of[item.item_id]
        judged = Judged(item, outcome, fact.subject_id, fact.object_key, doses.get(item.fact_id))
        groups[item.experiment, item.setting].append(judged)
    return dict(sorted(groups.items()))


@dataclass(frozen=True)
class Sheet:
    """What all rows of one experiment and setting have in common."""

    dataset: str
    experiment: str
    model: str
    setting: str

    def row(
        self,
        metric: str,
        estimate: Estimate,
        group: Sequence[Judged],
        relation: str | None = None,
        exposure: int | None = None,
        level: float | None = None,
    ) -> Measure:
        """Return one measure with the number of items by outcome."""
        count = Counter(judged.outcome.outcome for judged in group)
        return Measure(
            SUITE,
            self.dataset,
            self.experiment,
            metric,
            self.model,
            self.setting,
            relation,
            exposure,
            level,
            *estimate,
            len(group),
            *(count[kind] for kind in ("correct", "incorrect", "missing", "invalid", "error")),
        )


def _plain_rows(sheet: Sheet, group: Sequence[Judged], choices: int) -> list[Measure]:
    by_relation: dict[str, list[Judged]] = defaultdict(list)
    for judged in group:
        by_relation[judged.item.relation_id].append(judged)
    strata = {relation: [one for one in own if one.answered] for relation, own in by_relation.items()}
    subjects = [[one.subject for one in own] for own in strata.values()]
    rows = []
    for metric, value_of in (("accuracy", _hit), ("probability_mass", _mass)):
        values = [[value_of(one) for one in own] for own in strata.values()]
        rows.append(sheet.row(metric, macro_share(values, subjects), group))
        for relation, own, clusters in zip(strata, values, subjects, strict=True):
            rows.append(sheet.row(metric, macro_share([own], [clusters]), by_relation[relation], relation))
    chance = Estimate(1 / choices, None, None) if any(strata.values()) else NOTHING
    rows.append(sheet.row("chance", chance, group))
    for level in LEVELS:
        sure = [one for one in group if one.answered and (one.outcome.confidence or 0.0) >= level]
        rows.append(sheet.row("accuracy_at_k", _share(sure), sure, level=level))
    return rows


def _recovery_rows(sheet: Sheet, group: Sequence[Judged], taught: Mapping[str, int]) -> list[Measure]:
    """Return what the method recovers of what the model was taught: accuracy by dose, and `recovery.estimates`."""
    answered = [one for one in group if one.answered and one.dose is not None]
    by_dose: dict[int, list[Judged]] = defaultdict(list)
    for one in answered:
        by_dose[one.dose or 0].append(one)
    rows = [sheet.row("accuracy_by_exposure", _share(own), own, exposure=dose) for dose, own in sorted(by_dose.items())]
    ends = {"recovery_auc": (0, max(by_dose, default=0)), "prior_auc": (0, max(by_dose, default=0))}
    ends["never_accuracy"] = (0, 0)
    for metric, estimate in estimates(sample(group, taught)).items():
        behind = [one for one in answered if metric not in ends or one.dose in ends[metric]]
        rows.append(sheet.row(metric, estimate, behind))
    return rows


def sample(group: Sequence[Judged], taught: Mapping[str, int]) -> Sample:
    """Return the answered items that have a dose, as the recovery counts them: a fact once, its draws averaged.

    Args:
        group: items of one experiment, of one draw of the examples or of several.
        taught: how often each object was taught, all its facts together (`times_taught`).
    """
    by_fact: dict[str, list[Judged]] = defaultdict(list)
    for one in group:
        if one.answered and one.dose is not None:
            by_fact[one.item.fact_id].append(one)
    kept = list(by_fact.values())
    return Sample(
        doses=tuple(own[0].dose or 0 for own in kept),
        hits=tuple(sum(map(_hit, own)) / len(own) for own in kept),
        scores=tuple(sum(map(_score, own)) / len(own) for own in kept),
        priors=tuple(float(taught.get(own[0].object_key, 0)) for own in kept),
    )


def times_taught(exposures: Sequence[Exposure], facts: Mapping[str, Fact]) -> Counter[str]:
    """Return how often each object was taught, by its key, over the facts of one dataset."""
    count: Counter[str] = Counter()
    for row in exposures:
        if row.fact_id in facts:
            count[facts[row.fact_id].object_key] += row.dose
    return count


def _share(group: Sequence[Judged]) -> Estimate:
    """Return the share of correct answers with its Wilson interval, all items together."""
    return wilson(sum(map(_hit, group)) / len(group), len(group)) if group else NOTHING


def _hit(judged: Judged) -> float:
    return judged.hit


def _mass(judged: Judged) -> float:
    return math.exp(_score(judged))


def _score(judged: Judged) -> float:
    return judged.outcome.score or 0.0
