"""Paths of all files in an edition's folder: the only place that defines them, for Python and for the rules."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from almanac import rows, tables
from almanac.config import Asking, EditionConfig
from almanac.config.models import FINISHED
from almanac.edition.asking import TABLES as REQUEST_TABLES
from almanac.errors import AlmanacError
from almanac.frames import read_frame
from almanac.options import INSIDE, explain
from almanac.sealed import PULLED, opened
from almanac.sources.files import table_files
from almanac.sources.records import TABLES as FACT_TABLES
from almanac.sources.source_tables import STREAMED
from almanac.suites.answers import Answers, RoundFiles
from almanac.suites.data import Data
from almanac.suites.listing import ASKING, SUITES
from almanac.suites.suite import Asks, Suite
from almanac.weight_files import stored_parameters

Row = TypeVar("Row")
RECORD = "edition.json"  # holds an edition's configuration
SHOWN = ("tables", "figures", "items")  # folders next to the page; `items` has those that do not fit on the page
ALL = "all"  # replaces a model's name in the path of a round whose requests are the same for every model
# Metadata keys of the table `across`: the sha256 of each user's file that an archive carries, and the number of
# parameters of each model.
CARRIED, PARAMETERS = "almanac.carried", "almanac.parameters"
DATASET_TABLES: dict[str, type] = {
    "entities": rows.Entity,
    "relations": rows.Relation,
    "facts": rows.Fact,
    "choices": rows.Choices,
    "templates": rows.Template,
    "popularity": rows.Popularity,
    "evidence": rows.Evidence,
    "exposures": rows.Exposure,
    "refused": rows.Refused,
    "counts": rows.RelationCount,
}
# Tables that compare models or methods: measures across models, recovery of planted knowledge, agreement of methods,
# facts counted by how many methods call them known, and how well methods detect what models were taught.
BETWEEN: dict[str, type] = {
    "across": rows.Measure,
    "validation": rows.Validation,
    "agreements": rows.Agreement,
    "knowledge": rows.Knowledge,
    "standings": rows.Standing,
}


@dataclass(frozen=True)
class Layout:
    """The paths of an edition's files.

    Attributes:
        root: the edition's folder, ``results/EDITION``.
        config: the edition's configuration.
        recorded: the number of parameters of each model as an archive records it, for models whose weights are absent.
    """

    root: Path
    config: EditionConfig
    recorded: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def open(cls, root: Path, *, unpacked: bool = False) -> "Layout":
        """Open an edition's folder by reading the recorded configuration, and none of the files that it names.

        Args:
            root: the folder.
            unpacked: whether the folder comes from an archive. Then all files that the configuration names lie in this
                folder, and nothing outside it is read.

        Raises:
            AlmanacError: the folder holds no edition.
        """
        record = root / RECORD
        if not record.is_file():
            raise AlmanacError(f"{root}: is no edition (it has no {RECORD}); name a folder like results/demo")
        try:
            settings = opened(json.loads(record.read_text(encoding="utf-8")))
            # The record lists all suites that were installed where it was made; one without datasets need not be here.
            if isinstance(suites := settings.get("suites"), dict):
                settings["suites"] = {name: datasets for name, datasets in suites.items() if datasets != {}}
            context = {INSIDE: root} if unpacked else {FINISHED: True}
            return cls(root, EditionConfig.model_validate(settings, context=context))
        except ValidationError as error:
            raise AlmanacError(
                f"{explain(error, RECORD if unpacked else str(record), 'sources', values=settings)}\nIt was made by "
                "another version (read it with that one, which an archive's manifest.json names as its commit, or make "
                "it again by the command that made it), asks a suite of a package that is not installed here (in an "
                "archive, lock.txt names it last), or is damaged"
            ) from error
        except ValueError as error:
            raise AlmanacError(f"{record}: is damaged ({error}); build it again") from error

    # Inputs, page and logs

    def record(self) -> Path:
        """Return the file that records the whole configuration."""
        return self.root / RECORD

    def record_before(self) -> Path:
        """Return where a run that rewrites the record keeps the earlier one until its first job."""
        return self.root / f".{RECORD}"

    def page(self) -> Path:
        """Return the page."""
        return self.root / "report.html"

    def shown(self, what: str) -> Path:
        """Return one of the folders next to the page: see `SHOWN`."""
        return self.root / what

    def drawn(self) -> list[Path]:
        """Return the page and the files that exist in the folders next to it."""
        return [self.page(), *(path for what in SHOWN for path in self.shown(what).glob("[!.]*"))]

    def drawn_list(self) -> Path:
        """Return the file that lists what Almanac wrote in these folders; any other file there belongs to the user."""
        return self.root / ".drawn"

    def frozen(self) -> Path:
        """Return the file that names the archive that was frozen last; it lies in the folder of the archives."""
        return self.root.parent / "editions" / self.root.name / "latest.txt"

    def log(self, name: str) -> Path:
        """Return the log of a job; ``name`` is the rule's name and the job's wildcards."""
        return self.logs() / f"{name}.log"

    def logs(self) -> Path:
        """Return the folder of all logs."""
        return self.root / "logs"

    def source(self, source: str) -> Path:
        """Return the folder of a source's tables."""
        return self.root / "sources" / source

    def planting(self, world: str) -> Path:
        """Return the folder of an invented world and its corpora."""
        return self.root / "planting" / world

    def world(self, world: str) -> dict[Path, type]:
        """Return the tables of an invented world with their row classes; the texts with its facts are in its corpus."""
        names = ("entities", "relations", "facts", "templates", "popularity", "exposures")
        return {self.planting(world) / "world" / f"{name}.parquet": DATASET_TABLES[name] for name in names}

    def model(self, model: str) -> Path:
        """Return the folder of a planted model, or of a model that was pulled from a hub."""
        return self.root / "models" / model

    def parameters(self, model: str) -> int | None:
        """Return a model's number of parameters: from its entry, else its weights, else a record; None if unknown."""
        entry = self.config.participants()[model].model
        found = entry.parameters or stored_parameters(Path(entry.path or self.model(model)))
        return found or self.recorded.get(model) or json.loads(self.noted(PARAMETERS) or "{}").get(model)

    def sizes(self) -> dict[str, int]:
        """Return the number of parameters of each model for which it is known; the page shows it."""
        found = {name: self.parameters(name) for name in self.config.participants()}
        return {name: count for name, count in sorted(found.items()) if count}

    def noted(self, what: str) -> str:
        """Return metadata of the table `across`, `CARRIED` or `PARAMETERS`; empty before models are compared.

        It is kept there because the files and weights that it describes may be changed or removed later.
        """
        across = self.between("across")
        return tables.read_metadata(across).get(what, "") if across.is_file() else ""

    def written(self, author: str, dataset: str) -> Path:
        """Return the file of texts that a model wrote on a dataset, for a person to proofread."""
        return self.root / author / f"{dataset}.jsonl"

    # Datasets

    def dataset_folder(self, dataset: str) -> Path:
        """Return a dataset's folder."""
        return self.root / "dataset" / dataset

    def dataset(self, dataset: str, table: str) -> Path:
        """Return a dataset's table."""
        return self.dataset_folder(dataset) / f"{table}.parquet"

    def data(self, dataset: str) -> Data:
        """Return a dataset in the form that suites read."""
        return Data(self.dataset_folder(dataset))

    # Rounds

    def requests_folder(self, suite: str, dataset: str, at: str, about: str) -> Path:
        """Return the folder of a suite's requests on a dataset in round ``at``; ``about`` is a model or `ALL`."""
        return self.root / "requests" / suite / dataset / at / about

    def responses_folder(self, answerer: str, suite: str, dataset: str, at: str, about: str) -> Path:
        """Return the folder of a model's responses to these requests."""
        return self.root / "responses" / answerer / suite / dataset / at / about

    def shards(self, folder: Path, name: str) -> list[Path]:
        """Return the files of a folder, one per shard; ``name`` is ``requests`` or ``responses``."""
        return [self.shard(folder, name, shard) for shard in range(self.config.shards)]

    def shard(self, folder: Path, name: str, shard: int | str) -> Path:
        """Return the file of one shard, or its pattern if ``shard`` is a wildcard."""
        return folder / f"{name}-{shard}.parquet"

    def rounds(self, asking: Asking) -> list[RoundFiles]:
        """Return the files of each round in which a suite asks a model, in the order of the rounds."""
        options = self.options(asking)
        found = []
        for one in ASKING[asking.suite].rounds_of(options):
            answerer = asking.model
            if one.answered_by is not None:
                answerer = self._beside(asking.model, getattr(options, one.answered_by))
            place = asking.suite, asking.dataset, one.name, asking.model if one.about_one else ALL
            folder = self.requests_folder(*place)
            requests = self.shards(folder, "requests")
            responses = self.shards(self.responses_folder(answerer, *place), "responses")
            found.append(RoundFiles(one.name, folder, tuple(requests), tuple(responses), answerer))
        return found

    def every_round(self) -> Iterator[RoundFiles]:
        """Yield the files of every round of every suite, model and dataset; a round of several models once for each."""
        for asking in self.config.asked():
            yield from self.rounds(asking)

    def _beside(self, asked: str, answers: str) -> str:
        """Return the participant of model ``answers`` that answers in place of ``asked``, of the same world if any."""
        participants = self.config.participants()
        world = participants[asked].world if asked in participants else None
        found = [one for one in participants.values() if one.model.name == answers]
        return min(found, key=lambda one: one.world != world).name

    def responses(self, asking: Asking) -> list[Path]:
        """Return the response files of all rounds."""
        return [path for one in self.rounds(asking) for path in one.responses]

    def asked(self, folder: Path, suite: Asks[Any]) -> dict[Path, type]:
        """Return the tables that a suite writes when it asks one round, with their row classes."""
        row_classes = REQUEST_TABLES | suite.tables("asked")
        found = {folder / f"{table}.parquet": row for table, row in row_classes.items()}
        return found | dict.fromkeys(self.shards(folder, "requests"), rows.Request)

    def answers(self, asking: Asking) -> Answers:
        """Return a model's requests and responses, with the exposures of what it was taught, if any."""
        suite = ASKING[asking.suite]
        path = self.exposures(asking)
        return Answers(
            asking.model,
            asking.dataset,
            self.rounds(asking),
            suite.setting,
            suite.tables("asked"),
            None if path is None else read_frame(path, rows.Exposure),
        )

    def options(self, asking: Asking) -> Any:
        """Return the options of a suite, or of an author, on a dataset."""
        if asking.suite in SUITES:
            return self.config.suites.by_name()[asking.suite][asking.dataset]
        return self.config.authors()[asking.suite]

    # Numbers

    def judged(self, asking: Asking, table: str) -> Path:
        """Return a table of a model's judged items: ``outcomes``, or a table that the suite declares."""
        return self.root / "outcomes" / asking.model / asking.suite / asking.dataset / f"{table}.parquet"

    def judgements(self, asking: Asking, *, frozen: bool = False) -> dict[Path, type]:
        """Return all tables of judged items with their row classes; ``frozen``: only those that archives carry."""
        row_classes = {"outcomes": rows.Outcome, **SUITES[asking.suite].tables("judged", frozen=frozen)}
        return {self.judged(asking, table): row for table, row in row_classes.items()}

    def made_of(self, asking: Asking) -> list[Path]:
        """Return the files from which a model's outcomes and measures are computed."""
        found = [self.dataset(asking.dataset, table) for table in DATASET_TABLES]
        for files in self.rounds(asking):
            found += [*self.asked(files.folder, SUITES[asking.suite]), *files.responses]
        exposures = self.exposures(asking)
        found += [] if exposures is None else [exposures]
        return [*found, *map(Path, self.options(asking).files("measure"))]

    def numbers(self, model: str) -> Path:
        """Return the folder of a model's measures."""
        return self.root / "measures" / model

    def measures(self, asking: Asking) -> Path:
        """Return the table of a model's measures by one suite on one dataset."""
        return self.numbers(asking.model) / asking.suite / f"{asking.dataset}.parquet"

    def ended(self, made: Path) -> Path:
        """Return the marker file of a job that makes a file or a folder: it exists only if the job has succeeded.

        When a job that updates its output files (`update`) fails, Snakemake restores the earlier files and records them
        as results of that job. It removes this marker before the job and creates it only after success.
        """
        return made.parent / f".{made.name}.ended"

    def between(self, table: str) -> Path:
        """Return a table that compares models or methods: one of `BETWEEN`."""
        return self.root / "measures" / f"{table}.parquet"

    def exposures(self, asking: Asking) -> Path | None:
        """Return the exposures of a planted model; None for other models, and for facts that it was not taught."""
        participant = self.config.participants()[asking.model]
        taught = self.config.planting.taught
        own_world = self.config.datasets[asking.dataset].world == participant.world
        source = self.config.datasets[asking.dataset].source
        real_facts = taught is not None and source is not None and source == self.config.datasets[taught.dataset].source
        if participant.world is None or not (own_world or real_facts):
            return None
        return self.model(asking.model) / "exposures.parquet"

    # The whole edition

    def askings(self) -> Iterator[tuple[Suite[Any], str, list[Asking]]]:
        """Yield each suite and dataset with the models that are asked, in the order of the configuration."""
        asked = list(self.config.asked())
        for name, suite in SUITES.items():
            for dataset in self.config.used_datasets(name):
                yield suite, dataset, [one for one in asked if (one.suite, one.dataset) == (name, dataset)]

    def tables(self) -> dict[Path, type]:
        """Return every table of the edition, from the datasets to the validation, with its row class."""
        out: dict[Path, type] = {}
        for name in self.config.used_datasets():
            out |= {self.dataset(name, table): row for table, row in DATASET_TABLES.items()}
        for asking in self.config.asked():
            for files in self.rounds(asking):
                out |= self.asked(files.folder, SUITES[asking.suite]) | dict.fromkeys(files.responses, rows.Response)
            out |= self.judgements(asking, frozen=True) | {self.measures(asking): rows.Measure}
            exposures = self.exposures(asking)
            if exposures is not None:
                out[exposures] = rows.Exposure
        return out | {self.between(table): row for table, row in BETWEEN.items()}

    def facts(self, dataset: str) -> Path:
        """Return the folder that a dataset's facts are read from."""
        made_of = self.config.datasets[dataset]
        if made_of.world is not None:
            return self.planting(made_of.world) / "world"
        return self.source(str(made_of.source))

    def facts_record(self, dataset: str) -> Path:
        """Return the file that is written last in the folder of a dataset's facts."""
        world = self.config.datasets[dataset].world
        return self.facts(dataset) / ("exposures.parquet" if world is not None else PULLED)

    def facts_tables(self) -> dict[Path, type]:
        """Return the tables of facts that datasets are built from, with row classes; without the user's (`copied`)."""
        pulled = {table: row for table, row in STREAMED.items() if table in FACT_TABLES}
        found: dict[Path, type] = {}
        for name in self.config.used_datasets():
            world, source = self.config.datasets[name].world, self.config.datasets[name].source
            if world is not None:
                found |= self.world(world)
            elif self.config.sources[str(source)].kind != "files":
                found |= {self.source(str(source)) / f"{table}.parquet": row for table, row in pulled.items()}
        return found

    def copied(self) -> list[Path]:
        """Return the edition's copies of the user's files of facts that datasets are built from."""
        names = [name for name in self.config.used_sources() if self.config.sources[name].kind == "files"]
        return [path for name in names for path in table_files(self.source(name))]

    def products(self) -> list[Path]:
        """Return all files of a finished edition, so that a missing one is noticed and made again.

        These are the tables, also those that archives do not carry, the records of the configuration and the sources,
        the page and the folders next to it. Models are not included: their responses are, so weights may be removed.
        """
        found = dict.fromkeys(self.tables())
        for asking in self.config.asked():
            found |= dict.fromkeys(self.judgements(asking))
        found |= dict.fromkeys(self.source(name) / PULLED for name in self.config.used_sources())
        return [*found, self.record(), self.page(), *map(self.shown, SHOWN)]

    def questions(self) -> list[Path]:
        """Return the tables of the datasets and of every suite's first round on them."""
        found = [self.dataset(name, table) for name in self.config.datasets for table in DATASET_TABLES]
        for name, datasets in self.config.suites.by_name().items():
            for dataset in datasets:
                folder = self.requests_folder(name, dataset, SUITES[name].rounds[0].name, ALL)
                found += self.asked(folder, SUITES[name])
        return found

    def read(self, path: Path, row: type[Row]) -> list[Row]:
        """Read a table of the edition."""
        return tables.read(path, row)
