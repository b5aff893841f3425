"""Answering requests with a local model: one response for every request, whatever happens, and a check of the way."""

import functools
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from almanac.errors import AlmanacError
from almanac.models.causal import CausalModel
from almanac.models.masked import MaskedModel
from almanac.models.registry import Model
from almanac.models.scoring import blanks, encdec, generation, ladder, selftest
from almanac.models.scoring.boundaries import TokenSequence, full_text, tokenise
from almanac.models.scoring.forest import decoding
from almanac.models.scoring.forest.machines import TreeMachine
from almanac.models.scoring.ladder import ENGINES, Engine, Place, Rung, Values
from almanac.models.scoring.samples import Prompt, sample_seed
from almanac.models.seq2seq import Seq2SeqModel
from almanac.rows import KINDS, Request, Response

CHUNK = 2**20  # Characters of text and choices that are worked on at once.
CHECKED = 8  # Sequences of a chunk that are scored both ways.


@dataclass
class Asked:
    """A request on its way: what is scored for it, and what has been found.

    Attributes:
        request: as asked.
        sequences: what is scored.
        place: for a blank, where the distribution is wanted.
        blank: what `blanks.read` made of the row there.
    """

    request: Request
    sequences: tuple[TokenSequence, ...] = ()
    place: Place | None = None
    blank: blanks.Filled | None = None


@dataclass
class _Chunk:
    """Requests that are answered together."""

    model: Model
    contexts: Mapping[str, str]
    engine: str
    found: dict[str, Response] = field(default_factory=dict)

    def give(self, request: Request, status: str, reason: str | None, **values: Any) -> None:
        self.found[request.request_id] = Response(
            request.request_id, status, reason, **values, model_digest=self.model.digest, engine=self.engine
        )

    def too_long(self, request: Request, tokens: int) -> bool:
        limit = self.model.max_length
        if limit is None or tokens <= limit:
            return False
        self.give(request, "too_long", f"{tokens} tokens; the model reads at most {limit}")
        return True


class LocalAnswerer:
    """A local model that answers requests, by the best way that agrees with the plain forward pass on it.

    Statuses: ``ok``; ``too_long`` (more tokens than the model reads; nothing is truncated); ``unsupported`` (the family
    does not answer the kind); ``failed`` (the request is malformed, or an exception's text). On a sample of every chunk
    the log-probabilities are computed plainly too; where a sum differs by more than 1e-4 nats (in lower precision:
    a quarter of a nat a token) the chunk is scored again by the next way down, and stderr says so.

    Args:
        model: the model.
        engine: the best way that may be used; see `scoring/ladder.py`.
        checked: how many sequences of a chunk are scored both ways.

    Raises:
        AlmanacError: the engine is unknown.
    """

    def __init__(self, model: Model, engine: Engine = "forest", checked: int = CHECKED) -> None:
        if engine not in ENGINES:
            raise AlmanacError(f"engine {engine!r} is unknown; allowed are {', '.join(ENGINES)}")
        self.model, self.checked = model, checked
        self.tested = selftest.choose(model, engine) if isinstance(model, CausalModel) else None
        for reason in self.tested.passed_over if self.tested else ():
            print(f"passed over {reason}", file=sys.stderr)
        self.engine: Engine = self.tested.engine if self.tested else engine

    @functools.cached_property
    def machine(self) -> TreeMachine | None:
        """What continues texts with what they share read once; none where the model cannot be run so."""
        if isinstance(self.model, CausalModel) and self.tested is not None and self.tested.decodes:
            return TreeMachine(self.model)
        return None

    @property
    def _decoder(self) -> str:
        if self.machine is not None:
            return decoding.ENGINE
        return generation.ENGINE if isinstance(self.model, CausalModel) else encdec.ENGINE

    @property
    def digest(self) -> str:
        """The digest of the model as it is run."""
        return self.model.digest

    def record(self) -> dict[str, str]:
        """Return what a response file says of the model and of how it was run; see `Answerer`."""
        said = {**self.model.identity, "model": self.digest, "engine": self.way(self.engine).NAME}
        if self.tested is not None and self.tested.difference is not None:
            said["self_test"] = f"{self.tested.difference:.1e} nats at most on {self.tested.sequences} sequences"
        return said

    @functools.lru_cache(maxsize=8)  # noqa: B019 (an answerer lives as long as its model)
    def way(self, engine: Engine) -> Rung:
        """Return one way to score the model."""
        return ladder.rung(engine, self.model)

    def answer(
        self,
        requests: Sequence[Request],
        contexts: Mapping[str, str],
        on_progress: Callable[[int], None] | None = None,
    ) -> list[Response]:
        """Answer one window of requests; see `Answerer`.

        Raises:
            AlmanacError: a request's context is not there, or an id occurs twice.
        """
        _check(requests, contexts)
        found: dict[str, Response] = {}
        for chunk in _chunks(requests, contexts):
            found.update(self._answer_chunk(chunk, contexts))
            if on_progress is not None:
                on_progress(len(chunk))
        return [found[request.request_id] for request in requests]

    def _answer_chunk(self, requests: Sequence[Request], contexts: Mapping[str, str]) -> dict[str, Response]:
        done = _Chunk(self.model, contexts, self.way("reference").NAME)
        kind = requests[0].kind
        if kind not in self.model.KINDS:
            for request in requests:
                reason = f"the model answers {', '.join(sorted(self.model.KINDS))}; the request is of the kind {kind!r}"
                done.give(request, "unsupported", reason)
        elif kind == "generate":
            done.engine = self._decoder
            self._attempt(done, requests, lambda some: _generate(done, some, self.machine))
        else:
            self._score(done, requests)
        return done.found

    def _attempt(self, done: _Chunk, asked: Sequence[Any], work: Callable[[Sequence[Any]], None]) -> None:
        """Do work on all; where that fails on each half, so that one request's failure is its own."""
        try:
            work(asked)
        except Exception as error:
            if len(asked) > 1:
                self._attempt(done, asked[: len(asked) // 2], work)
                self._attempt(done, asked[len(asked) // 2 :], work)
            else:
                request = asked[0].request if isinstance(asked[0], Asked) else asked[0]
                done.give(request, "failed", f"{type(error).__name__}: {error}")

    def _score(self, done: _Chunk, requests: Sequence[Request]) -> None:
        asked: list[Asked] = []
        self._attempt(done, requests, lambda some: asked.extend(_read(done, some)))
        for engine in ladder.down(self.engine, self.model):
            way = self.way(engine)
            done.engine = way.NAME
            if engine == "reference":
                self._attempt(done, asked, lambda some: self._score_by(done, way, some))  # noqa: B023 (called at once)
                return
            try:
                self._score_by(done, way, asked)
                return
            except Exception as error:  # Architectures fail in their own ways; the next way down answers for them.
                print(f"{way.NAME} is of no use for {len(asked)} requests ({error})", file=sys.stderr)

    def _score_by(self, done: _Chunk, way: Rung, asked: Sequence[Asked]) -> None:
        """Score by one way, check a sample, and give responses.

        Raises:
            DisagreementError: the sample differs from the plain way.
        """
        places = [one for one in asked if one.place is not None]

        def on_row(index: int, row: Tensor) -> None:
            places[index].blank = blanks.fill(places[index].request, row, places[index].sequences, self.model)

        sequences = [sequence for one in asked for sequence in one.sequences]
        values = way.score(sequences, [one.place for one in places if one.place is not None], on_row)
        self._check_sample(way, asked, sequences, values)
        remaining = iter(values)
        for one in asked:
            _give_scores(done, one, [part for _ in one.sequences for part in next(remaining)])

    def _check_sample(
        self, way: Rung, asked: Sequence[Asked], sequences: Sequence[TokenSequence], values: Values
    ) -> None:
        plain = self.way("reference")
        if way is plain or not sequences or not self.checked:
            return
        names = [one.request.request_id for one in asked for _ in one.sequences]
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
    """Answer requests with a model that is loaded for them alone; see `LocalAnswerer`."""
    return LocalAnswerer(model, engine).answer(requests, contexts)


class DisagreementError(Exception):
    """A way to score does not give what the plain way gives."""


def _no_row(index: int, row: Tensor) -> None:
    """Take no row: used where no distribution is asked for."""


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


def _chunks(requests: Sequence[Request], contexts: Mapping[str, str]) -> Iterator[list[Request]]:
    """Yield requests of one kind in lots, those that begin alike together, whatever their order was."""
    for kind in (*KINDS, *sorted({request.kind for request in requests} - set(KINDS))):
        members = [request for request in requests if request.kind == kind]
        chunk: list[Request] = []
        size = 0
        for request in sorted(members, key=lambda one: (one.context_id or "", one.text, one.request_id)):
            cost = len(request.text) + sum(len(choice) + 8 for choice in request.choices or ())
            if chunk and size + cost > CHUNK:
                yield chunk
                chunk, size = [], 0
            chunk.append(request)
            size += cost
        if chunk:
            yield chunk


def _read(done: _Chunk, requests: Sequence[Request]) -> list[Asked]:
    """Tokenise requests; what cannot be scored gets its response here."""
    if requests[0].kind == "fill":
        return [one for request in requests if (one := _read_blank(done, request)) is not None]
    asked = []
    model = done.model
    read = encdec.tokenise if isinstance(model, Seq2SeqModel) else tokenise
    for request, tokenised in zip(requests, read(requests, done.contexts, model), strict=True):  # type: ignore[arg-type]
        if tokenised.problem is not None:
            done.give(request, "failed", tokenised.problem)
        elif not done.too_long(request, tokenised.length):
            asked.append(Asked(request, tokenised.sequences))
    return asked


def _read_blank(done: _Chunk, request: Request) -> Asked | None:
    blank = blanks.read_blank(request, full_text(request, done.contexts), done.model)
    if blank.problem is not None:
        done.give(request, "unsupported" if blank.unsupported else "failed", blank.problem)
        return None
    if done.too_long(request, max([len(blank.ids), *(sequence.length for sequence in blank.choices)])):
        return None
    return Asked(request, blank.choices, (blank.ids, blank.position))


def _give_scores(done: _Chunk, one: Asked, parts: Sequence[Sequence[float]]) -> None:
    request, blank = one.request, one.blank
    sums = tuple(math.fsum(part) for part in parts)
    if (reason := _not_finite([*sums, *([blank.best] if blank else [])])) is not None:
        done.give(request, "failed", reason)
        return
    given: dict[str, Any] = {}
    if blank is not None:
        given = {"tokens": blank.tokens, "probabilities": blank.probabilities}
    if blank is None or request.choices is not None:
        given["logprobs"], given["token_counts"] = sums, tuple(len(part) for part in parts)
        given["token_logprobs"] = tuple(value for part in parts for value in part) if request.per_token else None
    if blank is not None and request.choices is not None:
        given["ranks"] = blank.ranks
    done.give(request, "ok", None, **given)


def _not_finite(sums: Sequence[float]) -> str | None:
    for index, value in enumerate(sums):
        if not math.isfinite(value):
            return f"log-probability {index + 1} of {len(sums)} is {value}, which is no finite number of nats"
    return None


def _generate(done: _Chunk, requests: Sequence[Request], machine: TreeMachine | None) -> None:
    model = done.model
    assert not isinstance(model, MaskedModel)
    prompts: list[Prompt] = []
    asked: list[Request] = []
    for request in requests:
        ids, _ = model.wrap(model.tokens.ids(full_text(request, done.contexts)))
        new, temperature, samples = request.max_new_tokens, request.temperature or 0.0, request.samples or 1
        written = new or 0 if isinstance(model, CausalModel) else 0  # An encoder-decoder writes beside what it reads.
        if new is None or new < 1 or temperature < 0 or samples < 1:
            done.give(request, "failed", "max_new_tokens and samples must be at least 1 and temperature at least 0")
        elif temperature > 0 and request.seed is None:
            done.give(request, "failed", "sampling at a temperature above 0 needs a seed")
        elif not ids:
            done.give(request, "failed", "no token stands before the text to generate; give a text")
        elif not done.too_long(request, len(ids) + written):
            seeds = tuple(sample_seed(request.seed or 0, index) for index in range(samples))
            prompts.append(Prompt(ids, new, request.stop or (), temperature, seeds))
            asked.append(request)
    if isinstance(model, CausalModel):
        texts = generation.generate(model, prompts, machine)
    else:
        texts = encdec.generate(model, prompts)
    for request, found in zip(asked, texts, strict=True):
        done.give(request, "ok", None, texts=tuple(found))
