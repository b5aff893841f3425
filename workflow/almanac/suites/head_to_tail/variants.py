"""Accepted variants of a true answer, by versioned rules (Sun et al. give one example: W Shakespeare)."""

import calendar
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

import polars as pl

from almanac.dataset import text
from almanac.rows import Entity
from almanac.suites.data import Data
from almanac.suites.head_to_tail.scores import normalise
from almanac.suites.head_to_tail.templates import asked_of

VERSION = 9  # increase it with every change of the rules by which an answer is correct
YEAR = re.compile(r"\d{4}")
MONTH = "|".join(f"{name}|{name[:3]}" for name in map(str.lower, calendar.month_name[1:])) + "|sept"
# A date: day, month and year in any order, as words or as numbers.
DATE = re.compile(
    rf"(?:(?:on|in) )?(?:(?:the )?(?:\d{{1,2}}(?:st|nd|rd|th)?|{MONTH}|of)[ .,/-]+)*\d{{4}}(?:[/-]\d{{1,2}}){{0,2}}"
)
DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
APART = re.compile(r"(?<=\b[^\W\d_]\.)(?=[^\W\d_])")  # after an initial without a space
CLOSE = re.compile(r"(?<=\b[^\W\d_])(\.?) (?=[^\W\d_]\b)")  # the space between two initials
JUNIOR = re.compile(r"[JS]r\.?")
REGNAL = re.compile(r"[IVX]+\.?")
GENDERED = {"actor": "actress", "actress": "actor"}


def variants(golds: Iterable[str], kind: str) -> tuple[str, ...]:
    """Return the true answers and their variants, each once.

    Of any kind, a day (1990-05-22) may have its month's name (22 May 1990), and initials may have a space between them
    or none.

    Args:
        golds: the true answers.
        kind: ``persons`` may have initials for given names, or the first given name alone (see `_of_person`); a
            ``profession`` spaces for underscores, either gender, and no *department*; a ``school`` no country.
    """
    every = (form for gold in golds for form in (gold, *_forms(gold, kind)))
    return tuple(dict.fromkeys(written for form in every for written in _initials(form)))


def forms(data: Data, filters: Sequence[str]) -> Mapping[str, Set[str]]:
    """Return the variants of the names of all objects that may be asked for, by normalised name (`text.normalise`).

    Among them is the name as answers are compared (`scores.normalise`), which makes C of C++.

    Args:
        data: the dataset.
        filters: the kinds of DBpedia's predicates that are left out.
    """
    kinds = [(one.relation_id, own.answer_kind) for one, found, _ in asked_of(data, filters) for own in found]
    objects = data.triples.join(pl.DataFrame(kinds, ["relation_id", "kind"], orient="row"), on="relation_id")
    named = data.frame("entities", Entity, ["entity_id", "label", "aliases"]).rename({"entity_id": "object"})
    objects = objects.select("object", "kind").unique().join(named, on="object", how="left")
    found = defaultdict[str, set[str]](set)
    for key, kind, label, aliases in objects.iter_rows():
        for name in (label or key, *(aliases or ())):
            own = text.normalise(name)
            if more := {*variants((name,), kind)[1:], normalise(name)} - {own, ""}:
                found[own].update(more)
    return found


def _forms(gold: str, kind: str) -> Iterator[str]:
    if day := DAY.fullmatch(gold):
        yield from _of_day(*map(int, day.groups()))
    if kind == "persons":
        yield from _of_person(gold)
    elif kind == "profession":
        spaced = gold.replace("_", " ")
        yield from (spaced, spaced.replace("make up", "makeup"))
        if (of := spaced.removesuffix(" department")) != spaced:
            yield from (of, of.replace("make up", "makeup"))
        if spaced in GENDERED:
            yield GENDERED[spaced]
    elif kind == "school" and "," in gold:
        yield gold.rpartition(",")[0].strip()


def _initials(name: str) -> Iterator[str]:
    """Yield a name as it is, with a space after each initial, and with none between initials: J. K., J.K. Rowling.

    The last form is left out if it is a single word: initials alone would become another word (W. H. O.).
    """
    yield from (name, APART.sub(" ", name))
    if " " in (closed := CLOSE.sub(r"\1", name)):
        yield closed


def _of_day(year: int, month: int, day: int) -> Iterator[str]:
    """Yield a day with the full or short name of its month: 22 May 1990, May 22nd 1990."""
    ending = "th" if day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    for name in {calendar.month_name[month]: None, calendar.month_abbr[month]: None} if 0 < month < 13 else ():
        for number in (f"{day}", f"{day}{ending}"):
            yield from (f"{number} {name} {year}", f"{number} of {name} {year}", f"{name} {number} {year}")


def _of_person(gold: str) -> Iterator[str]:
    """Yield a person's name with initials for all given names or all but the first, and with the first alone.

    Names not made of given names and a surname have none (the Soldier King, Alexis I, Louis of Toulouse). A form that
    normalises to one word is left out: A Garfunkel would lose its *article*, and any Garfunkel would be right. The
    surname begins at the first word in lower case (Ludwig van Beethoven), or is the last word; *Jr.* belongs to it.
    """
    words = gold.split()
    final = len(words) - 1 - bool(len(words) > 1 and JUNIOR.fullmatch(words[-1]))
    surname = next((at for at, word in enumerate(words) if word[0].islower()), final)
    given, last = words[:surname], words[surname:]
    if not given or not all(word[0].isalpha() for word in given):
        return
    if {"of", "the"} & {word.lower() for word in words} or REGNAL.fullmatch(words[-1]):
        return
    initials = [word[0] for word in given]
    forms = ([*initials, *last], [given[0], *initials[1:], *last], [given[0], *last])
    yield from (form for form in map(" ".join, forms) if len(normalise(form).split()) > 1)


def reduced(answer: str, kind: str) -> str:
    """Return the year alone if the answer is a date and the question asks for a year; else the answer.

    Args:
        answer: the model's answer.
        kind: the kind of the true answer (see `variants`).
    """
    if kind == "year" and (found := DATE.fullmatch(answer.strip(" .").lower())):
        return YEAR.findall(found[0])[0] if len(YEAR.findall(found[0])) == 1 else answer
    return answer
