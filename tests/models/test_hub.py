"""What is brought from a hub: weights without pickles, and code only where it is asked for."""

import huggingface_hub
import pytest
from huggingface_hub.utils import filter_repo_objects

from almanac.models import hub

REPOSITORY = [
    *("README.md", "config.json", "generation_config.json", "tokenizer.json", "tokenizer.model", "merges.txt"),
    *(
        "model-00001-of-00002.safetensors",
        "model.safetensors.index.json",
        "pytorch_model.bin",
        "model.ckpt",
        "tf_model.h5",
    ),
    *("modeling_own.py", "layers/attention.py", "training_args.bin", "chat_template.jinja"),
]


@pytest.mark.parametrize("code", [False, True])
def test_the_files_that_are_brought(tmp_path, monkeypatch, code):
    """The hub's own client decides by these patterns; here it writes the names that it would fetch."""
    asked = []

    def fetch(name, *, revision, local_dir, allow_patterns):
        asked.append((name, revision))
        for path in filter_repo_objects(REPOSITORY, allow_patterns=allow_patterns):
            (local_dir / path).parent.mkdir(parents=True, exist_ok=True)
            (local_dir / path).write_text("")

    assert huggingface_hub.snapshot_download is hub.snapshot_download
    monkeypatch.setattr(hub, "snapshot_download", fetch)
    brought = hub.download("owner/name", "0" * 40, tmp_path, code=code)
    assert asked == [("owner/name", "0" * 40)]
    assert sorted(path.name for path in tmp_path.rglob("*.py")) == (["attention.py", "modeling_own.py"] if code else [])
    plain = {"config.json", "generation_config.json", "tokenizer.json", "tokenizer.model", "merges.txt"}
    plain |= {"model-00001-of-00002.safetensors", "model.safetensors.index.json", "chat_template.jinja"}
    assert {path.name for path in brought} == plain | ({"modeling_own.py"} if code else set())
