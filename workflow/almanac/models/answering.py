"""Answers requests with a local model: one response per request, whatever happens; the fast backend is checked."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from almanac.errors import AlmanacError
from almanac.models import embedding
from almanac.models.asked import OpenRequest, RequestBatch, batches
from almanac.models.causal import CausalModel
from almanac.models.masked import MaskedModel
from almanac.models.options import ENGINES, Engine
from almanac.models.registry import Model
from almanac.models.scoring import backends, blanks, encdec, generation, selftest
from almanac.models.scoring.backends import Backend, Values
from almanac.models.scoring.boundaries import TokenSequence
from almanac.models.scoring.forest import decoding
from almanac.models.scoring.forest.attention import UnusableError
from almanac.models.scoring.forest.machines import TreeMachine
from almanac.models.stopping import NO_ROOM
from almanac.progress import print_notes
from almanac.rows import Request, Response

CHECKED = 4  # Sequences of each batch that are also scored by the reference.


class LocalAnswerer:
    """Answers requests with a local model, by the fastest backend that agrees with plain forward passes.

    Statuses: ``ok``; ``too_long`` (more tokens than the model reads; nothing is truncated); ``unsupported`` (the family
    does not answer this kind of request); ``failed`` (a malformed request, or the text of an exception). A sample of
    every batch of requests is also scored by the reference. If a sum differs by more than rounding explains
    (`selftest.TOLERANCE`), the batch falls back to the next slower backend, and stderr says so.

    Args:
        model: the model.
        engine: the fastest backend that may be used; see `scoring/backends.py`.
        checked: how many sequences of a batch are also scored by the reference.

    Raises:
        AlmanacError: the engine is unknown.
    """

    def __init__(self, model: Model, engine: Engine = "forest", checked: int = CHECKED) -> None:
        if engine not in ENGINES:
            raise AlmanacError(f"engine {engine!r} is unknown; allowed are {', '.join(ENGINES)}")
        self.model, self.checked = model, checked
        self.tested = selftest.choose(model, engine) if isinstance(model, CausalModel) else None
        print_notes(f"passed over {reason}" for reason in (self.tested.passed_over if self.tested else ()))
        self.engine: Engine = self.tested.engine if self.tested else engine

    @property
    def digest(self) -> str:
        """The digest of the model as it is run."""
        return self.model.digest

    @property
    def is_paid(self) -> bool:
        """Whether answers are paid for; see `Answerer`."""
        return False

    @property
    def reusable_digests(self) -> frozenset[str]:
        """The empty set; see `Answerer`."""
        return frozenset()

    def record(self) -> dict[str, str]:
        """Return the metadata of the response file: the model, and how it was run; see `Answerer`."""
        metadata = {**self.model.identity, "model": self.digest, "engine": self.backend(self.engine).NAME}
        if self.tested is not None and self.tested.difference is not None:
            metadata["self_test"] = f"{self.tested.difference:.1e} nats at most on {self.tested.sequences} sequences"
        return metadata

    @functools.lru_cache(maxsize=8)  # noqa: B019 (an answerer lives as long as its model)
    def backend(self, engine: Engine) -> Backend:
        """Return a backend for the model; backends are made once."""
        return backends.backend(engine, self.model)

    @functools.cached_property
    def machine(self) -> TreeMachine | None:
        """Generates while reading shared prefixes once; None if the model cannot be run in this way."""
        if isinstance(self.model, CausalModel) and self.tested is not None and self.tested.decodes:
            return TreeMachine(self.model)
        return None

    def answer(
        self,
        requests: Sequence[Request],
        contexts: Mapping[str, str],
        on_progress: Callable[[int], None] | None = None,
        keep: Callable[[Response], None] | None = None,
    ) -> list[Response]:
        """Answer one window of requests; see `Answerer`. Nothing is paid for, so ``keep`` is never called.

        Raises:
            AlmanacError: a request's context is missing, or an id occurs twice.
        """
        _check(requests, contexts)
        report = on_progress or (lambda count: None)
        arranged = self.model.framing.arrange(requests, contexts)
        declined = RequestBatch(self.model, arranged.contexts, self.backend("reference").NAME)
        for request in requests:
            if request.request_id in arranged.declined:
                declined.respond(request, "unsupported", arranged.declined[request.request_id])
        found = declined.responses
        report(len(found))
        for some in batches(arranged.requests):
            found.update(self._answer_batch(some, arranged.contexts))
            report(len(some))
        return [found[request.request_id] for request in requests]

    def _answer_batch(self, requests: Sequence[Request], contexts: Mapping[str, str]) -> dict[str, Response]:
        batch = RequestBatch(self.model, contexts, self.backend("reference").NAME)
        kind = requests[0].kind
        if kind not in self.model.KINDS:
            for request in requests:
                reason = f"the model answers {', '.join(sorted(self.model.KINDS))}; the request is of the kind {kind!r}"
                batch.respond(request, "unsupported", reason)
        elif kind == "generate":
            self._attempt(batch, requests, lambda some: self._generate(batch, some))
        elif kind == "similarity":
            self._attempt(batch, requests, lambda some: self._compare(batch, some))
        else:
            self._score(batch, requests)
        return batch.responses

    def _attempt(self, batch: RequestBatch, asked: Sequence[Any], work: Callable[[Sequence[Any]], None]) -> None:
        """Do work on all requests; if that fails, on each half, so that only the faulty request fails."""
        try:
            work(asked)
        except Exception as error:
            if len(asked) > 1:
                self._attempt(batch, asked[: len(asked) // 2], work)
                self._attempt(batch, asked[len(asked) // 2 :], work)
            else:
                request = asked[0].request if isinstance(asked[0], OpenRequest) else asked[0]
                batch.respond(request, "failed", f"{type(error).__name__}: {error}")

    def _generate(self, batch: RequestBatch, requests: Sequence[Request]) -> None:
        asked = batch.read_prompts(requests)
        prompts = [prompt for _, prompt in asked]
        assert not isinstance(self.model, MaskedModel)
        if isinstance(self.model, CausalModel):
            batch.engine = decoding.ENGINE if self.machine is not None else generation.ENGINE
            try:
                texts = generation.generate(self.model, prompts, self.machine)
            except UnusableError as error:  # Such as for texts of this length; the model's own cache has no limits.
                print_notes([f"{batch.engine} cannot be used for {len(prompts)} requests ({error})"])
                batch.engine = generation.ENGINE
                texts = generation.generate(self.model, prompts)
        else:
            batch.engine = encdec.ENGINE
            texts = encdec.generate(self.model, prompts)
        for (request, prompt), found in zip(asked, texts, strict=True):
            if None in found:
                batch.respond(request, "failed", NO_ROOM.format(prompt.new))
            else:
                batch.respond(request, "ok", None, texts=tuple(found))

    def _compare(self, batch: RequestBatch, requests: Sequence[Request]) -> None:
        batch.engine = embedding.ENGINE
        for layer in dict.fromkeys(request.layer for request in requests):
            asked = batch.read_pairs([request for request in requests if request.layer == layer])
            found = embedding.similarities(self.model, [(one, other) for _, one, other in asked], layer)
            for (request, _, _), values in zip(asked, found, strict=True):
                if np.isfinite(values).all():
                    batch.respond(request, "ok", None, similarities=tuple(values))
                else:
                    batch.respond(request, "failed", "a hidden state is not finite, or all its values are 0")

    def _score(self, batch: RequestBatch, requests: Sequence[Request]) -> None:
        asked: list[OpenRequest] = []
        self._attempt(batch, requests, lambda some: asked.extend(batch.read(some)))
        for engine in backends.fallbacks(self.engine, self.model):
            backend = self.backend(engine)
            batch.engine = backend.NAME
            if engine == "reference":
                self._attempt(batch, asked, lambda some: self._score_by(batch, backend, some))  # noqa: B023 (called at once)
                return
            try:
                self._score_by(batch, backend, asked)
                return
            except Exception as error:  # Architectures fail in many ways; then the next slower backend is tried.
                print_notes([f"{backend.NAME} cannot be used for {len(asked)} requests ({error})"])

    def _score_by(self, batch: RequestBatch, backend: Backend, asked: Sequence[OpenRequest]) -> None:
        """Score with one backend, check a sample, and store the responses.

        Raises:
            DisagreementError: the sample differs from the reference.
        """
        for one in asked:
            one.exact = None  # may be set by a backend that failed later
        whole = _without_followed(backend, asked)
        places = [one for one in whole if one.place is not None]

        def on_row(index: int, row: Tensor) -> None:
            places[index].blank = blanks.fill(places[index].request, row, places[index].sequences, self.model)

        sequences = [sequence for one in whole for sequence in one.sequences]
        values = iter(backend.score(sequences, [one.place for one in places if one.place is not None], on_row))
        for one in whole:
            one.values = [next(values) for _ in one.sequences]
        self._check_sample(backend, asked)
        for one in asked:
            batch.respond_with_scores(one)

    def _check_sample(self, backend: Backend, asked: Sequence[OpenRequest]) -> None:
        plain = self.backend("reference")
        if backend is plain or not self.checked:
            return
        names, sequences, values = _known(asked)
        chosen = selftest.sample(sequences, names, self.checked)
        right = plain.score([sequences[index] for index in chosen], (), _no_row)
        difference = selftest.compare([values[index] for index in chosen], right, self.model.exact)
        if not difference.agrees:
            raise DisagreementError(
                f"it differs from the reference by {difference.largest:.2g} nats on a sample of {len(chosen)}"
            )


def answer(
    model: Model, requests: Sequence[Request], contexts: Mapping[str, str], engine: Engine = "forest"
) -> list[Response]:
    """Answer requests with a model, in one call; see `LocalAnswerer`."""
    return LocalAnswerer(model, engine).answer(requests, contexts)


class DisagreementError(Exception):
    """A backend's log-probabilities differ from the reference."""


def _check(requests: Sequence[Request], contexts: Mapping[str, str]) -> None:
    seen = set()
    for request in requests:
        if request.context_id is not None and request.context_id not in contexts:
            raise AlmanacError(
                f"request {request.request_id}: its context {request.context_id} is not among the "
                f"{len(contexts)} contexts; give the table of contexts that was made with the requests"
            )
        if request.request_id in seen:
            raise AlmanacError(f"request {request.request_id} occurs twice; ask each request once")
        seen.add(request.request_id)


def _no_row(index: int, row: Tensor) -> None:
    """Do nothing: used if no distribution is wanted."""


def _without_followed(backend: Backend, asked: Sequence[OpenRequest]) -> list[OpenRequest]:
    """Score those requests that want only their best choice (`levels.follow`); return the others.

    Only a forest can do so: a masked model reads choices as a whole, and other backends would read the text again for
    every token.
    """
    wanted = [one for one in asked if one.request.kind == "choices" and one.request.best_only]
    found = backend.follow([one.sequences for one in wanted]) if isinstance(backend, backends.ForestBackend) else None
    if found is None:
        return list(asked)
    for one, followed in zip(wanted, found, strict=True):
        one.values = [[values] for values in followed.values]
        one.exact = followed.exact
    return [one for one in asked if one.exact is None]


def _known(asked: Sequence[OpenRequest]) -> tuple[list[str], list[TokenSequence], Values]:
    """Return the ids of the requests, the sequences and their values, of all fully scored sequences."""
    names, sequences, values = [], [], []
    for one in asked:
        for index, sequence in enumerate(one.sequences):
            if one.exact is None or one.exact[index]:
                names.append(one.request.request_id)
                sequences.append(sequence)
                values.append(one.values[index])
    return names, sequences, values
