"""All sources together: the paper's numbers over all its domains, of what was asked of each alike."""

import csv
import re
from dataclasses import replace
from itertools import product
from random import Random
from types import SimpleNamespace

import polars as pl
import pytest
from scipy import stats
from tests.report import editions
from tests.suites.head_to_tail.test_measures import check_sums
from tests.suites.head_to_tail.world import CITIES, knows_the_head, strict_judge, tables, trial
from tests.suites.support import check_numbers, number, ok

from almanac.rows import Measure, Response
from almanac.suites.chapter import Drawing, Entrant, Shown
from almanac.suites.head_to_tail.across import over
from almanac.suites.head_to_tail.overview import overview
from almanac.suites.head_to_tail.suite import HeadToTail
from almanac.suites.joining import concatenated
from almanac.suites.judged import conditions_of

FEW = {"reading": "rules", "experiment": "question", "prompt": "few_shot", "repeat": None}


def ignorant(question):
    return ok(texts=("Atlantis",))


def judged(folder, reply, *shape, **settings):
    return trial(folder, tables(*shape), judge="j", **settings).answer(reply).ask().answer(strict_judge).judged()


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Of one source 12 questions, of which the model knows the 8 of head and torso; of the other 18, and none."""
    first = judged(tmp_path_factory.mktemp("one"), knows_the_head, prompts=("few_shot", "zero_shot"), cloze=True)
    second = judged(tmp_path_factory.mktemp("two"), ignorant, 3, 6, 18)
    return concatenated({"one": {"m": first, "guest": first}, "two": {"m": second}})


def test_every_question_counts_once_and_a_model_or_prompt_of_one_source_alone_does_not(both):
    assert list(both) == ["m"], "the guest was asked of one source"
    rows = over(both)
    assert {(row.dataset, row.model) for row in rows if row.formula != "other"} == {("", "m")}
    found = number(rows, "accuracy", **FEW)
    assert (found.n, found.value) == (30, pytest.approx(8 / 30)), "not the mean of 8 in 12 and 0 in 18"
    assert number(rows, "accuracy", **FEW, level="head").value == pytest.approx(4 / 10)
    assert number(rows, "exact", **FEW, domain="lives", level="torso").value == pytest.approx(2 / 5)
    assert not [row for row in rows if "zero_shot" in row.where or "cloze" in row.where]
    assert check_sums(rows) > 0


def test_the_figure_is_of_the_judges_reading_where_there_is_one(both):
    """The judge is made to find nothing right."""
    judge = '"reading":"judge"'
    rows = [replace(row, value=0.0) if judge in row.where else row for row in over(both)]
    found = overview(Shown("", 0, [Entrant("m", "m")], measures=rows), ["one", "two"])
    [figure] = [part.draw() for part in found.parts if isinstance(part, Drawing)]
    [bars] = figure.axes[0].containers
    assert list(bars.lines[0].get_ydata()) == [0.0] * 3


def test_subjects_of_two_sources_are_two_and_so_are_items(both):
    frame = both["m"].frame
    few = frame.filter(pl.col("prompt") == "few_shot", pl.col("experiment") == "question", pl.col("reading") == "rules")
    assert frame.select("item", "reading").n_unique() == frame.height
    assert few["subject"].n_unique() == few["fact"].n_unique() == 30, "Sam00 of one source is not Sam00 of the other"
    rows = [row for row in over(both) if row.formula != "other"]
    alike = frame.filter(pl.col("prompt") == "few_shot", pl.col("experiment") == "question")
    check_numbers(type(both["m"])("head_to_tail", "", "m", alike), rows)


def test_judge_and_rules_correlate_over_the_cells_of_all_sources_together(both):
    """Table 8: a domain of two sources is one cell a bucket, of the questions of both; least and mean are over all."""
    models, chance = {}, Random(3)
    for at in range(6):
        said = {name: [chance.random() < at / 6 for _ in range(both["m"].frame.height)] for name in ("hit", "exact")}
        models[f"m{at}"] = replace(
            both["m"], frame=both["m"].frame.with_columns(pl.Series(*one) for one in said.items())
        )
    rows = over(models)
    cells = []
    for domain, level in product(("lives", "jobs"), ("head", "torso", "tail")):
        where = {"experiment": "question", "prompt": "few_shot", "domain": domain, "level": level}
        judge, rules = ([own.where(where, reading=one).frame for own in models.values()] for one in ("judge", "rules"))
        assert {one.height for one in (*judge, *rules)} == {2 + 3}, "two questions of one source, three of the other"
        rates = [one["hit"].mean() for one in judge], [one["exact"].mean() for one in rules]
        cells.append(stats.pearsonr(*rates).statistic)
    asked = {"experiment": "question", "prompt": "few_shot", "repeat": None}
    least, mean = (number(rows, f"pearson_accuracy_exact_{end}", **asked) for end in ("min", "mean"))
    assert (least.n, least.value, mean.value) == (6, pytest.approx(min(cells)), pytest.approx(sum(cells) / 6))


def test_the_figure_shows_what_the_judge_says_where_there_is_one(both):
    """As the paper's does; here the judge finds every answer right, and the rules find none."""
    own = replace(both["m"], frame=both["m"].frame.with_columns(hit=pl.col("reading") == "judge"))
    shown = Shown("", 4, [Entrant("m", "f")], measures=over({"m": own}))
    [drawing] = [one for one in HeadToTail().overview(shown, ["one", "two"]).parts if isinstance(one, Drawing)]
    upper = drawing.draw().axes[0]
    assert [box.lines[0].get_ydata().tolist() for box in upper.containers] == [[1.0, 1.0, 1.0]]


def answer(model, request):
    """Model a knows the cities of 3 subjects a relation, b of 9."""
    at, known = int(re.search(r"Sam(\d\d)", request.text)[1]), {"a": 3, "b": 9}[model]
    text = CITIES[at % len(CITIES)].title() if at < known else "Rome and Bonn"
    return Response(request.request_id, "ok", None, texts=(text,), model_digest=model, engine="none")


@pytest.fixture(scope="module")
def layout(tmp_path_factory):
    """Two sources of six questions each."""
    size = {"min_facts": 1, "min_objects": 2, "train": 0, "test": 100, "choices": 2}
    config = {
        "sources": {"one": {"path": "facts"}, "two": {"path": "facts"}},
        "datasets": {name: {"source": name, **size} for name in ("one", "two")},
        "suites": {"head_to_tail": {"one": {"cap": 1}, "two": {"cap": 1}}},
        "models": [{"name": name, "path": f"models/{name}"} for name in "ab"],
    }
    asked = editions.asked(tmp_path_factory.mktemp("overview"), config, SimpleNamespace(**tables()))
    return editions.finish(asked, answer)


def test_an_edition_of_several_sources_has_a_chapter_of_them_together(layout):
    rows = [row for row in layout.read(layout.between("across"), Measure) if row.dataset == ""]
    found = {row.model: row for row in rows if row.metric == "accuracy" and conditions_of(row) == FEW}
    assert {name: row.n for name, row in found.items()} == dict.fromkeys("ab", 6 + 6)
    page = layout.page().read_text("utf-8")
    assert "<h3>Head-to-Tail: all sources</h3>" in page and "All questions of one, two together" in page
    table = layout.shown("tables") / "head_to_tail-rates.csv"
    with table.open(encoding="utf-8") as stream:
        printed = {(row["model"], row["asked"]): row for row in csv.DictReader(stream)}
    assert float(printed["a", "question, few-shot, by rules"]["accuracy"]) == found["a"].value
    for name in ("levels", "score_levels"):
        assert (layout.shown("tables") / f"head_to_tail-{name}.csv").is_file()


def test_one_source_alone_and_numbers_of_none_have_no_chapter_of_all():
    assert HeadToTail().overview(Shown("", 0, ()), ["one", "two"]) is None
    assert concatenated({}) == {}
