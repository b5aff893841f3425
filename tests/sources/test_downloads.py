"""A download moves each byte once, whatever happens to the connection, and ends whole or not at all."""

import gzip
import hashlib
import http.server
import io
import json
import random
import re
import stat
import tarfile
import threading
import zipfile

import pytest

from almanac.errors import AlmanacError
from almanac.sources.downloads import Target, download, unpack
from almanac.sources.options import Manners

QUICK = Manners(pause=0, attempts=5, wait=0.01, max_wait=0.1, timeout=1)
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
        if wanted and self.headers.get("If-Range") == mark and server.ranges:
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
        self.wfile.write(body)
        self.server.sent += len(body)


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


@pytest.mark.parametrize("mark", ['"v2"', 'W/"v2"'])
def test_a_file_that_changes_meanwhile_is_brought_anew(server, tmp_path, mark):
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
    with pytest.raises(AlmanacError, match="a page in HTML instead of the file"):
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
    with pytest.raises(AlmanacError, match="gives more than the 1000 bytes"):
        fetch(server, tmp_path, max_bytes=1000)
    assert not (tmp_path / "data.bin").exists()


def test_another_file_than_expected_is_refused(server, tmp_path):
    with pytest.raises(AlmanacError, match="it is another file"):
        fetch(server, tmp_path, sha256="0" * 64)
    assert list(tmp_path.iterdir()) == []
    fetch(server, tmp_path, sha256=hashlib.sha256(FILE).hexdigest())


def zipped(path, members, kinds=()):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = dict(kinds).get(name, 0o644 | stat.S_IFREG) << 16
            archive.writestr(info, content)
    return path


def tarred(path, members):
    with tarfile.open(path, "w:gz") as archive:
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def member(name, kind=tarfile.REGTYPE, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


GOOD = {"a.txt": b"a", "deep/er/b.txt": b"b" * 1000, "empty": b""}


@pytest.mark.parametrize("form", ["zip", "tar.gz"])
def test_an_archive_is_unpacked_whole(tmp_path, form):
    path = tmp_path / f"good.{form}"
    _ = zipped(path, GOOD) if form == "zip" else tarred(path, [(member(name), body) for name, body in GOOD.items()])
    out = tmp_path / "out"
    out.mkdir()
    (out / "old").write_text("from before")
    unpack(path, out, 10_000)
    assert {file.relative_to(out).as_posix(): file.read_bytes() for file in out.rglob("*") if file.is_file()} == GOOD


BAD = {
    "a member above": lambda path: zipped(path, {"ok": b"1", "../evil": b"2"}),
    "a member above, deep": lambda path: zipped(path, {"a/../../evil": b"2"}),
    "an absolute member": lambda path: zipped(path, {"/tmp/evil": b"2"}),
    "a member with backslashes": lambda path: zipped(path, {"..\\evil": b"2"}),
    "a link in a zip": lambda path: zipped(path, {"link": b"/etc/passwd"}, {"link": stat.S_IFLNK | 0o777}.items()),
    "a member above in a tar": lambda path: tarred(path, [(member("../evil"), b"2")]),
    "a link out of a tar": lambda path: tarred(
        path, [(member("l", tarfile.SYMTYPE, "/"), b""), (member("l/evil"), b"2")]
    ),
    "a hard link": lambda path: tarred(path, [(member("l", tarfile.LNKTYPE, "/etc/passwd"), b"")]),
    "a device": lambda path: tarred(path, [(member("dev", tarfile.CHRTYPE), b"")]),
    "a file that is too large": lambda path: zipped(path, {"zeros": bytes(50_000)}),
    "many files that are too large": lambda path: zipped(path, {f"f{number}": bytes(999) for number in range(20)}),
    "the same file twice": lambda path: tarred(path, [(member("a"), b"1"), (member("a"), b"2")]),
    "a file and a folder": lambda path: tarred(path, [(member("a"), b"1"), (member("a/b"), b"2")]),
    "no archive": lambda path: path.write_bytes(b"<html>"),
}


@pytest.mark.parametrize("case", BAD)
def test_an_archive_that_is_not_to_be_trusted_leaves_nothing(tmp_path, case):
    folder = tmp_path / "in" / "here"
    folder.mkdir(parents=True)
    path = tmp_path / "bad"
    BAD[case](path)
    with pytest.raises(AlmanacError, match=str(path)):
        unpack(path, folder / "out", 10_000)
    assert list(folder.rglob("*")) == []
    assert not list(tmp_path.rglob("*evil*"))


def test_a_member_that_claims_ten_gigabytes_is_refused_before_it_is_written(tmp_path):
    path = zipped(tmp_path / "claims.zip", {"big": b"x" * 100})
    content = bytearray(path.read_bytes())
    entry = content.index(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = (4_000_000_000).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(AlmanacError, match="big: has 4000000000 bytes"):
        unpack(path, tmp_path / "out", 10**9)
    info = member("big")
    info.size = BIG
    (tmp_path / "claims.tar").write_bytes(info.tobuf() + b"x" * 512)
    with pytest.raises(AlmanacError, match="big: has 10000000000 bytes"):
        unpack(tmp_path / "claims.tar", tmp_path / "out", 10**9)


@pytest.mark.parametrize("form", ["zip", "tar.gz"])
def test_a_damaged_archive_is_named(tmp_path, form):
    path = tmp_path / f"cut.{form}"
    body = random.Random(2).randbytes(5000)
    _ = zipped(path, {"a": body}) if form == "zip" else tarred(path, [(member("a"), body)])
    whole = path.read_bytes()
    path.write_bytes(whole[:-3000] if form == "tar.gz" else whole[:200] + bytes([whole[200] ^ 1]) + whole[201:])
    with pytest.raises(AlmanacError, match="cannot be unpacked"):
        unpack(path, tmp_path / "out", 10**6)
    assert not (tmp_path / "out").exists()
