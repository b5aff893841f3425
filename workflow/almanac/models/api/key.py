"""A server's API key, and its masking in all that the server sends: servers repeat keys, whole or in part.

Parts of a key are masked too, and its forms in JSON, HTML, URLs and headers. In a model's texts only longer parts are
masked than in messages, so that no word of an answer is taken for a part of a key like `sk-no-key-required`.
"""

import base64
import functools
import html
import json
from collections.abc import Iterator
from urllib.parse import quote

MASK = "[key]"
IN_MESSAGES, IN_TEXTS = 8, 12  # This many successive characters of a key count as a part of it.
SECRET = 6  # Shorter keys are dummies for servers that want any key ("none", "EMPTY"); they stay in texts.


class ApiKey:
    """An API key, which is never shown; see `masked`.

    Args:
        key: the key, or "" if there is none.
    """

    def __init__(self, key: str) -> None:
        self._key = key

    def __bool__(self) -> bool:
        return bool(self._key)

    def __repr__(self) -> str:
        return MASK if self._key else "no key"

    def reveal(self) -> str:
        """Return the key, to be sent to the server only."""
        return self._key

    def masked(self, text: str, part: int = IN_MESSAGES) -> str:
        """Return a text in which the key, long enough parts of it, and encodings of both are masked.

        Args:
            text: a text from a server.
            part: the least length of a masked part; a shorter key is masked as a whole.
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
        """Return the parts of all forms of the key that are masked, by length."""
        parts: dict[int, set[str]] = {}
        for form in _forms(self._key):
            size = min(part, len(form))
            parts.setdefault(size, set()).update(form[at : at + size] for at in range(len(form) - size + 1))
        return parts


def _forms(key: str) -> set[str]:
    """Return a key in its forms in text, JSON, HTML, URLs, hexadecimal digits and base64."""
    plain = key.encode()
    escaped = json.dumps(key)[1:-1]
    forms = {key.lower(), key.upper(), escaped, escaped.replace("/", "\\/"), html.escape(key), plain.hex()}
    forms |= {quote(key, safe=""), quote(key, safe="").lower()}
    for before in range(3):  # Base64 depends on how many characters stand before, modulo 3, as in "Bearer KEY".
        start, stop = (before * 8 + 5) // 6, (before + len(plain)) * 8 // 6  # The digits that depend on the key only.
        encoded = base64.b64encode(bytes(before) + plain)[start:stop].decode()
        forms |= {encoded, encoded.replace("+", "-").replace("/", "_")}
    return {form for form in forms if len(form) >= IN_MESSAGES} | ({key} if key else set())
