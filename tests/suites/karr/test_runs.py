"""Runs that replace a template or a name, against asking anew."""

import statistics
from dataclasses import replace

import polars as pl
import pytest
from tests.suites.karr import worlds
from tests.suites.karr.worlds import METHODS, answered, asked, knows, logprobs, measured, world

from almanac.errors import AlmanacError
from almanac.suites.karr.estimator import VARIANTS
from almanac.suites.karr.options import KarrOptions
from almanac.suites.karr.runs import NAMES, TEMPLATES, Resampling

FOUR = (*worlds.TEMPLATES, "[X] was born in [Y].", "[X] grew up in [Y].")
RUNS = KarrOptions(modes=("paper",), templates=3, subjects=3, null=False, resamples=4, threshold=2.0)
RUNS_OFF = RUNS.model_copy(update={"resamples": 0})


def runs_of(found, replaced=TEMPLATES):
    """Return the score of every run, by method."""
    own = found.own["runs"].filter(pl.col("replaced") == replaced)
    return {name: rows["score"].to_list() for (name,), rows in own.group_by("experiment", maintain_order=True)}


def alone(data, pools, kept):
    """Return a world that has some templates of each relation and no others."""
    texts = {(name, pools.template_pool(name)[at]) for name, places in kept.items() for at in places}
    return replace(data, templates=[row for row in data.templates if (row.relation_id, row.text) in texts])


def test_a_run_is_what_asking_with_its_templates_gives():
    """Each run's score is that of a dataset which has the run's templates and no others, asked by itself."""
    data, exposures = world(templates=FOUR)
    logprob = logprobs(data, exposures, lambda dose: 0.5 * knows(dose))
    found = runs_of(answered(data, None, logprob, RUNS).measured())
    pools = data.pools(RUNS)
    resampling = Resampling(pools, VARIANTS["paper"])
    for run in range(RUNS.resamples):
        kept = {name: resampling.positions(TEMPLATES, run, name) for name in "ab"}
        again = answered(alone(data, pools, kept), None, logprob, RUNS_OFF).measured()
        for method in ("paper", "pararel", "k_prompts"):
            assert found[method][run] == again.value("known", method)
    assert len(set(found["paper"])) > 1


def test_a_run_of_lama_is_lama_behind_one_template_and_runs_leave_the_methods_own_numbers_alone():
    data, exposures = world(templates=FOUR)
    logprob = logprobs(data, exposures, knows)
    whole, off = (answered(data, None, logprob, options).measured() for options in (RUNS, RUNS_OFF))
    for method in ("paper", "lama_at_1", "lama_at_10", "pararel", "k_prompts"):
        assert whole.value("known", method) == off.value("known", method)
    assert whole.value("consistency", "pararel") == off.value("consistency", "pararel")
    found = runs_of(whole)
    pools = data.pools(RUNS)
    resampling = Resampling(pools, VARIANTS["paper"])
    for run in range(RUNS.resamples):
        kept = {name: [resampling.single(run, name)] for name in "ab"}
        again = answered(alone(data, pools, kept), None, logprob, RUNS_OFF).measured()
        assert found["lama_at_1"][run] == again.value("known", "lama_at_1")


def test_variance_and_deviation_are_those_of_the_runs_scores():
    options = RUNS.model_copy(update={"modes": ("paper", "official")})
    found = measured(lambda dose: 0.5 * knows(dose), options=options, taught=False, size={"templates": FOUR})
    scores = runs_of(found)
    for method in METHODS:
        assert len(scores[method]) == RUNS.resamples
        wanted = statistics.variance(scores[method])
        assert found.value("variance_over_templates", method) == pytest.approx(wanted, abs=1e-15)
        assert found.value("deviation_over_templates", method) == pytest.approx(wanted**0.5, abs=1e-15)
    assert found.value("variance_over_templates", "paper") > 0
    once = measured(options=RUNS.model_copy(update={"resamples": 1}), taught=False, size={"templates": FOUR})
    assert once.value("variance_over_templates", "paper") is None


def test_a_model_that_heeds_no_template_has_no_variance():
    data, _ = world(templates=FOUR)
    subjects = {fact.subject_id: fact for fact in data.facts}

    def logprob(text, shown):
        subject = next((word for word in text.split() if word in subjects), None)
        own = subject is not None and subjects[subject].object_id == shown
        return -5.0 if not own else (-1.0 if int(subject[2:]) % 2 else -9.0)

    found = answered(data, None, logprob, RUNS).measured()
    for method in ("paper", "lama_at_1", "pararel", "k_prompts"):
        assert found.value("variance_over_templates", method) == 0
        assert 0.3 < found.value("known", method) <= 0.5
    assert found.value("known", "lama_at_1") == found.value("known", "k_prompts") == 0.5


@pytest.mark.parametrize("mode", VARIANTS)
@pytest.mark.parametrize("kind", [TEMPLATES, NAMES])
def test_a_run_replaces_one_text_and_keeps_the_label_that_the_mode_keeps(mode, kind):
    data, _ = world(templates=FOUR, aliases=4)
    options = KarrOptions(templates=3, aliases=3, subjects=3, resamples=6)
    pools = data.pools(options)
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
    plain = asked(data, options)
    more = asked(data, options.model_copy(update={"resamples": 9}))
    assert more.items == plain.items and more.draws == plain.draws
    # What is read of a text may be asked in another form: further blanks are LAMA's in a run, so they ask for ranks.
    read = [
        {(one.text, one.span_starts and one.span_starts[-1], one.choices, one.pieces) for one in of.requests.values()}
        for of in (plain, more)
    ]
    assert read[0] < read[1]
    # Of each text a third (templates) and a half (names of both ends) more: by far not a run's worth for each run.
    assert len(more.requests) < 4 * len(plain.requests)


def test_of_one_template_and_one_name_more_what_is_asked_anyway_is_linked_once():
    """Five templates and six names at the released code's sizes: runs of both kinds read the same drawn strings."""
    data, _ = world(templates=(*FOUR, "[X] is a native of [Y]."), aliases=5)
    found = asked(data, KarrOptions(sample=2, resamples=3))
    for (experiment, _, _), links in found.links.items():
        assert len({(link.role, link.request_id) for link in links}) == len(links)
        if experiment in VARIANTS and any(link.role == "spare" for link in links):
            drawn, runs = ({link.request_id for link in links if link.role == role} for role in ("string", "spare"))
            assert drawn < runs


def test_without_a_further_template_or_name_no_run_differs_but_lamas_which_reads_a_single_template():
    found = measured(options=RUNS, taught=False)
    assert set(found.own["runs"]["experiment"]) == {"lama_at_1", "lama_at_10"}
    assert set(found.own["runs"]["replaced"]) == {TEMPLATES}


def test_runs_need_the_dataset():
    data, exposures = world(templates=FOUR)
    logprob = logprobs(data, exposures, knows)
    bare = replace(data, templates=[], relations=[])
    with pytest.raises(AlmanacError, match="resamples needs the dataset; give its folder"):
        answered(data, None, logprob, RUNS).measured(world=bare)
    with pytest.raises(AlmanacError, match="a run's string was not asked; measure with the dataset and the settings"):
        answered(data, None, logprob, RUNS_OFF).measured(RUNS)
