"""Self-BLEU against its definition, BERTScore against its own."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from almanac.suites.facteval.analyses import bertscore, self_bleu, texts

from .judged import question

WORDS = st.lists(st.sampled_from("abcde"), min_size=0, max_size=8)


def grams(tokens, n):
    return Counter(tuple(tokens[at : at + n]) for at in range(len(tokens) - n + 1))


def bleu(sentence, references):
    """Papineni et al.'s sentence BLEU to 3-grams, smoothed by method 1 of Chen and Cherry, word for word."""
    logs = []
    for n in (1, 2, 3):
        own = grams(sentence, n)
        clipped = sum(min(count, max(grams(one, n)[gram] for one in references)) for gram, count in own.items())
        if n == 1 and clipped == 0:
            return 0.0
        logs.append(math.log((clipped or 0.1) / max(1, sum(own.values()))))
    closest = min((len(one) for one in references), key=lambda size: (abs(size - len(sentence)), size))
    brevity = 1 if len(sentence) > closest else math.exp(1 - closest / len(sentence))
    return brevity * math.exp(sum(logs) / 3)


def leave_one_out(sentences):
    return sum(bleu(one, sentences[:at] + sentences[at + 1 :]) for at, one in enumerate(sentences)) / len(sentences)


@settings(deadline=None)
@given(st.lists(WORDS, min_size=2, max_size=8))
def test_self_bleu_is_the_quadratic_definitions(sentences):
    assert self_bleu(sentences) == pytest.approx(leave_one_out(sentences), abs=1e-12)


@settings(deadline=None)
@given(st.lists(WORDS, min_size=2, max_size=8))
def test_self_bleu_is_nltks(sentences):
    bleu_score = pytest.importorskip("nltk.translate.bleu_score", exc_type=ImportError)
    method1 = bleu_score.SmoothingFunction().method1
    values = [
        bleu_score.sentence_bleu(sentences[:at] + sentences[at + 1 :], one, (1 / 3,) * 3, method1)
        for at, one in enumerate(sentences)
    ]
    assert self_bleu(sentences) == pytest.approx(sum(values) / len(values), abs=1e-12)


def test_sentences_that_are_the_same_have_a_self_bleu_of_1():
    assert self_bleu([["a", "b", "c", "d"]] * 5) == 1
    assert self_bleu([["a", "b", "c"], ["x", "y", "z"]]) == 0
    assert self_bleu([["a"]]) is None
    assert self_bleu([]) is None


@given(st.permutations([tuple("abcab"), tuple("abc"), tuple("ddabc"), tuple("dd")]))
def test_order_does_not_matter(sentences):
    assert self_bleu(sentences) == pytest.approx(self_bleu(sorted(sentences)), abs=1e-15)


def test_texts_are_measured_within_relations_and_averaged():
    same = [question("saq", "x", relation_id="a", text="Who wrote the book?", item_id=str(at)) for at in range(3)]
    apart = [question("saq", "x", relation_id="b", text=text, item_id=text) for text in ("p q r", "s t u")]
    alone = [question("saq", "x", relation_id="c", text="Where?", item_id="c")]
    behind = [question("saq", "x", relation_id="b", text="p q r", context="relevant", item_id="d")]
    rows = {row.relation_id: (row.questions, row.self_bleu) for row in texts(same + apart + alone + behind)}
    assert rows == {None: (6, 0.5), "a": (3, 1.0), "b": (2, 0.0), "c": (1, None)}


def embedded(rng, tokens):
    return rng.normal(size=(tokens, 16))


def test_bertscore_of_a_text_with_itself_is_1():
    own = embedded(np.random.default_rng(1), 7)
    assert bertscore(own, own) == pytest.approx((1, 1, 1))


def test_bertscore_by_hand():
    candidate, reference = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[3.0, 0.0]])
    found = bertscore(candidate, reference)
    assert found == pytest.approx((0.5, 1.0, 2 / 3))
    assert bertscore(reference, candidate) == pytest.approx((1.0, 0.5, 2 / 3))


def test_marks_around_a_text_can_be_matched_but_do_not_count():
    candidate, reference = np.eye(3)[[0, 1]], np.eye(3)[[2, 1]]
    assert bertscore(candidate, reference, ([False, True], [False, True])) == pytest.approx((1, 1, 1))
    assert bertscore(candidate, reference) == pytest.approx((0.5, 0.5, 0.5))
    assert bertscore(candidate, reference, ([False, False], [False, True])) == (0, 0, 0)


@pytest.mark.parametrize("seed", range(5))
def test_bertscore_is_the_bert_score_packages(seed):
    utils = pytest.importorskip("bert_score.utils", exc_type=ImportError)
    import torch

    rng = np.random.default_rng(seed)
    sizes = rng.integers(3, 12, size=2)
    own, other = (embedded(rng, size) for size in sizes)
    weights = [torch.ones(1, size) for size in sizes]
    for weight in weights:
        weight[0, 0] = weight[0, -1] = 0  # the package gives the marks around a text no weight
    masks = [torch.ones(1, size) for size in sizes]
    found = utils.greedy_cos_idf(
        torch.tensor(other)[None], masks[1].double(), weights[1].double(),
        torch.tensor(own)[None], masks[0].double(), weights[0].double(),
    )  # fmt: skip
    counted = tuple([0 < at < size - 1 for at in range(size)] for size in sizes)
    assert bertscore(own, other, counted) == pytest.approx([float(one) for one in found], abs=1e-6)
