"""Asking, measuring and writing by files, without an edition: what is refused where rounds or models do not fit."""

import pytest

from almanac import tables
from almanac.cli import main
from almanac.rows import Response

SPURIOUS = ("--spurious", "true")


def refused(capsys, *words):
    """Return the one message that a command ends with."""
    assert main(list(map(str, words))) == 1
    return capsys.readouterr().err.strip()


@pytest.mark.parametrize(("asked", "responses"), [(1, 1), (2, 1), (1, 2), (3, 3)])
def test_measuring_wants_what_was_asked_and_answered_once_a_round(capsys, tmp_path, asked, responses):
    words = ["measure", "karr", *SPURIOUS, "--output", tmp_path]
    words += ["--asked", tmp_path] * asked + ["--responses", tmp_path / "responses-0.parquet"] * responses
    assert refused(capsys, *words) == (
        "almanac measure: measure karr: these settings want 2 rounds (asked, expected); "
        f"--asked is given {asked} times and --responses {responses} times; give both once per round"
    )


def test_measuring_one_round_does_not_take_two(capsys, tmp_path):
    words = ["measure", "karr", "--output", tmp_path, *["--asked", tmp_path, "--responses", "one.parquet"] * 2]
    assert "these settings want 1 rounds (asked); --asked is given 2 times" in refused(capsys, *words)


def test_what_was_written_is_read_of_every_round(capsys, tmp_path):
    words = ["build", "drafting", "--dataset", tmp_path, "--output", tmp_path / "drafts.jsonl"]
    words += ["--asked", tmp_path, "--responses", tmp_path / "responses-0.parquet"]
    assert refused(capsys, *words) == (
        "almanac build: build drafting: these settings want 2 rounds (drafts, round_trip); "
        "--asked is given 1 times and --responses 1 times; give both once per round"
    )


@pytest.mark.parametrize("before", [0, 2])
def test_a_later_round_is_asked_of_every_round_before_it(capsys, tmp_path, before):
    words = ["ask", "karr", "--dataset", tmp_path, *SPURIOUS, "--round", "expected", "--output", tmp_path / "out"]
    assert refused(capsys, *words, *["--before", tmp_path] * before) == (
        f"almanac ask: ask karr: round expected comes after 1 rounds and --before is given {before} times; "
        "give the folder of each earlier round, in their order"
    )


def test_the_first_round_comes_after_none(capsys, tmp_path):
    words = ["ask", "karr", "--dataset", tmp_path, "--output", tmp_path / "out", "--before", tmp_path]
    assert "round asked comes after 0 rounds and --before is given 1 times" in refused(capsys, *words)


def test_a_round_that_is_made_of_answers_needs_them(capsys, tmp_path):
    words = ["ask", "karr", "--dataset", tmp_path, *SPURIOUS, "--round", "expected", "--output", tmp_path / "out"]
    assert refused(capsys, *words, "--before", tmp_path) == (
        "almanac ask: ask karr: round expected is made of a model's answers; give --responses after each --before"
    )


def test_a_file_made_elsewhere_has_no_later_round(capsys, tmp_path):
    words = ["ask", "karr", "--file", tmp_path / "draws.jsonl", *SPURIOUS, "--round", "expected", "--output", tmp_path]
    words += ["--before", tmp_path, "--responses", tmp_path / "responses-0.parquet"]
    assert "ask karr: a file made elsewhere has no round expected; leave out --round" in refused(capsys, *words)


def test_answers_of_two_models_are_not_measured_as_those_of_one(capsys, tmp_path):
    paths = [tmp_path / f"{name}.parquet" for name in "abc"]
    for path, digest in zip(paths, ("1" * 64, "2" * 64, "2" * 64), strict=True):
        failed = Response("g", "failed", "the server said 500", model_digest="3" * 64)
        tables.write(path, Response, [Response("r", "ok", None, texts=("x",), model_digest=digest), failed])
    words = ["measure", "karr", "--asked", tmp_path, "--output", tmp_path / "out", "--responses"]
    assert refused(capsys, *words, *paths) == (
        f"almanac measure: measure karr: the responses are of 2 models: {paths[0]} (of 111111111111…), "
        f"{paths[1]} (of 222222222222…); give those of one, to all rounds"
    )
    assert "of 2 models" not in refused(capsys, *words, *paths[1:]), "the next error is of what was asked"
