"""The commands and the configuration of docs/adding_a_source.md, as printed, for a source that there is."""

import re

import pytest
from tests.sources.test_google_re import line, write
from tests.workflow.conftest import REPOSITORY, installed, shell

TEXT = (REPOSITORY / "docs" / "adding_a_source.md").read_text(encoding="utf-8")
FACTS = [
    line("place_of_birth", f"/m/p{at % 4}", f"Place {at % 4}")
    | {"sub": f"/m/s{at}", "sub_label": f"Person {at}", "sub_aliases": []}
    for at in range(12)
]


def blocks(kind: str) -> list[str]:
    """Return the blocks of a kind, with the source and its folder in place of KIND and FOLDER."""
    found = re.findall(rf"^```{kind}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    return [one.replace("KIND", "google_re").replace("FOLDER", "lama") for one in found]


@pytest.mark.whole
def test_a_source_is_tried_as_printed(fresh):
    root = fresh().root
    installed(root)
    write(root / "lama", {"place_of_birth": FACTS})
    [configuration] = blocks("yaml")
    (root / "trial.yaml").write_text(configuration)
    assert len(blocks("bash")) == 2
    for block in blocks("bash"):
        ran = shell(f"source .venv/bin/activate\n{block}", root, PYTHONPATH=str(root / "workflow"))
        assert ran.returncode == 0, ran.stdout + ran.stderr
    assert (root / "results" / "trial" / "dataset" / "facts.parquet").is_file()
    page = (root / "results" / "mine" / "report.html").read_text(encoding="utf-8")
    assert "<h3>IC-LKE: mine</h3>" in page and "<h3>KaRR: mine</h3>" in page
