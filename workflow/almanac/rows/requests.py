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

    Attributes:
        experiment: which of the suite's experiments asks it.
        fact_id: empty for a question about no fact.
        template_id: the template that words it.
        name: the name of the subject that it is asked by, where that is one of several.
        setting: the name of its row in `Setting`.
        accepted: the texts that count as true; none for a question about no fact.
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
    """How items are asked: one setting of a suite.

    Attributes:
        setting: the setting's name.
        label: the setting as readers see it.
        fields: the values of the suite's setting class, as JSON.
    """

    KEY: ClassVar = ("setting",)
    setting: str
    label: str
    fields: str


@dataclass(frozen=True, slots=True)
class Link:
    """A request that serves an item.

    Attributes:
        role: what the request is for; each suite has its own roles.
        index: the position of the true choice, if any.
        weight: how much the request counts, where the suite says so.
    """

    KEY: ClassVar = ("item", "role", "request_id")
    item: int
    role: str
    request_id: str
    index: int | None
    weight: float | None


@dataclass(frozen=True, slots=True)
class Context:
    """A long text with which many requests begin.

    Attributes:
        text: the text.
    """

    KEY: ClassVar = ("context_id",)
    context_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Request:
    """One request to a model. It does not depend on a method: it has a text, and says what to return for it.

    The model reads the context's text followed by ``text``, exactly as written. A request with an ``instruction`` has
    separate parts, which the model's wrapper arranges: the context (a passage to read), the instruction, the text (the
    question) and perhaps ``options`` to pick from. A choice then begins the answer.

    If the tokenizer puts no token (BOS) before a text, the first token cannot be predicted from anything and is not
    scored. Of a choice, span or piece at the beginning of a text only the rest is scored; a span of that one token has
    ``token_counts`` 0 and ``logprobs`` 0. So never compare texts by their first words without looking at
    ``token_counts``.

    Attributes:
        kind: what is returned, in nats where it is a log-probability. ``choices``: for each choice, appended to the
            text, its log-probability and token count. ``spans``: for each span or piece, its log-probability and token
            count. ``generate``: continuations of the text. ``fill``: of a text with one ``[MASK]``, the most likely
            single tokens, and of each choice its log-probability, token count and rank. ``similarity``: how alike
            ``text`` and ``other`` are by the model's hidden states.
        context_id: the context that the text follows.
        text: the text.
        choices: the texts to score.
        span_starts: of each span, its first character in ``text``.
        span_ends: of each span, the character after its last.
        pieces: instead of spans: parts that are tokenised one by one and whose ids are joined; each is a span.
        max_new_tokens: how many tokens to generate at most.
        stop: texts before which generating ends.
        samples: how many continuations.
        temperature: of sampling; 0 is greedy.
        seed: of sampling.
        top_k: how many tokens to return.
        exclude: tokens that do not count for the ranks of choices.
        per_token: whether the log-probability of each token is wanted.
        best_only: whether the best choice and its share among the choices are enough; other choices may be left.
        instruction: what the model is told to do.
        options: choices that an instructed model picks from.
        other: the text that ``text`` is compared with.
        layer: of the hidden states; empty for the last.
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

    Attributes:
        status: ``ok``, ``too_long``, ``unsupported``, ``refused`` or ``failed``.
        reason: why it is not ``ok``.
        logprobs: nats, of each choice, span or piece of the request. Of a choice of ``fill`` that the tokenizer cannot
            write without its unknown token, that of what stands for it.
        token_counts: how many tokens each of these has; 0 of a choice of ``fill`` that cannot be written.
        token_logprobs: nats, of each token of all of these, end to end, where that was asked.
        texts: the samples of ``generate``.
        tokens: the most likely tokens of ``fill``.
        probabilities: theirs.
        ranks: of each choice of ``fill``, 0 the first; none of a choice of several tokens or that cannot be written.
        bounds: where only the best choice was asked: which of ``logprobs`` are upper bounds. These choices cannot be
            the best, nor change its share by a ten-thousandth of it.
        similarities: BERTScore's precision, recall and F1 of ``text`` against ``other``, and their distance.
        model_digest: SHA-256 of the model that answered.
        engine: what computed the answer.
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
    """A fact, a template or a relation of a dataset that a suite could not ask.

    Attributes:
        thing: which one.
        reason: why.
    """

    KEY: ClassVar = ("thing",)
    thing: str
    reason: str
