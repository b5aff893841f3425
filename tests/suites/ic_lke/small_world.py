"""A small world of two relations, and a tiny model with random weights that answers what is asked of it."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from tests.models.tiny_networks import llama
from tests.suites.support import Trial
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from almanac.models.answering import answer
from almanac.models.options import AnswerOptions
from almanac.models.registry import Model, load
from almanac.rows import Choices, Entity, Fact, Template
from almanac.suites.data import Data

torch.set_num_threads(1)
CITIES = ("Akkra", "Boden", "Cusco", "Delft", "Essen", "Fargo", "Genua", "Hague")


def fact(relation: str, subject: str, found: str, split: str | None) -> Fact:
    return Fact(f"{relation}|{subject}|{found}", relation, subject, found, None, None, None, (), split, "test")


def tables(
    train: int = 12, test: int = 6, relations: Sequence[str] = ("born",), choices: int = 4
) -> dict[str, list[Any]]:
    """Return the tables of a dataset: subjects ``Sam000 Smith``, objects in turn, of which one has an alias."""
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
        Template(f"{relation}/0", relation, "[X] was born in [Y].", "statement", "written", None, ())
        for relation in relations
    ]
    return {"entities": names, "facts": facts, "choices": wrong, "templates": templates}


def world(*args: Any, **kwargs: Any) -> Data:
    """Return the dataset of `tables`."""
    return Data.of(**tables(*args, **kwargs))


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
        return load(str(Path(name)), AnswerOptions(device="cpu"))


def answered(trial: Trial, length: int = 512) -> Trial:
    """Have the tiny model answer all that was asked in the last round."""
    return trial.respond(answer(tiny_model(length), list(trial.requests(-1).values()), trial.contexts(-1), "reference"))
