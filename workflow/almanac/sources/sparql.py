"""A SPARQL client over SPARQLWrapper: one request at a time, and truncated answers are detected.

SPARQLWrapper implements the protocol. This module adds a deadline for the whole answer, a limit of its size, checks of
the body's length and form, and a classification of failures: retry (`TransientError`), ask for less (`TooMuchError`),
or stop (`AlmanacError`).
"""

import contextlib
import http.client
import json
import re
import time
import urllib.error
import urllib.parse
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import SPARQLWrapper
from SPARQLWrapper.SPARQLExceptions import EndPointInternalError, SPARQLWrapperException

from almanac.errors import AlmanacError
from almanac.sources.answers import Answer, TooMuchError, now
from almanac.sources.options import Manners
from almanac.sources.retries import TransientError, agent, persistently, retry_after, same_host

CHUNK = 1 << 16
KEPT_HEADERS = ("date", "server", "last-modified", "content-type", "x-served-by", "x-sparql-maxrows")
TIMEOUTS = (
    b"TimeoutException",  # Blazegraph, QLever
    b"Operation timed out",
    b"query timed out",
    b"query execution timed out",
    b"SR171",  # Virtuoso: transaction timed out
    b"estimated execution time",  # Virtuoso refuses beforehand
)


class Client:
    """A client of one endpoint; requests are sequential, with a pause in between."""

    def __init__(
        self, endpoint: str, contact: str | None, manners: Manners, log: Callable[[str], object] = lambda line: None
    ) -> None:
        """Create a client.

        Args:
            endpoint: the address of the SPARQL endpoint.
            contact: an e-mail address or a web page, for the User-Agent.
            manners: pauses, deadlines and limits.
            log: called with each failure that is retried.
        """
        self.endpoint = endpoint
        self._agent = agent(contact, f"SPARQLWrapper/{SPARQLWrapper.__version__}")
        self._manners = manners
        self._log = log
        self._last = float("-inf")

    def ask(self, query: str) -> Answer:
        """Send a SELECT query, and retry after transient failures.

        Raises:
            TooMuchError: the server timed out or truncated the rows.
            AlmanacError: the query is refused, or every attempt failed; names the endpoint and the reason.
        """
        return persistently(lambda: self._once(query), self._manners, self._log)

    def _once(self, query: str) -> Answer:
        time.sleep(max(0.0, self._last + self._manners.pause - time.monotonic()))
        try:
            body, headers = self._exchange(query)
        except AlmanacError as error:
            error.args = (f"{self.endpoint}: {error}",)
            raise
        finally:
            self._last = time.monotonic()
        return Answer(self.endpoint, query, body, now(), headers)

    def _exchange(self, query: str) -> tuple[bytes, dict[str, str]]:
        """Send a query; return the body of a complete, well-formed answer and the headers to be recorded."""
        with _failures_named(), contextlib.closing(self._send(query)) as response:
            headers = {name.lower(): value for name, value in response.headers.items()}
            same_host(self.endpoint, response.url)
            if response.url != self.endpoint:
                raise _sent_on(response.url)  # urllib drops the query when it follows a redirect
            body = self._read(response, headers)
        if "json" not in headers.get("content-type", ""):
            raise _reason(body) or TransientError(f"answers {headers.get('content-type')!r} instead of JSON")
        if "x-sparql-maxrows" in headers or "x-sql-state" in headers:
            limit = headers.get("x-sparql-maxrows") or headers.get("x-sql-message") or headers["x-sql-state"]
            raise TooMuchError(f"cut the rows ({limit})")
        try:
            rows_of(body)
        except ValueError as error:
            raise _reason(body) or TransientError(f"answers no whole SPARQL result ({error})") from error
        return body, {name: headers[name] for name in KEPT_HEADERS if name in headers}

    def _send(self, query: str) -> http.client.HTTPResponse:
        wrapper = SPARQLWrapper.SPARQLWrapper(self.endpoint, agent=self._agent)  # new for each request: it has state
        wrapper.setOnlyConneg(True)  # otherwise it adds parameters that strict servers refuse
        wrapper.setReturnFormat(SPARQLWrapper.JSON)
        wrapper.setMethod(SPARQLWrapper.POST)
        wrapper.setTimeout(self._manners.timeout)
        wrapper.addCustomHttpHeader("Accept-Encoding", "gzip")
        wrapper.setQuery(query)
        response: http.client.HTTPResponse = wrapper.query().response
        return response

    def _read(self, response: http.client.HTTPResponse, headers: Mapping[str, str]) -> bytes:
        """Read a body within the deadline; SPARQLWrapper's timeout applies only to each single read."""
        started, parts, size = time.monotonic(), [], 0
        while chunk := response.read1(CHUNK):
            parts.append(chunk)
            size += len(chunk)
            if size > self._manners.max_bytes:
                raise TooMuchError(f"answers more than {self._manners.max_bytes} bytes")
            if time.monotonic() - started > self._manners.deadline:
                raise TransientError(f"did not finish its answer in {self._manners.deadline} s")
        if size != int(headers.get("content-length", size)):
            raise TransientError(f"broke off after {size} of {headers['content-length']} bytes")
        body = b"".join(parts)
        return self._unpacked(body) if headers.get("content-encoding") == "gzip" else body

    def _unpacked(self, body: bytes) -> bytes:
        """Decompress a gzipped body, up to the size limit."""
        stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
        found = stream.decompress(body, self._manners.max_bytes)
        if stream.unconsumed_tail:
            raise TooMuchError(f"answers more than {self._manners.max_bytes} bytes")
        if not stream.eof:
            raise TransientError("broke off within a packed answer")
        return found


def rows_of(body: bytes) -> list[dict[str, Any]]:
    """Return the bindings of a SPARQL JSON result.

    Raises:
        ValueError: the body is no such result.
    """
    try:
        document = json.loads(body)
        rows: list[dict[str, Any]] = document["results"]["bindings"]
        if not isinstance(rows, list) or not isinstance(document["head"]["vars"], list):
            raise ValueError("no bindings")
        if not all({"type", "value"} <= value.keys() for row in rows for value in row.values()):
            raise ValueError("a value without type")
    except RecursionError as error:
        raise ValueError("brackets without end") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"lacks {error}") from error
    return rows


def count_rows(body: bytes) -> int:
    """Return the number of rows of a SPARQL JSON result."""
    return len(rows_of(body))


@contextlib.contextmanager
def _failures_named() -> Iterator[None]:
    """Convert failures of SPARQLWrapper, urllib and the connection into this module's errors."""
    try:
        yield
    except EndPointInternalError as error:  # HTTP 500: the error's text contains the body, the headers are lost
        raise _reason(str(error).encode()) or TransientError("fails (HTTP 500)") from error
    except SPARQLWrapperException as error:  # 400, 401, 404, 414
        raise AlmanacError(f"refuses the query: {' '.join(str(error).split())[:300]}") from error
    except urllib.error.HTTPError as error:
        raise _of_status(error) from error
    except (OSError, http.client.HTTPException, EOFError, zlib.error) as error:  # gzip's and urllib's are OSErrors
        raise TransientError(f"{type(error).__name__}: {error}") from error


def _of_status(error: urllib.error.HTTPError) -> AlmanacError:
    with contextlib.suppress(OSError, http.client.HTTPException):
        body = error.read(CHUNK)
    wait = retry_after(dict(error.headers))
    if error.code == 429:
        if b'"exception"' in body:  # QLever reports a timeout this way, without Retry-After
            return TooMuchError("gave up on the query (HTTP 429 with an exception)")
        return TransientError("too many requests (HTTP 429)", wait, crowded=True)
    if error.code in (502, 503, 504):
        return _reason(body) or TransientError(f"fails (HTTP {error.code})", wait)
    if error.code in (307, 308) and (place := error.headers.get("Location")):
        return _sent_on(urllib.parse.urljoin(error.url, place))
    text = body.decode("utf-8", "replace")[:200]
    return AlmanacError(f"refuses (HTTP {error.code}): {' '.join(text.split())}")


def _sent_on(place: str) -> AlmanacError:
    return AlmanacError(f"redirects to {place}; give that address as `endpoint`")


def _reason(body: bytes) -> AlmanacError | None:
    """Return the error that a body's text describes, or None."""
    if any(text in body for text in TIMEOUTS):
        return TooMuchError("timed out on the query")
    if b"set a user-agent" in body.lower() or b"robot policy" in body:
        return AlmanacError(f"refuses the User-Agent: {body[:200].decode('utf-8', 'replace')}")
    if found := re.search(rb"Virtuoso \w{5} Error[^\n]{0,200}", body):
        return AlmanacError(f"refuses the query: {found.group().decode('utf-8', 'replace')}")
    return None
