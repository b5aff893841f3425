"""A page of every suite, asked as `make own` asks: whatever columns their items have, each number opens its items."""

import json
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pandas
import polars
import pytest
import yaml
from tests.report import editions
from tests.report.reading import Page, check_items, clickable

from almanac import read_edition
from almanac.dataset.names import ObjectNames
from almanac.edition.archive import freeze
from almanac.report.chapters import chapters
from almanac.report.items import ItemBlocks, Items, _with_others
from almanac.report.written import SHORT, write_table
from almanac.rows import Entity, Popularity, Relation, Response, Template
from almanac.suites.chapter import Table
from almanac.suites.listing import OURS

OWN = yaml.safe_load((Path(__file__).parents[2] / "config" / "own.yaml").read_text("utf-8"))
TEMPLATES = (("statement", "[X] comes from [Y]."), ("statement", "[Y] made [X]."), ("question", "Who made [X]?"))


def answer(model, request):
    """Answer every kind of request, by its name's digits alone."""
    seed = int(request.request_id[:8], 16)
    if request.kind == "generate":
        said = (f" Oname {seed % 12}", " true", " A", " unsure", "")[seed % 5]
        return Response(request.request_id, "ok", None, texts=(said,) * request.samples)
    parts = len(request.choices or request.pieces or request.span_starts)
    logprobs = tuple(-0.1 - (seed >> at) % 13 / 3 for at in range(parts))
    more = {"token_counts": (1,) * parts}
    if request.kind == "fill":
        ranks = tuple(sum(one > own for one in logprobs) for own in logprobs)
        more |= {"ranks": ranks, "tokens": (request.choices[ranks.index(0)],), "probabilities": (0.5,)}
    return Response(request.request_id, "ok", None, logprobs, **more)


@pytest.fixture(scope="module")
def layout(tmp_path_factory):
    relations = ["P1", "P2"]
    known = editions.Known(
        [Relation(p, f"maker {p}", *[None] * 4) for p in relations],
        editions.facts_of(relations, "facts"),
        [Entity(f"{kind}{at}", f"{kind}name {at}", (f"{kind} {at}",), None) for kind in "QO" for at in range(60)],
        [
            Template(f"{p}/{at}", p, text, style, "written", None, ())
            for p in relations
            for at, (style, text) in enumerate(TEMPLATES)
        ],
        popularity=[Popularity(f"Q{at}", "views", "thing", 60_000 // (at + 1), None) for at in range(60)],
    )
    config = {key: OWN[key] for key in ("sources", "datasets", "suites")} | {"models": [{"name": "m", "path": "m"}]}
    config["sources"] = {"facts": {"path": "facts", "licence": "CC0-1.0", "redistributable": True}}
    asked = editions.asked(tmp_path_factory.mktemp("own"), config, known)
    return editions.finish(asked, answer)


def test_every_number_of_every_suite_opens_its_items_and_is_made_of_them_again(layout):
    pages, _ = chapters(layout)
    check_items(pages, layout.page().read_text("utf-8"))
    assert {row.suite for row in clickable(pages)} == {suite.name for suite in OURS}


def test_an_archive_of_every_suite_is_read_in_a_notebook_as_its_folder_is(layout, tmp_path):
    freeze(layout, tmp_path / "e.zip")
    folder, frozen = read_edition(layout.root), read_edition(tmp_path / "e.zip")
    pandas.testing.assert_frame_equal(folder.known, frozen.known, check_dtype=False)
    for asking in layout.config.asked():
        one, other = (edition.outcomes(*asking) for edition in (folder, frozen))
        pandas.testing.assert_frame_equal(one, other, check_dtype=False)


def test_a_notebook_gives_the_text_of_each_item_that_the_page_shows_and_not_unless_it_is_wanted(layout):
    edition = read_edition(layout.root)
    shown = {}
    for one in Page(layout.page().read_text("utf-8")).data["judged"]:
        codes = one["columns"]["*asked"]["codes"]
        own = zip(one["columns"]["item"]["values"], codes, strict=True)
        texts = shown.setdefault((one["model"], one["suite"], one["dataset"]), {})
        texts |= {item: one["texts"][code] for item, code in own}
    for asking in layout.config.asked():
        told = edition.outcomes(*asking, text=True)
        assert dict(zip(told["item"], told["text"], strict=True)) == shown[asking]
        pandas.testing.assert_frame_equal(told.drop(columns="text"), edition.outcomes(*asking))


def test_an_item_carries_the_method_that_counts_it_by_its_name_in_the_first_table(layout):
    carried = Page(layout.page().read_text("utf-8")).data["judged"]
    [karr] = [one["columns"] for one in carried if one["suite"] == "karr"]
    codes, names = karr["*method"]["codes"], karr["*method"]["names"]
    assert {"KaRR, released code", "LAMA@1", "ParaRel"} <= {names[code] for code in codes if code is not None}
    asked = [karr["asked"]["names"][code] for code in karr["asked"]["codes"]]
    assert karr["*false"]["values"] == [one == "null" for one in asked]
    assert set(asked) == {"facts", "null"}


def test_a_false_object_that_counts_as_known_is_called_so(layout):
    probe = """
const columns = { outcome: { values: ["correct", "correct", "error"] }, "*false": { values: [false, true, true] } };
console.log(JSON.stringify([0, 1, 2].map((at) => outcomeOf(columns, at)[0])));
"""
    said = editions.run_script(layout.page().read_text("utf-8"), probe)
    assert said == ["correct", "called known, wrongly", "error"]


def test_a_fact_was_taught_as_often_as_to_the_model_that_read_it_most(layout):
    """A checkpoint that nobody taught says nothing of it, and a null model 0, whether it is asked first or last."""
    blocks = []
    items = Items(layout, SimpleNamespace(add=blocks.extend), [])
    [dataset] = layout.config.used_datasets()
    fact = layout.data(dataset).facts[0]
    names = {"fact": [fact.fact_id], "relation": [fact.relation_id], "subject": [fact.subject_id], "object": ["Oname"]}
    for dose in (None, 0, 8, 2, None):
        frame = polars.DataFrame({**names, "dose": [dose], "hit": [True]}, schema_overrides={"dose": polars.Int64})
        items._name(dataset, frame)
        items._count(dataset, frame)
    items._name(dataset, frame.with_columns(fact=polars.lit("another")))
    assert [(one.fact, one.dose, one.known, one.asked) for one in items.facts()] == [(fact.fact_id, 8, 5, 5)]
    searched = json.loads(blocks[0].pieces["facts"])[dataset]
    assert (searched["fact"], searched["known"], searched["asked"]) == ([fact.fact_id, "another"], [5, 0], [5, 0])
    assert searched["dose"] == [8, 0], "of real facts a model is taught some, and no others"


def test_values_by_which_items_are_chosen_are_whole_and_what_is_no_finite_number_is_no_value():
    blocks = ItemBlocks(ObjectNames({}), {"heat", "score"}, {"heat"}, 1)
    numbers = [0.123456789, float("nan"), float("inf"), None]
    frame = polars.DataFrame({"item": range(4), "relation": ["P1"] * 4, "heat": numbers, "score": numbers})
    blocks.add("m", frame, dict.fromkeys(range(4), "What?"))
    [block] = blocks.blocks("b", {})
    columns, shared = json.loads(block.pieces["model m"]), json.loads(block.pieces["shared"])
    found = {name: shared[one] if isinstance(one, int) else one for name, one in columns.items()}
    none = [None] * 3
    assert (found["heat"]["values"], found["score"]["values"]) == ([0.123456789, *none], [0.1235, *none])


def test_an_item_has_the_other_true_objects_of_its_subject():
    true = {("r", "s"): ("a", "b", "c"), ("r", "t"): ("a",), ("r", "u"): tuple(f"o{at}" for at in range(9))}
    names = ObjectNames({"b": Entity("b", "Bee", (), None)})
    rows = [("r", "s", "a"), ("r", "s", "b"), ("r", "t", "a"), ("r", "u", "o0"), ("r", "s", "false"), ("r", "s", None)]
    frame = polars.DataFrame(rows, ["relation", "subject", "object"], orient="row").cast(polars.Categorical)
    found = _with_others(frame, SimpleNamespace(true_objects=true, names=names))
    assert found["also_true"].to_list() == ["Bee; c", "a; c", None, "o1; o2; o3; o4; 4 more", None, None]
    assert found.drop("also_true").equals(frame)
    alone = frame.filter(polars.col("subject") == "t")
    assert _with_others(alone, SimpleNamespace(true_objects=true, names=names)).equals(alone)


def test_every_table_is_read_by_latex_as_it_comes(layout, tmp_path):
    """Names of these facts are plain, so whatever else is no ASCII would be missing in most fonts."""
    files = sorted(layout.shown("tables").glob("*.tex"))
    assert len(files) > 30
    assert {one for file in files for one in file.read_text("utf-8") if not one.isascii()} == set()
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed; the characters of the tables alone were looked at")
    for rows in (SHORT, 9 * SHORT):  # the longest of one page, and one of several
        write_table(Table("t", "", ("model", "facts"), [("m", 1)] * rows), tmp_path, f"of-{rows}")
    fits = r"\ifdim\dimexpr\ht\one+\dp\one>\textheight\errmessage{higher than a page}\fi"
    whole = "\n".join(
        rf"\input{{{file}}}"
        if r"\begin{longtable}" in file.read_text("utf-8")
        else rf"\begin{{lrbox}}{{\one}}\input{{{file}}}\end{{lrbox}}{fits}"
        for file in (*files, *sorted(tmp_path.glob("*.tex")))
    )
    head = r"\documentclass{article}\usepackage{booktabs,longtable}\newsavebox\one\begin{document}" + "\n"
    (tmp_path / "all.tex").write_text(head + whole + r"\end{document}", "utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    read = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False)
    assert read.returncode == 0, read.stdout[-2000:]
