"""The numbers of BELIEF."""

import math
from dataclasses import replace
from statistics import fmean

import polars as pl
import pytest
from tests.suites.belief.small import PEOPLE, data, tables
from tests.suites.ic_lke import small_world
from tests.suites.support import Trial, number, ok, silent

from almanac.statistics.intervals import wilson
from almanac.suites import headline
from almanac.suites.agreement import called
from almanac.suites.belief.measures import _biases, across, written_rank
from almanac.suites.belief.options import BeliefOptions
from almanac.suites.belief.suite import Belief
from almanac.suites.data import Data
from almanac.suites.judged import Not, from_text
from almanac.suites.standings import called_facts

BLANK = {"experiment": "vocabulary", "prompting": None, "style": None}
TEXT = {"experiment": "icl", "prompting": "zero_shot", "style": "mask"}
LABELS = {own[0] for own in PEOPLE.values()}
SETTINGS = {"groups": 9, "per_group": 9, "names": 0, "draws": 500}


def played(folder, reply, doses=None, dataset=None, model="m", **settings):
    options = BeliefOptions(**{**SETTINGS, "prompting": (), **settings})
    return Trial(folder, Belief(), dataset or data(), options, doses=doses, model=model).ask().answer(reply)


def knows(template: str):
    """Fill in a true name in one template, else a word of one's own; a third of the way sure."""

    def reply(question):
        count = len(question.request.choices)
        right = question.item.template_id == template
        token = question.request.choices[0] if right else question.item.template_id
        return ok(
            logprobs=tuple(-1.0 - at for at in range(count)),
            ranks=(0 if right else 1, *range(2, count + 1)),
            tokens=(token,),
            probabilities=(0.75 if right else 0.5,),
        )

    return reply


def in_other_words(templates):
    return [replace(row, template_id=f"{row.template_id}/b", text="So [X]: [Y].") for row in templates]


def test_every_pair_counts_alike_however_many_names_it_is_asked_by(tmp_path):
    rows = played(tmp_path, knows("born/0")).measures()
    # born: two pairs, a quarter of the prompts of each; lived: one pair, none.
    assert number(rows, "accuracy", **BLANK).value == pytest.approx((0.25 + 0.25 + 0) / 3)
    assert number(rows, "accuracy", **BLANK, relation="born").value == pytest.approx(0.25)
    assert number(rows, "accuracy", **BLANK, guessable=False).value == pytest.approx(0.25 / 2)
    assert number(rows, "accuracy_of_template", **BLANK, relation="born", template="born/0").value == 1
    # Of a template whose prompts are right by labels alone, each pair is right by one of its names.
    labels = played(
        tmp_path / "labels", lambda asked: knows(asked.item.template_id * (asked.item.name in LABELS))(asked)
    )
    of_label = {"relation": "born", "template": "born/0"}
    share = fmean(1 / len(PEOPLE[one]) for one in ("p:1", "p:2"))
    assert number(labels.measures(), "accuracy_of_template", **BLANK, **of_label).value == pytest.approx(share)
    assert number(rows, "best_templates", **BLANK).value == pytest.approx(2 / 3)
    assert number(rows, "worst_templates", **BLANK).value == 0
    assert number(rows, "oracle", **BLANK).value == pytest.approx(2 / 3)
    assert number(rows, "maximum", **BLANK).value == pytest.approx(2 / 3)
    # Four templates of born with accuracies 1, 0, 0, 0, two thirds of the pairs.
    assert number(rows, "deviation_closed", **BLANK).value == pytest.approx(2 / 3 * math.sqrt(3) / 4)
    assert number(rows, "range", **BLANK).value == pytest.approx(2 / 3)


def test_a_pair_counts_once_among_its_prompts_by_its_label_and_once_among_those_by_other_names(tmp_path):
    """Bob, also called Rome, is known as that by every template; Ada, as Ada alone, by none, and half of them fail."""

    def reply(question):
        if "Ada" in question.text and "Oslo" not in question.text and question.item.template_id in ("born/1", "born/2"):
            return silent("failed")
        knows = "Rome" in question.text
        count = len(question.request.choices)
        return ok(logprobs=(-1.0,) * count, ranks=(0 if knows else 9,) * count, tokens=("x",), probabilities=(0.5,))

    rows = played(tmp_path, reply).measures()
    assert number(rows, "accuracy", **BLANK, alias=False).value == 0
    assert number(rows, "accuracy", **BLANK, alias=True).value == pytest.approx(1 / 2), "and not four of six prompts"


def test_prompts_of_one_pair_are_no_further_draws(tmp_path):
    """Each of 24 subjects has two prompts, which are answered alike: 24 draws, and not 48."""
    own = small_world.tables(train=8, test=12, relations=("born", "died"))
    own["templates"] += in_other_words(own["templates"])
    known = {fact.fact_id for fact in own["facts"][::3]}

    def reply(question):
        return ok(texts=(f" {question.item.accepted[0]}" if question.item.fact_id in known else " Nowhere",))

    settings = {"fill": False, "prompting": ("zero_shot",), "templates": "dataset"}
    rows = played(tmp_path, reply, dataset=Data.of(**own), **settings).measures()
    accuracy, written = number(rows, "accuracy", **TEXT), number(rows, "accuracy", **TEXT, written=True)
    subjects = len({fact.subject_id for fact in own["facts"] if fact.split == "test"})
    assert accuracy.n == written.n == 2 * subjects and 0 < accuracy.value < 1
    assert (written.value, written.low, written.high) == (accuracy.value, accuracy.low, accuracy.high)
    assert written.low <= wilson(written.value, subjects).low
    assert number(rows, "one_word", **TEXT).low == pytest.approx(wilson(1, subjects).low)


def test_consistency_is_that_of_names_where_every_template_is_answered_otherwise(tmp_path):
    rows = played(tmp_path, knows("none")).measures()
    # Each template has an answer of its own: of 8 prompts of a pair of born, 4 of 28 pairs of prompts agree.
    assert number(rows, "consistency", **BLANK, relation="born").value == pytest.approx(4 / 28)
    assert number(rows, "consistency", **BLANK, relation="lived").value == 0
    # A written template and its wording, by two names, agree by name alone; the other two have one wording each.
    assert number(rows, "consistency_inner", **BLANK).value == pytest.approx((4 * 1 / 3 + 4) / 8)
    assert number(rows, "consistency_inter", **BLANK).value == 0
    assert number(rows, "consistency_of_names", **BLANK).value == 1
    assert number(rows, "consistency_of_templates", **BLANK).value == 0


def test_of_relations_with_one_template_and_one_name_there_is_no_consistency_and_not_a_perfect_one(tmp_path):
    own = {name: rows[:] for name, rows in tables().items()}
    own["templates"] = [row for row in own["templates"] if row.template_id in ("born/0", "lived/0")]
    rows = played(tmp_path, knows("born/0"), dataset=Data.of(**own), names=1).measures()
    found = [row for row in rows if row.metric.startswith("consistency")]
    assert number(rows, "consistency", **BLANK).n == 3
    assert {row.value for row in found} == {None}


def test_overconfidence_is_mean_confidence_less_accuracy(tmp_path):
    rows = played(tmp_path, knows("born/0")).measures()
    asked, right = 18, number(rows, "accuracy", **BLANK).value
    known = {**BLANK, "confidence": Not(None), "hit": Not(None)}
    mean = 0.75 * right + 0.5 * (1 - right)
    assert number(rows, "overconfidence", **known).value == pytest.approx(mean - right)
    bins = [row for row in rows if row.metric == "accuracy_of_bin"]
    assert sum(row.n for row in bins) == asked
    assert max(row.n for row in bins) - min(row.n for row in bins) <= 1


def test_overconfidence_is_of_the_prompts_that_have_a_confidence(tmp_path):
    """Of each pair one text is sampled: three that are sure, of which those of two pairs are right."""

    def reply(question):
        right = question.item.relation_id == "born"
        return ok(texts=(f" {question.item.accepted[0] if right else 'Bern'}",) * (question.request.samples or 1))

    texts = {"fill": False, "prompting": ("zero_shot",), "styles": ("mask",), "sampled": 10, "samples": 4}
    rows = played(tmp_path, reply, **texts).measures()
    known = {**TEXT, "confidence": Not(None), "hit": Not(None)}
    assert number(rows, "overconfidence", **known).value == pytest.approx(1 - 2 / 3)


def test_of_a_template_a_pair_counts_once_however_many_of_its_other_prompts_were_answered(tmp_path):
    def reply(question):
        item = question.item
        if "p:1" in item.fact_id and item.template_id != "born/0":
            return silent("failed")
        return ok(texts=(" Oslo" if item.relation_id == "born" else " Rome",))

    rows = played(tmp_path, reply, fill=False, prompting=("zero_shot",), styles=("mask",)).measures()
    of_template = {**TEXT, "relation": "born", "template": "born/0"}
    assert number(rows, "accuracy_of_template", **of_template).value == pytest.approx(1 / 2)


def test_a_model_without_bias_is_at_zero_and_one_with_a_single_favourite_at_one(tmp_path):
    def reply(question, favourite):
        count = len(question.request.choices)
        logs = tuple(0.0 if favourite is None or at == favourite else -800.0 for at in range(count))
        return ok(logprobs=logs, ranks=(0,) * count, tokens=("x",), probabilities=(0.5,))

    for favourite, level in ((None, 0.0), (1, 1.0)):
        trial = played(tmp_path / str(favourite), lambda one, favourite=favourite: reply(one, favourite), bias=True)
        rows = trial.measures()
        where = {**BLANK, "experiment": "content_free"}
        assert number(rows, "bias_single", **where).value == pytest.approx(level)
        assert number(rows, "bias_multi", **where).value == pytest.approx(level)


def test_bias_is_among_the_objects_that_the_tokenizer_can_write(tmp_path):
    """The last one is written as unknown, which is likelier than all; the others are equally likely."""

    def reply(question):
        count = len(question.request.choices)
        logs = (*[-5.0] * (count - 1), -0.1)
        counts = (*[1] * (count - 1), 0)
        return ok(logprobs=logs, token_counts=counts, ranks=(0,) * count, tokens=("x",), probabilities=(0.5,))

    rows = played(tmp_path, reply, bias=True).measures()
    where = {**BLANK, "experiment": "content_free"}
    assert number(rows, "bias_single", **where).value == pytest.approx(0)
    assert number(rows, "bias_multi", **where).value == pytest.approx(0)


def test_distributions_after_subjects_that_say_nothing_are_averaged_before_they_are_taken_over_the_objects(tmp_path):
    """After one of the three the objects are as likely as not, after the others they are hardly any."""

    def reply(question):
        count, likely = len(question.request.choices), "N/A" in question.request.text
        logs = tuple(0.0 if likely and at == 0 else -50.0 for at in range(count))
        return ok(logprobs=logs, ranks=(0,) * count, tokens=("x",), probabilities=(0.5,))

    rows = played(tmp_path, reply, bias=True).measures()
    where = {**BLANK, "experiment": "content_free"}
    assert number(rows, "bias_single", **where).value == pytest.approx(1)
    assert number(rows, "bias_multi", **where).value == pytest.approx(1)


def test_bias_is_a_mean_over_templates_and_there_is_none_of_one_object():
    """One template has two objects alike, another .9 of one of them; of a second relation one can be written."""
    rows = [(0, 0, 0.5), (0, 1, 0.5), (1, 0, 0.9), (1, 1, 0.1), (2, 0, 0.7)]
    leanings = pl.DataFrame([(*at, math.log(share)) for *at, share in rows], ["item", "place", "logprob"], orient="row")
    items = pl.DataFrame({"item": [0, 1, 2], "relation": ["r", "r", "s"], "template": ["r/0", "r/1", "s/0"]})

    def level(share):
        return 1 + (share * math.log2(share) + (1 - share) * math.log2(1 - share))

    assert _biases(items, leanings) == pytest.approx((level(0.9) / 2, level(0.7)))
    assert _biases(items[2:], leanings[4:]) == (None, None)


def test_written_templates_are_ranked_among_the_wordings_of_their_relation():
    """One in the middle of three, one that ties, one that is last of two; a relation without a paraphrase is none."""
    accuracies = {"a": (0.5, 0.9, 0.1), "b": (0.4, 0.4), "c": (0.1, 0.9), "d": (0.9, 0.1)}
    cells = [
        (relation, f"{relation}/{at}", at == 0 or relation == "d", 1.0, share)
        for relation, own in accuracies.items()
        for at, share in enumerate(own)
    ]
    columns = ["relation", "template", "written", "template_worth", "template_worth_hit"]
    assert written_rank(pl.DataFrame(cells, columns, orient="row")) == pytest.approx((0.5 + 0.5 + 1) / 3)


def test_averaging_templates_first_takes_away_the_bias_that_each_has_alone(tmp_path):
    def reply(question):
        count = len(question.request.choices)
        favourite = int(question.item.template_id == "lived/q")
        logs = tuple(0.0 if at == favourite else -800.0 for at in range(count))
        return ok(logprobs=logs, ranks=(0,) * count, tokens=("x",), probabilities=(0.5,))

    rows = played(tmp_path, reply, bias=True).measures()
    where = {**BLANK, "experiment": "content_free"}
    assert number(rows, "bias_single", **where).value == pytest.approx(1)
    # lived: two objects with a half each of four: half the most entropy; born: one favourite in all.
    assert number(rows, "bias_multi", **where).value == pytest.approx((0.5 + 1) / 2)


def test_what_models_share_is_the_part_of_ones_right_prompts_that_another_has_right(tmp_path):
    judged = {
        name: played(tmp_path / name, knows(template), model=name).judged()
        for name, template in {"one": "born/0", "other": "born/0", "third": "born/1"}.items()
    }
    rows = {(row.model, row.other): row.value for row in across(judged) if row.metric == "shared"}
    assert rows["one", "other"] == rows["other", "one"] == 1
    assert rows["one", "third"] == 0
    frame = judged["other"].frame
    silent = frame.with_columns(
        pl.when(pl.col("item") != frame.filter(pl.col("hit"))["item"][0]).then("hit").alias("hit")
    )
    judged["other"] = replace(judged["other"], frame=silent)
    [row] = [row for row in across(judged) if (row.metric, row.model, row.other) == ("shared", "one", "other")]
    assert (row.value, row.n) == (1, judged["one"].frame["hit"].sum() - 1), (
        "what another did not answer is not compared"
    )


def test_what_ways_of_prompting_share_is_the_part_of_ones_right_prompts_that_the_other_has_right(tmp_path):
    """Born's four templates: without examples the first is known, after four the first and the third too."""
    known = {"zero_shot": ("born/0",), "4_template": ("born/0", "born/2"), "4_relation": ()}

    def reply(question):
        right = question.item.template_id in known[question.setting.prompting]
        return ok(texts=(f" {question.item.accepted[0] if right else 'Rome'}",))

    rows = played(tmp_path, reply, fill=False, prompting=tuple(known), names=1).measures()
    found = {
        (from_text(row.where)["prompting"], row.metric): (row.value, row.n)
        for row in rows
        if row.metric.startswith("shared_with_")
    }
    lived = {"lived/0", "lived/q"}  # whose true object is Rome, in every way: one pair in two templates
    assert found == {
        ("zero_shot", "shared_with_4_template"): (1.0, 4),
        ("zero_shot", "shared_with_4_relation"): (len(lived) / 4, 4),
        ("4_template", "shared_with_zero_shot"): (4 / 6, 6),
        ("4_template", "shared_with_4_relation"): (2 / 6, 6),
        ("4_relation", "shared_with_zero_shot"): (1.0, 2),
        ("4_relation", "shared_with_4_template"): (1.0, 2),
    }


def test_a_prompt_without_an_answer_in_the_other_way_is_not_counted_between_them(tmp_path):
    def reply(question):
        if question.setting.prompting == "4_template" and question.item.template_id != "born/0":
            return silent("refused")
        return ok(texts=(f" {question.item.accepted[0]}",))

    rows = played(tmp_path, reply, fill=False, prompting=("zero_shot", "4_template"), names=1).measures()
    row = next(row for row in rows if row.metric == "shared_with_4_template")
    assert (row.value, row.n) == (1, 2), "born's first template, asked of two pairs"


def test_answers_that_are_read_as_texts_agree_where_one_stands_within_the_other(tmp_path):
    def reply(question):
        said = {"born/0": " Oslo", "born/1": " in Oslo", "born/2": "", "born/q": " Lima"}
        return ok(texts=(said.get(question.item.template_id, " Rome"),))

    rows = played(tmp_path, reply, fill=False, prompting=("zero_shot",), names=1).measures()
    assert number(rows, "consistency", **TEXT, relation="born").value == pytest.approx(1 / 6)
    assert number(rows, "one_word", **TEXT).value == pytest.approx((2 + 2 + 2) / 10)
    assert number(rows, "control", **{**TEXT, "experiment": "control"}).value is not None


def test_what_was_taught_often_is_recovered(tmp_path):
    rows_of = small_world.tables(train=8, test=12, relations=("born", "died"))
    rows_of["templates"] += in_other_words(rows_of["templates"])
    test = [fact.fact_id for fact in rows_of["facts"] if fact.split == "test"]
    doses = {fact_id: (0, 64)[at % 2] for at, fact_id in enumerate(test)}

    def reply(question):
        knows = doses[question.item.fact_id] == 64
        said = question.item.accepted[0] if knows else question.request.request_id
        return ok(texts=(f" {said}",))

    own = {"fill": False, "prompting": ("zero_shot",), "templates": "dataset"}
    trial = played(tmp_path, reply, doses, Data.of(**rows_of), **own)
    rows = trial.measures()
    taught = number(rows, "accuracy_by_exposure", **TEXT, hit=Not(None), dose=64)
    facts = sum(dose == 64 for dose in doses.values())
    assert (taught.value, taught.n, taught.low) == (1, 2 * facts, pytest.approx(wilson(1, facts).low))
    assert number(rows, "accuracy_by_exposure", **TEXT, hit=Not(None), dose=0).value == 0
    assert number(rows, "recovery_auc", **TEXT, hit=Not(None), dose=(0, 64)).value == 1


def test_refused_answers_are_counted_and_left_out(tmp_path):
    def reply(question):
        return silent("refused") if question.item.relation_id == "lived" else knows("born/0")(question)

    row = number(played(tmp_path, reply).measures(), "accuracy", **BLANK)
    assert row.value == pytest.approx(0.25)
    assert (row.n, row.n_missing) == (18, 2)


def test_a_real_model_answers_both_rounds(tmp_path):
    world = small_world.world(train=8, test=4)
    options = BeliefOptions(
        **SETTINGS, prompting=("zero_shot", "4_template"), sampled=2, samples=3, sequence=True, bias=True, new_tokens=4
    )
    trial = Trial(tmp_path, Belief(), world, options).ask()
    small_world.answered(trial)
    small_world.answered(trial.ask())
    rows = trial.measures()
    assert number(rows, "accuracy", **TEXT).value is not None
    blank = number(rows, "accuracy", **BLANK)  # of which a causal model can fill none
    assert (blank.value, blank.n_error) == (None, blank.n)
    assert 0 < number(rows, "bias_single", **{**TEXT, "experiment": "content_free"}).value < 1


def test_the_headline_holds_ranked_objects_against_what_they_were_ranked_among(tmp_path):
    world = small_world.world(train=8, test=24, relations=("born", "died"))

    def reply(question):
        count = len(question.request.choices)
        own = int(question.request.request_id[:8], 16) % count  # any object, whatever is asked
        logs = tuple(-0.5 if at == own else -2.0 - at for at in range(count))
        return ok(logprobs=logs, ranks=(None,) * count, tokens=("x",), probabilities=(0.5,))

    trial = played(tmp_path, reply, dataset=world, candidates=-1, templates="dataset")
    method = next(one for one in trial.suite.methods if one.name == "candidates")
    offered = trial.suite.offered(method, trial.answers, trial.data, trial.options)
    choices = {served.item.item: one.request.choices for one in trial.questions() for served in one.serves}
    assert [tuple(row["offered"]) for row in offered.iter_rows(named=True)] == [
        choices[item] for item in offered["item"]
    ]
    said = trial.judge()["outcomes"].select(pl.col("item").cast(pl.UInt32), "reading", "prediction")
    judged = trial.judged()
    rows = headline.measures(trial.suite, trial.options, judged, said, trial.answers, trial.data)
    found = {row.metric: row for row in rows if from_text(row.where) == {"experiment": "candidates"}}
    assert 0.1 < found["headline_chance"].value < 0.5
    assert found["headline_above_chance"].low < 0 < found["headline_above_chance"].high


@pytest.mark.parametrize(("candidates", "guess"), [(1, 1 / 2), (2, 1 / 3), (-1, 1 / 4)])
def test_one_who_knows_nothing_is_right_by_how_many_objects_are_ranked(tmp_path, candidates, guess):
    world = small_world.world(train=8, test=4, relations=("born",), choices=4)
    trial = played(tmp_path, knows("born/0"), dataset=world, candidates=candidates, templates="dataset")
    method = next(one for one in trial.suite.methods if one.name == "candidates")
    judged = trial.judged()
    [found] = called_facts(called(judged, [method]), judged, "w", "m", 9, decoder=False)
    assert found.chance == pytest.approx(guess)
