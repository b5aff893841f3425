"""A tiny edition, for the tests of its page: made by the commands that the workflow runs, the models' answers apart."""

import shlex
from dataclasses import dataclass

from almanac import tables
from almanac.cli import main
from almanac.config import EditionConfig
from almanac.dataset.multiple_choice import build
from almanac.edition.layout import DATASET_TABLES, Layout
from almanac.options import to_flags
from almanac.rows import Entity, Evidence, Exposure, Fact, Relation, Request, Response, Template
from almanac.verbs.report import report_page

SIZES = {"min_facts": 10, "min_objects": 5, "train": 8, "test": 24, "choices": 6}
DOSES = (0, 4, 64)


@dataclass(frozen=True)
class Known:
    """What a dataset is built of."""

    relations: list[Relation]
    facts: list[Fact]
    entities: list[Entity]
    templates: list[Template]
    evidence: list[Evidence] | tuple[()] = ()


def facts_of(relations, source="invented"):
    """Return sixty facts a relation, ``P1|Q0|O0`` and so on: five subjects an object."""
    return [
        Fact(f"{relation}|Q{at}|O{at % 12}", relation, f"Q{at}", f"O{at % 12}", *[None] * 3, (), None, source)
        for relation in relations
        for at in range(60)
    ]


def asked(root, config, known):
    """Write an edition's datasets, all built of the same, and ask its suites of them."""
    layout = Layout(root, EditionConfig.model_validate({"edition": "tiny", **config}))
    (root / "edition.json").write_text(layout.config.model_dump_json())
    for name in layout.config.datasets:
        _write_dataset(layout, name, known)
    for suite, name in dict.fromkeys((asking.suite, asking.dataset) for asking in layout.config.asked()):
        flags = shlex.split(to_flags(getattr(layout.config.suites, suite)[name]))
        words = ["--dataset", str(root / "dataset" / name), "--shards", str(layout.config.shards), *flags]
        assert main(["ask", suite, *words, "--output", str(layout.request_folder(suite, name))]) == 0
    return layout


def _write_dataset(layout, name, known):
    built = build(known.relations, known.facts, known.entities, layout.config.datasets[name])
    rows = {key: getattr(known, key) for key in ("entities", "templates", "evidence")} | {"popularity": ()}
    rows |= {key: getattr(built, key) for key in ("relations", "facts", "choices", "refused", "counts")}
    for table, row in DATASET_TABLES.items():
        tables.write(layout.dataset(name, table), row, rows[table])


def finish(layout, answer, exposures=()):
    """Answer every request by ``answer(model, request)``, and go on to the page."""
    for asking in layout.config.asked():
        if (taught := layout.exposures(asking)) is not None:
            tables.write(taught, Exposure, exposures)
        shards = zip(layout.requests(asking.suite, asking.dataset), layout.responses(asking), strict=True)
        for requests, responses in shards:
            tables.write(responses, Response, [answer(asking.model, row) for row in tables.read(requests, Request)])
    return measure(layout)


def measure(layout):
    """Measure every model, compare, validate, and make the page."""
    edition = ["--edition", str(layout.root)]
    for asking in layout.config.asked():
        assert main(["measure", asking.suite, *edition, "--model", asking.model, "--dataset", asking.dataset]) == 0
    for table in ("comparison", "validation"):
        assert main(["measure", table, *edition]) == 0
    report_page(layout)
    return layout
