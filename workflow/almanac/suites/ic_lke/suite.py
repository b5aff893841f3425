"""IC-LKE: which of many objects a model prefers after in-context examples of a relation (Wu et al., section 3)."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import polars as pl

from almanac.dataset.templates import filled
from almanac.punctuation import ends_in_object
from almanac.rows import ALIAS, Measure, Request
from almanac.suites.answers import Answers
from almanac.suites.asked import Batch
from almanac.suites.data import Data
from almanac.suites.ic_lke import chapter as chapters
from almanac.suites.ic_lke.choices import ChoiceSuite, deviation, of_choices
from almanac.suites.ic_lke.options import IcLkeOptions
from almanac.suites.ic_lke.questions import LAYOUTS, Questioner, draw_examples
from almanac.suites.judged import Judged
from almanac.suites.suite import Method, Round

IN_CONTEXT, CLOZE = "in_context", "cloze"


class IcLkeSetting(NamedTuple):
    """The number of examples before the subject, and of their draw; a cloze has neither."""

    shots: int | None = None
    draw: int | None = None

    def label(self) -> str:
        """Describe the setting to a reader."""
        return "a sentence with a blank" if self.shots is None else f"{self.shots} examples, draw {self.draw}"


class IcLke(ChoiceSuite[IcLkeOptions]):
    """Multiple choice after in-context examples; all test facts of a relation share one draw and so one context."""

    name = "ic_lke"
    label = "IC-LKE"
    summary = "pick one object of many after in-context examples"
    options = IcLkeOptions
    setting = IcLkeSetting
    chapter = staticmethod(chapters.ic_lke)
    methods = (
        Method("in_context", "IC-LKE", {"experiment": IN_CONTEXT}, ("shots",), held=True),
        Method("cloze", "Cloze", {"experiment": CLOZE}),
    )

    def ask(self, at: Round, data: Data, options: IcLkeOptions, before: Answers | None) -> Iterator[Batch]:
        """Ask every test fact as a `choices` request after examples of its relation; the true choice is last.

        Raises:
            AlmanacError: a relation has too few train facts for the examples.
        """
        questioner = Questioner(self, data, options)
        templates = [row for row in reversed(data.templates) if row.style != ALIAS]
        sentences = {row.relation_id: row for row in templates if ends_in_object(row.text)}
        for relation_id, facts, tested in questioner.relations():
            for draw in range(options.draws):
                examples = draw_examples(facts, options.shots, options.seed, draw)
                setting = IcLkeSetting(options.shots, draw)
                layout = LAYOUTS[options.layout]
                questioner.ask_in_context(examples, tested, layout, IN_CONTEXT, setting, options.best_only)
            if options.cloze and (template := sentences.get(relation_id)) is not None:
                for fact in tested:
                    text = filled(template.text, questioner.subject(fact), "[MASK]")
                    request = Request("", "fill", None, text)
                    questioner.add(fact, CLOZE, IcLkeSetting(), request, template.template_id, before="")
            yield questioner.asked.take()
        yield questioner.asked.take()

    def measure(self, judged: Judged, own: Mapping[str, pl.DataFrame], options: IcLkeOptions) -> list[Measure]:
        """Compute every number of one model.

        Returns:
            `of_choices` by experiment, number of examples and draw; with several draws ``deviation_over_draws``, the
            standard deviation (n - 1) of their accuracies.
        """
        rows = of_choices(judged, "experiment", "shots", "draw")
        for group in judged.groups("experiment", "shots"):
            if (spread := deviation(group, "draw")) is not None:
                rows.append(group.measure("deviation_over_draws", spread, "other", ("hit", "draw")))
        return rows
