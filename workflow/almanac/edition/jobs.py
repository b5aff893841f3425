"""The jobs of an edition: what each job reads, writes, depends on and needs. The rules in rules/ use these methods."""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from almanac import tables
from almanac.config import Asking, EditionConfig
from almanac.config.inputs import files, fingerprints, source_files
from almanac.dataset.options import DatasetOptions
from almanac.edition.layout import ALL, DATASET_TABLES, Layout
from almanac.errors import AlmanacError
from almanac.job_size import MOST_MINUTES, THREADS_FROM, Needs, facts_megabytes, gpu_seen, needs
from almanac.models.options import AnswerOptions
from almanac.models.wrappers import digests as wrapper_digests
from almanac.options import places, to_flags
from almanac.planting.options import TrainingOptions, WorldOptions
from almanac.sealed import MADE, PULLED
from almanac.suites.answers import RoundFiles
from almanac.suites.listing import ASKING
from almanac.suites.suite import Asks, Round, Suite

READ = ("model.safetensors", "config.json", "tokenizer.json", MADE)  # files of a planted model that answering reads
PLANTED = (*READ, "loss.csv", "ledger.parquet", "exposures.parquet")
TAUGHT = ("documents.parquet", "ledger.parquet", "exposures.parquet")  # files of a corpus that training reads
CORPUS = (*TAUGHT, "evidence.parquet", "tokenizer/tokenizer.json")
Files = list[Path]


class Jobs:
    """Inputs, outputs, flags and resources of each rule's jobs.

    Most methods take a job's wildcards, like Snakemake's input functions.

    Attributes:
        config: the edition.
        layout: the paths of its files.
        cores: cores of this machine that the jobs share; 1 if they run on a cluster.
        participants: its models, by name.
        together: for each model that answers in one job, by name, the (suite, dataset, round) that the job answers:
            rounds whose requests are the same for every model.
        corpora: folder names of a world's corpora: its texts, and its texts with permuted objects.
    """

    corpora = ("corpus", "null")

    def __init__(self, config: EditionConfig, layout: Layout, cores: int = 1) -> None:
        self.config, self.layout, self.cores = config, layout, cores
        self.participants = config.participants()
        self.together = {name: rounds for name in config.answering_together() if (rounds := self._together(name))}

    def _together(self, model: str) -> list[tuple[str, str, str]]:
        rounds = [(asking, one) for asking in self.config.asked(model) for one in self.layout.rounds(asking)]
        # Only rounds that all models share, and that this model answers itself.
        shared = [(asking, one) for asking, one in rounds if one.folder.name == ALL and one.answerer == model]
        return list(dict.fromkeys((asking.suite, asking.dataset, one.name) for asking, one in shared))

    def made(self) -> Iterator[Path]:
        """Yield the files that jobs make from other files: corpora and products of the edition, without models."""
        for world in self.config.planting.worlds:
            yield from (self.layout.planting(world) / corpus / name for corpus in self.corpora for name in CORPUS)
        begun = {*self.begun()}
        yield from (path for path in self.layout.products() if path not in begun)

    def begun(self) -> Iterator[Path]:
        """Yield the files that jobs make without reading the edition's files: worlds, pull records, `edition.json`."""
        for world in self.config.planting.worlds:
            yield from self.layout.world(world)
        yield from (self.layout.source(name) / PULLED for name in self.config.used_sources())
        yield self.layout.record()

    def updated(self) -> Iterator[tuple[Path, Files]]:
        """Yield the marker file (`Layout.ended`) of each job that updates files, with these files."""
        for name, one in self.participants.items():
            if one.world is not None:
                folder = self.layout.model(name)
                yield self.layout.ended(folder), [folder / file for file in PLANTED]
            yield self.layout.ended(self.layout.numbers(name)), self.measures(name)
        for path in dict.fromkeys(path for one in self.layout.every_round() for path in one.responses):
            yield self.layout.ended(path), [path]

    # Sources and planting

    def model(self, wildcards: Any) -> Any:
        """Return the model entry of a job."""
        return self.participants[wildcards.model].model

    def seed(self, wildcards: Any) -> int:
        """Return the seed of a world; a planted model has the seed of its world."""
        world = self.participants[wildcards.model].world if hasattr(wildcards, "model") else wildcards.world
        return self.config.planting.worlds[str(world)].seed

    def source_files(self, wildcards: Any) -> Files:
        """Return the user's files that a source is read from."""
        return source_files(self.config, wildcards.source)

    def copied(self, wildcards: Any) -> str:
        """Return the flags for copying a folder of facts, without its licence: that is read when it is frozen."""
        merged = any(one.source == wildcards.source and one.merge for one in self.config.datasets.values())
        merge = "--merge" if merged else ""
        return f"--from {shlex.quote(self.config.source_folder(wildcards.source))} {merge}"

    def pulled(self, wildcards: Any) -> str:
        """Return the arguments that pull a source: its kind and its flags."""
        source = self.config.sources[wildcards.source]
        contact = f"--contact {shlex.quote(self.config.contact)}" if self.config.contact else ""
        return f"{source.kind} {contact} {to_flags(source)}"

    def world(self, wildcards: Any) -> str:
        """Return the flags of an invented world."""
        return to_flags(self.config.planting.worlds[wildcards.world], WorldOptions)

    def training(self, wildcards: Any) -> str:
        """Return the flags of a model's training."""
        return to_flags(self.model(wildcards).planted, TrainingOptions)

    def taught(self, wildcards: Any) -> str:
        """Return the flags of the real facts that a corpus teaches besides the world's."""
        taught = self.config.planting.taught
        if taught is None:
            return ""
        doses = " ".join(map(str, taught.doses))
        folder = shlex.quote(str(self.layout.dataset_folder(taught.dataset)))
        return f"--real {folder} --real-facts {taught.facts} --real-doses {doses}"

    def taught_tables(self, wildcards: Any) -> Files:
        """Return the tables of the real facts that a corpus teaches."""
        taught = self.config.planting.taught
        names = ("entities", "facts", "templates")
        return [] if taught is None else [self.layout.dataset(taught.dataset, name) for name in names]

    def corpus(self, wildcards: Any) -> Path:
        """Return the folder of the corpus that a planted model is trained on; a null has that with permuted objects."""
        which = "null" if self.model(wildcards).planted.permuted else "corpus"
        return self.layout.planting(str(self.participants[wildcards.model].world)) / which

    def null_of(self, wildcards: Any) -> Files:
        """Return the tokenizer of the corpus that a null permutes, which the null shares; nothing for other corpora."""
        tokenizer = self.layout.planting(wildcards.world) / "corpus" / "tokenizer" / "tokenizer.json"
        return [tokenizer] if wildcards.corpus == "null" else []

    def null(self, wildcards: Any) -> str:
        """Return the flag that permutes the objects of a corpus; empty for a corpus that is no null."""
        corpus = self.layout.planting(wildcards.world) / "corpus"
        return f"--null-of {shlex.quote(str(corpus))}" if wildcards.corpus == "null" else ""

    # Datasets

    def evidence(self, wildcards: Any) -> Files:
        """Return the table of the texts that state a planted world's facts; other sources have their own evidence."""
        world = self.config.datasets[wildcards.dataset].world
        return [self.layout.planting(world) / "corpus" / "evidence.parquet"] if world else []

    def drafts(self, wildcards: Any) -> Files:
        """Return the file of drafted templates that a person has proofread for a dataset, if it names one."""
        return files(self.config.datasets[wildcards.dataset], "file")

    def dataset_options(self, wildcards: Any) -> str:
        """Return the flags of a dataset."""
        return to_flags(self.config.datasets[wildcards.dataset], DatasetOptions)

    def dataset(self, wildcards: Any) -> Files:
        """Return every table of a dataset."""
        return [self.layout.dataset(wildcards.dataset, table) for table in DATASET_TABLES]

    # Rounds

    def _asking(self, suite: str, wildcards: Any) -> Asking:
        """Return the model, suite and dataset of a job; for a round that all models share the model is `ALL`."""
        writer = getattr(self.config.authors().get(suite), "model", ALL)  # an author has one model
        return Asking(getattr(wildcards, "about", writer), suite, wildcards.dataset)

    def asks(self, suite: Asks[Any], wildcards: Any) -> str:
        """Return the flags of a suite's options on a dataset, without files that only measuring reads."""
        options = self.layout.options(self._asking(suite.name, wildcards))
        measured = [str(place.way[0]) for place in places(options) if place.named.read_by == "measure"]
        return to_flags(options.model_copy(update=dict.fromkeys(measured)), suite.options)

    def files(self, suite: Asks[Any], wildcards: Any) -> Files:
        """Return the user's files that a suite reads when it asks."""
        options = self.layout.options(self._asking(suite.name, wildcards))
        return [Path(path) for path in options.files("ask")] if isinstance(suite, Suite) else []

    def asked(self, suite: Asks[Any], at: Round) -> list[str]:
        """Return the output files of the rule that asks a round, as patterns with wildcards."""
        folder = self.layout.requests_folder(suite.name, "{dataset}", at.name, "{about}" if at.about_one else ALL)
        return list(map(str, self.layout.asked(folder, suite)))

    def before(self, suite: Asks[Any], at: Round | None, wildcards: Any) -> Files:
        """Return the requests and responses of earlier rounds from which a round is made.

        For an author's file (``at`` is None) these are all rounds. Only such a file and rounds about one model
        (`Round.about_one`) include responses.
        """
        rounds = self._before(suite, at, wildcards)
        return [path for one in rounds for path in (*self.layout.asked(one.folder, suite), *one.responses)]

    def before_flags(self, suite: Asks[Any], at: Round | None, wildcards: Any) -> str:
        """Return the flags that name these files, and the round."""
        words = [] if at in (None, suite.rounds[0]) else ["--round", at.name]
        for one in self._before(suite, at, wildcards):
            words += ["--before" if at else "--asked", str(one.folder)]
            words += ["--responses", *map(str, one.responses)] if one.responses else []
        return shlex.join(words)

    def _before(self, suite: Asks[Any], at: Round | None, wildcards: Any) -> Iterator[RoundFiles]:
        for one in self.layout.rounds(self._asking(suite.name, wildcards)):
            if at is not None and one.name == at.name:
                return
            yield one if at is None or at.about_one else replace(one, responses=())

    # Answers

    def model_folder(self, wildcards: Any) -> str:
        """Return the folder of a job's model: planted, pulled from a hub, or a directory of the user's."""
        return self.model(wildcards).path or str(self.layout.model(wildcards.model))

    def model_files(self, wildcards: Any) -> Files:
        """Return the files that a model needs to answer: a planted model's, the record of a pull, or the user's."""
        model, folder = self.model(wildcards), Path(self.model_folder(wildcards))
        if model.hub is not None:
            return [folder / PULLED]
        if model.planted is not None:
            return [folder / name for name in READ]
        return self.users_model(wildcards)

    def users_model(self, wildcards: Any) -> Files:
        """Return the files in the user's directory of a checkpoint, or of a served model's tokenizer."""
        return files(self.model(wildcards), "checkpoint", "tokenizer")

    def pull_flags(self, wildcards: Any) -> str:
        """Return the flags with the hub's repository and the commit that is fetched."""
        model = self.model(wildcards)
        code = "--trust-remote-code" if model.trust_remote_code else ""
        return f"--hub {shlex.quote(model.hub)} --revision {shlex.quote(model.revision)} {code}"

    def model_flags(self, wildcards: Any) -> str:
        """Return the flags with the model that answers and the options by which it is run."""
        model = self.model(wildcards)
        if model.api is not None:
            return to_flags(model, AnswerOptions)
        # A job for which no GPU is requested from the scheduler must not use one.
        device = model.device if model.takes_gpu(self.config.gpus) else "cpu"
        run = to_flags(model.model_copy(update={"device": device}), AnswerOptions)
        return f"--model {shlex.quote(self.model_folder(wildcards))} {run}"

    def wrappers(self, wildcards: Any) -> Any:
        """Return digests of the prompt wrappers that a model may use, so that a changed one makes the job run again."""
        return wrapper_digests(self.model(wildcards).wrapper)

    def alone(self) -> str:
        """Return the pattern of models that answer one round per job; it excludes rounds that are answered together."""
        names = []
        for name in self.participants:
            rounds = ["/".join((*map(re.escape, one), ALL)) for one in self.together.get(name, ())]
            names.append(re.escape(name) + (f"(?!/(?:{'|'.join(rounds)})/)" if rounds else ""))
        return "|".join(names) or "none"

    def reusable(self, wildcards: Any) -> Files:
        """Return the responses that a job may copy for equal requests: in a later round, those of the first round."""
        if not hasattr(wildcards, "round"):  # the job answers several rounds, and nothing was answered before it
            return []
        first, *later = ASKING[wildcards.suite].rounds
        folder = self.layout.responses_folder(wildcards.model, wildcards.suite, wildcards.dataset, first.name, ALL)
        answers_later = any(one.name == wildcards.round and one.answered_by is None for one in later)
        return [self.layout.shard(folder, "responses", wildcards.shard)] if answers_later else []

    # Numbers

    def measured_from(self, model: str) -> Files:
        """Return the files from which a model's measures are computed."""
        return list(dict.fromkeys(path for asking in self.config.asked(model) for path in self.layout.made_of(asking)))

    def measures(self, model: str) -> Files:
        """Return the files that measuring a model writes."""
        return [
            path
            for one in self.config.asked(model)
            for path in (*self.layout.judgements(one), self.layout.measures(one))
        ]

    def settings(self, model: str) -> str:
        """Return a digest of the settings by which a model is measured and of the user's files that measuring reads."""
        asked = [(asking, self.layout.options(asking)) for asking in self.config.asked(model)]
        read = [Path(path) for _, options in asked for path in options.files("measure")]
        return tables.identity([[[*asking, options.how()] for asking, options in asked], fingerprints(read)])

    def measured(self, suite: str) -> Files:
        """Return the tables of a suite's measures, of every model and dataset."""
        return [self.layout.measures(asking) for asking in self.config.asked() if asking.suite == suite]

    def written(self, author: str, wildcards: Any) -> Path:
        """Return the file of the texts that an author has written."""
        who = self.config.authors().get(author)
        if who is None:
            raise AlmanacError(
                f"{author}: the configuration does not say who writes; add `{author}: {{dataset: …, model: …}}`"
            )
        return self.layout.written(author, who.dataset)

    def reported(self, words: Iterable[str]) -> str:
        """Return the flags for `report`'s summary after a run: the authors on the command line, or else findings."""
        written = (self.written(word, None) for word in words if word in self.config.authors())
        return " ".join([f"--edition {self.layout.root}", *(f"--written {path}" for path in written)])

    def compared(self) -> str:
        """Return a digest of the settings that comparing depends on, and of the user's files that `CARRIED` covers."""
        models = [(name, one.model.series, one.model.base, one.model.size) for name, one in self.participants.items()]
        asked = {
            suite: {name: own.model_dump(mode="json") for name, own in datasets.items()}
            for suite, datasets in self.config.suites.by_name().items()
        }
        bars, carried = self.config.validation.model_dump(mode="json"), fingerprints(files(self.config, "file"))
        return tables.identity([models, asked, bars, self.config.compare, carried])

    # Resources of a job

    def table_needs(self, wildcards: Any, input: Any, attempt: int) -> Needs:
        """Return the needs of a job without a model, by the size of its input."""
        return needs(0, 0, megabytes=input.size_mb, attempt=attempt)

    def building_needs(self, wildcards: Any, input: Any, attempt: int) -> Needs:
        """Return the needs of a job that builds a dataset, by the size of its input and of the tables of facts."""
        # The size of files that do not exist yet is unknown; Snakemake calls this again before the job.
        megabytes = input.size_mb + facts_megabytes(self.layout.facts(wildcards.dataset))
        return needs(0, 0, megabytes=megabytes, attempt=attempt)

    def training_needs(self, wildcards: Any, input: Any, attempt: int) -> Needs:
        """Return the needs of a training job."""
        return needs(self.model(wildcards).size, self.config.corpus_tokens, training=True, attempt=attempt)

    def scoring_needs(self, wildcards: Any, input: Any, attempt: int) -> Needs:
        """Return the needs of a job that answers one round of a suite, or all rounds that are answered together."""
        model = self.model(wildcards)
        alone = hasattr(wildcards, "suite")
        asked = [(wildcards.suite, wildcards.dataset)] if alone else [one[:2] for one in self.together[wildcards.model]]
        tokens = sum(self.config.shard_tokens(*one) for one in asked)
        found = needs(model.size, tokens, model.dtype, model.takes_gpu(self.config.gpus), attempt=attempt)
        minutes = found.runtime if model.api is None else MOST_MINUTES  # the speed of a server is unknown
        return found._replace(runtime=minutes)

    def threads(self, wildcards: Any) -> int:
        """Return the threads of a job that runs a model: an equal share of the cores; one for small models and servers.

        Jobs that take a GPU run one after the other: each has all cores if this machine has no GPU, else one.
        """
        model = self.model(wildcards)
        if model.takes_gpu(self.config.gpus):
            return 1 if gpu_seen() else self.cores
        return max(1, self.cores // self._jobs) if model.size >= THREADS_FROM and model.api is None else 1

    @cached_property
    def _jobs(self) -> int:
        """The approximate number of jobs that run local models (one per shard, and per suite and dataset if alone)."""
        local = [name for name, one in self.participants.items() if one.model.api is None]
        jobs = [1 if name in self.together else len(list(self.config.asked(name))) for name in local]
        return max(1, sum(jobs) * self.config.shards)


def known_by(files_of: Callable[[Any], Files]) -> Callable[[Any], list[str]]:
    """Return a function of a job's wildcards: the `inputs.fingerprints` of the user's files that it reads."""
    return lambda wildcards: fingerprints(files_of(wildcards))


def flag(name: str, paths: Iterable[object]) -> str:
    """Return each path after a flag; empty if there is no path."""
    return "".join(f"{name} {shlex.quote(str(path))}" for path in paths)


def by_name(of: Callable[[Any, Any, int], Needs], *more: str) -> dict[str, Callable[..., int]]:
    """Return a rule's resources by name: memory, run time and ``more``, each a function of the job (see `of`)."""

    def one(name: str) -> Callable[..., int]:
        return lambda wildcards, input, attempt: int(getattr(of(wildcards, input, attempt), name))

    return {name: one(name) for name in ("mem_mb", "runtime", *more)}
