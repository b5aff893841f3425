"""A server in the configuration and on the command line: one set of settings, and never a secret in it."""

import argparse
import shlex
from pathlib import Path

import pytest

from almanac.config import EditionConfig, check
from almanac.config.models import ModelConfig
from almanac.errors import AlmanacError
from almanac.models.options import ApiOptions, ServerOptions, add_api_flags, api_options
from almanac.options import to_flags

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
    parser.add_argument("--kinds", nargs="+", default=None)
    add_api_flags(parser)
    return api_options(parser.parse_args(words))


def test_an_entry_becomes_the_flags_that_give_it_back():
    model = ModelConfig(name="llama", kinds=("choices", "generate"), **SETTINGS)
    options = parsed(["--kinds", "choices", "generate", *shlex.split(to_flags(model, ServerOptions))])
    assert isinstance(options, ApiOptions)
    assert options.kinds == ("choices", "generate")
    assert all(getattr(options, key) == getattr(model, key) for key in ServerOptions.model_fields)


def test_without_a_url_there_is_no_server():
    assert parsed([]) is None
    assert parsed(["--kinds", "choices"]) is None


def test_a_model_has_one_origin_and_a_server_s_settings_belong_to_a_server():
    assert ModelConfig(name="a", api="http://localhost:8000/v1/").api == "http://localhost:8000/v1"
    with pytest.raises(ValueError, match="needs exactly one of planted, path, hub and api"):
        ModelConfig(name="a", api="http://localhost:8000/v1", path="/models/a")
    with pytest.raises(ValueError, match="api_model, api_retries: only a model with `api` has a server"):
        ModelConfig(name="a", path="/models/a", api_model="b", api_retries=2)


def test_a_server_s_model_asks_for_no_gpu():
    assert ModelConfig(name="a", api="http://localhost:8000/v1").size == 1


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
