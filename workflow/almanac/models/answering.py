"""Answering requests: one response for every request, whatever happens, and a check of the faster way."""

import itertools
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from almanac import tables
from almanac.errors import AlmanacError
from almanac.models.causal import CausalModel
from almanac.models.registry import Model
from almanac.models.scoring import blanks, generation, prefix_cache, reference
from almanac.models.scoring.boundaries import Tokenised, full_text, tokenise
from almanac.rows import KINDS, Request, Response

Engine = Literal["prefix_cache", "reference"]
CHUNK = 128
TOLERANCE = 1e-4  # Nats of a summed log-probability in float32.
TOLERANCE_LOW = 1e-2  # Nats a token in lower precision, where equal computations differ by rounding alone.


@dataclass(frozen=True)
class Answered:
    """What came of a run.

    Attributes:
        responses: one a request, in their order.
        engine: what the choices were scored with in the end: ``prefix_cache/1`` or ``reference/1``.
        largest_difference: between the two on the sample, in nats of a summed log-probability; none if unchecked.
        checked: the number of requests of the sample.
    """

    responses: list[Response]
    engine: str
    largest_difference: float | None
    checked: int


@dataclass
class _Run:
    model: Model
    contexts: Mapping[str, str]
    report: Callable[[int], None]
    found: dict[str, Response] = field(default_factory=dict)
    no_cache: bool = False  # Set once the prefix cache cannot be used with this model.

    def give(self, request: Request, status: str, reason: str | None, **values: Any) -> None:
        engine = values.pop("engine", reference.ENGINE)
        self.found[request.request_id] = Response(
            request.request_id, status, reason, **values, model_digest=self.model.digest, engine=engine
        )

    def too_long(self, request: Request, tokens: int) -> bool:
        limit = self.model.max_length
        if limit is None or tokens <= limit:
            return False
        self.give(request, "too_long", f"{tokens} tokens; the model reads at most {limit}")
        return True


def answer(
    model: Model,
    requests: Sequence[Request],
    contexts: Mapping[str, str],
    engine: Engine = "prefix_cache",
    sample: int = 8,
    on_progress: Callable[[int], None] | None = None,
) -> list[Response]:
    """Answer requests; see `answer_checked`, which returns what was measured too."""
    return answer_checked(model, requests, contexts, engine, sample, on_progress).responses


def answer_checked(
    model: Model,
    requests: Sequence[Request],
    contexts: Mapping[str, str],
    engine: Engine = "prefix_cache",
    sample: int = 8,
    on_progress: Callable[[int], None] | None = None,
) -> Answered:
    """Answer requests and check the faster way on a sample of them.

    Statuses: ``ok``; ``too_long`` (more tokens than the model reads; nothing is truncated); ``unsupported`` (the family
    does not answer the kind); ``failed`` (the request is malformed, or an exception's text). If on the sample a summed
    log-probability of the prefix cache differs from the reference's by more than 1e-4 nats (1e-2 nats a token for
    weights below float32), all that it answered is scored again by the reference, and stderr says so.

    Args:
        model: the model.
        requests: what is asked; their ids are unique.
        contexts: the texts of the contexts, by id.
        engine: how choices of causal models are scored; all else goes by the reference.
        sample: how many requests are scored both ways, spread over the lengths and drawn by the requests' ids.
        on_progress: called with the number of requests that were answered since the last call.

    Returns:
        The responses, in the order of the requests, and what the check measured.

    Raises:
        AlmanacError: an unknown engine, a request's context is not there, or an id occurs twice.
    """
    _check(requests, contexts, engine)
    run = _Run(model, contexts, on_progress or (lambda count: None))
    known = [request for request in requests if request.kind in model.KINDS]
    for request in requests:
        if request.kind not in model.KINDS:
            reason = f"the model answers {', '.join(sorted(model.KINDS))}; the request is of the kind {request.kind!r}"
            run.give(request, "unsupported", reason)
    run.report(len(requests) - len(known))
    for chunk in _chunks(known, contexts):
        _attempt(run, chunk, engine)
        run.report(len(chunk))
    used, difference, checked = _check_sample(run, known, sample)
    return Answered([run.found[request.request_id] for request in requests], used, difference, checked)


def _check(requests: Sequence[Request], contexts: Mapping[str, str], engine: str) -> None:
    if engine not in ("prefix_cache", "reference"):
        raise AlmanacError(f"engine {engine!r} is unknown; allowed are prefix_cache and reference")
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
    """Yield requests of one kind in small lots: choices by context, the rest by length, whatever their order was."""
    for kind in KINDS:

        def place(request: Request) -> tuple[str, int, str]:
            shared = (request.context_id or "") if request.kind == "choices" else ""
            return shared, len(full_text(request, contexts)), request.request_id

        members = sorted((request for request in requests if request.kind == kind), key=place)
        for start in range(0, len(members), CHUNK):
            yield members[start : start + CHUNK]


def _attempt(run: _Run, chunk: Sequence[Request], engine: str) -> None:
    """Answer a lot; where that fails answer each by itself, so that one request's failure is its own."""
    work = {"generate": _generate, "fill": _fill}.get(chunk[0].kind)
    try:
        if work is not None:
            work(run, chunk)
        else:
            _score(run, chunk, engine)
    except Exception as error:
        if len(chunk) > 1:
            for request in chunk:
                _attempt(run, [request], engine)
        else:
            run.give(chunk[0], "failed", f"{type(error).__name__}: {error}")


def _score(run: _Run, chunk: Sequence[Request], engine: str) -> None:
    """Score choices and spans: what shares enough tokens by the prefix cache, the rest by the reference."""
    waiting: list[tuple[Request, Tokenised]] = []
    groups: dict[str, list[tuple[Request, Tokenised]]] = {}
    for request, tokenised in zip(chunk, tokenise(chunk, run.contexts, run.model), strict=True):
        if tokenised.problem is not None:
            run.give(request, "failed", tokenised.problem)
        elif not run.too_long(request, tokenised.length):
            cached = engine == "prefix_cache" and request.kind == "choices" and isinstance(run.model, CausalModel)
            key = f"context {request.context_id}" if request.context_id is not None else f"request {request.request_id}"
            (groups.setdefault(key, []) if cached else waiting).append((request, tokenised))
    for group in groups.values():
        if not _score_cached(run, group):
            waiting.extend(group)
    if waiting:
        values = reference.score(run.model, [one for _, tokenised in waiting for one in tokenised.sequences])
        _give_scores(run, waiting, values, reference.ENGINE)


def _score_cached(run: _Run, group: Sequence[tuple[Request, Tokenised]]) -> bool:
    """Score a group by the prefix cache; return whether it could and was worth it."""
    sequences = [one for _, tokenised in group for one in tokenised.sequences]
    if run.no_cache or not isinstance(run.model, CausalModel) or not prefix_cache.is_worth_it(sequences):
        return False
    try:
        values = prefix_cache.score(run.model, sequences)
    except Exception as error:  # Architectures fail in their own ways; the reference answers for all of them.
        run.no_cache = True
        print(f"the prefix cache is of no use here ({error}); the reference scores what is left", file=sys.stderr)
        return False
    _give_scores(run, group, values, prefix_cache.ENGINE)
    return True


def _give_scores(
    run: _Run, group: Sequence[tuple[Request, Tokenised]], values: Sequence[Sequence[Sequence[float]]], engine: str
) -> None:
    remaining = iter(values)
    for request, tokenised in group:
        parts = [part for _ in tokenised.sequences for part in next(remaining)]
        sums = tuple(math.fsum(part) for part in parts)
        if (reason := _not_finite(sums)) is not None:
            run.give(request, "failed", reason, engine=engine)
            continue
        each = tuple(value for part in parts for value in part) if request.per_token else None
        counts = tuple(len(part) for part in parts)
        run.give(request, "ok", None, logprobs=sums, token_counts=counts, token_logprobs=each, engine=engine)


def _not_finite(sums: Sequence[float]) -> str | None:
    for index, value in enumerate(sums):
        if not math.isfinite(value):
            return f"log-probability {index + 1} of {len(sums)} is {value}, which is no finite number of nats"
    return None


def _generate(run: _Run, chunk: Sequence[Request]) -> None:
    prompts: list[generation.Prompt] = []
    asked: list[Request] = []
    for request in chunk:
        assert isinstance(run.model, CausalModel)
        ids, _ = run.model.wrap(run.model.tokens.ids(full_text(request, run.contexts)))
        new, temperature, samples = request.max_new_tokens, request.temperature or 0.0, request.samples or 1
        if new is None or new < 1 or temperature < 0 or samples < 1:
            run.give(request, "failed", "max_new_tokens and samples must be at least 1 and temperature at least 0")
        elif temperature > 0 and request.seed is None:
            run.give(request, "failed", "sampling at a temperature above 0 needs a seed")
        elif not ids:
            run.give(request, "failed", "no token stands before the text to generate; give a text")
        elif not run.too_long(request, len(ids) + new):
            seeds = tuple(generation.sample_seed(request.seed or 0, index) for index in range(samples))
            prompts.append(generation.Prompt(ids, new, request.stop or (), temperature, seeds))
            asked.append(request)
    if asked:
        assert isinstance(run.model, CausalModel)
        for request, texts in zip(asked, generation.generate(run.model, prompts), strict=True):
            run.give(request, "ok", None, texts=tuple(texts))


def _fill(run: _Run, chunk: Sequence[Request]) -> None:
    asked: list[tuple[Request, blanks.Blank]] = []
    for request in chunk:
        blank = blanks.read_blank(request, full_text(request, run.contexts), run.model)
        longest = max([len(blank.ids), *(len(sequence.ids) for sequence in blank.choices)])
        if blank.problem is not None:
            run.give(request, "unsupported" if blank.unsupported else "failed", blank.problem)
        elif not run.too_long(request, longest):
            asked.append((request, blank))
    if not asked:
        return
    logprobs = reference.distributions(run.model, [(blank.ids, blank.position) for _, blank in asked])
    scores = iter(reference.score(run.model, [one for _, blank in asked for one in blank.choices]))
    for (request, blank), row in zip(asked, logprobs, strict=True):
        parts = [next(scores)[0] for _ in blank.choices]
        sums = tuple(math.fsum(part) for part in parts)
        if (reason := _not_finite([float(row.max()), *sums])) is not None:
            run.give(request, "failed", reason)
            continue
        mask = blanks.allowed(request, run.model)
        words, probabilities = blanks.top(row, mask, request.top_k or 0, run.model.tokens)
        ids = [one.ids[slice(*one.parts[0])] for one in blank.choices]
        given: dict[str, Any] = {}
        if request.choices is not None:
            given = {
                "logprobs": sums,
                "token_counts": tuple(len(part) for part in parts),
                "token_logprobs": tuple(value for part in parts for value in part) if request.per_token else None,
                "ranks": tuple(blanks.ranks(row, mask, ids, sums)),
            }
        run.give(request, "ok", None, tokens=tuple(words), probabilities=tuple(probabilities), **given)


def _check_sample(run: _Run, requests: Sequence[Request], sample: int) -> tuple[str, float | None, int]:
    """Score a sample of what the prefix cache answered by the reference; where it disagrees, score everything so.

    Returns:
        The engine of the choices in the end, the largest difference (nats), and the size of the sample.
    """
    cached = [request for request in requests if run.found[request.request_id].engine == prefix_cache.ENGINE]
    chosen = _spread(cached, run.contexts, sample)
    if not cached:
        return reference.ENGINE, None, 0
    again = replace(run, found={})
    for request in chosen:
        _attempt(again, [request], "reference")
    largest, disagree = 0.0, False
    for request in chosen:
        fast, plain = run.found[request.request_id], again.found[request.request_id]
        if fast.status != plain.status:
            largest, disagree = math.inf, True
        for a, b, tokens in zip(fast.logprobs or (), plain.logprobs or (), plain.token_counts or (), strict=False):
            largest = max(largest, abs(a - b))
            disagree = disagree or abs(a - b) > (TOLERANCE if run.model.exact else TOLERANCE_LOW * tokens)
    if not disagree:
        return prefix_cache.ENGINE, largest if chosen else None, len(chosen)
    print(
        f"the prefix cache differs from the reference by {largest:.2g} nats on a sample of {len(chosen)} requests; "
        f"all {len(cached)} requests that it answered are scored again by the reference",
        file=sys.stderr,
    )
    for start in range(0, len(cached), CHUNK):
        _attempt(run, cached[start : start + CHUNK], "reference")
    return reference.ENGINE, largest, len(chosen)


def _spread(requests: Sequence[Request], contexts: Mapping[str, str], sample: int) -> list[Request]:
    """Return a sample spread over the lengths: of each of equal parts by length, the request that its id draws."""
    ordered = sorted(requests, key=lambda request: (len(full_text(request, contexts)), request.request_id))
    bounds = [len(ordered) * part // max(1, sample) for part in range(sample + 1)]
    parts = [ordered[start:stop] for start, stop in itertools.pairwise(bounds) if stop > start]
    return [min(part, key=lambda request: tables.seed_of("check", request.request_id)) for part in parts]
