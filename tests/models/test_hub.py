"""What is brought from a hub: weights without pickles, and code only where it is asked for."""

import huggingface_hub
import pytest
from huggingface_hub.utils import filter_repo_objects

from almanac.errors import AlmanacError
from almanac.models import hub

SETTINGS = [
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer.model",
    "merges.txt",
    "chat_template.jinja",
]
WEIGHTS = ["generation_config.json", "model-00001-of-00002.safetensors", "model.safetensors.index.json"]
PICKLED = ["pytorch_model.bin", "model.ckpt", "tf_model.h5", "training_args.bin"]
CODE = ["modeling_own.py", "layers/attention.py"]


@pytest.mark.parametrize("code", [False, True])
def test_the_files_that_are_brought(tmp_path, monkeypatch, code):
    """The hub's own client decides by these patterns; here it writes the names that it would fetch."""
    asked = []

    def fetch(name, *, revision, local_dir, allow_patterns):
        asked.append((name, revision))
        for path in filter_repo_objects(
            [*SETTINGS, *WEIGHTS, *PICKLED, *CODE, "README.md"], allow_patterns=allow_patterns
        ):
            (local_dir / path).parent.mkdir(parents=True, exist_ok=True)
            (local_dir / path).write_text("")

    assert huggingface_hub.snapshot_download is hub.snapshot_download
    monkeypatch.setattr(hub, "snapshot_download", fetch)
    brought = hub.download("owner/name", "0" * 40, tmp_path, code=code)
    assert asked == [("owner/name", "0" * 40)]
    found = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {*SETTINGS, *WEIGHTS, *(CODE if code else ())}
    assert {path.name for path in brought} == {name for name in found if "/" not in name}


def test_a_revision_that_is_not_pinned_is_refused_with_the_way_to_find_it(tmp_path):
    with pytest.raises(AlmanacError, match=r"owner/name: its revision is not pinned yet; .*git ls-remote"):
        hub.download("owner/name", "unpinned", tmp_path)
