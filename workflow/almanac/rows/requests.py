"""What is asked of a model, and what comes back."""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

Status = Literal["ok", "too_long", "unsupported", "refused", "failed"]
Kind = Literal["choices", "spans", "generate", "fill", "similarity"]
STATUSES: tuple[str, ...] = get_args(Status)
KINDS: tuple[str, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Item:
    """One question put to a model: the unit that is judged.

    ``item`` is its number: items of a suite and dataset are counted through all rounds. ``name`` is the name of the
    subject that it is asked by, where that is one of several; ``setting`` the name of its row in `Setting`.
    ``accepted`` are the texts that count as true. A question about no fact has none.
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
    """How items are asked: ``fields`` is the suite's own value as JSON, ``label`` says it to a reader."""

    KEY: ClassVar = ("setting",)
    setting: str
    label: str
    fields: str


@dataclass(frozen=True, slots=True)
class Link:
    """Which request serves which item, in which role; ``index`` is the position of the true choice, if any."""

    KEY: ClassVar = ("item", "role", "request_id")
    item: int
    role: str
    request_id: str
    index: int | None
    weight: float | None


@dataclass(frozen=True, slots=True)
class Context:
    """A long text that many requests begin with."""

    KEY: ClassVar = ("context_id",)
    context_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Request:
    """One thing asked of a model. It knows no paper: only text and what to return for it.

    The text a model reads is the context's text followed by ``text``, exactly as written. Where its tokenizer puts no
    token before a text (BOS), the first token has nothing to be predicted from and is not scored: of a choice, span or
    piece at a text's beginning the rest is, and of a span of that one token nothing (``token_counts`` 0, ``logprobs``
    0). So never compare texts by their first words without looking at ``token_counts``. By kind:

    - ``choices``: each of ``choices`` is appended to the text → a log-probability (nats) and token count a choice.
      With ``best_only`` only the best choice and its share among the choices are wanted, and other choices may be left.
    - ``spans``: ``span_starts``/``span_ends`` are character offsets into ``text`` → a log-probability and token count
      a span. With ``pieces`` instead, each piece is tokenised alone, their ids are concatenated, each piece is a span.
    - ``generate``: continue the text for ``max_new_tokens``, ``samples`` times at ``temperature`` (0 is greedy).
    - ``fill``: the text holds one ``[MASK]``; the ``top_k`` most likely single tokens with probabilities and, per
      choice, log-probability, token count and rank outside ``exclude``.
    - ``similarity``: how alike ``text`` and ``other`` are by the model's hidden states at a ``layer`` (none: the last).

    With an ``instruction`` the request is instructed: the context (a passage to read), the instruction, the text (the
    question) and, where there are any, the ``options`` to pick from stand apart, and the model's wrapper arranges them.
    What is returned is then of the text so arranged; a choice begins the answer.
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
    ranks of its choices (none for a choice of several tokens). A choice of ``fill`` that the tokenizer cannot write
    without its unknown token has 0 ``token_counts`` and no rank; its ``logprobs`` are those of what stands for it.
    ``token_logprobs`` holds the per-token values of all spans or choices, end to end, where asked. Where only the best
    choice was asked, ``bounds`` says which of the ``logprobs`` are upper bounds: choices that cannot be the best, nor
    change its share by a ten-thousandth of it. ``similarities`` are BERTScore's precision, recall and F1 of ``text``
    against ``other``, and their distance.
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
