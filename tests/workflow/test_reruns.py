"""What is made again when something changes: `RERUNS` is the whole list, and nothing else is made."""

import copy
import re

import pytest
import yaml

TOGETHER = [f"answer_together/{model}/{shard}" for model in ("base", "masked") for shard in (0, 1)]
PAGE = ["measure_across", "record_edition", "report_edition"]
MORE = ["answer_together/more/0", "answer_together/more/1", "measure_model/more"]
MEASURED = ["measure_model/base", "measure_model/masked", *PAGE]

# Jobs are named as their logs are. A small model answers all that it is asked in one job, and is measured in one;
# inside of both, what depends on nothing that has changed stays (`test_chain.py`: a suite is added).
RERUNS = {
    "nothing": [],
    "title": ["record_edition", "report_edition"],
    "the terms of a folder of facts": ["record_edition", "report_edition"],
    "a bar of the validation": PAGE,
    "a suite's setting": ["ask_ic_lke/shipped-asked", *TOGETHER, *MEASURED],
    "who a suite asks": [*TOGETHER[2:], "measure_model/masked", *PAGE],
    "a model added": ["plant_model/more", *MORE, *PAGE],
    "a model removed": PAGE,
    "the pairs that are compared": PAGE,
    "a model's family on the page": PAGE,
    "a model's wrapper": ["answer_together/base/0", "answer_together/base/1", "measure_model/base", *PAGE],
    "a suite added": ["ask_karr/shipped-asked", *TOGETHER, *MEASURED],
    "a suite removed from a dataset": [*TOGETHER, *MEASURED],
    "a dataset's setting": ["build_dataset/invented", "ask_ic_lke/invented-asked", *TOGETHER, *MEASURED],
}  # fmt: skip


def change(config, what):
    """Return the configuration with one thing changed."""
    config = copy.deepcopy(config)
    suites, models = config["suites"], config["models"]
    if what == "title":
        config["title"] = "Another"
    elif what == "the terms of a folder of facts":
        config["sources"]["shipped"]["licence"] = "CC-BY-4.0"
    elif what == "a bar of the validation":
        config["validation"] = {"auc": 0.9}
    elif what == "a suite's setting":
        suites["ic_lke"]["shipped"]["shots"] = 3
    elif what == "who a suite asks":
        suites["ic_lke"]["shipped"]["models"] = ["base"]
    elif what == "a model added":
        models.append(models[0] | {"name": "more"})
    elif what == "the pairs that are compared":
        config["compare"] = [["base", "masked"]]
    elif what == "a model removed":
        del models[1]
    elif what == "a model's family on the page":
        models[0]["series"] = "Planted"
    elif what == "a model's wrapper":
        models[0]["wrapper"] = "question_answer"
    elif what == "a suite added":
        suites["karr"] = {"shipped": {"sample": 2}}
    elif what == "a suite removed from a dataset":
        del suites["ic_lke"]["shipped"]
    elif what == "a dataset's setting":
        config["datasets"]["invented"]["test"] = 17
    return config


def planned(project, plan, config):
    """Return the jobs that are planned for a configuration, by the names of their logs."""
    (project.root / "changed.yaml").write_text(yaml.safe_dump(config))
    text = plan(project.flags(configuration="changed.yaml"))
    jobs = re.findall(r"^ +log: results/tiny/logs/(\S+)\.log", text, re.MULTILINE)
    total = re.search(r"^total +(\d+)$", text, re.MULTILINE)
    targets = len(re.findall(r"^(?:local)?rule all:", text, re.MULTILINE))
    assert len(jobs) + targets == int(total[1] if total else 0), "a job without a log"
    return sorted(jobs)


@pytest.mark.parametrize("what", RERUNS)
def test_what_has_changed_is_made_again_and_nothing_else(done, plan, what):
    config = yaml.safe_load((done.root / "tests" / "data" / "tiny.yaml").read_text())
    assert planned(done, plan, change(config, what)) == sorted(RERUNS[what])
