"""From a pull to a result: `config/wikidata.yaml`, pointed at a server on loopback, with a small planted model."""

import json
import time

import pytest
import yaml
from tests.sources.sparql_servers import oxigraph, proxy
from tests.sources.wikidata_rdf import WikidataShape, shipped

from almanac.rows import Fact, Measure
from almanac.suites.judged import conditions_of
from almanac.tables import read
from almanac.verbs.pull import DATE

PLANTED = {
    "planting": {
        "worlds": {"invented": {"seed": 1, "relations": 1, "objects": 8, "doses": [0, 4]}},
        "taught": {"dataset": "wikidata", "facts": 0, "doses": [0, 4]},
        "tokenizer": {"vocabulary": 1024},
    },
    "datasets": {
        "wikidata": {"source": "wikidata", "min_facts": 200, "min_objects": 100, "train": 4, "test": 4, "choices": 10}
    },
    "suites": {"ic_lke": {"wikidata": {"shots": 4}}},
    "models": [{"name": "base", "planted": {"hidden": 32, "heads": 2, "feed_forward": 64, "layers": 1, "length": 512}}],
    "shards": 1,
}


def relations_of(config, tables):
    """The relations of the configuration of which facts ship."""
    own = {fact.relation_id for fact in tables.facts}
    return [relation for relation in config["sources"]["wikidata"]["relations"] if relation in own]


def run(project, *words):
    command = [word if word != "tests/data/tiny.yaml" else "config/here.yaml" for word in project.command(*words)]
    return project.run(*command)


@pytest.mark.whole
def test_relations_are_pulled_a_dataset_is_built_and_a_model_is_asked(fresh):
    project = fresh()
    config = yaml.safe_load((project.root / "config" / "wikidata.yaml").read_text())
    everything = shipped()
    relations = relations_of(config, everything)
    assert len(relations) >= 10
    shape = WikidataShape(shipped(*relations))
    with oxigraph(shape.triples()) as url, proxy(url) as server:
        source = config["sources"]["wikidata"] | {
            "relations": relations,
            "endpoint": server.url,
            "pause": 0,
            "page": 200,
        }
        config |= PLANTED | {"sources": {"wikidata": source}, "edition": "tiny"}
        (project.root / "config" / "here.yaml").write_text(yaml.safe_dump(config))

        refused = run(project, "--dry-run")
        assert refused.returncode != 0
        assert "--config contact=YOU@EXAMPLE.ORG" in refused.stdout + refused.stderr
        assert server.seen == []

        contact = ("--config", "contact=me@example.org")
        built = run(project, *contact)
        assert built.returncode == 0, built.stdout + built.stderr
        asked = len(server.seen)
        assert asked > 20

        again = run(project, "--forcerun", "pull_source", *contact)
        assert again.returncode == 0, again.stdout + again.stderr
        assert len(server.seen) == asked, "a second run reads the snapshot"

        [first] = (path for path in (project.root / "results" / "snapshots").glob("*/*") if path.is_dir())
        while first.name == time.strftime(DATE, time.gmtime()):  # a snapshot is named by its minute
            time.sleep(1)
        anew = run(project, *contact, "--", "repull")
        assert anew.returncode == 0, anew.stdout + anew.stderr
        assert len(server.seen) == 2 * asked
    changes = json.loads(next((project.results / "sources" / "wikidata" / "changes").glob("*.json")).read_text())
    assert all(not one["added"] and not one["removed"] for one in changes["facts"].values())

    assert len(read(project.results / "sources" / "wikidata" / "facts.parquet", Fact)) == len(shape.tables.facts)
    accuracy = [
        row
        for row in read(project.results / "measures" / "base" / "ic_lke" / "wikidata.parquet", Measure)
        if row.metric == "accuracy" and "relation" not in conditions_of(row)
    ]
    assert accuracy
    assert all(row.n > 0 and row.value is not None for row in accuracy)
    assert (project.results / "report.html").is_file()
