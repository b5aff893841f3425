"""What every suite's `ask` yields: of which facts, and how its requests are named and divided into shards."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from almanac.rows import Context, Fact, Item, Link, NotAsked, Request
from almanac.tables import as_dict, hash_order, identity


@dataclass
class Asked:
    """The tables of one suite asked of one dataset in one round; equal requests stand once.

    ``refused`` says what could not be asked, and why; ``beside`` holds a suite's own tables, by name.
    """

    items: list[Item] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    contexts: dict[str, Context] = field(default_factory=dict)
    requests: dict[str, Request] = field(default_factory=dict)
    refused: list[NotAsked] = field(default_factory=list)
    beside: dict[str, Sequence[Any]] = field(default_factory=dict)
    _ids: dict[Request, str] = field(default_factory=dict, repr=False)

    def context(self, text: str) -> str:
        """Add a context and return its id."""
        context_id = identity(text)
        self.contexts.setdefault(context_id, Context(context_id, text))
        return context_id

    def request(self, request: Request) -> str:
        """Add a request, named by its content, and return its id."""
        named = replace(request, request_id="") if request.request_id else request
        request_id = self._ids.get(named)
        if request_id is None:
            request_id = self._ids[named] = identity(as_dict(named))
            self.requests[request_id] = replace(named, request_id=request_id)
        return request_id

    def shards(self, buckets: int) -> list[list[Request]]:
        """Divide the requests into buckets by context; a request without one goes by its own id. A bucket may be empty.

        Within a bucket neighbours begin alike, since a file is answered window by window: sorted by kind, context and
        text.
        """
        out: list[list[Request]] = [[] for _ in range(buckets)]
        for request in self.requests.values():
            out[int(request.context_id or request.request_id, 16) % buckets].append(request)
        return [sorted(shard, key=_place) for shard in out]


def _place(request: Request) -> tuple[str, str, str, str]:
    return request.kind, request.context_id or "", request.text, request.request_id


def asked_facts(facts: Iterable[Fact], sample: int | None, seed: int) -> list[Fact]:
    """Return the test facts, sorted, of each relation a seeded sample (none: all): the same ones for every suite."""
    by_relation: dict[str, dict[str, Fact]] = defaultdict(dict)
    for fact in facts:
        if fact.split == "test":
            by_relation[fact.relation_id][fact.fact_id] = fact
    return [
        own[fact_id]
        for _, own in sorted(by_relation.items())
        for fact_id in sorted(hash_order(own, seed, "sample")[:sample])
    ]


def missing_responses(requests: Iterable[str], answered: Iterable[str]) -> list[str]:
    """Return the ids of requests that no response answers."""
    return sorted(set(requests) - set(answered))
