"""Separators between subject and object (Wu et al., section 3: a space is enough).

An infix is the text between ``[X]`` and ``[Y]`` of a template, used in the examples and before the choice. Pairs are
separated by a space, as in the paper. The last space of an infix belongs to the choice, so that no token spans the cut.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, NamedTuple

import polars as pl

from almanac.dataset import mining
from almanac.rows import Measure, Template
from almanac.statistics.paired import macro_difference
from almanac.suites.answers import Answers
from almanac.suites.asked import Batch
from almanac.suites.data import Data
from almanac.suites.ic_lke import chapter as chapters
from almanac.suites.ic_lke.choices import ChoiceSuite, accuracy, chance, deviations
from almanac.suites.ic_lke.options import SeparatorOptions
from almanac.suites.ic_lke.prompts import by_relation, mined, read_published
from almanac.suites.ic_lke.questions import LAYOUTS, OFFERED, PromptLayout, Questioner, draw_examples
from almanac.suites.judged import RELATION, SUBJECT, Judged
from almanac.suites.suite import Own, Round

SEPARATOR = "separator"  # the experiment
SPACE, CODE = "space", "code"
WRITTEN, MINED = "written", "mined"


class SeparatorSetting(NamedTuple):
    """The separator between subject and object, and whether it is an infix."""

    separator: str
    infix: bool

    def label(self) -> str:
        """Describe the setting to a reader."""
        return self.separator


@dataclass(frozen=True, slots=True)
class Infix:
    """The separator between subject and object in one setting of one relation.

    Attributes:
        separator: the setting.
        template_id: the template that it is cut from, if it is.
        text: the text between subject and object.
    """

    KEY: ClassVar = ("relation_id", "separator")
    relation_id: str
    separator: str
    template_id: str | None
    text: str


class Separators(ChoiceSuite[SeparatorOptions]):
    """Test facts after the same examples, with each separator between subject and object."""

    name = "lke_separators"
    label = "Separators"
    summary = "pick an object with other separators between subject and object"
    options = SeparatorOptions
    setting = SeparatorSetting
    chapter = staticmethod(chapters.separators)
    own: ClassVar[Mapping[str, Own]] = {**OFFERED, "infixes": Own(Infix)}

    def ask(self, at: Round, data: Data, options: SeparatorOptions, before: Answers | None) -> Iterator[Batch]:
        """Ask the test facts with a space, the released code's separators, and written, mined and published infixes.

        The table ``infixes`` lists the infixes of each relation. A relation without an infix is asked with the other
        separators, and listed as refused.

        Raises:
            AlmanacError: a relation has fewer train facts than ``shots``, or is not in the dataset.
        """
        questioner = Questioner(self, data, options, options.relations)
        infixes = _infixes(data, questioner.facts, options)
        for relation_id, facts, tested in questioner.relations():
            examples = draw_examples(facts, options.shots, options.seed, 0)
            layouts: list[tuple[str, PromptLayout, str | None]] = [(SPACE, LAYOUTS["paper"], None)]
            layouts += [(CODE, LAYOUTS["code"], None)] if options.code else []
            layouts += [(infix.separator, layout_of(infix.text), infix.template_id) for infix in infixes[relation_id]]
            for name, layout, template in layouts:
                setting = SeparatorSetting(name, name not in (SPACE, CODE))
                questioner.ask_in_context(examples, tested, layout, SEPARATOR, setting, template=template)
            if not infixes[relation_id] and (options.written or options.mined or options.published):
                reason = "no template of it has words between [X] and [Y]; only other separators are asked"
                questioner.asked.refuse(f"relation {relation_id}", reason)
            questioner.asked.own["infixes"] += infixes[relation_id]
            yield questioner.asked.take()
        yield questioner.asked.take()

    def measure(self, judged: Judged, own: Mapping[str, pl.DataFrame], options: SeparatorOptions) -> list[Measure]:
        """Compute every number of one model.

        Returns:
            By separator, ``accuracy`` and ``difference`` from the space on the facts answered with both, over all
            relations and in each. For all infixes together, a fact's answers averaged: ``accuracy``,
            ``infix_difference``, and ``deviation``, the standard deviation of their accuracies in a relation, overall
            its mean over relations.
        """
        rows = accuracy(judged, "separator")
        rows += [chance(group) for group in judged.where(separator=SPACE).groups("separator")]
        for group in judged.groups("separator"):
            name = str(group.conditions["separator"])
            if name != SPACE:
                rows += differences(judged, [name])
        infixes = judged.where(infix=True)
        if not infixes.frame.is_empty():
            rows += accuracy(infixes) + deviations(infixes, "deviation", "separator")
            every = infixes.frame["separator"].cast(pl.String).unique().sort()
            rows += differences(judged, every.to_list(), "infix_difference")
        return rows


def differences(judged: Judged, others: Sequence[str], metric: str = "difference") -> list[Measure]:
    """Return the accuracy of separators minus that of the space on the same facts, over all relations and in each."""
    compared = judged.where(separator=(*others, SPACE))
    rows = []
    for group in (compared, *compared.groups("relation")):
        known = group.frame.filter(pl.col("hit").is_not_null())
        space = known.filter(pl.col("separator") == SPACE).select("fact", pl.col("hit").alias("hit_space"))
        pairs = (
            known.filter(pl.col("separator") != SPACE)
            .group_by("fact", RELATION, SUBJECT, maintain_order=True)
            .agg(pl.col("hit").cast(pl.Float64).mean())
            .join(space, on="fact", maintain_order="left")
        )
        difference = macro_difference(pairs, "hit", "hit_space", RELATION, SUBJECT)
        rows.append(group.measure(metric, difference, of=("hit", "fact", "separator")))
    return rows


def infix_of(text: str) -> str | None:
    """Return the text between subject and object of a template; none if it is empty or the object comes first."""
    before, subject, rest = text.partition("[X]")
    infix, found, _ = rest.partition("[Y]")
    return infix if subject and found and infix.strip() and "[Y]" not in before else None


def layout_of(infix: str) -> PromptLayout:
    """Return the layout with an infix between subject and object; its last space belongs to the choice."""
    cut = infix.rfind(" ") if " " in infix else 0
    return PromptLayout(infix, "", " ", " ", infix[cut:], infix[:cut])


def _infixes(data: Data, relations: Collection[str], options: SeparatorOptions) -> dict[str, list[Infix]]:
    """Return the infixes of each relation without duplicates: written ones, mined ones, then published ones."""
    statements = (row for row in data.templates if row.style == "statement" and row.origin != mining.ORIGIN)
    written = by_relation(statements)
    kinds: dict[str, tuple[Mapping[str, Sequence[Template]], int]] = {WRITTEN: (written, options.written)}
    if options.mined:
        kinds[MINED] = (mined(data, relations), options.mined)
    kinds |= {kind: (listed, options.infixes) for kind, listed in read_published(options.published).items()}
    out = {}
    for relation_id in relations:
        found: dict[str, Infix] = {}
        for kind, (listed, most) in kinds.items():
            fresh: dict[str, Template] = {}
            for row in listed.get(relation_id, ()):
                if (text := infix_of(row.text)) is not None and text not in found:
                    fresh.setdefault(text, row)
            for number, (text, row) in enumerate(islice(fresh.items(), most), 1):
                found[text] = Infix(relation_id, f"{kind} {number}", row.template_id, text)
        out[relation_id] = list(found.values())
    return out
