"""A model that people trained and use, where all others of the tests are tiny: `make test-real-model` fetches it.

It is SmolLM2-135M-Instruct. What a tiny model hides shows here: rounding of thirty layers, answers in whole sentences.
"""

import csv
import os
from pathlib import Path

import pytest
from tests.workflow.conftest import installed, shell

from almanac.models.answering import LocalAnswerer
from almanac.models.options import AnswerOptions
from almanac.models.registry import load

pytestmark = [
    pytest.mark.skipif(
        "ALMANAC_REAL_MODEL" not in os.environ, reason="the model is fetched (98 MB): run `make test-real-model`"
    ),
    pytest.mark.xdist_group("real-model"),
]
MODEL = Path(os.environ.get("ALMANAC_REAL_MODEL", ""))
SUITES = ("ic_lke", "facteval", "head_to_tail")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_its_fast_way_is_used(dtype):
    answerer = LocalAnswerer(load(str(MODEL), AnswerOptions(dtype=dtype, device="cpu")))
    assert answerer.engine == "forest"
    assert answerer.machine is not None and answerer.tested.passed_over == ()


def test_it_knows_some_of_the_facts_that_ship(fresh):
    root = fresh().root
    installed(root)
    made = shell(f'make real-model\nmake own MODEL=.real-model/smollm2-135m-instruct SUITES="{" ".join(SUITES)}"', root)
    assert made.returncode == 0, made.stdout + made.stderr
    logs = "".join(log.read_text("utf-8") for log in root.glob("results/own/logs/answer_*/**/*.log"))
    assert "'ok'" in logs and "cannot be used for" not in logs and "passed over" not in logs
    with (root / "results" / "own" / "tables" / "findings.csv").open(encoding="utf-8", newline="") as stream:
        found = {row["method"]: row for row in csv.DictReader(stream)}
    for method in ("IC-LKE", "FactEval, question", "Head-to-Tail"):
        assert found[method]["verdict"] == "above chance"
        assert 0.1 < float(found[method]["known, of these relations"]) < 0.35
