"""What the page says where a planted model was never taught to answer so: that, and no number."""

from dataclasses import replace

from almanac.rows import Measure
from almanac.suites.belief.chapter import chapter
from almanac.suites.belief.options import BeliefOptions
from almanac.suites.chapter import NOT_TAUGHT, Entrant, Shown
from almanac.suites.judged import Not, as_text

SENTENCES, QUESTIONS = (
    {"experiment": "icl", "prompting": "zero_shot", "style": style} for style in ("mask", "question")
)

BINS, ERROR = ("accuracy_of_bin", "confidence_of_bin"), "calibration_error"


def number(model, where, value=0.25, metric="accuracy", other=None, **more):
    of = ("belief", "d", model, other, metric, as_text({**where, **more}), "mean", ("hit",))
    return Measure(*of, value, None, None, None, 10, 10, 0, 0, 0, 0)


def tables(*entrants):
    names = [one.name for one in entrants]
    rows = [number(name, where) for name in names for where in (SENTENCES, QUESTIONS)]
    rows += [number(name, SENTENCES, relation="r") for name in names]
    rows += [number(names[0], SENTENCES, metric="shared", other=name, hit=True) for name in names[1:]]
    found = chapter(Shown("d", 4, entrants, measures=rows), BeliefOptions())
    return {table.name: table for table in found.parts}


def test_a_style_that_a_planted_model_was_not_taught_is_said_to_be_so_and_has_no_number_anywhere():
    found = tables(Entrant("tuned", "f", read=("prose", "blank")), Entrant("base", "f", read=("prose",)))
    cells = {tuple(row[:2]): row[2] for row in found["accuracy"].rows}
    assert cells["base", "zero-shot, a sentence"] == NOT_TAUGHT
    assert {key for key, cell in cells.items() if cell != NOT_TAUGHT} == {
        ("tuned", "zero-shot, a sentence"),
        ("tuned", "zero-shot, a question"),
        ("base", "zero-shot, a question"),
    }
    assert [row[1] for row in found["accuracy_by_relation"].rows] == ["tuned"]
    assert "shared" not in found
    assert all(len(row) == len(table.head) for table in found.values() for row in table.rows)


def test_what_is_shared_between_ways_of_one_model_stands_with_what_models_share():
    rows = [
        number("m", SENTENCES),
        number("m", SENTENCES, 0.5, "shared_with_4_random", hit=True, right_in_4_random=Not(None)),
    ]
    found = chapter(Shown("d", 4, [Entrant("m", "f")], measures=rows), BeliefOptions())
    [table] = [one for one in found.parts if one.name == "shared"]
    assert [[*row[:3], row[3].value] for row in table.rows] == [
        ["m", "zero-shot, a sentence", "m, 4-random, a sentence", 0.5]
    ]


def test_a_masked_model_fills_a_blank_with_any_token_or_ranks_objects():
    ways = [{"experiment": name, "prompting": None, "style": None} for name in ("vocabulary", "candidates")]
    rows = [number("m", where) for where in ways]
    table, *_ = chapter(Shown("d", 4, [Entrant("m", "f")], measures=rows), BeliefOptions()).parts
    assert [row[:2] for row in table.rows] == [["m", "a blank, any token"], ["m", "a blank, objects ranked"]]


def test_the_bias_of_a_causal_model_is_of_a_way_of_prompting_it():
    ways = [{"experiment": "content_free", "prompting": "zero_shot", "style": one} for one in ("mask", "question")]
    ways.append({"experiment": "content_free", "prompting": None, "style": None})
    rows = [number("m", where, metric="bias_single") for where in ways]
    found = chapter(Shown("d", 4, [Entrant("m", "f")], measures=rows), BeliefOptions())
    [table] = [one for one in found.parts if one.name == "bias"]
    assert [row[1] for row in table.rows] == ["zero-shot, a sentence", "zero-shot, a question", "a blank"]


def test_other_models_are_taken_to_understand_every_style():
    found = tables(Entrant("real", "f"))
    assert NOT_TAUGHT not in [row[2] for row in found["accuracy"].rows]


def test_where_nobody_was_taught_the_table_says_that_alone():
    base = Entrant("base", "f", read=("prose",))
    shown = Shown("d", 4, [base], measures=[number("base", SENTENCES)])
    [table] = chapter(shown, BeliefOptions()).parts
    assert table.rows == [["base", "zero-shot, a sentence", NOT_TAUGHT]]


def test_the_table_says_of_how_many_answers_the_confidence_is_known_and_only_whole_bins_are_drawn():
    """Four texts have a confidence in one way of asking, and no calibration error; in the other a hundred have."""
    known, rows = {"confidence": Not(None), "hit": Not(None)}, []
    for where, n, error in ((SENTENCES, 4, None), (QUESTIONS, 100, 0.1)):
        bins = [replace(number("m", where, 0.5, name, bin=0, **known), n=n) for name in BINS]
        gaps = [number("m", where, 0.2, "overconfidence", **known), number("m", where, error, ERROR, **known)]
        rows += [number("m", where), *bins, *(replace(row, n=n) for row in gaps)]
    parts = chapter(Shown("d", 4, [Entrant("m", "f")], measures=rows), BeliefOptions()).parts
    [table] = [one for one in parts if one.name == "accuracy"]
    cells = [dict(zip(table.head, row, strict=True)) for row in table.rows]
    assert [row["confidences"] for row in cells] == [4, 100]
    assert [row["ECE"].value for row in cells] == [None, 0.1]
    [drawn] = [one.draw() for one in parts if one.name == "calibration"]
    assert [axes.get_label() for axes in drawn.axes[0].containers] == ["m, zero-shot, a question"]


def test_written_templates_stand_beside_their_paraphrases_and_are_explained():
    """Without paraphrases their accuracy is the mean; with them the caption says what each column is."""
    rows = [number("m", QUESTIONS), number("m", QUESTIONS, metric="oracle"), number("m", QUESTIONS, written=True)]
    more = [number("m", QUESTIONS, written=False), number("m", QUESTIONS, metric="written_rank")]
    for measures, head in ((rows, []), ([*rows, *more], ["written", "paraphrased", "rank"])):
        parts = chapter(Shown("d", 4, [Entrant("m", "f")], measures=measures), BeliefOptions()).parts
        [table] = [one for one in parts if one.name == "templates"]
        assert list(table.head) == ["model", "asked", "mean", "oracle", *head]
        assert all((f"{title}:" in table.caption.lower()) == bool(head) for title in ("written", "paraphrased", "rank"))


def test_prompts_by_the_label_stand_beside_those_by_other_names():
    rows = [number("m", QUESTIONS, metric=name) for name in ("accuracy", "one_word")]
    rows.append(number("m", QUESTIONS, alias=False))
    for measures, head in ((rows, []), ([*rows, number("m", QUESTIONS, alias=True)], ["by label", "by other names"])):
        parts = chapter(Shown("d", 4, [Entrant("m", "f")], measures=measures), BeliefOptions()).parts
        [table] = [one for one in parts if one.name == "answers"]
        assert list(table.head) == ["model", "asked", "one word", *head]
        assert ("By label" in table.caption) == bool(head)
