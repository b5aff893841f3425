"""Compares a fast backend with plain forward passes: on probes at loading, then on a sample of what it scores."""

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from almanac import tables
from almanac.models.causal import CausalModel
from almanac.models.options import ENGINES, Engine
from almanac.models.scoring import reference
from almanac.models.scoring.backends import Backend, ForestBackend, Values, backend
from almanac.models.scoring.boundaries import TokenSequence
from almanac.models.scoring.forest import decoding, reading
from almanac.models.scoring.forest.machines import TreeMachine
from almanac.models.scoring.forest.plan import Shape
from almanac.models.scoring.samples import Prompt

# Nats per token by which rounding may change a score, in float32 and in lower precision; more for deeper and wider
# models. With 32 layers of width 2,048 in float32, plain passes in batches and one by one differ by 3e-4.
TOLERANCE, TOLERANCE_LOW = 1e-3, 0.5
# So small that the probes already need trunks on trunks, several rows, and copied paths.
SMALL = Shape(row=16, longest=24, copied=4)
STEM, BRANCHES = 24, 3
NEW = 3  # Tokens generated after a probe.


@dataclass(frozen=True)
class Tested:
    """Result of a self-test.

    Attributes:
        engine: the fastest backend that agrees with plain forward passes.
        difference: its largest difference from them, in nats of a summed log-probability; None for the reference.
        sequences: how many sequences were compared.
        passed_over: the faster backends that cannot be used, each with the reason.
        decodes: whether generation can read the prefix that prompts share once.
    """

    engine: Engine
    difference: float | None
    sequences: int
    passed_over: tuple[str, ...]
    decodes: bool = False


def probes(model: CausalModel) -> list[TokenSequence]:
    """Return sequences that share prefixes in every way: a stem, a longer stem on it, branches, leaves, and one apart.

    Their tokens are drawn from the vocabulary with a fixed seed. They are short enough for every model.
    """
    draws = random.Random(0)
    usable = [token for token in range(model.vocabulary) if token not in model.tokens.special_ids] or [0]

    def drawn(count: int) -> tuple[int, ...]:
        return tuple(draws.choices(usable, k=count))

    room = (model.max_length or 5 * STEM) - len(model.tokens.prefix)
    stem = max(1, min(STEM, room // 4 - NEW))
    found: list[TokenSequence] = []
    first = (*model.tokens.prefix, *drawn(stem))
    for base in (first, (*first, *drawn(stem))):
        for _ in range(BRANCHES):
            branch = (*base, *drawn(3))
            leaves = [(*branch, *drawn(length)) for length in (1, 2, 3, stem)]
            found += [TokenSequence(leaf, ((len(branch), len(leaf)),)) for leaf in leaves]
    alone = (*model.tokens.prefix, *drawn(3 * stem))
    found.append(TokenSequence(alone, ((len(alone) // 2, len(alone)),)))
    return found


def choose(model: CausalModel, engine: Engine) -> Tested:
    """Return the fastest backend, no faster than ``engine``, that agrees with plain forward passes on probes."""
    sequences = probes(model)
    plain = reference.score(model, sequences)
    reasons: list[str] = []
    for name in ENGINES[ENGINES.index(engine) :]:
        if name == "reference":
            break
        try:
            difference = _difference(backend(name, model), sequences, plain, model.exact)
        except Exception as error:  # Architectures fail in many ways; then the next backend is tried.
            reasons.append(f"{name}: {type(error).__name__}: {error}")
            continue
        if difference.agrees:
            decodes = name == "forest" and _decodes(model, sequences, reasons)
            return Tested(name, difference.largest, len(sequences), tuple(reasons), decodes)
        reasons.append(f"{name}: differs from the reference by {difference.largest:.2g} nats")
    return Tested("reference", None, 0, tuple(reasons))


def _difference(tested: Backend, sequences: Sequence[TokenSequence], plain: Values, exact: bool) -> "ScoreDifference":
    found = compare(tested.score(sequences, (), lambda index, row: None), plain, exact)
    if isinstance(tested, ForestBackend):
        small = reading.score(tested.machine, tested.model, sequences, shape=SMALL)
        again = compare(small, plain, exact)
        found = ScoreDifference(max(found.largest, again.largest), found.agrees and again.agrees)
    return found


def _decodes(model: CausalModel, sequences: Sequence[TokenSequence], reasons: list[str]) -> bool:
    """Return whether greedy decoding picks tokens that plain forward passes find likeliest too, up to rounding."""
    prompts = [Prompt(one.ids, NEW, (), 0.0, (0,)) for one in sequences[::3]]
    try:
        samples = [drawn[0] for drawn in decoding.generate(TreeMachine(model), prompts)]
    except Exception as error:  # As above.
        reasons.append(f"shared decoding: {type(error).__name__}: {error}")
        return False
    texts = [(*prompt.ids, *sample.ids) for prompt, sample in zip(prompts, samples, strict=True)]
    places = [
        (ids, place, ids[place])
        for ids, prompt in zip(texts, prompts, strict=True)
        for place in range(len(prompt.ids), len(ids))
    ]
    rows = reference.distributions(model, [(ids[:place], place) for ids, place, _ in places])
    gap = max((float(row.max() - row[token]) for row, (_, _, token) in zip(rows, places, strict=True)), default=0.0)
    if not gap <= (TOLERANCE if model.exact else TOLERANCE_LOW):
        reasons.append(f"shared decoding: a token of a greedy text is {gap:.2g} nats less likely than the best")
        return False
    return True


@dataclass(frozen=True)
class ScoreDifference:
    """Largest difference between two backends' sums in nats, and whether rounding explains all differences."""

    largest: float
    agrees: bool


def compare(values: Values, plain: Values, exact: bool) -> ScoreDifference:
    """Compare the summed log-probabilities of parts.

    Args:
        values: ``values[sequence][part][token]``, nats, by one backend.
        plain: the same, by the reference.
        exact: whether the weights are float32.
    """
    largest, agrees = 0.0, True
    for one, other in zip(values, plain, strict=True):
        for a, b in zip(one, other, strict=True):
            gap = abs(math.fsum(a) - math.fsum(b))
            gap = math.inf if math.isnan(gap) else gap
            largest = max(largest, gap)
            agrees = agrees and gap <= (TOLERANCE if exact else TOLERANCE_LOW) * len(a)
    return ScoreDifference(largest, agrees)


def sample(sequences: Sequence[TokenSequence], names: Sequence[str], count: int) -> list[int]:
    """Return the indices of a sample: the longest sequence, and one from each of equal parts of the rest by length.

    Args:
        sequences: the scored sequences.
        names: an identifier of each, so that the draw does not depend on their order.
        count: the size of the sample; at most the number of sequences.
    """
    if not count or not sequences:
        return []
    keys = [(sequence.length, name, sequence.tail) for sequence, name in zip(sequences, names, strict=True)]
    *rest, longest = sorted(range(len(sequences)), key=keys.__getitem__)
    bounds = [len(rest) * part // max(1, count - 1) for part in range(count)]
    parts = [rest[start:stop] for start, stop in itertools.pairwise(bounds) if stop > start]
    return [*(part[tables.seed_of("check", *keys[part[0]]) % len(part)] for part in parts), longest]
