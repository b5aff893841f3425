"""The scoring backends, fastest first: all are exact, and what one cannot run falls back to the next.

forest        computes every distinct token once, with tree attention in place of the model's own
stock_mask    the same forest, with the model's own attention under a 4D mask
prefix_cache  computes the prefix that a group of texts shares once, then the rest of each text
reference     one plain forward pass over every text
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from torch import Tensor

from almanac.models.causal import CausalModel
from almanac.models.masked import MaskedModel
from almanac.models.options import ENGINES, Engine
from almanac.models.registry import Model
from almanac.models.scoring import encdec, prefix_cache, pseudo, reference
from almanac.models.scoring.best import Followed
from almanac.models.scoring.boundaries import TokenSequence
from almanac.models.scoring.forest import levels, reading
from almanac.models.scoring.forest.machines import Machine, StockMaskMachine, TreeMachine
from almanac.models.seq2seq import Seq2SeqModel

Values = list[list[list[float]]]  # values[sequence][part][token], nats
OnRow = Callable[[int, Tensor], None]
BEGINNING = 16  # The prefix cache groups sequences whose first 16 tokens are equal.


class Backend(Protocol):
    """A way to score."""

    NAME: str

    def score(self, sequences: Sequence[TokenSequence], places: Sequence["Place"], on_row: OnRow) -> Values:
        """Score sequences, and compute next-token distributions at places.

        Args:
            sequences: the sequences to score.
            places: token ids and the position whose distribution over the vocabulary is wanted.
            on_row: called with a place's index and its log-probabilities ``(vocabulary,)``, nats, on the CPU.
        """


Place = tuple[tuple[int, ...], int]


class ReferenceBackend:
    """The reference: every text by itself."""

    NAME = reference.ENGINE

    def __init__(self, model: Model) -> None:
        self.model = model

    def score(self, sequences: Sequence[TokenSequence], places: Sequence[Place], on_row: OnRow) -> Values:
        """Score; see `Backend`."""
        for index, row in enumerate(reference.distributions(self.model, places)):
            on_row(index, row)
        return reference.score(self.model, sequences)


class PrefixCacheBackend:
    """A prefix cache for each group of texts with a common prefix, and the reference for the rest."""

    NAME = prefix_cache.ENGINE

    def __init__(self, model: CausalModel) -> None:
        self.model = model

    def score(self, sequences: Sequence[TokenSequence], places: Sequence[Place], on_row: OnRow) -> Values:
        """Score; see `Backend`."""
        for index, row in enumerate(reference.distributions(self.model, places)):
            on_row(index, row)
        groups: dict[tuple[int, ...], list[int]] = {}
        for index, sequence in enumerate(sequences):
            groups.setdefault((sequence.head or sequence.tail)[:BEGINNING], []).append(index)
        found: dict[int, list[list[float]]] = {}
        alone: list[int] = []
        for group in groups.values():
            members = [sequences[index] for index in group]
            if prefix_cache.is_worth_it(members):
                found.update(zip(group, prefix_cache.score(self.model, members), strict=True))
            else:
                alone += group
        found.update(zip(alone, reference.score(self.model, [sequences[index] for index in alone]), strict=True))
        return [found[index] for index in range(len(sequences))]


class ForestBackend:
    """One prefix forest of all sequences and places."""

    def __init__(self, model: CausalModel, machine: Machine) -> None:
        self.model, self.machine, self.NAME = model, machine, machine.NAME
        self.work = reading.ScoringWork()

    def score(self, sequences: Sequence[TokenSequence], places: Sequence[Place], on_row: OnRow) -> Values:
        """Score; see `Backend`."""
        before = [ids[:position] for ids, position in places]
        return reading.score(self.machine, self.model, sequences, before, on_row, work=self.work)

    def follow(self, groups: Sequence[Sequence[TokenSequence]]) -> list[Followed] | None:
        """Score choices only until each request's best one is certain; None if the machine cannot do so."""
        if not isinstance(self.machine, TreeMachine):
            return None
        return levels.follow(self.machine, groups, self.work)


class MaskedBackend:
    """Each distinct masked input once, with the output head applied only at masked positions if possible."""

    NAME = pseudo.ENGINE

    def __init__(self, model: MaskedModel) -> None:
        self.model = model

    def score(self, sequences: Sequence[TokenSequence], places: Sequence[Place], on_row: OnRow) -> Values:
        """Score; see `Backend`."""
        return pseudo.score(self.model, sequences, places, on_row)


class EncoderDecoderBackend:
    """Each text encoded once; there are no places, since encoder-decoders fill no blanks."""

    NAME = encdec.ENGINE

    def __init__(self, model: Seq2SeqModel) -> None:
        self.model = model

    def score(self, sequences: Sequence[TokenSequence], places: Sequence[Place], on_row: OnRow) -> Values:
        """Score; see `Backend`."""
        return encdec.score(self.model, sequences)


def fallbacks(engine: Engine, model: Model) -> list[Engine]:
    """Return a backend and all slower ones; masked models and encoder-decoders have one besides the reference."""
    if isinstance(model, CausalModel):
        return list(ENGINES[ENGINES.index(engine) :])
    return ["reference"] if engine == "reference" else [engine, "reference"]


def backend(engine: Engine, model: Model) -> Backend:
    """Return a backend for a model.

    Raises:
        UnusableError: the backend cannot run this model.
    """
    if engine == "reference":
        return ReferenceBackend(model)
    if isinstance(model, MaskedModel):
        return MaskedBackend(model)
    if isinstance(model, Seq2SeqModel):
        return ReferenceBackend(model) if model.batches_matter else EncoderDecoderBackend(model)
    if engine == "prefix_cache":
        return PrefixCacheBackend(model)
    return ForestBackend(model, TreeMachine(model) if engine == "forest" else StockMaskMachine(model))
