"""Labels and aliases of entities: cleaned, and chosen among several languages."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from almanac.sources.user_table import UNSEEN


def clean(name: str) -> str:
    """Return a name as it is stored: NFC, single spaces, no invisible characters; case and accents are kept."""
    return " ".join(unicodedata.normalize("NFC", re.sub(UNSEEN, "", name)).split())


def named(
    labels: Sequence[tuple[str, str]], aliases: Iterable[str], languages: Sequence[str]
) -> tuple[str, tuple[str, ...]] | None:
    """Return an entity's label and its sorted aliases, or None if it has no label.

    Args:
        labels: (language, text) pairs.
        aliases: other names.
        languages: by preference; the first with a label provides the label, and labels in the others become aliases.
    """
    by_language = {language: clean(text) for language, text in sorted(labels) if clean(text)}
    found = [by_language[language] for language in languages if language in by_language]
    if not found:
        return None
    others = sorted({name for alias in aliases if (name := clean(alias))} | set(found[1:]))
    return found[0], tuple(name for name in others if name != found[0])
