"""Parts of a whole: buckets miss nothing, whatever changes between two requests, and samples stay as they are."""

import hashlib
import threading
import urllib.request

import pytest
from tests.sources.sparql_servers import oxigraph, proxy

from almanac.errors import AlmanacError
from almanac.sources import paging
from almanac.sources.answers import Answer, TooMuchError
from almanac.sources.options import Manners
from almanac.sources.sparql import Client, rows_of

PAIRS = paging.Pattern("PREFIX e: <http://example.org/>\n", "?s ?o", "  ?s e:p ?o .")
NAMES = paging.Pattern("PREFIX e: <http://example.org/>\n", "?e ?name", "  VALUES ?e { {values} }\n  ?e e:name ?name .")
FACTS = 3000


def triples(numbers) -> bytes:
    lines = []
    for number in numbers:
        thing = f"<http://example.org/s{number}>"
        lines += [f"{thing} <http://example.org/p> <http://example.org/o{number % 7}> .\n"]
        lines += [f'{thing} <http://example.org/name> "name {number}" .\n']
        if number % 5 == 0:
            lines += [f"{thing} <http://example.org/p> <http://example.org/other> .\n"]
    return "".join(lines).encode()


@pytest.fixture(scope="module")
def server():
    with oxigraph(triples(range(FACTS))) as url:
        yield url


@pytest.fixture
def client(server):
    return Client(server, "test@example.org", Manners(pause=0, wait=0.01))


def pairs(rows):
    return sorted((row["s"], row["o"]) for row in rows)


def test_buckets_bring_what_one_query_brings(client):
    whole = paging.ask(client, PAIRS.select())
    assert len(whole) == FACTS + FACTS // 5
    for page in (10_000, 1000, 50):
        assert pairs(paging.gather(client, PAIRS, page)) == pairs(whole), page


def test_buckets_do_not_overlap_and_are_those_of_md5(client):
    seen = {}
    for digit in paging.DIGITS:
        for row in paging.ask(client, PAIRS.select(PAIRS.bucket(digit))):
            assert seen.setdefault(row["s"], digit) == digit
            assert hashlib.md5(row["s"].encode()).hexdigest()[0] == digit
    assert len(seen) == FACTS


def test_a_sample_is_of_the_lowest_hashes_and_keeps_all_objects_of_a_subject(client):
    whole = paging.ask(client, PAIRS.select())
    order = sorted({row["s"] for row in whole}, key=paging.hash_of)
    for limit in (1, 40, 700):
        rows = paging.gather(client, PAIRS, 500, limit)
        subjects = {row["s"] for row in rows}
        assert subjects == set(order[: len(subjects)])
        assert pairs(rows) == pairs(row for row in whole if row["s"] in subjects)
        assert limit <= len(rows) <= limit + 1
    assert pairs(paging.gather(client, PAIRS, 500, 10**6)) == pairs(whole)


def test_a_sample_hardly_changes_when_the_data_do(server):
    with oxigraph(triples(number for number in range(FACTS) if number % 10)) as later:
        samples = [
            {row["s"] for row in paging.gather(Client(url, "t@example.org", Manners(pause=0)), PAIRS, 500, 300)}
            for url in (server, later)
        ]
    kept = {subject for subject in samples[0] if int(subject.rpartition("s")[2]) % 10}
    assert kept <= samples[1]


def test_nothing_that_was_there_all_the_time_is_missed_while_others_are_deleted():
    gone = list(range(0, FACTS, 5))
    with oxigraph(triples(range(FACTS))) as url, proxy(url) as between:
        update = url.replace("/query", "/update")

        def fault(number):
            for one in gone[number * 40 : number * 40 + 40]:
                text = f"DELETE WHERE {{ <http://example.org/s{one}> ?p ?o }}".encode()
                request = urllib.request.Request(update, text, {"Content-Type": "application/sparql-update"})
                urllib.request.urlopen(request).close()

        between.script(fault)
        rows = paging.gather(Client(between.url, "t@example.org", Manners(pause=0)), PAIRS, 300)
    stayed = {f"http://example.org/s{one}" for one in range(FACTS) if one % 5}
    assert stayed <= {row["s"] for row in rows}


class Limited:
    """A real server that gives no more than some rows, and says so or not."""

    def __init__(self, client, most, says_so):
        self.client, self.most, self.says_so, self.lock = client, most, says_so, threading.Lock()

    def ask(self, query):
        answer = self.client.ask(query)
        if len(rows_of(answer.body)) <= self.most:
            return answer
        if self.says_so:
            raise TooMuchError("cut the rows")
        from tests.sources.sparql_servers import cut_rows

        return Answer(answer.endpoint, query, cut_rows(answer.body, self.most), answer.time, answer.headers)


@pytest.mark.parametrize("says_so", [True, False])
@pytest.mark.parametrize("limit", [None, 500])
def test_a_server_that_cuts_rows_is_asked_for_smaller_parts(client, says_so, limit):
    whole = paging.gather(client, PAIRS, 10_000, limit)
    cutting = Limited(client, 60, says_so)
    assert pairs(paging.gather(cutting, PAIRS, 10_000, limit)) == pairs(whole)
    things = [f"<http://example.org/s{number}>" for number in range(200)]
    assert len(paging.batched(cutting, NAMES, things, 200)) == 200


def test_a_server_that_cannot_be_believed_is_named(client):
    with pytest.raises(AlmanacError, match=r"the server counts \d+ rows and gives 1, in the smallest part too"):
        paging.gather(Limited(client, 1, False), paging.Pattern(PAIRS.prefixes, "?o ?s", "  ?o e:p ?s .", "?s"), 10_000)


@pytest.mark.parametrize("values", ["", "1 2", "-1", '"many"', "UNDEF"])
def test_what_is_no_count_is_refused(client, values):
    with pytest.raises(TooMuchError, match="a count query returned"):
        paging.number(client, f"SELECT ?n WHERE {{ VALUES ?n {{ {values} }} }}")


def test_an_id_that_has_no_rows_is_no_error(client):
    assert paging.batched(client, NAMES, ["<http://example.org/nobody>"], 10) == []
    assert paging.batched(client, NAMES, [], 10) == []


def test_a_sample_of_one_part_asks_for_no_more_parts_than_it_needs(server):
    with proxy(server) as between:
        between.script(lambda number: "500 with a timeout" if 1 <= number <= 2 else None)
        client = Client(between.url, "t@example.org", Manners(pause=0, wait=0.01))
        rows = paging.gather(client, PAIRS, 500, 5)
        asked = len(between.seen)
    fifth = sorted(paging.hash_of(row["s"]) for row in rows)[4]
    assert fifth.startswith("00")
    parts = int(fifth[2], 16) + 1
    assert asked == 1 + 2 + 2 * parts, "the count; parts 0 and 00, which are too large; the first of 00 with counts"
    assert pairs(rows) == pairs(paging.gather(Client(server, "t@example.org", Manners(pause=0)), PAIRS, 500, 5))


@pytest.fixture
def unscanned(server):
    """A server that times out on all that would look through a whole relation."""
    with proxy(server) as between:
        between.script(lambda number: None if b"VALUES" in between.seen[number][2] else "500 with a timeout")
        yield between


def keys(numbers):
    return lambda: sorted((f"http://example.org/s{number}" for number in numbers), key=paging.hash_of)


@pytest.mark.parametrize("limit", [1, 40, 700])
def test_what_cannot_be_looked_through_is_sampled_by_name_and_the_sample_is_the_same(client, unscanned, limit):
    slow = Client(unscanned.url, "t@example.org", Manners(pause=0, wait=0.01))
    known = keys(range(FACTS + 2000))  # many of which the relation does not have
    assert paging.gather(slow, PAIRS, 500, limit, known) == paging.gather(client, PAIRS, 500, limit)


def test_a_sample_by_name_that_runs_short_is_an_error(unscanned):
    slow = Client(unscanned.url, "t@example.org", Manners(pause=0, wait=0.01))
    with pytest.raises(AlmanacError, match="the 100 subjects from which a sample is drawn have 120 rows"):
        paging.gather(slow, PAIRS, 500, 700, keys(range(100)))
    with pytest.raises(AlmanacError, match="timed out on the query, even in the smallest part"):
        paging.gather(slow, PAIRS, 500, None, keys(range(FACTS)))


def test_a_relation_that_is_small_is_never_sampled_by_name(server):
    with proxy(server) as between:
        between.script(lambda number: "500 with a timeout" if number else None)
        with pytest.raises(AlmanacError, match="even in the smallest part"):
            client = Client(between.url, "t@example.org", Manners(pause=0, wait=0.01))
            paging.gather(client, PAIRS, 500, 40, keys(range(FACTS)))
        assert not any(b"VALUES" in data for _, _, data in between.seen)
