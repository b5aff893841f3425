import copy
import json
import math
import shutil

import pytest
import torch
from tests.models import tiny_encoders
from torch.nn import functional

from almanac.errors import AlmanacError
from almanac.models.answering import answer
from almanac.models.options import AnswerOptions
from almanac.models.permutation import PermutationModel
from almanac.models.registry import load
from almanac.models.scoring import pseudo, reference
from almanac.models.scoring.boundaries import tokenise
from almanac.rows import Request

CHOICES = (" France", " Italy and Rome", " 3M", ".", " red")


def two_streams(network, ids, hidden, target, segments):
    """Return log-probabilities at a place, from the weights and the equations of Yang et al. (2019), section 2.3.

    Written out for one position at a time, in float64: content h_i sees the visible positions and itself, the query g
    of the target sees the visible ones only; scores add content, distance and segment terms (Transformer-XL).
    """
    weights = {name: value.detach().double() for name, value in network.state_dict().items()}
    config = network.config
    embedded = weights["transformer.word_embedding.weight"]
    frequencies = 10000.0 ** (-torch.arange(0, config.d_model, 2, dtype=torch.float64) / config.d_model)

    def distance(k):
        return torch.cat([torch.sin(k * frequencies), torch.cos(k * frequencies)])

    contents = [embedded[token] for token in ids]
    query = weights["transformer.mask_emb"][0, 0]
    for layer in range(config.n_layer):
        own = {
            name.split(".", 3)[3]: value
            for name, value in weights.items()
            if name.startswith(f"transformer.layer.{layer}.")
        }

        def step(x, at, seen, own=own, contents=contents):
            q = torch.einsum("h,hnd->nd", x, own["rel_attn.q"])
            scores, values = [], []
            for other in seen:
                key = torch.einsum("h,hnd->nd", contents[other], own["rel_attn.k"])
                apart = torch.einsum("h,hnd->nd", distance(at - other), own["rel_attn.r"])
                segment = own["rel_attn.seg_embed"][int(segments[at] != segments[other])]
                scores.append(
                    ((q + own["rel_attn.r_w_bias"]) * key).sum(-1)
                    + ((q + own["rel_attn.r_r_bias"]) * apart).sum(-1)
                    + ((q + own["rel_attn.r_s_bias"]) * segment).sum(-1)
                )
                values.append(torch.einsum("h,hnd->nd", contents[other], own["rel_attn.v"]))
            shares = torch.softmax(torch.stack(scores) / config.d_head**0.5, 0)  # (seen, heads)
            read = torch.einsum("sn,snd->nd", shares, torch.stack(values))
            x = norm(torch.einsum("nd,hnd->h", read, own["rel_attn.o"]) + x, own, "rel_attn.layer_norm")
            inner = functional.gelu(own["ff.layer_1.weight"] @ x + own["ff.layer_1.bias"])
            return norm(own["ff.layer_2.weight"] @ inner + own["ff.layer_2.bias"] + x, own, "ff.layer_norm")

        visible = [place for place in range(len(ids)) if place not in hidden]
        query, contents = (
            step(query, target, visible),
            [step(contents[at], at, sorted({*visible, at})) for at in range(len(ids))],
        )
    return torch.log_softmax(embedded @ query + weights["lm_loss.bias"], -1)


def norm(x, own, name):
    return functional.layer_norm(x, x.shape, own[f"{name}.weight"], own[f"{name}.bias"], 1e-12)


def sequences_of(model):
    requests = [
        Request("a", "choices", None, "Paris is the capital of", choices=CHOICES),
        Request("c", "spans", None, "Bordira makes the red clock.", span_starts=(0, 18), span_ends=(7, 27)),
    ]
    return [sequence for tokenised in tokenise(requests, {}, model) for sequence in tokenised.sequences]


def flat(values):
    return [value for parts in values for part in parts for value in part]


def test_it_equals_the_papers_two_streams(encoder):
    one = encoder("xlnet")
    sequences = sequences_of(one)[2:]
    expected = []
    for sequence in sequences:
        segments = [0] * (len(sequence.ids) - 1) + [2]  # [CLS] comes last and has a segment of its own.
        for start, stop in sequence.parts:
            for position in range(start, stop):
                row = two_streams(one.network, sequence.ids, set(range(position, stop)), position, segments)
                expected.append(float(row[sequence.ids[position]]))
    assert flat(pseudo.score(one, sequences)) == pytest.approx(expected, abs=1e-4)
    assert flat(reference.score(one, sequences)) == pytest.approx(expected, abs=1e-4)
    assert max(expected) - min(expected) > 2


def test_what_is_hidden_makes_no_difference(encoder):
    one = encoder("xlnet")
    ids, _ = one.wrap(one.tokens.ids("Paris is the capital"))
    rows = torch.tensor([ids, ids])
    rows[1, 3] += 1
    with torch.no_grad():
        # Scoring its plain logits as those of a causal or masked model would read the token off itself.
        plain = one.network(input_ids=rows).logits[:, 3]
        assert (plain[0] - plain[1]).abs().max() > 1
    network = copy.deepcopy(one.network)
    with torch.no_grad():
        network.transformer.word_embedding.weight[one.mask_id] += 1
    other = PermutationModel(network, one.tokens, "", None)
    rows[:, 3:6] = one.mask_id
    place = torch.tensor([3, 4])
    with torch.no_grad():
        first, second = (model.logits(rows, place)[:, : one.mask_id] for model in (one, other))
    assert torch.equal(first, second)


def test_padding_makes_no_difference(encoder):
    one = encoder("xlnet")
    ids, _ = one.wrap([*one.tokens.ids("Paris is"), one.mask_id])
    place = torch.tensor([ids.index(one.mask_id)])
    rows = torch.tensor([ids])
    padded = torch.cat([rows, torch.full((1, 4), one.tokens.pad_id)], 1)
    attention = (torch.arange(padded.shape[1]) < len(ids)).long()[None]
    with torch.no_grad():
        assert torch.allclose(one.logits(rows, place), one.plain_logits(padded, attention, place), atol=1e-5)


def test_it_answers_what_masked_models_answer(encoder):
    one = encoder("xlnet")
    requests = [
        Request("c", "choices", None, "Paris is the capital of", choices=CHOICES),
        Request("f", "fill", None, "Paris is [MASK].", top_k=3, choices=("red", "Ada Lovelace")),
        Request("g", "generate", None, "Paris is", max_new_tokens=2),
    ]
    chosen, filled, written = answer(one, requests, {})
    assert (chosen.status, filled.status, written.status) == ("ok", "ok", "unsupported")
    assert chosen.logprobs == pytest.approx(
        [math.fsum(part) for [part] in reference.score(one, sequences_of(one)[: len(CHOICES)])], abs=1e-4
    )
    assert len(filled.tokens) == 3


def test_its_head_is_found_by_name_and_refused_as_a_causal_one(encoder, tmp_path):
    assert isinstance(encoder("xlnet"), PermutationModel)
    folder = tiny_encoders.make("xlnet", tmp_path / "model")
    assert json.loads((folder / "config.json").read_text())["architectures"] == ["XLNetLMHeadModel"]
    with pytest.raises(AlmanacError, match=r"xlnet attends to the tokens after a position too.*use the family masked"):
        load(str(folder), AnswerOptions(family="causal", device="cpu"))


def test_every_model_that_looks_ahead_is_refused_as_a_causal_one(tmp_path):
    """BertLMHeadModel loads the weights of a masked BERT and, unless it is told to, does not look back only."""
    folder = tiny_encoders.make("bert", tmp_path / "model")
    with pytest.raises(AlmanacError, match="bert attends to the tokens after a position too"):
        load(str(folder), AnswerOptions(family="causal", device="cpu"))
    shutil.copy(folder / "config.json", tmp_path / "kept")
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(settings | {"is_decoder": True}))
    assert load(str(folder), AnswerOptions(family="causal", device="cpu")).WRAPPER == "causal/1"


def test_lower_precision_is_refused(tmp_path):
    """transformers computes the second stream's positions in float32, which all of its weights must then be."""
    folder = tiny_encoders.make("xlnet", tmp_path / "model")
    with pytest.raises(AlmanacError, match=r"second stream .* bfloat16.*; set dtype to float32"):
        load(str(folder), AnswerOptions(dtype="bfloat16", device="cpu"))
