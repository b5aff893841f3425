"""The API's names are those of SPARQL; merged and deleted items, empty maps and lagging databases are understood."""

import gzip
import http.server
import json
import threading
import urllib.parse

import pytest

from almanac.errors import AlmanacError
from almanac.sources.names import named
from almanac.sources.options import Manners
from almanac.sources.wikidata_api import IDS, Api, spoken_by_api

LANGUAGES = ("en", "mul")
QUICK = Manners(pause=0, attempts=3, wait=0.01, max_wait=0.1)


def text(language, value):
    return {"language": language, "value": value}


def entity(number):
    """An item as wbgetentities answers it, `formatversion` 1: maps by language, and [] for an empty map."""
    return {
        "labels": {"en": text("en", f"label {number}")} if number % 2 else {"mul": text("mul", f"label {number}")},
        "aliases": {"en": [text("en", f"alias {number}")], "mul": [text("mul", f"AKA {number}")]} if number % 3 else [],
        "sitelinks": {f"wiki{one}": {"title": "x"} for one in range(number % 5)} or [],
    }


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *words):
        """Say nothing."""

    def do_POST(self):
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.server.seen.append((dict(self.headers), form))
        trouble = self.server.troubles.pop(0) if self.server.troubles else None
        if trouble:
            status, headers, body = trouble
        else:
            status, headers = 200, {}
            wanted = form["ids"][0].split("|")
            entities = {one: entity(int(one[1:])) for one in wanted}
            for one in wanted:
                if int(one[1:]) == 7:
                    entities[one] = {"id": one, "missing": ""}
                if int(one[1:]) == 8:  # merged into Q9: keyed by the id that was asked for
                    entities[one] = entity(9) | {"id": "Q9", "redirects": {"from": "Q8", "to": "Q9"}}
            body = json.dumps({"entities": entities, "success": 1}).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": len(body), **headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def api():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.seen, server.troubles = [], []
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield server
        server.shutdown()


def client(server):
    return Api(f"http://127.0.0.1:{server.server_port}/w/api.php", "test@example.org", QUICK)


def test_names_come_in_the_languages_that_are_asked_for_fifty_items_at_once(api):
    ids = [f"Q{number}" for number in range(1, 121)]
    spoken = spoken_by_api(client(api), ids, LANGUAGES)
    assert [len(form["ids"][0].split("|")) for _, form in api.seen] == [IDS, IDS, 20]
    header, form = api.seen[0]
    assert (form["languages"], form["maxlag"], form["action"]) == (["en|mul"], ["5"], ["wbgetentities"])
    assert "test@example.org" in header["User-Agent"]
    for number in set(range(1, 121)) - {7, 8}:
        one = f"Q{number}"
        aliases = (f"AKA {number}", f"alias {number}") if number % 3 else ()
        assert named(spoken.labels[one], spoken.aliases[one], LANGUAGES) == (f"label {number}", aliases)
        assert spoken.sitelinks[one] == number % 5


def test_a_merged_item_answers_for_the_id_that_was_asked_and_a_deleted_one_has_no_name(api):
    spoken = spoken_by_api(client(api), ["Q7", "Q8"], LANGUAGES)
    assert named(spoken.labels["Q8"], spoken.aliases["Q8"], LANGUAGES)[0] == "label 9"
    assert named(spoken.labels["Q7"], spoken.aliases["Q7"], LANGUAGES) is None
    assert "Q7" not in spoken.sitelinks


LAG = (
    200,
    {"Retry-After": "0"},
    b'{"error":{"code":"maxlag","info":"Waiting for a database server: 9 seconds lagged."}}',
)


@pytest.mark.parametrize(
    "trouble",
    [
        LAG,
        *((status, {}, b"no") for status in (500, 502, 503, 504)),
        *((429, {"Retry-After": "0"}, b"slow down"), (429, {}, b"slow down")),
        *((200, {}, body) for body in (b'{"entit', b"[]", b"{}")),
    ],
    ids=["lag", "500", "502", "503", "504", "429", "429 without a time", "cut", "a list", "no entities"],
)
def test_what_passes_is_waited_for_and_what_does_not_is_an_error(api, trouble):
    api.troubles = [trouble]
    assert spoken_by_api(client(api), ["Q1"], LANGUAGES).sitelinks == {"Q1": 1}
    api.troubles = [trouble] * 3
    with pytest.raises(AlmanacError, match=r"api\.php: "):
        spoken_by_api(client(api), ["Q1"], LANGUAGES)


def test_a_refusal_is_named(api):
    api.troubles = [(200, {}, b'{"error":{"code":"toomanyvalues","info":"Too many values"}}')]
    with pytest.raises(AlmanacError, match="toomanyvalues: Too many values"):
        spoken_by_api(client(api), ["Q1"], LANGUAGES)
    api.troubles = [(200, {}, b'{"entities":{}}')]
    with pytest.raises(AlmanacError, match="returned no entity Q1"):
        spoken_by_api(client(api), ["Q1"], LANGUAGES)


def test_the_label_is_english_before_it_is_of_all_languages_and_names_are_cleaned():
    assert named([("mul", "M"), ("en", "E")], ["b  b", "a", "E", " ", "b b"], LANGUAGES) == ("E", ("M", "a", "b b"))
    assert named([("mul", "M")], [], LANGUAGES) == ("M", ())
    assert named([("de", "D")], ["a"], LANGUAGES) is None
    assert named([("en", "Zoe\u0308")], ["Zoë"], LANGUAGES) == ("Zoë", ())


def test_an_answer_that_unpacks_to_more_than_is_allowed_is_broken_off(api):
    api.troubles = [(200, {"Content-Encoding": "gzip"}, gzip.compress(b" " * 10**7))]
    own = Api(client(api).endpoint, "test@example.org", QUICK.model_copy(update={"max_bytes": 10**6}))
    with pytest.raises(AlmanacError, match="answers more than 1000000 bytes"):
        own.ask("action=wbgetentities&ids=Q1")


def test_nothing_is_asked_of_another_address(api):
    api.troubles = [(302, {"Location": "http://localhost:9/"}, b"")]
    with pytest.raises(AlmanacError, match="refuses \\(HTTP 302\\)"):
        client(api).ask("action=wbgetentities&ids=Q1")
