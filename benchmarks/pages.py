"""What the page of a large edition costs: `python -m benchmarks.pages` draws one of 4.9 million outcomes.

python -m benchmarks.pages                              # 49 models, 50 relations of 400 facts, five methods
python -m benchmarks.pages --models 5 --relations 10    # a smaller one
python -m benchmarks.pages --keep FOLDER                # keep the edition, or go on with the one that is there

The methods are stand-ins that ask one question of each fact, and what became of the answers is drawn by chance. All
else is made by what editions are made with, a process each: the numbers of each model, those between models, and the
page. Printed are the largest resident memory, CPU and wall seconds, and the sizes of the page and of the files next to
it; with Chromium, how long the page takes to be seen, and a number and a fact to open, from disk. The exit status is
1 where drawing the page takes more than 2 GiB or 5 minutes, or is first seen after more than 2 seconds.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from almanac import tables
from almanac.columns import columns
from almanac.rows import Entity, Fact, Measure, Outcome, Popularity, Relation, Response
from almanac.suites import listing
from almanac.suites.answers import Answers
from almanac.suites.asked import Asked, Batch
from almanac.suites.chapter import Chapter, Shown, Table
from almanac.suites.data import Data
from almanac.suites.judged import Judged, conditions_of
from almanac.suites.suite import Method, Round
from benchmarks.grid import AT_ONCE, OBJECTS, Grid, GridOptions, GridSetting, batch_of
from benchmarks.memory import measure

METHODS = 5
SEED = 13
MEMORY, WALL, SEEN = 2048, 300, 2000  # MiB, seconds, milliseconds
STEPS = ("make", "measure", "across", "page")


class Asking(Grid):
    """Each fact by one question."""

    summary = "one question of every fact"
    number: ClassVar[int]
    methods: ClassVar[tuple[Method, ...]]

    def ask(self, at: Round, data: Data, options: GridOptions, before: Answers | None) -> Iterator[Batch]:
        """Ask the facts, some at a time."""
        settings = Asked()
        named = [settings.setting(GridSetting(0))]
        facts = data.frame("facts", Fact, ["fact_id", "relation_id", "subject_id"])
        for first in range(0, facts.height, AT_ONCE):
            asked = facts[first : first + AT_ONCE].with_columns(wording=pl.lit(self.number), name=pl.lit(""))
            text = pl.format("Question {} of relation {}: what belongs to {}?", "wording", "relation_id", "subject_id")
            asked = asked.with_columns(text=text, item=pl.int_range(pl.len(), dtype=pl.Int64) + first)
            yield batch_of(asked, named, settings.take().settings)

    def measure(self, judged: Judged, own: Mapping[str, pl.DataFrame], options: GridOptions) -> list[Measure]:
        """Compute accuracy and confidence, and accuracy by relation and popularity."""
        rows = judged.measures("accuracy", "macro", "hit") + judged.measures("confidence", "mean", "confidence")
        for by in (("relation",), ("bucket",)):
            rows += judged.measures("accuracy", "mean", "hit", by=by)
        return rows

    def chapter(self, shown: Shown, options: GridOptions) -> Chapter:
        """Show every number: models' own, and by relation."""
        cells: dict[str, dict[str, Measure]] = {}
        for row in shown.measures:
            if row.metric in ("accuracy", "confidence") and row.model:
                where = conditions_of(row)
                name = str(where.get("relation", where.get("bucket", row.metric)))
                cells.setdefault(shown.relations.get(name, name), {})[row.model] = row
        models = [one.name for one in shown.models]
        rows = [(name, *(own.get(model) for model in models)) for name, own in cells.items()]
        table = Table("accuracy", "Accuracy of every model.", ("of", *models), rows, folded=True)
        return Chapter(self.label, "One question of every fact.", [table])


def suites() -> dict[str, Asking]:
    """Return the stand-ins by name."""
    found = {}
    for number in range(METHODS):
        name, label = f"stand_in_{number + 1}", f"Stand-in {number + 1}"
        known = Method("known", label, {"experiment": "fill"})
        found[name] = type(name, (Asking,), {"name": name, "label": label, "number": number, "methods": (known,)})()
    return found


# The steps, each in an edition's folder


def make(folder: Path, models: int, relations: int, facts: int) -> None:
    """Write the dataset, ask, and draw what became of the answers."""
    from almanac.cli import main
    from almanac.edition.layout import DATASET_TABLES, Layout

    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "edition": "grid",
        "sources": {"grid": {"path": "facts"}},
        "datasets": {"grid": {"source": "grid"}},
        "suites": {name: {"grid": {}} for name in suites()},
        "models": [{"name": f"m{number + 1:02}", "path": f"models/m{number + 1:02}"} for number in range(models)],
        "shards": 1,
    }
    (folder / "edition.json").write_text(json.dumps(config))
    layout = Layout.open(folder)
    every = [(relation, number) for relation in range(relations) for number in range(facts)]
    rows: dict[str, list[Any]] = {table: [] for table in DATASET_TABLES}
    rows["relations"] = [Relation(f"P{number}", f"relation {number}", *[None] * 4) for number in range(relations)]
    rows["facts"] = [
        Fact(f"P{one}|Q{at}", f"P{one}", f"Q{at}", f"O{one % 7}_{at % OBJECTS}", *[None] * 3, (), "test", "grid")
        for at, (one, _) in enumerate(every)
    ]
    named = [(f"Q{at}", f"subject {at}") for at in range(len(every))]
    named += [(f"O{one}_{at}", f"object {one} {at}") for one in range(7) for at in range(OBJECTS)]
    rows["entities"] = [Entity(key, label, (), None) for key, label in named]
    buckets = ("head", "torso", "tail")
    rows["popularity"] = [Popularity(f"Q{at}", "grid", "links", at, buckets[at % 3]) for at in range(len(every))]
    for table, row in DATASET_TABLES.items():
        tables.write(layout.dataset("grid", table), row, rows[table])
    for name in suites():
        words = ["--dataset", str(layout.dataset_folder("grid"))]
        assert main(["ask", name, *words, "--output", str(folder / f"requests/{name}/grid/asked/all")]) == 0
    draw = np.random.default_rng(SEED)
    truths = np.array([fact.object_id for fact in rows["facts"]])
    ease = draw.normal(size=len(every))
    for asking in layout.config.asked():
        outcomes(layout.judged(asking, "outcomes"), truths, ease + draw.normal() - 1, draw)
        for path in layout.responses(asking):
            tables.write(path, Response, [])


def outcomes(path: Path, truths: Any, ease: Any, draw: np.random.Generator) -> None:
    """Write what became of one model's answers: ``truths`` and ``ease`` (log odds to be right), ``(facts,)``."""
    right = draw.random(len(truths)) < 1 / (1 + np.exp(-ease))
    score = np.where(right, draw.beta(4, 2, len(truths)), draw.beta(2, 4, len(truths)))
    frame = pl.DataFrame(
        {
            "item": np.arange(len(truths)),
            "reading": "",
            "prediction": np.where(right, truths, draw.permutation(truths)),
            "score": score,
            "confidence": score,
        }
    ).with_columns(pl.Series("truth", truths))
    outcome = pl.when(pl.col("prediction") == pl.col("truth")).then(pl.lit("correct")).otherwise(pl.lit("incorrect"))
    with tables.writing(path, Outcome) as writer:
        writer.add(frame.with_columns(outcome=outcome).select(columns(Outcome)).to_arrow())


def numbers(folder: Path) -> None:
    """Compute the numbers of each model."""
    from almanac.edition import measuring
    from almanac.edition.layout import Layout

    layout = Layout.open(folder)
    for asking in layout.config.asked():
        suite, where = listing.SUITES[asking.suite], layout.judged(asking, "outcomes").parent
        data = layout.data(asking.dataset)
        found = measuring.measure(suite, layout.options(asking), layout.answers(asking), data, where)
        tables.write(layout.measures(asking), Measure, found)


def across(folder: Path) -> None:
    """Compare models and methods."""
    from almanac.edition.layout import BETWEEN, Layout
    from almanac.edition.measuring import measure_across

    layout = Layout.open(folder)
    for table, rows in measure_across(layout).items():
        tables.write(layout.between(table), BETWEEN[table], rows)


def page(folder: Path) -> None:
    """Draw the page."""
    from almanac.edition.layout import Layout
    from almanac.report.making import report_page

    report_page(Layout.open(folder))


DONE: Mapping[str, Callable[[Path], None]] = {"measure": numbers, "across": across, "page": page}

# How long a reader waits, in milliseconds: for the first view, all of the page, a number, a relation's, and a fact.
PROBE = """<script>
addEventListener("load", () => setTimeout(async () => {
  const [paint] = performance.getEntriesByName("first-contentful-paint");
  const [own] = performance.getEntriesByType("navigation");
  const said = { seen: paint?.startTime, loaded: own.loadEventEnd };
  const timed = async (what) => { const begun = performance.now(); await what(); return performance.now() - begun; };
  const number = (formula) => data.numbers.find((one) => one.metric === "accuracy" && one.formula === formula);
  await ready;
  said.relation = await timed(() => show(number("mean")));
  document.getElementById("items").close();
  said.number = await timed(() => show(number("macro")));
  document.getElementById("items").close();
  said.fact = await timed(async () => { const [name] = (await allFacts()).keys(); await showFact(name); });
  said.answers = document.querySelectorAll("#fact tbody tr").length;
  console.log("WAITED " + JSON.stringify(said));
}, 500));
</script></body>"""


def waited(report: Path) -> dict[str, float] | None:
    """Return how long a reader of a page waits; none without Chromium."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        return None
    probed = report.with_name("probed.html")
    probed.write_text(report.read_text("utf-8").replace("</body>", PROBE), "utf-8")
    with tempfile.TemporaryDirectory() as profile:
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--remote-debugging-port=0"]
        words = [browser, *flags, f"--user-data-dir={profile}", probed.as_uri()]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as running:
            assert running.stderr is not None
            for line in running.stderr:
                if found := re.search(r'"?(WAITED \{[^}]*\}|Uncaught[^"]*)', line):
                    running.terminate()
                    running.stderr.read()
                    probed.unlink()
                    if found[1].startswith("Uncaught"):
                        raise RuntimeError(found[1])
                    said: dict[str, float] = json.loads(found[1].removeprefix("WAITED ").replace('\\\\"', '"'))
                    return said
    return None


def main() -> int:
    """Make the edition, draw its page, open it; print what each took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=49)
    parser.add_argument("--relations", type=int, default=50)
    parser.add_argument("--facts", type=int, default=400, help="of a relation")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="the edition's; steps that are done stay done")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    sizes = (arguments.models, arguments.relations, arguments.facts)
    if arguments.step:  # in a process of its own
        listing.SUITES.update(suites())
        listing.ASKING.update(suites())
        if arguments.step == "make":
            make(arguments.keep, *sizes)
        else:
            DONE[arguments.step](arguments.keep)
        return 0
    beyond = False
    with tempfile.TemporaryDirectory() as name:
        folder = arguments.keep or Path(name) / "grid"
        print(f"{METHODS * np.prod(sizes):,} outcomes\n{'step':<10}{'MiB':>7}{'CPU s':>8}{'wall s':>8}")
        words = [f"--{what}={size}" for what, size in zip(("models", "relations", "facts"), sizes, strict=True)]
        for step in STEPS:
            done = folder.parent / f"{folder.name}.{step}"
            if done.exists() and step != "page":
                continue
            command = [sys.executable, "-m", "benchmarks.pages", "--step", step, "--keep", str(folder), *words]
            spent = measure(command)
            done.touch()
            more = step == "page" and (spent.memory > MEMORY or spent.wall > WALL)
            beyond |= more
            told = "  too much" if more else ""
            print(f"{step:<10}{spent.memory:>7.0f}{spent.cpu:>8.1f}{spent.wall:>8.1f}{told}", flush=True)
        report, files = folder / "report.html", list((folder / "items").iterdir())
        aside = sum(path.stat().st_size for path in files)
        print(f"page {report.stat().st_size / 1e6:.1f} MB, {len(files)} files next to it, {aside / 1e6:.1f} MB")
        said = waited(report)
        if said is None:
            print("no Chromium here: not opened")
        else:
            beyond |= said["seen"] > SEEN
            print(", ".join(f"{what} {value:.0f}" for what, value in said.items()), "(ms; answers: rows of the fact)")
    return int(beyond)


if __name__ == "__main__":
    raise SystemExit(main())
