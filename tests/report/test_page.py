"""The page of a tiny edition: one planted model and one silent model, made by the functions that the workflow runs."""

import base64
import gzip
import json
import math
import re
import shutil

import pytest
from tests.report import editions
from tests.report.reading import Page, check_items, clickable, judged, numbers

from almanac import tables
from almanac.cli import main
from almanac.edition.layout import Layout
from almanac.errors import AlmanacError
from almanac.report import items as items_module
from almanac.report import making
from almanac.report import page as page_module
from almanac.report.chapters import chapters
from almanac.report.lines import alone, share
from almanac.report.making import report_page
from almanac.report.written import latex, markdown
from almanac.rows import (
    Context,
    Entity,
    Exposure,
    Fact,
    Link,
    Measure,
    Relation,
    Request,
    Response,
    Template,
    Validation,
)
from almanac.suites.chapter import Chapter, Drawing, Table

TITLE = "What <small> models & \"others\" 'know'"
NASTY = ('Tom & "Jerry"', "<b>bold</b>", "</script><script>alert(1)</script>", "<!--<script>", "l'été", "$x_{$ 5 %")
RELATION = 'made by <i>& "co"</i> </script> in $ \\frac{$'
# One name begins with the other, and one is an id of the page itself: neither may mix up what is shown.
REAL, INVENTED = "data", "data-invented"
SIZES = editions.SIZES | {"test": 40}


def entities_of():
    subjects = [Entity(f"Q{at}", f"subject {at} {NASTY[at % 6]}", (), None) for at in range(60)]
    return subjects + [Entity(f"O{at}", f"object {at} {NASTY[at % 6]}", (), None) for at in range(12)]


CONFIGURATION = {
    "title": TITLE,
    "planting": {"worlds": {"invented": {"seed": 1}}},
    "sources": {"real": {"path": "facts"}},
    "datasets": {
        INVENTED: {"world": "invented", **SIZES},
        REAL: {"source": "real", **SIZES, "fewer_choices": True},
    },
    "suites": {"ic_lke": {INVENTED: {"shots": 4, "cloze": True}, REAL: {"shots": 4, "draws": 2}}},
    "models": [{"name": "base", "planted": {}}, {"name": "silent", "path": "models/silent"}],
    "shards": 3,
}


def answer(model, request):
    """Answer as a decoder of a sort, the true choice often first, and no blanks; the silent model answers nothing."""
    if model == "silent":
        return Response(request.request_id, "too_long", "the text is too long")
    if request.kind == "fill":
        return Response(request.request_id, "unsupported", "a decoder fills no blanks")
    bytes_ = bytes.fromhex(request.request_id)
    values = [-(byte % 40) / 8 for byte in bytes_[: len(request.choices)]]
    values[-1] += bytes_[30] % 7 - 2
    if bytes_[29] % 4 == 0:  # just not sure enough, however it is rounded
        values = [math.log(0.4997), *[math.log(0.5003 / (len(values) - 1))] * (len(values) - 1)]
    return Response(request.request_id, "ok", None, tuple(values), model_digest="d" * 64, engine="prefix_cache")


@pytest.fixture(scope="module")
def layout(tmp_path_factory):
    facts = editions.facts_of(("P1", "P2"))
    relations = [Relation("P1", RELATION, *[None] * 4), Relation("P2", "plain", *[None] * 4)]
    templates = [Template("t", "P1", "[X] was made by [Y].", "statement", "x", None, ())]
    known = editions.Known(relations, facts, entities_of(), templates)
    layout = editions.asked(tmp_path_factory.mktemp("tiny"), CONFIGURATION, known)
    exposures = [Exposure(fact.fact_id, editions.DOSES[at // 12 % 3]) for at, fact in enumerate(facts)]
    return editions.finish(layout, answer, exposures)


@pytest.fixture(scope="module")
def text(layout):
    return (layout.root / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


@pytest.fixture(scope="module")
def found(layout):
    return chapters(layout)


def test_a_number_stands_with_its_interval(found, page):
    row = next(row for row in numbers(found[0]) if row.metric == "accuracy" and row.low is not None)
    reach = f"{share(row.value)} [{share(row.low)}, {share(row.high)}]"
    assert any(reach in cell for own in page.rows.values() for line in own for cell in line)


def test_every_number_of_every_table_can_be_clicked_and_shows_the_items_that_it_counts(found, text):
    pages, _ = found
    metrics = check_items(pages, text)
    assert {"accuracy", "accuracy_at_k", "accuracy_by_exposure", "recovery_auc", "headline"} <= metrics
    assert len(clickable(pages)) > 20
    assert {row.model for row in clickable(pages)} == {"base"}, "the silent one has no number"


BLANK = "\n[a causal model reads this up to the blank]"


def test_each_item_shows_the_text_that_was_asked(layout, page):
    for asking in layout.config.asked():
        [carried] = [
            one for one in page.data["judged"] if (one["model"], one["dataset"]) == (asking.model, asking.dataset)
        ]
        [files] = layout.answers(asking).rounds
        requests = {row.request_id: row for path in files.requests for row in tables.read(path, Request)}
        contexts = {row.context_id: row.text for row in tables.read(files.folder / "contexts.parquet", Context)}
        asked = {}
        for link in tables.read(files.folder / "links.parquet", Link):
            request = requests[link.request_id]
            whole = contexts.get(request.context_id, "") + (request.text or "".join(request.pieces or ()))
            choices = f"\n[choices, each scored alone: {'; '.join(one.strip() for one in request.choices)}]"
            asked.setdefault(link.item, whole + (choices if request.kind == "choices" else BLANK))
        columns = carried["columns"]
        shown = [carried["texts"][code] for code in columns["*asked"]["codes"]]
        assert shown == [asked[item] for item in columns["item"]["values"]]
        assert {len(one.get("codes") or one["values"]) for one in columns.values()} == {len(asked)}


def test_the_page_says_how_many_facts_are_asked_shown_and_not_drawn(layout, page):
    for name in (REAL, INVENTED):
        splits = [fact.split for fact in tables.read(layout.dataset(name, "facts"), Fact)]
        test, train, rest = (splits.count(one) for one in ("test", "train", None))
        assert test and train and rest
        counted = f"{test} of {len(splits)} facts are test facts, {train} serve as examples, {rest} are not drawn"
        [[cell, choices]] = [row[1:] for row in page.rows["provenance"] if row[0] == name]
        assert cell.endswith(f": {counted}")
        assert choices == f"{SIZES['choices']}{' or fewer' if name == REAL else ''}"


def test_the_page_begins_with_what_was_asked_and_nothing_else(tmp_path, page):
    only_real = {"suites": {"ic_lke": {REAL: {"shots": 4}}}, "models": [{"name": "silent", "path": "models/silent"}]}
    known = editions.Known([Relation("P1", "plain", *[None] * 4)], editions.facts_of(["P1"]), entities_of(), [])
    layout = editions.asked(tmp_path, CONFIGURATION | only_real, known)
    editions.finish(layout, answer, [])
    plain = Page(layout.page().read_text("utf-8"))
    said_of_planted = ("are planted: trained here", "(an invented world)", "A planted model was trained here")
    for said in (*said_of_planted, "the null", "Dose, times taught"):
        assert said in " ".join(page.everything) and said not in " ".join(plain.everything)
    assert [row[0] for row in plain.rows["provenance"]] == ["dataset", REAL]


def test_where_a_model_answered_nothing_the_page_says_not_applicable(page):
    notes = [text for text in page.everything if text.startswith("Not applicable: ")]
    # A decoder fills no blanks; who was not taught an invented world is not asked of it.
    counted = "(80 of 80 without an answer)"
    assert sorted(notes) == [
        f"Not applicable: base cloze {counted.replace('80', '40')}.",
        f"Not applicable: silent in context, shots 4, draw 0 {counted}; silent in context, shots 4, draw 1 {counted}.",
    ]
    assert not [row for row in page.rows[f"ic_lke-{REAL}"] if row[0] == "silent"]


def test_of_numbers_that_compare_models_it_is_said_by_what_where_each_is_judged_otherwise():
    def told(metric, suite="karr", experiment="paper"):
        of = (suite, "d", "m", "n", metric, f'{{"asked":"facts","experiment":"{experiment}","fact":["f"]}}')
        return page_module.carried(Measure(*of, "count", ("hit",), 1.0, *[None] * 3, 1, *[0] * 5)).get("compared")

    assert "geometric mean" in told("right_alone")
    assert told("mean_accuracy") == told("right_alone")
    assert told("headline") is None, "at the model's own threshold"
    assert told("right_alone", experiment="lama_at_1") is None, "it has none"
    assert told("right_alone", "head_to_tail", "questions") is None, "models are compared as they are judged"


@pytest.fixture(scope="module")
def aside(layout, tmp_path_factory):
    """The same edition whose items are too many for its page, and for one file a suite."""
    own = shutil.copytree(layout.root, tmp_path_factory.mktemp("aside") / "tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(making, "MOST", 0)
        patch.setattr(items_module, "ROWS", 1)
        report_page(Layout.open(own))
    return Layout.open(own)


def test_a_page_that_would_carry_too_much_has_the_same_items_in_files_next_to_it(layout, aside, page):
    assert list(layout.shown("items").iterdir()) == []
    there, scripts = Page(aside.page().read_text("utf-8")), sorted(aside.shown("items").iterdir())
    blocks = Page(aside.page().read_text("utf-8")).data
    assert blocks["evidence"] == {}
    assert [path.stem for path in scripts] == sorted(one["name"] for one in blocks["blocks"])
    assert any(f"{len(scripts)} files" in text for text in there.everything), "it says so"
    evidence = {}
    for path in scripts:
        name, pieces = json.loads(f"[{path.read_text('utf-8').removeprefix('arrived(').removesuffix(');' + chr(10))}]")
        evidence[name] = {key: json.loads(gzip.decompress(base64.b64decode(one))) for key, one in pieces.items()}
    parts = list(judged(blocks | {"evidence": evidence}))
    assert all(len(one["relations"]) == 1 for one in parts), "two relations are two files"
    for whole in page.data["judged"]:
        own = [one for one in parts if all(one[name] == whole[name] for name in ("suite", "dataset", "model"))]
        found = [row for one in own for row in rows_of(one)]
        assert sorted(found) == sorted(rows_of(whole))
    assert evidence["facts"]["facts"] == page.data["evidence"]["facts"]["facts"]


def rows_of(part):
    """The items of a part: all their values, and the text that was asked."""
    columns = dict(part["columns"])
    asked = [part["texts"][code] for code in columns.pop("*asked")["codes"]]
    values = [
        one["values"] if "values" in one else [None if code is None else one["names"][code] for code in one["codes"]]
        for _, one in sorted(columns.items())
    ]
    return [repr(row) for row in zip(asked, *values, strict=True)]


def test_a_page_whose_items_fit_leaves_no_files_of_an_earlier_one(aside, text, tmp_path):
    own = Layout.open(shutil.copytree(aside.root, tmp_path / "tiny"))
    report_page(own)
    assert list(own.shown("items").iterdir()) == []
    assert own.page().read_text("utf-8") == text


def test_names_are_text_and_never_markup(page, text):
    labels = {entity.label for entity in entities_of()}
    for one in page.data["judged"]:
        names = [*one["columns"]["subject"]["names"], *one["columns"]["object"]["names"]]
        assert set(names) <= labels
        assert {label for label in NASTY if any(label in name for name in names)} == set(NASTY)
    assert any(RELATION in text for text in page.everything)
    assert TITLE in page.everything
    assert len(page.scripts) == text.count("</script>") == 2  # the data and the page's own
    assert "<i>&" not in text


def test_a_setting_of_a_note_is_code_and_the_rest_of_it_stays_text():
    found = page_module.in_code("<b> asks more with a larger `suites.<i>.sample`, `size`; a ` alone stays")
    said = "&lt;b&gt; asks more with a larger <code>suites.&lt;i&gt;.sample</code>, <code>size</code>; a ` alone stays"
    assert found == said


def test_the_data_holds_no_markup_whatever_the_labels_are(text):
    [data] = re.findall(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert re.fullmatch(r"[A-Za-z0-9+/]+=*", data)


def test_same_inputs_give_the_same_bytes(layout, text):
    kept = {path: path.read_bytes() for folder in ("figures", "tables") for path in (layout.root / folder).iterdir()}
    assert {path.suffix for path in kept} == {".svg", ".csv", ".md", ".parquet", ".tex"}
    gone = layout.shown("tables") / "of-an-earlier-page.csv"
    gone.write_text("what this page does not show")
    report_page(layout)
    assert (layout.root / "report.html").read_text(encoding="utf-8") == text
    assert {path: path.read_bytes() for path in kept} == kept and not gone.exists()


def test_an_interrupted_drawing_leaves_no_page_beside_the_half_of_what_it_shows(layout, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(making, "items", interrupted)
    own = Layout.open(shutil.copytree(layout.root, tmp_path / "own"))
    with pytest.raises(KeyboardInterrupt):
        report_page(own)
    assert not own.page().exists() and not list(own.shown("tables").iterdir())


def test_figures_for_print_are_a_command_of_their_own_and_the_same_each_time(layout, capsys):
    words = ["report", "print", "--edition", str(layout.root)]
    assert main(words) == 0
    folder, drawn = layout.root / "print", {path.stem for path in (layout.root / "figures").iterdir()}
    assert {(path.stem, path.suffix) for path in folder.iterdir()} == {
        (name, kind) for name in drawn for kind in (".png", ".pdf")
    }
    assert len(capsys.readouterr().out.split()) == 2 * len(drawn)
    kept = {path: path.read_bytes() for path in folder.iterdir()}
    for path, found in kept.items():
        if path.suffix == ".pdf":
            assert b"/Type3" not in found and b"/CIDFontType2" in found, f"{path.name}: no TrueType font"
    assert main(words) == 0
    assert {path: path.read_bytes() for path in kept} == kept


LABELS = {"in_context": "IC-LKE", "cloze": "Cloze"}


def test_the_recovery_is_shown_with_its_verdict(layout, page):
    rows = [row for row in tables.read(layout.between("validation"), Validation) if row.judged]
    assert rows
    for row in rows:
        [shown] = [cells for cells in page.rows["recovery"] if cells[:2] == [row.model, LABELS[row.method]]]
        assert f"[{share(row.auc_low)}, {share(row.auc_high)}]" in shown[3]
        assert shown[-1] == f"✗ {'; '.join(row.failed)}"


SHARES = [
    (0.8734, ".873"),
    (1.0, "1.000"),
    (0.0, ".000"),
    (-0.25, "−.250"),
    (-1.0, "−1.000"),
    (-0.0, ".000"),
    (-1e-9, ".000"),
    (-0.0002, ".000"),
    (-0.0006, "−.001"),
    (-12.5, "−12.500"),
    (None, "–"),
    (0.9996, "1.000"),
]


@pytest.mark.parametrize(("value", "shown"), SHARES)
def test_shares_are_written_as_the_field_writes_them(value, shown):
    assert share(value) == shown


def test_a_small_p_is_not_written_as_zero():
    assert [alone(p) for p in (0.0, 1e-9, 0.0005, 0.05, None)] == [".000", "<.001", ".001", ".050", "–"]
    table = Table("t", "", ("p",), [(1e-9,)])
    assert markdown(table).endswith("| <.001 |\n") and "$<$.001" in latex(table)


def test_a_suite_that_could_ask_nothing_says_why(tmp_path):
    """No relation has a sentence that a blank could be filled in, so BELIEF asks nothing."""
    config = {
        **CONFIGURATION,
        "planting": {"worlds": {}},
        "datasets": {REAL: {"source": "real", **SIZES}},
        "suites": {"belief": {REAL: {"templates": "dataset"}}},
        "models": [{"name": "mine", "path": "models/mine"}],
    }
    relations = [Relation("P1", RELATION, *[None] * 4)]
    known = editions.Known(relations, editions.facts_of(("P1",)), entities_of(), [])
    layout = editions.finish(editions.asked(tmp_path, config, known), answer)
    [own] = [one.chapter for one in chapters(layout)[0] if one.suite == "belief"]
    assert own.title == "BELIEF"
    assert own.asks.startswith("Nothing of data is asked. 1 not asked; the first: relation P1 (it has no template")
    assert "Nothing of data is asked." in (layout.root / "report.html").read_text(encoding="utf-8")


def test_a_figure_that_is_none_or_cannot_be_drawn_is_said_whose_it_is():
    def shown(draw):
        parts = (Drawing("curve", "A curve.", draw),)
        chapter = page_module.Page("toy-world", "toy", "world", Chapter("Toy", "", parts))
        return list(page_module.figures([chapter], {}))

    with pytest.raises(AlmanacError, match="suite toy: figure curve of world: its function must return a matplotlib"):
        shown(lambda: None)
    with pytest.raises(ZeroDivisionError) as found:
        shown(lambda: 1 / 0)
    assert found.value.__notes__ == ["suite toy: figure curve of world"]
