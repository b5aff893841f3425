"""A download moves each byte once, whatever happens to the connection, and ends whole or not at all."""

import gzip
import hashlib
import http.server
import json
import random
import re
import threading

import pytest

from almanac.errors import AlmanacError
from almanac.sources.downloads import Target, download
from almanac.sources.options import Manners

QUICK = Manners(pause=0, attempts=5, wait=0.01, max_wait=0.1)
FILE = random.Random(1).randbytes(3_000_000)
BIG = 10**10


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        """Say nothing."""

    def do_GET(self):
        server = self.server
        server.seen.append(dict(self.headers))
        trouble = server.troubles.pop(0) if server.troubles else None
        if isinstance(trouble, tuple):
            status, headers, body = trouble
            self.answer(status, body, headers)
            return
        content, mark = server.content, server.mark
        start, wanted = 0, re.match(r"bytes=(\d+)-", self.headers.get("Range", ""))
        headers = {"ETag": mark, **server.headers}
        if wanted and self.headers.get("If-Range", mark) == mark and server.ranges:
            start = int(wanted[1])
            if start >= len(content):
                self.answer(416, b"", {})
                return
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        body = content[start:]
        if trouble == "cut":
            body = body[: len(body) // 3]
        self.answer(206 if start else 200, body, headers, len(content) - start)
        if trouble == "cut":
            self.close_connection = True

    def answer(self, status, body, headers, length=None):
        self.send_response(status)
        defaults = {
            "Content-Type": "application/octet-stream",
            "Content-Length": len(body) if length is None else length,
        }
        for name, value in (defaults | headers).items():
            if value is not None:
                self.send_header(name, str(value))
        self.end_headers()
        self.server.sent += len(body)  # before the client can have it
        self.wfile.write(body)


class Quiet(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """Say nothing: clients that hang up are what is tested."""


@pytest.fixture
def server():
    with Quiet(("127.0.0.1", 0), Handler) as one:
        one.seen, one.troubles, one.sent = [], [], 0
        one.content, one.mark, one.headers, one.ranges = FILE, '"v1"', {}, True
        threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield one
        one.shutdown()


def target(server, folder, **settings):
    url = f"http://127.0.0.1:{server.server_port}/data.bin"
    return Target(url, folder / "data.bin", **{"max_bytes": BIG, **settings})


def fetch(server, folder, **settings):
    return download(target(server, folder, **settings), "test@example.org", QUICK)


def test_a_file_comes_whole_with_its_record(server, tmp_path):
    told = []
    record = download(
        target(server, tmp_path), "test@example.org", QUICK, done=lambda size, total: told.append((size, total))
    )
    assert (tmp_path / "data.bin").read_bytes() == FILE
    assert record["sha256"] == hashlib.sha256(FILE).hexdigest()
    assert (record["bytes"], record["headers"]["ETag"]) == (len(FILE), '"v1"')
    assert [path.name for path in tmp_path.iterdir()] == ["data.bin"]
    assert sum(size for size, _ in told) == len(FILE)
    assert {total for _, total in told} == {len(FILE)}
    assert "test@example.org" in server.seen[0]["User-Agent"]
    assert server.seen[0]["Accept-Encoding"] == "identity"


def test_a_connection_that_breaks_three_times_costs_no_byte_twice(server, tmp_path):
    server.troubles = ["cut", "cut", "cut"]
    fetch(server, tmp_path)
    assert (tmp_path / "data.bin").read_bytes() == FILE
    assert server.sent == len(FILE)
    assert [seen.get("If-Range") for seen in server.seen] == [None, '"v1"', '"v1"', '"v1"']


def test_another_run_goes_on_where_the_last_one_stopped(server, tmp_path):
    server.troubles = ["cut"] + [(503, {}, b"no")] * 4
    with pytest.raises(AlmanacError, match="fails"):
        fetch(server, tmp_path)
    assert not (tmp_path / "data.bin").exists()
    fetch(server, tmp_path)
    assert (tmp_path / "data.bin").read_bytes() == FILE
    assert server.sent == len(FILE) + 4 * len(b"no")


@pytest.mark.parametrize(("before", "mark"), [('"v1"', '"v2"'), ('"v1"', 'W/"v2"'), ("", ""), ('W/"v1"', 'W/"v1"')])
def test_a_file_that_changes_meanwhile_is_brought_anew(server, tmp_path, before, mark):
    server.mark = before  # one that is weak, or none, promises no equal bytes
    server.troubles = ["cut"] + [(503, {}, b"no")] * 4
    with pytest.raises(AlmanacError):
        fetch(server, tmp_path)
    server.content, server.mark = FILE[::-1], mark
    fetch(server, tmp_path)
    assert (tmp_path / "data.bin").read_bytes() == FILE[::-1]


@pytest.mark.parametrize("case", ["no ranges", "no mark", "weak mark", "part too long", "part of another file"])
def test_whatever_the_server_can_do_the_file_is_right(server, tmp_path, case):
    server.ranges = case != "no ranges"
    server.mark = {"no mark": "", "weak mark": 'W/"v1"'}.get(case, '"v1"')
    one = target(server, tmp_path)
    if case.startswith("part"):
        one.part.write_bytes(FILE + b"more" if case == "part too long" else FILE[::-1][:1000])
        url = one.url if case == "part too long" else "http://elsewhere.example.org/data.bin"
        one.notes.write_text(json.dumps({"mark": '"v1"', "url": url}))
    server.troubles = ["cut", "cut"]
    fetch(server, tmp_path)
    assert (tmp_path / "data.bin").read_bytes() == FILE


@pytest.mark.parametrize(("start", "count"), [(len(FILE) // 3, 9), (9, len(FILE) - len(FILE) // 3)])
def test_another_part_than_was_asked_for_is_not_taken_for_it(server, tmp_path, start, count):
    """A shorter one, and one that begins elsewhere and is as long as what is lacking."""
    headers = {"Content-Range": f"bytes {start}-{start + count - 1}/{len(FILE)}"}
    server.troubles = ["cut", (206, headers, FILE[start : start + count])]
    fetch(server, tmp_path)
    assert (tmp_path / "data.bin").read_bytes() == FILE


def test_what_is_compressed_stays_so(server, tmp_path):
    server.content, server.headers = gzip.compress(FILE), {"Content-Encoding": "gzip"}
    fetch(server, tmp_path)
    assert (tmp_path / "data.bin").read_bytes() == server.content


def test_a_page_in_place_of_the_file_is_not_kept(server, tmp_path):
    page = (200, {"Content-Type": "text/html"}, b"<html>please wait")
    server.troubles = [page]
    fetch(server, tmp_path)
    assert (tmp_path / "data.bin").read_bytes() == FILE
    server.troubles = [page] * 5
    with pytest.raises(AlmanacError, match="an HTML page instead of the file"):
        fetch(server, tmp_path / "other")


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_a_refusal_is_not_asked_again(server, tmp_path, status):
    server.troubles = [(status, {}, b"no")]
    with pytest.raises(AlmanacError, match=rf"refuses \(HTTP {status}\)"):
        fetch(server, tmp_path)
    assert len(server.seen) == 1


def test_too_much_is_refused_whether_the_server_says_so_or_not(server, tmp_path):
    with pytest.raises(AlmanacError, match="has 3000000 bytes; allowed are 1000"):
        fetch(server, tmp_path, max_bytes=1000)
    server.troubles = [(200, {"Content-Length": None, "Connection": "close"}, FILE)]
    with pytest.raises(AlmanacError, match="sends more than the 1000 bytes"):
        fetch(server, tmp_path, max_bytes=1000)
    assert not (tmp_path / "data.bin").exists()


def test_another_file_than_expected_is_refused(server, tmp_path):
    with pytest.raises(AlmanacError, match="it is another file"):
        fetch(server, tmp_path, sha256="0" * 64)
    assert list(tmp_path.iterdir()) == []
    fetch(server, tmp_path, sha256=hashlib.sha256(FILE).hexdigest())


def test_a_server_that_sends_on_to_a_file_is_refused(server, tmp_path):
    server.troubles = [(302, {"Location": "file:///etc/hostname"}, b"")]
    with pytest.raises(AlmanacError, match="redirects to no HTTP address"):
        download(target(server, tmp_path), "test@example.org", QUICK)
    assert not (tmp_path / "data.bin").exists()
