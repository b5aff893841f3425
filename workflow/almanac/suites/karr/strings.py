"""The strings of a draw: which beta each gamma continues, what is asked of a model for them, and their numbers.

Asking and measuring both go through `plan`, so that a measured number is the number of a string that was asked.
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from almanac.rows import KarrLeaf, Request, Response
from almanac.suites.karr.draws import Drawn
from almanac.suites.karr.estimator import Beta, Leaves, Variant

COUNTED_BEHIND = "."  # stands before a text whose tokens are counted, so that its first token counts too


@dataclass(frozen=True)
class Gamma:
    """A sentence with the object, and what of it is scored.

    Attributes:
        text: the sentence.
        start: the character at which the scored part begins.
        rest: the text whose number of tokens the released code scores, from the end.
    """

    text: str
    start: int
    rest: str


@dataclass(frozen=True)
class Planned:
    """A beta with the gammas that are scored behind it.

    Attributes:
        part: ``own``, ``subject`` or ``relation``.
        of: which other subject or relation.
        text: the beta; for relations in the released code the subject's name alone.
        gammas: what continues it.
    """

    part: str
    of: str | None
    text: str
    gammas: tuple[Gamma, ...]


@dataclass(frozen=True)
class Plan:
    """All sentences of one draw, in the shape of the estimator's `Leaves`."""

    own: tuple[Planned, ...]
    subjects: tuple[tuple[Planned, ...], ...]
    relations: tuple[tuple[tuple[Planned, ...], ...], ...]

    def all(self) -> Iterator[Planned]:
        """Yield every planned beta."""
        yield from self.own
        for betas in self.subjects:
            yield from betas
        for relations in self.relations:
            for betas in relations:
                yield from betas


def beta_of(template: str, name: str) -> str:
    """Return a template up to its object, with a name of the subject."""
    return template.partition("[Y]")[0].replace("[X]", name).rstrip()


def gamma_of(template: str, name: str, found: str) -> Gamma:
    """Return a template with both names, without the full stop; the object is scored."""
    beta = beta_of(template, name)
    text = template.partition("[Y]")[0].replace("[X]", name) + found
    return Gamma(text, len(beta), text.replace(beta, "").strip())


def _rest_of(template: str, name: str, found: str) -> Gamma:
    """Return a template with both names, full stop included; all but the subject's name is scored."""
    before, _, after = template.partition("[Y]")
    text = before.replace("[X]", name) + found + after
    return Gamma(text, 0, text.replace(name, "").strip())


def plan(drawn: Drawn, variant: Variant) -> Plan:
    """Return the sentences of a draw.

    Args:
        drawn: the fact's templates and names.
        variant: which gammas belong to a beta, and what is scored under other relations.
    """

    def betas(part: str, of: str | None, names: tuple[str, ...], templates: tuple[str, ...]) -> tuple[Planned, ...]:
        return tuple(
            Planned(
                part,
                of,
                beta_of(template, name),
                tuple(gamma_of(template, name, found) for found in drawn.objects),
            )
            for template in templates
            for name in names
        )

    def under(name: str, relation: str, templates: tuple[str, ...]) -> tuple[Planned, ...]:
        if variant.relation_part == "object":
            return betas("relation", relation, (name,), templates)
        return tuple(
            Planned("relation", relation, name, tuple(_rest_of(template, name, found) for found in drawn.objects))
            for template in templates
        )

    own = betas("own", None, drawn.names, drawn.templates)
    if variant.gammas == "substring":
        own = tuple(_collected(beta, own) for beta in own)
    return Plan(
        own,
        tuple(betas("subject", other, names, drawn.templates) for other, names in drawn.subjects.items()),
        tuple(
            tuple(under(name, relation, templates) for relation, templates in relations.items())
            for name, relations in zip(drawn.names, drawn.relations, strict=True)
        ),
    )


def _collected(beta: Planned, own: tuple[Planned, ...]) -> Planned:
    """Return a beta with every gamma in which it stands, wherever."""
    gammas = tuple(
        Gamma(gamma.text, gamma.start, gamma.text.replace(beta.text, "").strip())
        for other in own
        for gamma in other.gammas
        if beta.text in gamma.text
    )
    return Planned(beta.part, beta.of, beta.text, gammas)


def _request(text: str, start: int = 0, whole: bool = True) -> Request:
    """Return the request for what begins at a character of a sentence, and for every token of the whole of it."""
    starts = (0, start) if whole and start else (start,)
    ends = (len(text),) * len(starts)
    return Request("", "spans", None, text, span_starts=starts, span_ends=ends, per_token=whole or None)


def place_of(request: Request) -> tuple[str, int] | None:
    """Return the sentence that a request asks for and the character at which its scored part begins, if it is one."""
    return (request.text, request.span_starts[-1]) if request.span_starts else None


def _count_request(rest: str) -> Request:
    """Return the request whose token count is that of a text behind a space, tokenised by itself."""
    return Request("", "spans", None, COUNTED_BEHIND, pieces=(f" {rest}",))


def requests(drawn: Drawn, variant: Variant) -> Iterator[Request]:
    """Yield what is asked of a model for a draw; equal requests may come again.

    Of a sentence the released code reads every token, the formulas the object alone, which spares the head elsewhere.
    """
    for beta in plan(drawn, variant).all():
        if variant.weights == "sentence":
            yield _request(beta.text)
        for gamma in beta.gammas:
            yield _request(gamma.text, gamma.start, variant.tokens == "mean")
            if variant.tokens == "mean":
                yield _count_request(gamma.rest)


def _own(drawn: Drawn) -> Iterator[tuple[str, str, str]]:
    return itertools.product(drawn.templates, drawn.names, drawn.objects)


def own_requests(drawn: Drawn) -> list[Request]:
    """Return what K-Prompts reads: the object behind each of the fact's own betas."""
    return [_request(gamma.text, gamma.start, whole=False) for gamma in itertools.starmap(gamma_of, _own(drawn))]


class UnansweredError(Exception):
    """A string has no numbers; the message is the reason."""


@dataclass(frozen=True)
class Strings:
    """A model's responses to strings; of several rounds the first that asked for a string counts.

    Attributes:
        sentences: by the text and the character at which its scored part begins (`place_of`).
        whole: those of them whose every token was read.
        counts: by the text whose tokens are counted.
    """

    sentences: Mapping[tuple[str, int], Response]
    whole: Mapping[tuple[str, int], Response]
    counts: Mapping[str, Response]

    @classmethod
    def of(cls, asked: Mapping[str, Request], answered: Mapping[str, Response]) -> "Strings":
        """Find the strings among requests and responses by request id; whatever else was asked is left out."""
        sentences: dict[tuple[str, int], Response] = {}
        whole: dict[tuple[str, int], Response] = {}
        counts: dict[str, Response] = {}
        for request_id, request in asked.items():
            if request.pieces:
                counts[request.pieces[0].removeprefix(" ")] = answered[request_id]
            elif (place := place_of(request)) is not None:
                sentences.setdefault(place, answered[request_id])
                if request.per_token:
                    whole.setdefault(place, answered[request_id])
        return cls(sentences, whole, counts)


@dataclass(frozen=True)
class Numbers:
    """The responses of one model, read as a variant reads them; each string once."""

    model: str
    strings: Strings
    variant: Variant
    _weights: dict[str, float | None] = field(default_factory=dict, repr=False, compare=False)
    _gammas: dict[Gamma, tuple[int, float]] = field(default_factory=dict, repr=False, compare=False)

    def _tokens(self, text: str, start: int = 0) -> tuple[float, ...]:
        """Return the log-probabilities of a sentence's tokens, the first that can be scored first."""
        _, counts, values = _scored(self.strings.whole[text, start])
        return values[: counts[0]]

    def _object(self, gamma: Gamma) -> tuple[int, float]:
        """Return the tokens of the object of a gamma, and the sum of their log-probabilities."""
        sums, counts, _ = _scored(self.strings.sentences[gamma.text, gamma.start])
        return counts[-1], sums[-1]

    def weight(self, text: str) -> float | None:
        """Return the mean log-probability of a sentence's tokens, where the variant weighs by it and any is scored."""
        if self.variant.weights != "sentence":
            return None
        if text not in self._weights:
            values = self._tokens(text)
            self._weights[text] = math.fsum(values) / len(values) if values else None
        return self._weights[text]

    def gamma(self, gamma: Gamma) -> tuple[int, float]:
        """Return the scored tokens of a gamma and the log of P(gamma|beta)."""
        if gamma not in self._gammas:
            self._gammas[gamma] = self._object(gamma) if self.variant.tokens == "product" else self._last(gamma)
        return self._gammas[gamma]

    def _last(self, gamma: Gamma) -> tuple[int, float]:
        """Return how many tokens what is left of a gamma without its beta has, and the mean of as many last ones."""
        wanted = _scored(self.strings.counts[gamma.rest])[1][0]
        values = self._tokens(gamma.text, gamma.start)[-wanted:] if wanted else ()
        if not values:
            raise UnansweredError(f"nothing of {gamma.text!r} can be scored")
        return len(values), math.fsum(values) / len(values)

    def prompts(self, drawn: Drawn) -> list[float]:
        """Return the mean log-probability of the object's tokens, behind each beta under each name."""
        found = map(self._object, itertools.starmap(gamma_of, _own(drawn)))
        return [total / max(1, count) for count, total in found]

    def _beta(self, planned: Planned) -> Beta:
        return Beta(self.weight(planned.text), tuple(self.gamma(gamma)[1] for gamma in planned.gammas))

    def leaves(self, planned: Plan) -> Leaves:
        """Return what the estimator reads of a draw.

        Raises:
            UnansweredError: a string has no numbers.
        """
        return Leaves(
            tuple(map(self._beta, planned.own)),
            tuple(tuple(map(self._beta, betas)) for betas in planned.subjects),
            tuple(tuple(tuple(map(self._beta, betas)) for betas in relations) for relations in planned.relations),
        )

    def rows(self, item_id: str, planned: Plan) -> list[KarrLeaf]:
        """Return the leaves of a draw as table rows.

        Raises:
            UnansweredError: a string has no numbers.
        """
        found = ((beta, gamma, self.weight(beta.text)) for beta in planned.all() for gamma in beta.gammas)
        return [
            KarrLeaf(self.model, item_id, beta.part, at, beta.of, beta.text, gamma.text, *self.gamma(gamma), weight)
            for at, (beta, gamma, weight) in enumerate(found)
        ]


def _scored(found: Response) -> tuple[tuple[float, ...], tuple[int, ...], tuple[float, ...]]:
    """Return the sums and numbers of tokens of a response's spans, and the log-probabilities of their tokens.

    Raises:
        UnansweredError: it has none.
    """
    if found.status != "ok" or found.logprobs is None or found.token_counts is None:
        raise UnansweredError(f"{found.status}: {found.reason or 'no log-probability'}")
    return found.logprobs, found.token_counts, found.token_logprobs or ()
