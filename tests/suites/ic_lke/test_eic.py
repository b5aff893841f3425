"""EIC-LKE: what its sequences hold, and how far what they say of a fact is what IC-LKE says."""

import random

import numpy as np
import polars as pl
import pytest
from pydantic import ValidationError
from tests.suites.ic_lke.small_world import answered, tables, world
from tests.suites.support import Trial, number, ok, silent

from almanac.errors import AlmanacError
from almanac.suites.data import Data
from almanac.suites.ic_lke.eic import ISOLATED, SEQUENCE, Eic, _as_choices
from almanac.suites.ic_lke.options import EicOptions
from almanac.suites.ic_lke.suite import IN_CONTEXT
from almanac.suites.judged import Not, conditions_of

SMALL = EicOptions(examples=12, first=6, step=2)  # slots after 6, 8 and 10 train facts
AGREEMENT = ("same_prediction", "accuracy_difference", "kappa", "pearson")


@pytest.fixture
def ask(tmp_path):
    """Ask a dataset."""
    return lambda data=None, options=SMALL: Trial(tmp_path, Eic(), data or world(), options).ask()


def questions_of(asked, experiment):
    return [one for one in asked.questions() if one.item.experiment == experiment]


def both(experiment):
    return {"experiment": experiment, "hit": Not(), "in_context_hit": Not()}


def test_by_default_ten_test_facts_stand_after_fifty_train_facts_and_every_five():
    assert list(EicOptions().slots) == [50, 55, 60, 65, 70, 75, 80, 85, 90, 95]


def test_a_tenth_of_the_texts_are_asked_as_one_sequence_carries_ten_facts(ask):
    # Wu et al.: 4,000 instead of 40,000 texts for 400 facts of 100 choices; here 4 choices and 20 facts.
    asked = ask(world(100, 20), EicOptions())
    costs = {row.experiment: row.texts for row in asked.own("costs")}
    assert costs == {SEQUENCE: 2 * 4, ISOLATED: 20 * 4, IN_CONTEXT: 20 * 4}


def test_the_sequences_carry_every_choice_of_each_fact_and_the_true_one_is_the_last_role(ask):
    asked = ask()
    labels = {}
    for question in questions_of(asked, SEQUENCE):
        for served in question.serves:
            piece = question.request.pieces[served.link.index].strip()
            labels.setdefault(served.item.fact_id, {})[served.link.role] = piece
    for question in questions_of(asked, ISOLATED):
        choices = [choice.strip() for choice in question.request.choices]
        assert labels[question.item.fact_id] == {f"choice {at}": choice for at, choice in enumerate(choices)}
        assert choices[-1] in question.item.accepted


def test_the_true_choices_do_not_share_a_sequence(ask):
    # If they did, they alone would be read after true choices, and wrong ones after wrong ones.
    asked = ask(world(100, 20), EicOptions())
    true = [
        [served.item.item for served in question.serves if served.link.role == "choice 3"]
        for question in questions_of(asked, SEQUENCE)
    ]
    assert sorted(item for own in true for item in own) == sorted(
        item.item for item in asked.items() if item.experiment == SEQUENCE
    )
    assert max(map(len, true)) < 10


def test_separators_can_be_tokens_of_their_own(ask):
    """The same text, of which no piece holds a separator and a name."""
    settings = (SMALL.model_copy(update={"separators": "apart"}), SMALL)
    apart, fused = (
        sorted(questions_of(ask(options=one), SEQUENCE), key=lambda question: question.text) for one in settings
    )
    assert [one.text for one in apart] == [one.text for one in fused]
    for question in apart:
        pieces = question.request.pieces
        assert question.request.context_id is None and "".join(pieces) == question.text
        names = [piece for piece in pieces if piece not in (", ", " ")]
        assert len(names) == 2 * 13 and len(pieces) == 2 * len(names) - 1
        assert not any(name != name.strip() for name in names)
    carried = [
        [{served.item.fact_id: one.request.pieces[served.link.index].strip() for served in one.serves} for one in own]
        for own in (apart, fused)
    ]
    assert carried[0] == carried[1]


def test_a_sequence_reads_as_pairs_with_commas_and_test_facts_between(ask):
    for question in questions_of(ask(), SEQUENCE):
        pairs = question.text.split(", ")
        assert len(pairs) == 10 + 3  # two train facts to each slot after the first six, and none after the last
        assert all(len(pair.split(" ")) == 3 for pair in pairs)
        subjects = [pair.split(" ")[0] for pair in pairs]
        assert [at for at, name in enumerate(subjects) if int(name[3:]) >= 12] == [6, 9, 12]
        assert len(set(subjects)) == len(subjects)


def test_isolated_facts_see_the_same_train_facts_and_nothing_else(ask):
    asked = ask()
    [order] = {
        tuple(pair for pair in question.text.split(", ") if int(pair[3:6]) < 12)
        for question in questions_of(asked, SEQUENCE)
    }
    seen = {}
    for question in questions_of(asked, ISOLATED):
        *pairs, subject = question.text.split(", ")
        seen[question.item.fact_id.split("|")[1][-3:]] = (tuple(pairs), subject)
    assert sorted(len(pairs) for pairs, _ in seen.values()) == [6, 6, 8, 8, 10, 10]
    for subject_id, (pairs, subject) in seen.items():
        assert pairs == order[: len(pairs)]
        assert subject == f"Sam{subject_id} Smith"


def test_a_space_may_stand_between_pairs(ask):
    asked = ask(world(), SMALL.model_copy(update={"between": "space"}))
    assert asked.questions()
    assert not any("," in question.text for question in asked.questions())


def test_a_last_group_with_fewer_facts_ends_at_its_last_fact(ask):
    lengths = {len(question.text.split(", ")) for question in questions_of(ask(world(12, 4)), SEQUENCE)}
    assert lengths == {10 + 3, 6 + 1}


@pytest.mark.parametrize("separators", ["fused", "apart"])
def test_the_first_fact_of_a_sequence_scores_as_it_does_alone_and_later_ones_do_not(ask, separators):
    # Nothing but train facts stands before it; before the others stand choices of other test facts.
    asked = answered(ask(options=SMALL.model_copy(update={"separators": separators})))
    frame = asked.judged().frame
    score = {row[:2]: row[2] for row in frame.select("experiment", "fact", "score").rows()}
    pairs = {question.item.fact_id: len(question.text.split(", ")) for question in questions_of(asked, ISOLATED)}
    first = {fact_id for fact_id, length in pairs.items() if length == 7}
    assert len(first) == 2
    for fact_id in pairs:
        same = score[SEQUENCE, fact_id] == pytest.approx(score[ISOLATED, fact_id], abs=1e-4)
        assert same == (fact_id in first)


def test_a_sequence_that_is_too_long_leaves_its_facts_without_an_answer_and_nothing_is_cut(ask):
    asked = answered(ask(), 100)
    reasons = {row.reason for row in asked.responses() if row.status == "too_long"}
    assert reasons
    assert all("the model reads at most 100" in reason for reason in reasons)
    rows = asked.measures()
    accuracy = number(rows, "accuracy", experiment=SEQUENCE)
    assert (accuracy.value, accuracy.n, accuracy.n_error) == (None, 6, 6)
    same = number(rows, "same_prediction", **both(SEQUENCE))
    assert (same.value, same.n) == (None, 0)


def test_one_sequence_without_an_answer_leaves_all_its_facts_without_one(ask):
    broken = []

    def reply(question):
        if question.item.experiment == SEQUENCE and not broken:
            broken.extend(served.item.item for served in question.serves)
            return silent("refused")
        parts = question.request.pieces or question.request.choices
        return ok(logprobs=tuple(-1.0 - at % 5 for at in range(len(parts))))

    asked = ask().answer(reply)
    assert len(broken) == 3
    assert [row.item for row in asked.outcomes() if row.outcome == "missing"] == sorted(broken)
    rows = asked.measures()
    for metric in AGREEMENT:  # of six facts
        assert [number(rows, metric, **both(name)).n for name in (SEQUENCE, ISOLATED)] == [3, 6]


def test_what_predicts_the_same_agrees_wholly(ask):
    asked = ask(world(12, 18))
    right = {fact_id for at, fact_id in enumerate(sorted({item.fact_id for item in asked.items()})) if at % 2 == 0}

    def reply(question):
        values = [0.0] * len(question.request.pieces or question.request.choices)
        for served in question.serves:
            own = (-1.0, -2.0, -3.0, -0.5) if served.item.fact_id in right else (-0.5, -1.0, -2.0, -3.0)
            if question.request.pieces is None:
                values = own
            else:
                values[served.link.index] = own[int(served.link.role.removeprefix("choice "))]
        return ok(logprobs=tuple(values))

    rows = asked.answer(reply).measures()
    for experiment in (SEQUENCE, ISOLATED):
        ours, theirs = (number(rows, "accuracy", experiment=name).value for name in (experiment, IN_CONTEXT))
        assert ours == theirs == 0.5
        found = [number(rows, metric, **both(experiment)).value for metric in AGREEMENT]
        assert found == [1, 0, 1, None], "one relation has no correlation"
    compared = {conditions_of(row)["experiment"] for row in rows if row.metric in AGREEMENT}
    assert compared == {SEQUENCE, ISOLATED}, "IC-LKE is not held against itself"


def test_what_parts_from_ic_lke_is_told_by_how_far(ask):
    """Of six facts of each of four relations IC-LKE has 3, 4, 1 and 0 right, the sequences 6, 4, 3 and 1 of the same.

    Where both are wrong they choose differently.
    """
    right = {SEQUENCE: (6, 4, 3, 1), IN_CONTEXT: (3, 4, 1, 0)}
    wrong = {SEQUENCE: 0, IN_CONTEXT: 1}

    def chosen(experiment, fact_id):
        relation, subject, _ = fact_id.split("|")
        own = SEQUENCE if experiment == ISOLATED else experiment
        return 3 if int(subject[-3:]) - 12 < right[own]["abcd".index(relation)] else wrong[own]

    def reply(question):
        values = [-1.0] * len(question.request.pieces or question.request.choices)
        for served in question.serves:
            choice = chosen(served.item.experiment, served.item.fact_id)
            if question.request.pieces is None:
                values[choice] = -0.5
            elif served.link.role == f"choice {choice}":
                values[served.link.index] = -0.5
        return ok(logprobs=tuple(values))

    rows = ask(world(12, 6, ("a", "b", "c", "d"))).answer(reply).measures()
    for experiment in (SEQUENCE, ISOLATED):
        found = [number(rows, metric, **both(experiment)).value for metric in AGREEMENT]
        chance = (14 * 8 + 10 * 16) / 24**2  # both right, and both wrong
        assert found == pytest.approx(
            [8 / 24, 14 / 24 - 8 / 24, (18 / 24 - chance) / (1 - chance), np.corrcoef(*right.values())[0, 1]]
        )


def test_choices_are_put_in_the_order_of_their_numbers():
    """Of more than ten, the last is the eleventh and not the one that letters put last."""
    roles = [f"choice {at}" for at in range(12)]
    links = pl.DataFrame({"item": 0, "role": roles, "status": "ok", "index": 0}).with_columns(
        pieces=pl.Series([[name] for name in roles]), logprobs=pl.Series([[-float(at)] for at in range(12)])
    )
    for some in (links, links.reverse()):
        [row] = _as_choices(some).iter_rows(named=True)
        assert (row["choices"], row["index"], row["logprobs"][11]) == (roles, 11, -11.0)


def test_the_cost_counts_every_character_of_every_text(ask):
    asked = ask()
    cost = {row.experiment: row for row in asked.own("costs")}
    assert cost[SEQUENCE].characters == sum(len(question.text) for question in questions_of(asked, SEQUENCE))
    alone = questions_of(asked, IN_CONTEXT)
    whole = sum(len(question.text) + len(choice) for question in alone for choice in question.request.choices)
    assert cost[IN_CONTEXT].characters == whole
    [context] = {question.before for question in alone}
    assert whole - cost[IN_CONTEXT].distinct == len(context) * (len(alone) * 4 - 1)


def test_the_numbers_of_a_model_say_what_it_reads(ask):
    asked = answered(ask())
    rows = asked.measures()
    for cost in asked.own("costs"):
        of = {"texts": cost.texts, "characters": cost.characters, "distinct_characters": cost.distinct}
        assert {name: number(rows, name, experiment=cost.experiment).value for name in of} == of


def test_requests_do_not_hang_on_the_order_of_facts(tmp_path):
    rows = tables()
    mixed = rows | {"facts": random.Random(3).sample(rows["facts"], len(rows["facts"]))}
    first, second = (
        Trial(tmp_path / name, Eic(), Data.of(**own), SMALL).ask() for name, own in (("first", rows), ("mixed", mixed))
    )
    assert first.requests() == second.requests()


def test_too_few_train_facts_name_the_relation_and_the_key(ask):
    with pytest.raises(AlmanacError, match=r"relation 'born' has 12 train facts and 100 examples .* lower `examples`"):
        ask(world(), EicOptions())


def test_a_sequence_without_a_place_for_a_test_fact_is_refused():
    with pytest.raises(ValidationError, match="a sequence would have no test fact; lower first or raise examples"):
        EicOptions(examples=50)
