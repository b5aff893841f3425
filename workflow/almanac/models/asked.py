"""Requests to a local model: puts them into batches, tokenises them and collects their responses."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from almanac.models import embedding
from almanac.models.embedding import Text
from almanac.models.registry import Model
from almanac.models.scoring import blanks, encdec
from almanac.models.scoring.backends import Place, Values
from almanac.models.scoring.boundaries import TokenSequence, full_text, tokenise
from almanac.models.scoring.samples import Prompt, sample_seed
from almanac.models.seq2seq import Seq2SeqModel
from almanac.models.stopping import opened_block_end
from almanac.rows import KINDS, Request, Response

BATCH = 2**20  # The most characters of text and choices in a batch.
CHOICE = 8  # Added to the number of characters of each choice.


def batches(requests: Sequence[Request]) -> Iterator[list[Request]]:
    """Yield batches of requests of one kind, sorted so that requests with a common prefix are neighbours."""
    for kind in (*KINDS, *sorted({request.kind for request in requests} - set(KINDS))):
        members = [request for request in requests if request.kind == kind]
        batch: list[Request] = []
        size = 0
        for request in sorted(members, key=lambda one: (one.context_id or "", one.text, one.request_id)):
            cost = len(request.text) + len(request.other or "")
            cost += sum(len(choice) + CHOICE for choice in request.choices or ())
            if batch and size + cost > BATCH:
                yield batch
                batch, size = [], 0
            batch.append(request)
            size += cost
        if batch:
            yield batch


@dataclass
class OpenRequest:
    """A tokenised request and the scores found so far.

    Attributes:
        request: the request.
        sequences: the sequences to score.
        place: for a blank, where the distribution is wanted.
        values: ``values[sequence][part][token]``, nats.
        exact: if a forest searched for the best choice, which choices are fully scored; else None.
        blank: the results read off the distribution at the blank.
    """

    request: Request
    sequences: Sequence[TokenSequence] = ()
    place: Place | None = None
    values: Values = field(default_factory=list)
    exact: list[bool] | None = None
    blank: blanks.Filled | None = None


@dataclass
class RequestBatch:
    """The responses to requests that are answered together.

    Attributes:
        model: the model that answers.
        contexts: the texts of the contexts, by id.
        engine: the name and version of the engine in use.
        responses: the responses, by request id.
    """

    model: Model
    contexts: Mapping[str, str]
    engine: str
    responses: dict[str, Response] = field(default_factory=dict)

    def respond(self, request: Request, status: str, reason: str | None, **values: Any) -> None:
        """Store the response to a request."""
        self.responses[request.request_id] = Response(
            request.request_id, status, reason, **values, model_digest=self.model.digest, engine=self.engine
        )

    def too_long(self, request: Request, tokens: int) -> bool:
        """Return whether a request has more tokens than the model reads; if so, store this as its response."""
        limit = self.model.max_length
        if limit is None or tokens <= limit:
            return False
        self.respond(request, "too_long", f"{tokens} tokens; the model reads at most {limit}")
        return True

    def read(self, requests: Sequence[Request]) -> list[OpenRequest]:
        """Tokenise requests of one kind; those that cannot be scored get their response here."""
        if requests[0].kind == "fill":
            return [one for request in requests if (one := self._read_blank(request)) is not None]
        if isinstance(self.model, Seq2SeqModel):
            read = encdec.tokenise(requests, self.contexts, self.model)
        else:
            read = tokenise(requests, self.contexts, self.model)
        asked = []
        for request, tokenised in zip(requests, read, strict=True):
            if tokenised.problem is not None:
                self.respond(request, "unsupported" if tokenised.unsupported else "failed", tokenised.problem)
            elif not self.too_long(request, tokenised.length):
                asked.append(OpenRequest(request, tokenised.sequences))
        return asked

    def _read_blank(self, request: Request) -> OpenRequest | None:
        blank = blanks.read_blank(request, full_text(request, self.contexts), self.model)
        if blank.problem is not None:
            self.respond(request, "unsupported" if blank.unsupported else "failed", blank.problem)
            return None
        if self.too_long(request, max([len(blank.ids), *(sequence.length for sequence in blank.choices)])):
            return None
        return OpenRequest(request, blank.choices, (blank.ids, blank.position))

    def read_prompts(self, requests: Sequence[Request]) -> list[tuple[Request, Prompt]]:
        """Tokenise the prompts of ``generate`` requests; those that cannot be continued get their response here."""
        found = []
        for request in requests:
            text, thinking = full_text(request, self.contexts), self.model.framing.thinking
            ids, _ = self.model.wrap(self.model.tokens.ids(text))
            new, temperature = request.max_new_tokens, request.temperature or 0.0
            samples = 1 if request.samples is None else request.samples
            most = (new or 0) + thinking
            length = len(ids) + most
            if isinstance(self.model, Seq2SeqModel):  # The decoder's tokens, after a start, do not follow the text's.
                length = max(len(ids), len(self.model.start) + most)
            if new is None or new < 1 or not temperature >= 0 or samples < 1:
                self.respond(request, "failed", "max_new_tokens and samples must be at least 1, temperature at least 0")
            elif temperature > 0 and request.seed is None:
                self.respond(request, "failed", "sampling at a temperature above 0 needs a seed")
            elif not ids:
                self.respond(request, "failed", "no token stands before the text to generate; give a text")
            elif not self.too_long(request, length):
                seeds = tuple(sample_seed(request.seed or 0, index) for index in range(samples))
                prompt = Prompt(ids, most, request.stop or (), temperature, seeds, thinking, opened_block_end(text))
                found.append((request, prompt))
        return found

    def read_pairs(self, requests: Sequence[Request]) -> list[tuple[Request, Text, Text]]:
        """Tokenise the texts of ``similarity`` requests; those that cannot be compared get their response here."""
        found = []
        for request in requests:
            one = embedding.read(self.model, full_text(request, self.contexts))
            other = embedding.read(self.model, request.other or "")
            if one.start == one.end or other.start == other.end:
                self.respond(request, "failed", "one of the two texts has no token; give both")
            elif not self.too_long(request, max(len(one.ids), len(other.ids))):
                found.append((request, one, other))
        return found

    def respond_with_scores(self, one: OpenRequest) -> None:
        """Store the response to a scored request."""
        request, blank = one.request, one.blank
        parts = [part for parts in one.values for part in parts]
        sums = tuple(math.fsum(part) for part in parts)
        if (reason := _not_finite([*sums, *([blank.best] if blank else [])])) is not None:
            self.respond(request, "failed", reason)
            return
        values: dict[str, Any] = {}
        if blank is not None:
            values = {"tokens": blank.tokens, "probabilities": blank.probabilities}
        if blank is None or request.choices is not None:
            counts = tuple(stop - start for sequence in one.sequences for start, stop in sequence.parts)
            values["logprobs"], values["token_counts"] = sums, blank.counts if blank else counts
        if request.per_token and one.exact is None and "logprobs" in values:
            cut = zip(parts, values["token_counts"], strict=True)
            values["token_logprobs"] = tuple(value for part, count in cut for value in part[:count])
        if blank is not None and request.choices is not None:
            values["ranks"] = blank.ranks
        if one.exact is not None:
            values["bounds"] = tuple(not exact for exact in one.exact)
        self.respond(request, "ok", None, **values)


def _not_finite(sums: Sequence[float]) -> str | None:
    for index, value in enumerate(sums):
        if not math.isfinite(value):
            return f"log-probability {index + 1} of {len(sums)} is {value}, which is no finite number of nats"
    return None
