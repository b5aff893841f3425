"""A tiny edition, for the tests of its page: made by the commands that the workflow runs, the models' answers apart."""

import json
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass

from almanac import tables
from almanac.cli import main
from almanac.config import EditionConfig
from almanac.dataset.multiple_choice import build
from almanac.edition.layout import DATASET_TABLES, Layout
from almanac.models import windows
from almanac.options import to_flags
from almanac.rows import Entity, Evidence, Exposure, Fact, Relation, Request, Response, Template
from almanac.verbs.answer import Files, answer_file
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
        responses, shards = layout.responses(asking), layout.config.shards
        for number, folder in enumerate(layout.request_folders(asking)):
            if number > 0:
                _ask_again(layout, asking, responses[:shards])
            own = responses[number * shards : (number + 1) * shards]
            for path, target in zip(layout.requests_in(folder), own, strict=True):
                tables.write(target, Response, [answer(asking.model, row) for row in tables.read(path, Request)])
    return measure(layout)


def answered(layout, answerer_of):
    """Answer every request of the first round by real models: ``answerer_of(model)``."""
    for asking in layout.config.asked():
        contexts = layout.request_folder(asking.suite, asking.dataset) / "contexts.parquet"
        for requests, responses in zip(layout.requests_in(contexts.parent), layout.responses(asking), strict=True):
            files = Files(requests, contexts, responses)
            answer_file(answerer_of(asking.model), files, windows.survey(requests, contexts))


def _ask_again(layout, asking, responses):
    """Ask a model the second round, by its responses to the first."""
    flags = shlex.split(to_flags(getattr(layout.config.suites, asking.suite)[asking.dataset]))
    words = ["--dataset", str(layout.root / "dataset" / asking.dataset), "--shards", str(layout.config.shards), *flags]
    words += ["--after", str(layout.request_folder(asking.suite, asking.dataset)), "--responses", *map(str, responses)]
    assert main(["ask", asking.suite, *words, "--output", str(layout.second_folder(asking))]) == 0


def measure(layout):
    """Measure every model, compare, validate, and make the page."""
    edition = ["--edition", str(layout.root)]
    for asking in layout.config.asked():
        assert main(["measure", asking.suite, *edition, "--model", asking.model, "--dataset", asking.dataset]) == 0
    for table in ("comparison", "validation"):
        assert main(["measure", table, *edition]) == 0
    report_page(layout)
    return layout


# What the page's script is given: a page of nothing but its data, and the buttons to press.
PAGE = """
const given = JSON.parse(require("fs").readFileSync(0, "utf-8"));
globalThis.document = { getElementById: () => ({ textContent: given.data }), addEventListener() {} };
"""
PRESS = """
console.log(JSON.stringify(given.buttons.map((wanted) => {
  const found = data.outcomes.find((one) => one.suite === wanted.suite && one.model === wanted.model);
  const judged = wanted.reading ? found.readings[wanted.reading] : found;
  const items = askedOf(wanted);
  return behind(wanted, items, found).map((at) => [items.setting[at], judged.outcome[at]]);
})));
"""


def opened(page, buttons):
    """Return by button (setting, outcome) of the items that the page's own script finds."""
    script = page.rpartition("<script>")[2].partition("</script>")[0]
    given = {"data": re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1], "buttons": buttons}
    words = [shutil.which("node"), "-e", PAGE + script + PRESS]
    ran = subprocess.run(words, input=json.dumps(given), capture_output=True, text=True, check=True)
    return json.loads(ran.stdout)
