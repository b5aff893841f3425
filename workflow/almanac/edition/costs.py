"""Estimate what an edition will cost before it is made: tokens, hours, memory and bytes."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from almanac.config import EditionConfig
from almanac.config.datasets import DatasetConfig
from almanac.config.edition import RELATIONS, Participant
from almanac.edition.layout import Layout
from almanac.errors import AlmanacError
from almanac.job_size import BYTES, USED, held_bytes, seconds
from almanac.sources.options import FilesOptions, TrexOptions
from almanac.sources.records import is_table

TRAINING = "training"  # in place of a suite: a model's training
TABLES = "tables"  # in place of a model: all jobs without a model (building, asking, measuring, drawing)
MOST_COUNTED = 200_000_000  # bytes; a plan does not read larger tables of facts
RESPONSE_BYTES = 1.5  # bytes of responses per token read; in the demo 1.2 (IC-LKE) to 1.7 (KaRR)
STORED = "bfloat16"  # the type of most checkpoints on the hub
# CPU seconds of one core, measured with the demo and `make own`; operations per second of one core.
START = 4.0  # seconds to start a process and load PyTorch, transformers and a model
TOKEN = 5e-6  # seconds per planned token, for any model: text, tokenization, packing, judging
OPERATIONS = 2.5e11  # operations per second when answering, counting all planned tokens, though requests share many
TRAINED = 5e10  # operations per second when training
TABLE_JOB = 1.5  # seconds of a job without a model: asking, building, measuring
PAGE = 12.0  # seconds to draw the page and compare all models
Factors = Mapping[str, float]  # by suite or `TRAINING`: time on this machine divided by the time that is estimated here


@dataclass(frozen=True)
class Cost:
    """The estimated cost of one suite asked of one model on one dataset, or of a model's training.

    Attributes:
        model: its name in the edition, or ``tables`` for all jobs without a model.
        suite: the suite, or ``training``.
        dataset: the dataset, or the world that is taught.
        tokens: tokens that the model reads; a token that it writes counts as twenty.
        gpu_hours: hours of one GPU; 0 if no GPU is used, and for a server's model.
        core_hours: hours of one core; 0 if a GPU is used, and for a server's model.
        gpu_gib: GPU memory in GiB.
        response_bytes: size of the response files.
        download_bytes: size of the checkpoint; only in a model's first row, so that rows add up.
    """

    model: str
    suite: str = ""
    dataset: str = ""
    tokens: int = 0
    gpu_hours: float = 0.0
    core_hours: float = 0.0
    gpu_gib: float = 0.0
    response_bytes: int = 0
    download_bytes: int = 0


class Size(NamedTuple):
    """The approximate size of a dataset.

    Attributes:
        relations: number of relations.
        facts: test facts per relation.
        counted: whether both numbers were counted; else they are assumed.
        named: whether ``relations`` is the number that the source has, an upper bound for the dataset.
    """

    relations: int
    facts: int
    counted: bool
    named: bool = False


def sizes(config: EditionConfig) -> dict[str, Size]:
    """Return the size of each dataset, by name: counted for worlds and for existing folders of facts, else assumed.

    For a source whose number of relations is known (`EditionConfig.relations`) only the number of facts is assumed.
    """
    out = {}
    for name, dataset in config.datasets.items():
        source = config.sources.get(dataset.source or "")
        relations = config.relations(name)
        folder = config.source_folder(str(dataset.source)) if isinstance(source, FilesOptions) else None
        if isinstance(source, TrexOptions) and source.form == "tables":
            folder = source.path
        if dataset.world is not None:
            out[name] = Size(relations or 0, dataset.test, True)
        elif folder and (found := _counted(folder, dataset)):
            out[name] = found
        else:
            out[name] = Size(relations or RELATIONS, dataset.test, False, relations is not None)
    return out


def _counted(folder: str, dataset: DatasetConfig) -> Size | None:
    """Count a dataset's qualifying relations and mean test facts; None if its facts do not exist or are too large.

    Raises:
        AlmanacError: the table of facts lacks a column.
    """
    import polars as pl  # loading it takes longer than the rest of a plan

    from almanac.sources.checking import of_one_file, readable

    path = Path(folder)
    files = [path] if is_table(path) else list(path.glob("facts.*"))
    if not (path.is_dir() or is_table(path)) or sum(one.stat().st_size for one in files) > MOST_COUNTED:
        return None
    objects, split = pl.coalesce("object_id", "value").n_unique(), pl.col("split")
    drawn = pl.len().cast(pl.Int64) - dataset.train
    test = pl.when(split.is_null().all()).then(drawn).otherwise((split == "test").sum()).clip(0, dataset.test)
    rows = (readable(path, "facts") if path.is_dir() else of_one_file(path)["facts"]).rows
    relations = rows.group_by("relation_id").agg(facts=pl.len(), objects=objects, test=test)
    qualifying = relations.filter((pl.col("facts") >= dataset.min_facts) & (pl.col("objects") >= dataset.min_objects))
    tests = qualifying["test"].to_list()
    return Size(len(tests), -(-sum(tests) // max(1, len(tests))), True)


def spent(suite: str, size: int, tokens: int, factors: Factors) -> float:
    """Return the CPU seconds of answering a suite, or of `TRAINING`, by ``size`` parameters, without start and load."""
    answering = tokens * (TOKEN + 2 * size / OPERATIONS)
    training = 6 * size * tokens / TRAINED
    return (training if suite == TRAINING else answering) * factors.get(suite, 1.0)


def costs(config: EditionConfig, factors: Factors = MappingProxyType({})) -> list[Cost]:
    """Return the cost of each model's training and of each suite that it is asked, in the order of the configuration.

    The last row has the cost of all jobs without a model.
    """
    rows: list[Cost] = []
    dataset_sizes = sizes(config)
    together = config.answering_together()
    for participant in config.participants().values():
        model = participant.model
        if model.planted is not None:
            tokens = config.corpus_tokens * model.planted.passes
            hours = (START + spent(TRAINING, model.size, tokens, factors)) / 3600
            rows.append(_cost(participant, TRAINING, str(participant.world), tokens, hours, config.gpus))
        for place, asking in enumerate(config.asked(participant.name)):
            tokens = config.asked_tokens(asking.suite, asking.dataset, *dataset_sizes[asking.dataset][:2])
            starts = place == 0 or participant.name not in together
            hours = (spent(asking.suite, model.size, tokens, factors) + START * starts * config.shards) / 3600
            download = place == 0 and model.hub is not None
            rows.append(_cost(participant, asking.suite, asking.dataset, tokens, hours, config.gpus, download))
    if rows:
        asked = {(one.suite, one.dataset) for one in config.asked()}
        jobs = len(asked) + len(config.datasets) + 2 * len(config.participants())
        rows.append(Cost(TABLES, core_hours=(jobs * TABLE_JOB + PAGE) / 3600))
    return rows


def _cost(
    participant: Participant, suite: str, dataset: str, tokens: int, hours: float, gpus: int, download: bool = False
) -> Cost:
    model, training = participant.model, suite == TRAINING
    on_gpu = not training and model.takes_gpu(gpus)
    gpu_hours = seconds(model.size, tokens, True) / 3600 if on_gpu else 0.0
    return Cost(
        model=participant.name,
        suite=suite,
        dataset=dataset,
        tokens=tokens,
        gpu_hours=gpu_hours,
        core_hours=0.0 if on_gpu or model.api is not None else hours,
        gpu_gib=held_bytes(model.size, model.dtype) / 2**30 if on_gpu else 0.0,
        response_bytes=0 if training else int(tokens * RESPONSE_BYTES),
        download_bytes=model.size * BYTES[STORED] if download else 0,
    )


# Model, suite, dataset, shard and CPU seconds in a log; responses that existed before have no time.
ANSWERED = re.compile(
    r"responses/([^/]+)/([^/]+)/([^/]+)/[^/]+/[^/]+/responses-(\d+)\.parquet: .*; ([\d.]+) s CPU besides starting"
)


def measured(results: Path) -> tuple[Factors, list[str]]:
    """Return measured by estimated CPU time (`Factors`), and the editions made on this machine whose logs were used.

    A suite that no finished job on this machine has answered has no factor. Models that are planned to use a GPU, or
    that a server runs, are left out: the CPU seconds of their jobs do not tell how fast a core is.
    """
    took: dict[str, float] = defaultdict(float)
    planned: dict[str, float] = defaultdict(float)
    names = []
    for record in sorted(results.glob("*/edition.json")):
        try:
            layout = Layout.open(record.parent)
            rows = [row for row in costs(layout.config) if row.core_hours]
        except AlmanacError:  # an edition of another version, or of facts that cannot be read any more
            continue
        plain = {(row.model, row.suite, row.dataset * (row.suite != TRAINING)): row for row in rows}
        found = {key: second for key, second in _took(layout).items() if key in plain}
        for key, second in found.items():
            size = layout.config.participants()[key[0]].model.size
            took[key[1]] += second
            planned[key[1]] += spent(key[1], size, plain[key].tokens, {})
        names += [record.parent.name] if found else []
    return {key: took[key] / planned[key] for key in took if planned[key] > 0 and took[key] > 0}, names


def _took(layout: Layout) -> dict[tuple[str, str, str], float]:
    """Return measured CPU seconds, without starting and loading, by (model, suite, dataset; "" for `TRAINING`).

    Logs of an earlier run with more shards are skipped.
    """
    out: dict[tuple[str, str, str], float] = defaultdict(float)
    for log in sorted(layout.logs().glob("answer_*/**/*.log")):
        for model, suite, dataset, shard, spent in ANSWERED.findall(log.read_text("utf-8", "replace")):
            if int(shard) < layout.config.shards:
                out[model, suite, dataset] += float(spent)
    for log in sorted(layout.logs().glob("plant_model/*.log")):
        lines = log.read_text("utf-8", "replace").splitlines()
        if lines and (used := USED.match(lines[-1])) is not None:
            out[log.stem, TRAINING, ""] = max(0.0, float(used["cpu"]) - START)
    return out


def expected(config: EditionConfig) -> dict[str, float]:
    """Return the estimated seconds of a job of each rule, by the rule's name; the name "" is for rules without a model.

    If a rule's jobs differ, it is their mean. A job without a model takes twice its CPU time: its process starts.
    """
    together = set(config.answering_together())
    took: dict[str, list[float]] = defaultdict(list)
    whole: dict[str, float] = defaultdict(float)
    for row in costs(config):
        spent = 3600 * (row.core_hours + row.gpu_hours)
        if row.suite == TRAINING:
            took["plant_model"].append(spent)
        elif row.model in together:
            whole[f"answer_together_{row.model}"] += spent / config.shards
        elif row.suite and spent:
            took["answer_requests"].append(spent / config.shards)
    means = {rule: sum(times) / len(times) for rule, times in took.items()}
    return {"": 2 * TABLE_JOB, "report_edition": PAGE, **means, **whole}


def by_model(rows: Sequence[Cost]) -> list[Cost]:
    """Return one row per model: the sums of its rows, but the largest memory."""
    names = dict.fromkeys(row.model for row in rows)
    return [total([row for row in rows if row.model == name], name) for name in names]


def total(rows: Sequence[Cost], name: str = "all") -> Cost:
    """Return the sum of rows under a name, but the largest memory."""
    return Cost(
        model=name,
        tokens=sum(row.tokens for row in rows),
        gpu_hours=sum(row.gpu_hours for row in rows),
        core_hours=sum(row.core_hours for row in rows),
        gpu_gib=max((row.gpu_gib for row in rows), default=0.0),
        response_bytes=sum(row.response_bytes for row in rows),
        download_bytes=sum(row.download_bytes for row in rows),
    )
