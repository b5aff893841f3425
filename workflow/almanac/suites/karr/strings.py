"""The strings of a draw: which beta each gamma continues, and the requests for them.

Asking and judging both go through `plan`, so that a number is the number of a string that was asked.
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

COUNTED_BEHIND = "."  # put before a text whose tokens are counted, so that its first token counts too


class Gamma(NamedTuple):
    """A sentence with the object, and what of it is scored.

    Attributes:
        text: the sentence.
        start: the character at which the scored part begins.
        rest: the text whose number of tokens the released code scores, from the end.
    """

    text: str
    start: int
    rest: str


class Planned(NamedTuple):
    """A beta with the gammas that are scored after it.

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


def beta_of(template: str, name: str) -> str:
    """Return a template up to its object, with a name of the subject."""
    return template.partition("[Y]")[0].replace("[X]", name).rstrip()


@lru_cache(4096)
def gammas_of(template: str, name: str, objects: tuple[str, ...]) -> tuple[str, tuple[Gamma, ...]]:
    """Return a beta, and with each object a template with both names and no full stop, of which the object is scored.

    What runs and other subjects' draws have in common is put together once.
    """
    before = template.partition("[Y]")[0].replace("[X]", name)
    beta = before.rstrip()
    texts = [before + found for found in objects]
    return beta, tuple([Gamma(text, len(beta), text.replace(beta, "").strip()) for text in texts])


def _rest_of(template: str, name: str, found: str) -> Gamma:
    """Return a template with both names, full stop included; all but the subject's name is scored."""
    before, _, after = template.partition("[Y]")
    text = before.replace("[X]", name) + found + after
    return Gamma(text, 0, text.replace(name, "").strip())


def plan(drawn: FactDraw, variant: Variant) -> Leaves[Planned]:
    """Return the sentences of a draw, as a variant continues its betas and scores them under other relations."""

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
    """Return a beta with every gamma that contains it, anywhere."""
    gammas = tuple(
        Gamma(gamma.text, gamma.start, gamma.text.replace(beta.text, "").strip())
        for other in own
        for gamma in other.gammas
        if beta.text in gamma.text
    )
    return Planned(beta.part, beta.of, beta.text, gammas)


def own_gammas(drawn: FactDraw) -> Iterator[Gamma]:
    """Yield what K-Prompts reads: each name of the object after each of the fact's own betas."""
    for template, name in itertools.product(drawn.templates, drawn.names):
        yield from gammas_of(template, name, drawn.objects)[1]


@dataclass(frozen=True)
class Sentences:
    """Makes what is asked of a model in one round for draws.

    Of a sentence the released code reads every token, the formulas the object alone, which spares the head elsewhere. A
    sentence that is read whole is asked once and serves both, so all that is read whole must be asked first.
    """

    _whole: set[bytes] = field(default_factory=set)  # a hash of each sentence with its object that is read whole

    def requests(self, drawn: FactDraw, variant: Variant) -> Iterator[Request]:
        """Yield what is asked of a model for a draw; equal requests may come again."""
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
        """Yield what is asked for K-Prompts."""
        return map(self._object, own_gammas(drawn))

    def _object(self, gamma: Gamma) -> Request:
        return _request(gamma.text, gamma.start, whole=_place(gamma) in self._whole)


def _place(gamma: Gamma) -> bytes:
    return blake2b(f"{gamma.start} {gamma.text}".encode(), digest_size=8).digest()


def _request(text: str, start: int, whole: bool) -> Request:
    """Return the request for what begins at a character of a sentence, and for every token of the whole of it."""
    starts = (0, start) if whole and start else (start,)
    ends = (len(text),) * len(starts)
    return Request("", "spans", None, text, span_starts=starts, span_ends=ends, per_token=whole or None)
