"""The strings of a draw: which gammas continue which beta, and the requests for their log-probabilities.

Asking and judging both use `plan`, so every log-probability that is read is that of a string that was asked.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from almanac.rows import Request
from almanac.suites.karr.draws import FactDraw
from almanac.suites.karr.estimator import Leaves, Variant

COUNTED_BEHIND = "."  # precedes a text whose tokens are counted, so that the text's first token is counted too


class Gamma(NamedTuple):
    """A sentence that contains the object, and the part of it that is scored.

    Attributes:
        text: the sentence.
        start: the index of the first character that is scored.
        rest: the text without its beta, of whose number of tokens the released code scores as many last tokens.
    """

    text: str
    start: int
    rest: str


class Planned(NamedTuple):
    """A beta with the gammas that are scored after it.

    Attributes:
        part: ``own``, ``subject`` or ``relation``.
        of: the other subject or relation; none for the fact's own.
        text: the beta; under relations in the released code the subject's name alone.
        gammas: the sentences that continue it.
    """

    part: str
    of: str | None
    text: str
    gammas: tuple[Gamma, ...]


def beta_of(template: str, name: str) -> str:
    """Return a template up to its object, filled with a name of the subject."""
    return template.partition("[Y]")[0].replace("[X]", name).rstrip()


@lru_cache(4096)
def gammas_of(template: str, name: str, objects: tuple[str, ...]) -> tuple[str, tuple[Gamma, ...]]:
    """Return a beta and its gammas, which end in the object; only the object is scored.

    Cached, since runs and the draws of other subjects share many of them.
    """
    before = template.partition("[Y]")[0].replace("[X]", name)
    beta = before.rstrip()
    texts = [before + found for found in objects]
    return beta, tuple([Gamma(text, len(beta), text.replace(beta, "").strip()) for text in texts])


def _rest_of(template: str, name: str, found: str) -> Gamma:
    """Return a template filled with both names, full stop included; everything but the subject's name is scored."""
    before, _, after = template.partition("[Y]")
    text = before.replace("[X]", name) + found + after
    return Gamma(text, 0, text.replace(name, "").strip())


def plan(drawn: FactDraw, variant: Variant) -> Leaves[Planned]:
    """Return the sentences of a draw, with the gammas and the scored parts that the variant asks for."""

    def betas(part: str, of: str | None, names: tuple[str, ...], templates: tuple[str, ...]) -> tuple[Planned, ...]:
        pairs = itertools.product(templates, names)
        return tuple([Planned(part, of, *gammas_of(template, name, drawn.objects)) for template, name in pairs])

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
    return Leaves(
        own,
        tuple(betas("subject", other, names, drawn.templates) for other, names in drawn.subjects.items()),
        tuple(
            tuple(under(name, relation, templates) for relation, templates in relations.items())
            for name, relations in zip(drawn.names, drawn.relations, strict=True)
        ),
    )


def _collected(beta: Planned, own: tuple[Planned, ...]) -> Planned:
    """Return a beta with every gamma whose text contains it (``substring``)."""
    gammas = tuple(
        Gamma(gamma.text, gamma.start, gamma.text.replace(beta.text, "").strip())
        for other in own
        for gamma in other.gammas
        if beta.text in gamma.text
    )
    return Planned(beta.part, beta.of, beta.text, gammas)


def own_gammas(drawn: FactDraw) -> Iterator[Gamma]:
    """Yield the sentences that K-Prompts reads: each of the fact's own betas with each name of the object."""
    for template, name in itertools.product(drawn.templates, drawn.names):
        yield from gammas_of(template, name, drawn.objects)[1]


@dataclass(frozen=True)
class Sentences:
    """Makes the requests of draws in one round.

    The released code scores every token of a sentence, the paper's formulas only the object, which is cheaper: the
    output layer is skipped elsewhere. A sentence that was requested whole serves both, so modes that read whole
    sentences must be asked first.
    """

    _whole: set[bytes] = field(default_factory=set)  # hashes of the gammas that are requested whole

    def requests(self, drawn: FactDraw, variant: Variant) -> Iterator[Request]:
        """Yield the requests of a draw; equal requests may come several times."""
        for beta in plan(drawn, variant).all():
            if variant.weights != "uniform":
                yield _request(beta.text, 0, whole=True)
            for gamma in beta.gammas:
                if variant.tokens == "mean":
                    self._whole.add(_place(gamma))
                    yield _request(gamma.text, gamma.start, whole=True)
                    yield Request("", "spans", None, COUNTED_BEHIND, pieces=(f" {gamma.rest}",))
                else:
                    yield self._object(gamma)

    def own(self, drawn: FactDraw) -> Iterator[Request]:
        """Yield the requests of K-Prompts."""
        return map(self._object, own_gammas(drawn))

    def _object(self, gamma: Gamma) -> Request:
        return _request(gamma.text, gamma.start, whole=_place(gamma) in self._whole)


def _place(gamma: Gamma) -> bytes:
    return blake2b(f"{gamma.start} {gamma.text}".encode(), digest_size=8).digest()


def _request(text: str, start: int, whole: bool) -> Request:
    """Return the request for the text from a character on and, if ``whole``, for each token of the whole text."""
    starts = (0, start) if whole and start else (start,)
    ends = (len(text),) * len(starts)
    return Request("", "spans", None, text, span_starts=starts, span_ends=ends, per_token=whole or None)
