"""How a model answers, in the configuration and on the command line: one set of settings, and never a secret in it."""

import argparse
import shlex
from pathlib import Path

import pytest

from almanac.config import EditionConfig, check
from almanac.config.models import ModelConfig
from almanac.errors import AlmanacError
from almanac.models.options import AnswerOptions
from almanac.options import add_flags, from_flags, to_flags
from almanac.rows import KINDS

SETTINGS = {
    "api": "http://localhost:8000/v1",
    "api_model": "meta-llama/Llama-3.1-8B",
    "api_revision": "d04e592",
    "api_generate_with": "completions",
    "api_concurrency": 32,
    "api_extra": ["top_k=-1", "stop_token_ids=[2]", "repetition_penalty=1.0"],
}


def parsed(words):
    parser = argparse.ArgumentParser()
    add_flags(parser, AnswerOptions, "how the model answers")
    return from_flags(parser.parse_args(words), AnswerOptions)


LOCAL = {"path": "/models/a", "family": "encoder", "dtype": "bfloat16", "device": "cuda:1", "wrapper": "plain"}


@pytest.mark.parametrize(
    "entry",
    [
        {"kinds": ("choices", "generate"), **SETTINGS},
        {"kinds": KINDS, "trust_remote_code": True, "revision": "0123456789" * 4, **LOCAL},
    ],
    ids=["server", "checkpoint"],
)
def test_an_entry_becomes_the_flags_that_give_it_back(entry):
    model = ModelConfig(name="llama", **entry)
    options = parsed(shlex.split(to_flags(model, AnswerOptions)))
    assert options.kinds == entry["kinds"]
    assert all(getattr(options, key) == getattr(model, key) for key in AnswerOptions.model_fields)


def test_trust_is_a_flag_that_may_stand_alone():
    assert parsed(["--trust-remote-code", "--revision", "0" * 40]).trust_remote_code
    assert parsed(["--trust-remote-code", "true"]).trust_remote_code
    assert not parsed(["--trust-remote-code", "false"]).trust_remote_code


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_request_can_be_declared_of_a_checkpoint(kind):
    assert ModelConfig(name="a", path="/models/a", kinds=(kind,)).kinds == (kind,)
    assert parsed(["--kinds", kind]).kinds == (kind,)


def test_a_server_is_not_declared_to_answer_what_it_cannot():
    with pytest.raises(ValueError, match="kinds: a server returns no hidden states, which `similarity` needs"):
        ModelConfig(name="a", api="http://localhost:8000/v1", kinds=("generate", "similarity"))
    with pytest.raises(AlmanacError, match="command line: kinds: a server returns no hidden states"):
        parsed(["--api", "http://localhost:8000/v1", "--kinds", "similarity"])


def test_a_model_has_one_origin_and_a_server_s_settings_belong_to_a_server():
    assert ModelConfig(name="a", api="http://localhost:8000/v1/").api == "http://localhost:8000/v1"
    with pytest.raises(ValueError, match="needs exactly one of planted, path, hub and api"):
        ModelConfig(name="a", api="http://localhost:8000/v1", path="/models/a")
    with pytest.raises(ValueError, match="api_model, api_retries: only a model with `api` has a server"):
        ModelConfig(name="a", path="/models/a", api_model="b", api_retries=2)


def test_a_server_s_model_asks_for_no_gpu():
    assert ModelConfig(name="a", api="http://localhost:8000/v1").size == 1
    assert not ModelConfig(name="a", api="http://localhost:8000/v1", parameters=7 * 10**9).takes_gpu(1)


@pytest.mark.parametrize("url", ["https://key:hunter2@host/v1", "https://host/v1?api-key=hunter2"])
def test_a_secret_in_a_url_is_refused_and_not_shown(url):
    values = {"edition": "e", "models": [{"name": "a", "api": url}]}
    with pytest.raises(AlmanacError) as error:
        check(values, "e.yaml", Path())
    assert "hunter2" not in str(error.value)
    assert "api_key_variable" in str(error.value)


def test_no_setting_can_hold_a_key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    edition = EditionConfig(edition="e", models=(ModelConfig(name="a", **SETTINGS),))
    assert "sk-secret" not in edition.model_dump_json()
    assert edition.models[0].api_key_variable == "OPENAI_API_KEY"
