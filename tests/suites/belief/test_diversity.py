"""How different templates are: worked examples of the distances, and the command on the files that ship."""

import json
import math
import sys
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
import torch
from benchmarks.checkpoints import TINY, masked

from almanac.dataset.templates import FOLDER
from almanac.errors import AlmanacError
from almanac.suites.belief import diversity
from almanac.suites.belief.diversity import by_syntax, by_words, embedder, filled, main, mean_distance, share, tree_of


class Token(NamedTuple):
    """What is used of spaCy's token."""

    i: int
    dep_: str
    over: int

    @property
    def head(self):
        return Token(self.over, "", self.over)


def test_words_are_compared_as_sets_without_the_slots():
    assert list(by_words(["[X] was born in [Y].", "Born in [Y], [X] was.", "[X]'s home is [Y]."])) == [0, 1, 1]
    assert list(by_words(["[X] [Y]", "[Y]: [X]"])) == [0], "none has a word"
    assert list(by_words(["a b c", "b c d"])) == [0.5]
    assert list(by_words(["[X] की राजधानी", "[X] की राजधानियाँ"])) == [pytest.approx(2 / 3)], "vowel signs part no words"


def test_pairs_are_averaged_within_a_relation_and_relations_alike():
    assert mean_distance([["a", "a", "b"], ["c", "c"], ["d"]], by_words) == pytest.approx((2 / 3 + 0) / 2)
    assert mean_distance([["a"]], by_words) is None


def test_a_tree_keeps_the_order_of_the_sentence_under_a_root_of_its_own():
    # Alice was born in Paris . Really ?
    tokens = [("nsubj", 2), ("aux", 2), ("ROOT", 2), ("prep", 2), ("pobj", 3), ("punct", 2), ("ROOT", 6), ("punct", 6)]
    tree = tree_of([Token(number, *one) for number, one in enumerate(tokens)])
    assert tree.labels == ("", "ROOT", "nsubj", "aux", "prep", "pobj", "punct", "ROOT", "punct")
    assert tree.children == ((1, 7), (2, 3, 4, 6), (), (), (5,), (), (), (8,), ())


def test_the_share_of_edits_is_jaccards_distance_of_a_symmetric_difference():
    assert share(2, 3, 3) == 0.5, "{a, b, c} and {b, c, d} differ by two"
    assert share(0, 4, 4) == 0
    assert share(5, 2, 3) == 1, "nothing in common"


def test_both_names_stand_in_the_slots():
    assert filled("In [Y], [X]'s") == "In Peru, Kenya's"


def test_meaning_is_the_mean_of_the_last_hidden_states_of_a_text_read_alone(tmp_path):
    from transformers import AutoModel, AutoTokenizer

    texts = ["Kenya is in Peru .", "Peru", "Kenya is in Peru ."]
    folder = masked(tmp_path / "model", texts, TINY)
    found = embedder(str(folder))(texts)
    words, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    for text, vector in zip(texts, found, strict=True):
        with torch.inference_mode():
            states = model(**words(text, return_tensors="pt")).last_hidden_state[0]
        assert np.allclose(vector, states.mean(dim=0).numpy(), atol=1e-5)
    cosine, euclidean = diversity.by_meaning(str(folder))
    assert cosine(texts)[1] == pytest.approx(0, abs=1e-12) and euclidean(texts)[1] == 0
    assert euclidean(texts)[0] == pytest.approx(math.dist(*found[:2]))
    one, other = (vector / np.linalg.norm(vector) for vector in found[:2])
    assert cosine(texts)[0] == pytest.approx(math.dist(one, other) ** 2 / 2)


def test_the_command_prints_all_templates_and_the_written_ones(capsys):
    assert main([str(FOLDER / "lama.jsonl"), str(FOLDER / "shipped.jsonl")]) == 0
    said = capsys.readouterr().out
    assert "| lama.jsonl, all | 41 | 100 | 0.8950 |" in said and "| shipped.jsonl, written | 39 | 5 | " in said
    assert "No syntax: name a spaCy pipeline" in said and "No meaning: name a model's folder" in said


def test_a_users_own_file_is_read_and_what_is_none_refused_in_a_line(tmp_path, capsys):
    row = {"relation_id": "r", "style": "statement", "origin": "own", "parent_id": None, "entails": []}
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps({"template_id": at, "text": f"[X] {at} [Y]."} | row) + "\n" for at in "ab"))
    assert main([str(path)]) == 0
    assert "| own.jsonl, all | 1 | 2 | 1.0000 |" in capsys.readouterr().out
    other = tmp_path / "b" / path.name
    other.parent.mkdir()
    other.write_text(path.read_text())
    assert main([str(path), str(other)]) == 0
    said = capsys.readouterr().out
    assert f"| {path}, all | 1 | 2 |" in said and f"| {other}, all | 1 | 2 |" in said, "two files of one name"
    group = {"relation_id": "r", "group": "g1", "style": "statement", "texts": ["[X] is [Y].", "[X] is it."]}
    path.write_text(json.dumps(group) + "\n")
    assert main([str(path)]) == 1
    assert "template 'r/g1/1': '[X] is it.' must hold [X] and [Y] once each" in capsys.readouterr().out


def test_what_is_not_installed_is_said_with_the_environment_that_has_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "edist.ted", None)
    with pytest.raises(AlmanacError, match=r"run this in the environment of envs/lemmas\.txt"):
        by_syntax("en_core_web_sm")
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(AlmanacError, match="run this in Almanac's own environment"):
        embedder(str(tmp_path))
    monkeypatch.undo()
    with pytest.raises(AlmanacError, match="name the folder of a model"):
        embedder(str(tmp_path))


def test_edits_are_a_share_of_both_trees(monkeypatch):
    """Trees whose tokens all stand under the first differ by as many edits as one has more of them."""
    stars = SimpleNamespace(
        pipe_names=["parser"],
        pipe=lambda texts: ([Token(at, "dep", 0) for at in range(len(text.split()))] for text in texts),
    )
    monkeypatch.setattr(diversity, "load_spacy", lambda model, exclude: stars)
    edits = SimpleNamespace(ted=lambda one, _, other, __: abs(len(one) - len(other)))
    monkeypatch.setitem(sys.modules, "edist.ted", edits)
    texts = ["[X] is [Y].", "[X] is the home of [Y]."]
    assert [*by_syntax("stars")(texts), *by_syntax("stars")(texts[::-1])] == [2 * 3 / (3 + 6 + 3)] * 2


def test_a_parsers_trees_differ_where_the_syntax_does():
    """Runs where spaCy's English parser is installed: the environment of envs/lemmas.txt and a pipeline."""
    pytest.importorskip("edist.ted")
    pytest.importorskip("en_core_web_sm")
    texts = ["[X] lies in [Y].", "[X] sits in [Y].", "It is [Y] that [X] lies in."]
    same, other, _ = by_syntax("en_core_web_sm")(texts)
    assert same == 0 < other == list(by_syntax("en_core_web_sm")(texts[::-1]))[1] < 1
