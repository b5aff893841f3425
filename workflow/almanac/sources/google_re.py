"""Google-RE as LAMA ships it: dates and places of birth, places of death, with the texts that state them."""

import re
from pathlib import Path

import msgspec

from almanac.rows import Relation
from almanac.sources.lama import Collected, template
from almanac.sources.options import GoogleReOptions
from almanac.sources.reading import decoded, member, zipped
from almanac.sources.source_tables import SourceTables

SOURCE = "google_re"
MEMBER = re.compile(r"(?:^|/)Google_RE/([a-z_]+)_test\.jsonl$")
YEAR = re.compile(r"\d{4}")
DATE = re.compile(r"\d{4}(-\d{2}){0,2}")
# LAMA's template for both date and place of birth is "[X] was born in [Y].", which has two correct answers.
RELATIONS = {
    "place_of_birth": ("place of birth", "P19", "The place where [X] was born is [Y]."),
    "date_of_birth": ("year of birth", "P569", "The year in which [X] was born is [Y]."),
    "place_of_death": ("place of death", "P20", "The place where [X] died is [Y]."),
}


class Snippet(msgspec.Struct):
    """A text that was found for a fact."""

    snippet: str = ""


class Judgment(msgspec.Struct):
    """A rater's judgment on whether the texts state the fact."""

    judgment: str = ""


class GoogleReLine(msgspec.Struct):
    """A line of a relation's file."""

    pred: str
    sub: str
    obj: str
    sub_label: str
    obj_label: str
    sub_aliases: list[str] = []
    obj_aliases: list[str] = []
    evidences: list[Snippet] = []
    judgments: list[Judgment] = []


def read(_options: GoogleReOptions, folder: Path) -> SourceTables:
    """Return the tables of LAMA's Google-RE files.

    Dates of birth are reduced to years, as LAMA asks for them; the full date is a qualifier. The texts of a fact are
    omitted as evidence if more raters say no than yes; the fact itself is kept.

    Args:
        folder: holds LAMA's archive.

    Raises:
        AlmanacError: the archive is missing or damaged, or a line is not of its shape, naming it.
    """
    collected = Collected(SOURCE)
    path = folder / GoogleReOptions.DOWNLOADS[0].name
    with zipped(path) as archive:
        names = [name for name in sorted(archive.namelist()) if MEMBER.search(name)]
        for name in names:
            for line in decoded(f"{path}: {name}", member(path, archive, name).splitlines(), GoogleReLine):
                _add(collected, line)
    relations = [
        Relation(f"{SOURCE}.{name}", label, wikidata, "N-1", "year" if "date" in name else "place", "people")
        for name, (label, wikidata, _) in RELATIONS.items()
    ]
    templates = [template(f"{SOURCE}.{name}", text) for name, (_, _, text) in RELATIONS.items()]
    return collected.tables(templates, relations)


def _add(collected: Collected, line: GoogleReLine) -> None:
    name = line.pred.rpartition("/")[2]
    if name not in RELATIONS:
        collected.omissions.add("facts", "relation is none of Google-RE's three", line.pred)
        return
    if not collected.entity(line.sub, [line.sub_label, *line.sub_aliases], "person"):
        collected.omissions.add("facts", "subject has no label", line.sub)
        return
    relation = f"{SOURCE}.{name}"
    if name == "date_of_birth":
        if not YEAR.fullmatch(line.obj_label) or not DATE.fullmatch(line.obj):
            collected.omissions.add("facts", "date is no date", f"{line.sub}: {line.obj} ({line.obj_label})")
            return
        qualifiers = (f"date={line.obj}",)
        fact = collected.fact(
            relation, line.sub, value=line.obj_label, datatype="date", precision="year", qualifiers=qualifiers
        )
    else:
        if not collected.entity(line.obj, [line.obj_label, *line.obj_aliases], "place"):
            collected.omissions.add("facts", "object has no label", line.obj)
            return
        fact = collected.fact(relation, line.sub, object_id=line.obj)
    votes = [one.judgment for one in line.judgments]
    if votes.count("no") > votes.count("yes"):
        collected.omissions.add("evidence", "raters deny that the text says the fact", fact)
        return
    for evidence in line.evidences:
        collected.evidence(fact, evidence.snippet)
