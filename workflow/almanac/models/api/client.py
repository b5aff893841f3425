"""Calls to a server: limited in number at a time, retried if that helps, and with no message that holds the key."""

import asyncio
import logging
import os
import re
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx2
import openai
from pydantic import BaseModel, ValidationError, model_validator

from almanac.errors import AlmanacError
from almanac.models.api.bounds import Bounded
from almanac.models.api.key import MASK, ApiKey
from almanac.models.options import ServerOptions, checked_url, is_here
from almanac.rows import Status

logging.getLogger("openai").setLevel(logging.WARNING)  # OPENAI_LOG=debug would log a server's headers.

SHOWN = 300  # The most characters of a server's message that are passed on.
CONNECTING = 20.0  # Seconds within which a server must accept a connection.
SILENT = 60.0  # Seconds after which stderr mentions a call without an answer.
FIRST_WAIT, LONGEST_WAIT = 0.5, 8.0  # Seconds, as in the openai package.
TOO_LONG = re.compile(
    r"context[ _](length|size|window)|maximum (input|sequence|model) length|max_model_len|prompt is too long|"
    r"token count .*exceeds|(?<!_)tokens\b.*must be <=|reduce the length",
    re.I,
)
PASSING = re.compile(r"'(code|status)': '?(408|409|429|5\d\d)\b")  # temporary errors that are sent as an answer
UNPAID = re.compile(r"credit balance|insufficient (balance|credit|funds|quota)|billing", re.I)  # some send HTTP 400
FILTERED = re.compile(r"content[ _](filter|policy|management|blocked)|moderation|flagged", re.I)


class CallError(Exception):
    """A request got no answer: the reason, and the status of its response."""

    def __init__(self, reason: str, status: Status = "failed") -> None:
        super().__init__(reason)
        self.status: Status = status


class OutageError(CallError):
    """A call failed by the server's fault, which may be temporary."""


class Logprobs(BaseModel):
    """Tokens as texts, and the log-probability of each (nats); None for a token with nothing before it."""

    tokens: list[str]
    token_logprobs: list[float | None]


class Message(BaseModel):
    """A chat's answer."""

    content: str | None = None
    refusal: str | None = None
    reasoning: Any = None  # The model's thinking, by vLLM's present name,
    reasoning_content: Any = None  # and by the name of DeepSeek, SGLang and llama.cpp.

    @model_validator(mode="before")
    @classmethod
    def _joined(cls, given: Any) -> Any:
        """Join the texts of a content that is a list of parts, as Mistral sends it; thinking is kept apart."""
        parts = given.get("content") if isinstance(given, dict) else None
        if not isinstance(parts, list) or not all(isinstance(one, dict) for one in parts):
            return given
        texts = [one.get("text") for one in parts if one.get("type") == "text"]
        if not all(isinstance(one, str) for one in texts):
            return given
        thought = [one for one in parts if one.get("type") in ("thinking", "reasoning")]
        return given | {"content": "".join(texts), "reasoning": given.get("reasoning") or thought}


class Choice(BaseModel):
    """One text of an answer; there is one per sample."""

    text: str = ""
    message: Message | None = None
    finish_reason: str | None = None
    logprobs: Any = None


class CallAnswer(BaseModel):
    """The answer to a call; only these fields are read."""

    choices: list[Choice]
    usage: Any = None


class Name(BaseModel):
    """One model of a server."""

    id: str


class ServedModels(BaseModel):
    """The models of a server."""

    data: list[Name]


Read = TypeVar("Read", bound=BaseModel)


def damage(error: Exception) -> str:
    """Say what is wrong with an answer, without quoting it."""
    if not isinstance(error, ValidationError):
        return str(error)
    return "; ".join(
        f"{'.'.join(map(str, one['loc']))}: {one['msg']}"
        for one in error.errors(include_url=False, include_context=False, include_input=False)
    )


def _error_in(received: Any) -> str:
    """Return the error that some servers send with HTTP 200, next to a partial answer; "" if there is none."""
    if not isinstance(received, dict):
        return ""
    if received.get("error"):
        return f"the server says {received['error']}"
    choices: Any = received.get("choices")
    listed = choices if isinstance(choices, list) else []
    ended = any(isinstance(one, dict) and one.get("finish_reason") == "error" for one in listed)
    return "the server ended an answer by an error" if ended else ""


class Server:
    """A server and its key; no error or message holds the key.

    Args:
        options: how the server is reached and queried.

    Raises:
        AlmanacError: the URL is refused, or the key cannot be sent.
    """

    def __init__(self, options: ServerOptions) -> None:
        self.options = options
        self.url = checked_url(options.api or "")
        self.failures = 0  # Calls that failed by the server's fault since the last one that was answered.
        key = os.environ.get(options.api_key_variable, "").strip()
        if not (key.isascii() and key.isprintable()):
            raise AlmanacError(
                f"{options.api_key_variable}: the key holds a character that cannot be sent in a header; set it again, "
                "as its server's owner gave it"
            )
        self.key = ApiKey(key)
        host = urlsplit(self.url).hostname or ""
        named = options.api_key_variable != ServerOptions.model_fields["api_key_variable"].default
        if self.key and not (named or is_here(host) or f".{host}".endswith(".openai.com")):
            print(
                f"{self.url}: is sent the key in {options.api_key_variable}; if that is another server's key, unset "
                "the variable, or name the one with this server's key as api_key_variable",
                file=sys.stderr,
            )
        self.repeats_key = self.told_waiting = False
        self.answered: tuple[str, dict[str, Any]] | None = None  # The first call that was answered: its path and body.

    @asynccontextmanager
    async def calls(self) -> AsyncIterator["Calls"]:
        """Yield a `Calls` object, for use inside this context and its event loop."""
        options = self.options
        timeout = httpx2.Timeout(options.api_timeout, connect=min(CONNECTING, options.api_timeout))
        async with openai.AsyncOpenAI(
            api_key=self.key.reveal() or "none",
            base_url=self.url,
            max_retries=options.api_retries,
            timeout=timeout,
            http_client=httpx2.AsyncClient(
                transport=Bounded(self.url, options.api_timeout),
                timeout=timeout,
                # Requests and the key go to the named server and to no other.
                follow_redirects=False,
            ),
        ) as client:
            yield Calls(self, client)

    @asynccontextmanager
    async def waiting(self) -> AsyncIterator[None]:
        """Say on stderr, once, that a call takes long, since the openai package retries silently."""

        def tell() -> None:
            if not self.told_waiting:
                self.told_waiting = True
                options = self.options
                print(
                    f"{self.url}: a call has no answer after {SILENT:.0f} s; it is tried {options.api_retries + 1} "
                    f"times, {options.api_timeout:g} s each, with the waits in between that the server asks for",
                    file=sys.stderr,
                )

        timer = asyncio.get_running_loop().call_later(SILENT, tell)
        try:
            yield
        finally:
            timer.cancel()

    def clean(self, text: object) -> str:
        """Return a message on one line, shortened, without the key or parts of it, and as valid UTF-8."""
        words = " ".join(str(text)[: 100 * SHOWN].split())
        return self.key.masked(words)[:SHOWN].encode("utf-8", "backslashreplace").decode()

    def in_text(self, text: str) -> str:
        """Return a model's text without the key; the first time that a text holds the key, stderr says so."""
        masked = self.key.in_text(text)
        if masked != text and not self.repeats_key:
            self.repeats_key = True
            print(
                f"{self.url}: answers repeat the key in {self.options.api_key_variable}, which is written as {MASK}; "
                "use another key if this one is no secret",
                file=sys.stderr,
            )
        return masked

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Replace any error by one without the key and without a traceback: a server's answer can be wrong in any way.

        Raises:
            AlmanacError: whatever went wrong.
        """
        try:
            yield
        except AlmanacError as error:
            raise AlmanacError(self.key.masked(str(error))) from None
        except Exception as error:
            raise AlmanacError(f"{self.url}: {self.clean(f'{type(error).__name__}: {error}')}") from None

    def outage(self, reason: str) -> OutageError:
        """Return the error of a call that failed by the server's fault, and count it."""
        self.failures += 1
        return OutageError(reason)

    def call_error(self, error: openai.APIError) -> CallError:
        """Turn an error of the openai package into a `CallError` with a reason of one line."""
        if not isinstance(error, openai.APIStatusError):  # Broken connections and timeouts.
            return self.outage(self.clean(f"{error} {error.__cause__ or ''}"))
        body: Any = error.body if isinstance(error.body, dict) else {}
        message = f"{error.code or ''} {body.get('message') or body.get('detail') or error.body or ''}"
        filtered = FILTERED.search(message) is not None
        forbidden = error.status_code == 403 and not filtered  # Content filters also send 403.
        if error.status_code == 401 or (forbidden and self.answered is None):  # Their bodies often quote the key.
            held = "is refused" if self.key else "is not set"
            return self.outage(f"HTTP {error.status_code}: the key in {self.options.api_key_variable} {held}")
        if 300 <= error.status_code < 400:
            message = f"it redirects to {error.response.headers.get('Location')}; give the final address"
        reason = f"HTTP {error.status_code}: {self.clean(message)}"
        # If a model that has answered before is missing now, it was removed or renamed; the request is not at fault.
        gone = error.status_code == 404 and self.answered and str(error.request.url).endswith(self.answered[0])
        unpaid = error.status_code == 400 and UNPAID.search(message)
        if forbidden or gone or unpaid or error.status_code in (402, 408, 409, 429) or error.status_code >= 500:
            return self.outage(reason)
        self.failures = 0
        status: Status = "refused" if filtered else "failed"
        return CallError(reason, "too_long" if TOO_LONG.search(message) else status)


class Calls:
    """Calls to one server, at most ``api_concurrency`` at a time."""

    def __init__(self, server: Server, client: openai.AsyncOpenAI) -> None:
        self.server = server
        self._client = client
        self._room = asyncio.Semaphore(server.options.api_concurrency)

    async def models(self) -> list[str]:
        """Return the names of the server's models."""
        return [one.id for one in (await self._call("/models", None, ServedModels)).data]

    async def complete(self, **body: Any) -> CallAnswer:
        """Continue a text or token ids."""
        return await self._call("/completions", body, CallAnswer)

    async def chat(self, **body: Any) -> CallAnswer:
        """Answer messages."""
        return await self._call("/chat/completions", body, CallAnswer)

    async def _call(self, path: str, body: dict[str, Any] | None, kind: type[Read]) -> Read:
        """Make a call and read its answer.

        Raises:
            CallError: the call failed.
            AlmanacError: many calls in a row failed, and the first one that ever succeeded, if any did, fails again.
        """
        server = self.server
        try:
            answer = await self._attempt(path, body, kind)
        except OutageError as error:
            failures = server.failures
            if failures >= max(4, 2 * server.options.api_concurrency):
                server.failures = 0
                if not await self._is_up():
                    raise AlmanacError(
                        f"{server.url}: {failures} calls in a row failed; the last: {error}; see whether the server is "
                        "up and can take api_concurrency calls at a time, then run again"
                    ) from None
            raise
        if body is not None and server.answered is None:
            server.answered = path, body
        return answer

    async def _is_up(self) -> bool:
        """Return whether a call that was answered before is answered again: then the failing requests are at fault."""
        if self.server.answered is not None:
            with suppress(CallError):
                await self._attempt(*self.server.answered, CallAnswer)
                return True
        return False

    async def _attempt(self, path: str, body: dict[str, Any] | None, kind: type[Read]) -> Read:
        """Make a call, and retry it if that helps.

        The openai package retries on 429, 5xx, timeouts and broken connections, and waits as long as Retry-After says.
        It passes on an answer that is no JSON of the right form; such a call is retried here.

        Raises:
            CallError: the call failed.
        """
        retries, problem = self.server.options.api_retries, ""
        for attempt in range(retries + 1):
            try:
                async with self._room, self.server.waiting():
                    received: Any = (
                        await self._client.get(path, cast_to=object)
                        if body is None
                        else await self._client.post(path, cast_to=object, body=body)
                    )
                if (message := _error_in(received)) and FILTERED.search(message) and not PASSING.search(message):
                    self.server.failures = 0
                    raise CallError(self.server.clean(message), "refused")
                if message:
                    raise ValueError(message)
                answer = kind.model_validate(received)
            except openai.APIError as error:
                raise self.server.call_error(error) from None
            except (ValueError, RecursionError) as error:  # Raised by JSON and pydantic.
                problem = self.server.clean(damage(error))
                if isinstance(error, ValidationError) and isinstance(received, dict) and "choices" in received:
                    break  # A paid answer of another form, which the next one would have too.
            else:
                self.server.failures = 0
                return answer
            if attempt < retries:
                await asyncio.sleep(min(LONGEST_WAIT, FIRST_WAIT * 2**attempt))
        raise self.server.outage(f"the answer is damaged: {problem}")
