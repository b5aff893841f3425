"""Head-to-Tail: do models know less about less popular subjects, and do they say so (Sun et al.)?"""

import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import ClassVar

import polars as pl

from almanac.rows import Measure, RelationCount
from almanac.suites.answers import Answers
from almanac.suites.asked import Batch
from almanac.suites.chapter import Shown
from almanac.suites.data import Data
from almanac.suites.head_to_tail import across, asking, bars, judging, measures, templates
from almanac.suites.head_to_tail import chapter as chapters
from almanac.suites.head_to_tail import judge as judges
from almanac.suites.head_to_tail import overview as overviews
from almanac.suites.head_to_tail.asking import CLOZE, QUESTION, HeadToTailSetting
from almanac.suites.head_to_tail.buckets import BUCKETS, EXPOSURE
from almanac.suites.head_to_tail.judging import JUDGE, RULES
from almanac.suites.head_to_tail.options import HeadToTailOptions
from almanac.suites.head_to_tail.rows import BucketCount, Disagreement, EntityTraits, Score
from almanac.suites.head_to_tail.variants import forms
from almanac.suites.judged import Judged
from almanac.suites.options import of_each
from almanac.suites.suite import ANY_TRUE, BarResult, Method, Own, Round, Suite


def _method(experiment: str, label: str) -> Method:
    """Return the headline of an experiment: accuracy by rules, with a guessing rate of 0 since answers are open."""
    asked = {"reading": RULES, "experiment": experiment, "repeat": None}
    return Method(experiment, label, asked, ("prompt",), guess=0.0, compared=ANY_TRUE)


class HeadToTail(Suite[HeadToTailOptions]):
    """Asks equally many questions about popular and other subjects; scores short answers by rules and by a judge."""

    name = "head_to_tail"
    label = "Head-to-Tail"
    summary = "answer questions about popular and less popular subjects, or say unsure"
    scores = "the answer's token F1 with the true one; by a judge 1 or 0"
    paper = "Sun et al., Head-to-Tail: How Knowledgeable are Large Language Models (LLMs)?"
    options = HeadToTailOptions
    setting = HeadToTailSetting
    rounds: ClassVar[tuple[Round, ...]] = (
        Round("asked"),
        Round("judged", answered_by="judge", about_one=True, wanted=lambda options: options.judge is not None),
    )
    own: ClassVar[Mapping[str, Own]] = {
        "questions": Own(EntityTraits, of="item"),
        "buckets": Own(BucketCount),
        "scores": Own(Score, of="item", at="judged"),
        "disagreements": Own(Disagreement, at="judged"),
    }
    judge = staticmethod(judging.judge)
    derived = staticmethod(measures.derived)
    measure = staticmethod(measures.measure)
    over = staticmethod(across.over)
    chapter = staticmethod(chapters.chapter)
    overview = staticmethod(overviews.overview)
    nulls_miss = True
    pools = True
    asks_subjects = True
    methods: ClassVar[tuple[Method, ...]] = (
        _method(QUESTION, "Head-to-Tail"),
        _method(CLOZE, "Head-to-Tail, cloze"),
    )

    def readings(self, options: HeadToTailOptions) -> tuple[str, ...]:
        """Return ``rules`` and, if there is a judge, ``judge``."""
        return (RULES,) if options.judge is None else (RULES, JUDGE)

    def ask(self, at: Round, data: Data, options: HeadToTailOptions, before: Answers | None) -> Iterator[Batch]:
        """Ask the questions; in the second round, ask the judge whether each model's answers are correct."""
        if before is None:
            return asking.ask(data, options, self.tables("asked"))
        return judges.ask(before, options, self.tables("asked"))

    def forms(self, data: Data, options: HeadToTailOptions) -> Mapping[str, Set[str]]:
        """Return the variants of the true answers."""
        return forms(data, options.filters)

    def by_label(self, data: Data, options: HeadToTailOptions) -> set[str]:
        """Return the relations that are asked by their label, since no question is given or shipped for them."""
        return templates.by_label(data, options.filters)

    def raised(
        self, items: pl.DataFrame, asked: int, counts: Sequence[RelationCount], options: HeadToTailOptions
    ) -> str | None:
        """Return the setting that limits a bucket of some template; None if every smallest bucket is asked whole."""
        if options.popularity == EXPOSURE:
            return super().raised(items, asked, counts, options)
        parts = len(BUCKETS) * sum(row.qualifies for row in counts)
        sample, cap = of_each(options.sample, options.at_least, parts) or sys.maxsize, options.cap or sys.maxsize
        most = items.drop_nulls("fact_id").group_by("relation_id", "template_id").agg(pl.col("fact_id").n_unique())
        drawn = max(most["fact_id"].to_list(), default=0) // len(BUCKETS)  # of each bucket
        return "sample" if drawn >= sample < cap else "cap" if drawn >= cap else None

    def across(self, judged: Mapping[str, Judged], shown: Shown, options: HeadToTailOptions) -> list[Measure]:
        """Return the correlations of judge and rules over models; empty without a judge."""
        return [] if options.judge is None else across.correlations(judged)

    def bars(self, measures: Sequence[Measure], options: HeadToTailOptions) -> list[BarResult]:
        """Check a planted model against the bars, if the configuration sets ``judged``; see `bars.verdicts`."""
        return bars.verdicts(measures, options) if options.judged else []

    def tuned_bars(
        self, measures: Sequence[Measure], base: Sequence[Measure], options: HeadToTailOptions
    ) -> list[BarResult]:
        """Check a tuned model against its base, if the configuration sets ``judged``; see `bars.unsure`."""
        return bars.unsure(measures, base) if options.judged else []
