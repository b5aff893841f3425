import copy
import math

import pytest
import torch
from tests.models import tiny_encoders
from transformers import CONFIG_MAPPING, AutoModelForSeq2SeqLM

from almanac.models.scoring import encdec, reference
from almanac.models.scoring.backends import backend
from almanac.models.scoring.boundaries import TokenSequence
from almanac.models.scoring.encdec import generate
from almanac.models.scoring.samples import Prompt, sample_seed
from almanac.models.seq2seq import Seq2SeqModel
from almanac.rows import Request

NAMES = ("t5", "flan", "bart")
CHOICES = (" France", " France and Rome", " Fran", " London", " Ada Lovelace was born in London", ".", " 3M", " red")
TEXTS = ("Paris is the capital of", "The tape", "Bordira makes the red clock. The clock of Bordira is")


def choices(text, *given, context=None):
    return Request(text, "choices", context, text, choices=given or CHOICES)


def sequences_of(model, texts=TEXTS):
    return [one for found in encdec.tokenise([choices(text) for text in texts], {}, model) for one in found.sequences]


def flat(values):
    return [value for parts in values for part in parts for value in part]


def one_token_at_a_time(model, sequences):
    """Score in float64: for each token, the whole network on the text and the answer up to it, one row."""
    network = copy.deepcopy(model.network).double()
    found = []
    for sequence in sequences:
        for start, stop in sequence.parts:
            for position in range(start - len(sequence.head), stop - len(sequence.head)):
                with torch.no_grad():
                    logits = network(
                        input_ids=torch.tensor([sequence.head]),
                        decoder_input_ids=torch.tensor([sequence.tail[:position]]),
                    ).logits[0, -1]
                found.append(float(torch.log_softmax(logits, -1)[sequence.tail[position]]))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_it_equals_plain_float64_passes_of_one_token(encoder, name):
    one = encoder(name)
    sequences = sequences_of(one)
    expected = one_token_at_a_time(one, sequences)
    assert flat(encdec.score(one, sequences)) == pytest.approx(expected, abs=1e-4)
    assert flat(reference.score(one, sequences)) == pytest.approx(expected, abs=1e-4)
    assert max(expected) - min(expected) > 3  # The comparison would notice a wrong position.


@pytest.mark.parametrize("name", NAMES)
def test_neither_batches_nor_order_matter(encoder, name, monkeypatch):
    one = encoder(name)
    sequences = sequences_of(one)
    together = flat(encdec.score(one, sequences))
    assert flat(encdec.score(one, sequences, budget=1)) == pytest.approx(together, abs=1e-5)
    assert flat(encdec.score(one, sequences[::-1], budget=60)[::-1]) == pytest.approx(together, abs=1e-5)
    for row in (1, 12, 30):  # Each path alone, two or three, a few.
        monkeypatch.setattr(encdec, "ROW", row)
        assert flat(encdec.score(one, sequences)) == pytest.approx(together, abs=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_all_tokens_are_a_choice_of_probability_one_together(encoder, name):
    one = encoder(name)
    head, _ = one.wrap(one.tokens.ids("Paris is"))
    first = len(head) + len(one.start)
    every = [TokenSequence((*one.start, token), ((first, first + 1),), head) for token in range(one.vocabulary)]
    assert math.fsum(math.exp(value) for value in flat(encdec.score(one, every))) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_the_encoder_reads_each_text_once_and_the_decoder_no_beginning_twice(encoder, name, monkeypatch):
    one = encoder(name)
    requests = [choices(text) for text in (*TEXTS, *TEXTS)]  # Two requests about each text.
    sequences = [found for answers in encdec.tokenise(requests, {}, one) for found in answers.sequences]
    read, fed = [], []
    real = encdec._read

    def counted(model, rows, states, values):
        fed.extend(row.length for row in rows)
        real(model, rows, states, values)

    monkeypatch.setattr(encdec, "_read", counted)
    with one.network.get_encoder().register_forward_hook(
        lambda _module, _given, output: read.append(len(output.last_hidden_state))
    ):
        encdec.score(one, sequences)
    assert sum(read) == len(TEXTS)
    # Of the last token nothing is predicted; what is left of an answer is fed with one that goes on from it.
    answers = {tuple(one.answer_ids(choice)[:-1]) for choice in CHOICES}
    longest = [ids for ids in answers if not any(other[: len(ids)] == ids != other for other in answers)]
    assert len(longest) < len(answers)
    assert sum(fed) == len(TEXTS) * sum(len(one.start) + len(ids) for ids in longest)


def test_memory_that_runs_out_halves_the_batch(encoder, monkeypatch):
    one = encoder("bart")
    sequences = sequences_of(one)
    expected = flat(encdec.score(one, sequences))
    real, sizes = Seq2SeqModel.decode, []

    def limited(self, states, ids, mask=None):
        if len(ids) > 2:
            raise torch.OutOfMemoryError("out of memory")
        sizes.append(len(ids))
        return real(self, states, ids, mask)

    monkeypatch.setattr(Seq2SeqModel, "decode", limited)
    assert flat(encdec.score(one, sequences)) == pytest.approx(expected, abs=1e-5)
    assert max(sizes) == 2


@pytest.mark.parametrize("architecture", ["switch_transformers", "nllb-moe"])
def test_experts_that_take_so_many_tokens_take_as_many_of_each_choice(encoder, architecture):
    """Switch-Transformers counts the tokens of a row, NLLB-MoE those of a batch where its experts may not take all."""
    tokens = encoder("t5").tokens
    t5 = tiny_encoders.T5 | {"num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1, "expert_capacity": 2}
    nllb = tiny_encoders.BART | {"encoder_sparse_step": 1, "decoder_sparse_step": 1}
    nllb |= {"moe_eval_capacity_token_fraction": 0.3}
    settings = {"switch_transformers": t5, "nllb-moe": nllb}[architecture]
    torch.manual_seed(0)
    config = CONFIG_MAPPING[architecture](vocab_size=len(tokens.tokenizer), num_experts=2, **settings)
    one = Seq2SeqModel(AutoModelForSeq2SeqLM.from_config(config).eval(), tokens, "", None)
    sequences = sequences_of(one)
    found = backend("forest", one).score(sequences, (), lambda index, row: None)
    assert flat(found) == pytest.approx(flat(reference.score(one, sequences)), abs=1e-4)
    prompts = [prompt(one, text) for text in ASKED]
    assert generate(one, prompts) == [generate(one, [each])[0] for each in prompts]


def test_huge_logits_stay_finite(encoder):
    one = encoder("t5")
    network = copy.deepcopy(one.network)
    with torch.no_grad():
        network.decoder.final_layer_norm.weight.mul_(1e7)
    values = flat(encdec.score(Seq2SeqModel(network, one.tokens, "", None), sequences_of(one)))
    assert min(values) < -1e6
    assert all(math.isfinite(value) for value in values)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", NAMES)
def test_lower_precision_keeps_choices_apart(encoder, name, dtype):
    one = encoder(name)
    low = Seq2SeqModel(copy.deepcopy(one.network).to(dtype), one.tokens, "", None)
    sequences = sequences_of(low)
    found, plain = flat(encdec.score(low, sequences)), flat(reference.score(low, sequences))
    assert found == pytest.approx(plain, abs=0.25)  # What rounding may do to a token.


def test_what_cannot_be_scored_is_said(encoder):
    one = encoder("t5")
    none, empty = encdec.tokenise([Request("a", "choices", None, "Paris"), choices("Paris is", " red", " ")], {}, one)
    assert "no choices" in none.problem
    assert "choice 2 (' ') has no token" in empty.problem


def test_the_length_is_that_of_the_longer_side(encoder):
    one = encoder("t5")
    short, long = encdec.tokenise([choices("Paris is", " red"), choices("3M", *CHOICES)], {}, one)
    assert short.length == len(short.sequences[0].head)
    assert long.length == max(len(sequence.tail) for sequence in long.sequences)


def test_a_context_stands_before_the_text(encoder):
    one = encoder("t5")
    [split] = encdec.tokenise([choices(" is the capital of", context="c")], {"c": "Paris"}, one)
    [whole] = encdec.tokenise([choices("Paris is the capital of")], {}, one)
    assert split == whole


def prompt(model, text, new=12, stop=(), temperature=0.0, seeds=(0,)):
    return Prompt(model.wrap(model.tokens.ids(text))[0], new, stop, temperature, seeds)


UNFORCED = {"forced_bos_token_id": None, "forced_eos_token_id": None}


def of_transformers(model, text, new=12):
    """Return the text of transformers' own greedy decoding, without the tokens that BART's settings force on it."""
    ids = torch.tensor([model.wrap(model.tokens.ids(text))[0]])
    start = torch.tensor([model.start])
    with torch.no_grad():
        out = model.network.generate(
            input_ids=ids, decoder_input_ids=start, max_new_tokens=new, do_sample=False, num_beams=1, **UNFORCED
        )
    return model.tokens.decode(out[0, start.shape[1] :].tolist())


ASKED = (*TEXTS, "Rome is", "3M", "Ada Lovelace was born in London")


@pytest.mark.parametrize("name", NAMES)
def test_greedy_equals_that_of_transformers(encoder, name):
    one = encoder(name)
    found = generate(one, [prompt(one, text) for text in ASKED])
    assert found == [[of_transformers(one, text)] for text in ASKED]
    assert len({text for [text] in found}) > 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("budget", [1, 70])
def test_a_sample_does_not_depend_on_its_neighbours(encoder, name, budget):
    one = encoder(name)
    seeds = tuple(sample_seed(7, index) for index in range(5))
    many = generate(one, [prompt(one, text, temperature=1.0, seeds=seeds) for text in ASKED])
    assert generate(one, [prompt(one, text, temperature=1.0, seeds=seeds) for text in ASKED], budget) == many
    alone = generate(one, [prompt(one, ASKED[2], temperature=1.0, seeds=seeds[3:4])])
    assert many[2][3] == alone[0][0]
    assert len({text for texts in many for text in texts}) > 2


def test_samples_share_the_encoder(encoder):
    one = encoder("flan")
    read = []
    with one.network.get_encoder().register_forward_hook(
        lambda _module, _given, output: read.append(len(output.last_hidden_state))
    ):
        [texts] = generate(one, [prompt(one, "Paris is", temperature=1.0, seeds=tuple(range(100)))])
    assert (len(texts), read) == (100, [1])


def test_samples_follow_the_distribution(encoder):
    """The share of each first token among 2000 samples is its probability, within five standard errors."""
    one = encoder("t5")
    count = 2000
    [texts] = generate(one, [prompt(one, "Paris is", new=1, temperature=1.0, seeds=tuple(range(count)))])
    [found] = encdec.tokenise([choices("Paris is", " red")], {}, one)
    head = found.sequences[0].head
    with torch.no_grad():
        logits = one.network(input_ids=torch.tensor([head]), decoder_input_ids=torch.tensor([one.start])).logits[0, -1]
    shares = torch.softmax(logits.double(), -1).tolist()
    by_text: dict[str, float] = {}
    for token, share in enumerate(shares):
        text = "" if token in one.end_ids else one.tokens.decode([token])
        by_text[text] = by_text.get(text, 0.0) + share
    for text, share in by_text.items():
        assert abs(texts.count(text) / count - share) <= 5 * math.sqrt(share * (1 - share) / count) + 1e-9


def test_the_text_ends_before_a_stop_string_or_at_the_end_token(encoder, monkeypatch):
    one = encoder("bart")
    [[whole]] = generate(one, [prompt(one, "Paris is")])
    stop = whole[2:4]
    [[cut]] = generate(one, [prompt(one, "Paris is", stop=("never there", stop))])
    assert cut == whole[: whole.index(stop)]
    first = one.tokens.ids(whole)[0]
    assert one.tokens.decode([first]) and whole.startswith(one.tokens.decode([first]))
    assert one.end_ids == {2}
    monkeypatch.setitem(one.__dict__, "end_ids", frozenset({first}))
    assert generate(one, [prompt(one, "Paris is")]) == [[""]]


def test_greedy_samples_are_one_text(encoder):
    one = encoder("t5")
    [texts] = generate(one, [prompt(one, "Paris is", seeds=(1, 2, 3))])
    assert len(texts) == 3 and len(set(texts)) == 1


def test_nothing_is_written_where_nothing_is_wanted(encoder):
    one = encoder("t5")
    assert generate(one, [prompt(one, "Paris is", new=0)]) == [[""]]
