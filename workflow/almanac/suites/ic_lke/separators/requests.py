"""IC-LKE's questions with other strings between subject and object (Wu et al., section 3: the space is enough).

An infix is what stands between ``[X]`` and ``[Y]`` of a template, in the examples and before the choice. Pairs are
parted by a space, as in the paper. The last space of an infix goes with the choice, so that no token spans the cut.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from almanac.dataset import mining
from almanac.dataset.names import ObjectNames
from almanac.rows import Evidence, Fact, NotAsked, Template
from almanac.suites.asking import Asked, asked_facts
from almanac.suites.ic_lke.requests import LAYOUTS, Layout, Questioner, chosen, draw_examples
from almanac.suites.ic_lke.separators.options import SeparatorOptions
from almanac.suites.method import Data

SUITE = "lke_separators"
SEPARATOR = "separator"
SPACE, CODE = "space", "code"
WRITTEN, MINED = "written", "mined"


@dataclass(frozen=True, slots=True)
class Infix:
    """What stands between subject and object in one setting of one relation."""

    KEY: ClassVar = ("relation_id", "setting")
    relation_id: str
    setting: str
    template_id: str | None
    text: str


def infix_of(text: str) -> str | None:
    """Return what stands between subject and object of a template, or none where the object stands first."""
    before, subject, rest = text.partition("[X]")
    infix, found, _ = rest.partition("[Y]")
    return infix if subject and found and infix.strip() and "[Y]" not in before else None


def layout_of(infix: str) -> Layout:
    """Return the layout with an infix between subject and object; its last space begins the choice."""
    cut = infix.rfind(" ") if " " in infix else 0
    return Layout(infix, "", " ", " ", infix[cut:], infix[:cut])


def ask(data: Data, options: SeparatorOptions, on_step: Callable[[], object] = lambda: None) -> Asked:
    """Ask the test facts behind the same examples with each separator.

    Args:
        data: a dataset's tables; infixes are of statements of ``templates`` in their order, mined ones of ``evidence``.
        options: how many infixes, examples, relations, sample, seed.
        on_step: called after each relation.

    Returns:
        A setting a separator: ``space``, ``code``, ``written 1`` and so on; what these are in each relation stands in
        ``beside["infixes"]``. A relation without any infix is asked with the others, and listed as refused.

    Raises:
        AlmanacError: a relation has fewer train facts than ``shots``, or is not in the dataset.
    """
    questioner = Questioner.of(data.facts, data.entities, data.choices, SUITE)
    found = chosen(data.facts, options.relations, SUITE)
    infixes = _infixes(data, found, questioner.names, options)
    for relation_id, own in found.items():
        asked_of = asked_facts(own, options.sample, options.seed)
        examples = draw_examples(own, options.shots, options.seed, 0)
        questioner.ask_in_context(examples, asked_of, LAYOUTS["paper"], SEPARATOR, SPACE)
        if options.code:
            questioner.ask_in_context(examples, asked_of, LAYOUTS["code"], SEPARATOR, CODE)
        for one in infixes[relation_id]:
            layout = layout_of(one.text)
            questioner.ask_in_context(examples, asked_of, layout, SEPARATOR, one.setting, template=one.template_id)
        if not asked_of:
            questioner.asked.refused.append(NotAsked(f"relation {relation_id}", "it has no test fact"))
        elif not infixes[relation_id] and options.written + options.mined:
            reason = "no template of it has words between [X] and [Y]; only other separators are asked"
            questioner.asked.refused.append(NotAsked(f"relation {relation_id}", reason))
        on_step()
    questioner.asked.beside["infixes"] = [one for own in infixes.values() for one in own]
    return questioner.asked


def _infixes(
    data: Data, relations: dict[str, list[Fact]], names: ObjectNames, options: SeparatorOptions
) -> dict[str, list[Infix]]:
    """Return the infixes of each relation: written ones, then mined ones, no text twice."""
    mined = _mined(data.evidence, relations, names) if options.mined else {}
    written = [row for row in data.templates if row.style == "statement" and row.origin != mining.ORIGIN]
    out: dict[str, list[Infix]] = {}
    for relation_id in relations:
        own = [row for row in written if row.relation_id == relation_id]
        seen: set[str] = set()
        found = _take(own, WRITTEN, options.written, seen)
        out[relation_id] = found + _take(mined.get(relation_id, ()), MINED, options.mined, seen)
    return out


def _take(templates: Iterable[Template], kind: str, most: int, seen: set[str]) -> list[Infix]:
    found: list[Infix] = []
    for template in templates:
        text = infix_of(template.text)
        if text is not None and text not in seen and len(found) < most:
            seen.add(text)
            found.append(Infix(template.relation_id, f"{kind} {len(found) + 1}", template.template_id, text))
    return found


def _mined(
    evidence: Sequence[Evidence], relations: dict[str, list[Fact]], names: ObjectNames
) -> dict[str, list[Template]]:
    """Return templates mined from the texts of facts that are not asked."""
    shown = [fact for own in relations.values() for fact in own if fact.split != "test"]
    return dict(mining.by_relation(mining.mine(evidence, shown, names)))
