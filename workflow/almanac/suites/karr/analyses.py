"""What a score owes to its draw, to objects that a model expects of anybody, and how it agrees with human labels."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from almanac.errors import AlmanacError
from almanac.rows import Fact, Item, Link, Measure, Outcome
from almanac.statistics.agreement import agreement
from almanac.statistics.intervals import NOTHING, Estimate, wilson
from almanac.suites.judging import Judged, Sheet, share
from almanac.suites.karr.draws import Pools
from almanac.suites.karr.estimator import VARIANTS, estimate
from almanac.suites.karr.judging import Answers, judge
from almanac.suites.karr.options import KarrOptions
from almanac.suites.karr.requests import FACTS, K_PROMPTS, PARAREL
from almanac.suites.karr.resampling import KINDS, TEMPLATES, Resampling
from almanac.suites.karr.strings import UnansweredError, plan


@dataclass(frozen=True)
class Runs:
    """The score of one method, the share of facts known, in runs that replace one kind of text."""

    experiment: str
    kind: str
    scores: tuple[float, ...]

    def estimates(self) -> dict[str, Estimate]:
        """Return the variance over runs and its root; nothing of fewer than two runs."""
        if len(self.scores) < 2:
            return {"score_variance": NOTHING, "score_deviation": NOTHING}
        variance = float(np.var(self.scores, ddof=1))
        return {
            "score_variance": Estimate(variance, None, None),
            "score_deviation": Estimate(math.sqrt(variance), None, None),
        }


def runs(
    answers: Answers,
    items: Sequence[Item],
    facts: Sequence[Fact],
    pools: Pools,
    limits: Mapping[str, float],
    options: KarrOptions,
) -> Iterator[Runs]:
    """Judge every method's true facts again in each run, at the thresholds as they are.

    Names are replaced for KaRR and K-Prompts alone: the other methods know the labels only. A kind of text of which
    nothing has one more to draw yields nothing.

    Raises:
        AlmanacError: a run's string was not asked.
    """
    fact_of = {fact.fact_id: fact for fact in facts}
    resampling = {mode: Resampling(pools, variant) for mode, variant in VARIANTS.items()}
    by_experiment: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        if item.setting == FACTS:
            by_experiment[item.experiment].append(item)
    for experiment, own in sorted(by_experiment.items()):
        drawn_in = experiment if experiment in VARIANTS else "paper"
        judged = _Again(answers, resampling[drawn_in], limits, options, drawn_in)
        for kind in KINDS:
            if any(judged.replaces(item, fact_of[item.fact_id], kind) for item in own):
                scores = []
                for run in range(options.resamples):
                    verdicts = [judged.known(item, fact_of[item.fact_id], kind, run) for item in own]
                    found = [verdict for verdict in verdicts if verdict is not None]
                    if found:
                        scores.append(sum(found) / len(found))
                yield Runs(experiment, kind, tuple(scores))


@dataclass(frozen=True)
class _Again:
    """Judges one method's items with other draws."""

    answers: Answers
    resampling: Resampling
    limits: Mapping[str, float]
    options: KarrOptions
    mode: str

    def replaces(self, item: Item, fact: Fact, kind: str) -> bool:
        if item.experiment in VARIANTS or item.experiment == K_PROMPTS:
            drawn = self.answers.draws[f"karr/{self.mode}/{FACTS}/{item.fact_id}"]
            return self.resampling.replaces(fact, drawn, kind)
        if item.experiment == PARAREL:
            return kind == TEMPLATES and bool(self.resampling.spare(kind, item.relation_id))
        return kind == TEMPLATES and len(self.answers.blanks(item)) > 1

    def known(self, item: Item, fact: Fact, kind: str, run: int) -> bool | None:
        """Return whether an item is called known in a run; none where it has no value."""
        try:
            if item.experiment not in VARIANTS and item.experiment != K_PROMPTS:
                return _verdict(judge(self.answers, item, self.options, self._blanks(item, run), None))
            drawn = self.answers.draws[f"karr/{self.mode}/{FACTS}/{item.fact_id}"]
            drawn = self.resampling.replaced(fact, drawn, kind, run)
            if item.experiment == K_PROMPTS:
                return _verdict(judge(self.answers, item, self.options, (), drawn))
            variant = VARIANTS[self.mode]
            karr = estimate(self.answers.numbers[self.mode].leaves(plan(drawn, variant)), variant).karr
        except UnansweredError:
            return None
        except KeyError as error:
            raise AlmanacError(
                f"model {self.answers.model!r}: {item.item_id}: a run's string was not asked; measure with the dataset "
                "and the settings that were asked, or without resamples"
            ) from error
        return None if karr is None else karr > math.log(self.limits[self.mode])

    def _blanks(self, item: Item, run: int) -> list[Link]:
        """Return the blanks that a run reads: LAMA's is any of the pool's, ParaRel's are all but one."""
        blanks = self.answers.blanks(item)
        if item.experiment == PARAREL:
            wanted = self.resampling.positions(TEMPLATES, run, item.relation_id)
        else:
            wanted = [self.resampling.one(run, item.relation_id)]
        return [blanks[at] for at in wanted]


def _verdict(outcome: Outcome) -> bool | None:
    return None if outcome.score is None else outcome.outcome == "correct"


def run_rows(sheet: Sheet, group: Sequence[Judged], found: Sequence[Runs]) -> list[Measure]:
    """Return the variance of a method's score over runs, the kind of text that is replaced as setting."""
    return [
        replace(sheet, setting=one.kind).row(metric, estimate, group)
        for one in found
        if one.experiment == sheet.experiment
        for metric, estimate in one.estimates().items()
    ]


def spurious_rows(sheet: Sheet, false: Sequence[Judged], facts: Sequence[Judged]) -> list[Measure]:
    """Return SP, the share known of the facts with the expected false object, and ΔP, SP less the share with the true.

    Both are of the facts that have a value with both objects; ``without_value`` is the share that has none with the
    expected one, of all that were asked again.

    Args:
        sheet: the method, with the setting ``spurious``.
        false: the facts with the object that the model expects.
        facts: all facts with their true object.
    """
    asked = {one.item.fact_id for one in false if one.answered}
    true = [one for one in facts if one.item.fact_id in asked and one.answered]
    both = {one.item.fact_id for one in true}
    paired = [one for one in false if one.item.fact_id in both]
    found, control = share(paired), share(true)
    delta = None if found.value is None or control.value is None else found.value - control.value
    return [
        sheet.row("known", found, paired),
        sheet.row("spurious_control", control, true),
        sheet.row("spurious_delta", Estimate(delta, None, None), true),
        without_value(sheet, false),
    ]


def without_value(sheet: Sheet, group: Sequence[Judged]) -> Measure:
    """Return the share of items that have no value, with their number by outcome."""
    return sheet.row("without_value", wilson(sum(not one.answered for one in group) / len(group), len(group)), group)


def label_rows(sheet: Sheet, group: Sequence[Judged], labels: Mapping[str, float], known: float) -> list[Measure]:
    """Return recall, Kendall's tau and its p against human labels.

    Args:
        sheet: the method.
        group: its true facts.
        labels: the mean label by fact (`labels.reference`).
        known: a fact is held known from this label on.
    """
    own = [one for one in group if one.answered and one.item.fact_id in labels]
    if not own:
        return []
    values = [labels[one.item.fact_id] for one in own]
    found = agreement([one.score for one in own], [one.hit > 0 for one in own], values, known)
    return [
        sheet.row("recall_labels", found.recall, [one for one in own if labels[one.item.fact_id] >= known]),
        sheet.row("kendall_labels", Estimate(found.tau, None, None), own),
        sheet.row("kendall_p_labels", Estimate(found.p, None, None), own),
    ]
