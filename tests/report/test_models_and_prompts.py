"""Prompts and models side by side on the page: a tiny edition from requests to the frozen archive."""

import csv
import json
import random
import zipfile

import pytest
from tests.report import editions
from tests.report.reading import Page, check_items

from almanac import read_edition
from almanac.cli import main
from almanac.config import Asking, EditionConfig
from almanac.edition.layout import Layout
from almanac.edition.measuring import entrant, findings_of, measure_across
from almanac.report.chapters import chapters
from almanac.report.lines import share
from almanac.rows import Entity, Evidence, Measure, NotAsked, Outcome, Relation, Response, Template
from almanac.suites import comparison_chapter
from almanac.suites.agreement import SAME
from almanac.suites.chapter import Entrant, Shown
from almanac.suites.comparison import DIFFERENCE, TUNED
from almanac.suites.judged import conditions_of
from almanac.suites.listing import SUITES

B = 1_000_000_000
RELATIONS = {"P1": "maker", "P2": "home", "P3": "kind", "P4": "a $dear$ <name>"}
SKILL = {"large": 4.0, "small": 2.0, "chat": 3.0, "other": 2.5}


def configuration():
    def model(name, size, **keys):
        return {"name": name, "path": f"models/{name}", "parameters": size * B, "series": "Own", **keys}

    models = [
        model("small", 1),
        model("large", 7),
        model("chat", 7, base="large"),
        model("other", 3, series=None),
        model("silent", 7),
    ]
    return {
        "sources": {"real": {"path": "facts"}},
        "datasets": {"real": {"source": "real", **editions.SIZES}},
        "suites": {"ic_lke": {"real": {"shots": 4}}, "lke_prompts": {"real": {"sample": 8}}},
        "models": models,
        "shards": 2,
    }


def answer(model, request):
    """Answer by chance, the true choice (the last) the likelier the more skilled a model is."""
    if model == "silent":
        return Response(request.request_id, "too_long", "the text is too long")
    chance = random.Random(model + request.request_id)
    values = [chance.gauss(-5, 1) for _ in request.choices]
    values[-1] += SKILL[model] * chance.random()
    return Response(request.request_id, "ok", None, tuple(values), (1,) * len(values))


@pytest.fixture(scope="module")
def layout(tmp_path_factory):
    facts = editions.facts_of(RELATIONS, "real")
    entities = [Entity(f"{kind}{at}", f"{kind} {at}", (), None) for kind in "QO" for at in range(60)]
    relations = [Relation(p, label, *[None] * 4) for p, label in RELATIONS.items()]
    templates = [
        Template(f"{p}/{at}", p, text, "statement", "written", None, ())
        for p in RELATIONS
        for at, text in enumerate(("[X] comes from [Y].", "[Y] made [X].", "The origin of [X] is [Y]."))
    ]
    texts = [
        Evidence(
            row.fact_id, f"So {row.subject_id[0]} {row.subject_id[1:]} is of {row.object_id[0]} {row.object_id[1:]}."
        )
        for row in facts
    ]
    known = editions.Known(relations, facts, entities, templates, texts)
    return editions.finish(editions.asked(tmp_path_factory.mktemp("tiny"), configuration(), known), answer)


@pytest.fixture(scope="module")
def text(layout):
    return (layout.root / "report.html").read_text("utf-8")


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def asking(layout, suite, model):
    [found] = [one for one in layout.config.asked() if (one.suite, one.model) == (suite, model)]
    return found


def test_the_table_is_what_comparing_again_gives(layout):
    assert layout.read(layout.between("across"), Measure) == measure_across(layout)["across"]
    assert layout.between("across") in layout.tables()


def test_a_model_is_compared_within_its_series_and_with_its_base(layout):
    chat = entrant(layout, asking(layout, "ic_lke", "chat"))
    assert chat == Entrant("chat", "Own", base="large", parameters=7 * B)
    assert entrant(layout, asking(layout, "ic_lke", "other")).series == "other"


def test_the_leader_board_agrees_with_each_methods_own_numbers(layout):
    rows = layout.read(layout.between("across"), Measure)
    for model in SKILL:
        measures = layout.read(layout.measures(asking(layout, "ic_lke", model)), Measure)
        [own] = [row for row in measures if row.metric == "accuracy" and "relation" not in conditions_of(row)]
        means = [row for row in rows if (row.suite, row.metric, row.model) == ("ic_lke", "mean_accuracy", model)]
        assert [(row.value, row.low, row.high) for row in means] == [pytest.approx((own.value, own.low, own.high))]


def test_the_page_has_a_chapter_between_models(layout, page, text):
    rows = page.rows["ic_lke-in_context-real"]
    board = [row for row in rows if row[0].isdigit()]
    assert [row[0] for row in board] == ["1", "2", "3", "4"]
    accuracies = [float(row[3].split(" ")[0]) for row in board]
    assert accuracies == sorted(accuracies, reverse=True)
    assert {row[1] for row in board} == set(SKILL), "the silent one has no place"
    assert [(row[0], row[2]) for row in rows if len(row) == 6 and row[0] == "small"] == [("small", "large")]
    assert [row[:2] for row in rows if row[0] == "chat" and len(row) == 6] == [["chat", "large"]]
    pressed = page.buttons["ic_lke-in_context-real"]
    assert {wanted["model"] for wanted, _ in pressed} == set(SKILL)
    assert {conditions["experiment"] for conditions in (json.loads(wanted["where"]) for wanted, _ in pressed)} == {
        "in_context"
    }
    for name in ("relations", "likeness"):
        assert (layout.root / f"figures/ic_lke-in_context-real-{name}.svg").stat().st_size > 2_000
    assert "a $dear$ &lt;name&gt;" in text


def test_every_method_that_asks_a_fact_once_is_compared(page):
    compared = {name for name in page.rows if name.count("-") == 2}
    kinds = ("written_clean", "written_mangled", "mined_clean")  # nothing is lost from the mined ones when mangled
    assert compared == {"ic_lke-in_context-real", *(f"lke_prompts-{kind}-real" for kind in kinds)}


def test_every_number_opens_the_items_that_it_counts(layout, text):
    metrics = check_items(chapters(layout)[0], text)
    assert metrics >= {"accuracy", "mean_accuracy", "headline"}


# What the page shows of the other model's answers next to those of the one that alone knows some facts.
NEXT_TO = """
ready.then(() => Promise.all(given.numbers.map(async (number) => {
  const { columns } = await itemsOf(number), theirs = await answersOf(number, columns);
  const at = (name, place) => theirs[`other ${name}`].values[place];
  return chosen(columns, JSON.parse(number.where)).map((place) =>
    [columns.item.values[place], at("prediction", place), at("outcome", place), at("score", place)]);
}))).then((found) => console.log(JSON.stringify(found)));
"""


def test_facts_that_one_model_alone_knows_are_shown_with_the_answers_of_the_other(layout, text):
    wanted = [number for number, _ in Page(text).pressed if number["metric"] == "right_alone"]
    assert {number["suite"] for number in wanted} == {"ic_lke", "lke_prompts"}
    for number, items in zip(wanted, editions.run_script(text, NEXT_TO, wanted), strict=True):
        theirs = Asking(number["other"], number["suite"], "real")
        said = {row.item: row for row in layout.read(layout.judged(theirs, "outcomes"), Outcome)}
        assert items
        for item, prediction, outcome, score in items:
            row = said[item]
            assert outcome == row.outcome and score == pytest.approx(row.score, abs=1e-3)
            assert prediction == layout.data("real").names.label(row.prediction)
        if number["suite"] == "ic_lke":  # which asks a fact once
            assert {outcome for _, _, outcome, _ in items} == {"incorrect"}


def test_the_page_has_a_chapter_of_prompts(layout, page):
    rows = [row for row in page.rows["lke_prompts-real"] if len(row) == 4 and row[0] in SKILL]
    kinds = ["Mined prompts", "Written prompts", "Written prompts, mangled"]
    assert list(dict.fromkeys(row[1] for row in rows)) == kinds
    for model in SKILL:
        measures = layout.read(layout.measures(asking(layout, "lke_prompts", model)), Measure)

        def of(metric, *keys, measures=measures):
            found = [row for row in measures if row.metric == metric and conditions_of(row).keys() == {*keys}]
            return [row.value for row in found if conditions_of(row)["experiment"] == "written_mangled"]

        for metric in ("accuracy", "accuracy_deviation"):
            [whole] = of(metric, "experiment")
            relations = of(metric, "experiment", "relation")
            assert whole == pytest.approx(sum(relations) / 4) and len(relations) == 4
        [row] = [row for row in rows if row[:2] == [model, "Written prompts, mangled"]]
        assert row[3] == share(whole)
    assert "Not applicable: silent." in page.texts["lke_prompts-real"]
    assert (layout.root / "figures/lke_prompts-real-prompts.svg").stat().st_size > 2_000


def test_one_mined_string_is_asked_and_the_lack_of_others_is_listed(layout, page):
    [files] = layout.answers(asking(layout, "lke_prompts", "large")).rounds
    refused = {row.thing: row.reason for row in layout.read(files.folder / "refused.parquet", NotAsked)}
    assert refused["Mined prompts of relation P1"] == "there are 1 of the 3 asked for; only these are asked"
    assert any("Mined prompts of relation P1" in text for text in page.texts["lke_prompts-real"])


def test_a_frozen_edition_is_compared_again_and_names_no_folder_of_the_users(layout, tmp_path, capsys):
    settings = layout.config.model_dump(mode="json")
    (tmp_path / "somebody").mkdir()
    (tmp_path / "somebody" / "prompts.jsonl").write_text("")
    settings["suites"]["lke_prompts"]["real"]["published"] = str(tmp_path / "somebody" / "prompts.jsonl")
    settings["sources"]["real"] |= {"redistributable": True, "licence": "CC0-1.0"}
    layout.record().write_text(EditionConfig.model_validate(settings).model_dump_json())
    edition = ["--edition", str(layout.root)]
    for model in dict.fromkeys(asking.model for asking in layout.config.asked()):
        assert main(["measure", "model", *edition, "--model", model]) == 0
    assert main(["measure", "across", *edition]) == 0  # which records what it was made with
    archive = tmp_path / "tiny.zip"
    assert main(["freeze", "--edition", str(layout.root), "--output", str(archive)]) == 0
    with zipfile.ZipFile(archive) as opened:
        assert "somebody" not in opened.read("edition.json").decode()
        assert "measures/across.jsonl" in opened.namelist()
    assert main(["verify", "edition", str(archive)]) == 0
    assert "measures and the validation, measured again, agree" in capsys.readouterr().out


def test_a_difference_is_that_of_the_shares_in_the_first_table_however_often_a_fact_is_asked(layout):
    known = {
        (one.known.suite, one.known.where, one.known.model): one.known.value for one in findings_of(layout) if one.facts
    }
    rows = layout.read(layout.between("across"), Measure)
    differences = [row for row in rows if row.metric in (DIFFERENCE, TUNED)]
    assert {row.suite for row in differences} == {"ic_lke", "lke_prompts"}  # which asks a fact in several wordings
    for row in differences:
        one, other = (known[row.suite, row.where, name] for name in (row.model, row.other))
        assert row.value == pytest.approx(one - other), row


def test_a_notebook_has_the_differences_of_the_page(layout):
    with (layout.root / "tables" / "compared-differences.csv").open(encoding="utf-8") as handle:
        page = list(csv.DictReader(handle))
    found = read_edition(layout.root).compared
    assert len(found) == len(page) > 5
    for row, shown in zip(found.itertuples(), page, strict=True):
        assert (row.dataset, row.method, row.model, row.other) == tuple(
            shown[name] for name in ("of", "method", "model", "minus")
        )
        own = (row.difference, row.low, row.high, row.p_unadjusted, row.p, row.facts)
        heads = ("difference", "difference, low", "difference, high", "p", "adjusted p", "facts")
        assert own == pytest.approx(tuple(float(shown[name] or "nan") for name in heads), nan_ok=True)


def test_one_model_alone_is_not_compared(layout):
    alone = Layout(layout.root, layout.config.model_copy(update={"models": layout.config.models[:1]}))
    rows = measure_across(alone)["across"]
    known = {row.metric for row in rows if row.value is not None and row.metric != SAME}
    assert known == {"mean_accuracy", "relation_deviation", "relation_mean", "relation_accuracy"}
    board = Shown("real", 6, [entrant(layout, asking(layout, "ic_lke", "small"))], measures=rows)
    method = SUITES["ic_lke"].methods[0]
    [own] = comparison_chapter.by_setting(method, board.measures).values()
    assert comparison_chapter.chapter(method, own, board.models, {}) is None
