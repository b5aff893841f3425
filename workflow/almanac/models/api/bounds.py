"""What of a server's answer is read: so many bytes, within the time-out as a whole, from the server that was asked.

The openai package waits so long for each piece of an answer, follows redirects, and unpacks whatever comes.
"""

import time
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator

import httpx2
import openai

from almanac.errors import AlmanacError
from almanac.models.options import is_here

LARGEST = 1 << 26  # bytes of an answer: log-probabilities of a text as long as any model reads, several times


class Bounded(httpx2.AsyncHTTPTransport):
    """Sends requests, and breaks off answers that are too large, too slow, packed, or send on to somewhere else."""

    def __init__(self, url: str, seconds: float) -> None:
        """Say which server is asked, and how long an answer may take."""
        parts = urllib.parse.urlsplit(url)
        host = parts.hostname or ""
        # Of a transport that is given, its client reads no proxy from the environment. What runs here needs none.
        proxies = {} if is_here(host) or urllib.request.proxy_bypass(host) else urllib.request.getproxies()
        proxy = proxies.get(parts.scheme) or proxies.get("all")
        if proxy and "://" not in proxy:  # As curl and others read it.
            proxy = f"http://{proxy}"
        try:
            super().__init__(limits=openai.DEFAULT_CONNECTION_LIMITS, proxy=proxy)
        except ImportError:  # SOCKS, by a package that is no part of the lock.
            raise AlmanacError(
                f"{url}: {parts.scheme}_proxy or all_proxy names a SOCKS proxy, which needs the package socksio; "
                f"install it, name a proxy of HTTP, or put {host} into no_proxy"
            ) from None
        self._seconds = seconds

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request that asks for an answer as it is.

        Raises:
            httpx2.DecodingError: the answer is packed: its size would show when it fills memory.
        """
        request.headers["Accept-Encoding"] = "identity"
        until = time.monotonic() + self._seconds
        response = await super().handle_async_request(request)
        packed = response.headers.get("Content-Encoding", "identity")
        if packed != "identity":
            await response.aclose()
            raise httpx2.DecodingError(f"the answer is packed ({packed}), which was not asked for", request=request)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Counted(response.stream, request, until)
        return response


class _Counted(httpx2.AsyncByteStream):
    """An answer's bytes, as many and as long as they may be."""

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
        """Break the answer off."""
        await self._stream.aclose()
