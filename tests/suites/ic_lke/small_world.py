"""A small world of two relations, and a tiny model with random weights that answers what is asked of it."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from tests.models.tiny_networks import llama
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from almanac.models.answering import answer
from almanac.models.registry import Model, ModelSource, load
from almanac.rows import Choices, Entity, Exposure, Fact, Response, Template
from almanac.suites.asking import Asked
from almanac.suites.method import Answered, Data

torch.set_num_threads(1)
CITIES = ("Akkra", "Boden", "Cusco", "Delft", "Essen", "Fargo", "Genua", "Hague")


def fact(relation: str, subject: str, found: str, split: str | None) -> Fact:
    return Fact(f"{relation}|{subject}|{found}", relation, subject, found, None, None, None, (), split, "test")


def world(train: int = 12, test: int = 6, relations: Sequence[str] = ("born",), choices: int = 4) -> Data:
    """Return a dataset: subjects ``Sam000 Smith``, objects in turn, of which one has an alias."""
    facts, wrong = [], []
    for relation in relations:
        for at in range(train + test):
            found = CITIES[at * 5 % len(CITIES)]
            facts.append(fact(relation, f"{relation}:s{at:03}", f"c:{found}", "train" if at < train else "test"))
            others = [one for one in CITIES if one != found][: choices - 1]
            if at >= train:
                wrong.append(Choices(facts[-1].fact_id, tuple(f"c:{one}" for one in others), tuple(others)))
    names = [Entity(f"c:{one}", one, ("Old Akkra",) if one == "Akkra" else (), None) for one in CITIES]
    names += [Entity(one.subject_id, f"Sam{one.subject_id[-3:]} Smith", (), None) for one in facts]
    templates = [
        Template(f"{relation}/0", relation, text, "statement", "written", None, ())
        for relation in relations
        for text in ("[X] was born in [Y].",)
    ]
    return Data(entities=tuple(names), facts=tuple(facts), choices=tuple(wrong), templates=tuple(templates))


@cache
def tiny_model(length: int = 512) -> Model:
    """Return a Llama of two layers with random, sharp weights and a byte-level tokenizer."""
    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    learner.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=["<pad>", "<s>", "</s>"], initial_alphabet=alphabet, show_progress=False
    )
    learner.train_from_iterator([f" Smith {city}" for city in CITIES], trainer)
    vocabulary = PreTrainedTokenizerFast(tokenizer_object=learner, pad_token="<pad>", bos_token="<s>", eos_token="</s>")
    torch.manual_seed(0)
    with TemporaryDirectory() as name:
        llama(len(vocabulary), length, initializer_range=0.3).save_pretrained(name)
        vocabulary.save_pretrained(name)
        return load(ModelSource(str(Path(name)), device="cpu"))


def responses_of(asked: Asked, length: int = 512) -> list[Response]:
    """Return the tiny model's responses to everything that is asked."""
    contexts = {context.context_id: context.text for context in asked.contexts.values()}
    return answer(tiny_model(length), list(asked.requests.values()), contexts, "reference")


def answered(
    asked: Asked, data: Data, responses: Sequence[Response], exposures: Sequence[Exposure] | None = None
) -> Answered:
    """Return what was asked with its responses, as `measure` takes it."""
    requests = list(asked.requests.values())
    return Answered("m", "d", data, asked.items, asked.links, requests, responses, asked.beside, exposures)


def text_of(asked: Asked, request_id: str) -> str:
    """Return the text that a request is about, its choices aside."""
    request = asked.requests[request_id]
    before = asked.contexts[request.context_id].text if request.context_id else ""
    return before + request.text + "".join(request.pieces or ())
