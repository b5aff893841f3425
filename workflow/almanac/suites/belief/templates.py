"""The templates of relations, grouped by written template: shipped, a user's, the dataset's, or made of the label."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby, zip_longest
from pathlib import Path
from typing import NamedTuple

from almanac.dataset.templates import ANSWERED, FOLDER, LABEL, SHIPPED, of_groups, of_label, renamed
from almanac.errors import refuse
from almanac.project import RESOURCES
from almanac.punctuation import is_question
from almanac.rows import ALIAS, Template
from almanac.sources.checking import template_file
from almanac.suites.belief.options import BeliefOptions
from almanac.suites.data import Data

OF_FACTS = RESOURCES / "facts" / "templates.jsonl"  # the shipped facts' templates, which other suites ask by
ENOUGH = 2  # groups of templates that a relation needs for consistency
SETS = LAMA, FACTS, INVENTED = "lama", "shipped", "invented"  # the first by Wikidata's property, the others by id
OWN, DATASET, WIKIDATA = "file", "dataset", "wikidata"  # the last: templates from wikidata.jsonl within the dataset
FORMS = ("statement", "entailment", ANSWERED)


class AskedTemplate(NamedTuple):
    """A template of BELIEF.

    Attributes:
        template_id: its id.
        text: the sentence, with ``[X]`` (subject) and ``[Y]`` (object) once each.
        group: the id of the written template that it belongs to.
        form: one of `FORMS`, or ``prefix`` for a sentence of that style with both slots.
    """

    template_id: str
    text: str
    group: str
    form: str

    @property
    def written(self) -> bool:
        """Whether it is the written template of its group, not a paraphrase."""
        return self.template_id == self.group

    @property
    def question(self) -> str | None:
        """The question without its answer; None if the template is no question with an answer."""
        asked = self.text.removesuffix(" [Y].")
        return asked if asked != self.text and is_question(asked) and "[X]" in asked else None


class RelationTemplates(NamedTuple):
    """The templates of a relation, and the source that they come from."""

    source: str
    wordings: tuple[AskedTemplate, ...]


def of_dataset(data: Data, options: BeliefOptions) -> dict[str, RelationTemplates]:
    """Return the templates of each relation that has any, in the order in which they are asked.

    A relation's templates come from the first place that has any: the user's file; the place that
    `BeliefOptions.templates` names; the other shipped files; the dataset; wikidata.jsonl, by its property; and, unless
    the user names a file, its label, of which two are made. With ``auto``, the dataset comes before the shipped files
    if a user wrote two or more: not mined, not of an invented world, not those of the shipped facts.

    Raises:
        AlmanacError: the user's file has mistakes.
    """
    lama = {number: list(own) for number, own in groupby(groups(LAMA), lambda row: row.relation_id)}
    known = [row for row in data.relations if row.property is not None]  # an id alone may be anything
    ids = {row.relation_id for row in known}
    places = {
        LAMA: of_rows(renamed(one, row.relation_id) for row in known for one in lama.get(str(row.property), ())),
        FACTS: {relation: own for relation, own in shipped(FACTS).items() if relation in ids},
        INVENTED: shipped(INVENTED),
        DATASET: of_rows(row for row in data.templates if row.origin != SHIPPED),
        WIKIDATA: of_rows(row for row in data.templates if row.origin == SHIPPED),
    }
    relations = list(data.split_facts)
    first: str = options.templates
    meant = set()  # relations whose templates in the dataset were written by a user
    if first == "auto":
        first = max(SETS, key=lambda name: sum(relation in places[name] for relation in relations))
        ours = {(row.relation_id, row.text) for row in template_file(OF_FACTS)}
        written = of_rows(row for row in data.templates if row.origin == "written")
        theirs = {row.relation_id for row in data.templates if (row.relation_id, row.text) not in ours}
        apart = (relation for relation, own in written.items() if len({one.group for one in own}) >= ENOUGH)
        meant = theirs.intersection(apart).difference(places[INVENTED])
        if options.file is None:
            places[LABEL] = of_rows(row for one in data.relations for row in of_label(one))
    others = (*SETS, DATASET, WIKIDATA, *([LABEL] if LABEL in places else []))
    order = [first, *(name for name in others if name != first)]
    if options.file is not None:
        places[OWN] = of_rows(rows_of(Path(options.file)))

    def place(relation: str) -> str | None:
        wanted = [OWN] * (OWN in places) + [DATASET] * (relation in meant) + order
        return next((name for name in wanted if relation in places[name]), None)

    sources = {relation: place(relation) for relation in relations}
    return {
        relation: RelationTemplates(place, chosen(places[place][relation], options.groups, options.per_group))
        for relation, place in sources.items()
        if place is not None
    }


def shipped(name: str) -> dict[str, list[AskedTemplate]]:
    """Return the templates of a shipped file, by relation; ``name`` is one of `SETS`."""
    return of_rows(groups(name))


def groups(name: str) -> list[Template]:
    """Return the rows of a shipped file, resources/templates/NAME.jsonl."""
    return of_groups(FOLDER / f"{name}.jsonl")


def of_rows(rows: Iterable[Template]) -> dict[str, list[AskedTemplate]]:
    """Return the templates that are sentences with both slots, by relation, and questions with ``[Y].`` appended.

    Each is a group of its own, unless it names another of them as its parent.
    """
    listed = [row for row in rows if row.style != ALIAS and row.text.count("[X]") == 1 and row.text.count("[Y]") <= 1]
    known = {row.template_id for row in listed}
    found: dict[str, list[AskedTemplate]] = {}
    for row in listed:
        question = row.style == "question" and is_question(row.text) and "[Y]" not in row.text
        if question or "[Y]" in row.text:
            text = f"{row.text} [Y]." if question else row.text
            group = row.parent_id if row.parent_id in known else row.template_id
            form = ANSWERED if question else row.style
            found.setdefault(row.relation_id, []).append(AskedTemplate(row.template_id, text, group or "", form))
    for own in found.values():  # sentences before questions, as in the shipped files
        own.sort(key=lambda one: one.question is not None)
    return found


def begins_with(path: Path, key: str) -> bool:
    """Return whether the first row of a JSON Lines file has a key; False if it cannot be read (its reader reports)."""
    try:
        with path.open(encoding="utf-8") as lines:
            first = json.loads(next(lines, "null"))
    except (OSError, ValueError):
        return False
    return isinstance(first, dict) and key in first


def rows_of(path: Path) -> list[Template]:
    """Read a user's file: one template a row, as in a source, or one group a row, as in the shipped files.

    Raises:
        AlmanacError: the file cannot be read, or templates have mistakes; up to twenty together.
    """
    grouped = begins_with(path, "texts")
    rows = of_groups(path) if grouped else template_file(path, FORMS)
    strange = {row.parent_id or row.template_id: row.style for row in rows if grouped and row.style not in FORMS}
    unknown = [
        f"group {group.removesuffix('/0')!r}: style {style!r} is unknown; allowed are {', '.join(FORMS)}"
        for group, style in strange.items()
    ]
    refuse([f"{path}: {line}" for line in (*unknown, *_mistakes(rows))])
    return rows


def _mistakes(rows: Sequence[Template]) -> Iterable[str]:
    ids = {row.template_id for row in rows}
    first: dict[tuple[str, str], str] = {}
    for row in rows:
        name = f"template {row.template_id!r}"
        slots = row.text.count("[X]"), row.text.count("[Y]")
        open_ended = row.style == "prefix" or (row.style == "question" and is_question(row.text))
        if slots != (1, 1) and not (open_ended and slots == (1, 0)):
            yield f"{name}: {row.text!r} must hold [X] and [Y] once each (a question [X] alone, and end in ?)"
        if row.parent_id is not None and row.parent_id not in ids:
            yield f"{name}: its parent_id {row.parent_id!r} is no template of the file; add it or write null"
        same = first.setdefault((row.relation_id, row.text.casefold()), row.template_id)
        if same != row.template_id:
            yield f"{name}: says the same as {same!r}; keep one of them"


def chosen(wordings: Sequence[AskedTemplate], groups: int, per_group: int) -> tuple[AskedTemplate, ...]:
    """Return up to ``per_group`` templates of each of the first ``groups`` groups: the first of each, then the next."""
    by_group: dict[str, list[AskedTemplate]] = {}
    for one in wordings:
        by_group.setdefault(one.group, []).append(one)
    kept = [own[:per_group] for own in list(by_group.values())[:groups]]
    return tuple(one for turn in zip_longest(*kept) for one in turn if one is not None)


def unused(path: Path, relations: Collection[str]) -> dict[str, str]:
    """Return the templates of a user's file that are not asked of a dataset with these relations, with the reason."""
    rows = rows_of(path)
    used = {one.template_id for own in of_rows(rows).values() for one in own}
    count = Counter(row.relation_id for row in rows if row.relation_id not in relations)
    strange = {
        f"templates of relation {name}": f"{path} has {own} of them, and the dataset has no such relation"
        for name, own in sorted(count.items())
    }
    return strange | {
        f"template {row.template_id}": f"{row.text!r}, {row.style} of {path}, makes no sentence with both slots"
        for row in rows
        if row.relation_id in relations and row.template_id not in used
    }


def lacking(found: Mapping[str, RelationTemplates], relations: Iterable[str]) -> dict[str, str]:
    """Return the relations that cannot be asked, or whose consistency cannot be measured, for lack of templates."""
    reasons = {}
    for relation in relations:
        if relation not in found:
            reasons[f"relation {relation}"] = (
                "it has no template with both slots; add one to the facts' templates, or name a `file` of them"
            )
        elif len(found[relation].wordings) == 1:
            reasons[f"consistency of {relation}"] = "it has one template, which can agree with no other"
    return reasons
