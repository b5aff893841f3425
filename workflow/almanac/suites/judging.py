"""What all suites share of judging: items joined with outcomes and doses, one row a measure, the recovery of doses."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from almanac.errors import AlmanacError
from almanac.rows import Exposure, Fact, Item, Measure, Outcome, Response
from almanac.statistics.intervals import NOTHING, Estimate, wilson
from almanac.statistics.recovery import Sample, estimates
from almanac.suites.asking import missing_responses


def responses_of(model: str, asked: Iterable[str], responses: Iterable[Response]) -> dict[str, Response]:
    """Return a model's responses by request; of several to one, from several rounds, the first, whatever its status.

    So what a later round asks once more changes nothing of the earlier ones.

    Args:
        model: its name, for the message.
        asked: the ids of the requests.
        responses: what it answered, in the order of the rounds.

    Raises:
        AlmanacError: a request has no response.
    """
    wanted = list(dict.fromkeys(asked))
    answered: dict[str, Response] = {}
    for response in responses:
        answered.setdefault(response.request_id, response)
    missing = missing_responses(wanted, answered)
    if missing:
        raise AlmanacError(
            f"model {model!r}: {len(missing)} of {len(wanted)} requests have no response, the first is {missing[0]}; "
            "run `answer` on their shard again"
        )
    return answered


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

    @property
    def score(self) -> float:
        """The score of an answered item."""
        return self.outcome.score or 0.0


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

    suite: str
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
            self.suite,
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


def recovery_rows(sheet: Sheet, group: Sequence[Judged], taught: Mapping[str, int]) -> list[Measure]:
    """Return what the method recovers of what the model was taught: accuracy by dose, and `recovery.estimates`."""
    answered = [one for one in group if one.answered and one.dose is not None]
    by_dose: dict[int, list[Judged]] = defaultdict(list)
    for one in answered:
        by_dose[one.dose or 0].append(one)
    rows = [sheet.row("accuracy_by_exposure", share(own), own, exposure=dose) for dose, own in sorted(by_dose.items())]
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
        hits=tuple(sum(one.hit for one in own) / len(own) for own in kept),
        scores=tuple(sum(one.score for one in own) / len(own) for own in kept),
        priors=tuple(float(taught.get(own[0].object_key, 0)) for own in kept),
    )


def times_taught(exposures: Sequence[Exposure], facts: Mapping[str, Fact]) -> Counter[str]:
    """Return how often each object was taught, by its key, over the facts of one dataset."""
    count: Counter[str] = Counter()
    for row in exposures:
        if row.fact_id in facts:
            count[facts[row.fact_id].object_key] += row.dose
    return count


def share(group: Sequence[Judged]) -> Estimate:
    """Return the share of correct answers with its Wilson interval, all items together."""
    return wilson(sum(one.hit for one in group) / len(group), len(group)) if group else NOTHING
