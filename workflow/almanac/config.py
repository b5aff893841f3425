"""One YAML file an edition: what is asked of whom. Everything is checked before any job starts."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

import yaml
from pydantic import Field, StringConstraints, ValidationError, field_validator, model_validator

from almanac.dataset.options import DatasetOptions
from almanac.errors import AlmanacError
from almanac.models import wrappers
from almanac.models.options import ServerOptions, checked_url
from almanac.options import Options, explain
from almanac.planting.options import CorpusOptions, TokenizerOptions, TrainingOptions, WorldOptions
from almanac.resources import GPU_FROM, stored_parameters
from almanac.sources.options import AnySource, DumpOptions, FilesOptions, NetworkOptions
from almanac.suites.drafting.options import DraftingOptions
from almanac.suites.facteval.options import FactEvalOptions, WritingOptions
from almanac.suites.ic_lke.eic.options import EicOptions
from almanac.suites.ic_lke.generated.options import GeneratedOptions
from almanac.suites.ic_lke.options import Bars, IcLkeOptions
from almanac.suites.ic_lke.positions.options import PositionOptions
from almanac.suites.ic_lke.prompts.options import PromptsOptions
from almanac.suites.ic_lke.separators.options import SeparatorOptions
from almanac.suites.ic_lke.sweep.options import SweepOptions
from almanac.suites.karr.options import KarrOptions
from almanac.suites.options import SuiteOptions

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
RELATIONS = 50  # of a dataset, about; what a job reads is estimated before any dataset is there
UNKNOWN_SIZE = 7_000_000_000  # parameters; a model that says nothing of its size is taken for one of this
UNPINNED = "unpinned"  # a revision that is still to be looked up
COMMIT = re.compile(r"[0-9a-f]{40}")


class WorldConfig(WorldOptions):
    """An invented world, with its seed."""

    seed: int = Field(default=1, ge=0, description="seed of the world, of its corpus and of its models")


class DatasetConfig(DatasetOptions):
    """A dataset: its facts come from a source or from a planted world."""

    source: Name | None = Field(default=None, description="the source of its facts")
    world: Name | None = Field(default=None, description="the planted world of its facts")
    drafts: str | None = Field(
        default=None, description="a file of drafted templates, proofread; those kept join the templates that are there"
    )

    @field_validator("drafts")
    @classmethod
    def _home(cls, drafts: str | None) -> str | None:
        return drafts and str(Path(drafts).expanduser())

    @model_validator(mode="after")
    def _one_origin(self) -> Self:
        if (self.source is None) == (self.world is None):
            raise ValueError("needs either a source or a world, and not both")
        return self


class TaughtConfig(Options):
    """A part of a dataset's real facts that the planted models are taught too."""

    dataset: Name = Field(description="the dataset whose facts are taught")
    facts: int = Field(default=300, ge=0, description="how many facts are given a dose; 0: only names are shared")
    doses: tuple[Annotated[int, Field(ge=0)], ...] = Field(
        default=(0, 4, 16, 64), min_length=2, description="the doses, dealt out evenly by a seed"
    )


class WritingConfig(WritingOptions):
    """Questions that a model writes for a person to proofread: `snakemake written`."""

    dataset: Name = Field(description="the dataset whose test facts are written of")
    model: Name = Field(description="who writes: one of `models`, a causal one or one behind a server")


class DraftingConfig(DraftingOptions):
    """Templates that a model drafts for a person to proofread: `snakemake drafts`."""

    dataset: Name = Field(description="the dataset whose facts are shown")
    model: Name = Field(description="who drafts: one of `models`, a causal one or one behind a server")
    round_trip: bool = Field(default=True, description="whether it must be led back to the relation by what it drafts")

    @property
    def tokens_a_shard(self) -> int:
        """Tokens that a round costs, about, if fifty relations are drafted for; a written one costs as twenty read."""
        requests = (len(self.relations) or 50) * len(self.styles) * (3 if self.paraphrases else 1)
        return requests * (500 + self.samples * self.tokens * 20)


class PlantingConfig(Options):
    """How models are made whose knowledge is known."""

    worlds: dict[Name, WorldConfig] = Field(default_factory=dict, description="the invented worlds, by name")
    taught: TaughtConfig | None = Field(default=None, description="real facts that are taught beside each world")
    corpus: CorpusOptions = Field(default=CorpusOptions(), description="how facts are spread over documents")
    tokenizer: TokenizerOptions = Field(default=TokenizerOptions(), description="the tokenizer of each world's models")


class PlantedConfig(TrainingOptions):
    """A recipe for planted models, and what they are trained on."""

    permuted: bool = Field(
        default=False,
        description="train a null: on the same corpus with the objects of each relation permuted, none of them true",
    )

    @property
    def recipe(self) -> TrainingOptions:
        """The training alone, which a model and its null have in common."""
        return TrainingOptions(**{name: getattr(self, name) for name in TrainingOptions.model_fields})


class ModelConfig(ServerOptions):
    """A model: planted by a recipe, a directory, a repository of a hub, or behind a server."""

    name: Name = Field(description="the name in every table and folder")
    planted: PlantedConfig | None = Field(default=None, description="a recipe: the model is trained on each world")
    path: str | None = Field(default=None, description="a directory that holds a transformers checkpoint")
    hub: str | None = Field(default=None, description="a repository of the Hugging Face hub")
    revision: str | None = Field(
        default=None,
        description="the commit of the model's repository, 40 hexadecimal digits; a hub needs it "
        "(unpinned: enough for a plan, and `pull model` says where to look it up)",
    )
    trust_remote_code: bool = Field(
        default=False,
        description="run the code that comes with the checkpoint; needs revision: the commit that you have read",
    )
    family: Literal["auto", "causal", "masked", "seq2seq"] = Field(
        default="auto", description="how the model is scored"
    )
    kinds: tuple[Literal["choices", "spans", "generate", "fill"], ...] | None = Field(
        default=None, description="the kinds of request it answers; none: all that its family can"
    )
    wrapper: str | None = Field(
        default=None,
        description="how an instruction and a question become a text: a name of resources/prompts/wrappers.yaml, or "
        "FILE.yaml:NAME of your own; none: the chat template where there is one, else plain",
    )
    dtype: Literal["float32", "bfloat16", "float16"] = Field(default="float32", description="its arithmetic")
    device: str = Field(
        default="auto",
        pattern=r"^(auto|cpu|mps|cuda(:\d+)?)$",
        description="auto, cpu, cuda, cuda:1 or mps; of several cards auto takes one of its own",
    )
    datasets: tuple[Name, ...] | None = Field(
        default=None, description="the datasets it is asked; none: all it may be asked"
    )
    suites: tuple[Name, ...] | None = Field(default=None, description="the suites that ask it; none: all")
    parameters: int | None = Field(default=None, ge=1, description="parameters, for the resources of its jobs")
    series: str | None = Field(
        default=None, description="the family of models that it is compared within (Llama-2); none: its own"
    )
    base: Name | None = Field(default=None, description="the model that it was tuned from, and is compared with")

    @property
    def size(self) -> int:
        """The number of parameters: as given, about as planted, or as stored in a directory; 1 for a server's model."""
        if self.parameters is not None or self.api is not None:
            return self.parameters or 1
        if self.planted is not None:
            hidden, shape = self.planted.hidden, self.planted
            return 6000 * hidden + shape.layers * hidden * (4 * hidden + 3 * shape.feed_forward)
        return (stored_parameters(Path(self.path)) if self.path else 0) or UNKNOWN_SIZE

    def takes_gpu(self, gpus: int) -> bool:
        """Return whether its jobs take a GPU: where the entry names one, or one is there and its size is worth it."""
        if self.api is not None:
            return False
        return self.device != "cpu" if self.device != "auto" else bool(gpus) and self.size >= GPU_FROM

    @field_validator("api")
    @classmethod
    def _without_secrets(cls, api: str | None) -> str | None:
        return api and checked_url(api)

    @field_validator("path")
    @classmethod
    def _home(cls, path: str | None) -> str | None:
        return path and str(Path(path).expanduser())

    @model_validator(mode="after")
    def _one_origin(self) -> Self:
        if sum(origin is not None for origin in (self.planted, self.path, self.hub, self.api)) != 1:
            raise ValueError("needs exactly one of planted, path, hub and api")
        spare = [key for key, field in ServerOptions.model_fields.items() if getattr(self, key) != field.default]
        if self.api is None and spare:
            raise ValueError(f"{', '.join(spare)}: only a model with `api` has a server")
        if self.hub is not None and self.revision != UNPINNED and not COMMIT.fullmatch(self.revision or ""):
            raise ValueError("a model from a hub needs `revision`: the commit's 40 hexadecimal digits")
        if self.trust_remote_code and not (self.path or self.hub):
            raise ValueError("trust_remote_code: only a checkpoint of a `path` or a `hub` has code of its own")
        if self.trust_remote_code and not COMMIT.fullmatch(self.revision or ""):
            raise ValueError(
                "trust_remote_code needs `revision`: the commit whose code you have read, 40 hexadecimal digits"
            )
        self._check_wrapper()
        return self

    def _check_wrapper(self) -> None:
        """Refuse a wrapper that is not there, or that the model cannot have."""
        if self.wrapper is None:
            return
        try:
            chat = wrappers.find(self.wrapper).chat
        except AlmanacError as error:
            raise ValueError(str(error)) from error
        folder = Path(self.path) if self.path else None
        bare = folder is not None and folder.is_dir() and not wrappers.has_template(folder)
        if chat and (self.planted is not None or bare):
            raise ValueError(
                f"wrapper: {self.wrapper} needs a chat template and the tokenizer has none; name plain, say"
            )
        if not chat and self.api is not None and self.api_generate_with == "chat":
            raise ValueError(
                f"wrapper: {self.wrapper} is one text, and this server generates by chat; set api_generate_with: "
                "completions, or name a wrapper of turns, as chat"
            )


class SuitesConfig(Options):
    """Which suite is asked of which dataset, and how."""

    ic_lke: dict[Name, IcLkeOptions] = Field(default_factory=dict, description="IC-LKE: settings by dataset")
    lke_prompts: dict[Name, PromptsOptions] = Field(
        default_factory=dict, description="IC-LKE's choices behind written and mined prompts: settings by dataset"
    )
    eic_lke: dict[Name, EicOptions] = Field(
        default_factory=dict, description="EIC-LKE, many facts in one text: settings by dataset"
    )
    lke_sweep: dict[Name, SweepOptions] = Field(
        default_factory=dict, description="IC-LKE by the number of examples: settings by dataset"
    )
    lke_separators: dict[Name, SeparatorOptions] = Field(
        default_factory=dict, description="IC-LKE by what stands between subject and object: settings by dataset"
    )
    lke_positions: dict[Name, PositionOptions] = Field(
        default_factory=dict,
        description="the probability of objects by their place in a text: settings by dataset",
    )
    lke_generated: dict[Name, GeneratedOptions] = Field(
        default_factory=dict, description="whether models write the object: settings by dataset"
    )
    karr: dict[Name, KarrOptions] = Field(default_factory=dict, description="KaRR: settings by dataset")
    facteval: dict[Name, FactEvalOptions] = Field(default_factory=dict, description="FactEval: settings by dataset")

    def by_name(self) -> dict[str, Mapping[str, SuiteOptions]]:
        """Return the settings of every suite, by its name and then by dataset."""
        return {name: getattr(self, name) for name in type(self).model_fields}


def _names_too(field: dict[str, Any]) -> None:
    """Let the published schema accept a model by its name alone, as the file may give it."""
    field["items"] = {"anyOf": [field["items"], {"type": "string"}]}


class EditionConfig(Options):
    """One edition: the whole of what is built, asked, measured and reported."""

    edition: Name = Field(description="the edition's name: results/EDITION")
    title: str = Field(default="What language models know", description="the report's title")
    facts: str | None = Field(default=None, description="the folder of a files source that names none")
    contact: str | None = Field(
        default=None, description="your e-mail address or page, which public servers are told: `--config contact=…`"
    )
    registry: str = Field(default="config/models.yaml", description="the file in which models are looked up by name")
    sources: dict[Name, AnySource] = Field(default_factory=dict, description="sources, by name")
    planting: PlantingConfig = Field(default=PlantingConfig(), description="planted worlds and what they teach")
    datasets: dict[Name, DatasetConfig] = Field(default_factory=dict, description="datasets, by name")
    drafting: DraftingConfig | None = Field(default=None, description="who drafts templates, and for what")
    writing: WritingConfig | None = Field(default=None, description="who writes questions, and of what")
    suites: SuitesConfig = Field(default=SuitesConfig(), description="what is asked")
    models: tuple[ModelConfig, ...] = Field(
        default=(),
        description="who is asked: names of the registry, or whole entries",
        json_schema_extra=_names_too,
    )
    validation: Bars = Field(default=Bars(), description="what must be recovered of planted knowledge")
    shards: int = Field(default=2, ge=1, le=4096, description="shards a model, suite and dataset are divided into")
    gpus: int = Field(default=1, ge=0, description="GPUs of this machine; jobs that need one wait for each other")
    engine: Literal["forest", "stock_mask", "prefix_cache", "reference"] = Field(
        default="forest", description="how requests are scored"
    )

    @model_validator(mode="after")
    def _names_are_there(self) -> Self:
        for name, dataset in self.datasets.items():
            _known("source", dataset.source, self.sources, f"datasets.{name}")
            _known("world", dataset.world, self.planting.worlds, f"datasets.{name}")
        if self.planting.taught is not None:
            taught = self.planting.taught.dataset
            _known("dataset", taught, self.datasets, "planting.taught")
            if self.datasets[taught].world is not None:
                raise ValueError(f"planting.taught: dataset {taught!r} is itself a planted world; name a real one")
        self._check_suites()
        names = [name for model in self.models for name in self._names_of(model)]
        if len(set(names)) != len(names):
            raise ValueError(f"models: a name may occur once; found {names}")
        for model in self.models:
            for dataset_name in model.datasets or ():
                _known("dataset", dataset_name, self.datasets, f"models.{model.name}")
            for suite in model.suites or ():
                _known("suite", suite, self.suites.by_name(), f"models.{model.name}")
            if model.planted is not None and not self.planting.worlds:
                raise ValueError(f"models.{model.name}: a planted model needs a world; add one to planting.worlds")
        self._writer_can_be("drafting", self.drafting)
        self._writer_can_be("writing", self.writing)
        for name, source in self.sources.items():
            if isinstance(source, FilesOptions) and source.path is None and self.facts is None:
                raise ValueError(f"sources.{name}: has no path; give the folder with --config facts=FOLDER")
            reachable = self.contact is not None and ("@" in self.contact or "http" in self.contact)
            own = isinstance(source, DumpOptions) and source.path is not None
            if isinstance(source, NetworkOptions) and not own and not reachable:
                raise ValueError(
                    f"contact: is {self.contact!r}; sources.{name} asks public servers, which want to know whom to "
                    "write to; give an e-mail address or a page with --config contact=YOU@EXAMPLE.ORG"
                )
        return self

    def _writer_can_be(self, key: str, writer: DraftingConfig | WritingConfig | None) -> None:
        """Refuse a model or dataset that is not there, and a model that writes no text."""
        if writer is None:
            return
        _known("dataset", writer.dataset, self.datasets, key)
        participants = self.participants()
        _known("model", writer.model, participants, key)
        model = participants[writer.model].model
        masked = model.family == "masked" or (model.planted is not None and model.planted.architecture == "modernbert")
        if masked or "generate" not in (model.kinds or ("generate",)):
            raise ValueError(f"{key}: model {writer.model!r} writes no text; name one that generates")

    def _check_suites(self) -> None:
        for suite, datasets in self.suites.by_name().items():
            for name in datasets:
                _known("dataset", name, self.datasets, f"suites.{suite}")
        entries = {model.name: model for model in self.models}
        for suite, datasets in self.suites.by_name().items():
            for name, options in datasets.items():
                for model in options.models:
                    _known("model", model, entries, f"suites.{suite}.{name}.models")
                key, shown = options.shown
                if shown > self.datasets[name].train:
                    raise ValueError(
                        f"suites.{suite}.{name}: {shown} {key} need as many train facts; "
                        f"datasets.{name}.train is {self.datasets[name].train}"
                    )
        for name, own in self.suites.facteval.items():
            for model in (one for pair in own.pairs for one in pair.split(":")):
                _known("model", model, entries, f"suites.facteval.{name}.pairs")

    def source_folder(self, name: str) -> str:
        """Return the folder that a source of kind files is pulled from."""
        source = self.sources[name]
        path = source.path if isinstance(source, FilesOptions) else None
        return str(Path(str(path or self.facts)).expanduser())

    @property
    def corpus_tokens(self) -> int:
        """Tokens of the largest corpus, about: ten for each time that a fact is taught."""
        taught = [world.objects * sum(world.doses) * (world.relations or 10) for world in self.planting.worlds.values()]
        real = self.planting.taught
        return 10 * (max(taught, default=0) + (real.facts * sum(real.doses) // len(real.doses) if real else 0))

    def shard_tokens(self, suite: str, dataset: str) -> int:
        """Tokens a model reads for one shard, about, each context once: 50 relations of short names."""
        if suite == "drafting":
            return self.drafting.tokens_a_shard // self.shards if self.drafting is not None else 0
        tested = self.datasets[dataset]
        if suite == "writing":
            return self.writing.tokens(tested.test, RELATIONS) // self.shards if self.writing is not None else 0
        options = self.suites.by_name()[suite][dataset]
        return options.tokens(tested.test, tested.choices, RELATIONS) // self.shards

    def participants(self) -> dict[str, "Participant"]:
        """Return who is asked: every checkpoint, and every recipe once for each world."""
        out: dict[str, Participant] = {}
        for model in self.models:
            for name, world in self._names_of(model).items():
                out[name] = Participant(name, model, world)
        return out

    def _names_of(self, model: ModelConfig) -> dict[str, str | None]:
        """Return the names under which a model is asked, each with the world it was planted in."""
        if model.planted is None:
            return {model.name: None}
        if len(self.planting.worlds) == 1:
            return {model.name: next(iter(self.planting.worlds))}
        return {f"{model.name}-{world}": world for world in self.planting.worlds}

    def asked(self) -> Iterator["Asking"]:
        """Yield which suite is asked of which model on which dataset.

        An invented world is asked only of the models that were planted in it; real facts are asked of all.
        """
        for participant in self.participants().values():
            for suite, datasets in self.suites.by_name().items():
                if participant.model.suites is not None and suite not in participant.model.suites:
                    continue
                for dataset, options in datasets.items():
                    world = self.datasets[dataset].world
                    allowed = participant.model.datasets is None or dataset in participant.model.datasets
                    allowed = allowed and (not options.models or participant.model.name in options.models)
                    if allowed and (world is None or world == participant.world):
                        yield Asking(participant.name, suite, dataset)

    def null_of(self, asking: "Asking") -> "Asking | None":
        """Return the same asked of a model's null: of the same recipe and world, its objects permuted; if there is one.

        Only what the model was itself taught has a null.
        """
        participants = self.participants()
        own = participants[asking.model]
        if own.model.planted is None or own.model.planted.permuted:
            return None
        for other in participants.values():
            planted = other.model.planted
            if planted is not None and planted.permuted and other.world == own.world:
                found = asking._replace(model=other.name)
                if planted.recipe == own.model.planted.recipe and found in set(self.asked()):
                    return found
        return None

    def used_datasets(self, suite: str | None = None) -> list[str]:
        """Return the datasets that some model is asked, by one suite or by any, in the order of the configuration."""
        asked = {asking.dataset for asking in self.asked() if suite in (None, asking.suite)}
        return [name for name in self.datasets if name in asked]


class Participant(NamedTuple):
    """One model as it is asked: its name in the tables, its entry, and the world it was planted in, if any."""

    name: str
    model: ModelConfig
    world: str | None


class Asking(NamedTuple):
    """One suite asked of one model on one dataset."""

    model: str
    suite: str
    dataset: str


def _known(what: str, name: str | None, allowed: Mapping[str, Any], where: str) -> None:
    if name is not None and name not in allowed:
        raise ValueError(f"{where}: there is no {what} {name!r}; there are {', '.join(sorted(allowed)) or 'none'}")


def check(values: Mapping[str, Any], where: str, root: Path) -> EditionConfig:
    """Check an edition's configuration and look its models up in the registry.

    Args:
        values: the configuration as read from YAML.
        where: the file's name, for messages.
        root: the folder that a relative registry path starts from.

    Raises:
        AlmanacError: unknown keys, wrong types, impossible values or names that are not there, each with its key.
    """
    filled = dict(values)
    models = filled.get("models") or []
    if isinstance(models, list) and any(isinstance(model, str) for model in models):
        registry_path = root / str(filled.get("registry", "config/models.yaml"))
        registry = read_yaml(registry_path)
        filled["models"] = [
            _look_up(model, registry, registry_path, where) if isinstance(model, str) else model for model in models
        ]
    try:
        return EditionConfig.model_validate(filled)
    except ValidationError as error:
        raise explain(error, where, "sources") from error


def _look_up(name: str, registry: Mapping[str, Any], path: Path, where: str) -> dict[str, Any]:
    if name not in registry:
        raise AlmanacError(f"{where}: models: {name!r} is not in {path}; there are {', '.join(sorted(registry))}")
    if not isinstance(registry[name], dict):
        raise AlmanacError(f"{path}: {name}: must hold keys and values, found {registry[name]!r}")
    return {"name": name, **registry[name]}


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML file that holds one mapping.

    Raises:
        AlmanacError: it is missing, no YAML, or no mapping, naming the file and the line.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise AlmanacError(f"{path}: cannot be read ({error.strerror}); name a configuration file") from error
    except yaml.YAMLError as error:
        raise AlmanacError(f"{path}: is no YAML: {error}") from error
    if not isinstance(values, dict):
        raise AlmanacError(f"{path}: must hold keys and values, found {type(values).__name__}")
    return values


def load(path: Path, overrides: Mapping[str, Any] | None = None) -> EditionConfig:
    """Read and check an edition's file; relative names in it start from the working folder."""
    return check({**read_yaml(path), **(overrides or {})}, str(path), Path())
