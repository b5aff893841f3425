import copy
import itertools
import math

import pytest
import torch

from almanac.models.scoring import encdec, reference
from almanac.models.scoring.boundaries import TokenSequence
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
