"""Runs that replace a template or a name, against asking anew; objects that a model expects; human labels."""

import math
import statistics
from dataclasses import replace

import pytest
from pydantic import ValidationError
from tests.suites.karr import worlds
from tests.suites.karr.worlds import METHODS, answered, knows, logprobs, measured, rows_of, value, world

from almanac.errors import AlmanacError
from almanac.rows import Rating
from almanac.suites.karr import analyses, judging, labels
from almanac.suites.karr.analyses import Runs
from almanac.suites.karr.estimator import VARIANTS
from almanac.suites.karr.method import METHOD
from almanac.suites.karr.options import KarrOptions
from almanac.suites.karr.requests import pools_of
from almanac.suites.karr.resampling import NAMES, TEMPLATES, Resampling
from almanac.suites.karr.strings import place_of
from almanac.tables import write, write_jsonl

FOUR = (*worlds.TEMPLATES, "[X] was born in [Y].", "[X] grew up in [Y].")
RUNS = KarrOptions(modes=("paper",), templates=3, subjects=3, null=False, resamples=4, threshold=2.0)


def runs_of(options, data, logprob):
    """Return the score of every run, by method and kind."""
    given = answered(data, None, logprob, options)
    answers = judging.Answers.of("m", given.links, given.beside["draws"], given.requests, given.responses)
    pools, _ = pools_of(data.facts, data.entities, data.relations, data.templates, options)
    limits = dict.fromkeys(VARIANTS, options.threshold)
    found = analyses.runs(answers, given.items, data.facts, pools, limits, options)
    return {(one.experiment, one.kind): one for one in found}


def test_a_run_is_what_asking_with_its_templates_gives():
    """Each run's score is that of a dataset which has the run's templates and no others, asked by itself."""
    data, exposures = world(templates=FOUR)
    logprob = logprobs(data, exposures, lambda dose: 0.5 * knows(dose))
    found = runs_of(RUNS, data, logprob)
    pools, _ = pools_of(data.facts, data.entities, data.relations, data.templates, RUNS)
    resampling = Resampling(pools, VARIANTS["paper"])
    scores = set()
    for run in range(RUNS.resamples):
        kept = {
            (name, pools.template_pool(name)[at]) for name in "ab" for at in resampling.positions(TEMPLATES, run, name)
        }
        alone = replace(data, templates=[row for row in data.templates if (row.relation_id, row.text) in kept])
        again = METHOD.measure(answered(alone, None, logprob, RUNS.model_copy(update={"resamples": 0})), RUNS_OFF)
        rows = rows_of(again)
        for method in ("paper", "pararel", "k_prompts"):
            assert found[method, TEMPLATES].scores[run] == value(rows, method, "known")
        scores.add(found["paper", TEMPLATES].scores[run])
    assert len(scores) > 1


RUNS_OFF = RUNS.model_copy(update={"resamples": 0})


def test_a_run_of_lama_is_lama_behind_one_template():
    data, exposures = world(templates=FOUR)
    logprob = logprobs(data, exposures, knows)
    found = runs_of(RUNS, data, logprob)
    pools, _ = pools_of(data.facts, data.entities, data.relations, data.templates, RUNS)
    resampling = Resampling(pools, VARIANTS["paper"])
    for run in range(RUNS.resamples):
        kept = {(name, pools.template_pool(name)[resampling.one(run, name)]) for name in "ab"}
        alone = replace(data, templates=[row for row in data.templates if (row.relation_id, row.text) in kept])
        rows = rows_of(METHOD.measure(answered(alone, None, logprob, RUNS_OFF), RUNS_OFF))
        assert found["lama_at_1", TEMPLATES].scores[run] == value(rows, "lama_at_1", "known")


def test_variance_and_deviation_are_those_of_the_runs_scores():
    estimates = Runs("paper", TEMPLATES, (0.1, 0.2, 0.4)).estimates()
    assert estimates["score_variance"].value == pytest.approx(statistics.variance([0.1, 0.2, 0.4]))
    assert estimates["score_deviation"].value == pytest.approx(statistics.stdev([0.1, 0.2, 0.4]))
    assert Runs("paper", TEMPLATES, (0.1,)).estimates()["score_variance"].value is None
    options = RUNS.model_copy(update={"modes": ("paper", "official")})
    rows = measured(lambda dose: 0.5 * knows(dose), options=options, taught=False, size={"templates": FOUR})
    for method in METHODS:
        variance = value(rows, method, "score_variance", TEMPLATES)
        assert variance == pytest.approx(value(rows, method, "score_deviation", TEMPLATES) ** 2)
    assert value(rows, "paper", "score_variance", TEMPLATES) > 0


def test_a_model_that_heeds_no_template_has_no_variance():
    data, _ = world(templates=FOUR)
    subjects = {fact.subject_id: fact for fact in data.facts}

    def logprob(text, shown):
        subject = next((word for word in text.split() if word in subjects), None)
        own = subject is not None and subjects[subject].object_id == shown
        return -5.0 if not own else (-1.0 if int(subject[2:]) % 2 else -9.0)

    rows = rows_of(METHOD.measure(answered(data, None, logprob, RUNS), RUNS))
    for method in ("paper", "lama_at_1", "pararel", "k_prompts"):
        assert value(rows, method, "score_variance", TEMPLATES) == 0
        assert 0.3 < value(rows, method, "known") <= 0.5
    assert value(rows, "lama_at_1", "known") == value(rows, "k_prompts", "known") == 0.5


@pytest.mark.parametrize("mode", VARIANTS)
@pytest.mark.parametrize("kind", [TEMPLATES, NAMES])
def test_a_run_replaces_one_text_and_keeps_the_label_that_the_mode_keeps(mode, kind):
    data, _ = world(templates=FOUR, aliases=4)
    options = KarrOptions(templates=3, aliases=3, subjects=3, resamples=6)
    pools, _ = pools_of(data.facts, data.entities, data.relations, data.templates, options)
    resampling = Resampling(pools, VARIANTS[mode])
    for run in range(options.resamples):
        for fact in data.facts[:6]:
            drawn = pools.draw(fact, fact.object_key, VARIANTS[mode])
            new = resampling.replaced(fact, drawn, kind, run)
            changed = (drawn.templates, new.templates) if kind == TEMPLATES else (drawn.names, new.names)
            other = (drawn.names, new.names) if kind == TEMPLATES else (drawn.templates, new.templates)
            assert sum(one != two for one, two in zip(*changed, strict=True)) == 1
            assert other[0] == other[1]
            assert len({*new.templates}) == len({*new.names}) == 3
            if mode == "paper":
                assert new.names[0] == fact.subject_id and new.objects[0] == fact.object_id
                own = new.relations[0][fact.relation_id]
                assert own == new.templates  # one draw of a run, wherever the relation stands


def test_the_runs_ask_one_template_and_one_name_more_and_nothing_else_changes():
    data, _ = world(templates=FOUR, aliases=4)
    options = KarrOptions(templates=3, aliases=2, subjects=2, sample=3, null=False)
    plain = METHOD.ask(data, options, lambda: None)
    more = METHOD.ask(data, options.model_copy(update={"resamples": 9}), lambda: None)
    assert more.items == plain.items and more.beside["draws"] == plain.beside["draws"]
    # What is read of a text may be asked in another form: further blanks are LAMA's in a run, so they ask for ranks.
    read = [
        {(place_of(one), one.text, one.choices, one.pieces) for one in of.requests.values()} for of in (plain, more)
    ]
    assert read[0] < read[1]
    # Of each text a third (templates) and a half (names of both ends) more: by far not a run's worth for each run.
    assert len(more.requests) < 4 * len(plain.requests)


def test_without_a_further_template_or_name_no_run_differs_but_lamas_which_reads_a_single_template():
    rows = measured(options=RUNS, taught=False)
    assert {method for method, _, metric, *_ in rows if metric == "score_variance"} == {"lama_at_1", "lama_at_10"}


def test_runs_need_the_dataset():
    data, exposures = world(templates=FOUR)
    given = answered(data, None, logprobs(data, exposures, knows), RUNS)
    bare = replace(given, data=replace(data, templates=[], relations=[]))
    with pytest.raises(AlmanacError, match="resamples draws from the dataset again; give its folder"):
        METHOD.measure(bare, RUNS)
    with pytest.raises(AlmanacError, match="a run's string was not asked; measure with the dataset and the settings"):
        METHOD.measure(answered(data, None, logprobs(data, exposures, knows), RUNS_OFF), RUNS)


SPURIOUS = KarrOptions(subjects=6, spurious=3, null=False, modes=("paper",))


def expecting(shown):
    """Expect one object in each relation whatever the subject."""
    return 3.0 if shown in ("ao5", "bo5") else 0.0


def common_first(data):
    """Give the expected object and two others more facts than the rest, so that they are the common ones."""
    extra = [
        replace(fact, fact_id=f"{fact.relation_id}|extra{at}|{found}", subject_id=f"extra{at}", split="train")
        for fact in data.facts[:1] + data.facts[-1:]
        for found in (f"{fact.relation_id}o5", f"{fact.relation_id}o6", f"{fact.relation_id}o7")
        for at in range({"5": 1, "6": 5, "7": 3}[found[-1]])
        for fact in [replace(fact, object_id=found)]
    ]
    return replace(data, facts=[*data.facts, *extra])


def test_the_false_object_is_the_one_that_the_model_expects_and_is_never_true_of_the_subject():
    data, exposures = world()
    data = common_first(data)
    logprob = logprobs(data, exposures, knows, prior=expecting)
    found = METHOD.measure(answered(data, exposures, logprob, SPURIOUS), SPURIOUS)
    rows = rows_of(found)
    # Of 72 tested facts the six of ao5 and bo5 are asked with their second common object.
    assert rows["paper", "spurious", "known", None, None, None].n == 72
    assert value(rows, "paper", "spurious_covered", "spurious") == 1
    values = {row.item_id: row.karr for row in found.beside["values"]}
    threshold = value(rows, "paper", "threshold")
    positions = {"o6": 0, "o7": 1, "o5": 2}  # by the number of facts
    false = [
        values[f"karr/paper/spurious-{positions['o5']}/{fact.fact_id}"]
        for fact in data.facts
        if fact.split == "test" and not fact.object_id.endswith("o5")
    ]
    rest = [fact for fact in data.facts if fact.split == "test" and fact.object_id.endswith("o5")]
    for fact in rest:
        assert f"karr/paper/spurious-{positions['o5']}/{fact.fact_id}" not in values
    assert (len(false), len(rest)) == (66, 6)
    share = value(rows, "paper", "known", "spurious")
    known = sum(one > math.log(threshold) for one in false)
    assert known <= share * 72 <= known + 6
    control = value(rows, "paper", "spurious_control", "spurious")
    assert control == value(rows, "paper", "known")
    assert value(rows, "paper", "spurious_delta", "spurious") == pytest.approx(share - control)


def test_a_method_that_follows_the_prior_is_fooled_and_karr_is_not():
    """LAMA takes what is likeliest; KaRR divides by what other subjects get."""
    data, exposures = world()
    logprob = logprobs(data, exposures, lambda dose: 0.3 * knows(dose), prior=expecting)
    rows = rows_of(METHOD.measure(answered(common_first(data), exposures, logprob, SPURIOUS), SPURIOUS))
    for method in ("lama_at_1", "pararel"):
        assert value(rows, method, "known", "spurious") > 0.8
        assert value(rows, method, "spurious_delta", "spurious") > 0.5
    assert value(rows, "paper", "known", "spurious") < 0.4
    assert value(rows, "paper", "spurious_delta", "spurious") < value(rows, "lama_at_1", "spurious_delta", "spurious")


def test_what_a_model_expects_may_lie_outside_of_what_is_asked_and_that_is_counted():
    data, exposures = world()
    one = SPURIOUS.model_copy(update={"spurious": 1})  # o6 alone, and the model expects o5
    logprob = logprobs(data, exposures, knows, prior=expecting)
    rows = rows_of(METHOD.measure(answered(common_first(data), exposures, logprob, one), one))
    assert value(rows, "paper", "spurious_covered", "spurious") == 0
    assert rows["paper", "spurious", "known", None, None, None].n == 66  # o6 is true of the others


def test_no_more_objects_are_asked_than_a_models_expectation_is_found_among():
    with pytest.raises(ValidationError, match="less than or equal to 100"):
        KarrOptions(spurious=101)


def test_false_objects_leave_the_facts_own_numbers_alone():
    plain = measured(options=SPURIOUS.model_copy(update={"spurious": 0}))
    more = measured(options=SPURIOUS)
    assert {key: row for key, row in more.items() if key[1] != "spurious"} == plain


def rate(fact, rater="r", given="known"):
    return Rating(fact, rater, given, None)


def test_labels_equal_to_the_doses_agree_as_the_doses_do(tmp_path):
    data, exposures = world()
    write_jsonl(tmp_path / "labels.jsonl", [rate(row.fact_id, given=str(row.dose)) for row in exposures])
    options = worlds.OPTIONS.model_copy(update={"labels": str(tmp_path / "labels.jsonl"), "labels_known": 16.0})
    rows = rows_of(METHOD.measure(answered(data, exposures, logprobs(data, exposures, knows), options), options))
    for method in METHODS:
        for metric in ("recall", "kendall", "kendall_p"):
            assert rows[method, "facts", f"{metric}_labels", None, None, None].value == value(rows, method, metric)
        assert rows[method, "facts", "recall_labels", None, None, None].n == sum(row.dose >= 16 for row in exposures)


def test_asking_waits_for_the_file_of_labels():
    options = KarrOptions(labels="labels.jsonl")
    assert (options.files("ask"), options.files("measure")) == (("labels.jsonl",), ())
    assert KarrOptions().files("ask") == ()


def test_labels_of_several_raters_are_averaged_and_those_of_another_model_left_out():
    facts = ["a|s|o", "b|s|x/y"]
    rows = [rate("a|s|o", "r"), rate("a|s|o", "q", "unknown"), rate("b|s|x/y", "r", "3"), rate("m/b|s|x/y", "q", "4")]
    assert labels.reference(rows, "m", facts) == {"a|s|o": 0.5, "b|s|x/y": 3.5}
    assert labels.reference(rows, "other", facts) == {"a|s|o": 0.5, "b|s|x/y": 3.0}


def test_labels_may_be_given_to_measuring_alone(tmp_path):
    data, exposures = world()
    write(tmp_path / "labels.parquet", Rating, [rate(row.fact_id, given=str(row.dose)) for row in exposures])
    given = answered(data, None, logprobs(data, exposures, knows))
    options = worlds.OPTIONS.model_copy(update={"labels": str(tmp_path / "labels.parquet")})
    assert value(rows_of(METHOD.measure(given, options)), "paper", "kendall_labels") > 0.4


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "labels.jsonl: holds no label"),
        ([rate("P36|x|y")], "P36|x|y: r: the dataset has no such fact; write FACT or MODEL/FACT, like 'a|as0|ao0'"),
        ([rate("a|as0|ao0", given="maybe")], "a|as0|ao0: r: the value 'maybe' is no label; write known, unknown or a"),
        ([rate("a|as0|ao0", given="nan")], "the value 'nan' is no label"),
        ([rate("a|as0|ao0"), rate("a|as0|ao0", given="unknown")], "a|as0|ao0: r: labels this fact twice"),
        ([rate("a|as9|ao9")], "none of the 1 labels is of a fact that is asked"),
    ],
)
def test_wrong_labels_are_refused_before_anything_is_asked(tmp_path, rows, message):
    data, _ = world()
    write_jsonl(tmp_path / "labels.jsonl", rows)
    options = KarrOptions(labels=str(tmp_path / "labels.jsonl"), sample=1, seed=3)
    with pytest.raises(AlmanacError) as error:
        METHOD.ask(data, options, lambda: None)
    assert message in str(error.value)


def test_a_file_that_is_no_table_of_labels_is_refused_by_its_line(tmp_path):
    data, _ = world()
    (tmp_path / "labels.jsonl").write_text('{"fact": "a|as0|ao0", "known": true}\n')
    with pytest.raises(AlmanacError, match="line 1 is no row of Rating"):
        METHOD.ask(data, KarrOptions(labels=str(tmp_path / "labels.jsonl")), lambda: None)
    with pytest.raises(AlmanacError, match="cannot be read"):
        METHOD.ask(data, KarrOptions(labels=str(tmp_path / "none.jsonl")), lambda: None)
