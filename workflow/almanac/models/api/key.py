"""A server's key, and its masking in whatever a server says: servers repeat keys, whole or in part, as they got them.

Parts are masked too, and the forms in which a key comes back in JSON, HTML, URLs and headers. In a model's texts longer
parts are wanted than in messages, so that no word of an answer is taken for a part of a key like `sk-no-key-required`.
"""

import base64
import functools
import html
import json
from collections.abc import Iterator
from urllib.parse import quote

MASK = "[key]"
IN_MESSAGES, IN_TEXTS = 8, 12  # So many characters of a key on end are taken for a part of it.
SECRET = 6  # Shorter keys are words for servers that want any ("none", "EMPTY"); in texts they stay.


class ApiKey:
    """A key, which nothing shows; see `masked`.

    Args:
        key: the key, or nothing where there is none.
    """

    def __init__(self, key: str) -> None:
        self._key = key

    def __bool__(self) -> bool:
        return bool(self._key)

    def __repr__(self) -> str:
        return MASK if self._key else "no key"

    def reveal(self) -> str:
        """Return the key, for the server alone."""
        return self._key

    def masked(self, text: str, part: int = IN_MESSAGES) -> str:
        """Return a text without the key, without parts of it from a length on, and without encodings of either.

        Args:
            text: what a server said.
            part: the length; a whole key that is shorter is masked as a whole.
        """
        shown, end = "", 0
        for start, stop in sorted(self._found(text, part)):
            if start > end or not shown:
                shown += text[end:start] + MASK
            end = max(end, stop)
        return shown + text[end:]

    def in_text(self, text: str) -> str:
        """Return a model's text, or a name, without the key."""
        return self.masked(text, IN_TEXTS) if len(self._key) >= SECRET else text

    def _found(self, text: str, part: int) -> Iterator[tuple[int, int]]:
        for size, parts in self._parts(part).items():
            for start in range(len(text) - size + 1):
                if text[start : start + size] in parts:
                    yield start, start + size

    @functools.lru_cache(maxsize=2)  # noqa: B019 (a key lives as long as its server)
    def _parts(self, part: int) -> dict[int, set[str]]:
        """Return the parts of every form that are masked, by their length."""
        parts: dict[int, set[str]] = {}
        for form in _forms(self._key):
            size = min(part, len(form))
            parts.setdefault(size, set()).update(form[at : at + size] for at in range(len(form) - size + 1))
        return parts


def _forms(key: str) -> set[str]:
    """Return a key as it stands in text, JSON, HTML, a URL, in hexadecimal digits and in base64."""
    plain = key.encode()
    escaped = json.dumps(key)[1:-1]
    forms = {key.lower(), key.upper(), escaped, escaped.replace("/", "\\/"), html.escape(key), plain.hex()}
    forms |= {quote(key, safe=""), quote(key, safe="").lower()}
    for before in range(3):  # Base64 looks different after one and after two characters more, as in "Bearer KEY".
        start, stop = (before * 8 + 5) // 6, (before + len(plain)) * 8 // 6  # What no character around it changes.
        encoded = base64.b64encode(bytes(before) + plain)[start:stop].decode()
        forms |= {encoded, encoded.replace("+", "-").replace("/", "_")}
    return {form for form in forms if len(form) >= IN_MESSAGES} | ({key} if key else set())
