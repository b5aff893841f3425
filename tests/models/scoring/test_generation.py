import collections
import math
from dataclasses import replace

import pytest
import torch
from tests.models.tiny_networks import SHAPE, sharpen
from transformers import (
    MambaConfig,
    MambaForCausalLM,
    MiniMaxConfig,
    MiniMaxForCausalLM,
    MistralConfig,
    MistralForCausalLM,
)

from almanac.models.causal import CausalModel
from almanac.models.scoring import generation, prefix_cache, reference
from almanac.models.scoring.forest import decoding
from almanac.models.scoring.forest.machines import TreeMachine
from almanac.models.scoring.forest.steps import Stems
from almanac.models.scoring.samples import GrowingText, Prompt, draw, extend, sample_seed

WAYS = {"shared_prefix": TreeMachine, "own_cache": lambda model: None}
CAUSAL = ("llama", "llama2", "gpt2", "neox")
LONG = "Ada Lovelace was born in London in 1815. Paris is the capital of France, and"
TEXTS = (
    LONG,
    LONG + " Rome",
    LONG + " Rome is",
    LONG + " Bordira makes the red clock",
    LONG + " 3M",
    "Paris is",
    "The clock of Bordira",
    "Ada Lovelace was born in",
    "3M",
    "Paris is the",
    "Rome is",
)


def prompt(model, text, new=12, stop=(), temperature=0.0, seeds=(0,)):
    return Prompt(model.wrap(model.tokens.ids(text))[0], new, stop, temperature, seeds)


@pytest.fixture(params=WAYS)
def generate(request):
    """Return generation by one of the two ways."""

    def run(model, prompts, budget=None):
        return generation.generate(model, prompts, WAYS[request.param](model), budget)

    return run


def of_transformers(model, text, new=12):
    """Return the text that transformers' own greedy decoding gives for one prompt."""
    ids = torch.tensor([model.wrap(model.tokens.ids(text))[0]])
    with torch.no_grad():
        out = model.network.generate(
            input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=new, do_sample=False, pad_token_id=0
        )
    return model.tokens.decode(out[0, ids.shape[1] :].tolist())


@pytest.mark.parametrize("name", CAUSAL)
def test_greedy_equals_that_of_transformers(generate, model, name):
    one = model(name)
    found = generate(one, [prompt(one, text) for text in TEXTS])
    assert found == [[of_transformers(one, text)] for text in TEXTS]


@pytest.mark.parametrize("budget", [1, 40])
def test_batches_do_not_matter(generate, model, budget):
    one = model("llama")
    prompts = [prompt(one, text, temperature=1.0, seeds=(1, 2)) for text in TEXTS]
    assert generate(one, prompts, budget) == generate(one, prompts)


def test_what_short_prompts_begin_with_is_read_once_and_all_are_continued_together(model, monkeypatch):
    one = model("llama")
    prompts = [prompt(one, text) for text in TEXTS]
    machine = TreeMachine(one)
    generation.generate(one, prompts[:1], machine)  # it tries the model once
    fed: list[int] = []
    hook = one.network.register_forward_pre_hook(
        lambda module, inputs, options: fed.append(options["input_ids"].numel()), with_kwargs=True
    )
    found = generation.generate(one, prompts, machine)
    hook.remove()
    assert found == [[of_transformers(one, text)] for text in TEXTS]
    beginnings = {each.ids[:stop] for each in prompts for stop in range(1, len(each.ids) + 1)}
    assert fed[0] == len(beginnings) < sum(len(each.ids) for each in prompts)
    assert len(fed) - 1 <= prompts[0].new - 1 and fed[1] <= len(prompts)


@pytest.mark.parametrize("name", CAUSAL)
def test_what_the_texts_of_a_tree_begin_with_is_kept_once(model, name, monkeypatch):
    one = model(name)
    starts = (f"{LONG} {LONG}", f"The clock of Bordira. {LONG} {LONG}", "3M")
    seeds = tuple(sample_seed(7, index) for index in range(3))
    prompts = [
        prompt(one, start + tail, new, temperature=float(tail == " Rome"), seeds=seeds)
        for start in starts
        for tail, new in ((" Paris", 12), (" Rome", 5), ("", 3), (" Paris is the", 12), (" 3M", 1), (" Ada", 0))
    ]
    kept = []
    monkeypatch.setattr(decoding, "Stems", lambda *given: kept.append(Stems(*given)) or kept[-1])
    found = generation.generate(one, prompts, TreeMachine(one))
    assert found == generation.generate(one, prompts)
    assert max(len(stems.lengths) for stems in kept) > 1
    # Those whose stem is empty may be the last that go on.
    for few in ([*prompts[:2], prompts[-2]], [*prompts[-3:], prompts[0]]):
        assert generation.generate(one, few, TreeMachine(one)) == generation.generate(one, few)


@pytest.mark.parametrize("name", CAUSAL)
def test_texts_under_a_trunk_on_a_trunk_go_on_as_by_themselves(model, name, monkeypatch):
    monkeypatch.setattr(decoding, "COPIES", 1)  # so that short trunks pay too
    one = model(name)
    prompts = [prompt(one, text) for text in TEXTS]
    assert any(group.groups and group.loose for group in decoding.grouped(prompts).groups)
    assert generation.generate(one, prompts, TreeMachine(one)) == [[of_transformers(one, text)] for text in TEXTS]


@pytest.mark.parametrize("name", CAUSAL)
def test_a_text_that_has_ended_grows_no_longer_beside_others(model, name):
    one = model(name)
    others = [prompt(one, f"{number} Paris is", 60) for number in range(30)]
    for length, words in ((94, "A"), (23, "AB")):  # the model reads 96 tokens; two in a tree of their own
        ended = [one.wrap(one.tokens.ids(word + LONG * 6))[0][:length] for word in words]
        prompts = [*(Prompt(ids, 2, (), 0.0, (0,)) for ids in ended), *others]
        assert generation.generate(one, prompts, TreeMachine(one)) == generation.generate(one, prompts)


def test_a_stem_is_seen_no_farther_than_a_sliding_window_reaches(model):
    tokens = model("llama").tokens
    torch.manual_seed(0)
    config = MistralConfig(vocab_size=len(tokens.tokenizer), num_key_value_heads=2, sliding_window=6, **SHAPE)
    sliding = CausalModel(MistralForCausalLM(config).eval(), tokens, "", None)
    sharpen(sliding.network)
    prompts = [prompt(sliding, LONG + tail) for tail in (" Rome", " Rome is", " 3M")]
    assert generation.generate(sliding, prompts, TreeMachine(sliding)) == generation.generate(sliding, prompts)


def test_stems_are_kept_for_the_texts_that_go_on_alone():
    keys = torch.arange(3 * 2 * 4 * 5.0).reshape(3, 2, 4, 5)
    stems = Stems({0: (keys, -keys)}, torch.tensor([4, 0, 2]), torch.tensor([0, 0, 1, 2, 2, 2]))
    left = stems.keep(torch.tensor([2, 4, 5]))
    assert left.lengths.tolist() == [0, 2] and left.tree.tolist() == [0, 1, 1] and left.most == 2
    assert torch.equal(left.kept[0][0], keys[1:])
    assert left.longest == 2
    assert left.keep(torch.tensor([0])) is None, "a kernel may divide by the number of keys"


def test_a_model_without_a_plain_cache_gives_the_same_text(generate, model, monkeypatch):
    one = model("llama")
    expected = generate(one, [prompt(one, text) for text in TEXTS])
    monkeypatch.setattr(prefix_cache, "PLAIN_LAYERS", ())
    assert generate(one, [prompt(one, text) for text in TEXTS]) == expected


def test_a_model_that_keeps_no_keys_and_values_is_continued_too(model):
    torch.manual_seed(0)
    tokens = model("llama").tokens
    config = MambaConfig(vocab_size=len(tokens.tokenizer), hidden_size=16, num_hidden_layers=1, state_size=4)
    one = CausalModel(MambaForCausalLM(config).eval(), tokens, "", None)
    sharpen(one.network)
    prompts = [prompt(one, text) for text in TEXTS]
    assert generation.generate(one, prompts) == [[of_transformers(one, text)] for text in TEXTS]


def test_a_model_that_keeps_more_than_its_layers_keys_and_values_is_continued_too(model):
    torch.manual_seed(0)
    tokens = model("llama").tokens
    layers = {"layer_types": ["linear_attention", "full_attention"], "block_size": 16, "num_local_experts": 2}
    config = MiniMaxConfig(vocab_size=len(tokens.tokenizer), num_key_value_heads=2, head_dim=8, **layers, **SHAPE)
    one = CausalModel(MiniMaxForCausalLM(config).eval(), tokens, "", None)
    assert generation.generate(one, [prompt(one, text, 3) for text in TEXTS]) == [
        [of_transformers(one, text, 3)] for text in TEXTS
    ]


def test_the_text_ends_before_a_stop_string(generate, model):
    one = model("llama")
    [[whole]] = generate(one, [prompt(one, "Paris is")])
    stop = whole[5:7]
    [[cut]] = generate(one, [prompt(one, "Paris is", stop=("never there", stop))])
    assert cut == whole[: whole.index(stop)]


def test_the_end_token_ends_the_text(generate, model, monkeypatch):
    one = model("llama")
    text = "Paris is"
    ids = one.tokens.ids(generate(one, [prompt(one, text)])[0][0])
    [row] = reference.distributions(one, [(one.wrap(one.tokens.ids(text))[0], len(one.wrap(one.tokens.ids(text))[0]))])
    first = int(row.argmax())
    monkeypatch.setitem(one.__dict__, "end_ids", frozenset({first}))
    assert generate(one, [prompt(one, text)]) == [[""]]
    assert len(ids) > 0


@pytest.mark.parametrize(("named", "ends"), [(2, {2}), (None, {2}), (7, {2, 7}), ([7, 8], {2, 7, 8})])
def test_the_end_tokens_are_those_of_the_checkpoint_and_of_its_tokenizer(model, monkeypatch, named, ends):
    """A tuned model's generation config may still name the base model's, and its tokenizer the end of a turn."""
    llama = model("llama")
    monkeypatch.setattr(llama.network.generation_config, "eos_token_id", named)
    assert replace(llama).end_ids == ends


def test_a_sample_does_not_depend_on_its_neighbours(generate, model):
    one = model("llama")
    seeds = tuple(sample_seed(7, index) for index in range(5))
    many = generate(one, [prompt(one, text, temperature=1.0, seeds=seeds) for text in TEXTS])
    alone = generate(one, [prompt(one, TEXTS[2], temperature=1.0, seeds=seeds[3:4])])
    assert many[2][3] == alone[0][0]
    assert len(set(many[2])) > 1


def test_greedy_samples_are_one_text(generate, model):
    one = model("llama")
    [texts] = generate(one, [prompt(one, "Paris is", seeds=(1, 2, 3))])
    assert len(texts) == 3 and len(set(texts)) == 1


def test_what_prompts_share_is_read_once_and_the_last_token_is_never_shared():
    long = tuple(range(250))
    more = (*long, 7, *range(250))
    ids = [(*long, 7, 8), (*long, 7, 9), (*long, 7), long, (*more, 1), (*more, 2), (3,)]
    prompts = [Prompt(one, 4, (), 0.0, (0,)) for one in ids]
    root = decoding.grouped(prompts)
    assert (root.length, root.loose) == (0, [6])
    [first] = root.groups
    assert first.length == 249
    assert sorted(first.loose) == [0, 1, 2, 3]
    [second] = first.groups
    assert (second.above, second.length, sorted(second.loose)) == (249, 501, [4, 5])


@pytest.mark.parametrize(("new", "groups"), [(1, 1), (16, 0)])
def test_what_few_prompts_share_is_no_group_where_continuing_them_apart_costs_more(new, groups):
    shared = tuple(range(200))  # one reading of 200 tokens saved, against a pass by themselves for every new token
    prompts = [Prompt((*shared, last), new, (), 0.0, (0,)) for last in (1, 2)]
    assert len(decoding.grouped(prompts).groups) == groups


def test_many_samples_of_a_prompt_share_its_reading():
    one = Prompt(tuple(range(200)), 4, (), 1.0, tuple(range(100)))
    [group] = decoding.grouped([one]).groups
    assert (group.length, group.loose) == (199, [0])
    assert decoding.grouped([Prompt(tuple(range(200)), 4, (), 0.0, tuple(range(100)))]).loose == [0]


def test_samples_follow_the_softmax_at_their_temperature():
    logits = torch.log(torch.tensor([0.5, 0.3, 0.2, 0.0]))
    for temperature in (0.5, 1.0, 2.0):
        draws = torch.Generator().manual_seed(0)
        counts = collections.Counter(draw(logits, temperature, draws) for _ in range(4000))
        weights = [value ** (1 / temperature) for value in (0.5, 0.3, 0.2)]
        assert counts[3] == 0
        for token, weight in enumerate(weights):
            share = weight / sum(weights)
            # Five standard errors of a share of 4000 draws.
            assert abs(counts[token] / 4000 - share) < 5 * math.sqrt(share * (1 - share) / 4000)


def test_logits_that_are_no_numbers_are_an_error(model):
    sample = GrowingText(prompt(model("llama"), "Paris"), None)
    with pytest.raises(ArithmeticError, match="not finite"):
        extend(model("llama"), [sample], torch.full((1, 5), math.nan))
