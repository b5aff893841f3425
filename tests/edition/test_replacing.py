"""What a run replaces in an edition's folder is said before it begins."""

from almanac.config import EditionConfig
from almanac.edition.layout import Layout
from almanac.edition.replacing import replaced


def config(*models, **values):
    entries = [{"name": path.rpartition("/")[2], "path": path} for path in models]
    return EditionConfig.model_validate({"edition": "own", "facts": "ours", "models": entries, **values})


def test_what_a_run_replaces_is_said_and_what_it_adds_is_not(tmp_path):
    root = tmp_path / "own"

    def said(*models, **values):
        return replaced(Layout(root, config(*models, **values)))

    assert said("/a/mine") == [], "nothing is there"
    root.mkdir()
    (root / "edition.json").write_text(config("/a/mine", "/a/kept").model_dump_json())
    assert said("/a/mine", "/a/kept") == said("/a/kept", "/a/mine", "/a/more") == []
    keep = 'keep both with ARGS="edition=NAME" of `make own`'
    assert said("/b/mine", "/a/kept", size="full") == [
        f"{root} was of model /a/mine; size quick; it is made anew for model /b/mine, /a/kept; size full; {keep}"
    ]
    assert said("/a/mine", "/a/kept", facts="others") == [
        f"{root} was of facts ours; it is made anew for facts others; {keep}"
    ]
    (root / "edition.json").write_text("{")
    assert said("/b/mine") == [], "a damaged one is told by those who read it"
