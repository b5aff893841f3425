"""The documents as a site that opens without a network, and what they name."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.report.test_browser import AXE, BROWSER, probed

REPOSITORY = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted((REPOSITORY / "docs").glob("*.md"))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built as `mkdocs build --strict` builds it: a link to no page fails, which `--quiet` would hide."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


def test_every_document_is_a_page_and_is_found_from_the_first(site):
    assert {path.stem for path in DOCUMENTS} <= {path.stem for path in site.glob("*.html")}
    index = (REPOSITORY / "docs" / "index.md").read_text()
    assert {path.name for path in DOCUMENTS} - {"index.md"} == set(re.findall(r"\]\(([a-z_]+\.md)\)", index))


def test_the_site_loads_nothing_from_a_network(site):
    for page in site.glob("*.html"):
        loaded = re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=\"(?:https?:)?//[^\"]*\"", page.read_text())
        assert [one for one in loaded if "canonical" not in one] == [], page.name


@pytest.mark.skipif(BROWSER is None or not AXE.is_file(), reason="no Chromium or no axe-core here")
@pytest.mark.parametrize("width", [375, 1280])
def test_the_site_can_be_read_by_everybody(site, tmp_path, width):
    for name in ("index", "editions", "tables"):
        rules = ["color-contrast", "link-in-text-block", "target-size", "image-alt", "heading-order", "label"]
        found = f"(await axe.run({{ runOnly: {rules} }})).violations"
        probe = f"return {found}.map((one) => one.nodes[0].html);"
        text = (site / f"{name}.html").read_text("utf-8")
        said, _ = probed(site, tmp_path, text, probe, width, f"const ready = true;{AXE.read_text('utf-8')}")
        assert said == [], name


def test_the_sites_pages_are_those_of_its_list():
    def pages(entries):
        for entry in entries:
            yield from [entry] if isinstance(entry, str) else [one for own in entry.values() for one in pages(own)]

    listed = list(pages(yaml.safe_load((REPOSITORY / "mkdocs.yml").read_text())["nav"]))
    assert sorted(listed) == [path.name for path in DOCUMENTS]


@pytest.mark.parametrize("path", [*DOCUMENTS, REPOSITORY / "CHANGELOG.md"], ids=lambda path: path.name)
def test_what_a_document_names_in_the_project_is_there(path):
    """Paths in code: `workflow/…`, `tests/…`, `config/….yaml`, with no … or place to fill in."""
    pattern = r"`((?:workflow|tests|resources|benchmarks|config|rules|envs)/[\w./-]+)`"
    for named in re.findall(pattern, path.read_text(encoding="utf-8")):
        made_up = {"config/nobell.yaml", "workflow/almanac/sources/KIND.py", "tests/sources/test_KIND.py"}
        made_up.add("workflow/almanac/suites/NAME/")
        places = (REPOSITORY / named, REPOSITORY / "workflow" / "almanac" / named)
        assert named in made_up or any(place.exists() for place in places), named


def test_the_configurations_that_their_readme_names_are_those_that_there_are():
    named = re.findall(r"`(\w+\.yaml)`", (REPOSITORY / "config" / "README.md").read_text(encoding="utf-8"))
    assert set(named) == {path.name for path in (REPOSITORY / "config").glob("*.yaml")}


def test_the_drawing_of_the_rules_shows_rules_that_there_are():
    """Rules of one suite or model are named by it: `ask_SUITE`, `answer_together_MODEL`, `measure_MODEL`."""
    shown = re.findall(r"<text[^>]*>([^<]+)</text>", (REPOSITORY / "docs" / "rules.svg").read_text())
    files = [REPOSITORY / "Snakefile", *(REPOSITORY / "rules").glob("*.smk")]
    named = set(re.findall(r"^rule (\w+):", "\n".join(path.read_text() for path in files), re.MULTILINE))
    assert len(shown) > 10
    assert {re.sub(r"^(ask|answer_together|measure)_(?!across).*", r"\1", one) for one in shown} - named == {
        "ask",
        "answer_together",
        "measure",
    }
