"""The one policy of trying again, for SPARQL and downloads: patient, obedient to Retry-After, and with a name."""

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
stamina.instrumentation.set_on_retry_hooks([])  # what is tried again is said once, by `on_failure`


class TransientError(AlmanacError):
    """What may succeed when tried again; ``wait`` is how many seconds the server asked for.

    ``crowded`` says that the server has too many requests: if it names no time, a minute is given it.
    """

    def __init__(self, message: str, wait: float | None = None, crowded: bool = False) -> None:
        super().__init__(message)
        self.wait = wait
        self.crowded = crowded


def same_host(asked: str, answered: str) -> None:
    """Refuse what another host answers: an address that is redirected is named by its user, or not read.

    Raises:
        AlmanacError: it is another host, or no web address.
    """
    one, other = urllib.parse.urlsplit(asked), urllib.parse.urlsplit(answered)
    if other.scheme not in ("http", "https") or other.hostname != one.hostname:
        raise AlmanacError(f"sends on to {answered}, another host; if that is right, give its address instead")


def agent(contact: str | None, library: str) -> str:
    """Return the User-Agent: who asks, and how to reach them.

    Raises:
        AlmanacError: the contact is missing or is neither an address nor a page.
    """
    if not contact or ("@" not in contact and "http" not in contact):
        raise AlmanacError(
            f"contact: is {contact!r}; public servers refuse those who do not say whom to write to; give an e-mail "
            "address or a page: `contact` in the configuration, or --contact"
        )
    return f"almanac/{__version__} ({contact}) {library}"


def retry_after(headers: Mapping[str, str] | None) -> float | None:
    """Return the seconds that a Retry-After header asks to wait (a number, or a date), if it does."""
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
    """Return what a call returns, trying again while it raises `TransientError`.

    Raises:
        TransientError: the last failure, when the attempts are used up.
        AlmanacError: the server asks for a longer wait than is allowed.
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
