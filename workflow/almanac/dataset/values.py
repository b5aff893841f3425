"""Finds numbers and dates in answers whatever their spelling: `8,848.0` is 8848, `22 May 1982` is 1982-05-22.

A number may have a unit, attached or not: `8848m`, `8,848 m` and `8848 metres` are equal. Units are never converted.

Every routine expects folded text: lower case, single spaces.
"""

import bisect
import calendar
import itertools
import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from almanac.punctuation import UNSPACED

MONTHS = {name.lower(): at for at, name in enumerate(calendar.month_name) if name}
MONTHS |= {name.lower(): at for at, name in enumerate(calendar.month_abbr) if name} | {"sept": 9}
_MONTH = "(?P<month>" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\.?"
_DAY, _YEAR = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?", r"(?P<year>\d{4})"
_ERA = r" ?b\.? ?c(?:\.?e)?\b"  # a year before Christ is read as words: 44 BC is not the year 44
_BEFORE, _AFTER = r"(?<![\w.,/])", rf"(?![\w/]|[.,]\d|{_ERA})"  # a dash may follow: `22 May 1982-3 June 1990`
_WORDS_OF_DATES = (
    rf"(?:the )?{_DAY}[ -](?:of )?{_MONTH},?[ -](?P<year>\d{{3,4}})",
    rf"{_MONTH} (?:the )?{_DAY},? {_YEAR}",
    rf"{_MONTH},?[ -](?:of )?{_YEAR}",
    rf"{_YEAR} {_MONTH} {_DAY}",
)
_FIGURES = (
    rf"[+]?{_YEAR}-(?P<month>\d{{1,2}})(?:-(?P<day>\d{{1,2}})(?:t[\d:.]+z?)?)?",
    rf"(?P<day>\d{{1,2}})(?P<sign>[./-])(?P<month>\d{{1,2}})(?P=sign){_YEAR}",
    rf"{_YEAR}[./](?P<month>\d{{1,2}})[./](?P<day>\d{{1,2}})",
)
DATES = (
    *(re.compile(rf"{_BEFORE}{form}{_AFTER}") for form in _WORDS_OF_DATES),
    *(re.compile(rf"(?<![\w.,/-]){form}(?![\w/-]|[.,]\d)") for form in _FIGURES),
)
# Unit symbols in folded form (`km²` is `km2`), each with its other names. Ambiguous ones such as `in` are left out.
UNIT_NAMES = {
    "m": ("metre", "metres", "meter", "meters"),
    "km": ("kms", "kilometre", "kilometres", "kilometer", "kilometers"),
    "cm": ("centimetre", "centimetres", "centimeter", "centimeters"),
    "mm": ("millimetre", "millimetres", "millimeter", "millimeters"),
    "ft": ("foot", "feet"),
    "mi": ("mile", "miles"),
    "m2": ("m^2", "sq m", "sq. m", "square metre", "square metres", "square meter", "square meters"),
    "km2": (
        "km^2",
        "sq km",
        "sq. km",
        "square kilometre",
        "square kilometres",
        "square kilometer",
        "square kilometers",
    ),
    "mi2": ("mi^2", "sq mi", "sq. mi", "square mile", "square miles"),
    "ha": ("hectare", "hectares"),
    "acre": ("acres",),
    "kg": ("kgs", "kilogram", "kilograms", "kilogramme", "kilogrammes"),
    "km/h": ("kph", "kmh", "km per hour", "kilometres per hour", "kilometers per hour"),
    "mph": ("miles per hour",),
    "°c": ("c", "° c", "degree celsius", "degrees celsius", "degrees c", "celsius"),
    "°f": ("f", "° f", "degree fahrenheit", "degrees fahrenheit", "degrees f", "fahrenheit"),
    "%": ("percent", "per cent", "pct"),
}
SYMBOL = {name: symbol for symbol, names in UNIT_NAMES.items() for name in (symbol, *names)}
_NAMED = "|".join(map(re.escape, sorted(SYMBOL, key=len, reverse=True)))
_UNIT = rf"(?:{_NAMED})(?![\w/^]|(?<!%)(?<!cent)(?<!pct)[ -]per\b)"  # `5 % per year` still counts as 5 %
UNIT = re.compile(f"[ -]?(?P<unit>{_UNIT})")
# Thousands separators: comma or apostrophe, or two or more points. A single point is the decimal point. Narrow and
# no-break spaces are not supported: folding turns them into plain spaces.
_LETTER = rf"[^\W{UNSPACED}]"  # scripts without spaces are excluded: there a letter may touch a number, `1990年`
_MULTIPLE = "[千万萬億亿兆百十]|年代"  # `3万` is 30,000 and not 3; `1990年代` is a decade and not a year
NUMBER = re.compile(
    rf"(?<!{_LETTER})(?<![.^])(?:[+-]|minus )?"
    r"(?P<digits>\d{1,3}(?:[,']\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3}){2,}|\d+(?:\.\d+)?)"
    rf"(?!{_ERA})(?:(?={_UNIT})|(?!{_LETTER}|{_MULTIPLE}|\.\d|,\d{{3}}(?!\d)))"
)
UNITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
         "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")  # fmt: skip
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
SMALL = {word: at for at, word in enumerate(UNITS)} | {word: 10 * at for at, word in enumerate(TENS, 2)}
SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_WORDS = "|".join([*SMALL, "hundred", *SCALES])
SPELLED = re.compile(rf"\b(?:{_WORDS})\b(?:(?:[ -]|(?<=hundred) and |(?<=thousand) and )(?:{_WORDS})\b)*")
SCALED = re.compile(rf"(?P<space>[ -]?)(?P<scale>{'|'.join(SCALES)})\b")
MOST_DIGITS = 40  # longer runs of digits are not read as numbers


@dataclass(frozen=True)
class Date:
    """A date with year, month or day precision."""

    year: int
    month: int | None = None
    day: int | None = None


@dataclass(frozen=True)
class Dated:
    """A date found at ``start:end`` of a text, with all its possible readings (`5/6/1982` has two)."""

    start: int
    end: int
    readings: tuple[Date, ...]

    def agrees(self, wanted: Date) -> bool:
        """Return whether a reading equals the wanted date, or refines it (22 May 1982 agrees with May 1982)."""
        return any(
            one.year == wanted.year and wanted.month in (None, one.month) and wanted.day in (None, one.day)
            for one in self.readings
        )

    def of_year(self, number: Decimal) -> bool:
        """Return whether a number is the year of this date, in any reading."""
        return any(one.year == number for one in self.readings)


@dataclass(frozen=True)
class Number:
    """A number found at ``start:end`` of a text, with the symbol of the unit that follows it, if any."""

    start: int
    end: int
    value: Decimal
    unit: str | None = None

    def agrees(self, wanted: "Number", alone: bool) -> bool:
        """Return whether value and unit equal the wanted ones; any unit will do where the wanted number has none.

        ``alone``: the number is the whole answer, which may then leave the unit out.
        """
        same = wanted.unit is None or self.unit == wanted.unit or (alone and self.unit is None)
        return self.value == wanted.value and same


class Stretches:
    """Intervals [start, end) of characters or words; they may overlap. Queries take logarithmic time."""

    def __init__(self, stretches: Iterable[tuple[int, int]]) -> None:
        ordered = sorted(stretches)
        self._starts = [start for start, _ in ordered]
        self._reach = list(itertools.accumulate((end for _, end in ordered), max))

    def hold(self, start: int, end: int) -> bool:
        """Return whether one of the intervals contains [start, end)."""
        before = bisect.bisect_right(self._starts, start)
        return before > 0 and self._reach[before - 1] >= end

    def meet(self, start: int, end: int) -> bool:
        """Return whether one of the intervals overlaps [start, end)."""
        before = bisect.bisect_left(self._starts, end)
        return before > 0 and self._reach[before - 1] > start

    def begin(self, start: int, end: int) -> bool:
        """Return whether one of the intervals begins within [start, end)."""
        return bisect.bisect_left(self._starts, start) < bisect.bisect_left(self._starts, end)


def dates(flat: str) -> tuple[Dated, ...]:
    """Return the dates with month or day precision in a folded text, from left to right."""
    found: list[Dated] = []
    for form in DATES:
        before = _stretches(found)  # a form's own matches never overlap
        for match in form.finditer(flat):
            readings = tuple(_readings(match))
            if readings and not before.meet(*match.span()):
                found.append(Dated(match.start(), match.end(), readings))
    return tuple(sorted(found, key=lambda one: one.start))


def _readings(match: re.Match[str]) -> Iterator[Date]:
    parts = match.groupdict()
    year, month = int(parts["year"]), parts["month"]
    day = int(parts["day"]) if parts.get("day") else None
    number = int(month) if month.isdecimal() else MONTHS[month]
    orders = {(number, day), (day, number)} if parts.get("sign") in ("/", "-") else {(number, day)}
    for one, other in sorted(orders, key=str):
        if one is not None and 1 <= one <= 12 and (other is None or 1 <= other <= calendar.monthrange(2000, one)[1]):
            yield Date(year, one, other)


def numbers(flat: str, within: Sequence[Dated] = ()) -> tuple[Number, ...]:
    """Return the numbers of a folded text, in figures or words, from left to right.

    Numbers inside the dates ``within`` are left out. The bare word `one` counts only where it is the whole text.
    """
    found: list[Number] = []
    for match in NUMBER.finditer(flat):
        digits = re.sub(r"[,']", "", match.group("digits"))
        value = Decimal(digits.replace(".", "") if digits.count(".") > 1 else digits)
        scale = SCALED.match(flat, match.end())
        if len(digits) <= MOST_DIGITS:
            sign = -1 if match.group().startswith(("-", "minus")) else 1
            value *= sign * (SCALES[scale["scale"]] if scale else 1)
            found.append(_measured(flat, match.start(), scale.end() if scale else match.end(), value))
    figures, dated = _stretches(found), _stretches(within)
    for match in SPELLED.finditer(flat):
        spelled = _spelled(re.split(r"[ -]+", match.group()))
        bare = match.group() == "one" and flat.strip(" .!") != "one"
        if spelled is not None and not bare and not figures.meet(*match.span()):
            found.append(_measured(flat, match.start(), match.end(), Decimal(spelled)))
    kept = [one for one in found if not dated.meet(one.start, one.end)]
    return tuple(sorted(kept, key=lambda one: one.start))


def _measured(flat: str, start: int, end: int, value: Decimal) -> Number:
    """Return a number with the unit that follows it, if one does."""
    unit = UNIT.match(flat, end)
    return Number(start, unit.end(), value, SYMBOL[unit["unit"]]) if unit else Number(start, end, value)


def _stretches(found: Sequence[Dated | Number]) -> Stretches:
    return Stretches((one.start, one.end) for one in found)


def _spelled(words: Sequence[str]) -> int | None:
    """Return the number that words spell (`one hundred and five`), or None for a list of numbers (`one two three`)."""
    total, current, before = 0, 0, ""
    for word in words:
        if word == "and":
            continue
        if word in SCALES:
            total, current = total + (current or 1) * SCALES[word], 0
        elif word == "hundred":
            current = (current or 1) * 100
        elif before in SMALL and not (before in TENS and 0 < SMALL[word] < 10):
            return None
        else:
            current += SMALL[word]
        before = word
    return total + current


def read_date(flat: str) -> Date | None:
    """Return a folded name as a date, if all of it is one unambiguous date with month or day precision."""
    found = dates(flat)
    whole = len(found) == 1 and (found[0].start, found[0].end) == (0, len(flat))
    return found[0].readings[0] if whole and len(found[0].readings) == 1 else None


def read_number(flat: str) -> Number | None:
    """Return a folded name as a number, if all of it is one number in figures, perhaps with a unit.

    One digit and one letter are read as a name: the company 3M.
    """
    match = NUMBER.match(flat)
    found = numbers(flat) if match and not re.fullmatch(r"\d[mcf]", flat) else ()
    return found[0] if len(found) == 1 and (found[0].start, found[0].end) == (0, len(flat)) else None


def value_of(name: str) -> Hashable | None:
    """Return the key of a folded name that is a date or a number: `values_in` yields it for each text that has it."""
    number = read_number(name)
    return read_date(name) or (number and (number.value, number.unit))


def values_in(flat: str) -> Iterator[Hashable]:
    """Yield keys of the dates and numbers of a folded text: as found, and coarser (month, year; without the unit)."""
    found = dates(flat)
    for one in found:
        for date in one.readings:
            yield from (date, replace(date, day=None), (Decimal(date.year), None))
    for number in numbers(flat, found):
        yield from ((number.value, number.unit), (number.value, None))
