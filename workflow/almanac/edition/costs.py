"""What an edition will cost, before any of it is there: tokens, hours and bytes, by the estimates of its rules."""

from collections.abc import Sequence
from dataclasses import dataclass

from almanac.config import EditionConfig, Participant
from almanac.resources import BYTES, held_bytes, seconds

TRAINING = "training"  # stands where a suite does
RESPONSE_BYTES = 1.5  # a token read, about: of the demo's files 1.2 (IC-LKE) and 1.7 (KaRR)
STORED = "bfloat16"  # what the hub's checkpoints are mostly stored in


@dataclass(frozen=True)
class Cost:
    """One suite asked of one model on one dataset, or a model's training; every number is an estimate.

    Attributes:
        model: its name in the edition.
        suite: the suite, or ``training``.
        dataset: the dataset, or the world that is taught.
        tokens: that the model reads; one that it writes counts as twenty.
        gpu_hours: of one card; 0 where no card is taken, and for a server's model.
        core_hours: of one core.
        gpu_gib: memory of the card.
        response_bytes: of the response files.
        download_bytes: of the checkpoint; in the first row of a model alone, so that rows add up.
    """

    model: str
    suite: str
    dataset: str
    tokens: int
    gpu_hours: float
    core_hours: float
    gpu_gib: float
    response_bytes: int
    download_bytes: int


def costs(config: EditionConfig) -> list[Cost]:
    """Return the cost of everything that an edition asks of a model or trains, in the order of the configuration."""
    rows: list[Cost] = []
    for participant in config.participants().values():
        if participant.model.planted is not None:
            tokens = config.corpus_tokens * participant.model.planted.passes
            rows.append(_cost(participant, TRAINING, str(participant.world), tokens, config.gpus))
        own = [asking for asking in config.asked() if asking.model == participant.name]
        for place, asking in enumerate(own):
            tokens = config.shard_tokens(asking.suite, asking.dataset) * config.shards
            download = place == 0 and participant.model.hub is not None
            rows.append(_cost(participant, asking.suite, asking.dataset, tokens, config.gpus, download))
    return rows


def _cost(participant: Participant, suite: str, dataset: str, tokens: int, gpus: int, download: bool = False) -> Cost:
    model, training = participant.model, suite == TRAINING
    on_gpu = not training and model.takes_gpu(gpus)
    hours = seconds(model.size, tokens, on_gpu, training) / 3600 if model.api is None else 0.0
    return Cost(
        model=participant.name,
        suite=suite,
        dataset=dataset,
        tokens=tokens,
        gpu_hours=hours if on_gpu else 0.0,
        core_hours=0.0 if on_gpu else hours,
        gpu_gib=held_bytes(model.size, model.dtype) / 2**30 if on_gpu else 0.0,
        response_bytes=0 if training else int(tokens * RESPONSE_BYTES),
        download_bytes=model.size * BYTES[STORED] if download else 0,
    )


def by_model(rows: Sequence[Cost]) -> list[Cost]:
    """Return one row a model: what of it adds up is summed, the memory is the largest."""
    out = []
    for name in dict.fromkeys(row.model for row in rows):
        own = [row for row in rows if row.model == name]
        out.append(total(own, name))
    return out


def total(rows: Sequence[Cost], name: str = "all") -> Cost:
    """Return the sum of rows under a name."""
    return Cost(
        model=name,
        suite="",
        dataset="",
        tokens=sum(row.tokens for row in rows),
        gpu_hours=sum(row.gpu_hours for row in rows),
        core_hours=sum(row.core_hours for row in rows),
        gpu_gib=max((row.gpu_gib for row in rows), default=0.0),
        response_bytes=sum(row.response_bytes for row in rows),
        download_bytes=sum(row.download_bytes for row in rows),
    )
