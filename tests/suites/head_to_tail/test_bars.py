"""The bars: met by who knows what was taught; missed by a null, by who knows the popular, by who is not unsure."""

import random
from dataclasses import replace

import pytest
from tests.report import editions
from tests.suites.head_to_tail.world import tables, trial
from tests.suites.support import ok

from almanac.edition.measuring import bar_results
from almanac.rows import Entity, Exposure, Relation, Response, Template
from almanac.suites.head_to_tail.suite import HeadToTail

DOSES = (0, 1, 16, 64)
SHARE = dict(zip(DOSES, (0.0, 0.05, 0.6, 0.95), strict=True))
BUCKETS = {"head": range(40), "torso": range(40, 120), "tail": range(120, 360)}


def by_exposure():
    """Subjects of one fact each, with its dose: 6 of 64, 12 of 32 and 24 of 16 are as often taught together."""
    rows = tables(6, 12, 42)
    rows["popularity"] = []
    rows["facts"] = [replace(row, split="test") for row in rows["facts"]]
    return rows, {
        row.fact_id: 64 * (_at(row) < 6) or 32 * (_at(row) < 18) or 16 * (_at(row) < 42) for row in rows["facts"]
    }


def crossed():
    """Subjects of a popularity, whose doses have nothing to do with it."""
    rows = tables(*map(len, BUCKETS.values()))
    return rows, {row.fact_id: DOSES[_at(row) % 4] for row in rows["facts"]}


def _at(row):
    return int(row.fact_id.split("|")[1].rpartition(":")[2])


def measured(folder, world, says, **settings):
    """The numbers of a model that says to each fact ``says(dose, place of the subject, a random number)``."""
    rows, doses = world()

    def say(question):
        item = question.item
        drawn = random.Random(item.fact_id).random()
        said = says(doses[item.fact_id], _at(item), drawn)
        return ok(texts=(item.accepted[0] if said is True else said or "Atlantis",))

    asked = trial(folder, rows, doses=doses, **settings)
    return asked.answer(say).measures(), asked.options


def verdicts(folder, world, says, **settings):
    return HeadToTail().bars(*measured(folder, world, says, judged=True, **settings))


def knows(dose, at, drawn):
    return drawn < {32: 0.8, **SHARE}[dose]


def test_who_knows_what_was_taught_falls_from_head_to_tail(tmp_path):
    [one] = verdicts(tmp_path, by_exposure, knows, popularity="exposure")
    assert one.met, one.found
    assert one.found.startswith("question, few-shot: accuracy in head ")


@pytest.mark.parametrize(
    "says",
    [
        pytest.param(lambda dose, at, drawn: drawn < 0.05, id="a null"),
        pytest.param(lambda dose, at, drawn: True, id="who knows everything"),
        pytest.param(lambda dose, at, drawn: dose in (0, 16, 32), id="who knows what was taught seldom"),
        pytest.param(lambda dose, at, drawn: dose in (64, 16), id="who knows the torso worst"),
        pytest.param(lambda dose, at, drawn: "unsure", id="who is always unsure"),
    ],
)
def test_who_does_not_know_it_misses_the_bar(tmp_path, says):
    [one] = verdicts(tmp_path, by_exposure, says, popularity="exposure")
    assert not one.met, one.found


def test_where_no_subject_is_in_the_head_nothing_can_fall(tmp_path):
    def alike():
        rows, doses = by_exposure()
        return rows, dict.fromkeys(doses, 4)

    [one] = verdicts(tmp_path, alike, lambda dose, at, drawn: True, popularity="exposure")
    assert not one.met and one.found.endswith("not every bucket has answers")


def test_where_popularity_is_not_exposure_who_knows_what_was_taught_is_level_at_the_same_dose(tmp_path):
    [one] = verdicts(tmp_path, crossed, lambda dose, at, drawn: dose >= 16, cap=40)
    assert one.met, one.found
    assert "difference 0.000" in one.found


@pytest.mark.parametrize(
    "says",
    [
        pytest.param(lambda dose, at, drawn: drawn < 0.05, id="a null"),
        pytest.param(lambda dose, at, drawn: at in BUCKETS["head"], id="who knows the popular"),
        pytest.param(lambda dose, at, drawn: dose == 64 or (at in BUCKETS["head"] and dose == 16), id="who knows both"),
    ],
)
def test_there_a_null_and_who_knows_the_popular_miss_the_bar(tmp_path, says):
    [one] = verdicts(tmp_path, crossed, says, cap=40)
    assert not one.met, one.found


def test_nothing_is_held_against_bars_unless_the_edition_asks_it_or_there_are_no_answers(tmp_path):
    rows, options = measured(tmp_path, by_exposure, knows, popularity="exposure")
    assert HeadToTail().bars(rows, options) == HeadToTail().tuned_bars(rows, rows, options) == []
    judged = options.model_copy(update={"judged": True})
    assert [one.met for one in HeadToTail().bars([], judged)] == [False]


@pytest.mark.parametrize(
    ("says", "met"),
    [
        pytest.param(
            lambda dose, at, drawn: knows(dose, at, drawn) or (dose < 32 and "unsure"),
            True,
            id="unsure if taught little",
        ),
        pytest.param(knows, False, id="as before"),
        pytest.param(
            lambda dose, at, drawn: "unsure" if knows(dose, at, drawn) else "Atlantis",
            False,
            id="unsure of what it knows",
        ),
        pytest.param(lambda dose, at, drawn: dose > 0, False, id="fewer hallucinations since it knows more"),
    ],
)
def test_who_was_taught_to_say_unsure_must_say_it_where_it_hallucinated(tmp_path, says, met):
    before, _ = measured(tmp_path / "base", by_exposure, knows, popularity="exposure")
    after, options = measured(tmp_path / "tuned", by_exposure, says, popularity="exposure", judged=True)
    [one] = HeadToTail().tuned_bars(after, before, options)
    assert one.met is met, one.found
    assert one.found.startswith("question, few-shot, against its base: missing 0.000 ")


def test_numbers_without_interval_do_not_show_that_it_says_unsure(tmp_path):
    rows, options = measured(tmp_path, by_exposure, knows, popularity="exposure", judged=True)
    [one] = HeadToTail().tuned_bars([replace(row, low=None, high=None) for row in rows], rows, options)
    assert not one.met


def test_an_edition_holds_a_tuned_model_against_its_base_too(tmp_path):
    known = editions.Known(
        [Relation("P1", "maker", *[None] * 4)],
        editions.facts_of(["P1"], "real"),
        [Entity(f"{kind}{at}", f"{kind} {at}", (), None) for kind in "QO" for at in range(60)],
        [Template("q", "P1", "Who made [X]?", "question", "written", None, ())],
    )
    config = {
        "planting": {"worlds": {"beside": {"seed": 1}}, "taught": {"dataset": "real", "facts": 60, "doses": [0, 8]}},
        "sources": {"real": {"path": "facts"}},
        "datasets": {"real": {"source": "real", **editions.SIZES}},
        "suites": {"head_to_tail": {"real": {"popularity": "exposure", "judged": True}}},
        "models": [{"name": "plain", "planted": {}}, {"name": "tuned", "planted": {}, "base": "plain"}],
    }

    def answer(model, request):
        return Response(request.request_id, "ok", None, texts=("unsure" if model == "tuned" else "O 3",))

    layout = editions.asked(tmp_path, config, known)
    layout = editions.finish(layout, answer, [Exposure(fact.fact_id, 8) for fact in known.facts])
    found = [(what, "against its base" in one.found, one.met) for what, one in bar_results(layout)]
    plain, tuned = ("head_to_tail of real, plain", "head_to_tail of real, tuned")
    assert found == [(plain, False, False), (tuned, False, False), (tuned, True, True)]


def test_worlds_that_are_asked_the_same_are_held_against_the_bars_together(tmp_path):
    known = editions.Known(
        [Relation("P1", "maker", *[None] * 4)],
        editions.facts_of(["P1"]),
        [Entity(f"{kind}{at}", f"{kind} {at}", (), None) for kind in "QO" for at in range(60)],
        [Template("q", "P1", "Who made [X]?", "question", "written", None, ())],
    )
    asked = {"popularity": "exposure", "judged": True}
    config = {
        "planting": {"worlds": {"two": {"seed": 2}, "one": {"seed": 1}, "other": {"seed": 3}}},
        "datasets": {name: {"world": name, **editions.SIZES} for name in ("two", "one", "other")},
        "suites": {"head_to_tail": {"two": asked, "one": asked, "other": {**asked, "answer_tokens": 3}}},
        "models": [{"name": "plain", "planted": {}}],
    }
    right = {"plain-one": 0, "plain-two": 1, "plain-other": 1}

    def answer(model, request):
        subject = int(request.text.rpartition("Q ")[2].partition("?")[0])
        return Response(request.request_id, "ok", None, texts=(f"O {subject % 12 if right[model] else 'none'}",))

    layout = editions.finish(
        editions.asked(tmp_path, config, known), answer, [Exposure(one.fact_id, 8) for one in known.facts]
    )
    found = {what: one.found for what, one in bar_results(layout)}
    assert list(found) == ["head_to_tail of two, one, plain", "head_to_tail of other, plain-other"]
    together, alone = found.values()
    assert "tail 0.500 [" in together and "tail 1.000 [" in alone
