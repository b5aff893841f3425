"""What holds of every suite, on a small dataset, answered by a model that guesses; a new one is a line of `TRIALS`."""

from dataclasses import replace

import pytest
from pydantic import ValidationError
from tests.suites.head_to_tail import world as head_to_tail_world
from tests.suites.ic_lke import small_world
from tests.suites.support import Trial, ok, silent
from tests.suites.toy_world import played

from almanac import tables
from almanac.columns import columns
from almanac.rows import Item, Measure, Popularity, Setting
from almanac.suites.belief.options import BeliefOptions
from almanac.suites.belief.suite import Belief
from almanac.suites.chapter import Drawing, Entrant, Table
from almanac.suites.comparison import Board, compare
from almanac.suites.data import Data
from almanac.suites.head_to_tail.options import HeadToTailOptions
from almanac.suites.ic_lke import options
from almanac.suites.ic_lke.eic import Eic
from almanac.suites.ic_lke.generated import Generated
from almanac.suites.ic_lke.positions import Positions
from almanac.suites.ic_lke.prompts import Prompts
from almanac.suites.ic_lke.separators import Separators
from almanac.suites.ic_lke.suite import IcLke
from almanac.suites.ic_lke.sweep import Sweep
from almanac.suites.karr.options import KarrOptions
from almanac.suites.listing import ASKING
from almanac.suites.options import SuiteOptions


def guess(question):
    """Say something of every kind of request, and nothing to every seventh."""
    return silent("refused") if int(question.request.request_id[:8], 16) % 7 == 0 else tell(question)


def tell(question):
    """Say something of every kind of request."""
    request, seed = question.request, int(question.request.request_id[:8], 16)
    if request.kind == "generate":
        return ok(texts=(question.item.accepted[0] if seed % 2 else " nothing", " and more")[: request.samples or 1])
    parts = len(request.choices or request.pieces or request.span_starts)
    logprobs = tuple(-0.1 - (seed >> at) % 13 / 3 for at in range(parts))
    if request.kind == "fill":
        ranks = tuple(sum(one > own for one in logprobs) for own in logprobs)
        return ok(logprobs=logprobs, ranks=ranks, tokens=(request.choices[ranks.index(0)],), probabilities=(0.5,))
    return ok(logprobs=logprobs)


def head_to_tail(folder, reply=guess):
    doses = {row.fact_id: (0, 4, 64)[at % 3] for at, row in enumerate(head_to_tail_world.tables()["facts"])}
    asked = head_to_tail_world.trial(folder, doses=doses, judge="j", cloze=True, repeats=2)
    return asked.answer(reply).ask().answer(lambda question: ok(texts=(" correct",)))


def of_world(suite, settings):
    def made(folder, reply=guess):
        world = small_world.tables(12, 6, ("born", "died"))
        second = [replace(row, template_id=f"{row.relation_id}/1", text="[X] is of [Y].") for row in world["templates"]]
        popular = [
            Popularity(row.subject_id, "test", "thing", 1.0, ("head", "torso", "tail")[at % 3])
            for at, row in enumerate(world["facts"])
        ]
        data = Data.of(**world | {"templates": world["templates"] + second, "popularity": popular})
        doses = {row.fact_id: (0, 4, 64)[at % 3] for at, row in enumerate(data.facts)}
        return Trial(folder, suite, data, settings, doses=doses).ask().answer(reply)

    return made


TRIALS = {
    "toy": played,
    "ic_lke": of_world(IcLke(), options.IcLkeOptions(shots=2, draws=2, cloze=True)),
    "eic": of_world(Eic(), options.EicOptions(examples=12, first=6, step=2)),
    "sweep": of_world(Sweep(), options.SweepOptions(examples=(0, 1, 4), draws=2)),
    "separators": of_world(Separators(), options.SeparatorOptions(shots=2)),
    "positions": of_world(Positions(), options.PositionOptions(pairs=12, replaced=3, bins=4)),
    "generated": of_world(Generated(), options.GeneratedOptions(shots=2)),
    "head_to_tail": head_to_tail,
    "belief": of_world(
        Belief(),
        BeliefOptions(
            templates="dataset", candidates=-1, prompting=("zero_shot", "4_relation"), sampled=4, samples=2, bias=True
        ),
    ),
    "prompts": of_world(Prompts(), options.PromptsOptions(kinds=("written",), prompts=2)),
}


@pytest.mark.parametrize("name", TRIALS)
def test_who_asks_twice_asks_the_same(name, tmp_path):
    """What is drawn has a seed of its own: nothing hangs on the order of sets, nor on what was drawn before."""
    one, other = (TRIALS[name](tmp_path / str(at)) for at in (0, 1))
    for table in ("items", "links", "requests-0", "contexts", "settings"):
        paths = [sorted(trial.rounds[0].folder.rglob(f"{table}.parquet")) for trial in (one, other)]
        assert len(paths[0]) == len(paths[1]) > 0
        assert [path.read_bytes() for path in paths[0]] == [path.read_bytes() for path in paths[1]], table


@pytest.mark.parametrize("name", TRIALS)
def test_the_names_of_settings_change_no_number(name, tmp_path):
    trial = TRIALS[name](tmp_path)
    before = trial.measures()
    assert sum(row.value is not None for row in before) > 5
    for one in trial.rounds:
        rows = tables.read(one.folder / "settings.parquet", Setting)
        opaque = {row.setting: f"{at + 3}?" for at, row in enumerate(reversed(rows))}
        renamed = [Setting(opaque[row.setting], "a label", row.fields) for row in rows]
        tables.write(one.folder / "settings.parquet", Setting, renamed)
        items = tables.read(one.folder / "items.parquet", Item)
        tables.write(one.folder / "items.parquet", Item, [replace(row, setting=opaque[row.setting]) for row in items])
    assert trial.measures() == before


@pytest.mark.parametrize("name", TRIALS)
def test_columns_are_those_of_the_setting_the_own_tables_and_every_suites(name, tmp_path):
    trial = TRIALS[name](tmp_path)
    judged = trial.judged()
    own = {name for table in trial.suite.own.values() if table.of == "item" for name in columns(table.row)}
    every = {"item", "experiment", "relation", "fact", "template", "name", "setting", "subject", "object", "bucket"}
    every |= {"dose", "object_dose", "reading", "outcome", "score", "confidence", "hit"}
    assert {*every, *trial.suite.setting._fields, *own} <= set(judged.frame.columns)
    facts, settings = {row.fact_id: row for row in trial.data.facts}, trial.settings()
    items = [item for item in trial.items() for _ in trial.suite.readings(trial.options)]
    for row, item in zip(judged.frame.iter_rows(named=True), items, strict=True):
        fact = facts.get(item.fact_id)
        about = (None, None, None) if fact is None else (fact.fact_id, fact.subject_id, fact.object_key)
        assert (row["item"], row["experiment"], row["template"]) == (item.item, item.experiment, item.template_id)
        assert (row["fact"], row["subject"], row["object"]) == about
        assert {field: row[field] for field in settings[item.setting]._fields} == settings[item.setting]._asdict()
        assert row["hit"] == (None if row["score"] is None else row["outcome"] == "correct")


@pytest.mark.parametrize("name", TRIALS)
def test_each_method_counts_items_of_every_fact(name, tmp_path):
    trial = TRIALS[name](tmp_path)
    judged = trial.judged()
    for method in trial.suite.methods:
        own = judged.where(method.where)
        if own.frame.is_empty():
            assert name in ("prompts", "belief"), "only what a dataset lacks, or settings leave out, is not asked"
            continue
        assert own.frame["fact"].null_count() == 0
        assert [group.frame.height for group in own.groups(*method.by)]
        if isinstance(method.guess, dict):
            assert judged.where(method.guess).frame.height


@pytest.mark.parametrize("name", TRIALS)
def test_no_number_of_the_suite_has_the_key_of_one_between_models(name, tmp_path):
    trial = TRIALS[name](tmp_path)
    judged, entrants = {trial.model: trial.judged()}, [Entrant(trial.model, trial.model)]
    boards = (one for method in trial.suite.counted(trial.options) for one in Board.each(judged, entrants, method))
    keys = [[getattr(row, column) for column in Measure.KEY] for one in boards for row in compare(one)]
    keys += [[getattr(row, column) for column in Measure.KEY] for row in trial.measures()]
    assert len({*map(tuple, keys)}) == len(keys)


@pytest.mark.parametrize("name", TRIALS)
def test_the_chapter_shows_numbers_in_every_column_and_draws_its_figures(name, tmp_path):
    trial = TRIALS[name](tmp_path, tell)
    shown = trial.shown()
    chapter = trial.suite.chapter(shown, trial.options)
    tables_shown = [part for part in chapter.parts if isinstance(part, Table)]
    drawings = [part for part in chapter.parts if isinstance(part, Drawing)]
    names = [part.name for part in (*tables_shown, *drawings)]
    assert len(set(names)) == len(names)
    for table in tables_shown:
        assert table.rows, table.name
        assert {len(row) for row in table.rows} == {len(table.head)}, table.name
        for place, head in enumerate(table.head):
            assert any(row[place] is not None for row in table.rows), f"{table.name}: {head}"
    cells = [cell for table in tables_shown for row in table.rows for cell in row if isinstance(cell, Measure)]
    assert cells
    assert all(cell in shown.measures for cell in cells)
    assert all(drawing.draw().axes for drawing in drawings)


@pytest.mark.parametrize("name", TRIALS)
def test_a_model_that_answers_nothing_has_no_number_and_a_chapter_all_the_same(name, tmp_path):
    trial = TRIALS[name](tmp_path, lambda question: silent("unsupported"))
    rows = trial.measures()
    counts = {"texts", "characters", "distinct_characters"}  # what a model is made to read is known before it answers
    assert {row.value for row in rows if row.metric not in counts} == {None}
    assert {row.n_error for row in rows} == {row.n for row in rows}
    for part in trial.suite.chapter(trial.shown(rows), trial.options).parts:
        if isinstance(part, Drawing):
            part.draw()


@pytest.mark.parametrize("suite", [suite.options for suite in ASKING.values()], ids=lambda suite: suite.__name__)
def test_what_a_setting_lists_twice_is_refused_not_asked_twice(suite):
    listed = {name: value for name, value in suite() if isinstance(value, tuple)}
    listed |= {"models": ("base",)} if "models" in listed else {}
    for name, values in listed.items():
        if values:
            with pytest.raises(ValidationError, match=f"{name} must be distinct"):
                suite(**{name: (*values, values[0])})


@pytest.mark.parametrize(
    ("less", "more"),
    [
        (HeadToTailOptions(judge="j"), {"answer_tokens": 99, "repeats": 9, "cloze": True, "cap": 999}),
        (options.SeparatorOptions(published="p"), {"written": 9, "mined": 9, "infixes": 9, "shots": 99}),
        (options.GeneratedOptions(published="p"), {"new_tokens": 99, "prompts": 9, "shots": 99}),
        (options.SweepOptions(), {"examples": (*options.SweepOptions().examples, 60), "draws": 9}),
        (options.PositionOptions(), {"pairs": 999, "draws": 9}),
        (options.EicOptions(), {"examples": 200}),
        (BeliefOptions(), {"groups": 99, "per_group": 99}),
        (KarrOptions(), {"templates": 99, "aliases": 99, "subjects": 99, "relations": 99}),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, SuiteOptions) else "",
)
def test_what_asks_more_is_expected_to_read_more_tokens(less, more):
    for name, value in more.items():
        assert less.model_copy(update={name: value}).tokens(400, 20, 5) > less.tokens(400, 20, 5) > 0, name
    assert less.tokens(400, 20, 10) == 2 * less.tokens(400, 20, 5)
