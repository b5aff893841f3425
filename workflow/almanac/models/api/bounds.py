"""Limits on reading a server's answer: its size, and the time until all of it has arrived.

By itself, the openai package applies the time-out to each piece of an answer and unpacks whatever comes. (It would
follow redirects too; `client` switches that off.)
"""

import time
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator

import httpx2
import openai

from almanac.errors import AlmanacError
from almanac.models.options import is_here

LARGEST = 1 << 26  # bytes: several times the log-probabilities of the longest text that any model reads


class Bounded(httpx2.AsyncHTTPTransport):
    """Sends requests, and aborts answers that are too large, too slow or compressed."""

    def __init__(self, url: str, seconds: float) -> None:
        """Take the URL of the server, and the most seconds that an answer may take."""
        parts = urllib.parse.urlsplit(url)
        host = parts.hostname or ""
        # A client with a transport of its own reads no proxy from the environment. A local server needs none.
        proxies = {} if is_here(host) or urllib.request.proxy_bypass(host) else urllib.request.getproxies()
        proxy = proxies.get(parts.scheme) or proxies.get("all")
        if proxy and "://" not in proxy:  # HTTP is the default, as in curl and others.
            proxy = f"http://{proxy}"
        try:
            super().__init__(limits=openai.DEFAULT_CONNECTION_LIMITS, proxy=proxy)
        except ImportError:  # SOCKS needs a package that is not among the locked ones.
            raise AlmanacError(
                f"{url}: {parts.scheme}_proxy or all_proxy names a SOCKS proxy, which needs the package socksio; "
                f"install it, name a proxy of HTTP, or put {host} into no_proxy"
            ) from None
        self._seconds = seconds

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request for an uncompressed answer.

        Raises:
            httpx2.DecodingError: the answer is compressed: its size would show only once it fills memory.
        """
        request.headers["Accept-Encoding"] = "identity"
        until = time.monotonic() + self._seconds
        response = await super().handle_async_request(request)
        coding = response.headers.get("Content-Encoding", "identity")
        if coding != "identity":
            await response.aclose()
            raise httpx2.DecodingError(f"the answer is compressed ({coding}), which was not asked for", request=request)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Counted(response.stream, request, until)
        return response


class _Counted(httpx2.AsyncByteStream):
    """An answer's bytes, with limits on their number and on the time."""

    def __init__(self, stream: httpx2.AsyncByteStream, request: httpx2.Request, until: float) -> None:
        self._stream, self._request, self._until = stream, request, until

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            size += len(piece)
            if size > LARGEST:
                raise httpx2.ReadError(f"the answer has more than {LARGEST} bytes", request=self._request)
            if time.monotonic() > self._until:
                raise httpx2.ReadTimeout("the answer was not whole within the time-out", request=self._request)
            yield piece

    async def aclose(self) -> None:
        """Abort the answer."""
        await self._stream.aclose()
