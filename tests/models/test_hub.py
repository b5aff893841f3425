"""What is brought from a hub: weights without pickles, code only where it is asked for; or copies from a cache."""

import shutil

import huggingface_hub
import pytest
from huggingface_hub import constants
from huggingface_hub.utils import filter_repo_objects

from almanac.config.models import in_short
from almanac.config.reading import load as configuration
from almanac.errors import AlmanacError
from almanac.models import hub
from almanac.models.options import AnswerOptions
from almanac.models.registry import load
from almanac.project import PROJECT

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

    def fetch(name, *, revision, local_dir, allow_patterns, ignore_patterns):
        asked.append((name, revision))
        for path in filter_repo_objects(
            [*SETTINGS, *WEIGHTS, *PICKLED, *CODE, "README.md", "files.json"],
            allow_patterns=allow_patterns,
            ignore_patterns=ignore_patterns,
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


COMMIT, OTHER = "0123456789abcdef" * 2 + "01234567", "f" * 40


@pytest.fixture
def cache(tmp_path, monkeypatch, checkpoint):
    """Return a cache as the hub's own client lays it out, with a commit whose files are links, and no network."""
    repository = tmp_path / "hub" / "models--owner--tiny"
    for commit in (COMMIT, OTHER):
        (repository / "snapshots" / commit).mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT)
    (repository / "blobs").mkdir()
    for number, path in enumerate(sorted(checkpoint("llama").iterdir())):
        shutil.copyfile(path, repository / "blobs" / str(number))
        for commit in (COMMIT, OTHER):
            (repository / "snapshots" / commit / path.name).symlink_to(f"../../blobs/{number}")
    (repository / "snapshots" / COMMIT / "pytorch_model.bin").write_bytes(b"a pickle")
    (repository / "snapshots" / COMMIT / "files.json").write_text("a planted model's record")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return repository


def test_without_a_network_a_commit_in_this_machines_cache_is_copied(cache, tmp_path):
    brought = hub.download("owner/tiny", COMMIT, tmp_path / "there")
    assert {path.name for path in brought} >= {"config.json", "model.safetensors", "tokenizer.json"}
    assert not any(path.is_symlink() or path.suffix == ".bin" or path.name == "files.json" for path in brought)
    of_cache = load(str(cache / "snapshots" / OTHER), AnswerOptions())
    assert load(str(tmp_path / "there"), AnswerOptions()).digest == of_cache.digest


def test_what_is_not_whole_in_the_cache_is_not_copied(cache, tmp_path):
    (cache / "snapshots" / COMMIT / "model.safetensors").unlink()
    for commit in (COMMIT, "1" * 40):
        with pytest.raises(AlmanacError, match=f"model owner/tiny at {commit}: cannot be downloaded from the hub"):
            hub.download("owner/tiny", commit, tmp_path / "there")
    assert not (tmp_path / "there").exists() or not list((tmp_path / "there").glob("*.*"))


def test_a_repository_without_its_commit_is_refused_with_the_one_in_the_cache(cache):
    with pytest.raises(AlmanacError, match=f"with its commit: owner/tiny@{COMMIT} is in this machine's cache"):
        in_short("owner/tiny")
    with pytest.raises(AlmanacError, match=r"that `git ls-remote https://huggingface\.co/owner/small HEAD` prints"):
        in_short("owner/small")


def test_the_folder_of_a_repository_in_the_cache_holds_its_commits(cache):
    with pytest.raises(AlmanacError, match=f"holds no weights itself, but snapshots/{COMMIT}, snapshots/{OTHER}; name"):
        load(str(cache), AnswerOptions())


def test_a_commit_in_the_cache_has_the_name_of_its_repository_and_two_are_told_apart(cache):
    folders = [str(cache / "snapshots" / commit) for commit in (COMMIT, OTHER)]
    remote = [f"owner/tiny@{commit}" for commit in (COMMIT, OTHER)]

    def names(text):
        return [model.name for model in configuration(PROJECT / "config" / "own.yaml", {"model": text}).models]

    assert names(folders[0]) == names(remote[0]) == ["tiny"]
    assert names(" ".join(folders)) == names(" ".join(remote)) == ["tiny-0123456", "tiny-fffffff"]
