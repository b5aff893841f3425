"""Wikidata's API (wbgetentities): labels, aliases and sitelinks without SPARQL."""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import requests

from almanac.errors import AlmanacError
from almanac.sources.answers import Answer, QueryServer, now, together
from almanac.sources.options import Manners
from almanac.sources.retries import TransientError, agent, persistently, retry_after

CHUNK = 1 << 16
IDS = 50  # the API's limit of ids in a request
KEPT_HEADERS = ("date", "server", "content-type")


@dataclass(frozen=True)
class Spoken:
    """Names of entities by id: labels as (language, text) pairs, aliases, and the number of sitelinks."""

    labels: dict[str, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))
    aliases: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    sitelinks: dict[str, int] = field(default_factory=dict)


class Api:
    """A client of the API: one request at a time; it waits when the databases lag."""

    def __init__(
        self, endpoint: str, contact: str | None, manners: Manners, log: Callable[[str], object] = lambda line: None
    ) -> None:
        """Create a client; the arguments are those of `sparql.Client`."""
        self.endpoint = endpoint
        self._manners = manners
        self._log = log
        self._last = float("-inf")
        self._session = requests.Session()
        self._session.headers["User-Agent"] = agent(contact, f"requests/{requests.__version__}")

    def ask(self, query: str) -> Answer:
        """Send a request with a query string.

        Raises:
            AlmanacError: the API refuses the request, or every attempt failed.
        """
        return persistently(lambda: self._once(query), self._manners, self._log)

    def _once(self, query: str) -> Answer:
        time.sleep(max(0.0, self._last + self._manners.pause - time.monotonic()))
        try:
            with self._session.post(
                self.endpoint,
                data=query.encode(),
                headers={"Content-Type": "application/x-www-form-urlencoded"},
                timeout=self._manners.timeout,
                allow_redirects=False,
                stream=True,
            ) as response:
                body = self._read(response)
        except requests.RequestException as error:
            raise TransientError(f"{self.endpoint}: {type(error).__name__}: {error}") from error
        finally:
            self._last = time.monotonic()
        wait, status = retry_after(response.headers), response.status_code
        if status in (429, 500, 502, 503, 504):
            raise TransientError(f"{self.endpoint}: fails (HTTP {status})", wait, crowded=status == 429)
        if status != requests.codes.ok:
            raise AlmanacError(f"{self.endpoint}: refuses (HTTP {status}): {body[:200].decode('utf-8', 'replace')}")
        try:
            document = json.loads(body)
            if not isinstance(document, dict):
                raise ValueError("no object")
        except (ValueError, RecursionError) as error:
            raise TransientError(f"{self.endpoint}: answers no whole JSON ({error})") from error
        if "error" in document:
            what = f"{self.endpoint}: {document['error'].get('code')}: {document['error'].get('info')}"
            raise (
                TransientError(what, wait)
                if document["error"].get("code") in ("maxlag", "ratelimited")
                else AlmanacError(what)
            )
        if not isinstance(document.get("entities"), dict):
            raise TransientError(f"{self.endpoint}: answers without entities")
        headers = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
        return Answer(self.endpoint, query, body, now(), headers)

    def _read(self, response: requests.Response) -> bytes:
        """Return the decompressed body, within the limits of size and time."""
        started, parts, size = time.monotonic(), [], 0
        for piece in response.iter_content(CHUNK):
            parts.append(piece)
            size += len(piece)
            if size > self._manners.max_bytes:
                raise AlmanacError(f"{self.endpoint}: answers more than {self._manners.max_bytes} bytes")
            if time.monotonic() - started > self._manners.deadline:
                raise TransientError(f"{self.endpoint}: did not finish its answer in {self._manners.deadline} s")
        return b"".join(parts)


def entities_of(body: bytes) -> dict[str, Any]:
    """Return the entities of a response by requested id."""
    entities: dict[str, Any] = json.loads(body)["entities"]
    return entities


def count_entities(body: bytes) -> int:
    """Return the number of entities in a response."""
    return len(entities_of(body))


def spoken_by_api(server: QueryServer, ids: Sequence[str], languages: Sequence[str]) -> Spoken:
    """Return the names of entities, and their numbers of sitelinks.

    All languages are requested explicitly: the API's language fallback does not cover aliases. An entity that has been
    merged into another is returned under the requested id.

    Raises:
        AlmanacError: a response lacks a requested entity.
    """
    spoken = Spoken()
    for start in range(0, len(ids), IDS):
        batch = ids[start : start + IDS]
        query = (
            f"action=wbgetentities&format=json&maxlag=5&props=labels%7Caliases%7Csitelinks"
            f"&languages={'%7C'.join(languages)}&ids={'%7C'.join(batch)}"
        )
        with together(server):
            entities = entities_of(server.ask(query).body)
            for identity in batch:
                if identity not in entities:
                    raise AlmanacError(f"wbgetentities returned no entity {identity}, which was requested; pull again")
                _add(spoken, identity, entities[identity])
    return spoken


def _add(spoken: Spoken, identity: str, entity: dict[str, Any]) -> None:
    if "missing" in entity:  # deleted in the meantime: it has no names, so its facts are counted as omitted
        return
    # PHP writes an empty map as []
    spoken.labels[identity] += [
        (label["language"], label["value"]) for label in dict(entity.get("labels") or {}).values()
    ]
    for aliases in dict(entity.get("aliases") or {}).values():
        spoken.aliases[identity] += [alias["value"] for alias in aliases]
    spoken.sitelinks[identity] = len(entity.get("sitelinks") or {})
