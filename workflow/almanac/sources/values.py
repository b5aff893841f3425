"""Canonical spellings of dates and quantities, so that equal values are equal texts."""

import re
from calendar import monthrange
from collections.abc import Callable
from decimal import Decimal, InvalidOperation

# Values that are canonical already: a year or a whole number without a sign or leading zeros.
PLAIN = r"^[1-9][0-9]{0,3}$"
DATE = re.compile(r"[+]?(-?)0*([0-9]{1,9})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")
UNPARTED = re.compile("[0-9]{8}")  # a day in ISO 8601's basic format, which would otherwise be read as a year
MIDNIGHT = re.compile(r"[T ]00:00(:00([.]0+)?)?(Z|[+-]00:00)?")
ERA = re.compile(r"0*([1-9][0-9]* BC)")
LONGEST = 100  # characters of a quantity
PARTS = {"year": 1, "month": 2}  # parts of a date with this precision


def date(text: str, precision: str | None) -> str:
    """Return the canonical form of a date: YEAR, YEAR-MM or YEAR-MM-DD (the year without leading zeros), or YEAR BC.

    Args:
        text: the date; a time of midnight, and months and days of 00, are dropped.
        precision: ``year`` or ``month`` drop the finer parts; any other value drops none.

    Raises:
        ValueError: the text is no date, has a time of day, or a year below 1.
    """
    if (era := ERA.fullmatch(text)) is not None:
        return era[1]
    if UNPARTED.fullmatch(text):
        raise ValueError(f"date {text!r} has no hyphens; write YYYY-MM-DD")
    day, _, time = text.replace("T", " ").partition(" ")
    if time and not MIDNIGHT.fullmatch(f" {time}"):
        raise ValueError(f"date {text!r} has a time of day or is no date; write YYYY, YYYY-MM, YYYY-MM-DD or NN BC")
    if (found := DATE.fullmatch(day)) is None:
        raise ValueError(f"date {text!r} is no date; write YYYY, YYYY-MM, YYYY-MM-DD or NN BC")
    sign, year, *parts = found.groups()
    if sign or int(year) == 0:  # calendars disagree on whether there is a year 0
        raise ValueError(f"date {text!r} has a year below 1; write a year before Christ as NN BC")
    kept = [part for part in parts if part]
    while kept and kept[-1] == "00":
        kept.pop()
    if kept and not 1 <= int(kept[0]) <= 12:
        raise ValueError(f"date {text!r} has an impossible month; write YYYY-MM-DD")
    if len(kept) == 2 and not 1 <= int(kept[1]) <= monthrange(int(year) % 400 + 400, int(kept[0]))[1]:
        raise ValueError(f"date {text!r} has an impossible day; write YYYY-MM-DD")
    return "-".join([year, *kept][: PARTS.get(precision or "", 3)])


def quantity(text: str, _: str | None = None) -> str:
    """Return the canonical form of a number: plain digits, a decimal point if needed, no redundant zeros.

    Raises:
        ValueError: the text is no number, or too long.
    """
    try:
        number = Decimal(text) if len(text) <= LONGEST and "_" not in text else Decimal("nan")
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite() or abs(number.adjusted()) > LONGEST:
        raise ValueError(f"quantity {text[:60]!r} is no number; write digits, and a full stop before a fraction")
    plain = format(number, "f")
    plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
    return "0" if plain in ("-0", "") else plain


READ: dict[str, Callable[[str, str | None], str]] = {"date": date, "quantity": quantity}


def read(datatype: str, text: str, precision: str | None) -> tuple[str | None, str | None]:
    """Return (canonical value, None), or (None, reason) if the text is no value of its datatype."""
    try:
        return READ[datatype](text, precision), None
    except ValueError as error:
        return None, str(error)
