"""Where the files of an edition lie: the one place that knows, beside the rules that make them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from almanac import tables
from almanac.config import Asking, EditionConfig
from almanac.errors import AlmanacError
from almanac.options import explain
from almanac.rows import (
    Choices,
    Comparison,
    Context,
    Entity,
    Evidence,
    Exposure,
    Fact,
    Item,
    Link,
    Measure,
    NotAsked,
    Outcome,
    Popularity,
    QuestionSimilarity,
    Refused,
    Relation,
    RelationCount,
    Request,
    Response,
    Template,
    Validation,
)
from almanac.suites.methods import METHODS

Row = TypeVar("Row")
DATASET_TABLES: dict[str, type] = {
    "entities": Entity,
    "relations": Relation,
    "facts": Fact,
    "choices": Choices,
    "templates": Template,
    "popularity": Popularity,
    "evidence": Evidence,
    "refused": Refused,
    "counts": RelationCount,
}
REQUEST_TABLES: dict[str, type] = {"items": Item, "links": Link, "contexts": Context, "refused": NotAsked}


@dataclass(frozen=True)
class Layout:
    """The tables of an edition by what they are; ``root`` is ``results/EDITION``."""

    root: Path
    config: EditionConfig

    @classmethod
    def open(cls, root: Path) -> "Layout":
        """Open an edition's folder by the record of its configuration.

        Raises:
            AlmanacError: the folder holds no edition.
        """
        record = root / "edition.json"
        if not record.is_file():
            raise AlmanacError(f"{root}: is no edition (it has no edition.json); name a folder like results/demo")
        try:
            settings = json.loads(record.read_text(encoding="utf-8"))
            return cls(root, EditionConfig.model_validate(settings, context=cls.context(root)))
        except ValidationError as error:
            raise AlmanacError(
                f"{explain(error, str(record), 'sources')}\nIt is of another version, or damaged"
            ) from error
        except ValueError as error:
            raise AlmanacError(f"{record}: is damaged ({error}); build it again") from error

    @classmethod
    def context(cls, root: Path) -> dict[str, Any]:
        """Return what the record of the configuration is checked in the light of."""
        return {}

    def dataset(self, dataset: str, table: str) -> Path:
        """Return a dataset's table."""
        return self.root / "dataset" / dataset / f"{table}.parquet"

    def request_folder(self, suite: str, dataset: str) -> Path:
        """Return the folder of what a suite asks of all models on a dataset, in its first round."""
        return self.root / "requests" / suite / dataset / "round1"

    def second_folder(self, asking: Asking) -> Path | None:
        """Return the folder of what a suite asks of a model alone, in its second round; none where there is none."""
        if not self.config.suites.by_name()[asking.suite][asking.dataset].asks_again:
            return None
        return self.root / "requests" / asking.suite / asking.dataset / "round2" / asking.model

    def request_folders(self, asking: Asking) -> list[Path]:
        """Return the folders of what a model is asked, one a round."""
        second = self.second_folder(asking)
        return [self.request_folder(asking.suite, asking.dataset), *([] if second is None else [second])]

    def requests_in(self, folder: Path) -> list[Path]:
        """Return the request files of a folder, one a shard."""
        return [folder / f"requests-{shard}.parquet" for shard in range(self.config.shards)]

    def responses(self, asking: Asking) -> list[Path]:
        """Return the response files of a model, one a round and shard."""
        folder = self.root / "responses" / asking.model / asking.suite / asking.dataset
        return [
            folder / f"round{number}" / f"responses-{shard}.parquet"
            for number, _ in enumerate(self.request_folders(asking), 1)
            for shard in range(self.config.shards)
        ]

    def outcomes(self, asking: Asking) -> Path:
        """Return the outcomes of a model."""
        return self.root / "outcomes" / asking.model / asking.suite / f"{asking.dataset}.parquet"

    def beside_outcomes(self, asking: Asking, table: str) -> Path:
        """Return a table that a suite has beside the outcomes of a model."""
        return self.outcomes(asking).with_name(f"{asking.dataset}.{table}.parquet")

    def measures(self, asking: Asking) -> Path:
        """Return the measures of a model."""
        return self.root / "measures" / asking.model / asking.suite / f"{asking.dataset}.parquet"

    def similarity(self, dataset: str) -> Path | None:
        """Return how alike FactEval's written questions are to those from templates; none without an embedder."""
        asked = self.config.suites.facteval.get(dataset)
        if asked is None or asked.embedder is None:
            return None
        return self.root / "measures" / "similarity" / f"{dataset}.parquet"

    def validation(self) -> Path:
        """Return the table of what is recovered of planted knowledge."""
        return self.root / "measures" / "validation.parquet"

    def comparison(self) -> Path:
        """Return the table of models side by side."""
        return self.root / "measures" / "comparison.parquet"

    def exposures(self, asking: Asking) -> Path | None:
        """Return the exposures of a planted model, or none for a checkpoint or for facts that it was not taught."""
        participant = self.config.participants()[asking.model]
        taught = self.config.planting.taught
        own = self.config.datasets[asking.dataset].world == participant.world
        real = taught is not None and taught.dataset == asking.dataset
        if participant.world is None or not (own or real):
            return None
        return self.root / "models" / asking.model / "exposures.parquet"

    def tables(self) -> dict[Path, type]:
        """Return every table from dataset to validation with its row class: what an edition is made of."""
        out: dict[Path, type] = {}
        for name in self.config.used_datasets():
            out |= {self.dataset(name, table): row for table, row in DATASET_TABLES.items()}
            similarity = self.similarity(name)
            if similarity is not None:
                out[similarity] = QuestionSimilarity
        for asking in self.config.asked():
            method = METHODS[asking.suite]
            asked = REQUEST_TABLES | dict(method.asked_beside)
            for folder in self.request_folders(asking):
                out |= {folder / f"{table}.parquet": row for table, row in asked.items()}
                out |= dict.fromkeys(self.requests_in(folder), Request)
            out |= dict.fromkeys(self.responses(asking), Response)
            out |= {self.outcomes(asking): Outcome, self.measures(asking): Measure}
            out |= {self.beside_outcomes(asking, table): row for table, row in method.measured_beside.items()}
            exposures = self.exposures(asking)
            if exposures is not None:
                out[exposures] = Exposure
        out[self.comparison()] = Comparison
        out[self.validation()] = Validation
        return out

    def products(self) -> list[Path]:
        """Return all that a finished edition consists of, so that what is missing is noticed and made again.

        These are its tables, those that are not frozen too, the records of what it is and of its sources, and the page.
        Models are none of it: what they answered is there, and weights may be removed.
        """
        workings = [
            self.beside_outcomes(asking, table)
            for asking in self.config.asked()
            for table in METHODS[asking.suite].workings
        ]
        sources = [self.config.datasets[name].source for name in self.config.used_datasets()]
        pulls = [self.root / "sources" / name / "pull.json" for name in dict.fromkeys(sources) if name is not None]
        page = [self.root / name for name in ("edition.json", "report.html", "tables", "figures")]
        return [*self.tables(), *workings, *pulls, *page]

    def questions(self) -> list[Path]:
        """Return the datasets, and all that the suites ask of them in their first round."""
        found = [self.dataset(name, table) for name in self.config.datasets for table in DATASET_TABLES]
        for suite, datasets in self.config.suites.by_name().items():
            for folder in (self.request_folder(suite, dataset) for dataset in datasets):
                names = (*REQUEST_TABLES, *METHODS[suite].asked_beside)
                found += [*(folder / f"{name}.parquet" for name in names), *self.requests_in(folder)]
        return found

    def read(self, path: Path, row: type[Row]) -> list[Row]:
        """Read a table of the edition."""
        return tables.read(path, row)
