"""The command that holds the tests against changed programs: what it draws, which tests it runs, what it says."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("cosmic_ray", reason="cosmic-ray is not here (envs/mutation.txt)")

from benchmarks import mutation

MODULE = "def tall(height):\n    return height > 180\n\n\ndef small(height):\n    return height < 150\n"
TEST = "from almanac.statistics.people import tall\n\n\ndef test_tall():\n    assert tall(181) and not tall(180)\n"


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A small project, one of whose two functions is tested."""
    for name, text in {
        "workflow/almanac/__init__.py": "",
        "workflow/almanac/statistics/__init__.py": "",
        "workflow/almanac/statistics/people.py": MODULE,
        "tests/statistics/test_people.py": TEST,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "workflow"))


def test_fewer_mutants_are_the_first_of_more_and_another_seed_is_another_order(tree):
    found = mutation.mutants(["statistics"], 1)
    assert found == mutation.mutants(["statistics"], 1) != mutation.mutants(["statistics"], 2)
    lines = {one.start_pos[0] for one in found}
    assert lines == {2, 6}


def test_what_a_test_notices_is_caught_and_what_none_tries_is_missed(tree):
    turned = [one for one in mutation.mutants(["statistics"], 1) if one.operator_name.endswith("_Gt_Lt")]
    untried = [one for one in mutation.mutants(["statistics"], 1) if one.operator_name.endswith("_Lt_Gt")]
    assert [mutation.judged(one, sys.executable, 60)[0] for one in (*turned, *untried)] == ["caught", "missed"]
    assert Path("workflow/almanac/statistics/people.py").read_text() == MODULE, "put back"


def test_the_tests_that_run_a_line_are_tried_the_shortest_first_up_to_so_many_seconds(tree):
    [one, *_] = mutation.mutants(["statistics"], 1)
    file, line = str(one.module_path), str(one.start_pos[0])
    parts = [
        {"seconds": {"long": 55.0, "short": 1.0}, "lines": {file: {line: ["long", "short"]}}},
        {"seconds": {"longer": 56.0, "other": 1.0}, "lines": {file: {line: ["longer"], "99": ["other"]}}},
    ]
    assert mutation.Traced.of(parts).tests(one) == ["short", "long"]
    assert mutation.Traced.of(parts[1:]).tests(one) == ["longer"], "one is always tried"
    assert mutation.Traced.of([]).tests(one) == []


def test_what_takes_too_long_is_neither_caught_nor_missed(tree):
    Path("tests/statistics/test_people.py").write_text("def test_on():\n    while True:\n        pass\n")
    assert mutation.judged(mutation.mutants(["statistics"], 1)[0], sys.executable, 3)[0] == "out of time"


def test_the_tests_of_a_modules_name_come_first_and_then_its_folders(monkeypatch):
    monkeypatch.chdir(mutation.ROOT)
    own = mutation.tests_of(Path("workflow/almanac/suites/karr/estimator.py"))
    assert own == [Path("tests/suites/karr/test_estimator.py"), Path("tests/suites/karr")]
    shared = mutation.tests_of(Path("workflow/almanac/suites/data.py"))
    assert shared[0] == Path("tests/suites/test_data.py") and all(path.suffix == ".py" for path in shared)
