"""Given draws on a tiny GPT-2, against the formulas and the released code's on plain passes; files that are refused."""

import math

import polars as pl
import pytest
import torch
from tests.suites.karr.worlds import SUITE, Measured, Written, asked, world
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

from almanac.edition.asking import write_asked
from almanac.errors import AlmanacError
from almanac.models.answering import answer
from almanac.models.options import AnswerOptions
from almanac.models.registry import load
from almanac.rows import NotAsked, Response
from almanac.suites.answers import Answers, RoundFiles
from almanac.suites.karr.given import check
from almanac.suites.karr.options import KarrOptions
from almanac.suites.karr.rows import GivenDraw
from almanac.tables import read, write, write_jsonl

torch.set_num_threads(1)
OPTIONS = KarrOptions()
FACT = "born|Obama|Honolulu"
TEMPLATES = ("[X] was born in [Y].", "The cradle of [X] stood in [Y].")
NAMES = ("Obama", "Barack Obama", "O")  # the last is one token: the code cannot score it
OBJECTS = ("Honolulu", "Honolulu County")
SUBJECTS = {"bach": ("Bach", "J. S. Bach"), "gauss": ("Gauss",)}
# Of another relation the object need not stand last.
RELATIONS = {"nation": "[X] lives in [Y] today.", "born": "[X] was born in [Y]."}


def draws(mode):
    what = (FACT, mode, "facts")
    rows = [GivenDraw(*what, "template", at, None, None, text) for at, text in enumerate(TEMPLATES)]
    rows += [GivenDraw(*what, "name", at, None, None, text) for at, text in enumerate(NAMES)]
    rows += [GivenDraw(*what, "object", at, None, None, text) for at, text in enumerate(OBJECTS)]
    at = 0
    for of, names in SUBJECTS.items():
        for name in names:
            rows.append(GivenDraw(*what, "subject", at := at + 1, of, None, name))
    for name in NAMES:
        for of, text in RELATIONS.items():
            rows.append(GivenDraw(*what, "relation", at := at + 1, of, name, text))
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
    """Ask, answer and measure; return values and leaves with the mode of their items."""
    path = folder / "draws.jsonl"
    write_jsonl(path, [row for mode in modes for row in draws(mode)])
    elsewhere = SUITE.elsewhere(path, OPTIONS)
    write_asked(folder / "asked", elsewhere.batches, SUITE.tables("asked"), 1)
    model = load(str(checkpoint), AnswerOptions(device="cpu"))
    responses = answer(model, list(Written(folder / "asked").requests.values()), {}, "forest")
    write(folder / "responses.parquet", Response, responses)
    asked_of = [RoundFiles.of("asked", folder / "asked", [folder / "responses.parquet"], "m")]
    found = Measured(Answers("m", "d", asked_of, SUITE.setting, SUITE.tables("asked")), elsewhere.data, OPTIONS)
    assert {found.find("known", mode).n for mode in modes} == {1}
    mode_of = found.judged.frame.select("item", pl.col("experiment").cast(pl.String).alias("mode"))
    return (
        found.own[name].join(mode_of, on=pl.col("item").cast(pl.UInt32)).to_dicts() for name in ("values", "leaves")
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
        wanted = plain.paper() if value["mode"] == "paper" else plain.official()
        found = [math.exp(value[name]) for name in ("numerator", "by_subject", "by_relation")]
        assert found == pytest.approx(wanted, rel=1e-5)
        n, ds, dr = wanted
        ratios = [math.exp(value[name]) for name in ("karr_s", "karr_r", "karr")]
        assert ratios == pytest.approx((n / ds, n / dr, math.sqrt(n / ds * n / dr)), rel=1e-5)
    given = {
        (leaf["part"], leaf["of"], leaf["beta"], leaf["text"]): (math.exp(leaf["logprob"]), leaf["tokens"])
        for leaf in leaves
        if leaf["mode"] == "paper"
    }
    wanted = plain.leaves()
    assert given.keys() == wanted.keys()
    for key, (probability, tokens) in wanted.items():
        assert given[key] == (pytest.approx(probability, rel=1e-5), tokens)
    for leaf in leaves:
        if leaf["mode"] == "official":
            assert math.exp(leaf["logprob"]) == pytest.approx(plain.condition(leaf["text"], leaf["beta"]), rel=1e-5)
            weight = plain.sentence(leaf["beta"])
            assert math.isnan(weight) == (leaf["weight"] is None)
            assert leaf["weight"] is None or math.exp(leaf["weight"]) == pytest.approx(weight, rel=1e-5)
    # Two templates, three names, two objects; "Obama was born in" also stands in the two gammas of Barack Obama.
    own = [leaf for leaf in leaves if leaf["part"] == "own"]
    assert len([leaf for leaf in own if leaf["mode"] == "paper"]) == 12
    assert len([leaf for leaf in own if leaf["mode"] == "official"]) == 14


def test_an_encoder_decoder_reads_the_sentence_and_writes_the_object(checkpoint, tmp_path):
    """T5 in mode paper: each leaf is the decoder's probability of the object's tokens behind the sentence before it."""
    tokenizer = PreTrainedTokenizerFast.from_pretrained(checkpoint)
    torch.manual_seed(3)
    shape = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 2, "initializer_factor": 1.0}
    config = T5Config(vocab_size=len(tokenizer), decoder_start_token_id=0, pad_token_id=0, eos_token_id=1, **shape)
    T5ForConditionalGeneration(config).eval().save_pretrained(tmp_path / "t5")
    tokenizer.save_pretrained(tmp_path / "t5")
    [value], leaves = run(tmp_path / "t5", tmp_path, "paper")
    assert value["reason"] is None and math.isfinite(value["karr"])
    network = T5ForConditionalGeneration.from_pretrained(tmp_path / "t5").double().eval()
    for leaf in leaves:
        found = tokenizer(leaf["text"].removeprefix(leaf["beta"]))["input_ids"]
        ids = torch.tensor([tokenizer(leaf["beta"])["input_ids"]])
        with torch.no_grad():
            logs = network(input_ids=ids, decoder_input_ids=torch.tensor([[0, *found[:-1]]])).logits[0].log_softmax(-1)
        wanted = sum(float(logs[at, token]) for at, token in enumerate(found))
        assert (leaf["tokens"], leaf["logprob"]) == (len(found), pytest.approx(wanted, abs=1e-4))


def test_draws_of_a_dataset_ask_what_it_asks_and_nothing_else(tmp_path):
    whole = asked(world()[0], KarrOptions(sample=2))
    rows = [
        GivenDraw(fact_id, mode, of, row.role, row.position, row.of, row.name, row.text)
        for (mode, of, fact_id), drawn in whole.draws.items()
        for row in drawn.rows(0)
        if fact_id.startswith("a|")
    ]
    write(tmp_path / "draws.parquet", GivenDraw, rows)
    write_asked(
        tmp_path / "asked",
        SUITE.elsewhere(tmp_path / "draws.parquet", OPTIONS).batches,
        SUITE.tables("asked"),
        1,
    )
    again = Written(tmp_path / "asked")
    assert again.draws == {name: drawn for name, drawn in whole.draws.items() if name[2].startswith("a|")}
    assert set(again.requests) < set(whole.requests)
    assert {experiment for experiment, _, _ in again.accepted} == {"paper", "official"}


@pytest.mark.parametrize("name", ["draws.jsonl", "draws.parquet"])
def test_a_file_without_a_draw_is_refused(tmp_path, name):
    write_jsonl(tmp_path / name, []) if name.endswith("jsonl") else write(tmp_path / name, GivenDraw, [])
    with pytest.raises(AlmanacError, match=f"{name}: holds no draw; write a row for each drawn text"):
        SUITE.elsewhere(tmp_path / name, OPTIONS)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (("template", 9, None, None, "[Y] bore [X]."), "'[Y] bore [X].' does not end in [Y]"),
        (("template", 9, None, None, "[X] saw [Y] first."), "'[X] saw [Y] first.' does not end in [Y]"),
        (("relation", 9, "r", "Obama", "[Y] bore [X]."), "'[Y] bore [X].' of r lacks [Y] after [X]"),
        (("relation", 9, "r", "Obama", "[X] lives."), "'[X] lives.' of r lacks [Y] after [X]"),
    ],
)
def test_a_template_that_cannot_be_read_refuses_its_draw_alone(tmp_path, row, reason):
    bad = GivenDraw(FACT, "official", "facts", *row)
    write_jsonl(tmp_path / "draws.jsonl", [*draws("paper"), *draws("official"), bad])
    write_asked(
        tmp_path / "asked", SUITE.elsewhere(tmp_path / "draws.jsonl", OPTIONS).batches, SUITE.tables("asked"), 1
    )
    found = Written(tmp_path / "asked")
    assert {mode for mode, _, _ in found.draws} == {"paper"}
    [refused] = read(tmp_path / "asked" / "refused.parquet", NotAsked)
    assert refused.thing == f"draw {FACT}, official, facts" and reason in refused.reason
    with pytest.raises(AlmanacError, match="no draw can be asked"):
        check([*draws("official"), bad], "draws.jsonl")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (GivenDraw("f", "paper", "facts", "word", 0, None, None, "x"), "unknown role 'word'; allowed are template"),
        (GivenDraw("f", "paper", "facts", "subject", 0, None, None, "x"), "lacks `of`"),
        (GivenDraw("f", "paper", "facts", "name", 0, None, None, " "), "the text is empty"),
        (GivenDraw("f", "mine", "facts", "name", 0, None, None, "x"), "unknown mode 'mine'; allowed are paper"),
        (GivenDraw("f", "paper", "mine", "name", 0, None, None, "x"), "unknown asked 'mine'; allowed are facts, null"),
        (GivenDraw("f", "paper", "facts", "name", 0, None, None, "x"), "has no row of the role template or object"),
        (GivenDraw(FACT, "paper", "facts", "name", 0, None, None, "Obama"), "name 0 has two rows; keep one"),
        (GivenDraw(FACT, "paper", "facts", "relation", 99, "r", "Else", "[X] [Y]"), "not one of the subject's names"),
        (GivenDraw(FACT, "paper", "facts", "name", 9, None, None, "Hussein"), "no relation is drawn for 'Hussein'"),
    ],
)
def test_a_wrong_draw_is_refused_by_its_fact(row, message):
    good = [one for one in draws("paper") if one.fact_id == row.fact_id]
    with pytest.raises(AlmanacError) as error:
        check([*good, row], "draws.jsonl")
    assert message in str(error.value) and row.fact_id in str(error.value)
