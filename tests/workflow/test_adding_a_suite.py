"""The commands and the configuration of docs/adding_a_suite.md, as printed; the toy suite stands in the list."""

import re
import shutil

import pytest
from tests.workflow.conftest import REPOSITORY, installed, shell

TEXT = (REPOSITORY / "docs" / "adding_a_suite.md").read_text(encoding="utf-8")
[CONFIGURATION] = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
BLOCKS = re.findall(r"```bash\n(.*?)```", TEXT, re.DOTALL)
REMOVED = re.findall(r"`(results/toy/[a-z]+(?:/\*)?/toy)`", TEXT)
AGAIN = "almanac report page --edition results/toy"


@pytest.fixture(scope="module")
def project(fresh):
    """A copy of the project that has the toy suite too, added as section 8 says."""
    root = fresh().root
    folder = root / "workflow" / "almanac" / "suites" / "toy"
    folder.mkdir()
    (folder / "__init__.py").touch()
    shutil.copy(root / "tests" / "toy" / "toy_suite.py", folder / "suite.py")
    listing = root / "workflow" / "almanac" / "suites" / "listing.py"
    text = listing.read_text().replace("    HeadToTail(),\n", "    HeadToTail(),\n    Toy(),\n")
    listing.write_text(text.replace("\nGROUP =", "\nfrom almanac.suites.toy.suite import Toy\nGROUP =", 1))
    (root / "toy.yaml").write_text(CONFIGURATION)
    installed(root)
    return root


@pytest.mark.whole
def test_the_small_edition_and_its_commands_run_as_printed(project):
    assert len(BLOCKS) == 2 and len(REMOVED) == 4 and AGAIN in TEXT
    for block in BLOCKS:
        ran = shell(f"source .venv/bin/activate\n{block}", project, PYTHONPATH=str(project / "workflow"))
        assert ran.returncode == 0, ran.stdout + ran.stderr
    page = project / "results" / "toy" / "report.html"
    assert "<h3>Toy: invented</h3>" in page.read_text()
    assert (project / "asked" / "items.parquet").is_file()
    page.unlink()
    removed = "".join(f"rm -r {place}\n" for place in REMOVED)
    again = f"source .venv/bin/activate\n{AGAIN}\n{removed}make demo CONFIG=toy.yaml"
    ran = shell(again, project, PYTHONPATH=str(project / "workflow"))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "plant_model" not in ran.stderr and "ask_toy" in ran.stderr and "measure_tiny" in ran.stderr
    assert page.is_file()
