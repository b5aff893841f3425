"""Of an answer no more is read than one can have, no longer than the time-out, and from no other server."""

import asyncio
import contextlib
import gzip
import http.server
import socket
import threading
import time
import tracemalloc

import pytest
from tests.models.servers import Reply, Wire

from almanac.errors import AlmanacError
from almanac.models.api import bounds, client
from almanac.models.api.client import CallError, Server
from almanac.models.options import ServerOptions, is_here

WHOLE = b'{"choices": [{"message": {"content": "Paris"}, "finish_reason": "stop", "index": 0}]}'


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        """Say nothing."""

    def do_POST(self):
        self.server.calls += 1
        self.rfile.read(int(self.headers["Content-Length"]))
        try:
            getattr(self, self.server.kind)()
        except OSError:  # the client has broken off
            self.close_connection = True

    def head(self, status=200, **headers):
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def well(self):
        self.head(Content_Length=str(len(WHOLE)))
        self.wfile.write(WHOLE)

    def enormous(self):
        size = 150 * 10**6
        self.head(Content_Length=str(size))
        for _ in range(size // 10**6):
            self.wfile.write(b" " * 10**6)

    def bomb(self):
        packed = gzip.compress(b" " * (2 * bounds.LARGEST))
        self.head(Content_Length=str(len(packed)), Content_Encoding="gzip")
        self.wfile.write(packed)

    def dripping(self):
        self.head(Content_Length="1000")
        for _ in range(1000):
            self.wfile.write(b" ")
            self.wfile.flush()
            time.sleep(0.05)

    def elsewhere(self):
        self.head(307, Content_Length="0", Location=self.server.other)


@pytest.fixture
def serving():
    running = []

    def start(kind, other=""):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads, server.kind, server.other, server.calls = True, kind, other, 0
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        running.append(server)
        return server

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


def ask(server):
    """The answer to a message."""
    url = f"http://127.0.0.1:{server.server_port}/v1"
    asked = Server(ServerOptions(api=url, api_model="m", api_timeout=1, api_retries=0))

    async def call():
        async with asked.calls() as calls:
            return await calls.chat(model="m", messages=[])

    return asyncio.run(call())


def test_an_answer_as_it_should_be_is_read(serving):
    assert ask(serving("well")).choices[0].message.content == "Paris"


@pytest.mark.parametrize("kind", ["enormous", "bomb"])
def test_an_answer_that_would_fill_memory_is_broken_off(serving, kind, monkeypatch):
    monkeypatch.setattr(bounds, "LARGEST", 1 << 22)
    server = serving(kind)
    tracemalloc.start()
    try:
        with pytest.raises(CallError, match="compressed \\(gzip\\)" if kind == "bomb" else "more than 4194304 bytes"):
            ask(server)
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
    finally:
        tracemalloc.stop()


def test_an_answer_that_drips_is_given_up_after_the_time_out(serving):
    """A byte comes every 0.05 s, of which each alone would be within the time-out."""
    began = time.monotonic()
    with pytest.raises(CallError, match=r"[Tt]ime"):
        ask(serving("dripping"))
    assert time.monotonic() - began < 30, "all of it would take 50 s"


def test_nothing_is_sent_to_where_a_server_sends_on(serving):
    other = serving("well")
    where = f"http://localhost:{other.server_port}/v1/chat/completions"
    with pytest.raises(CallError, match=f"HTTP 307: it redirects to {where}; give the final address"):
        ask(serving("elsewhere", where))
    assert other.calls == 0


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "::1"])
def test_a_server_on_this_machine_is_asked_without_a_proxy(host):
    assert is_here(host)


@pytest.mark.parametrize("host", ["api.example.com", "10.0.0.1", "localhost.example.com", ""])
def test_other_servers_are_not_taken_for_this_machine(host):
    assert not is_here(host)


def without_proxies(monkeypatch):
    for name in ("no_proxy", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize(("variable", "scheme"), [("http_proxy", "http://"), ("http_proxy", ""), ("ALL_PROXY", "")])
def test_a_proxy_of_the_environment_is_asked_also_where_its_scheme_is_left_out(monkeypatch, variable, scheme):
    without_proxies(monkeypatch)
    with Wire(lambda call: Reply.of({"data": [{"id": call.path}]})).running() as url:
        monkeypatch.setenv(variable, url.removesuffix("/v1").replace("http://", scheme))
        server = Server(ServerOptions(api="http://far.example.org/v1", api_retries=0))

        async def names():
            async with server.calls() as calls:
                return await calls.models()

        assert asyncio.run(names()) == ["http://far.example.org/v1/models"]


def test_a_socks_proxy_that_nothing_here_speaks_is_named(monkeypatch):
    without_proxies(monkeypatch)
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:9")
    with pytest.raises(AlmanacError, match=r"all_proxy names a SOCKS proxy, .* or put far\.example\.org into"):
        bounds.Bounded("https://far.example.org/v1", 1)


def test_an_address_that_takes_no_call_is_given_up_soon_and_told_of(monkeypatch, capsys):
    monkeypatch.setattr(client, "CONNECTING", 1.0)
    monkeypatch.setattr(client, "SILENT", 0.3)
    with contextlib.ExitStack() as open_:
        full = open_.enter_context(socket.socket())
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(3):  # Whose queue is full: further calls are dropped, as by a firewall.
            waiting = open_.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        server = Server(ServerOptions(api=f"http://127.0.0.1:{full.getsockname()[1]}/v1", api_retries=0))
        began = time.monotonic()

        async def names():
            async with server.calls() as calls:
                return await calls.models()

        with pytest.raises(CallError, match="timed out"):
            asyncio.run(names())
    assert time.monotonic() - began < 20
    assert "a call has no answer after 0 s; it is tried 1 times, 300 s each" in capsys.readouterr().err


def test_a_proxy_of_the_environment_gets_no_call_to_this_machine(monkeypatch):
    without_proxies(monkeypatch)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # nobody is there
    with Wire(lambda call: Reply.of({"data": [{"id": "near"}]})).running() as url:
        server = Server(ServerOptions(api=url, api_retries=0))

        async def names():
            async with server.calls() as calls:
                return await calls.models()

        assert asyncio.run(names()) == ["near"]
