"""Items, the requests to a model that serve them, and its responses."""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

Status = Literal["ok", "too_long", "unsupported", "refused", "failed"]
Kind = Literal["choices", "spans", "generate", "fill", "similarity"]
STATUSES: tuple[str, ...] = get_args(Status)
KINDS: tuple[str, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Item:
    """One question put to a model: the unit that is judged.

    ``item`` is its number, which goes on through all rounds of a suite and dataset. ``name`` is the subject's name in
    the question, if it has several; ``setting`` is the key of its row in `Setting`. ``accepted`` are the texts that
    count as true. A question that is not about a fact has neither these nor a ``fact_id``.
    """

    KEY: ClassVar = ("item",)
    item: int
    experiment: str
    fact_id: str | None
    relation_id: str | None
    template_id: str | None
    name: str | None
    setting: str
    accepted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Setting:
    """How items are asked: ``fields`` is an instance of the suite's setting class as JSON, ``label`` describes it."""

    KEY: ClassVar = ("setting",)
    setting: str
    label: str
    fields: str


@dataclass(frozen=True, slots=True)
class Link:
    """A request that serves an item, and its role; ``index`` is the position of the true choice, if any."""

    KEY: ClassVar = ("item", "role", "request_id")
    item: int
    role: str
    request_id: str
    index: int | None
    weight: float | None


@dataclass(frozen=True, slots=True)
class Context:
    """A long text with which many requests begin."""

    KEY: ClassVar = ("context_id",)
    context_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Request:
    """One request to a model. It does not depend on a method: it has a text, and says what to return for it.

    The model reads the context's text followed by ``text``, exactly as written. If its tokenizer puts no token (BOS)
    before a text, the first token cannot be predicted from anything and is not scored. Of a choice, span or piece at
    the beginning of a text only the rest is scored; a span of that one token has ``token_counts`` 0 and ``logprobs`` 0.
    So never compare texts by their first words without looking at ``token_counts``. By kind:

    - ``choices``: each of ``choices`` is appended to the text → a log-probability (nats) and token count per choice.
      With ``best_only`` only the best choice and its share among the choices are needed; others need not be scored.
    - ``spans``: ``span_starts``/``span_ends`` are character offsets into ``text`` → a log-probability and token count
      per span. With ``pieces`` instead, each piece is tokenised alone, the ids are concatenated, each piece is a span.
    - ``generate``: continue the text for ``max_new_tokens``, ``samples`` times at ``temperature`` (0 is greedy).
    - ``fill``: the text has one ``[MASK]`` → the ``top_k`` most likely single tokens with probabilities and, per
      choice, log-probability, token count and rank outside ``exclude``.
    - ``similarity``: the similarity of ``text`` and ``other`` by the hidden states of a ``layer`` (None: the last).

    A request with an ``instruction`` has separate parts, which the model's wrapper arranges: the context (a passage to
    read), the instruction, the text (the question) and perhaps ``options`` to pick from. The response is then for the
    arranged text; a choice begins the answer.
    """

    KEY: ClassVar = ("request_id",)
    request_id: str
    kind: str
    context_id: str | None
    text: str
    choices: tuple[str, ...] | None = None
    span_starts: tuple[int, ...] | None = None
    span_ends: tuple[int, ...] | None = None
    pieces: tuple[str, ...] | None = None
    max_new_tokens: int | None = None
    stop: tuple[str, ...] | None = None
    samples: int | None = None
    temperature: float | None = None
    seed: int | None = None
    top_k: int | None = None
    exclude: tuple[str, ...] | None = None
    per_token: bool | None = None
    best_only: bool | None = None
    instruction: str | None = None
    options: tuple[str, ...] | None = None
    other: str | None = None
    layer: int | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """A model's answer to one request; there is one row for every request, whatever happened.

    ``logprobs`` (nats) and ``token_counts`` run parallel to the request's choices, spans or pieces; ``texts`` are the
    samples of ``generate``; ``tokens`` and ``probabilities`` are the top k of ``fill``, ``ranks`` (0 is first) the
    ranks of its choices (None for a choice of several tokens). A choice of ``fill`` that the tokenizer cannot write
    without its unknown token has 0 ``token_counts`` and no rank; its ``logprobs`` are those of the text with that
    token. ``token_logprobs`` holds the per-token values of all spans or choices, concatenated, if requested. For
    ``best_only`` requests ``bounds`` says which ``logprobs`` are only upper bounds: of choices that cannot be the best,
    nor change its share by a ten-thousandth of it. ``similarities`` are BERTScore's precision, recall and F1 of
    ``text`` against ``other``, and their distance.
    """

    KEY: ClassVar = ("request_id",)
    request_id: str
    status: str
    reason: str | None
    logprobs: tuple[float, ...] | None = None
    token_counts: tuple[int, ...] | None = None
    token_logprobs: tuple[float, ...] | None = None
    texts: tuple[str, ...] | None = None
    tokens: tuple[str, ...] | None = None
    probabilities: tuple[float, ...] | None = None
    ranks: tuple[int | None, ...] | None = None
    bounds: tuple[bool, ...] | None = None
    similarities: tuple[float, ...] | None = None
    model_digest: str = ""
    engine: str = ""


@dataclass(frozen=True, slots=True)
class NotAsked:
    """A fact, a template or a relation of a dataset that a suite could not ask, and why."""

    KEY: ClassVar = ("thing",)
    thing: str
    reason: str
