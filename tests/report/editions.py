"""A tiny edition, for the tests of its page: made by the commands that the workflow runs, the models' answers apart."""

import csv
import json
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from almanac import tables
from almanac.cli import main
from almanac.config import EditionConfig
from almanac.edition.jobs import Jobs
from almanac.edition.layout import Layout
from almanac.models import windows
from almanac.report.making import report_page
from almanac.rows import Entity, Evidence, Exposure, Fact, Popularity, Relation, Request, Response, Template
from almanac.sources.records import TABLES as FACT_TABLES
from almanac.sources.source_tables import STREAMED
from almanac.suites.listing import SUITES
from almanac.verbs.answer import Files, answer_parts
from almanac.verbs.pull import record

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
    popularity: list[Popularity] | tuple[()] = ()


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
    layout.record().write_text(layout.config.model_dump_json())
    for name in layout.config.datasets:
        _write_dataset(layout, name, known)
    for asking in layout.config.asked():
        _ask(layout, asking, layout.rounds(asking)[0])
    return layout


def _write_dataset(layout, name, known):
    """Write what a dataset is built of, as its source or its world would, and build it by the flags of its rule."""
    folder, jobs, wildcards = layout.facts(name), Jobs(layout.config, layout), SimpleNamespace(dataset=name)
    files = [folder / f"{table}.parquet" for table in FACT_TABLES]
    for path in files:
        tables.write(path, {**STREAMED, "exposures": Exposure}[path.stem], getattr(known, path.stem, ()))
    words = []
    if layout.config.datasets[name].world is None:
        record(folder, "files", "facts", files, {})
    else:
        words = ["--evidence", str(folder / "evidence.parquet")]
    words += [*shlex.split(jobs.dataset_options(wildcards)), "--output", str(layout.dataset_folder(name))]
    drafts = [word for path in jobs.drafts(wildcards) for word in ("--drafts", str(path))]
    assert main(["build", "dataset", "--facts", str(folder), *drafts, *words]) == 0


def _ask(layout, asking, files):
    """Ask a round, by the flags of its rule; what is asked already stays."""
    suite, jobs = SUITES[asking.suite], Jobs(layout.config, layout)
    wildcards = SimpleNamespace(about=files.folder.name, dataset=asking.dataset)
    if files.folder.is_dir():
        return
    [at] = [one for one in suite.rounds if one.name == files.name]
    flags = shlex.split(f"{jobs.asks(suite, wildcards)} {jobs.before_flags(suite, at, wildcards)}")
    words = ["--dataset", str(layout.dataset_folder(asking.dataset)), "--shards", str(layout.config.shards), *flags]
    assert main(["ask", suite.name, *words, "--output", str(files.folder)]) == 0


def play(layout, reply):
    """Ask and answer every round: ``reply(model, files)`` answers a request file."""
    for asking in layout.config.asked():
        for found in layout.rounds(asking):
            _ask(layout, asking, found)
            contexts = found.folder / "contexts.parquet"
            for requests, responses in zip(found.requests, found.responses, strict=True):
                if not responses.is_file():
                    reply(found.answerer, Files(requests, contexts, responses))


def finish(layout, answer, exposures=()):
    """Answer every request by ``answer(model, request)``, and go on to the page."""
    for path in filter(None, map(layout.exposures, layout.config.asked())):
        tables.write(path, Exposure, exposures)

    def reply(model, files):
        tables.write(files.output, Response, [answer(model, row) for row in tables.read(files.requests, Request)])

    play(layout, reply)
    return measure(layout)


def answered(layout, answerer_of):
    """Answer every request by real models: ``answerer_of(model)``."""

    def reply(model, files):
        answer_parts(answerer_of(model), files, windows.survey(files.requests, files.contexts))()

    play(layout, reply)


def measure(layout):
    """Measure every model, compare, validate, and make the page."""
    edition = ["--edition", str(layout.root)]
    for model in dict.fromkeys(asking.model for asking in layout.config.asked()):
        assert main(["measure", "model", *edition, "--model", model]) == 0
    assert main(["measure", "across", *edition]) == 0
    report_page(layout)
    for path in layout.shown("tables").glob("*.csv"):
        names = next(csv.reader(path.open(encoding="utf-8")))
        assert len(set(names)) == len(names), f"{path.name}: two columns have one name: {names}"
    return layout


# What the page's script is given: a page of nothing but its data, and the numbers to open.
PAGE = """
const given = JSON.parse(require("fs").readFileSync(0, "utf-8"));
globalThis.document = { getElementById: () => ({ textContent: given.data }), addEventListener() {} };
"""
PRESS = """
ready.then(() => Promise.all(given.numbers.map(async (number) => {
  const { columns } = await itemsOf(number), places = chosen(columns, JSON.parse(number.where));
  const items = places.map((at) => [columns.item.values[at], value(columns.fact, at), value(columns.outcome, at)]);
  return [items, recomputed(number, columns, places) ?? null];
}))).then((found) => console.log(JSON.stringify(found)));
"""


def opened(page, numbers):
    """Return by number the items that the page's own script finds (number, fact, outcome), and it recomputed."""
    return run_script(page, PRESS, numbers)


def run_script(page, probe, numbers=()):
    """Return what a probe prints as JSON, run after the page's own script."""
    script = page.rpartition("<script>")[2].partition("</script>")[0]
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs Node.js, which runs the page's script")
    given = {"data": re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1], "numbers": numbers}
    words = [node, "-e", PAGE + script + probe]
    ran = subprocess.run(words, input=json.dumps(given), capture_output=True, text=True, check=True)
    return json.loads(ran.stdout)
