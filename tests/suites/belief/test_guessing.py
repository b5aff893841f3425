"""LAMA-UHN's second rule: an object among the likeliest three for a part of the name is given away by the name."""

import json

import pytest
import torch
from benchmarks.checkpoints import TINY, masked
from tests.suites.support import Trial

from almanac import tables
from almanac.errors import AlmanacError
from almanac.rows import Entity, Fact, Relation
from almanac.suites.belief.guessing import Guessed, filler, guessed, main
from almanac.suites.belief.options import BeliefOptions
from almanac.suites.belief.suite import Belief
from almanac.suites.data import Data

NAMES = {
    "s1": "Jean Dupont",
    "s2": "Ada Ito",
    "s3": "Jean Ito",
    "fr": "French",
    "jp": "Japanese",
    "en": "English",
    "pa": "Paris",
}


def fact(relation, subject, found):
    return Fact(f"{relation}|{subject}|{found}", relation, subject, found, *[None] * 3, (), "test", "t")


FACTS = [
    fact("P103", "s1", "fr"),
    fact("P103", "s2", "en"),
    fact("P103", "s3", "fr"),
    fact("P103", "s3", "en"),
    fact("born", "s1", "pa"),
    fact("P36", "s1", "pa"),
]
RELATIONS = [
    Relation(name, name, kind, None, None, None) for name, kind in (("P103", "P103"), ("born", "P19"), ("P36", "P36"))
]
DATA = {
    "facts": FACTS,
    "relations": RELATIONS,
    "entities": [Entity(key, name, (), None) for key, name in NAMES.items()],
}


def test_a_pair_is_guessed_where_each_object_is_likeliest_of_some_part_of_the_name():
    asked = []

    def fill(texts):
        asked.extend(texts)
        said = {"Jean": ["French", "paris", "Breton"], "Ito": ["Japanese", "Ainu", "Korean"]}
        return [said.get(text.split()[0], ["x"]) for text in texts]

    assert guessed(Data.of(**DATA), fill) == [Guessed("P103", "s1"), Guessed("born", "s1")], "s3 speaks English too"
    assert "Jean is a common name in the following language : [MASK] ." in asked
    assert "Dupont is a common name in the following city : [MASK] ." in asked
    assert len(asked) == len(set(asked)) == 6, "each part of a name once a kind"


def test_other_relations_alone_are_refused():
    with pytest.raises(AlmanacError, match="has none of the relations P19, P20, P27, P103, P1412"):
        guessed(Data.of(**{**DATA, "facts": FACTS[-1:]}), lambda texts: [])


def test_a_masked_checkpoint_fills_by_its_likeliest_three(tmp_path):
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    folder = masked(tmp_path / "model", list(NAMES.values()), TINY)
    texts = [f"{name} is a name in [MASK] ." for name in ("Jean", "Ada Ito")]
    found = list(filler(str(folder))(texts))
    words, model = AutoTokenizer.from_pretrained(folder), AutoModelForMaskedLM.from_pretrained(folder).eval()
    for text, own in zip(texts, found, strict=True):
        inputs = words(text.replace("[MASK]", words.mask_token), return_tensors="pt")
        [at] = (inputs["input_ids"][0] == words.mask_token_id).nonzero().flatten().tolist()
        with torch.inference_mode():
            logits = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]).logits[0, at]
        order = sorted(range(len(logits)), key=lambda token: -float(logits[token]))[:3]
        assert own == [words.decode([token]).strip() for token in order]


def test_no_model_is_said_in_a_line(tmp_path, capsys):
    for name, row in (("facts", Fact), ("relations", Relation), ("entities", Entity)):
        tables.write(tmp_path / f"{name}.parquet", row, sorted(DATA[name], key=str))
    assert main([str(tmp_path), "--model", str(tmp_path / "none"), "--output", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().out
    assert said.startswith(f"almanac: {tmp_path}/none: ") and said.count("\n") == 1


def test_a_checkpoint_whose_tokenizer_has_no_mask_token_is_refused(tmp_path):
    folder = masked(tmp_path / "model", list(NAMES.values()), TINY)
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        if (path := folder / name).is_file():
            said = json.loads(path.read_text())
            said.pop("mask_token", None)
            path.write_text(json.dumps(said))
    with pytest.raises(AlmanacError, match="its tokenizer has no mask token; name the folder of a masked model"):
        filler(str(folder))


def test_guessed_pairs_are_left_out_by_uhn(tmp_path):
    path = tmp_path / "guessed.jsonl"
    path.write_text(json.dumps({"relation_id": "P103", "subject_id": "s2"}) + "\n")
    templates = tmp_path / "templates.jsonl"
    row = {"template_id": "t", "relation_id": "P103", "text": "[X] speaks [Y].", "style": "statement",
           "origin": "own", "parent_id": None, "entails": []}  # fmt: skip
    templates.write_text(json.dumps(row) + "\n")
    options = BeliefOptions(file=str(templates), prompting=(), guessed=str(path))
    trial = Trial(tmp_path / "asked", Belief(), Data.of(**DATA), options).ask()
    kept = {item.fact_id: prompt.guessable for item, prompt in zip(trial.items(), trial.own("prompts"), strict=True)}
    assert kept == {
        "P103|s1|fr": False,
        "P103|s2|en": True,
        "P103|s3|en": False,
        "P36|s1|pa": False,
        "born|s1|pa": False,
    }
