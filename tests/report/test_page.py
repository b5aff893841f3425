"""The page of a tiny edition: one planted model and one silent model, made by the functions that the workflow runs."""

import json
import math
import re
from html.parser import HTMLParser

import editions
import pytest

from almanac import tables
from almanac.report import sections
from almanac.report.page import share
from almanac.rows import Entity, Exposure, Relation, Request, Response, Template
from almanac.verbs.report import report_page

TITLE = "What <small> models & \"others\" 'know'"
NASTY = ('Tom & "Jerry"', "<b>bold</b>", "</script><script>alert(1)</script>", "<!--<script>", "l'été", "$x_{$ 5 %")
RELATION = 'made by <i>& "co"</i> </script> in $ \\frac{$'
# One name begins with the other, and one is an id of the page itself: neither may mix up what is shown.
REAL, INVENTED = "data", "data-invented"
SIZES = editions.SIZES | {"test": 40}
LOADED = {"src", "srcset", "data", "poster", "background", "action", "formaction", "manifest", "cite", "ping"}


class Page(HTMLParser):
    """What a reader of the page meets: its text, buttons, references and scripts."""

    def __init__(self, text):
        super().__init__()
        self.buttons, self.references, self.scripts, self.texts, self.ids, self.open = [], [], [], [], [], []
        self.rows, self.in_row = [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.references += [(tag, key, value) for key, value in attributes if key in LOADED | {"href", "xlink:href"}]
        self.ids += [named["id"]] if "id" in named else []
        self.open.append(tag)
        if tag == "button" and "data-model" in named:
            self.buttons.append([named, ""])
        if tag == "script":
            self.scripts.append([named, ""])
        if tag == "tr":
            self.rows.append([])
            self.in_row = True

    def handle_endtag(self, tag):
        self.in_row = self.in_row and tag != "tr"
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if self.open and self.open[-1] == "button" and self.buttons:
            self.buttons[-1][1] += data
        if self.open and self.open[-1] == "script":
            self.scripts[-1][1] += data
        elif data.strip() and "style" not in self.open:
            self.texts.append(data.strip())
            if self.in_row:
                self.rows[-1].append(data.strip())

    @property
    def data(self):
        [embedded] = [text for named, text in self.scripts if named.get("id") == "data"]
        return json.loads(embedded)


def entities_of():
    subjects = [Entity(f"Q{at}", f"subject {at} {NASTY[at % 6]}", (), None) for at in range(60)]
    return subjects + [Entity(f"O{at}", f"object {at} {NASTY[at % 6]}", (), None) for at in range(12)]


CONFIGURATION = {
    "title": TITLE,
    "planting": {"worlds": {"invented": {"seed": 1}}},
    "sources": {"real": {"path": "facts"}},
    "datasets": {
        INVENTED: {"world": "invented", **SIZES},
        REAL: {"source": "real", **SIZES},
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


def boards(layout):
    return [(section, board) for section in sections.sections(layout) for board in section.boards]


def of_dose(wanted, dose):
    return wanted is None or (dose is not None and (wanted == "any" or str(dose) in wanted.split(", ")))


def items_behind(data, wanted):
    """Return (outcome, confidence) of the items that the page's own script shows for a button."""
    [found] = [
        one for one in data["outcomes"] if (one["model"], one["dataset"]) == (wanted["model"], wanted["dataset"])
    ]
    items = data["asked"][f"{wanted['suite']}/{wanted['dataset']}"]
    return [
        (found["outcome"][at], found["confidence"][at])
        for at in range(len(items["item"]))
        if all(items[key][at] == wanted[key] for key in ("experiment", "setting"))
        and wanted.get("relation") in (None, items["relation"][at])
        and of_dose(wanted.get("doses"), found["dose"][at])
        and (wanted["metric"] != "accuracy_at_k" or (found["confidence"][at] or 0) >= 0.5)
    ]


def test_the_page_needs_no_network(page, text):
    # What is referred to is a part of the page or stands in the reference itself.
    inner = [value for _, _, value in page.references if not value.startswith("data:image/png;base64,")]
    assert inner
    assert {value for value in inner if not value.startswith("#")} == set()
    assert {value[1:] for value in inner} <= set(page.ids)
    assert not re.search(r"@import|url\(\s*['\"]?(?!#)", text)
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|importScripts|sendBeacon)\b", text)
    # The only addresses are names of XML vocabularies, which nothing loads.
    assert all(found.startswith("xmlns") or "rdf:resource" in found for found in re.findall(r'[\w:]+="https?://', text))


def test_ids_are_unique_though_several_drawings_share_the_page(page):
    assert len(page.ids) == len(set(page.ids))


def test_every_number_of_the_boards_stands_on_the_page(layout, page):
    shown = {
        tuple(named[f"data-{key}"] for key in ("model", "dataset", "experiment", "setting", "metric")): words
        for named, words in page.buttons
        if "data-relation" not in named and "data-doses" not in named
    }
    expected = {}
    for section, board in boards(layout):
        for number in (board.accuracy, board.mass, board.sure):
            if number.value is not None:
                key = (board.model, section.dataset, board.experiment, board.setting, number.metric)
                expected[key] = share(number.value)
    assert shown == expected
    assert len(expected) == 9  # accuracy, mass and accuracy where sure, of one model in one world and two draws


def test_the_items_behind_every_number_are_embedded_and_count_up(layout, page):
    measures = {
        (row.model, row.dataset, row.experiment, row.setting, row.metric, row.relation_id, row.exposure): row
        for section in sections.sections(layout)
        for row in section.measures
        if row.level in (None, 0.5)
    }
    for named, _ in page.buttons:
        wanted = {key.removeprefix("data-"): value for key, value in named.items()}
        keys = ("model", "dataset", "experiment", "setting", "metric", "relation")
        dose = int(wanted["doses"]) if wanted["metric"] == "accuracy_by_exposure" else None
        row = measures[*(wanted.get(key) for key in keys), dose]
        behind = items_behind(page.data, wanted)
        assert len(behind) == row.n
        assert sum(outcome == "correct" for outcome, _ in behind) == row.n_correct
    # Accuracy by relation too; and of each of two draws in the taught world, four numbers and one a dose.
    doses = {row.dose for row in tables.read(layout.exposures(next(iter(layout.config.asked()))), Exposure)}
    recovery = [named for named, _ in page.buttons if "data-doses" in named]
    assert len(page.buttons) == 9 + 3 * 2 + len(recovery)
    assert len(recovery) % (4 + len(doses)) == 0 and recovery


def test_each_item_names_its_request(layout, page):
    for dataset, items in ((key.partition("/")[2], own) for key, own in page.data["asked"].items()):
        paths = layout.requests_in(layout.request_folder("ic_lke", dataset))
        ids = {row.request_id[:12] for path in paths for row in tables.read(path, Request)}
        assert set(items["request"]) == ids
        assert len(set(map(len, items.values()))) == 1


def test_where_a_model_answered_nothing_the_page_says_not_applicable(layout, page, text):
    silent = [board for _, board in boards(layout) if not board.applicable]
    assert {(board.model, board.experiment) for board in silent} == {("silent", "in_context"), ("base", "cloze")}
    notes = [line for line in text.splitlines() if "Not applicable:" in line]
    assert notes
    for board in silent:
        named = f"{board.model} {board.experiment.replace('_', ' ')}"
        counted = f"({board.accuracy.n} of {board.accuracy.n} questions without an answer)"
        assert any(f"{named} {counted}" in note for note in notes)
        assert not any(row[:2] == [board.model, board.experiment.replace("_", " ")] for row in page.rows)


def test_names_are_text_and_never_markup(page, text):
    labels = {entity.label for entity in entities_of()}
    for items in page.data["asked"].values():
        assert set(items["subject"]) | set(items["object"]) <= labels
    assert {
        label for label in NASTY if any(label in one for one in page.data["asked"][f"ic_lke/{REAL}"]["object"])
    } == set(NASTY)
    assert RELATION in page.texts
    assert TITLE in page.texts
    assert len(page.scripts) == text.count("</script>") == 2  # the data and the page's own
    assert "<i>&" not in text


def test_no_label_can_open_a_comment_that_hides_the_end_of_the_data(text):
    # In a script element, `<!--` with `<script` behind it makes browsers pass over the next `</script>` (HTML, 13.2.5).
    [data] = re.findall(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert "<!--" not in data


def test_same_inputs_give_the_same_bytes(layout, text):
    kept = {path: path.read_bytes() for folder in ("figures", "tables") for path in (layout.root / folder).iterdir()}
    assert {path.suffix for path in kept} == {".svg", ".png", ".csv"}
    report_page(layout)
    assert (layout.root / "report.html").read_text(encoding="utf-8") == text
    assert {path: path.read_bytes() for path in kept} == kept


def test_the_recovery_is_shown_with_its_verdict(layout, page):
    [row] = [row for row in sections.validation(layout) if row.judged]
    shown = next(cells for cells in page.rows if cells[:2] == [row.model, "in context"] and share(row.auc) in cells)
    assert f"[{share(row.auc_low)}, {share(row.auc_high)}]" in shown
    assert f"✗ {'; '.join(row.failed)}" in shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.8734, ".873"),
        (1.0, "1.000"),
        (0.0, ".000"),
        (-0.25, "−.250"),
        (-1.0, "−1.000"),
        (None, "–"),
        (0.9996, "1.000"),
    ],
)
def test_shares_are_written_as_the_field_writes_them(value, shown):
    assert share(value) == shown
