"""The one normaliser: when two names are the same name."""

import unicodedata


def normalise(name: str) -> str:
    """Return a name as it is compared: NFKC, case folded, white space squeezed.

    Wu et al. do not say how they compare choices; this fold is the project's (case and space).
    """
    if name.isascii():  # most names are, and NFKC leaves them as they are
        return " ".join(name.lower().split())
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).split())
