"""BELIEF and BELIEF-ICL: how accurately, consistently and confidently a model recalls facts over many paraphrases."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, get_args

import polars as pl

from almanac.rows import Measure
from almanac.suites.answers import Answers
from almanac.suites.asked import Batch
from almanac.suites.belief import asking, bars, judging, measures
from almanac.suites.belief import chapter as chapters
from almanac.suites.belief.asking import CANDIDATES, CONTROL, ICL, VOCABULARY, BeliefSetting
from almanac.suites.belief.options import BeliefOptions, Prompting, Style
from almanac.suites.belief.prompts import FORMATS
from almanac.suites.belief.rows import Grid, Leaning, PromptTraits, Said
from almanac.suites.chapter import Shown
from almanac.suites.data import Data
from almanac.suites.judged import Judged
from almanac.suites.suite import ANY_TRUE, BarResult, Method, Own, Round, Suite


def _icl(prompting: str, style: str) -> Method:
    """Return one way of BELIEF-ICL as a method; it is guessed right as often as the control's wrong object is named."""
    way = {"prompting": prompting, "style": style}
    label = f"BELIEF-ICL, {BeliefSetting(**way).label()}"
    return Method(
        f"{prompting}-{style}",
        label,
        {"experiment": ICL, **way},
        guess={"experiment": CONTROL, **way},
        format=FORMATS.get(style),
        compared=ANY_TRUE,
    )


class Belief(Suite[BeliefOptions]):
    """Asks every pair of subject and relation by many templates: masked models fill blanks, causal models answer."""

    name = "belief"
    label = "BELIEF"
    summary = "many paraphrases of each fact: accuracy, its fluctuation, consistency, overconfidence"
    paper = "Zhao et al., What Matters in Memorizing and Recalling Facts? Multifaceted Benchmarks for Knowledge Probing"
    options = BeliefOptions
    setting = BeliefSetting
    rounds: ClassVar[tuple[Round, ...]] = (
        Round("asked"),
        Round("sequences", about_one=True, wanted=lambda options: options.sequence and options.sampled > 0),
    )
    own: ClassVar[Mapping[str, Own]] = {
        "prompts": Own(PromptTraits, of="item"),
        "grid": Own(Grid),
        "said": Own(Said, of="item", at="judged", frozen=False),
        "leanings": Own(Leaning, at="judged", frozen=False),
    }
    judge = staticmethod(judging.judge)
    derived = staticmethod(measures.derived)
    measure = staticmethod(measures.measure)
    chapter = staticmethod(chapters.chapter)
    held_architectures = frozenset({"llama", "modernbert"})
    nulls_miss = True
    methods: ClassVar[tuple[Method, ...]] = (
        Method("vocabulary", "BELIEF, any token", {"experiment": VOCABULARY}, guess=0.0, compared=ANY_TRUE),
        Method("candidates", "BELIEF, ranked objects", {"experiment": CANDIDATES}, compared=ANY_TRUE),
        *(_icl(prompting, style) for style in get_args(Style) for prompting in get_args(Prompting)),
    )

    def ask(self, at: Round, data: Data, options: BeliefOptions, before: Answers | None) -> Iterator[Batch]:
        """Ask the grid of prompts; in the second round, ask each model for the probability of its answers.

        Raises:
            AlmanacError: the user's file of templates has mistakes.
        """
        if before is None:
            return asking.ask(data, options, self.tables("asked"))
        return asking.ask_sequences(before, self.tables("asked"))

    def offered(self, method: Method, answers: Answers, data: Data, options: BeliefOptions) -> pl.DataFrame | None:
        """Return the objects that the method ranks; None for other methods, whose answers are open."""
        if method.name != CANDIDATES:
            return None
        ranked = pl.col("experiment") == CANDIDATES
        parts = answers.parts(("experiment", "choices"))
        return pl.concat(part.links.filter(ranked).select("item", pl.col("choices").alias("offered")) for part in parts)

    def across(self, judged: Mapping[str, Judged], shown: Shown, options: BeliefOptions) -> list[Measure]:
        """Return the metrics that need several models; see `measures.across`."""
        return measures.across(judged)

    def bars(self, measures: Sequence[Measure], options: BeliefOptions) -> list[BarResult]:
        """Check a planted model against BELIEF's bars, if the configuration sets ``judged``; see `bars.verdicts`."""
        return bars.verdicts(measures) if options.judged else []
