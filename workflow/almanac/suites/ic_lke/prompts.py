"""The prompt baselines: a prompt filled with the subject, then the choices, no examples (Wu et al., section 4.2).

Prompts are written (the dataset's templates), mined (from its texts) or published (a user's file, checked row by row,
or LPAQA's repository).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

import polars as pl

from almanac import tables
from almanac.dataset.mining import mine
from almanac.errors import refuse
from almanac.punctuation import ends_in_object, space_after, unstopped
from almanac.rows import Measure, Request, Template
from almanac.sources import lpaqa
from almanac.suites.answers import Answers
from almanac.suites.asked import Batch
from almanac.suites.data import Data
from almanac.suites.ic_lke import chapter as chapters
from almanac.suites.ic_lke.choices import ChoiceSuite, accuracy, chance, deviations
from almanac.suites.ic_lke.options import PromptsOptions
from almanac.suites.ic_lke.questions import Questioner
from almanac.suites.judged import Judged
from almanac.suites.recovery import recovery
from almanac.suites.suite import Method, Round
from almanac.tables import identity

PUBLISHED = {"hgp": "manual_paraphrase", "mmp": "mine"}  # kinds of published prompts: their sets in LPAQA
Sets = Mapping[str, Mapping[str, Sequence[Template]]]  # by experiment and relation


class PromptSetting(NamedTuple):
    """The number of the prompt among those of its relation, from 0."""

    prompt: int

    def label(self) -> str:
        """Describe the setting to a reader."""
        return f"prompt {self.prompt}"


class Prompts(ChoiceSuite[PromptsOptions]):
    """IC-LKE's choices after written, mined or published prompts."""

    name = "lke_prompts"
    label = "Prompts"
    summary = "the same choices after written and mined prompts, without examples"
    options = PromptsOptions
    setting = PromptSetting
    chapter = staticmethod(chapters.prompts)
    methods = tuple(Method(name, label, {"experiment": name}) for name, label in chapters.PROMPTS.items())

    def ask(self, at: Round, data: Data, options: PromptsOptions, before: Answers | None) -> Iterator[Batch]:
        """Ask every test fact after each prompt of its relation, with the choices of IC-LKE.

        Missing prompts, and relations of published prompts that the dataset lacks, are listed as refused.

        Raises:
            AlmanacError: the dataset has no relation of that name, or the file of published prompts is wrong.
        """
        questioner = Questioner(self, data, options, options.relations)
        found = read_published(options.published)
        prompts: Sets = {**_sets(data, questioner.facts, options), **found}
        duplicates = twins(prompts, [relation for relation, own in questioner.tested.items() if own], options)
        for name in duplicates:
            questioner.asked.refuse(chapters.PROMPTS[name], "its prompts are the clean ones, of which nothing is lost")
        prompts = {name: sets for name, sets in prompts.items() if name not in duplicates}
        for relation_id, _, tested in questioner.relations():
            for experiment, sets in prompts.items():
                for number, template in enumerate(drawn(questioner, sets, experiment, relation_id, options.prompts)):
                    for fact in tested:
                        text = prompt(template).replace("[X]", questioner.subject(fact))
                        request = Request("", "choices", None, text, best_only=options.best_only or None)
                        setting, space = PromptSetting(number), space_after(template.text)
                        questioner.add(fact, experiment, setting, request, template.template_id, space)
            yield questioner.asked.take()
        for relation_id in sorted({relation for sets in found.values() for relation in sets} - set(data.split_facts)):
            reason = f"the file of published prompts speaks of {relation_id}, which is not in the dataset"
            questioner.asked.refuse(f"published prompts of relation {relation_id}", reason)
        yield questioner.asked.take()

    def measure(self, judged: Judged, own: Mapping[str, pl.DataFrame], options: PromptsOptions) -> list[Measure]:
        """Compute every number of one model.

        Returns:
            By experiment, ``accuracy`` of each prompt and over all of them, averaged over a fact's prompts first, so
            that a fact counts once in the interval; and ``accuracy_deviation``, the standard deviation (n - 1) of the
            prompts' accuracies in a relation, overall its mean over relations. ``n`` counts items: facts times prompts.
        """
        rows = accuracy(judged, "experiment", "prompt") + accuracy(judged, "experiment")
        for group in judged.groups("experiment"):
            rows += [*deviations(group, "accuracy_deviation", "prompt"), chance(group)]
        return rows + recovery(judged, "experiment")


def _sets(data: Data, relations: Iterable[str], options: PromptsOptions) -> Sets:
    """Return written and mined prompts by experiment and relation, in the order in which they are used."""
    found: dict[str, Mapping[str, list[Template]]] = {}
    if "written" in options.kinds:
        listed = sorted(data.templates, key=lambda row: row.template_id)  # questions are not used as prompts
        found["written"] = by_relation(row for row in listed if row.style in ("prefix", "statement"))
    if "mined" in options.kinds:
        found["mined"] = mined(data, relations)
    return {
        f"{kind}_{variant}": {relation: _usable(variant, listed) for relation, listed in prompts.items()}
        for kind, prompts in found.items()
        for variant in options.variants
    }


def twins(prompts: Sets, relations: Sequence[str], options: PromptsOptions) -> list[str]:
    """Return the mangled experiments whose prompts equal those of the clean one and would only be asked twice."""

    def texts(name: str) -> list[list[str]]:
        return [[prompt(row) for row in prompts[name].get(key, ())[: options.prompts]] for key in relations]

    pairs = ((f"{kind}_clean", f"{kind}_mangled") for kind in options.kinds if len(set(options.variants)) > 1)
    return [mangled for clean, mangled in pairs if any(texts(clean)) and texts(clean) == texts(mangled)]


def mined(data: Data, relations: Iterable[str]) -> Mapping[str, list[Template]]:
    """Return prompts of some relations, mined from the texts of facts that are not asked."""
    unasked = [fact for facts in data.facts_of(relations).values() for fact in facts if fact.split != "test"]
    return by_relation(mine(data.evidence, unasked, data.names))


def _usable(variant: str, templates: Sequence[Template]) -> list[Template]:
    """Return the templates of a variant, without duplicate prompts.

    ``clean`` ones end where the object begins. ``mangled`` are sentences with the object anywhere, first those that
    lose something when it is deleted: the others are clean, too.
    """
    if variant == "clean":
        kept = [row for row in templates if clean(row)]
    else:
        kept = sorted((row for row in templates if row.style == "statement"), key=clean)
    first: dict[str, Template] = {}
    for row in kept:
        first.setdefault(prompt(row), row)
    return list(first.values())


def clean(template: Template) -> bool:
    """Return whether a template ends before or in its object, so that nothing else is lost when that is deleted."""
    return "[Y]" not in template.text or ends_in_object(template.text)


def drawn(
    questioner: Questioner, sets: Mapping[str, Sequence[Template]], kind: str, relation_id: str, wanted: int
) -> Sequence[Template]:
    """Return the first ``wanted`` prompts of a kind for a relation; if there are fewer, that is listed as refused."""
    found = sets.get(relation_id, ())[:wanted]
    if len(found) < wanted:
        some = f"there are {len(found)} of the {wanted} asked for; only these are asked"
        reason = some if found else f"there are none, and {wanted} are asked for"
        questioner.asked.refuse(f"{chapters.PROMPTS[kind]} of relation {relation_id}", reason)
    return found


def prompt(template: Template) -> str:
    """Return a template without its object and full stop, with ``[X]``; a choice can follow it (see `space_after`)."""
    return unstopped(" ".join(template.text.replace("[Y]", "").split()))


@dataclass(frozen=True, slots=True)
class PublishedPrompt:
    """A published prompt, human-generated (hgp) or machine-mined (mmp); its text has ``[X]`` and may have ``[Y]``."""

    KEY: ClassVar = ("relation_id", "kind", "text")
    relation_id: str
    kind: str
    text: str


def read_published(named: str | None) -> dict[str, dict[str, list[Template]]]:
    """Read published prompts.

    Args:
        named: a JSON Lines file of `PublishedPrompt`; or an archive of LPAQA's repository (``.zip``), whose
            ``manual_paraphrase`` prompts are human-generated and ``mine`` machine-mined; none: no published prompts.

    Returns:
        Templates by kind and relation, in the order of the file.

    Raises:
        AlmanacError: the file cannot be read, or rows are not prompts; up to twenty mistakes at once.
    """
    if named is None:
        return {}
    path = Path(named)
    if path.suffix == ".zip":
        released = lpaqa.prompts(path, PUBLISHED.values())
        return {kind: released[name] for kind, name in PUBLISHED.items()}
    rows = tables.read_jsonl(path, PublishedPrompt)
    refuse([f"{path}: {line}" for line in _mistakes(rows)])
    found = list(map(_template, rows))
    return {kind: by_relation(row for row in found if row.origin == kind) for kind in PUBLISHED}


def _template(row: PublishedPrompt) -> Template:
    name = f"{row.relation_id}/{row.kind}/{identity(row.text)[:12]}"
    return Template(name, row.relation_id, row.text, "prefix", row.kind, None, ())


def by_relation(templates: Iterable[Template]) -> dict[str, list[Template]]:
    """Group templates by relation, in their order."""
    out: dict[str, list[Template]] = defaultdict(list)
    for row in templates:
        out[row.relation_id].append(row)
    return dict(out)


def _mistakes(rows: Sequence[PublishedPrompt]) -> Iterable[str]:
    first: dict[PublishedPrompt, int] = {}
    for number, row in enumerate(rows, 1):
        if row.kind not in PUBLISHED:
            yield f"prompt {number}: kind {row.kind!r}; allowed are {' and '.join(PUBLISHED)}"
        if row.text.count("[X]") != 1 or row.text.count("[Y]") > 1:
            yield f"prompt {number}: {row.text!r} must hold [X] once, for the subject, and [Y] at most once"
        if first.setdefault(row, number) != number:
            yield f"prompt {number}: is the same as prompt {first[row]}; keep one of them"
