"""What public servers do to answers never costs a row: each fault is outlived, or it is an error with its reason."""

import datetime
import email.utils
import gzip
import http.server
import itertools
import threading

import pytest
from pydantic import ValidationError
from tests.sources.faults import table
from tests.sources.sparql_servers import FAULTS
from tests.sources.test_wikidata_api import Handler

from almanac.errors import AlmanacError
from almanac.sources import wikidata_queries as queries
from almanac.sources.options import DbpediaOptions, Manners, WikidataOptions
from almanac.sources.retries import TransientError, agent, persistently, retry_after
from almanac.sources.sparql import Client, rows_of

NEVER = {"403", "400", "200, asks for an agent"}  # asked again these would be no better
QUERY = queries.statements("P36", None, "WikibaseItem").count()


@pytest.fixture(scope="module")
def cells():
    found = table(names=("items", "labels"), positions=1)
    return {(fault, name): cell for name, fault, cell in found}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", ["items", "labels"])
@pytest.mark.whole
def test_no_fault_leaves_fewer_rows(cells, fault, name):
    cell = cells[fault, name]
    assert not cell.fewer
    assert cell.once.startswith("error") if fault in NEVER else cell.once == str(cell.expected)
    if (fault, name) != ("rows cut, unsaid", "labels"):  # there batches become small enough
        assert cell.always.startswith("error")


def test_requests_follow_each_other_with_a_pause_and_say_who_asks(between):
    slow = Manners(pause=0.15)
    client = Client(between.url, "mailto:somebody@example.org", slow)
    for _ in range(3):
        client.ask(QUERY)
    times = [moment for moment, _, _ in between.seen]
    assert all(after - before >= 0.15 for before, after in itertools.pairwise(times))
    header = between.seen[0][1]["User-Agent"]
    assert header.startswith("almanac/")
    assert "somebody@example.org" in header
    assert "SPARQLWrapper/" in header


@pytest.mark.parametrize("contact", [None, "", "me"])
def test_nobody_is_asked_without_a_contact(between, contact):
    with pytest.raises(AlmanacError, match="give an e-mail address or a page"):
        Client(between.url, contact, Manners())
    assert between.seen == []


def test_an_answer_carries_its_query_time_and_headers(client, between):
    answer = client.ask(QUERY)
    assert (answer.endpoint, answer.query) == (between.url, QUERY)
    moment = datetime.datetime.fromisoformat(answer.time)
    assert abs((datetime.datetime.now(datetime.UTC) - moment).total_seconds()) < 60
    assert "date" in answer.headers
    assert len(rows_of(answer.body)) == 1


def test_retry_after_is_read_in_both_forms():
    assert retry_after({"Retry-After": "7"}) == 7
    later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=100)
    assert 97 < retry_after({"Retry-After": email.utils.format_datetime(later, usegmt=True)}) <= 100
    past = datetime.datetime(2001, 1, 1, tzinfo=datetime.UTC)
    assert retry_after({"Retry-After": email.utils.format_datetime(past)}) == 0
    assert retry_after({"Retry-After": f"Wed, 21 Oct {'9' * 20} 07:28:00 GMT"}) is None
    assert retry_after({"Retry-After": "soon"}) is retry_after({}) is retry_after(None) is None


def test_a_wait_that_is_asked_for_is_kept_and_one_too_long_ends_the_pull():
    failures, manners = [], Manners(attempts=3, wait=0.01, max_wait=0.5)
    waits = iter([0.3, None])

    def call():
        wait = next(waits, "done")
        if wait == "done":
            return "answer"
        raise TransientError("busy", wait)

    started = datetime.datetime.now(datetime.UTC)
    assert persistently(call, manners, failures.append) == "answer"
    assert failures == ["busy", "busy"]
    assert (datetime.datetime.now(datetime.UTC) - started).total_seconds() >= 0.3

    def crowded():
        raise TransientError("busy", 3600)

    with pytest.raises(
        AlmanacError, match=r"busy: asks to wait 3600 s, longer than `max_wait`; run the step again later"
    ):
        persistently(crowded, manners, failures.append)
    assert failures == ["busy", "busy"], "what is not tried again is no such failure"


@pytest.mark.parametrize("attempts", [1, 3])
def test_a_failure_is_logged_only_if_another_attempt_follows(attempts):
    failures = []

    def busy():
        raise TransientError("busy")

    with pytest.raises(TransientError, match="busy"):
        persistently(busy, Manners(attempts=attempts, wait=0.01), failures.append)
    assert len(failures) == attempts - 1


def test_the_agent_names_the_project_the_contact_and_the_library():
    assert agent("https://example.org/me", "lib/1").endswith("(https://example.org/me) lib/1")


def test_a_server_that_is_not_there_is_named(quick):
    with pytest.raises(AlmanacError, match=r"http://127.0.0.1:9/sparql: .*refused"):
        Client("http://127.0.0.1:9/sparql", "a@example.org", quick).ask(QUERY)


class Canned(Handler):
    def do_GET(self):  # noqa: N802
        """Answer, where a client is sent on to."""
        body = b'{"head": {"vars": []}, "results": {"bindings": []}}'
        self.send_response(200)
        self.send_header("Content-Type", "application/sparql-results+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def canned():
    """A server that says what it is told to."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Canned) as server:
        server.seen, server.troubles = [], []
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield server
        server.shutdown()


def asking(server):
    manners = Manners(pause=0, attempts=1, wait=0.01, max_wait=0.1, max_bytes=10**6)
    return Client(f"http://127.0.0.1:{server.server_port}/sparql", "test@example.org", manners).ask("SELECT * {}")


def test_a_packed_answer_may_not_unpack_to_more_than_is_allowed(canned):
    canned.troubles = [(200, {"Content-Encoding": "gzip"}, gzip.compress(b" " * 10**7))]
    with pytest.raises(AlmanacError, match="answers more than 1000000 bytes"):
        asking(canned)


@pytest.mark.parametrize(
    "rows", ["[1]", '[{"s": {"value": "x"}}]', '[{"s": "x"}]', "[" * 100_000], ids=["number", "no type", "text", "deep"]
)
def test_rows_that_are_none_are_no_answer(canned, rows):
    body = f'{{"head": {{"vars": ["s"]}}, "results": {{"bindings": {rows}}}}}'.encode()
    canned.troubles = [(200, {"Content-Type": "application/sparql-results+json"}, body)]
    with pytest.raises(AlmanacError, match="answers no whole SPARQL result"):
        asking(canned)


@pytest.mark.parametrize("cut", [1, 9])
def test_a_packed_answer_that_is_cut_is_no_answer(canned, cut):
    canned.troubles = [(200, {"Content-Encoding": "gzip"}, gzip.compress(b'{"head": {"vars": []}}')[:-cut])]
    with pytest.raises(AlmanacError, match="broke off within a packed answer"):
        asking(canned)


def test_another_hosts_answer_is_refused(canned):
    place = f"http://localhost:{canned.server_port}/sparql"
    canned.troubles = [(303, {"Location": place}, b"")]
    with pytest.raises(AlmanacError, match=f"redirects to {place}, another host; if that is right, give its address"):
        asking(canned)


@pytest.mark.parametrize("address", ["query.wikidata.org/sparql", "localhost:8890/sparql", "ftp://localhost/sparql"])
@pytest.mark.parametrize(
    ("kind", "name"), [(WikidataOptions, "endpoint"), (WikidataOptions, "api"), (DbpediaOptions, "endpoint")]
)
def test_an_address_that_nothing_can_be_asked_at_is_refused_at_once(kind, name, address):
    with pytest.raises(ValidationError, match="string_pattern_mismatch"):
        kind(relations=["P36"], **{name: address})


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_an_endpoint_that_has_moved_is_named_by_its_new_address(canned, status):
    """urllib goes there without the query, or not at all."""
    canned.troubles = [(status, {"Location": "/elsewhere"}, b"")]
    place = f"http://127.0.0.1:{canned.server_port}/elsewhere"
    with pytest.raises(AlmanacError, match=f"/sparql: redirects to {place}; give that address as `endpoint`"):
        asking(canned)


@pytest.mark.parametrize("place", ["file:///etc/hostname", "ftp://localhost/x"])
def test_what_is_no_web_address_is_not_gone_to(canned, place):
    canned.troubles = [(303, {"Location": place}, b"")]
    with pytest.raises(AlmanacError):
        asking(canned)
