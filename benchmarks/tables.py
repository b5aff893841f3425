"""What an edition's tables cost at size: `python -m benchmarks.tables` runs each step in a process of its own.

python -m benchmarks.tables                     # every step of every case but the largest
python -m benchmarks.tables --large             # those too: 6.5 million requests, IMDb's and DBpedia's files, an hour
python -m benchmarks.tables --only build        # one step; those before it run too, since it reads what they write
python -m benchmarks.tables --cases one-to-one --form csv
POLARS_MAX_THREADS=1 python -m benchmarks.tables --cases imdb dbpedia   # from their files to Head-to-Tail's questions

Printed are the largest resident memory of the step's process and its CPU seconds, starting included, with what the case
allows, and of a grid how many times the CPU seconds of the grid before they are; the exit status is 1 where a step
needs more. Everything in the tables is invented, and the same every time.
"""

import argparse
import math
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from benchmarks import dbpedia, imdb
from benchmarks.grid import STEPS
from benchmarks.memory import Spent, measure

SEED = 13
SYLLABLES = np.array([first + vowel for first in "bdfgklmnprst" for vowel in "aeiou"])
FORMS = ("jsonl", "csv", "parquet")

Integers = npt.NDArray[np.int64]
Tables = Mapping[str, pl.DataFrame]


@dataclass(frozen=True)
class Limit:
    """What a step may use: MiB, CPU seconds, and times those of the same step in the case before."""

    memory: float
    cpu: float = math.inf
    times: float = math.inf


@dataclass(frozen=True)
class Step:
    """One command of a case: the module that is run, and its words for the case's folder."""

    name: str
    words: Callable[[Path], Sequence[str | Path]]
    limit: Limit
    module: str = "almanac"


@dataclass(frozen=True)
class Case:
    """What is made in a folder, by the form of its tables, and the steps: each reads what those before it wrote.

    Attributes:
        name: what it is called.
        make: makes the folder.
        steps: the steps.
        after: the smaller case that its CPU seconds are held against.
        large: whether it is run only where that is wanted.
        limit: what all steps together may use; of memory, the largest of them.
    """

    name: str
    make: Callable[[Path, str], object]
    steps: Sequence[Step]
    after: str | None = None
    large: bool = False
    limit: Limit | None = None


def _words(numbers: Integers, syllables: int = 4) -> pl.Series:
    """Return a made-up word for each number; different numbers below 60 to the power of the syllables differ."""
    parts = [pl.Series(SYLLABLES[(numbers // len(SYLLABLES) ** place) % len(SYLLABLES)]) for place in range(syllables)]
    return pl.select(pl.concat_str(parts)).to_series().str.to_titlecase()


def entities(count: int, draw: np.random.Generator) -> pl.DataFrame:
    """Return entities of which one in a hundred shares its label, and four in ten have one alias or two."""
    numbers = np.arange(count)
    named = np.where(draw.random(count) < 0.01, draw.integers(0, count, count), numbers)
    aliases = [_words(numbers + (place + 1) * count) + " " + _words(named, 2) for place in range(2)]
    shown = [pl.Series(draw.random(count) < share) for share in (0.4, 0.1)]
    listed = [pl.when(one).then(text).otherwise(pl.lit("")) for one, text in zip(shown, aliases, strict=True)]
    return pl.select(
        entity_id=_ids(numbers),
        label=_words(named) + " " + _words(named // 7, 2),
        aliases=pl.concat_list(listed).list.eval(pl.element().filter(pl.element() != "")),
        type=pl.Series(np.array(["person", "place", "work"])[draw.integers(0, 3, count)]),
    )


def _ids(numbers: Integers) -> pl.Series:
    return "Q" + pl.Series(numbers + 1000).cast(pl.String)


def many_facts(facts: int, things: int, relations: int) -> Tables:
    """Return facts in relations of very different sizes, a twentieth to a half as many objects as facts in each.

    Nine in ten subjects of a relation have one object. Every entity has a popularity, every relation three templates.
    """
    draw = np.random.default_rng(SEED)
    share = 1 / (np.arange(relations) + 10.0)
    sizes = np.maximum((facts * share / share.sum()).astype(int), 1)
    sizes[0] += facts - sizes.sum()
    parts = []
    for number, size in enumerate(sizes):
        objects = max(2, int(size / draw.integers(2, 20)))
        first, found = int(draw.integers(0, things)), np.empty(0, np.int64)
        while len(found) < size:  # a pair that is drawn twice is one fact
            subject = draw.integers(0, things, size)
            subject = np.where(draw.random(size) < 0.1, np.roll(subject, 1), subject)
            pairs = subject * things + (first + objects * draw.random(size) ** 2).astype(np.int64) % things
            found = np.unique(np.concatenate([found, pairs]))
        found = draw.permutation(found)[:size]
        parts.append(_facts(f"P{number + 10}", found // things, found % things))
    names = [f"P{number + 10}" for number in range(relations)]
    scores = (5 * draw.random(things) ** -1.1).astype(np.int64)
    return {
        "facts": pl.concat(parts),
        "entities": entities(things, draw),
        "relations": pl.DataFrame({"relation_id": names, "label": [f"relation {name}" for name in names]}),
        "templates": pl.DataFrame(
            [(name, f"{start} {name} of [X] is [Y].", "statement") for name in names for start in ("The", "A", "Any")],
            schema=["relation_id", "text", "style"],
            orient="row",
        ),
        "popularity": pl.select(entity_id=_ids(np.arange(things)), score=pl.Series(scores)),
    }


def one_to_one(objects: int) -> Tables:
    """Return a single relation in which every subject has an object of its own."""
    draw = np.random.default_rng(SEED)
    return {
        "facts": _facts("P1", np.arange(objects), objects + draw.permutation(objects)),
        "entities": entities(2 * objects, draw),
    }


def _facts(relation: str, subjects: Integers, objects: Integers) -> pl.DataFrame:
    return pl.select(relation_id=pl.lit(relation), subject_id=_ids(subjects), object_id=_ids(objects))


def write(folder: Path, tables: Tables, form: str) -> None:
    """Write a folder of facts as a user would."""
    folder.mkdir(parents=True)
    for name, table in tables.items():
        path = folder / f"{name}.{form}"
        if form == "parquet":
            table.write_parquet(path)
        elif form == "csv":
            lists = pl.selectors.list()
            table.with_columns(lists.list.join("|")).write_csv(path)
        else:
            table.write_ndjson(path)


def pull(folder: Path) -> Sequence[str | Path]:
    """Return the words that copy the case's facts."""
    return ["pull", "files", "--from", folder / "facts", "--output", folder / "sources"]


def build(folder: Path) -> Sequence[str | Path]:
    """Return the words that build a dataset of the paper's counts."""
    return ["build", "dataset", "--facts", folder / "sources", "--output", folder / "dataset"]


def ask(folder: Path) -> Sequence[str | Path]:
    """Return the words that ask five facts of each relation of the dataset."""
    return ["ask", "ic_lke", "--dataset", folder / "dataset", "--sample", "5", "--output", folder / "asked"]


def ask_belief(folder: Path) -> Sequence[str | Path]:
    """Return the words that ask the same facts as BELIEF does, in the default ways."""
    return ["ask", "belief", "--dataset", folder / "dataset", "--sample", "5", "--output", folder / "asked_belief"]


def _building(limit: Limit) -> tuple[Step, ...]:
    return Step("pull", pull, limit), Step("build", build, limit)


def grid(requests: int, after: str | None = None, times: float = math.inf, large: bool = False) -> Case:
    """Return a grid of so many requests, from asking to freezing; see `benchmarks.grid`.

    Args:
        requests: how many there are.
        after: the case that it is held against.
        times: how often its CPU seconds it may use, in every step.
        large: whether it is run only where that is wanted.
    """

    def step(name: str) -> Step:
        limit = Limit(2048, 60 if name == "measure" else math.inf, times)
        return Step(name, lambda folder: [name, folder], limit, "benchmarks.grid")

    def make(folder: Path, form: str) -> None:
        measure([sys.executable, "-m", "benchmarks.grid", "facts", str(folder), str(requests)])

    return Case(f"grid-{requests}", make, [step(name) for name in STEPS], after, large)


def published(kind: str, make: Callable[[Path], object], limit: Limit, *settings: str) -> Case:
    """Return a case that goes from the files of a source to the questions of Head-to-Tail, as an edition does.

    Args:
        kind: the source's kind.
        make: makes its files in a folder.
        limit: what all steps together may use; the questions themselves, ten CPU seconds.
        settings: further words of `pull`.
    """

    def sources(folder: Path) -> Sequence[str | Path]:
        return ["pull", kind, "--path", folder / "files", *settings, "--output", folder / "sources"]

    def dataset(folder: Path) -> Sequence[str | Path]:
        # As in config/papers/sun.yaml: all that was drawn, in one part.
        counts = ("--min-facts", "1", "--min-objects", "2", "--train", "0", "--test", "100000", "--choices", "2")
        return ["build", "dataset", "--facts", folder / "sources", *counts, "--output", folder / "dataset"]

    def questions(folder: Path) -> Sequence[str | Path]:
        return ["ask", "head_to_tail", "--dataset", folder / "dataset", "--output", folder / "questions"]

    of_each = Limit(limit.memory)
    steps = (Step("pull", sources, of_each), Step("build", dataset, of_each))
    asked = Step("questions", questions, Limit(limit.memory, 10))
    return Case(kind, lambda folder, form: make(folder / "files"), (*steps, asked), large=True, limit=limit)


CASES = (
    Case(
        "two-million",
        lambda folder, form: write(folder / "facts", many_facts(2_000_000, 500_000, 200), form),
        (
            *_building(Limit(2048, 120)),
            Step("ask", ask, Limit(1024, 30)),
            Step("ask_belief", ask_belief, Limit(1024, 30)),
        ),
    ),
    Case(
        "one-to-one",
        lambda folder, form: write(folder / "facts", one_to_one(50_000), form),
        _building(Limit(500, 30)),
    ),
    grid(100_000),
    grid(1_000_000, "grid-100000"),
    grid(6_500_000, "grid-1000000", 7.5, large=True),
    published("imdb", imdb.generate, Limit(1.5e9 / 2**20, 75)),
    published("dbpedia", dbpedia.generate, Limit(2048, 240), "--pool", "100"),
)


def run(case: Case, only: Sequence[str], form: str) -> Iterator[tuple[Step, Spent]]:
    """Run a case's steps up to the last that is wanted; yield those that are, and what they used.

    Raises:
        RuntimeError: a step fails.
    """
    wanted = [number for number, step in enumerate(case.steps) if step.name in only]
    if not wanted:
        return
    with tempfile.TemporaryDirectory() as name:
        case.make(Path(name), form)
        for step in case.steps[: wanted[-1] + 1]:
            spent = measure([sys.executable, "-m", step.module, *map(str, step.words(Path(name)))])
            if step.name in only:
                yield step, spent


def main(words: Sequence[str] | None = None) -> int:
    """Run the steps that are asked for and print a table; return 1 where one needs more than it may."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cases, steps = (
        [*dict.fromkeys(one)]
        for one in zip(*((case.name, step.name) for case in CASES for step in case.steps), strict=True)
    )
    parser.add_argument("--only", nargs="+", choices=steps, default=steps, metavar="STEP", help=", ".join(steps))
    parser.add_argument("--cases", nargs="+", choices=cases, default=None, metavar="CASE", help=", ".join(cases))
    parser.add_argument("--large", action="store_true", help="the largest cases too")
    parser.add_argument("--form", choices=FORMS, default="jsonl", help="of the facts' tables [jsonl]")
    arguments = parser.parse_args(words)
    wanted = arguments.cases or [case.name for case in CASES if arguments.large or not case.large]
    beyond = False
    found: dict[tuple[str, str], Spent] = {}
    print(f"{'case':<14}{'step':<11}{'MiB':>7}{'of':>7}{'CPU s':>8}{'of':>6}{'times':>7}{'of':>6}{'wall s':>8}")
    for case in CASES:
        for step, spent in run(case, arguments.only, arguments.form) if case.name in wanted else ():
            found[case.name, step.name] = spent
            before = found.get((str(case.after), step.name))
            times = None if before is None else spent.cpu / before.cpu
            beyond |= _told(case, step.name, spent, step.limit, times)
        own = [found[case.name, step.name] for step in case.steps if (case.name, step.name) in found]
        if case.limit is not None and len(own) == len(case.steps):
            together = Spent(max(one.memory for one in own), sum(one.cpu for one in own), sum(one.wall for one in own))
            beyond |= _told(case, "all", together, case.limit)
    return int(beyond)


def _told(case: Case, step: str, spent: Spent, limit: Limit, times: float | None = None) -> bool:
    """Print what a step used and may use; return whether that is more."""
    more = spent.memory > limit.memory or spent.cpu > limit.cpu or (times or 0) > limit.times
    print(
        f"{case.name:<14}{step:<11}{spent.memory:>7.0f}{_most(limit.memory):>7}{spent.cpu:>8.1f}"
        f"{_most(limit.cpu):>6}{'' if times is None else f'{times:.1f}':>7}{_most(limit.times):>6}"
        f"{spent.wall:>8.1f}{'  too much' if more else ''}",
        flush=True,
    )
    return more


def _most(limit: float) -> str:
    return "" if math.isinf(limit) else f"{limit:.0f}"


if __name__ == "__main__":
    raise SystemExit(main())
