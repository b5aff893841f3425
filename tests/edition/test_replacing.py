"""What a run replaces in an edition's folder is said before it begins, and what it cannot know of is refused."""

import json
from base64 import urlsafe_b64encode

import pytest

from almanac.config import EditionConfig
from almanac.edition.layout import Layout
from almanac.edition.replacing import check_copied, replaced
from almanac.errors import AlmanacError
from almanac.sealed import sealed
from almanac.versions import MAKER


def config(*models, **values):
    entries = [{"name": path.rpartition("/")[2], "path": path} for path in models]
    return EditionConfig.model_validate({"edition": "own", "facts": "ours", "models": entries, **values})


def test_what_a_run_replaces_is_said_and_what_it_adds_is_not(tmp_path, monkeypatch):
    root = tmp_path / "own"
    for name in ("MAKELEVEL", "MODEL"):
        monkeypatch.delenv(name, raising=False)

    def said(*models, **values):
        return replaced(Layout(root, config(*models, **values)))

    assert said("/a/mine") == [], "nothing is there"
    root.mkdir()
    (root / "edition.json").write_text(config("/a/mine", "/a/kept").model_dump_json())
    assert said("/a/mine", "/a/kept") == said("/a/kept", "/a/mine", "/a/more") == []
    keep = "keep both with --config edition=NAME"
    assert said("/b/mine", "/a/kept", size="full") == [
        f"{root} was of model /a/mine; size quick; it is made anew for model /b/mine, /a/kept; size full; {keep}"
    ]
    assert said("/a/mine", "/a/kept", facts="others") == [
        f"{root} was of facts ours; it is made anew for facts others; {keep}"
    ]
    assert said() == [], "without models only questions are made"
    assert said("/a/mine", "/a/kept", facts=None) == [
        f"{root} was of facts ours; it is made anew for facts of another source; {keep}"
    ]
    monkeypatch.setenv("MAKELEVEL", "1")
    for model, remedy in (("/a/mine", '"edition=NAME" of `make own`'), ("", '"--config edition=NAME" of `make`')):
        monkeypatch.setenv("MODEL", model)  # which make exports empty to what is no `make own`
        [line] = said("/a/mine", "/a/kept", facts="others")
        assert line.endswith(f"keep both with ARGS={remedy}")
    (root / "report.html").write_text(f'<meta name="generator" content="{MAKER}">')
    assert said("/a/mine", "/a/kept") == []
    (root / "report.html").write_text('<meta name="generator" content="Almanac 0.0.1, measure 1, report 2">')
    [other, anew] = said("/b/mine", "/a/kept")
    assert other == (
        f"{root} was made by Almanac 0.0.1, measure 1, report 2, and this is {MAKER}: whatever that changes is "
        "made anew; keep both with another edition=NAME"
    )
    assert "was of model /a/mine" in anew
    (root / "report.html").unlink()
    (root / "edition.json").write_text("{")
    assert said("/b/mine") == [], "a damaged one is told by those who read it"


def test_copied_results_of_other_settings_are_not_taken_for_finished(tmp_path):
    """Snakemake remembers the settings of its own runs, by the base64 of a file's path."""
    root, remembered = tmp_path / "own", tmp_path / "metadata"
    sources = {"mine": {"path": "/a/facts"}}
    about = {"sources": sources, "datasets": {"real": {"source": "mine", "train": 50}}}
    asked = {"suites": {"ic_lke": {"real": {"shots": 8}}}}
    check_copied(Layout(root, config("/a/mine", **about, **asked)), remembered)
    for folder in (root, remembered):
        folder.mkdir()
    made = config("/a/mine", **about, **asked).model_dump(mode="json")
    (root / "edition.json").write_text(json.dumps(sealed(made)))
    check_copied(Layout(root, config("/a/mine", **about, **asked, title="Other words")), remembered)
    moved = about | {"sources": {"mine": {"path": "/b/facts"}}}
    check_copied(Layout(root, config("/b/mine", **moved, **asked)), remembered)  # a path says nothing
    changed = Layout(root, config("/a/mine", **about, suites={"ic_lke": {"real": {"shots": 2}}}))
    with pytest.raises(
        AlmanacError, match=r"made elsewhere with other settings \(suites.ic_lke.real.shots: 8, now 2\)"
    ):
        check_copied(changed, remembered)
    (remembered / urlsafe_b64encode(str(root / "edition.json").encode()).decode()).touch()
    check_copied(changed, remembered)  # made here: what has changed is made again
