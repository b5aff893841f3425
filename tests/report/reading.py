"""What a reader of the page meets: its text, tables, buttons, references and scripts."""

import base64
import gzip
import json
from html.parser import HTMLParser

import pytest
from tests.report.editions import opened

from almanac.report.items import RECOMPUTED
from almanac.report.lines import shown as written
from almanac.rows import Measure
from almanac.suites.chapter import Table

LOADED = {"src", "srcset", "data", "poster", "background", "action", "formaction", "manifest", "cite", "ping"}
VOID = {"meta", "br", "hr", "img", "input", "link", "use", "path"}  # of SVG those that may stand alone


class Page(HTMLParser):
    """A page as it is read.

    Attributes:
        buttons: the numbers that can be clicked: what each asks for, and its words; by section.
        rows: the rows of tables as texts, by section.
        texts: all that can be read, by section.
        references: element, attribute and value of all that a browser would load or follow.
        scripts: attributes and content of each.
        ids: every id.
    """

    def __init__(self, text):
        super().__init__()
        self.buttons, self.rows, self.texts = {}, {}, {}
        self.references, self.scripts, self.ids, self.open = [], [], [], []
        self.section = ""
        self.feed(text)
        carried = self.data["numbers"]
        self.buttons = {
            section: [[carried[int(at)], words] for at, words in own] for section, own in self.buttons.items()
        }

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.references += [(tag, key, value) for key, value in attributes if key in LOADED | {"href", "xlink:href"}]
        self.ids += [named["id"]] if "id" in named else []
        if tag not in VOID:
            self.open.append(tag)
        if tag == "section":
            self.section = named["id"]
        if tag == "button" and "data-n" in named:
            self.buttons.setdefault(self.section, []).append([named["data-n"], ""])
        if tag == "script":
            self.scripts.append([named, ""])
        if tag == "tr":
            self.rows.setdefault(self.section, []).append([])
        if tag in ("td", "th") and "tr" in self.open:
            self.rows[self.section][-1].append("")

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass
        if tag == "section":
            self.section = ""

    def handle_data(self, data):
        if "script" in self.open:
            self.scripts[-1][1] += data
            return
        if "style" in self.open or not data.strip():
            return
        self.texts.setdefault(self.section, []).append(data.strip())
        if "button" in self.open and self.buttons.get(self.section):
            self.buttons[self.section][-1][1] += data
        if {"td", "th"} & set(self.open) and self.rows.get(self.section):
            line = self.rows[self.section][-1]
            line[-1] = f"{line[-1]} {data.strip()}".strip()

    @property
    def everything(self):
        """All that can be read."""
        return [text for own in self.texts.values() for text in own]

    @property
    def pressed(self):
        """Every button: what it asks for, and its words."""
        return [(wanted, words) for own in self.buttons.values() for wanted, words in own]

    @property
    def data(self):
        """What the page carries for its script."""
        [embedded] = [text for named, text in self.scripts if named.get("id") == "data"]
        data = json.loads(gzip.decompress(base64.b64decode(embedded)))
        return data | {"judged": list(judged(data))}


def judged(data):
    """Yield what each model was asked in each block that is there: of whom and what, its texts, and the columns."""
    for about in (one for one in data["blocks"] if "models" in one and one["name"] in data["evidence"]):
        pieces = data["evidence"][about["name"]]
        for model in about["models"]:
            own = pieces[f"model {model}"]
            columns = {name: pieces["shared"][one] if isinstance(one, int) else one for name, one in own.items()}
            yield {**about, "model": model, "texts": pieces["texts"], "columns": columns}


def numbers(pages):
    """Every number that stands in a table of some chapters, whatever its value."""
    rows = [row for one in pages for part in one.chapter.parts if isinstance(part, Table) for row in part.rows]
    return [cell for row in rows for cell in row if isinstance(cell, Measure)]


def clickable(pages):
    """Those of them that lead to items: they have a value, and are one model's or count what it alone has right."""
    opening = [row for row in numbers(pages) if row.value is not None and row.model]
    return [row for row in opening if not row.other or row.formula == "count"]


def check_items(pages, text):
    """Press every number: the page's own script finds the items that it counts, and makes it of them again.

    Return the metrics.
    """
    pressed = Page(text).pressed
    shown = sorted((row.suite, row.dataset, row.model, row.where, written(row)) for row in clickable(pages))
    keys = [
        tuple(wanted[name] for name in ("suite", "dataset", "model", "where", "metric", "other"))
        for wanted, _ in pressed
    ]
    assert sorted((*key[:4], words) for key, (_, words) in zip(keys, pressed, strict=True)) == shown
    found = dict(zip(keys, opened(text, [wanted for wanted, _ in pressed]), strict=True))
    for row in clickable(pages):
        own, value = found[row.suite, row.dataset, row.model, row.where, row.metric, row.other]
        if row.formula in RECOMPUTED and row.of:
            assert value == pytest.approx(row.value, abs=1e-9), row
        if row.n_correct + row.n_incorrect + row.n_missing + row.n_invalid + row.n_error:
            assert len(own) == row.n, row
            assert sum(outcome == "correct" for *_, outcome in own) == row.n_correct, row
        else:  # what lies between models counts facts
            assert len({fact for _, fact, _ in own}) == row.n, row
    return {row.metric for row in clickable(pages)}
