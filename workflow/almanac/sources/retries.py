"""Retries for SPARQL and downloads: back-off, Retry-After, and a User-Agent with a contact."""

import datetime
import email.utils
import urllib.parse
from collections.abc import Callable, Mapping
from typing import TypeVar

import stamina
import stamina.instrumentation

from almanac import __version__
from almanac.errors import AlmanacError
from almanac.sources.options import Manners

Value = TypeVar("Value")
CROWDED_WAIT = 60.0  # seconds
stamina.instrumentation.set_on_retry_hooks([])  # retries are reported by `on_failure` alone


class TransientError(AlmanacError):
    """A failure that a retry may overcome; ``wait`` is the number of seconds that the server asked for.

    ``crowded``: the server has too many requests; unless it names a time, the next attempt waits `CROWDED_WAIT`.
    """

    def __init__(self, message: str, wait: float | None = None, crowded: bool = False) -> None:
        super().__init__(message)
        self.wait = wait
        self.crowded = crowded


def same_host(asked: str, answered: str) -> None:
    """Refuse a redirect to another host; users must name such an address themselves.

    Raises:
        AlmanacError: the answer came from another host, or not over HTTP.
    """
    one, other = urllib.parse.urlsplit(asked), urllib.parse.urlsplit(answered)
    if other.scheme not in ("http", "https") or other.hostname != one.hostname:
        raise AlmanacError(f"redirects to {answered}, another host; if that is right, give its address instead")


def agent(contact: str | None, library: str) -> str:
    """Return the User-Agent, which names the program and the user's contact.

    Raises:
        AlmanacError: the contact is missing, or neither an e-mail address nor a web page.
    """
    if not contact or ("@" not in contact and "http" not in contact):
        raise AlmanacError(
            f"contact: is {contact!r}; public servers refuse those who do not say whom to write to; give an e-mail "
            "address or a page: `contact` in the configuration, or --contact"
        )
    return f"almanac/{__version__} ({contact}) {library}"


def retry_after(headers: Mapping[str, str] | None) -> float | None:
    """Return the seconds that a Retry-After header (a number or a date) asks to wait, or None."""
    value = ((headers or {}).get("Retry-After") or "").strip()
    if value.isdecimal():
        return float(value)
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    now = datetime.datetime.now(moment.tzinfo)
    return max(0.0, (moment - now).total_seconds())


def persistently(call: Callable[[], Value], manners: Manners, on_failure: Callable[[str], object]) -> Value:
    """Return the result of a call, retrying while it raises `TransientError`.

    Raises:
        TransientError: the last failure, when all attempts have failed.
        AlmanacError: the server asks for a longer wait than ``max_wait``.
    """

    def backoff(error: Exception) -> bool | float:
        if not isinstance(error, TransientError):
            return False
        if error.wait is not None and error.wait > manners.max_wait:
            raise AlmanacError(
                f"{error}: asks to wait {error.wait:.0f} s, longer than `max_wait`; run the step again later, "
                "it resumes where it stopped"
            ) from error
        if attempt.num < manners.attempts:
            on_failure(str(error))
        if error.wait is None:
            return min(CROWDED_WAIT, manners.max_wait) if error.crowded else True
        return error.wait

    policy = {"wait_initial": manners.wait, "wait_max": 30 * manners.wait, "wait_jitter": manners.wait / 2}
    for attempt in stamina.retry_context(backoff, attempts=manners.attempts, timeout=None, **policy):
        with attempt:
            return call()
    raise AssertionError("stamina ends with a value or an error")  # pragma: no cover
