"""Runs that replace a template or a name, against asking anew."""

import statistics
from dataclasses import replace

import pytest
from tests.suites.karr import worlds
from tests.suites.karr.worlds import METHODS, answered, knows, logprobs, measured, rows_of, value, world

from almanac.errors import AlmanacError
from almanac.suites.karr import analyses, judging
from almanac.suites.karr.analyses import Runs
from almanac.suites.karr.estimator import VARIANTS
from almanac.suites.karr.method import METHOD
from almanac.suites.karr.options import KarrOptions
from almanac.suites.karr.requests import pools_of
from almanac.suites.karr.resampling import NAMES, TEMPLATES, Resampling
from almanac.suites.karr.strings import place_of
from almanac.verbs.ask import write

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


def test_of_one_template_and_one_name_more_what_is_asked_anyway_is_linked_once(tmp_path):
    """Five templates and six names at the released code's sizes: runs of both kinds read the same drawn strings."""
    data, _ = world(templates=(*FOUR, "[X] is a native of [Y]."), aliases=5)
    found = METHOD.ask(data, KarrOptions(sample=2, resamples=3), lambda: None)
    write(found, tmp_path, 1)  # refuses what has one key twice
    links = [link for link in found.links if link.item_id.startswith(("karr/paper/facts/", "karr/official/facts/"))]
    drawn, runs = ({link.request_id for link in links if link.role == role} for role in ("string", "spare"))
    assert drawn < runs


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
