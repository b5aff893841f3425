"""IC-LKE's prompts continued by the model: does the generated text contain the true object (Wu et al.)?

The examples and subjects are those of the multiple-choice questions; decoding is greedy. With the layout ``code`` the
prompt ends with the separator, as in the released code; with ``paper`` it ends with the subject, since no token should
span the cut. An empty text counts as an incorrect answer.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import polars as pl

from almanac.dataset.text import EMPHASIS, marked, normalise
from almanac.punctuation import stands_in, words_of
from almanac.rows import Fact, Measure, Request
from almanac.suites.answers import Answers
from almanac.suites.asked import Batch
from almanac.suites.data import Data
from almanac.suites.ic_lke import chapter as chapters
from almanac.suites.ic_lke.choices import PAPER, accuracy, deviations, outcome
from almanac.suites.ic_lke.options import GeneratedOptions
from almanac.suites.ic_lke.prompts import PUBLISHED, drawn, prompt, read_published
from almanac.suites.ic_lke.questions import LAYOUTS, Questioner, draw_examples
from almanac.suites.judged import Judged
from almanac.suites.recovery import recovery
from almanac.suites.suite import Judgements, Method, Round, Suite
from almanac.suites.truths import Accepts

NAMES, LABEL, OFFICIAL, BEGINS, WRONG = "names", "label", "official", "begins", "wrong"
TEXT = "text"  # the role of the request
EXAMPLES = "examples"
STRIPPED = ":,. "  # what the released code strips from both ends of the object, but not of the text


class GeneratedSetting(NamedTuple):
    """What the text continues: some number of ``examples``, or a published prompt of a kind (``hgp``, ``mmp``)."""

    shots: int
    behind: str = EXAMPLES
    prompt: int | None = None

    def label(self) -> str:
        """Describe the setting to a reader."""
        return f"{self.shots} examples" if self.behind == EXAMPLES else f"{self.behind} {self.prompt}"


class Generated(Suite[GeneratedOptions]):
    """One generated text for each fact, scored by several items.

    ``names``: the text contains any name of any true object; ``label``: it contains the fact's own label; ``official``:
    the same as matched by the released code; ``begins``: it begins with a true name; ``wrong``, the control: it
    contains the label of the fact's first wrong choice.
    """

    name = "lke_generated"
    label = "Generated text"
    summary = "whether the text that a model generates contains the object"
    paper = PAPER
    options = GeneratedOptions
    setting = GeneratedSetting
    chapter = staticmethod(chapters.generated)
    methods = (
        Method(
            "names",
            "Generated: any name",
            {"experiment": NAMES, "behind": EXAMPLES},
            ("shots",),
            guess={"experiment": WRONG, "behind": EXAMPLES},
        ),
        Method(
            "begins", "Generated: begins with a name", {"experiment": BEGINS, "behind": EXAMPLES}, ("shots",), guess=0.0
        ),
    )

    def ask(self, at: Round, data: Data, options: GeneratedOptions, before: Answers | None) -> Iterator[Batch]:
        """Ask each test fact for a text after examples, and for one after each published prompt of its relation.

        Raises:
            AlmanacError: a relation has fewer train facts than ``shots``, or is not in the dataset.
        """
        questioner = Questioner(self, data, options, options.relations)
        asked, layout, setting = questioner.asked, LAYOUTS[options.layout], GeneratedSetting(options.shots)
        greedy = Request("", "generate", None, "", max_new_tokens=options.new_tokens, samples=1, temperature=0.0)
        prompts = read_published(options.published)
        for relation_id, facts, tested in questioner.relations():
            pairs = list(map(questioner.pair, draw_examples(facts, options.shots, options.seed, 0)))
            context_id = asked.context(layout.context(pairs)) if pairs else None
            for fact in tested:
                text = layout.question(questioner.subject(fact), bool(pairs))
                _add(questioner, fact, setting, replace(greedy, context_id=context_id, text=text))
            for kind, listed in prompts.items():
                for number, template in enumerate(drawn(questioner, listed, kind, relation_id, options.prompts)):
                    for fact in tested:
                        request = replace(greedy, text=prompt(template).replace("[X]", questioner.subject(fact)))
                        _add(questioner, fact, GeneratedSetting(0, kind, number), request, template.template_id)
            yield asked.take()
        yield asked.take()

    def judge(self, answers: Answers, data: Data, options: GeneratedOptions) -> Iterator[Judgements]:
        """Judge every item: ``prediction`` is the text, ``score`` 1 if it contains the object, else 0."""
        for part in answers.parts(("experiment", "accepted", "status", "texts")):
            links = part.links.with_columns(pl.col("texts").list.first().alias("prediction"))
            found = [
                None if text is None else present(text, accepted, experiment)
                for text, accepted, experiment in links.select("prediction", "accepted", "experiment").iter_rows()
            ]
            judged = links.with_columns(pl.Series("score", found, dtype=pl.Boolean)).select(
                "item",
                "prediction",
                outcome(pl.col("score")),
                pl.col("score").cast(pl.Float64),
                pl.lit(None, pl.Float64).alias("confidence"),
            )
            yield Judgements(judged, {})

    def accepts(self, method: Method, options: GeneratedOptions) -> Accepts:
        """Accept names anywhere in the text, for ``begins`` only at its beginning: later names are not the answer."""
        return partial(found_in, str(method.where["experiment"]))

    def measure(self, judged: Judged, own: Mapping[str, pl.DataFrame], options: GeneratedOptions) -> list[Measure]:
        """Compute every number of one model.

        Returns:
            By experiment and what the text continues, ``present``: the share of facts whose object is found, over all
            relations and in each. For published prompts ``present_deviation``: the standard deviation over a relation's
            prompts, and its mean. After examples, the recovery by ``names`` and ``begins``.
        """
        by = ("behind", "experiment", "shots")
        rows = accuracy(judged, *by, metric="present")
        for group in judged.where(experiment=OFFICIAL, behind=tuple(PUBLISHED)).groups("behind"):
            rows += deviations(group, "present_deviation", "prompt")
        behind_examples = judged.where(behind=EXAMPLES, experiment=(NAMES, BEGINS))
        return rows + recovery(behind_examples, "experiment", "shots")


def _add(
    questioner: Questioner, fact: Fact, setting: GeneratedSetting, request: Request, template: str | None = None
) -> None:
    """Add the request for a text, and an item for each way of scoring it."""
    asked = questioner.asked
    for experiment, accepted in _accepted(questioner, fact).items():
        asked.link(asked.item(experiment, setting, fact, accepted, template=template), TEXT, request)


def present(text: str, accepted: Sequence[str], experiment: str) -> bool:
    """Return whether one of the accepted names stands in a text; see `found_in`."""
    return any(True for _ in found_in(experiment, text, accepted))


def found_in(experiment: str, text: str, names: Iterable[str]) -> Iterator[str]:
    """Yield the names that stand in a text.

    ``official`` does as the released code: it ignores case, strips colons, commas, full stops and spaces from the name
    only, and finds a name within another word (*Iran* in *Tirana*). Otherwise text and name are normalised and the name
    must stand as whole words, for ``begins`` at the beginning of the text; 1 does not stand in 1.008.
    """
    if experiment == OFFICIAL:
        yield from (name for name in names if name.lower().strip(STRIPPED) in text.lower())
        return
    normalised = _compared(EMPHASIS.sub("", text))
    for name in names:
        wanted = _compared(name)
        if not stands_in(wanted, normalised):
            continue
        if experiment != BEGINS or re.match(rf"\W*{words_of(re.escape(wanted))}", normalised):
            yield name


def _compared(text: str) -> str:
    """Normalise a text; the point and the minus of a number become letters, so that no word ends at them."""
    return marked(normalise(text), "point", "minus")


def _accepted(questioner: Questioner, fact: Fact) -> dict[str, tuple[str, ...]]:
    """Return the names that each experiment looks for; without wrong choices there is no control."""
    true = questioner.true[fact.relation_id, fact.subject_id]
    names = tuple(dict.fromkeys(name for key in true for name in questioner.names.names(key)))
    label = (questioner.names.label(fact.object_key),)
    wrong = questioner.wrong[fact.fact_id].labels[:1]
    found = {NAMES: names, LABEL: label, OFFICIAL: label, BEGINS: names, WRONG: wrong}
    return {experiment: accepted for experiment, accepted in found.items() if accepted}
