"""Code that comes with a checkpoint runs only where it is trusted at a commit, and then its files are in the digest."""

import json
import shutil

import pytest
import torch
from transformers import AutoTokenizer, dynamic_module_utils

from almanac.errors import AlmanacError
from almanac.models.answering import answer
from almanac.models.digest import digests
from almanac.models.options import AnswerOptions
from almanac.models.registry import load
from almanac.rows import Request

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CONFIGURATION = """
from transformers import PretrainedConfig


class OwnConfig(PretrainedConfig):
    model_type = "almanac-own"

    def __init__(self, vocab_size=100, width=8, **more):
        self.vocab_size, self.width = vocab_size, width
        super().__init__(**more)
"""
# A bigram model: every token alone says what comes next. GAIN stands in a module of its own, to be edited.
MODELING = """
import torch
from transformers import GenerationMixin, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput

from .configuration_own import OwnConfig
from .gain import GAIN


class OwnForCausalLM(PreTrainedModel, GenerationMixin):
    config_class = OwnConfig

    def __init__(self, config):
        super().__init__(config)
        self.embed = torch.nn.Embedding(config.vocab_size, config.width)
        self.head = torch.nn.Linear(config.width, config.vocab_size, bias=False)
        self.post_init()

    def forward(self, input_ids, **more):
        return CausalLMOutput(logits=GAIN * self.head(self.embed(input_ids)))
"""
AUTO_MAP = {"AutoConfig": "configuration_own.OwnConfig", "AutoModelForCausalLM": "modeling_own.OwnForCausalLM"}


@pytest.fixture(scope="module", autouse=True)
def copies(tmp_path_factory):
    """Where transformers puts the copies of code that it runs: not in the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        folder = str(tmp_path_factory.mktemp("modules"))
        patch.setattr(dynamic_module_utils, "HF_MODULES_CACHE", folder)
        patch.syspath_prepend(folder)
        yield


@pytest.fixture
def folder(checkpoint, tmp_path):
    """A checkpoint of an architecture that no library knows, with its code beside the weights."""
    from safetensors.torch import save_file

    folder = tmp_path / "own_model"
    folder.mkdir()
    for path in checkpoint("llama").glob("*token*"):
        shutil.copy(path, folder)
    size = len(AutoTokenizer.from_pretrained(folder))
    draws = torch.Generator().manual_seed(1)
    weights = {name: torch.randn(size, 8, generator=draws) for name in ("embed.weight", "head.weight")}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    config = {"model_type": "almanac-own", "architectures": ["OwnForCausalLM"], "auto_map": AUTO_MAP}
    (folder / "config.json").write_text(json.dumps(config | {"vocab_size": size, "width": 8}))
    (folder / "configuration_own.py").write_text(CONFIGURATION)
    (folder / "modeling_own.py").write_text(MODELING)
    (folder / "gain.py").write_text("GAIN = 1.0\n")
    return folder


def trusted(folder, revision=COMMIT):
    return load(str(folder), AnswerOptions(device="cpu", trust_remote_code=True, revision=revision))


def test_code_of_its_own_is_not_run_and_both_keys_are_named(folder):
    (folder / "configuration_own.py").write_text("raise SystemExit('it ran')\n")
    with pytest.raises(AlmanacError) as error:
        load(str(folder), AnswerOptions(device="cpu"))
    for word in ("configuration_own.py, gain.py, modeling_own.py", "trust_remote_code: true", "revision: COMMIT"):
        assert word in str(error.value)
    assert "--trust-remote-code --revision COMMIT" in str(error.value)


@pytest.mark.parametrize("revision", [None, "", "main", "0123abc", COMMIT.upper(), COMMIT + "0"])
def test_trust_without_a_commit_is_refused(folder, revision):
    with pytest.raises(AlmanacError, match="trust_remote_code needs the commit whose code you have read"):
        trusted(folder, revision)


def test_trusted_code_runs_and_gives_its_own_numbers(folder):
    model = trusted(folder)
    [found] = answer(model, [Request("r", "choices", None, "Paris is", choices=(" red", " blue"))], {}, "reference")
    assert found.status == "ok"
    before, choice = model.tokens.ids("Paris is")[-1], model.tokens.ids(" red")
    network, expected = model.network, 0.0
    for token in choice:
        logits = (network.embed.weight[before] @ network.head.weight.T).detach().double()
        expected += float(torch.log_softmax(logits, -1)[token])
        before = token
    assert found.logprobs[0] == pytest.approx(expected, abs=1e-5)


def test_the_code_is_part_of_the_digest(folder):
    """A process loads an architecture's code once: changed code is refused there, and is another model in a new one."""
    first = trusted(folder)
    (folder / "gain.py").write_text("GAIN = 2.0\n")
    with pytest.raises(AlmanacError, match=r"gain.py is not the code that runs.*in a new process"):
        trusted(folder)
    found = digests(folder, "float32", "causal/1", code=True)
    assert found.model != first.digest == first.identity["model"]
    assert found.weights == first.identity["weights"]


def test_another_commit_than_the_one_that_was_pulled_is_refused(folder):
    (folder / "pull.json").write_text(json.dumps({"revision": "f" * 40, "files": []}))
    with pytest.raises(AlmanacError, match=f"revision is {COMMIT}, and pull.json says that {'f' * 40} was pulled"):
        trusted(folder)
    (folder / "pull.json").write_text(json.dumps({"revision": COMMIT, "files": []}))
    assert trusted(folder).max_length is None


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
def test_code_of_another_repository_is_not_pinned_and_refused(folder, name):
    settings = json.loads((folder / name).read_text())
    settings["auto_map"] = {"AutoTokenizer": [None, "owner/other--tokenization.Own"]}
    (folder / name).write_text(json.dumps(settings))
    with pytest.raises(AlmanacError, match=f"{name} takes code from another repository .owner/other--tokenization.Own"):
        trusted(folder)


def test_code_that_lies_beside_a_known_architecture_is_left_alone(checkpoint, tmp_path):
    """Trusted or not, without auto_map nothing of the folder is imported."""
    folder = shutil.copytree(checkpoint("llama"), tmp_path / "model")
    (folder / "modeling_llama.py").write_text("raise SystemExit('it ran')\n")
    plain = load(str(folder), AnswerOptions(device="cpu"))
    assert plain.digest == load(str(checkpoint("llama")), AnswerOptions(device="cpu")).digest
    assert trusted(folder).digest != plain.digest
