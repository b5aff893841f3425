"""A planted model that is there whole, made of the same, stays; a damaged one, or one of another corpus, does not."""

import shutil

import pytest

from almanac.cli import main

STAYS = "made of the same corpus by the same settings; it stays"


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """A folder with a tiny corpus and a model trained on it."""
    root = tmp_path_factory.mktemp("planted")
    sizes = ["--objects", "4", "--doses", "0", "1", "--relations", "1"]
    assert main(["plant", "world", *sizes, "--output", str(root / "world")]) == 0
    corpus = ["--world", str(root / "world"), "--vocabulary", "512", "--output", str(root / "corpus")]
    assert main(["plant", "corpus", *corpus]) == 0
    assert train(root) == 0
    return root


def train(root, *words):
    shape = ["--hidden", "16", "--layers", "1", "--heads", "2", "--feed-forward", "16", "--length", "512", *words]
    return main(["plant", "model", *shape, "--corpus", str(root / "corpus"), "--output", str(root / "model")])


@pytest.fixture
def copied(planted, tmp_path):
    """Its copy, in which nothing has the time it had."""
    shutil.copytree(planted, tmp_path / "there", copy_function=shutil.copyfile)
    return tmp_path / "there"


def test_a_copied_folder_is_not_trained_again(planted, copied, capsys):
    times = {path.name: path.stat().st_mtime_ns for path in (copied / "corpus").iterdir()}
    assert train(copied) == 0
    assert STAYS in capsys.readouterr().err
    for path in (copied / "model").iterdir():
        assert path.read_bytes() == (planted / "model" / path.name).read_bytes()
        assert path.stat().st_mtime_ns > max(times.values()), "so that no job is due for its age"


def test_it_is_trained_again_where_anything_differs(copied, capsys):
    assert train(copied, "--passes", "2") == 0
    assert STAYS not in capsys.readouterr().err


@pytest.mark.parametrize("name", ["model.safetensors", "exposures.parquet", "files.json"])
def test_what_is_damaged_is_made_anew(planted, copied, capsys, name):
    content = bytearray((copied / "model" / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copied / "model" / name).write_bytes(content)
    assert train(copied) == 0
    assert STAYS not in capsys.readouterr().err
    assert (copied / "model" / name).read_bytes() == (planted / "model" / name).read_bytes()


def test_a_damaged_tokenizer_is_not_trained_with(copied, capsys):
    path = copied / "corpus" / "tokenizer" / "tokenizer.json"
    path.write_bytes(path.read_bytes().replace(b'"type"', b'"tyqe"', 1))
    assert train(copied) == 1
    assert f"{path}: has sha256" in capsys.readouterr().err
