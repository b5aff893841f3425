"""Our side: the answerer that `almanac answer` uses, and the least number of tokens that its requests need."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from almanac.models.answering import LocalAnswerer
from almanac.models.masked import MaskedModel
from almanac.models.options import AnswerOptions, Engine
from almanac.models.registry import Model, load
from almanac.models.scoring.boundaries import TokenSequence, tokenise
from almanac.rows import Request, Response
from benchmarks.workloads import Item, Workload

Read = Callable[[Sequence[Response]], list[float] | list[str]]


def load_model(folder: Path) -> Model:
    """Load a checkpoint as `almanac answer` does, on the CPU."""
    return load(str(folder), AnswerOptions(device="cpu"))


def choices(responses: Sequence[Response]) -> list[float]:
    """Return the log-probabilities of one request's choices."""
    [one] = responses
    return list(one.logprobs or ())


def sentences(responses: Sequence[Response]) -> list[float]:
    """Return one sum for each of several requests: a sentence's words together."""
    return [math.fsum(one.logprobs or ()) for one in responses]


def top(responses: Sequence[Response]) -> list[float]:
    """Return the probabilities of the likeliest tokens."""
    [one] = responses
    return list(one.probabilities or ())


def texts(responses: Sequence[Response]) -> list[str]:
    """Return what was generated."""
    [one] = responses
    return list(one.texts or ())


class Ours:
    """A model that answers items by one engine.

    Args:
        model: the model.
        engine: the best that may be used.
        checked: sequences of a chunk that are scored plainly too; by default as many as ever.
        best_only: whether only the best choice is asked, whatever the items ask.
    """

    def __init__(
        self, model: Model, engine: Engine = "forest", checked: int | None = None, best_only: bool = False
    ) -> None:
        options = {} if checked is None else {"checked": checked}
        self.answerer = LocalAnswerer(model, engine, **options)
        self.best_only = best_only

    def answer(self, items: Sequence[Item], contexts: Mapping[str, str], read: Read) -> list[list[float] | list[str]]:
        """Answer items and return what is read off their responses.

        Raises:
            RuntimeError: a request was not answered, or not by the engine.
        """
        requests = Workload(list(items), contexts).requests
        if self.best_only:
            requests = [replace(request, best_only=True) for request in requests]
        found = {one.request_id: one for one in self.answerer.answer(requests, contexts)}
        bad = next((one for one in found.values() if one.status != "ok"), None)
        if bad is not None:
            raise RuntimeError(f"a request is {bad.status}: {bad.reason}")
        engines = {one.engine for one in found.values()}
        if requests[0].kind in ("choices", "fill") and engines != {self.name}:
            raise RuntimeError(f"requests were answered by {', '.join(sorted(engines))}, not {self.name}")
        return [read([found[request.request_id] for request in item.requests]) for item in items]

    def reading(self, contexts: Mapping[str, str], read: Read) -> Callable[[Sequence[Item]], Any]:
        """Return what answers items whose contexts are known."""
        return lambda items: self.answer(items, contexts, read)

    @property
    def masked(self) -> bool:
        """Whether the model is a masked one."""
        return isinstance(self.answerer.model, MaskedModel)

    @property
    def name(self) -> str:
        """The engine that answers choices."""
        return self.answerer.record()["engine"]

    @property
    def network(self) -> Any:
        """The transformers model."""
        return self.answerer.model.network

    def work(self) -> dict[str, int]:
        """Return the engine's own counts since it was made: distinct tokens, tokens fed, logits, passes; or nothing."""
        work = getattr(self.answerer.backend(self.answerer.engine), "work", None)
        return asdict(work) if work is not None else {}


def least_tokens(model: Model, requests: Sequence[Request], contexts: Mapping[str, str]) -> tuple[int, int]:
    """Return how many tokens must be read, and the sum of how many each of them sees.

    Each distinct beginning of a sequence is read once, and what follows the last scored token never.

    Args:
        model: a causal model.
        requests: of the kinds `choices` and `spans`.
        contexts: theirs.
    """
    children: dict[tuple[int, int], int] = {}
    heads: dict[tuple[int, ...], int] = {}
    seen = 0

    def walk(node: int, depth: int, ids: Sequence[int]) -> int:
        nonlocal seen
        for place, token in enumerate(ids, start=depth + 1):
            key = (node, token)
            if key not in children:
                children[key] = len(children) + 1
                seen += place
            node = children[key]
        return node

    def read(one: TokenSequence) -> None:
        if one.head not in heads:
            heads[one.head] = walk(0, 0, one.head)
        last = max(stop for _, stop in one.parts) - 1
        walk(heads[one.head], len(one.head), one.tail[: last - len(one.head)])

    for start in range(0, len(requests), 100):
        for tokenised in tokenise(requests[start : start + 100], contexts, model):
            for sequence in tokenised.sequences:
                read(sequence)
    return len(children), seen
