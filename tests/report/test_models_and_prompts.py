"""Prompts and models side by side on the page: a tiny edition from requests to the frozen archive."""

import random
import re
import zipfile

import editions
import pytest
from almanac.edition.remeasure import compared, entrant

from almanac import tables
from almanac.cli import main
from almanac.config import EditionConfig
from almanac.edition.layout import Layout
from almanac.report import comparison, prompts
from almanac.rows import Comparison, Entity, Evidence, Measure, Relation, Response, Template

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


def test_the_table_is_what_comparing_again_gives(layout):
    assert layout.read(layout.comparison(), Comparison) == compared(layout)
    assert layout.comparison() in layout.tables()


def test_a_model_is_compared_within_its_series_and_with_its_base(layout):
    assert entrant(layout, "chat") == entrant(layout, "large").__class__("chat", "Own", "large", 7 * B)
    assert entrant(layout, "other").series == "other"


def test_the_leader_board_agrees_with_ic_lkes_own_numbers(layout):
    rows = layout.read(layout.comparison(), Comparison)
    for asking in layout.config.asked():
        if asking.suite == "ic_lke":
            [own] = [
                row
                for row in layout.read(layout.measures(asking), Measure)
                if (row.metric, row.relation_id) == ("accuracy", None)
            ]
            [found] = [row for row in rows if (row.metric, row.model) == ("mean_accuracy", asking.model)]
            assert (found.value, found.low, found.high) == (own.value, own.low, own.high)


def test_the_page_has_a_chapter_between_models(layout, text):
    [chapter] = comparison.chapters(layout)
    section = chapter.values["section"]
    accuracies = [one.accuracy.value for one in section.leaders if one.accuracy.value is not None]
    assert accuracies == sorted(accuracies, reverse=True)
    assert len(accuracies) == 4
    assert [(row.model, row.other) for row, _, _ in section.sizes] == [("small", "large")]
    assert [(row.model, row.other) for row, _ in section.tuned] == [("chat", "large")]
    assert [row.relation_id for row in (*section.top, *section.bottom)] == [
        row.relation_id for row in compared(layout) if row.metric == "relation_mean"
    ]
    body = text.partition('id="comparison-real"')[2].partition("</section>")[0]
    opened = re.findall(
        r'data-model="(\w+)" data-dataset="real" data-experiment="in_context" data-setting="(.*?)" ', body
    )
    small, large = section.sizes[0][0].model, section.sizes[0][0].other
    assert [model for model, _ in opened] == [*(one.model for one in section.leaders[:4]), small, large]
    assert {setting for _, setting in opened} == {"shots=4,draw=0"}
    assert "Answered nothing: silent." in text
    shared = {row.n for row in compared(layout) if row.metric == "series_pearson" and row.value is not None}
    [counted] = [f"over the relations that all models answered ({n} of {len(RELATIONS)})" for n in shared]
    assert counted in text
    for name in ("relations", "likeness"):
        assert (layout.root / f"figures/real-comparison-{name}.png").stat().st_size > 10_000
    assert "a $dear$ &lt;name&gt;" in text


def test_the_page_has_a_chapter_of_prompts_beside_ic_lke(layout, text):
    [chapter] = prompts.chapters(layout)
    section = chapter.values["section"]
    assert list(section.methods.values()) == [
        "IC-LKE",
        "written",
        "written, mangled",
        "mined",
        "mined, mangled",
    ]
    assert section.silent == ["silent"]
    for model in SKILL:
        cell = section.cells[model, "written_mangled", None]
        relations = [section.cells[model, "written_mangled", p] for p in RELATIONS]
        assert cell.accuracy.value == pytest.approx(sum(one.accuracy.value for one in relations) / 4)
        assert cell.deviation == pytest.approx(sum(one.deviation for one in relations) / 4)
        assert section.cells[model, "in_context", "P1"].deviation is None
    assert 'id="prompts-real"' in text
    mean = 'data-model="large" data-dataset="real" data-experiment="written_clean" data-setting=""'
    assert text.count(mean) == 1 + len(RELATIONS)  # without a setting a number leads to the items of all prompts
    assert "Not applicable: silent." in text
    assert (layout.root / "figures/real-lke-prompts.png").stat().st_size > 10_000


def test_one_mined_string_is_asked_and_the_lack_of_others_is_listed(layout):
    [chapter] = prompts.chapters(layout)
    refused = {row.thing: row.reason for row in chapter.values["section"].refused}
    assert refused["mined_clean of relation P1"] == "1 prompts; asked for are 3, and what there is is asked"
    assert chapter.values["section"].cells["large", "mined_clean", "P1"].deviation is None


def test_a_frozen_edition_is_compared_again_and_names_no_folder_of_the_users(layout, tmp_path, capsys):
    settings = layout.config.model_dump(mode="json")
    (tmp_path / "somebody").mkdir()
    (tmp_path / "somebody" / "prompts.jsonl").write_text("")
    settings["suites"]["lke_prompts"]["real"]["published"] = str(tmp_path / "somebody" / "prompts.jsonl")
    settings["sources"]["real"]["redistributable"] = True
    (layout.root / "edition.json").write_text(EditionConfig.model_validate(settings).model_dump_json())
    (layout.root / "sources" / "real").mkdir(parents=True)
    (layout.root / "sources" / "real" / "pull.json").write_text('{"files": []}')
    archive = tmp_path / "tiny.zip"
    assert main(["freeze", "--edition", str(layout.root), "--output", str(archive)]) == 0
    with zipfile.ZipFile(archive) as opened:
        assert "somebody" not in opened.read("edition.json").decode()
        assert "measures/comparison.jsonl" in opened.namelist()
    assert main(["verify", "edition", str(archive)]) == 0
    assert "the comparison" in capsys.readouterr().out


def test_one_model_alone_is_not_compared(layout, tmp_path):
    config = layout.config.model_copy(update={"models": layout.config.models[:1]})
    alone = Layout(layout.root, config)
    rows = compared(alone)
    assert {row.metric for row in rows} == {"mean_accuracy", "deviation", "relation_mean", "accuracy", "series_pearson"}
    tables.write(tmp_path / "measures" / "comparison.parquet", Comparison, rows)
    assert comparison.chapters(Layout(tmp_path, config)) == []
