"""What BELIEF asks."""

import tracemalloc
from collections import Counter
from dataclasses import replace

import pytest
from pydantic import ValidationError
from tests.suites.belief.small import CITIES, FACTS, data, fact, tables
from tests.suites.support import Trial, ok

from almanac import tables as files
from almanac.rows import Choices, Entity, Exposure, Fact, Relation, Template
from almanac.suites.belief.options import BeliefOptions
from almanac.suites.belief.suite import Belief
from almanac.suites.data import Data

ALL = {"groups": 9, "per_group": 9, "names": 0, "prompting": ()}


def asked(folder, dataset=None, **settings):
    return Trial(folder, Belief(), dataset or data(), BeliefOptions(**{**ALL, **settings})).ask()


def test_the_grid_is_pairs_times_names_times_templates(tmp_path):
    trial = asked(tmp_path)
    found = Counter((item.fact_id, item.name) for item in trial.items())
    assert found == {
        ("born|p:1|c:o", "Ada Oslo"): 4,
        ("born|p:1|c:o", "Ada"): 4,
        ("born|p:2|c:b", "Bob"): 4,
        ("born|p:2|c:b", "Rome"): 4,
        ("lived|p:3|c:r", "Cleo"): 2,
    }
    rows = {row.relation_id: row for row in trial.own("grid")}
    born = rows["born"]
    assert (born.templates, born.groups, born.pairs, born.triples, born.names, born.prompts) == (4, 3, 2, 3, 4, 16)
    assert born.derived == 2 * 2 + 2 * 3  # Ada, two names of Oslo; Bob, three names of Lima and Bern
    assert (born.guessable, born.ambiguous, born.unsafe, born.source) == (1, 1, 1, "dataset")
    assert sum(row.prompts for row in rows.values()) == len(trial.items())


def test_the_first_prompt_of_a_pair_has_its_label_and_the_first_template(tmp_path):
    trial = asked(tmp_path)
    prompts = {row.item: row for row in trial.own("prompts")}
    for item in trial.items():
        row = prompts[item.item]
        assert (row.prompt == 0) == (item.template_id.endswith("/0") and not row.alias)
        assert row.guessable == (item.fact_id == "born|p:1|c:o")
        assert row.ambiguous == (item.name == "Rome")
    pairs = Counter((item.fact_id, prompts[item.item].prompt) for item in trial.items())
    assert set(pairs.values()) == {1}
    counts = Counter(fact_id for fact_id, _ in pairs)
    assert pairs.keys() == {(fact_id, at) for fact_id, count in counts.items() for at in range(count)}


def test_a_blank_is_asked_for_the_likeliest_token_and_every_true_name(tmp_path):
    trial = asked(tmp_path, groups=1, per_group=1, names=1)
    request = next(one for one in trial.questions() if one.item.fact_id == "born|p:2|c:b").request
    assert (request.kind, request.text, request.top_k) == ("fill", "Bob was born in [MASK].", 1)
    assert request.choices == ("Bern", "Lima", "It")


def test_ranked_objects_stand_before_the_true_names_and_serve_a_second_item(tmp_path):
    trial = asked(tmp_path, groups=1, per_group=1, names=1, candidates=-1)
    question = next(one for one in trial.questions() if one.item.fact_id == "born|p:2|c:b")
    assert sorted(question.request.choices[:2]) == ["Oslo", "Rome"]
    assert question.request.choices[2:] == ("Bern", "Lima", "It")
    assert [served.item.experiment for served in question.serves] == ["vocabulary", "candidates"]
    assert question.link.index == 2


def test_texts_are_asked_greedily_and_share_what_stands_before(tmp_path):
    trial = asked(tmp_path, fill=False, prompting=("zero_shot", "4_template"), styles=("mask", "question"), names=1)
    greedy = [one for one in trial.questions() if one.link.role == "greedy"]
    assert {(one.request.temperature, one.request.stop, one.request.max_new_tokens) for one in greedy} == {
        (0.0, ("\n",), 10)
    }
    items = Counter((one.item.experiment, one.setting.prompting, one.setting.style) for one in greedy)
    assert items["icl", "zero_shot", "mask"] == 2 * 4 + 2
    assert items["icl", "zero_shot", "question"] == 3
    questions = [one for one in greedy if one.setting.style == "question"]
    assert {one.request.text for one in questions if one.item.relation_id == "lived"} == {"Q: Where did Cleo live?\nA:"}
    # The first prompt of each pair and way serves its control too: the same text, a wrong object.
    controls = [served.item for one in greedy for served in one.serves if served.item.experiment == "control"]
    assert len(controls) == 3 * 4
    assert all(not {*item.accepted} & {"Lima", "Bern", "It"} for item in controls if item.fact_id == "born|p:2|c:b")


def test_one_prompt_of_each_sampled_pair_is_sampled_at_temperature_one(tmp_path):
    trial = asked(tmp_path, fill=False, prompting=("zero_shot",), sampled=2, samples=7)
    samples = [one for one in trial.questions() if one.link.role == "samples"]
    assert len({one.item.fact_id for one in samples}) == len(samples) == 2
    assert {(one.request.samples, one.request.temperature) for one in samples} == {(7, 1.0)}
    assert len({one.request.seed for one in samples}) == 2
    assert sum(row.sampled for row in trial.own("prompts")) == 2


def test_more_facts_change_nothing_of_what_is_asked_of_a_fact(tmp_path):
    fewer = tables() | {"facts": [fact for fact in FACTS if fact.subject_id != "p:1"]}
    settings = {"prompting": ("zero_shot", "4_relation"), "sampled": 9}
    one, other = asked(tmp_path / "a", **settings), asked(tmp_path / "b", Data.of(**fewer), **settings)
    assert set(other.requests()) <= set(one.requests())


def test_of_a_huge_dataset_only_what_is_asked_becomes_rows_and_facts_beyond_are_true_as_well(tmp_path):
    """As rows 20,000 facts and their wrong choices take some 15 MB."""
    beyond = [replace(fact("born", f"b:{at}", "c:o", "test"), split=None) for at in range(20_000)]
    told = replace(fact("born", "p:2", "c:r", "test"), split=None)
    choices = [Choices(one.fact_id, ("c:r",), ("Rome",)) for one in beyond]
    rows = tables() | {"facts": [*FACTS, *beyond, told], "choices": choices, "exposures": [], "relations": []}
    classes = {"facts": Fact, "choices": Choices, "exposures": Exposure, "entities": Entity, "templates": Template}
    classes |= {"relations": Relation}
    for name, row in classes.items():
        files.write(tmp_path / f"{name}.parquet", row, rows[name])
    batches = Belief().ask(Belief.rounds[0], Data(tmp_path), BeliefOptions(**ALL), None)
    tracemalloc.start()
    items = [item for batch in batches for item in batch.items.to_pylist()]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5_000_000
    assert {item["fact_id"] for item in items} == {"born|p:1|c:o", "born|p:2|c:b", "lived|p:3|c:r"}
    assert {tuple(item["accepted"]) for item in items if item["fact_id"] == "born|p:2|c:b"} == {
        ("Bern", "Lima", "Rome", "It")
    }


@pytest.mark.parametrize("shown", [[], [fact("born", "p:4", city, "train") for city in CITIES] + [FACTS[4]]])
def test_where_the_facts_for_showing_have_too_few_subjects_any_other_is_shown(tmp_path, shown):
    facts = [one for one in FACTS if one.relation_id == "born" and one.split == "test"] + shown
    beyond = [replace(fact("born", f"t:{at}", "c:o", "test"), split=None) for at in range(4)]
    own = tables() | {"facts": facts + beyond}
    trial = asked(tmp_path, Data.of(**own), prompting=("4_template",), fill=False, groups=1, per_group=1, names=1)
    greedy = {one.item.fact_id: one.before for one in trial.questions() if one.item.experiment == "icl"}
    assert all(before.count("was born in [MASK].") == 4 for before in greedy.values())
    assert any("Tom" in before for before in greedy.values())


def test_subjects_that_say_nothing_are_asked_of_no_fact_in_every_template(tmp_path):
    trial = asked(tmp_path, prompting=("zero_shot",), bias=True, names=1)
    free = [one for one in trial.questions() if one.item.experiment == "content_free"]
    assert {one.item.fact_id for one in free} == {None}
    texts = {one.request.text for one in free if one.request.kind == "fill" and one.item.template_id == "born/0"}
    assert texts == {"N/A was born in [MASK].", "was born in [MASK].", "? was born in [MASK]."}
    told = {one.request.text for one in free if one.request.kind == "choices" and one.item.template_id == "born/0"}
    assert told == {f"Q: {text}\nA:" for text in texts}
    assert {tuple(sorted(one.request.choices)) for one in free if one.request.kind == "fill"} == {
        ("Bern", "Lima", "Oslo", "Rome")
    }


def test_what_cannot_be_asked_is_said(tmp_path):
    own = tables()
    own["templates"] = [row for row in own["templates"] if row.relation_id == "born"][:1]
    refused = dict(asked(tmp_path, Data.of(**own), templates="dataset").refused())
    assert "it has no template with both slots; add one to the facts' templates" in refused["relation lived"]
    assert refused["consistency of born"] == "it has one template, which can agree with no other"
    alone = asked(
        tmp_path / "question", Data.of(**own), templates="dataset", prompting=("zero_shot",), styles=("question",)
    )
    assert ("relation born as a question", "none of its chosen templates has a question") in alone.refused()


def test_the_second_round_asks_how_likely_the_sampled_answers_are(tmp_path):
    trial = asked(tmp_path, fill=False, prompting=("4_template",), sampled=2, samples=2, sequence=True)

    def reply(question):
        return ok(texts=(" Oslo.",) * question.request.samples)

    trial.answer(reply).ask()
    rows = trial.questions()
    assert len(rows) == 2
    for one in rows:
        assert one.request.choices == (" Oslo.",)
        assert one.text.startswith("Predict the [MASK]")
        assert one.text.endswith("\nA:")
    trial.answer(lambda question: ok(logprobs=(-0.5,), token_counts=(3,)))
    said = [row for row in trial.judge()["said"].iter_rows(named=True) if row["sequence"] is not None]
    assert [(round(row["sequence"], 6), row["answer_tokens"]) for row in said] == [(0.606531, 3)] * 2


def test_settings_that_cannot_be_are_refused():
    with pytest.raises(ValidationError, match="styles"):
        BeliefOptions(styles=())
    with pytest.raises(ValidationError, match="prompting must be distinct"):
        BeliefOptions(prompting=("zero_shot", "zero_shot"))


def test_what_is_true_of_the_subject_too_is_no_wrong_object_though_it_was_offered(tmp_path):
    """As where wrong choices were drawn with `exclude_true: false`."""
    offered = [Choices("born|p:2|c:b", ("c:l", "c:o"), ("Lima", "Oslo"))]
    trial = asked(tmp_path, Data.of(**tables() | {"choices": offered}), candidates=-1)
    found = [one.request.choices for one in trial.questions() if one.item.fact_id == "born|p:2|c:b"]
    ranked = [choices for choices in found if choices and "Oslo" in choices]
    assert ranked and all(len(set(choices)) == len(choices) for choices in ranked)
