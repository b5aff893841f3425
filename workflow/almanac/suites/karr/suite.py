"""KaRR: how much more probable a subject and a relation make their object, over many wordings (Dong et al.)."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

import polars as pl

from almanac.rows import Fact, Rating
from almanac.suites.answers import Answers
from almanac.suites.asked import Asked, Batch
from almanac.suites.data import Data
from almanac.suites.judged import Condition
from almanac.suites.karr import chapter as chapters
from almanac.suites.karr import expected, given, judging, labels, measures
from almanac.suites.karr.asking import FACTS, NULL, Asker, KarrSetting
from almanac.suites.karr.baselines import K_PROMPTS, LAMA, PARAREL
from almanac.suites.karr.draws import pools_of, sentences
from almanac.suites.karr.estimator import VARIANTS
from almanac.suites.karr.options import KarrOptions
from almanac.suites.karr.rows import Coverage, Draw, KarrLeaf, KarrValue, Labelled, ReplacedRun, Threshold
from almanac.suites.suite import Elsewhere, Method, Own, Round, Suite


def _method(name: str) -> Method:
    """Return a method's headline: the share known of true facts and, as its guess, that of null objects."""
    where: dict[str, Condition] = {"experiment": name}
    guess = {**where, "asked": NULL} if name in VARIANTS else 0.0
    by_answer = name not in (*VARIANTS, K_PROMPTS) and LAMA.get(name, 1) == 1
    compared = chapters.ONE_THRESHOLD if name in VARIANTS and VARIANTS[name].threshold is None else ""
    wanted = {**where, "asked": FACTS}
    return Method(name, chapters.NAMES[name], wanted, guess=guess, by_answer=by_answer, compared=compared)


class Karr(Suite[KarrOptions]):
    """KaRR in its modes and its baselines, asked about the same facts."""

    name = "karr"
    label = "KaRR"
    summary = "prefer the object under any names and templates"
    paper = "Dong et al., Statistical Knowledge Assessment for Large Language Models"
    options = KarrOptions
    setting = KarrSetting
    rounds = (Round("asked"), Round("expected", about_one=True, wanted=lambda options: options.spurious))
    own: ClassVar[Mapping[str, Own]] = {
        "draws": Own(Draw),
        "labels": Own(Rating),
        "coverage": Own(Coverage),
        "values": Own(KarrValue, of="item", at="judged"),
        "leaves": Own(KarrLeaf, at="judged", frozen=False),
        "labelled": Own(Labelled, of="item", at="judged"),
        "runs": Own(ReplacedRun, at="judged"),
        "thresholds": Own(Threshold, at="judged"),
    }
    judge = staticmethod(judging.judge)
    derived = staticmethod(measures.derived)
    measure = staticmethod(measures.measure)
    comparable = staticmethod(measures.comparable)
    across = staticmethod(measures.null_known)
    chapter = staticmethod(chapters.chapter)
    reads = "questions"
    scores = (
        "for KaRR its natural logarithm, known above the logarithm of the chapter's threshold; for LAMA the object's "
        "log-probability, for ParaRel the log of its share among the candidates, for K-Prompts the log of its mean "
        "probability"
    )
    methods = tuple(map(_method, chapters.NAMES))

    def ask(self, at: Round, data: Data, options: KarrOptions, before: Answers | None) -> Iterator[Batch]:
        """Ask the test facts by every method; in the second round with the false object that the model expects most.

        Human labels are read in the first round, so that the edition includes them.

        Raises:
            AlmanacError: the file of labels or of false objects is wrong; a relation of the figure is not in the
                dataset; the first round did not ask what the second needs, or had other settings.
        """
        pools, refused = pools_of(data, options)
        data.chosen(options.figure_relations, f"{self.name}: figure_relations")  # raises if one is unknown
        asked = Asked(self.tables("asked"), first=before.count if before is not None else 0)
        tested = [fact for own in data.tested(options.sample, options.seed, options.at_least).values() for fact in own]
        asker = Asker(pools, data.choices_of(tested), asked)
        facts = [fact for fact in tested if fact.relation_id in pools.templates]
        if before is not None:
            yield from expected.ask(asker, facts, before)
            return
        if options.labels is not None:
            known = data.frame("facts", Fact, ["fact_id"])["fact_id"].to_list()
            asked.own["labels"] += labels.read(Path(options.labels), known, [fact.fact_id for fact in facts])
        for row in refused:
            asked.refuse(row.thing, row.reason)
        for fact in tested:
            if fact.relation_id not in pools.templates:
                asked.refuse(f"fact {fact.fact_id}", "its relation has no template that ends in [Y]")
        asked.own["coverage"] += pools.coverage(len(facts))
        yield from asker.ask(asker.objects(facts))

    def by_label(self, data: Data, options: KarrOptions) -> set[str]:
        """Return the relations without a template that ends in [Y], asked by their label; see `draws.sentences`."""
        worded, _ = sentences(data.templates, (), options.property_aliases)
        return {row.relation_id for row in data.relations} - worded.keys()

    def elsewhere(self, path: Path, options: KarrOptions) -> Elsewhere:
        """Ask exactly the draws of a file; no dataset is needed."""
        return given.read(path, Asked(self.tables("asked")))

    def offered(self, method: Method, answers: Answers, data: Data, options: KarrOptions) -> pl.DataFrame | None:
        """Return the choices of each fact for ParaRel; the answers of other methods are open."""
        return data.offered if method.name == PARAREL else None
