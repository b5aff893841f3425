"""What is copied is what exactly this model answered by the same engine, whatever order the two files have."""

import dataclasses
import random

import pytest

from almanac import tables
from almanac.models import reuse
from almanac.models.reuse import Reusable
from almanac.rows import Request, Response


def response(number, status="ok", digest="mine"):
    return Response(f"{number:064x}", status, None, logprobs=(-1.0 * number,), model_digest=digest, engine="forest/1")


def request(number):
    return Request(f"{number:064x}", "choices", None, "Paris is", choices=(" red",))


def write(path, rows, engine="forest/1"):
    tables.write(path, Response, rows, {"almanac.engine": engine})
    return path


@pytest.mark.parametrize("shuffled", [False, True])
def test_every_answer_is_found_by_its_request(tmp_path, shuffled):
    rows = [response(number) for number in range(1000)]
    if shuffled:
        random.Random(1).shuffle(rows)
    reusable = Reusable(write(tmp_path / "r.parquet", rows), "mine", "forest/1")
    for wanted in (range(0, 1000, 7), range(300, 400), [999, 0], [5000], []):
        found = reusable.find([request(number) for number in wanted])
        assert found == {f"{number:064x}": response(number) for number in wanted if number < 1000}


def test_what_failed_and_what_another_model_said_is_asked_again(tmp_path):
    rows = [
        response(index, status) for index, status in enumerate(["ok", "too_long", "failed", "refused", "unsupported"])
    ]
    path = write(tmp_path / "r.parquet", [*rows, response(5, digest="another"), response(6)])
    found = Reusable(path, "mine", "forest/2").find([request(number) for number in range(7)])
    assert sorted(found) == [f"{number:064x}" for number in (0, 1, 3, 6)]


@pytest.mark.parametrize(
    ("digest", "engine"), [("another", "forest/1"), ("mine", "reference/1"), ("mine", "forestry/1")]
)
def test_another_model_or_engine_reuses_nothing_and_says_so(tmp_path, capsys, digest, engine):
    path = write(tmp_path / "r.parquet", [response(0)])
    assert Reusable(path, digest, engine).find([request(0)]) == {}
    assert f"{path}: holds no response of this model by {engine.split('/')[0]}" in capsys.readouterr().err


def test_a_file_that_does_not_say_its_engine_reuses_nothing(tmp_path, capsys):
    tables.write(tmp_path / "r.parquet", Response, [response(0)])
    assert Reusable(tmp_path / "r.parquet", "mine", "forest/1").find([request(0)]) == {}


def test_ids_that_share_a_hash_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(reuse, "hash", lambda text: int(text, 16) % 5, raising=False)
    reusable = Reusable(write(tmp_path / "r.parquet", [response(number) for number in range(50)]), "mine", "forest/1")
    asked = [request(number) for number in (3, 8, 61)]
    assert reusable.find(asked) == {
        one.request_id: response(number) for one, number in zip(asked[:2], (3, 8), strict=True)
    }


def test_a_copy_is_the_response_with_all_its_parts(tmp_path):
    full = dataclasses.replace(response(1), token_counts=(2,), tokens=("a",), probabilities=(0.5,), ranks=(None, 3))
    assert Reusable(write(tmp_path / "r.parquet", [full]), "mine", "forest/1").find([request(1)]) == {
        full.request_id: full
    }
