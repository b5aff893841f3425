"""The configuration of an edition: its keys, the checks across them, and which model is asked which suite."""

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from almanac.config.datasets import DatasetConfig, Name, PlantingConfig
from almanac.config.models import ModelConfig
from almanac.config.suites import AuthorConfig, AuthorsConfig, SuitesConfig
from almanac.errors import did_you_mean
from almanac.options import OnDisk
from almanac.planting.options import TUNING
from almanac.sources.options import AnySource, DumpOptions, FilesOptions, NetworkOptions
from almanac.suites.listing import SUITES
from almanac.suites.options import Bars, SuiteOptions

REGISTRY = "config/models.yaml"
TAKEN = {"all": "the folder of requests to all models", "across": "the job that compares models"}  # no models' names
KNOWN = "models"  # key of the validation context: the registry's names, which suites may name too
PLAIN_RELATIONS = 10  # relations of a world whose options give no number
MOST_TEST = 10_000  # test facts per relation with `size: all`
RELATIONS = 50  # assumed relations of a dataset, for estimates before it exists


def _names_too(field: dict[str, Any]) -> None:
    """Let the published schema accept a model's name in place of its entry, as a configuration file may."""
    field["items"] = {"anyOf": [field["items"], {"type": "string"}]}


class EditionConfig(AuthorsConfig):
    """The configuration of one edition: everything that is built, asked, measured and reported."""

    edition: Name = Field(description="the edition's name: results/EDITION")
    title: str = Field(default="What language models know", description="the report's title")
    credit: tuple[str, ...] = Field(
        default=("The Almanac authors",), min_length=1, description="the authors that the frozen edition is cited by"
    )
    facts: Annotated[str | None, OnDisk("facts")] = Field(
        default=None, description="the folder or file of facts, for sources of kind files without a `path`"
    )
    contact: str | None = Field(
        default=None, description="your e-mail address or web page, sent to public servers: `--config contact=…`"
    )
    registry: Annotated[str, OnDisk("registry")] = Field(
        default=REGISTRY, description="the file in which models are looked up by name"
    )
    sources: dict[Name, AnySource] = Field(default_factory=dict, description="sources, by name")
    planting: PlantingConfig = Field(default=PlantingConfig(), description="planted worlds and what they teach")
    datasets: dict[Name, DatasetConfig] = Field(default_factory=dict, description="datasets, by name")
    suites: SuitesConfig = Field(default=SuitesConfig(), description="the suites that are asked, and their settings")
    models: tuple[ModelConfig, ...] = Field(
        default=(),
        description="the models that are asked: names in the registry, or entries with path, hub, api or planted",
        json_schema_extra=_names_too,
    )
    model: str | None = Field(
        default=None,
        description="a further model, as `--config model=…`: a name in the registry, a directory, OWNER/NAME@COMMIT "
        "of the Hugging Face hub, or the address of an OpenAI-compatible server; or several, separated by spaces",
    )
    compare: tuple[Annotated[tuple[str, ...], Field(min_length=2, max_length=2)], ...] = Field(
        default=(),
        description="pairs of models that the page compares by every method, `[[ONE, OTHER], …]`, ONE minus OTHER; "
        "p-values are adjusted for these pairs only; none: all pairs of up to eight models (of the checkpoints of one "
        "training run, only neighbours)",
    )
    validation: Bars = Field(default=Bars(), description="the bars for the recovery of planted knowledge")
    size: Literal["quick", "full", "all"] = Field(
        default="quick",
        description="quick: suites ask a `sample` where their settings have one; full: they ask all test facts; all: "
        f"in addition every fact that is no example becomes a test fact, up to {MOST_TEST:,} per relation",
    )
    only: str | None = Field(
        default=None,
        description="the only suites that are asked, separated by spaces or in a list: `--config only='ONE OTHER'`; "
        "none: all of `suites`",
        json_schema_extra={
            "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}, {"type": "null"}]
        },
    )
    shards: int = Field(default=2, ge=1, le=500, description="number of shards per model, suite and dataset")
    answer_together: int = Field(
        default=20_000_000,
        ge=0,
        description="models with fewer parameters, and those of servers, answer all requests of first rounds in one "
        "job per shard, since loading or testing takes longer than answering; 0: none",
    )
    gpus: int = Field(
        default=1,
        ge=0,
        description="number of GPUs of this machine; jobs that need one wait for each other, and each has all cores if "
        "there is no GPU",
    )
    freeze_megabytes: int = Field(
        default=500,
        ge=0,
        description="the most megabytes of responses of one model, suite and dataset that a frozen edition carries; of "
        "larger responses it carries the digests and the judged tables",
    )
    engine: Literal["forest", "stock_mask", "prefix_cache", "reference"] = Field(
        default="forest", description="the fastest backend that may be used to score requests (docs/engine.md)"
    )

    @field_validator("only", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        """Join a list of suites with spaces."""
        return " ".join(value) if isinstance(value, list) and all(isinstance(one, str) for one in value) else value

    @field_validator("compare", mode="before")
    @classmethod
    def _pairs(cls, value: object) -> object:
        """Accept a single pair ``[ONE, OTHER]`` in place of a list of pairs."""
        one_pair = isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(one, str) for one in value)
        return [value] if one_pair else value

    @model_validator(mode="after")
    def _names_are_there(self, info: ValidationInfo) -> Self:
        for name, dataset in self.datasets.items():
            _known("source", dataset.source, self.sources, f"datasets.{name}")
            _known("world", dataset.world, self.planting.worlds, f"datasets.{name}")
        if self.planting.taught is not None:
            taught = self.planting.taught.dataset
            _known("dataset", taught, self.datasets, "planting.taught")
            if self.datasets[taught].world is not None:
                raise ValueError(f"planting.taught: dataset {taught!r} is itself a planted world; name a real one")
        self._check_doses()
        self._check_suites((info.context or {}).get(KNOWN, set()))
        names = self._check_names()
        for model in self.models:
            for dataset_name in model.datasets or ():
                _known("dataset", dataset_name, self.datasets, f"models.{model.name}")
            for suite in model.suites or ():
                _known("suite", suite, self.suites.by_name(), f"models.{model.name}")
            if model.planted is not None and not self.planting.worlds:
                raise ValueError(f"models.{model.name}: a planted model needs a world; add one to planting.worlds")
            unwritten = sorted(set(model.planted.kinds if model.planted else ()) & set(TUNING))
            if unwritten and not self.planting.corpus.instruct:
                raise ValueError(
                    f"models.{model.name}: reads {', '.join(unwritten)}, which the corpus lacks with "
                    "planting.corpus.instruct: false; set it to true, or leave them out of the model's kinds"
                )
        for key, author in self.authors().items():
            self._author_can_be(key, author)
        self._check_named(names, (info.context or {}).get(KNOWN))
        for name, source in self.sources.items():
            if isinstance(source, FilesOptions) and source.path is None and self.facts is None:
                raise ValueError(f"sources.{name}: has no path; give the folder or file with --config facts=PATH")
            reachable = self.contact is not None and ("@" in self.contact or "http" in self.contact)
            own_files = isinstance(source, DumpOptions) and source.path is not None
            if isinstance(source, NetworkOptions) and source.snapshot is None and not own_files and not reachable:
                raise ValueError(
                    f"contact: is {self.contact!r}; sources.{name} asks public servers, which want to know whom to "
                    "write to; give an e-mail address or a page with --config contact=YOU@EXAMPLE.ORG"
                )
        return self

    def _check_doses(self) -> None:
        """Refuse worlds with datasets whose doses are not those of the first: all worlds are validated together."""
        worlds = [one.world for one in self.datasets.values() if one.world is not None]
        doses = {name: self.planting.worlds[name].doses for name in worlds}
        first = next(iter(doses), "")
        for name, own in doses.items():
            if sorted(own) != sorted(doses[first]):
                raise ValueError(
                    f"planting.worlds: {first} has the doses {[*doses[first]]} and {name} {[*own]}; methods are "
                    "validated by all worlds together: give them the same, or ask about one in another edition"
                )

    def _check_names(self) -> list[str]:
        """Refuse names that are one folder on case-insensitive disks; return the participants' names."""
        named: dict[str, Collection[str]] = {
            "sources": self.sources,
            "planting.worlds": self.planting.worlds,
            "datasets": self.datasets,
        }
        for key, given in named.items():
            if alike := _alike(given):
                raise ValueError(f"{key}: {' and '.join(alike)} would be one folder on some disks; rename one")
        names = [name for model in self.models for name in self._names_of(model)]
        if taken := [name for name in names if name.lower() in TAKEN]:
            raise ValueError(
                f"models: the name {taken[0]} is taken by {TAKEN[taken[0].lower()]}; give another name: "
                "models='[{name: a, path: FOLDER}]'"
            )
        if twice := _alike(names):
            again = [model for model in self.models if model.name in twice]
            given = sorted({one for model in again for one in (model.path, model.api) if one})
            origins = f" (of {' and '.join(given)})" if given else ""
            where = "api: URL" if all(model.api for model in again) else "path: FOLDER"
            raise ValueError(
                f"models: a name may occur only once; given again: {', '.join(twice)}{origins}; give other names: "
                f"models='[{{name: a, {where}}}, {{name: b, {where}}}]'"
            )
        return names

    def _author_can_be(self, key: str, author: AuthorConfig) -> None:
        """Refuse an author whose model or dataset does not exist, or whose model writes no text."""
        _known("dataset", author.dataset, self.datasets, key)
        participants = self.participants()
        _known("model", author.model, participants, key)
        _check_writes(key, participants[author.model].model)

    def _check_named(self, names: Collection[str], registry: Collection[str] | None) -> None:
        """Refuse unknown models in `compare`, as a base, or as the reference of the bars.

        A base or reference may also be in the registry; if that is not given, these two are not checked.
        """
        for pair in self.compare:
            for one in pair:
                _known("model", one, names, "compare")
            if pair[0] == pair[1]:
                raise ValueError(f"compare: {pair[0]!r} is compared with itself; name another model")
        pairs = [frozenset(pair) for pair in self.compare]
        if twice := [pair for at, pair in enumerate(pairs) if pair in pairs[:at]]:
            raise ValueError(f"compare: {' and '.join(sorted(twice[0]))} are named twice; keep one pair")
        if registry is None:
            return
        for model in self.models:
            _known("model", model.base, {*names, *registry}, f"models.{model.name}.base")
        if self.validation.reference != Bars().reference:
            there = {*(model.name for model in self.models), *registry}
            _known("model", self.validation.reference, there, "validation.reference")

    def _check_suites(self, registry: Collection[str]) -> None:
        entries = {model.name for model in self.models} | set(registry)
        if "," in (self.only or ""):
            spaced = " ".join(str(self.only).replace(",", " ").split())
            how = f'SUITES="{spaced}", or --suites {spaced}'
            raise ValueError(f"only: found {self.only!r}; put spaces between suites: {how}")
        for name in (self.only or "").split():
            _known("suite", name, self.suites.by_name(), "only")
        for suite, datasets in self.suites.by_name().items():
            for name, options in datasets.items():
                _known("dataset", name, self.datasets, f"suites.{suite}")
                for key, model in options.named_models():
                    _known("model", model, entries, f"suites.{suite}.{name}.{key}")
                for key, writer in options.writers():
                    for author in (one for one in self.models if one.name == writer):
                        _check_writes(f"suites.{suite}.{name}.{key}", author)
                key, shown = options.shown
                if shown > self.datasets[name].train:
                    raise ValueError(
                        f"suites.{suite}.{name}: {shown} {key} need as many train facts; "
                        f"datasets.{name}.train is {self.datasets[name].train}"
                    )

    def settled(self) -> "EditionConfig":
        """Return the configuration with everything filled in that follows from its models, `size` and `only`.

        - Suites name only models of the edition, and only suites that are asked have settings.
        - Datasets and suites have the size that is asked for.
        - A checkpoint in a directory has its number of parameters, so that the directory is not needed later.
        - If the reference of the bars is none of the models for which bars are set, it is the largest of these, if any.
        """
        there = {model.name for model in self.models}
        only = self.only.split() if self.only else self.suites.by_name()
        suites = {
            suite: {dataset: self._sized(options.among(there)) for dataset, options in datasets.items()}
            if suite in only
            else {}
            for suite, datasets in self.suites.by_name().items()
        }
        changed: dict[str, Any] = {"suites": self.suites.model_copy(update=suites)}
        if self.size == "all":
            changed["datasets"] = {
                name: dataset.model_copy(update={"test": max(dataset.test, MOST_TEST)})
                for name, dataset in self.datasets.items()
            }
        held = {model.name: model for model in self.models if model.planted is not None and model.planted.judged}
        if held and self.validation.reference not in held:
            largest = max(held, key=lambda name: held[name].size)
            changed["validation"] = self.validation.model_copy(update={"reference": largest})
        return self.model_copy(update=changed | {"models": tuple(model.settled() for model in self.models)})

    def _sized(self, options: SuiteOptions) -> SuiteOptions:
        sampled = self.size != "quick" and "sample" in type(options).model_fields
        return options.model_copy(update={"sample": None}) if sampled else options

    def remarks(self, written: "EditionConfig") -> Iterator[str]:
        """Yield remarks on suites that name models which the edition lacks, and on suites that no model is asked.

        Also on the model that replaces a missing reference of the bars.

        Args:
            written: the configuration before it was settled (`settled`).
        """
        asked = {(one.suite, one.dataset) for one in self.asked()}
        there = {model.name for model in self.models}
        silent: dict[str, list[str]] = {}
        for suite, datasets in self.suites.by_name().items():
            for dataset, options in datasets.items():
                before = written.suites.by_name()[suite][dataset]
                named = before.models
                if (suite, dataset) not in asked:
                    silent.setdefault(dataset, []).append(suite)
                    continue
                lost = [name for key, name in before.named_models() if key != "models" and name not in there]
                if lost:
                    names = ", ".join(dict.fromkeys(lost))
                    yield f"{suite} names {names} on {dataset}, which this edition lacks; what needs them is left out"
                if named and not options.models:
                    names = ", ".join(named)
                    yield f"{suite} names {names} on {dataset}, which this edition lacks; all its models are asked"
        if not self.models:
            yield "no model is named, so only the questions are made; name one with --config model=…"
            return
        lacking, held = written.validation.reference, self.validation.reference
        if lacking != held and any(method.held for one in self.asked() for method in SUITES[one.suite].methods):
            yield f"validation.reference is {lacking}, no planted decoder here; its bar is applied to {held} instead"
        for dataset, suites in silent.items():
            reason = "; an invented world is asked only of models planted in it" * bool(self.datasets[dataset].world)
            yield f"no model is asked {', '.join(suites)} on {dataset}{reason}"

    def source_folder(self, name: str) -> str:
        """Return the folder of a source of kind ``files``."""
        source = self.sources[name]
        path = source.path if isinstance(source, FilesOptions) else None
        return str(path or self.facts)

    @property
    def corpus_tokens(self) -> int:
        """The approximate number of tokens of the largest corpus: ten for each time that a fact is taught."""
        worlds = self.planting.worlds.values()
        taught = [world.objects * sum(world.doses) * (world.relations or PLAIN_RELATIONS) for world in worlds]
        real = self.planting.taught
        return 10 * (max(taught, default=0) + (real.facts * sum(real.doses) // len(real.doses) if real else 0))

    def shard_tokens(self, suite: str, dataset: str) -> int:
        """Estimate the tokens that a model reads for one shard, each context once, for at least 50 relations."""
        relations = max(RELATIONS, self.relations(dataset) or 0)
        return self.asked_tokens(suite, dataset, relations, self.datasets[dataset].test) // self.shards

    def relations(self, dataset: str) -> int | None:
        """Return the largest number of relations that a dataset can have, by its world or source; None if unknown."""
        options = self.datasets[dataset]
        if options.world is not None:
            return self.planting.worlds[options.world].relations or PLAIN_RELATIONS
        return self.sources[str(options.source)].count()

    def asked_tokens(self, suite: str, dataset: str, relations: int, facts: int) -> int:
        """Estimate the tokens that a model reads in all shards; ``facts``: test facts per relation."""
        if suite in self.authors():
            return self.authors()[suite].cost(facts, relations)
        options = self.suites.by_name()[suite][dataset]
        return options.tokens(facts, self.datasets[dataset].choices, relations)

    def participants(self) -> dict[str, "Participant"]:
        """Return all models that are asked, by name: every checkpoint, and every recipe once per world."""
        named = ((model, self._names_of(model)) for model in self.models)
        return {name: Participant(name, model, world) for model, own in named for name, world in own.items()}

    def _names_of(self, model: ModelConfig) -> dict[str, str | None]:
        """Return the names under which a model is asked, each with the world that it was planted in, if any."""
        if model.planted is None:
            return {model.name: None}
        if len(self.planting.worlds) == 1:
            return {model.name: next(iter(self.planting.worlds))}
        return {f"{model.name}-{world}": world for world in self.planting.worlds}

    def asked(self, model: str | None = None) -> Iterator["Asking"]:
        """Yield each model, suite and dataset that is asked, of one model or of all.

        An invented world is asked only of the models that were planted in it; real facts are asked of all models.
        """
        for participant in self.participants().values():
            if model not in (None, participant.name):
                continue
            for suite, datasets in self.suites.by_name().items():
                if participant.model.suites is not None and suite not in participant.model.suites:
                    continue
                for dataset, options in datasets.items():
                    world = self.datasets[dataset].world
                    allowed = participant.model.datasets is None or dataset in participant.model.datasets
                    allowed = allowed and (not options.models or participant.model.name in options.models)
                    if allowed and (world is None or world == participant.world):
                        yield Asking(participant.name, suite, dataset)

    def answering_together(self) -> list[str]:
        """Return the models that answer all rounds that models share in one job per shard: small ones, and servers'.

        A server is tested at the start of each job, and its limit of concurrent calls is per job.
        """
        return [name for name, one in self.participants().items() if one.model.size < self.answer_together]

    def null_of(self, asking: "Asking") -> "Asking | None":
        """Return the same suite and dataset asked of a model's null, or None if there is none.

        The null has the same recipe and world, but was trained on permuted objects. Only planted models have a null.
        """
        participants = self.participants()
        participant = participants[asking.model]
        if participant.model.planted is None or participant.model.control:
            return None
        sought = participant.model.planted.model_copy(update={"permuted": True}), participant.world
        nulls = [name for name, one in participants.items() if (one.model.planted, one.world) == sought]
        return next((found for name in nulls if (found := asking._replace(model=name)) in self.asked()), None)

    def used_datasets(self, suite: str | None = None) -> list[str]:
        """Return the datasets that at least one model is asked, by one suite or by any, in configuration order."""
        asked = {asking.dataset for asking in self.asked() if suite in (None, asking.suite)}
        return [name for name in self.datasets if name in asked]

    def used_sources(self) -> list[str]:
        """Return the names of the sources of these datasets, sorted."""
        return sorted({name for one in self.used_datasets() if (name := self.datasets[one].source) is not None})


class Participant(NamedTuple):
    """A model as it is asked: its name in tables, its entry, and the world that it was planted in, if any."""

    name: str
    model: ModelConfig
    world: str | None


class Asking(NamedTuple):
    """One suite asked of one model on one dataset."""

    model: str
    suite: str
    dataset: str


def _alike(names: Collection[str]) -> list[str]:
    """Return names that are equal except for case, which are one folder on some disks."""
    times = Counter(name.lower() for name in names)
    return list(dict.fromkeys(name for name in names if times[name.lower()] > 1))


def _check_writes(key: str, model: ModelConfig) -> None:
    """Refuse a model that writes no text."""
    if not model.writes:
        raise ValueError(f"{key}: model {model.name!r} writes no text; name one that generates")


def _known(what: str, name: str | None, allowed: Collection[str], where: str) -> None:
    if name is not None and name not in allowed:
        raise ValueError(f"{where}: there is no {what} {name!r}{did_you_mean(name, allowed)}")
