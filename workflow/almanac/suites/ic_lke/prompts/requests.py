"""What the prompt baselines ask: a prompt filled with the subject, then the choices (Wu et al., section 4.2)."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from almanac.dataset.mining import by_relation, mine
from almanac.dataset.names import ObjectNames
from almanac.rows import Choices, Entity, Evidence, Fact, NotAsked, Request, Template
from almanac.suites.asking import Asked, asked_facts
from almanac.suites.ic_lke.prompts.options import PromptsOptions
from almanac.suites.ic_lke.prompts.published import strangers
from almanac.suites.ic_lke.requests import DRAW, Questioner

SUITE = "lke_prompts"
Sets = Mapping[str, Mapping[str, Sequence[Template]]]  # by experiment and relation


def ask(
    facts: Sequence[Fact],
    entities: Sequence[Entity],
    choices: Sequence[Choices],
    templates: Sequence[Template],
    evidence: Sequence[Evidence],
    options: PromptsOptions,
    published: Sets,
    on_relation: Callable[[], object] = lambda: None,
) -> Asked:
    """Put every test fact behind each prompt of its relation, with the choices that IC-LKE offers.

    Args:
        facts: a dataset's facts; ``split`` tells train from test.
        entities: the names of subjects and objects.
        choices: the wrong choices of each test fact.
        templates: the dataset's own, written ones.
        evidence: texts that say facts; those of test facts are not mined.
        options: kinds, variants, number of prompts, sample.
        published: published prompts by kind and relation (`published.read`).
        on_relation: called after each relation.

    Returns:
        Items by experiment (``written_clean``, ``mined_mangled``, ``hgp``, …) and prompt; what has too few prompts, and
        relations of published prompts that the dataset lacks, are listed as refused.
    """
    questioner = Questioner.of(facts, entities, choices, SUITE)
    grouped: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        grouped[fact.relation_id].append(fact)
    prompts: Sets = {**_sets(facts, questioner.names, templates, evidence, options), **published}
    for relation_id, own in sorted(grouped.items()):
        asked_of = asked_facts(own, options.sample, options.seed)
        for experiment, found in prompts.items():
            drawn = list(found.get(relation_id, ()))[: options.prompts]
            if len(drawn) < options.prompts:
                reason = f"{len(drawn)} prompts; asked for are {options.prompts}, and what there is is asked"
                questioner.asked.refused.append(NotAsked(f"{experiment} of relation {relation_id}", reason))
            for number, template in enumerate(drawn):
                for fact in asked_of:
                    _add(questioner, fact, experiment, f"prompts={options.prompts}{DRAW}{number}", template, options)
        on_relation()
    for relation_id in strangers(published, grouped):
        reason = f"the file of published prompts speaks of {relation_id}, which is not in the dataset"
        questioner.asked.refused.append(NotAsked(f"published prompts of relation {relation_id}", reason))
    return questioner.asked


def _sets(
    facts: Sequence[Fact],
    names: ObjectNames,
    templates: Sequence[Template],
    evidence: Sequence[Evidence],
    options: PromptsOptions,
) -> Sets:
    """Return written and mined prompts by experiment and relation, each in the order in which they are taken."""
    found: dict[str, Mapping[str, list[Template]]] = {}
    if "written" in options.kinds:
        found["written"] = _written(templates)
    if "mined" in options.kinds:
        unasked = [fact for fact in facts if fact.split != "test"]
        found["mined"] = by_relation(mine(evidence, unasked, names))
    out: dict[str, Mapping[str, Sequence[Template]]] = {}
    for kind, own in found.items():
        for variant in options.variants:
            out[f"{kind}_{variant}"] = {relation: _usable(variant, listed) for relation, listed in own.items()}
    return out


def _written(templates: Sequence[Template]) -> Mapping[str, list[Template]]:
    """Return each relation's sentences and prefixes by their ids; questions are no prompts of this kind."""
    out: dict[str, list[Template]] = defaultdict(list)
    for template in sorted(templates, key=lambda row: row.template_id):
        if template.style in ("prefix", "statement"):
            out[template.relation_id].append(template)
    return out


def _usable(variant: str, templates: Sequence[Template]) -> list[Template]:
    """Return the templates of a variant, each different prompt once.

    Clean are those that end where the object begins. Mangled are sentences with the object anywhere; those from which
    its deletion takes something come first, since the others are clean too.
    """
    if variant == "clean":
        kept = [row for row in templates if ends_in_object(row)]
    else:
        kept = sorted((row for row in templates if row.style == "statement"), key=ends_in_object)
    first: dict[str, Template] = {}
    for row in kept:
        first.setdefault(prompt(row), row)
    return list(first.values())


def ends_in_object(template: Template) -> bool:
    """Return whether what follows a template's text is its object: nothing is lost where the object is deleted."""
    return "[Y]" not in template.text or template.text.rstrip(" .").endswith("[Y]")


def prompt(template: Template) -> str:
    """Return a template without its object and the full stop, ``[X]`` in place; the choice follows with its space."""
    return " ".join(template.text.replace("[Y]", "").split()).rstrip(" .")


def _add(
    questioner: Questioner, fact: Fact, experiment: str, setting: str, template: Template, options: PromptsOptions
) -> None:
    request = Request(
        request_id="",
        kind="choices",
        context_id=None,
        text=prompt(template).replace("[X]", questioner.subject(fact)),
        choices=tuple(f" {label}" for label in questioner.labels(fact)),
        best_only=options.best_only or None,
    )
    questioner.add(fact, experiment, setting, request, template.template_id)
