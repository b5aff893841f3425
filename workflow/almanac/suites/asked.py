"""The questions of a suite, some facts at a time: items, the requests that serve them, and what could not be asked.

`Asked` is filled question by question. `Asked.take` empties it into a `Batch` of Arrow tables, so that memory never
holds more than one batch as objects. Requests, contexts and settings may repeat between batches; `edition.asking`
writes each once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import pyarrow as pa

from almanac.errors import AlmanacError, did_you_mean
from almanac.rows import Context, Fact, Item, Link, NotAsked, Request, Setting
from almanac.rows.requests import KINDS
from almanac.tables import arrow_of, as_dict, canonical, identity

# Fields of which a request of each kind needs one. `generate` needs none: texts generated elsewhere have no limit.
NEEDS = {
    "choices": ("choices",),
    "spans": ("span_starts", "pieces"),
    "fill": ("top_k", "choices"),
    "similarity": ("other",),
}
LINE = ("\n",)  # ends an answer of one line


def greedy(
    text: str,
    tokens: int,
    *,
    stop: tuple[str, ...] | None = LINE,
    context_id: str | None = None,
    instruction: str | None = None,
    options: tuple[str, ...] | None = None,
) -> Request:
    """Return a request for a greedy answer of at most so many tokens; ``stop`` ends it earlier (None: nothing does)."""
    return Request(
        request_id="",
        kind="generate",
        context_id=context_id,
        text=text,
        max_new_tokens=tokens,
        stop=stop,
        samples=1,
        temperature=0.0,
        instruction=instruction,
        options=options,
    )


@dataclass(frozen=True)
class Batch:
    """A part of the questions, as Arrow tables of their row classes.

    Attributes:
        items: in the order of their numbers, which go on from batch to batch and from round to round.
        links: links of these items, or of items of earlier rounds.
        requests: requests; several batches may hold the same one, and so with contexts and settings.
        refused: what could not be asked, and why.
        own: rows of the suite's own tables, by name.
    """

    items: pa.Table
    links: pa.Table
    requests: pa.Table
    contexts: pa.Table
    settings: pa.Table
    refused: pa.Table
    own: Mapping[str, pa.Table]


def _changeable(what: str, parts: Mapping[str, Any], error: TypeError) -> AlmanacError:
    """Return the error for a value that cannot be hashed, naming the part of it that is a list or the like."""
    wrong = [name for name, value in parts.items() if isinstance(value, list | dict | set)]
    which = f"{wrong[0]} is {parts[wrong[0]]!r:.60}; give a tuple, or a text" if wrong else str(error)
    return AlmanacError(f"{what} may hold only texts, numbers and tuples: {which}")


@dataclass
class Asked:
    """Collects questions.

    Attributes:
        own_rows: the row classes of the suite's own tables, by name.
        first: the number of the first item in the next batch; at the start, the number of items in earlier rounds.
        own: rows of the suite's own tables, by name; the suite appends to them.
    """

    own_rows: Mapping[str, type] = field(default_factory=dict)
    first: int = 0
    own: dict[str, list[Any]] = field(init=False)
    _items: list[Item] = field(default_factory=list, init=False)
    _links: dict[tuple[int, str, str], Link] = field(default_factory=dict, init=False)
    _requests: dict[Request, str] = field(default_factory=dict, init=False)
    _contexts: dict[str, Context] = field(default_factory=dict, init=False)
    _settings: dict[Any, Setting] = field(default_factory=dict, init=False)
    _refused: dict[str, NotAsked] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.own = {name: [] for name in self.own_rows}

    def context(self, text: str) -> str:
        """Add a text that requests begin with, and return its id."""
        context_id = identity(text)
        self._contexts.setdefault(context_id, Context(context_id, text))
        return context_id

    def request(self, request: Request) -> str:
        """Add a request, named by its content, and return its id.

        Raises:
            AlmanacError: its kind is unknown, a field that its kind needs is missing, or a part of it is a list.
        """
        named = replace(request, request_id="") if request.request_id else request
        try:
            request_id = self._requests.get(named)
        except TypeError as error:  # it has no hash
            parts = {one.name: getattr(named, one.name) for one in fields(named)}
            raise _changeable("a request", parts, error) from error
        if request_id is None:
            if named.kind not in KINDS:
                raise AlmanacError(f"there is no kind of request {named.kind!r}{did_you_mean(named.kind, KINDS)}")
            needs = NEEDS.get(named.kind, ())
            if needs and not any(getattr(named, name) for name in needs):
                raise AlmanacError(
                    f"a request of the kind {named.kind!r} needs {' or '.join(needs)}: {named.text!r:.60}"
                )
            request_id = self._requests[named] = identity(as_dict(named))
        return request_id

    def setting(self, setting: Any) -> str:
        """Add a setting and return the name that items know it by.

        Args:
            setting: a NamedTuple of texts, numbers and truth values; its fields become columns, and its method
                ``label``, if it has one, returns its description for readers.

        Raises:
            AlmanacError: a field is a list or the like, or has another type than its class says.
        """
        try:
            known = self._settings.get(setting)
        except TypeError as error:
            raise _changeable("a setting", setting._asdict(), error) from error
        if known is None:
            arrow_of(type(setting), [setting])  # refuses a value of another type
            fields = {name: value for name, value in setting._asdict().items() if value is not None}
            # Values as JSON, with quotes around texts, so that no two settings share a name.
            name = ",".join(f"{name}={canonical(value)}" for name, value in fields.items()) or "only"
            label = setting.label() if hasattr(setting, "label") else name
            known = self._settings[setting] = Setting(name, label, canonical(setting._asdict()))
        return known.setting

    def item(
        self,
        experiment: str,
        setting: Any,
        fact: Fact | None,
        accepted: Sequence[str] = (),
        *,
        relation: str | None = None,
        template: str | None = None,
        name: str | None = None,
    ) -> int:
        """Add a question and return its number.

        A question without a ``fact`` may have a ``relation``. ``template`` is the id of its template, and ``name`` the
        subject's name in the question, if the subject has several.

        Raises:
            AlmanacError: ``accepted`` is a single text; each of its letters would count as a true answer.
        """
        if isinstance(accepted, str):
            raise AlmanacError(f"accepted must be a list of texts, found the text {accepted!r}; write [{accepted!r}]")
        number = self.first + len(self._items)
        fact_id, relation_id = (None, relation) if fact is None else (fact.fact_id, fact.relation_id)
        self._items.append(
            Item(number, experiment, fact_id, relation_id, template, name, self.setting(setting), tuple(accepted))
        )
        return number

    def link(
        self, item: int, role: str, request: Request, index: int | None = None, weight: float | None = None
    ) -> None:
        """Record that a request serves an item in a role; repeated calls count once.

        The item may be of an earlier round. ``index`` is the position of the true choice, if any, or another number
        that the suite's `judge` needs, and ``weight`` the weight of the request, if any.
        """
        request_id = self.request(request)
        self._links.setdefault((item, role, request_id), Link(item, role, request_id, index, weight))

    def refuse(self, thing: str, reason: str) -> None:
        """Record what could not be asked, and why."""
        self._refused.setdefault(thing, NotAsked(thing, reason))

    def take(self) -> Batch:
        """Return the questions since the last call, and forget them."""
        requests = [replace(request, request_id=name) for request, name in self._requests.items()]
        batch = Batch(
            items=arrow_of(Item, self._items),
            links=arrow_of(Link, self._links.values()),
            requests=arrow_of(Request, requests),
            contexts=arrow_of(Context, self._contexts.values()),
            settings=arrow_of(Setting, self._settings.values()),
            refused=arrow_of(NotAsked, self._refused.values()),
            own={name: arrow_of(row, self.own[name]) for name, row in self.own_rows.items()},
        )
        self.first += len(self._items)
        for held in (self._items, self._links, self._requests, self._contexts, self._settings, self._refused):
            held.clear()
        for rows in self.own.values():
            rows.clear()
        return batch
