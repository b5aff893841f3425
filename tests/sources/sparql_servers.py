"""Real SPARQL servers on loopback, and a proxy that does to their answers what public servers do to theirs."""

import contextlib
import gzip
import http.server
import json
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

JSON = "application/sparql-results+json"
TRACE = (
    b"SPARQL-QUERY: queryStr=SELECT\njava.util.concurrent.TimeoutException\n"
    b"\tat java.util.concurrent.FutureTask.get(FutureTask.java:205)"
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _up(url: str, process: subprocess.Popen[bytes], seconds: float = 60) -> None:
    for _ in range(int(seconds / 0.05)):
        if process.poll() is not None:
            raise RuntimeError(f"the server at {url} ended with {process.returncode}")
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=2):
            return
        time.sleep(0.05)
    raise RuntimeError(f"the server at {url} does not answer")


@contextlib.contextmanager
def oxigraph(triples: bytes) -> Iterator[str]:
    """Serve N-Triples from memory; yields the address of its SPARQL."""
    port = free_port()
    command = [str(Path(sys.executable).parent / "oxigraph"), "serve", "--bind", f"127.0.0.1:{port}"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _up(f"http://127.0.0.1:{port}/", process)
            load = urllib.request.Request(
                f"http://127.0.0.1:{port}/store?default", triples, {"Content-Type": "application/n-triples"}
            )
            urllib.request.urlopen(load, timeout=120).close()
            yield f"http://127.0.0.1:{port}/query"
        finally:
            process.kill()


def virtuoso_is_missing() -> str | None:
    """Why Virtuoso cannot run here, or none."""
    missing = [name for name in ("virtuoso-t", "isql-vt") if shutil.which(name) is None]
    return f"{', '.join(missing)} of Debian's virtuoso-opensource-7-bin is not installed" if missing else None


VIRTUOSO = """\
[Database]
DatabaseFile = {folder}/virtuoso.db
ErrorLogFile = {folder}/virtuoso.log
LockFile = {folder}/virtuoso.lck
TransactionFile = {folder}/virtuoso.trx
xa_persistent_file = {folder}/virtuoso.pxa
[TempDatabase]
DatabaseFile = {folder}/virtuoso-temp.db
TransactionFile = {folder}/virtuoso-temp.trx
[Parameters]
ServerPort = 127.0.0.1:{sql_port}
NumberOfBuffers = 4000
DirsAllowed = {folder}
[HTTPServer]
ServerPort = 127.0.0.1:{port}
ServerRoot = {folder}
ServerThreads = 5
[SPARQL]
ResultSetMaxRows = {rows}
DefaultGraph = http://dbpedia.org
"""


@contextlib.contextmanager
def virtuoso(triples: bytes, folder: Path, rows: int) -> Iterator[str]:
    """Serve N-Triples from Virtuoso, which gives at most so many rows an answer, as DBpedia's own does."""
    port, sql_port = free_port(), free_port()
    settings = folder / "virtuoso.ini"
    settings.write_text(VIRTUOSO.format(folder=folder, port=port, sql_port=sql_port, rows=rows))
    (folder / "facts.nt").write_bytes(triples)
    command = ["virtuoso-t", "+foreground", "+configfile", str(settings)]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _up(f"http://127.0.0.1:{port}/sparql?query=ASK%7B%7D", process)
            load = f"DB.DBA.TTLP_MT(file_to_string_output('{folder}/facts.nt'), '', 'http://dbpedia.org', 255);"
            isql = ["isql-vt", f"127.0.0.1:{sql_port}", "dba", "dba", f"exec={load}"]
            said = subprocess.run(isql, check=True, capture_output=True, text=True, timeout=120)
            assert "Error" not in said.stderr, said.stderr
            yield f"http://127.0.0.1:{port}/sparql"
        finally:
            process.kill()


class Proxy(http.server.ThreadingHTTPServer):
    """Stands before a server. ``fault`` chooses, by the number of a request (0 first), what becomes of its answer."""

    daemon_threads = True

    def __init__(self, upstream: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.upstream = upstream
        self.fault: Callable[[int], str | None] = lambda number: None
        self.seen: list[tuple[float, dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/sparql"

    def script(self, fault: Callable[[int], str | None]) -> None:
        """Begin to count requests anew, with other faults."""
        self.seen.clear()
        self.fault = fault

    def handle_error(self, request, client_address):
        """Say nothing: clients that hang up are what is tested."""


@contextlib.contextmanager
def proxy(upstream: str) -> Iterator[Proxy]:
    server = Proxy(upstream)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def cut_rows(body: bytes, keep: int) -> bytes:
    """A well-formed result with fewer rows."""
    document = json.loads(body)
    document["results"]["bindings"] = document["results"]["bindings"][:keep]
    return json.dumps(document).encode()


# fault: status, content type, headers, body
SPOKEN: dict[str, tuple[int, str, dict[str, str], bytes]] = {
    "429 with Retry-After": (429, "text/plain", {"Retry-After": "0"}, b"Rate limit exceeded"),
    "429": (429, "text/plain", {}, b"Rate limit exceeded"),
    "429 of QLever": (429, "application/json", {}, b'{"status":"ERROR","exception":"Operation timed out."}'),
    "500": (500, "text/plain", {}, b"oops"),
    "500 with a timeout": (500, "text/plain", {}, TRACE),
    "503": (503, "text/plain", {}, b"upstream connect error"),
    "504 in HTML": (504, "text/html", {}, b"<html>gateway"),
    "403": (403, "text/plain", {}, b"Please set a user-agent and respect our robot policy"),
    "200, asks for an agent": (200, "text/plain", {}, b"Please set a user-agent and respect our robot policy"),
    "200 in HTML": (200, "text/html", {}, b"<!DOCTYPE html><title>Wikimedia Error</title>"),
    "200, JSON of no result": (200, JSON, {}, b'{"head":{}}'),
    "400": (400, "text/plain", {}, b"MalformedQueryException"),
}
DONE_TO_ANSWERS = (
    "reset", "hang", "body cut, length kept", "JSON cut", "JSON cut by a timeout", "chunks cut", "gzip cut",
    "rows cut, said so", "rows cut, unsaid", "all rows lost, unsaid", "drip",
)  # fmt: skip
FAULTS = (*SPOKEN, *DONE_TO_ANSWERS)
LETS_WAIT = ("hang", "drip")
ROWS_KEPT = 7


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers one request, well or ill."""

    protocol_version = "HTTP/1.1"
    server: Proxy

    def log_message(self, *words):
        """Say nothing."""

    def do_POST(self):
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        number = len(self.server.seen)
        self.server.seen.append((time.monotonic(), dict(self.headers), data))
        fault = self.server.fault(number)
        if fault in SPOKEN:
            status, kind, headers, body = SPOKEN[fault]
            self.reply(status, body, kind, **headers)
        elif fault == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            self.connection.close()
        elif fault == "hang":
            self.rfile.read(1)  # until the client has had enough
            self.close_connection = True
        else:
            self.spoil(fault, data)

    def spoil(self, fault, data):
        kept = {name: value for name, value in self.headers.items() if name.lower() in ("content-type", "accept")}
        try:
            with urllib.request.urlopen(urllib.request.Request(self.server.upstream, data, kept)) as answer:
                body, headers = answer.read(), answer.headers
        except urllib.error.HTTPError as error:
            self.reply(error.code, error.read(), error.headers.get("Content-Type", "text/plain"))
            return
        half = body[: len(body) // 2]
        kind = headers["Content-Type"]
        if fault is None:
            more = {name: value for name, value in headers.items() if name.lower().startswith("x-s")}
            self.reply(200, gzip.compress(body, mtime=0), kind, Content_Encoding="gzip", **more)
        elif fault == "body cut, length kept":
            self.reply(200, half, kind, lie=len(body) - len(half))
            self.close_connection = True
        elif fault == "JSON cut":
            self.reply(200, half, kind)
        elif fault == "JSON cut by a timeout":
            self.reply(200, half + b"\n" + TRACE, kind)
        elif fault == "gzip cut":
            self.reply(200, gzip.compress(body, mtime=0)[:-9], kind, Content_Encoding="gzip")
        elif fault == "rows cut, said so":
            self.reply(200, cut_rows(body, ROWS_KEPT), kind, X_SPARQL_MaxRows=str(ROWS_KEPT))
        elif fault == "rows cut, unsaid":
            self.reply(200, cut_rows(body, ROWS_KEPT), kind)
        elif fault == "all rows lost, unsaid":
            self.reply(200, cut_rows(body, 0), kind)
        else:
            self.trickle(fault, body, kind)

    def trickle(self, fault, body, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        if fault == "chunks cut":  # how QLever fails in the middle: the last chunk never comes
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            half = body[: len(body) // 2]
            self.wfile.write(b"%x\r\n" % len(half) + half + b"\r\n")
            self.close_connection = True
            return
        assert fault == "drip", fault
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        for start in range(0, len(body)):
            with contextlib.suppress(OSError):
                self.wfile.write(body[start : start + 1])
                self.wfile.flush()
                time.sleep(0.05)
                continue
            return

    def reply(self, status, body, kind, lie=0, **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body) + lie))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)
