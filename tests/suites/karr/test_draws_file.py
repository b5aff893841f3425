"""Given draws through the three commands, on a tiny GPT-2, against the released code's formulas on plain passes."""

import json
import math

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from almanac.cli import main
from almanac.rows import Draw
from almanac.tables import write, write_jsonl

torch.set_num_threads(1)
FACT = "born|Obama|Honolulu"
TEMPLATES = ("[X] was born in [Y].", "The cradle of [X] stood in [Y].")
NAMES = ("Obama", "Barack Obama", "O")  # the last is one token: the code cannot score it
OBJECTS = ("Honolulu", "Honolulu County")
SUBJECTS = {"bach": ("Bach", "J. S. Bach"), "gauss": ("Gauss",)}
RELATIONS = {"nation": "[X] lives in [Y] .", "born": "[X] was born in [Y]."}


def draws(mode):
    item = f"karr/{mode}/facts/{FACT}"
    rows = [Draw(item, "template", at, None, None, text) for at, text in enumerate(TEMPLATES)]
    rows += [Draw(item, "name", at, None, None, text) for at, text in enumerate(NAMES)]
    rows += [Draw(item, "object", at, None, None, text) for at, text in enumerate(OBJECTS)]
    at = 0
    for of, names in SUBJECTS.items():
        for name in names:
            rows.append(Draw(item, "subject", at := at + 1, of, None, name))
    for name in NAMES:
        for of, text in RELATIONS.items():
            rows.append(Draw(item, "relation", at := at + 1, of, name, text))
    return rows


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A seeded GPT-2 of two layers with a byte-level tokenizer, which puts no token before a text."""
    folder = tmp_path_factory.mktemp("gpt2")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=330, initial_alphabet=sorted(alphabet), show_progress=False)
    tokenizer.train_from_iterator([*TEMPLATES, *RELATIONS.values(), *NAMES, *OBJECTS] * 3, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="!")
    fast.save_pretrained(folder)
    torch.manual_seed(7)
    config = GPT2Config(vocab_size=len(fast), n_embd=32, n_layer=2, n_head=2, n_positions=64, initializer_range=0.3)
    GPT2LMHeadModel(config).eval().save_pretrained(folder)
    return folder


def run(checkpoint, folder, *modes):
    """Ask, answer and measure; return values and leaves."""
    write_jsonl(folder / "draws.jsonl", [row for mode in modes for row in draws(mode)])
    asked, answers = folder / "requests", folder / "responses.parquet"
    assert main(["ask", "karr", "--draws", str(folder / "draws.jsonl"), "--output", str(asked)]) == 0
    read = ["--requests", str(asked / "requests-0.parquet"), "--contexts", str(asked / "contexts.parquet")]
    assert main(["answer", "--model", str(checkpoint), "--device", "cpu", *read, "--output", str(answers)]) == 0
    given = ["--requests", str(asked), "--responses", str(answers), "--output", str(folder / "out")]
    assert main(["measure", "karr", *given]) == 0
    return (
        [json.loads(line) for line in (folder / f"out/{name}.jsonl").read_text("utf-8").splitlines()]
        for name in ("values", "leaves")
    )


class Plain:
    """The formulas in float64, one string a pass, in plain probabilities."""

    def __init__(self, folder):
        self.tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
        self.model = GPT2LMHeadModel.from_pretrained(folder).double().eval()

    @torch.no_grad()
    def logs(self, text):
        ids = torch.tensor([self.tokenizer(text)["input_ids"]])
        logs = self.model(ids).logits[0].log_softmax(-1)
        return [float(logs[at, token]) for at, token in enumerate(ids[0, 1:])]

    def lp(self, text, n):
        last = self.logs(text)[-n:]
        return math.exp(sum(last) / len(last)) if last else math.nan

    def sentence(self, text):
        return self.lp(text, 10**6)

    def condition(self, gamma, beta):
        rest = gamma.replace(beta, "").strip()
        return self.lp(gamma, len(self.tokenizer(" " + rest)["input_ids"]))

    def official(self):
        def filled(template, name, found=""):
            return template.replace("[X]", name).replace("[Y]", found).rstrip(" .")

        gammas = [filled(t, a, o) for t in TEMPLATES for a in NAMES for o in OBJECTS]
        n = sum(
            self.sentence(beta) * self.condition(gamma, beta)
            for beta in (filled(t, a) for t in TEMPLATES for a in NAMES)
            for gamma in gammas
            if beta in gamma
        )
        ds = sum(
            self.sentence(filled(t, a)) * self.condition(filled(t, a, o), filled(t, a))
            for t in TEMPLATES
            for names in SUBJECTS.values()
            for a in names
            for o in OBJECTS
        ) / len(SUBJECTS)
        dr = 0.0
        for a in NAMES:
            weight = self.sentence(a)
            if not math.isnan(weight):
                texts = (t.replace("[X]", a).replace("[Y]", o) for t in RELATIONS.values() for o in OBJECTS)
                dr += weight * sum(self.condition(text, a) for text in texts) / len(RELATIONS)
        return n, ds, dr

    def product(self, template, name, found):
        beta = template.partition(" [Y]")[0].replace("[X]", name)
        return math.exp(sum(self.logs(f"{beta} {found}")[len(self.tokenizer(beta)["input_ids"]) - 1 :]))

    def leaves(self):
        """Return every leaf of the formulas by part, whose it is, beta and text: its probability and its tokens."""
        betas = [("own", None, t, a) for t in TEMPLATES for a in NAMES]
        betas += [("subject", of, t, a) for t in TEMPLATES for of, names in SUBJECTS.items() for a in names]
        betas += [("relation", of, t, a) for of, t in RELATIONS.items() for a in NAMES]
        out = {}
        for part, of, template, name in betas:
            beta = template.partition(" [Y]")[0].replace("[X]", name)
            for found in OBJECTS:
                tokens = len(self.tokenizer(f" {found}")["input_ids"])
                out[part, of, beta, f"{beta} {found}"] = (self.product(template, name, found), tokens)
        return out

    def paper(self):
        def mean(values):
            values = list(values)
            return sum(values) / len(values)

        def given(template, name):
            return sum(self.product(template, name, found) for found in OBJECTS)

        return (
            mean(given(t, a) for t in TEMPLATES for a in NAMES),
            mean(mean(given(t, a) for t in TEMPLATES for a in names) for names in SUBJECTS.values()),
            mean(mean(given(t, a) for t in RELATIONS.values()) for a in NAMES),
        )


def test_values_and_leaves_are_those_of_the_formulas_on_plain_passes(checkpoint, tmp_path):
    values, leaves = run(checkpoint, tmp_path, "paper", "official")
    plain = Plain(checkpoint)
    assert math.isnan(plain.sentence("O"))
    for value in values:
        wanted = plain.paper() if "/paper/" in value["item_id"] else plain.official()
        found = [math.exp(value[name]) for name in ("numerator", "by_subject", "by_relation")]
        assert found == pytest.approx(wanted, rel=1e-5)
        n, ds, dr = wanted
        ratios = [math.exp(value[name]) for name in ("karr_s", "karr_r", "karr")]
        assert ratios == pytest.approx((n / ds, n / dr, math.sqrt(n / ds * n / dr)), rel=1e-5)
    given = {
        (leaf["part"], leaf.get("of"), leaf["beta"], leaf["text"]): (math.exp(leaf["logprob"]), leaf["tokens"])
        for leaf in leaves
        if "/paper/" in leaf["item_id"]
    }
    wanted = plain.leaves()
    assert given.keys() == wanted.keys()
    for key, (probability, tokens) in wanted.items():
        assert given[key] == (pytest.approx(probability, rel=1e-5), tokens)
    for leaf in leaves:
        if "/official/" in leaf["item_id"]:
            assert math.exp(leaf["logprob"]) == pytest.approx(plain.condition(leaf["text"], leaf["beta"]), rel=1e-5)
            weight = plain.sentence(leaf["beta"])
            assert math.isnan(weight) == ("weight" not in leaf)
            assert "weight" not in leaf or math.exp(leaf["weight"]) == pytest.approx(weight, rel=1e-5)
    # Two templates, three names, two objects; "Obama was born in" also stands in the two gammas of Barack Obama.
    own = [leaf for leaf in leaves if leaf["part"] == "own"]
    assert len([leaf for leaf in own if "/paper/" in leaf["item_id"]]) == 12
    assert len([leaf for leaf in own if "/official/" in leaf["item_id"]]) == 14


def test_draws_with_a_wrong_template_are_refused_and_nothing_is_written(tmp_path, capsys):
    rows = [row for row in draws("paper") if row.role != "template"]
    write_jsonl(
        tmp_path / "d.jsonl", [*rows, Draw(rows[0].item_id, "template", 0, None, None, "In [Y], [X] was born.")]
    )
    assert main(["ask", "karr", "--draws", str(tmp_path / "d.jsonl"), "--output", str(tmp_path / "out")]) != 0
    assert "'In [Y], [X] was born.' does not end in [Y]" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["draws.jsonl", "draws.parquet"])
def test_a_file_without_a_draw_is_refused_and_nothing_is_written(tmp_path, capsys, name):
    write_jsonl(tmp_path / name, []) if name.endswith("jsonl") else write(tmp_path / name, Draw, [])
    assert main(["ask", "karr", "--draws", str(tmp_path / name), "--output", str(tmp_path / "out")]) != 0
    assert f"{name}: holds no draw; write a row for each drawn text" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
