"""The accepted forms of a true answer, by versioned rules (Sun et al. name only one: W Shakespeare)."""

import calendar
import re
from collections.abc import Iterable, Iterator

VERSION = 2  # raise it with every change of a rule by which an answer is correct
YEAR = re.compile(r"\d{4}")
MONTH = "|".join(f"{name}|{name[:3]}" for name in map(str.lower, calendar.month_name[1:]))
# A date: day, month and year in any order, as words or as numbers.
DATE = re.compile(
    rf"(?:(?:on|in) )?(?:(?:the )?(?:\d{{1,2}}(?:st|nd|rd|th)?|{MONTH}|of)[ .,/-]+)*\d{{4}}(?:[/-]\d{{1,2}}){{0,2}}"
)
GENDERED = {"actor": "actress", "actress": "actor"}


def variants(golds: Iterable[str], kind: str) -> tuple[str, ...]:
    """Return the true answers and their variants, each once.

    Args:
        golds: the true answers.
        kind: what the answer is: ``persons`` may have initials for given names or the first of these alone, a
            ``profession`` spaces for underscores and either gender, a ``school`` goes without its country.
    """
    return tuple(dict.fromkeys(form for gold in golds for form in (gold, *_forms(gold, kind))))


def _forms(gold: str, kind: str) -> Iterator[str]:
    if kind == "persons":
        *given, last = gold.split() or [""]
        if given and all(name[0].isalpha() for name in given):
            initials = [name[0] for name in given]
            yield " ".join([*initials, last])
            yield " ".join([given[0], *initials[1:], last])
            yield " ".join([given[0], last])
    elif kind == "profession":
        spaced = gold.replace("_", " ")
        yield spaced
        if spaced in GENDERED:
            yield GENDERED[spaced]
    elif kind == "school" and "," in gold:
        yield gold.rpartition(",")[0].strip()


def reduced(answer: str, kind: str) -> str:
    """Return the year alone of an answer that is a date, where a year is asked for; else the answer.

    Args:
        answer: what was said.
        kind: what the answer is.
    """
    if kind == "year" and (found := DATE.fullmatch(answer.strip(" .").lower())):
        return YEAR.findall(found[0])[0] if len(YEAR.findall(found[0])) == 1 else answer
    return answer
