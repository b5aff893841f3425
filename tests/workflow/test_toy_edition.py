"""A suite of another package, from the configuration to the page and a verified archive: the toy suite of the tests."""

import json
import os
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from tests.report.editions import opened
from tests.report.reading import Page
from tests.workflow.conftest import Project

from almanac import tables
from almanac.rows import Link, Measure, Outcome, Request, Response

pytestmark = pytest.mark.whole

PLANTED = {"hidden": 32, "heads": 2, "feed_forward": 64, "layers": 1, "length": 512}
SIZES = {"min_facts": 10, "min_objects": 8, "train": 6, "test": 18, "choices": 8}
CONFIGURATION = {
    "edition": "tiny",
    "planting": {
        "worlds": {"invented": {"seed": 1, "relations": 2, "objects": 8, "doses": [0, 4, 16]}},
        "tokenizer": {"vocabulary": 1024},
    },
    "sources": {"own": {"path": "own", "licence": "CC0-1.0", "redistributable": True}},
    "datasets": {"invented": {"world": "invented", **SIZES}, "own": {"source": "own", **SIZES}},
    "suites": {"toy": {"invented": {"orders": 2, "checker": "judge", "models": ["base"]}, "own": {"models": ["base"]}}},
    "models": [{"name": "base", "planted": PLANTED}, {"name": "judge", "planted": PLANTED | {"hidden": 48}}],
    "shards": 2,
}


@dataclass(frozen=True)
class WithToy(Project):
    """A copy of the project beside which a package with a suite is installed."""

    def environment(self, first=None):
        found = super().environment(first)
        return found | {"PYTHONPATH": os.pathsep.join([found["PYTHONPATH"], str(self.root / "tests" / "toy")])}

    def command(self, *words):
        return [word if word != "tests/data/tiny.yaml" else "here.yaml" for word in super().command(*words)]


def own_facts(folder):
    """Write real facts, with how popular their subjects are."""
    folder.mkdir()
    subjects, objects = [f"s{at}" for at in range(40)], [f"o{at}" for at in range(10)]
    written = {
        "entities": [{"entity_id": name, "label": f"thing {name}"} for name in (*subjects, *objects)],
        "facts": [
            {"relation_id": "r", "subject_id": name, "object_id": objects[at % 10]} for at, name in enumerate(subjects)
        ],
        "popularity": [
            {"entity_id": name, "source": "links", "type": "thing", "score": 1 + at} for at, name in enumerate(subjects)
        ],
    }
    for name, rows in written.items():
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


@pytest.fixture(scope="module")
def project(fresh):
    project = WithToy(fresh().root)
    (project.root / "here.yaml").write_text(yaml.safe_dump(CONFIGURATION))
    own_facts(project.root / "own")
    built = project.snakemake("--", "edition")
    assert built.returncode == 0, built.stdout + built.stderr
    return project


def read(project, path, row):
    return tables.read(project.results / path, row)


def test_the_first_round_is_asked_of_the_model_and_the_second_of_its_checker(project):
    asked, answered = project.results / "requests" / "toy" / "invented", project.results / "responses"
    folders = {str(path.parent.relative_to(answered)) for path in answered.rglob("*.parquet")}
    rounds = {"base/toy/invented/picks/all", "judge/toy/invented/checks/base"}
    assert folders == {*rounds, "base/toy/own/picks/all"}, "without a checker there is one round"
    for about, at in (("picks/all", "base/toy/invented/picks/all"), ("checks/base", "judge/toy/invented/checks/base")):
        for shard in (0, 1):
            requests = tables.read(asked / about / f"requests-{shard}.parquet", Request)
            responses = tables.read(answered / at / f"responses-{shard}.parquet", Response)
            assert [row.request_id for row in requests] == [row.request_id for row in responses]
            assert requests and {row.status for row in responses} == {"ok"}
    # What the model has picked stands first for the checker.
    picks = {link.item: link.request_id for link in tables.read(asked / "picks" / "all" / "links.parquet", Link)}
    checks = {link.item: link.request_id for link in tables.read(asked / "checks" / "base" / "links.parquet", Link)}
    requests = {row.request_id: row for path in asked.rglob("requests-*") for row in tables.read(path, Request)}
    said = {
        row.request_id: row for path in (answered / "base").rglob("*.parquet") for row in tables.read(path, Response)
    }
    assert picks.keys() == checks.keys()
    for item, check in checks.items():
        weighed = said[picks[item]].logprobs
        assert requests[check].choices[0] == requests[picks[item]].choices[weighed.index(max(weighed))]


def test_both_readings_are_judged_measured_and_recovered(project):
    outcomes = read(project, "outcomes/base/toy/invented/outcomes.parquet", Outcome)
    assert [row.reading for row in outcomes[:4]] == ["alone", "checked"] * 2
    assert len(outcomes) == 2 * 2 * 2 * 18  # readings, orders, relations, facts
    measures = read(project, "measures/base/toy/invented.parquet", Measure)
    found = {(row.metric, frozenset(json.loads(row.where))) for row in measures}
    assert ("recovery_auc", frozenset({"reading", "order", "hit", "dose"})) in found
    across = (project.results / "tables" / "validation.csv").read_text()
    assert re.search(r"^toy,.*base", across, re.MULTILINE)


def test_popularity_reaches_a_suite(project):
    measures = read(project, "measures/base/toy/own.parquet", Measure)
    buckets = {json.loads(row.where)["bucket"]: row.n for row in measures if '"bucket"' in row.where}
    assert buckets.keys() == {"head", "torso", "tail"}
    assert sum(buckets.values()) == 18


def test_every_number_of_the_chapter_opens_the_items_that_it_counts(project):
    page = (project.results / "report.html").read_text()
    chapter = page.partition('<section id="toy-invented">')[2].partition("</section>")[0]
    assert "<h3>Toy: invented</h3>" in chapter and "<svg" in chapter
    buttons = [button for button, _ in Page(page).buttons["toy-invented"]]
    measures = {(row.metric, row.where): row for row in read(project, "measures/base/toy/invented.parquet", Measure)}
    assert len(buttons) == 2 * 2 * 2  # readings, orders; all, and by popularity, of which nothing is known here
    for button, (items, _) in zip(buttons, opened(page, buttons), strict=True):
        row = measures["accuracy", button["where"]]
        assert (len(items), sum(outcome == "correct" for *_, outcome in items)) == (row.n, row.n_correct)


def test_the_archive_verifies_only_where_the_suite_is_installed(project):
    [archive] = (project.results.parent / "editions" / "tiny").glob("tiny-*.zip")
    verified = project.almanac("verify", "edition", str(archive))
    assert verified.returncode == 0, verified.stderr
    refused = Project(project.root).almanac("verify", "edition", str(archive))
    assert refused.returncode == 1
    assert "suites.toy: is unknown" in refused.stderr
    assert "a package that is not installed here (in an archive, lock.txt names it last)" in refused.stderr
    with zipfile.ZipFile(archive) as members:
        assert members.read("lock.txt").decode().endswith("\ntoy-suite==1  # suite toy\n")
    assert "Traceback" not in refused.stderr


def test_a_second_run_does_nothing_and_a_checker_that_is_not_there_is_named(project):
    again = project.snakemake("--", "edition")
    assert "Nothing to be done" in again.stdout + again.stderr
    assert again.stdout.rstrip().endswith((project.results.parent / "editions/tiny/latest.txt").read_text().rstrip())
    refused = project.snakemake("--dry-run", "--config", "suites={toy: {invented: {checker: jugde}}}")
    assert refused.returncode == 1
    assert "suites.toy.invented.checker: there is no model 'jugde'; did you mean judge?" in refused.stderr


def test_an_edition_that_is_frozen_again_leaves_the_archive_that_was_cited(project):
    """And one that asks no model is refused, with nothing drawn over the page that is there."""
    archives = project.results.parent / "editions" / "tiny"
    [cited] = archives.glob("*.zip")
    page = project.results / "report.html"
    before = cited.read_bytes(), page.read_bytes()
    here = project.root / "here.yaml"
    whole = here.read_text()
    here.write_text(yaml.safe_dump(CONFIGURATION | {"models": [], "suites": {"toy": {"own": {}}}}))
    refused = project.snakemake("--", "edition")
    here.write_text(whole)
    assert refused.returncode == 1 and "tiny asks no model, so there is nothing to freeze" in refused.stderr
    assert page.read_bytes() == before[1]
    renamed = project.snakemake("--config", "title=Renamed", "--", "edition")
    assert renamed.returncode == 0, renamed.stderr
    name, digest = (archives / "latest.txt").read_text().splitlines()
    assert Path(name).name != cited.name and digest.startswith(f"digest {Path(name).stem.rpartition('-')[2]}")
    assert cited.read_bytes() == before[0] and len(list(archives.glob("*.zip"))) == 2
