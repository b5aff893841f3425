"""The suite that `docs/adding_a_suite.md` walks through: two rounds, the second another model's, and two readings."""

import json
import re
import shutil
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import ClassVar, NamedTuple

import polars as pl
import pytest
from pydantic import create_model
from tests.suites.support import Trial, number
from tests.suites.toy_world import DATA, DOSE_OF, DOSES, OBJECTS, pick, played
from tests.toy.toy_suite import Disagreement, Offer, Toy, ToyOptions

from almanac import tables
from almanac.cli import main
from almanac.edition.measuring import judge
from almanac.errors import AlmanacError
from almanac.project import PROJECT
from almanac.rows import Link, Outcome, Request
from almanac.suites import headline, listing
from almanac.suites.asked import Asked
from almanac.suites.chapter import Drawing, Table
from almanac.suites.joining import join
from almanac.suites.judged import Not
from almanac.suites.listing import GROUP, SUITES, _loaded
from almanac.suites.options import SuiteOptions
from almanac.suites.suite import Round, Suite


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    """Both rounds, asked and answered."""
    return played(tmp_path_factory.mktemp("toy"))


def test_the_second_round_asks_the_checker_for_what_the_model_picked_and_adds_no_item(trial):
    first, second = trial.rounds
    assert (first.name, first.answerer, second.name, second.answerer) == ("picks", "m", "checks", "judge")
    assert (len(trial.items(0)), len(trial.items(1))) == (2 * 8 * 2, 0)
    refused = {item.item for item in trial.items(0) if item.fact_id.endswith("7")}
    assert {link.item for link in trial.links(1)} == set(range(32)) - refused
    for question in trial.questions(1):
        [before] = [one for one in trial.questions(0) if question.item in [served.item for served in one.serves]]
        picked = pick(before).logprobs.index(-0.5)
        assert question.request.choices[0] == before.request.choices[picked]
        assert sorted(question.request.choices) == sorted(before.request.choices)


def test_every_item_is_judged_by_both_readings_and_what_the_checker_would_not_pick_is_listed(trial):
    judged = trial.judge()
    outcomes = {(row.item, row.reading): row for row in (Outcome(*row) for row in judged["outcomes"].rows())}
    listed = {row.item: row.picked for row in (Disagreement(*row) for row in judged["disagreements"].rows())}
    for item in trial.items():
        alone, checked = outcomes[item.item, "alone"], outcomes[item.item, "checked"]
        if item.fact_id.endswith("7"):
            assert alone.outcome == checked.outcome == "missing"
            assert alone.prediction is alone.score is None
            continue
        agreed = alone.prediction in ("Oslo", "Lima")
        assert (item.item in listed) != agreed
        assert listed.get(item.item, alone.prediction) == alone.prediction
        assert alone.outcome == ("correct" if alone.prediction in item.accepted else "incorrect")
        assert checked.outcome == (alone.outcome if agreed else "incorrect")


def test_numbers_by_reading_order_place_popularity_and_dose(trial):
    rows = trial.measures()
    # Of a relation's facts 0 to 6 those taught 16 times and more are known (2, 3 and 6), and where the true object
    # stands first (order 0) all are. The checker agrees on Oslo and Lima: facts 0 to 3.
    assert number(rows, "accuracy", reading="alone", order=0).value == 1
    alone = number(rows, "accuracy", reading="alone", order=1)
    assert (alone.value, alone.n, alone.n_correct, alone.n_missing) == (pytest.approx(3 / 7), 16, 6, 2)
    assert number(rows, "accuracy", reading="checked", order=0).value == pytest.approx(4 / 7)
    assert number(rows, "accuracy", reading="alone", order=1, place=1).n == 16
    assert number(rows, "accuracy", reading="checked", order=1).value == pytest.approx(2 / 7)
    head = number(rows, "accuracy", reading="alone", order=1, bucket="head")
    assert (head.n, head.value) == (8, 2 / 4)  # facts 0, 2, 4 and 6

    def by_dose(dose):
        return number(rows, "accuracy_by_exposure", reading="alone", order=1, hit=Not(), dose=dose).value

    assert [by_dose(dose) for dose in DOSES] == [0, 0, 1, 1]
    assert number(rows, "recovery_auc", reading="alone", order=1, hit=Not(), dose=(0, 64)).value == 1


def test_what_was_judged_has_popularity_doses_and_where_the_true_object_stood(trial):
    frame = trial.judged().frame
    assert frame.height == 2 * 32
    for row in frame.iter_rows(named=True):
        at = int(row["fact"].partition("|")[2])
        assert row["bucket"] == ("head", "tail")[at % 2]
        assert (row["subject"], row["object"]) == (f"{row['relation']}s{at}", OBJECTS[at // 2])
        assert row["dose"] == DOSE_OF[row["fact"]]
        assert row["object_dose"] == sum(
            DOSE_OF[fact.fact_id] for fact in DATA.facts if fact.object_id == row["object"]
        )
        assert row["place"] == row["order"]


def test_the_chapter_shows_each_reading_and_draws_its_figure(trial):
    shown = trial.shown()
    chapter = Toy().chapter(shown, trial.options)
    accuracy, popularity, figure = chapter.parts
    assert isinstance(accuracy, Table)
    assert [(cells[0], cells[1], cells[2].value) for cells in accuracy.rows] == [
        ("m", "alone", 1.0),
        ("m", "alone", pytest.approx(3 / 7)),
        ("m", "checked", pytest.approx(4 / 7)),
        ("m", "checked", pytest.approx(2 / 7)),
    ]
    assert len(popularity.rows) == 2 * 2 * 2
    assert isinstance(figure, Drawing)
    [axes] = figure.draw().axes
    assert len(axes.patches) == 4


def test_without_a_checker_there_is_one_round_and_one_reading(tmp_path):
    trial = Trial(tmp_path, Toy(), DATA, ToyOptions()).ask().answer(pick)
    assert [at.name for at in Toy().rounds_of(trial.options)] == ["picks"]
    assert trial.judge()["outcomes"]["reading"].unique().to_list() == ["alone"]
    assert trial.judge()["disagreements"].is_empty()
    assert {json.loads(row.where)["reading"] for row in trial.measures()} == {"alone"}
    assert trial.judged().frame["dose"].null_count() == 16, "nothing is known of what it was taught"


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("outcome", "right", "there is no outcome 'right'; there are correct, "),
        ("reading", "alone", r"the readings of an item are \['alone', 'checked'\], found \['alone', 'alone'\]"),
    ],
)
def test_an_outcome_or_a_reading_that_there_is_not_is_refused(trial, tmp_path, column, value, message):
    class Wrong(Toy):
        def judge(self, answers, data, options):
            for one in super().judge(answers, data, options):
                yield replace(one, outcomes=one.outcomes.with_columns(pl.lit(value).alias(column)))

    with pytest.raises(AlmanacError, match=f"suite toy: {message}"):
        judge(Wrong(), trial.options, trial.answers, trial.data, tmp_path)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda rows: rows.filter(pl.col("item") != 5),
            "expected an outcome of item 5, found one of item 6",
        ),
        (lambda rows: rows.reverse(), "expected an outcome of item 0, found one of item 31; its `judge` must"),
        (lambda rows: rows.head(8), "4 of 32 items are judged"),
        (lambda rows: rows.drop("confidence"), "its `judge` yields outcomes without the column 'confidence'"),
    ],
)
def test_an_item_or_a_column_that_is_left_out_is_named(trial, tmp_path, spoil, message):
    class Wrong(Toy):
        def judge(self, answers, data, options):
            for one in super().judge(answers, data, options):
                yield replace(one, outcomes=spoil(one.outcomes))

    with pytest.raises(AlmanacError, match=f"suite toy: {message}"):
        judge(Wrong(), trial.options, trial.answers, trial.data, tmp_path)


@pytest.mark.parametrize(
    ("judged", "message"),
    [
        (lambda found: None, "0 of 32 items are judged"),
        (lambda found: [one.outcomes for one in found], "its `judge` yields Judgements.*, found DataFrame"),
        (
            lambda found: [replace(one, own={}) for one in found],
            "'disagreements' at='judged' that `judge` never yields",
        ),
    ],
)
def test_what_judge_must_yield_is_said(trial, tmp_path, judged, message):
    class Wrong(Toy):
        def judge(self, answers, data, options):
            return judged(super().judge(answers, data, options))

    with pytest.raises(AlmanacError, match=f"suite toy: .*{message}"):
        judge(Wrong(), trial.options, trial.answers, trial.data, tmp_path)


def test_two_rows_of_an_item_are_refused_where_they_would_be_counted_twice(trial, monkeypatch):
    own = trial.answers.own
    monkeypatch.setattr(type(trial.answers), "own", lambda self, name: pl.concat([own(name)] * 2))
    with pytest.raises(AlmanacError, match="suite toy: table offers: more than one row for item 0"):
        trial.judged()


def test_a_table_that_the_suite_does_not_declare_is_refused_where_it_is_asked(tmp_path):
    class Wrong(Toy):
        own: ClassVar = {"disagreements": Toy.own["disagreements"]}

    with pytest.raises(AlmanacError, match="the suite's `own` declares no table 'offers' at='asked'"):
        Trial(tmp_path, Wrong(), DATA, ToyOptions()).ask()


def test_a_declared_table_that_is_not_given_is_refused_where_it_is_asked(tmp_path):
    class Wrong(Toy):
        own: ClassVar = Toy.own | {"others": Toy.own["offers"]}

    with pytest.raises(AlmanacError, match="`own` declares a table 'others' that `ask` does not give to `Asked`"):
        Trial(tmp_path, Wrong(), DATA, ToyOptions()).ask()


def headline_of(suite, trial):
    said = trial.judge()["outcomes"].select("item", "reading", "prediction")
    return list(headline.measures(suite, trial.options, trial.judged(), said, trial.answers, trial.data))


def test_what_is_offered_must_have_the_columns_that_are_read(trial):
    class Wrong(Toy):
        def offered(self, method, answers, data, options):
            return super().offered(method, answers, data, options).rename({"offered": "texts"})

    assert headline_of(Toy(), trial)
    with pytest.raises(AlmanacError, match=r"suite toy: `offered` returns .*texts.*; it must have `offered`, and"):
        headline_of(Wrong(), trial)


def test_a_method_of_a_reading_that_there_is_not_is_refused(trial):
    class Wrong(Toy):
        methods: ClassVar = (replace(Toy.methods[0], where={"reading": "alnoe", "order": 0}),)

    with pytest.raises(
        AlmanacError, match=r"suite toy: method alone names the reading 'alnoe', .*; did you mean alone"
    ):
        headline_of(Wrong(), trial)


def test_a_column_of_answers_that_there_is_not_is_refused(trial):
    class Wrong(Toy):
        methods: ClassVar = (replace(Toy.methods[0], answer="subjcet"),)

    with pytest.raises(AlmanacError, match=r"suite toy: method alone: answer is 'subjcet', .*; did you mean subject"):
        headline_of(Wrong(), trial)


def test_without_a_checker_there_is_no_method_that_counts_what_it_says(trial, tmp_path):
    unchecked = Trial(tmp_path, Toy(), DATA, ToyOptions()).ask().answer(pick)
    for of, readings in ((trial, {"alone", "checked"}), (unchecked, {"alone"})):
        assert {json.loads(row.where)["reading"] for row in headline_of(Toy(), of)} == readings


def test_a_table_that_the_suite_does_not_declare_is_refused(trial, tmp_path):
    class Wrong(Toy):
        own: ClassVar = {"offers": Toy.own["offers"]}

    with pytest.raises(AlmanacError, match="suite toy: `own` declares no table 'disagreements' at='judged'"):
        judge(Wrong(), trial.options, trial.answers, trial.data, tmp_path)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "tests.toy.gone:Toy",
            r"cannot be imported \(ModuleNotFoundError: No module named 'tests\.toy\.gone'\); fix or uninstall",
        ),
        ("tests.toy.toy_suite:Toyy", "cannot be imported .*Toyy"),
        ("tests.toy.toy_suite:Offer", "must name a class that inherits from Suite"),
        (
            "almanac.suites.suite:Suite",
            "the class has no name, label, summary, options, setting, ask, judge, measure; see docs/adding",
        ),
    ],
)
def test_an_installed_suite_that_is_none_is_named_with_what_it_lacks(value, message):
    with pytest.raises(AlmanacError, match=f"entry point toy = '{value}': {message}"):
        _loaded(EntryPoint("toy", value, GROUP))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("class Own(Suite): ...", r"cannot be imported \(NameError: name 'Suite' is not defined\); fix or uninstall"),
        ("class Own(:", r"cannot be imported \(SyntaxError: "),
        (
            "from tests.toy.toy_suite import Toy\nclass Own(Toy):\n    def __init__(self, must): ...",
            r"cannot be made without arguments \(TypeError: .*must",
        ),
    ],
)
def test_an_installed_suite_that_fails_in_its_own_way_is_named(text, message, tmp_path, monkeypatch):
    name = f"wrong_{len(text)}"
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(AlmanacError, match=f"entry point own = '{name}:Own': {message}"):
        _loaded(EntryPoint("own", f"{name}:Own", GROUP))


@pytest.mark.parametrize("installed", [True, False])
def test_a_suite_whose_column_is_there_already_is_refused_before_anything_is_asked(installed, monkeypatch):
    class Setting(NamedTuple):
        template: int

    class Own(Toy):
        setting = Setting

    if installed:
        monkeypatch.setattr(listing, "entry_points", lambda group: [EntryPoint("own", "taken:Own", group)])
        monkeypatch.setattr(listing, "_loaded", lambda point: Own())
    else:
        monkeypatch.setattr(listing, "OURS", (*listing.OURS, Own()))
    with pytest.raises(AlmanacError, match="suite toy: setting: every item already has a column 'template'"):
        listing._listed()


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"name": "karr"}, "Own: there is a suite 'karr' already; rename or uninstall one"),
        ({"name": "nega/tion"}, "Own: name is 'nega/tion'; take another, of letters, digits, _ and -"),
        ({"name": 5}, "Own: name is 5; take another, of letters, digits"),
        ({"name": "all"}, "Own: name is 'all', and the workflow has a target of this name; take another"),
        ({"options": object}, "Own: options is <class 'object'>; name a class that inherits from SuiteOptions"),
        ({"options": SuiteOptions}, "Own: its options, SuiteOptions, lack tokens; see docs/adding_a_suite"),
        ({"options": create_model("O", __base__=ToyOptions, shards=(int, 1))}, "Own: its options have 'shards', which"),
        ({"setting": Disagreement}, "Own: setting is .*; name a class that inherits from NamedTuple"),
        ({"own": {"items": Toy.own["offers"]}}, "suite own: table items: every suite has a table of that name"),
        ({"methods": (*Toy.methods, Toy.methods[0])}, "suite own: two methods have the name 'alone'; rename one"),
        ({"methods": tuple(replace(one, label="Own") for one in Toy.methods)}, "two methods have the label 'Own'"),
        (
            {"methods": (replace(Toy.methods[0], guess=5),)},
            "suite own: method alone: guess must be from 0 to 1, found 5",
        ),
        ({"rounds": (Round("again2"),)}, "suite own: a round's name may have only a to z and _, found 'again2'"),
        ({"rounds": (Round("a"), Round("a", about_one=True))}, "suite own: two rounds have the name 'a'; rename one"),
        (
            {"rounds": (Round("checks", answered_by="chekcer"),)},
            r"suite own: round checks: answered_by is no setting: 'chekcer'; did you mean checker\?",
        ),
    ],
)
def test_a_suite_of_this_project_that_says_what_cannot_be_is_refused(said, message, monkeypatch):
    own = type("Own", (Toy,), {"name": "own", **said})
    monkeypatch.setattr(listing, "OURS", (*listing.OURS, own()))
    with pytest.raises(AlmanacError, match=message):
        listing._listed()


def test_the_names_that_a_suite_cannot_have_are_those_of_the_workflow_and_of_the_command(capsys):
    text = (PROJECT / "Snakefile").read_text() + (PROJECT / "rules" / "edition.smk").read_text()
    assert {*re.findall(r"^rule (\w+):", text, re.M)} - {"freeze_edition"} == listing.TARGETS
    with pytest.raises(SystemExit):
        main(["ask", "karr", "--help"])
    own = {*re.findall(r"^  (?:-h, )?--([\w-]+)", capsys.readouterr().out, re.M)}
    assert own - {name.replace("_", "-") for name in SUITES["karr"].options.model_fields} == listing.FLAGS - {
        "suite"
    } | {"file"}, "a setting may be called file"


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("score", float("nan"), "score is nan; give a number, or null where there is none"),
        ("score", float("-inf"), "score is -inf; give a number"),
        ("confidence", 2.0, "confidence is 2.0; give 0 to 1"),
        ("confidence", -0.1, "confidence is -0.1; give 0 to 1"),
    ],
)
def test_a_score_that_is_no_number_is_refused_where_it_is_given(trial, tmp_path, column, value, message):
    class Wrong(Toy):
        def judge(self, answers, data, options):
            for one in super().judge(answers, data, options):
                first = pl.when(pl.col("item") == 3).then(value).otherwise(column).alias(column)
                yield replace(one, outcomes=one.outcomes.with_columns(first))

    with pytest.raises(AlmanacError, match=f"suite toy: item 3: {message}"):
        judge(Wrong(), trial.options, trial.answers, trial.data, tmp_path)


def test_an_item_without_a_request_is_said_to_be_what_judge_does_not_see(trial, tmp_path):
    """Of the last item of the first round the links are taken away."""
    rounds = []
    for one in trial.answers.rounds:
        folder = Path(shutil.copytree(one.folder, tmp_path / one.name))
        path = folder / "links.parquet"
        tables.write(path, Link, [row for row in tables.read(path, Link) if row.item != 31])
        rounds.append(replace(one, folder=folder))
    with pytest.raises(AlmanacError, match=r"31 of 32 items are judged \(`ask` links no request to item 31, so that"):
        judge(Toy(), trial.options, replace(trial.answers, rounds=rounds), trial.data, tmp_path / "judged")


def test_a_suite_of_this_project_without_a_label_is_refused(monkeypatch):
    own = type("Own", (Suite,), {"name": "own", "summary": "", "options": ToyOptions, "setting": Toy.setting})
    monkeypatch.setattr(listing, "OURS", (own(),))
    message = r"Own: the class has no label, ask, judge, measure; see docs/adding_a_suite\.md"
    with pytest.raises(AlmanacError, match=message):
        listing._listed()


def test_what_a_suite_asks_and_counts_must_be_of_the_form_that_is_said(trial):
    asked = Asked({"offers": Offer})
    with pytest.raises(
        AlmanacError, match=r"a request may hold only .*: choices is \[' a', ' b'\]; give a tuple, or a text"
    ):
        asked.request(Request("", "choices", None, "It is", choices=[" a", " b"]))
    with pytest.raises(AlmanacError, match=r"a setting may hold only .*: order is {'a': 1}; give a tuple, or a text"):
        asked.item("toy", Toy.setting({"a": 1}), None, relation="r")
    asked.own["offers"].append(Disagreement(0, "Rome"))
    with pytest.raises(AlmanacError, match="table of Offer: rows are of Offer, found one of Disagreement"):
        asked.take()
    with pytest.raises(AlmanacError, match=r"the suite has no table 'ofers' of what was asked; did you mean offers\?"):
        next(trial.answers.parts(("role",), own=("ofers",)))
    judged = trial.judged()
    ranked = replace(judged, frame=judged.frame.with_columns(rank=pl.col("place") + 1))
    with pytest.raises(AlmanacError, match=r"suite toy: column 'rank' has values from 1 to 2, .*\(rank to 1 / rank\)"):
        ranked.measures("mrr", "macro", "rank")
    with pytest.raises(AlmanacError, match=r"suite toy: column 'subject' holds .*, but a formula needs numbers"):
        judged.measures("accuracy", "mean", "subject")
    with pytest.raises(AlmanacError, match=r"table accuracy: 2 columns \(model, accuracy\), but a row of 1 cells"):
        Table("accuracy", "", ("model", "accuracy"), [("m",)])


def test_a_suite_that_derives_other_rows_is_named(trial):
    class Wrong(Toy):
        def derived(self, frame, options):
            return frame.join(frame.select("fact", again="hit"), on="fact")

    with pytest.raises(AlmanacError, match="suite toy: `derived` must return the rows that it is given"):
        join(Wrong(), trial.options, trial.answers, trial.data, trial.judge()["outcomes"], {})


def test_a_column_that_there_is_not_is_named_with_the_suite(trial):
    judged = trial.judged()
    for choose in (
        lambda: judged.where(plac=0),
        lambda: judged.measures("accuracy", "mean", "hit", by=("plac",)),
        lambda: list(judged.groups("plac")),
    ):
        with pytest.raises(AlmanacError, match=r"suite toy: its items have no column 'plac'; did you mean place\?"):
            choose()
