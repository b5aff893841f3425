"""Ends of sentences, and boundaries of words, in the scripts of the world."""

import re
from itertools import groupby
from unicodedata import category

STOPS = ".。．｡।॥۔։።។။"  # Latin, Chinese and Japanese, Indic, Urdu, Armenian, Ethiopic, Khmer, Burmese
QUESTION_MARKS = ("?", "？", "؟", "՞", "፧", ";")  # Latin, Chinese and Japanese, Arabic, Armenian, Ethiopic, Greek
# Scripts written without spaces: kana, Han, Thai, Lao, Myanmar, Khmer. Each character counts as a word.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
# Combining marks, such as the vowel signs of Indic scripts, which `re` does not count as word characters. As ranges,
# which `re` compiles faster than single characters.
_BY_MARK = groupby(map(chr, range(0x300, 0x10000)), lambda char: category(char).startswith("M"))
MARKS = "".join(f"{run[0]}-{run[-1]}" for run in (list(chars) for is_mark, chars in _BY_MARK if is_mark))
WORD = rf"[^\W_](?:[^\W_]|[{MARKS}])*"  # a word of letters and digits, with their combining marks
_UNSPACED = re.compile(f"[{UNSPACED}]")
# A character within a word. A combining mark is one only after a letter; after an emoji it is not.
_IN_WORD = rf"(?![{UNSPACED}])(?:\w|(?<=[\w{MARKS}])[{MARKS}])"
# They match where no character of a word is before, or after.
_NOT_AFTER, _NOT_BEFORE = re.compile(f"(?<!{_IN_WORD})"), re.compile(f"(?!{_IN_WORD})")


def unstopped(text: str) -> str:
    """Return a text without full stops and spaces at its end."""
    return text.rstrip(f" {STOPS}")


def ends_in_object(template: str) -> bool:
    """Return whether nothing but a full stop follows a template's object, ``[Y]``."""
    return unstopped(template).endswith("[Y]")


def is_question(text: str) -> bool:
    """Return whether a text ends in a question mark."""
    return text.endswith(QUESTION_MARKS)


def space_after(template: str) -> str:
    """Return the separator between a template and an object after it: a space, or nothing in scripts without spaces.

    A template in such a script that has spaces (around its slots, say) gets a space here too.
    """
    return "" if _UNSPACED.search(template) and len(template.split()) == 1 else " "


def words_of(pattern: str) -> str:
    """Return a pattern that matches ``pattern`` only at word boundaries on both sides."""
    return rf"(?<!{_IN_WORD})(?:{pattern})(?!{_IN_WORD})"


def stands_in(name: str, text: str) -> bool:
    """Return whether a name occurs in a text as whole words; as `words_of` finds it, without a pattern to compile."""
    at = text.find(name)
    while at >= 0:
        if _NOT_AFTER.match(text, at) and _NOT_BEFORE.match(text, at + len(name)):
            return True
        at = text.find(name, at + 1)
    return False
