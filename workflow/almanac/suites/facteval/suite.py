"""FactEval: questions made of facts in many forms and contexts, scored in three modes (Luo et al.)."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import ClassVar

import polars as pl

from almanac.dataset.text import normalise
from almanac.suites.answers import Answers
from almanac.suites.asked import Asked, Batch
from almanac.suites.data import Data
from almanac.suites.facteval import asking, elsewhere, judging, measures
from almanac.suites.facteval import chapter as chapters
from almanac.suites.facteval.options import FactEvalOptions
from almanac.suites.facteval.questions import (
    FORMATS,
    GUESS,
    NAMES,
    NONE,
    SAQ,
    STATEMENT,
    TEMPLATE,
    TFQ,
    FactEvalSetting,
    wordings,
)
from almanac.suites.facteval.rows import AnswerVerdict, QuestionNames, QuestionSimilarity, QuestionTexts, QuestionTraits
from almanac.suites.facteval.texts import ask_how_alike
from almanac.suites.suite import ANY_TRUE, Elsewhere, Method, Own, Round, Suite
from almanac.suites.truths import Accepts


def _method(name: str) -> Method:
    """Return the headline of an experiment: questions from templates, without a passage.

    Short answers to written questions have a row of their own. Short answers have a guessing rate of 0; a model that
    always names a frequent object is sometimes right, which the rate at dose 0 shows. Their recovery of planted
    knowledge is validated, and an abstention is no hit. In the other types a model chooses a verdict or an option;
    their chance is computed from the choices recognised in the answers.
    """
    kind, _ = name.split("-")
    label, guess, format = f"FactEval, {NAMES[name]}", GUESS[kind], FORMATS.get(name)
    asked = {"experiment": name, "context": NONE}
    if kind == SAQ:
        return Method(name, label, asked, ("origin",), guess=guess, format=format, compared=ANY_TRUE)
    asked["origin"] = TEMPLATE
    return Method(name, label, asked, ("negatives",), guess=guess, answer="chosen", validated=False, format=format)


class FactEval(Suite[FactEvalOptions]):
    """Asks each test fact in every type, style and context; judges by our rules, the paper's and its code's."""

    name = "facteval"
    label = "FactEval"
    summary = "judge, choose and answer questions made from facts"
    scores = "the answer's credit: 1 or 0, in the mode strict of a short answer F1 over the true objects"
    paper = "Luo et al., Systematic Assessment of Factual Knowledge in Large Language Models"
    options = FactEvalOptions
    setting = FactEvalSetting
    rounds: ClassVar[tuple[Round, ...]] = (
        Round("asked"),
        Round("similarity", answered_by="embedder", wanted=lambda options: options.embedder is not None),
    )
    own: ClassVar[Mapping[str, Own]] = {
        "traits": Own(QuestionTraits, of="item"),
        "names": Own(QuestionNames),
        "texts": Own(QuestionTexts),
        "verdicts": Own(AnswerVerdict, of="outcome", at="judged"),
        "similarities": Own(QuestionSimilarity, of="item", at="judged"),
    }
    judge = staticmethod(judging.judge)
    derived = staticmethod(measures.derived)
    measure = staticmethod(measures.measure)
    across = staticmethod(measures.across)
    chapter = staticmethod(chapters.chapter)
    reads = "answers"
    methods: ClassVar[tuple[Method, ...]] = tuple(_method(name) for name in NAMES)

    def readings(self, options: FactEvalOptions) -> tuple[str, ...]:
        """Return the modes."""
        return options.modes

    def ask(self, at: Round, data: Data, options: FactEvalOptions, before: Answers | None) -> Iterator[Batch]:
        """Ask the questions; then ask the embedder for the similarity of written questions to those from templates.

        Raises:
            AlmanacError: the file of written questions cannot be read or has a fault.
        """
        if before is None:
            return asking.ask(data, options, self.tables("asked"))
        return ask_how_alike(before, Asked(self.tables("asked"), before.count), options.embedder_layer)

    def elsewhere(self, path: Path, options: FactEvalOptions) -> Elsewhere:
        """Return the questions and answers of a table made elsewhere; see `elsewhere.read`."""
        return elsewhere.read(path, self.tables("asked"))

    def offered(self, method: Method, answers: Answers, data: Data, options: FactEvalOptions) -> pl.DataFrame | None:
        """Return the options of each question, with the object of each statement; None for short answers."""
        if method.answer == "prediction":
            return None
        if method.name == f"{TFQ}-{STATEMENT}":
            shown, traits = answers.own("names").select("item", "shown"), answers.own("traits").select("item", "truth")
            both = traits.drop_nulls().join(shown, on="item", maintain_order="left").rename({"truth": "holds"})
            both = both.with_columns(pl.coalesce("shown", pl.col("holds").cast(pl.String)))  # objects without a name
            return both.with_columns(
                pl.col("item").cast(pl.UInt32),
                pl.lit(["correct", "incorrect"]).alias("offered"),
                pl.Series("shown", map(normalise, both["shown"]), pl.String),
            )
        found = pl.concat(part.links for part in answers.parts(("experiment", "options")))
        return found.select("item", pl.col("options").alias("offered")).drop_nulls().unique("item", maintain_order=True)

    def accepts(self, method: Method, options: FactEvalOptions) -> Accepts | None:
        """Return how the headline's mode matches short answers; None for ``strict``, which matches words in order."""
        mode = options.modes[0]
        return None if mode == judging.STRICT else partial(judging.right_for, mode)

    def by_label(self, data: Data, options: FactEvalOptions) -> set[str]:
        """Return the relations that lack statements or questions, so that their label is used; see `wordings`."""
        found = wordings(data.relations, data.templates, options.templates)
        return {relation for relation, own in found.items() if own.by_label}
