"""The page in a real browser, opened from disk: no error, its numbers, tables and facts work, nothing spills."""

import html
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from tests.report import test_page

from almanac.edition.layout import Layout
from almanac.report.chapters import chapters
from almanac.report.written import SHORT, latex
from almanac.suites.chapter import Table

layout = test_page.layout  # the same tiny edition
aside = test_page.aside  # and with its items in files next to the page
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
PAPER = 1032  # pixels across a sheet of A4, landscape, without its margins
DARK = "--blink-settings=preferredColorScheme=0"
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium here (Debian's package: chromium)")

# A page of the width that is wanted: a window itself is never narrower than some hundred pixels.
FRAME = """<!doctype html><title>waiting</title>
<iframe src="probed.html" width="{width}" height="800" style="border: 0"></iframe><pre></pre>
<script>
addEventListener("message", (event) => {{ document.querySelector("pre").textContent = event.data; }});
</script>"""
PROBE = """<script>
const wait = (what) => new Promise((done) => {{
  const again = () => (what() ? done() : setTimeout(again, 10));
  again();
}});
addEventListener("load", async () => {{
  let said;
  try {{
    await ready;
    said = await (async () => {{ {probe} }})();
  }} catch (error) {{
    said = {{ error: String(error) }};
  }}
  parent.postMessage(JSON.stringify(said), "*");
}});
</script>"""


@pytest.fixture
def browse(layout, tmp_path):
    """Return what a script says that runs in the page; with the errors that the browser has logged."""

    def run(probe, width=1280, script="", more=(), of=layout):
        text = of.page().read_text("utf-8")
        shutil.copytree(of.shown("items"), tmp_path / "items", dirs_exist_ok=True)
        return probed(tmp_path, tmp_path, text, probe, width, script, more)

    return run


def probed(folder, profile, text, probe, width=1280, script="", more=()):
    """Return what a script says that runs in a page of a folder; with the errors that the browser has logged."""
    probe = f"<script>{script}</script>{PROBE.format(probe=probe)}</body>"
    (folder / "probed.html").write_text(text.replace("</body>", probe), "utf-8")
    (folder / "frame.html").write_text(FRAME.format(width=width), "utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--allow-file-access-from-files"]
    where = [f"--user-data-dir={profile / 'profile'}", "--virtual-time-budget=20000", "--dump-dom"]
    address = (folder / "frame.html").as_uri()
    ran = subprocess.run(
        [BROWSER, *flags, *more, *where, address], capture_output=True, text=True, timeout=120, check=True
    )
    errors = [line for line in ran.stderr.splitlines() if "CONSOLE" in line]
    return json.loads(html.unescape(re.search(r"<pre>(.*?)</pre>", ran.stdout, re.DOTALL)[1])), errors


def test_the_page_opens_from_disk_without_a_word_on_the_console_and_every_number_is_recomputed(browse):
    said, errors = browse(
        """
        const buttons = [...document.querySelectorAll("button[data-n]")];
        const button = buttons.find((one) => data.numbers[one.dataset.n].formula === "macro");
        button.click();
        await wait(() => document.getElementById("items").open);
        const formula = document.querySelector("#items .formula").textContent;
        const wrong = [];
        for (const one of buttons) {
          const number = data.numbers[one.dataset.n], { columns } = await itemsOf(number);
          const found = recomputed(number, columns, chosen(columns, JSON.parse(number.where)));
          if (found !== null && share(found) !== one.textContent) wrong.push(number);
        }
        const rows = document.querySelectorAll("#items tbody tr").length;
        return { formula, shown: button.textContent, wrong: wrong.length, rows };
        """
    )
    assert errors == []
    assert said["formula"].endswith(f"Recomputed here from the items below: {said['shown']}.")
    assert said["wrong"] == 0
    assert 0 < said["rows"] <= 100


def test_the_window_of_a_number_says_by_what_models_are_compared_where_its_items_were_judged_otherwise(browse):
    said, errors = browse(
        """
        const button = document.querySelector("button[data-n]"), number = data.numbers[button.dataset.n], found = [];
        for (const compared of [undefined, "At one threshold."]) {
          await show({ ...number, compared });
          found.push(document.querySelector("#items .formula").textContent);
          document.getElementById("items").close();
        }
        return found;
        """
    )
    more = " How models are compared: At one threshold. The outcomes below are those of the table of methods."
    assert (said[1], errors) == (said[0] + more, [])


def test_the_script_writes_shares_as_the_page_does(browse):
    """What rounds to zero has no sign in either."""
    values = [value for value, _ in test_page.SHARES]
    said, errors = browse(f"return {json.dumps(values)}.map(share);")
    assert (said, errors) == ([shown for _, shown in test_page.SHARES], [])


# Every number of the page, made again of its items, and a fact: what is wrong, and what the fact's page says.
EVIDENCE = """
const wrong = [];
for (const one of document.querySelectorAll("button[data-n]")) {
  const number = data.numbers[one.dataset.n], { columns } = await itemsOf(number);
  const places = chosen(columns, JSON.parse(number.where)), found = recomputed(number, columns, places);
  if ((found !== null && share(found) !== one.textContent) || places.length !== number.n) wrong.push(number);
}
const [name] = (await allFacts()).keys();
location.hash = `#fact=${encodeURIComponent(name)}`;
await wait(() => document.querySelector("#fact tbody tr"));
const lines = [...document.querySelectorAll("#fact tbody tr")];
const fact = lines.map((line) => [...line.cells].slice(0, 6).map((cell) => cell.textContent));
await wait(() => document.querySelector("#fact summary").textContent !== "…");
const asked = document.querySelector("#fact pre").textContent;
document.querySelector("button[data-n]").click();
await wait(() => document.getElementById("items").open && document.querySelector("#items summary").textContent !== "…");
const said = document.querySelector("#items .formula").textContent;
return { wrong, fact, asked, said, scripts: document.querySelectorAll("head script").length };
"""


def test_the_address_of_a_relation_lists_its_facts(browse):
    said, errors = browse(
        """
        const all = [...(await allFacts()).values()], [{ dataset, relation, names }] = all;
        const own = all.filter((one) => one.dataset === dataset && one.relation === relation);
        location.hash = `#relation=${encodeURIComponent(`${dataset}/${relation}`)}`;
        await wait(() => document.querySelector("#found li"));
        const listed = [...document.querySelectorAll("#found a")].map((one) => one.textContent);
        const field = document.getElementById("search").value;
        location.hash = "#relation=none%2FP0";
        await wait(() => !document.querySelector("#found li"));
        const shown = own.slice(0, MOST_FOUND).map((one) => one.names.join(" — "));
        return { listed, shown, field, name: names[1], none: document.getElementById("count").textContent };
        """
    )
    assert errors == []
    assert said["listed"] == said["shown"] != []
    assert said["field"] == said["name"]
    assert said["none"] == "This page carries no facts of relation none/P0."


def test_the_field_finds_what_cells_show_and_an_outcome_whole(browse):
    said, errors = browse(
        """
        const box = document.getElementById("items"), field = box.querySelector("input");
        const buttons = [...document.querySelectorAll("button[data-n]")];
        const found = (words) => {
          field.value = words;
          field.dispatchEvent(new Event("input"));
          return Number(box.querySelector(".place").textContent.split(" ")[0]);
        };
        for (const one of buttons) {
          await show(data.numbers[one.dataset.n]);
          const counts = Object.fromEntries(OUTCOMES.map((name) => [name, found(name)]));
          const outcomes = open.places.map((at) => value(open.columns.outcome, at));
          const own = OUTCOMES.map((name) => outcomes.filter((one) => one === name).length);
          if (!counts.correct || !counts.incorrect) { box.close(); continue; }
          const label = shownOf(open.columns, "relation", open.places[0]);
          return { counts: Object.values(counts), own, all: found(""), label: found(` ${label.toUpperCase()} `) };
        }
        return null;
        """
    )
    assert errors == []
    assert said["counts"] == said["own"] and sum(said["own"]) == said["all"]
    assert 0 < said["label"] <= said["all"]


def test_the_title_of_a_window_counts_facts_and_does_not_list_their_identifiers(browse):
    said, errors = browse(
        """
        const title = async (facts) => {
          const number = data.numbers[0];
          await show({ ...number, where: JSON.stringify({ ...JSON.parse(number.where), fact: facts }) });
          document.getElementById("items").close();
          return document.querySelector("#items h3").textContent;
        };
        return [await title(["a"]), await title(["a", "b", "c", "d"])];
        """
    )
    assert errors == []
    assert said[0].endswith(" · 1 fact") and said[1].endswith(" · 4 facts")


def test_items_in_files_next_to_the_page_are_loaded_from_disk_when_asked_for_and_are_those_of_one_file(
    browse, layout, aside
):
    whole, _ = browse(EVIDENCE)
    assert whole.get("wrong") == [], whole
    assert whole["scripts"] == 0
    said, errors = browse(EVIDENCE, of=aside)
    assert errors == []
    assert {**said, "scripts": 0} == whole
    assert said["scripts"] == len(list(aside.shown("items").iterdir()))


def test_a_page_without_its_files_says_which_are_missing(browse, layout, aside, tmp_path):
    alone = Layout(shutil.copytree(aside.root, tmp_path / "alone"), aside.config)
    for path in alone.shown("items").iterdir():
        path.unlink()
    said, _ = browse(
        """
        const first = document.querySelector("button[data-n]");
        first.click();
        await wait(() => document.getElementById("items").open);
        document.querySelector("#search").value = "subject";
        document.querySelector("#search").dispatchEvent(new Event("input"));
        await wait(() => document.querySelector("#fact p"));
        return [document.querySelector("#items .formula").textContent, document.querySelector("#fact p").textContent];
        """,
        of=alone,
    )
    assert [text.partition(": ")[2] for text in said] == ["it belongs next to this page."] * 2
    assert said[0].startswith("items/ic_lke-data") and said[1].startswith("items/facts.js cannot be read")


def test_a_head_sorts_its_table_both_ways_and_a_table_is_copied(browse):
    said, _ = browse(
        """
        const table = document.querySelector("[id='answer.findings'] table");
        const heads = [...table.tHead.querySelectorAll("th")];
        const head = heads.find((one) => one.textContent === "known, of these relations");
        const read = () => [...table.tBodies[0].rows].map((line) => sortedBy(line.cells[head.cellIndex]));
        const before = read();
        head.querySelector("button").click(); const up = read();
        head.querySelector("button").click(); const down = read();
        const state = head.getAttribute("aria-sort");
        const small = element("td", {}, "<.001");
        const tiny = [sortedBy(small), FORMATS.LaTeX([["p"], ["<.001"]], "r")];
        const cells = FORMATS.cells([["p", "above"], ["<.001", "−.013"]]);
        return { before, up, down, state, tiny, cells, csv: copied(table, "CSV") };
        """
    )
    known = [one for one in said["before"] if one != "–"]
    assert [one for one in said["up"] if one != "–"] == sorted(known)
    assert [one for one in said["down"] if one != "–"] == sorted(known, reverse=True)
    assert said["up"][len(known) :] == said["down"][len(known) :] == ["–"] * (len(said["up"]) - len(known))
    assert said["state"] == "descending"
    assert said["cells"] == "p\tabove\n<.001\t-.013", "what a spreadsheet takes for cells, and for a number"
    assert said["tiny"][0] == 0.0005 and "$<$.001" in said["tiny"][1]
    assert (
        said["csv"]
        .splitlines()[0]
        .startswith('of,method,verdict,"known, of these relations","known, of other relations"')
    )


def test_a_long_table_shows_its_first_rows_in_whatever_order_until_all_are_asked_for(browse):
    said, _ = browse(
        """
        const rows = ["b", "d", "a", "c"].map((one) => element("tr", {}, element("td", {}, one)));
        const head = element("th", {}, "name");
        const made = [element("thead", {}, element("tr", {}, head)), element("tbody", {}, ...rows)];
        const table = element("table", { "data-first": "2" }, ...made);
        const wide = element("div", { class: "wide", tabindex: "0" }, table);
        const [button] = whole(table, wide);
        document.querySelector("main").append(wide, button);
        const seen = () => body(table).filter((line) => line.offsetHeight).map((line) => line.textContent).join("");
        const found = [seen(), button.textContent, copied(table, "CSV")];
        sort(table, head); found.push(seen());
        button.focus(); button.click(); found.push(seen());
        sort(table, head); found.push(seen());
        return [...found, button.isConnected, document.activeElement === wide];
        """
    )
    assert said == ["bd", "Show all 4 rows", "name\nb\nd\na\nc\n", "ab", "abcd", "dcba", False, True]


def test_a_table_is_copied_as_the_latex_of_its_file_be_it_short_or_of_several_pages(browse, layout):
    pages = chapters(layout)[0]
    every = {
        f"{one.anchor}.{part.name}": part for one in pages for part in one.chapter.parts if isinstance(part, Table)
    }
    found = {place: one.on_page for place, one in every.items()}
    said, errors = browse(
        """
        const of = (place) => document.querySelector(`[id="${place}"] table`);
        const one = of("answer.findings"), [body] = one.tBodies;
        const shown = Object.fromEntries(PLACES.map((place) => [place, copied(of(place), "LaTeX")]));
        const row = body.rows[0];
        body.replaceChildren(...Array.from({ length: SHORT + 1 }, () => row.cloneNode(true)));
        const long = copied(one, "LaTeX");
        body.rows[0].remove();
        return { shown, long, short: copied(one, "LaTeX") };
        """,
        script=f"const PLACES = {json.dumps(list(found))}, SHORT = {SHORT};",
    )
    assert (said["shown"], errors) == ({name: latex(one) for name, one in found.items()}, [])
    own = found["answer.findings"]
    assert said["long"] == latex(replace(own, rows=own.rows[:1] * (SHORT + 1)))
    assert said["short"] == latex(replace(own, rows=own.rows[:1] * SHORT))


def test_a_fact_is_found_by_its_names_and_by_its_address_and_names_stay_text(browse):
    said, errors = browse(
        """
        const field = document.getElementById("search");
        field.value = "súbject bold"; field.dispatchEvent(new Event("input"));
        await wait(() => document.querySelector("#found a"));
        const link = document.querySelector("#found a");
        location.hash = link.getAttribute("href");
        await wait(() => document.querySelector("#fact tbody tr"));
        const head = document.querySelector("#fact h3").textContent;
        const count = (what) => document.querySelectorAll(what).length;
        const rows = count("#fact tbody tr"), markup = count("#fact b, #found b"), links = count("#found a");
        const found = document.getElementById("count").textContent;
        field.value = "no such words"; field.dispatchEvent(new Event("input"));
        await wait(() => !document.querySelector("#found a"));
        const at = document.activeElement.textContent, none = document.getElementById("count").textContent;
        return { link: link.textContent, head, markup, rows, links, at, found, none };
        """
    )
    assert errors == []
    assert said["at"] == said["head"], "who reads by keyboard or screen reader goes on at the fact"
    assert (said["found"], said["none"]) == (f"{said['links']} found.", "No fact has these words.")
    assert said["link"] == said["head"] and test_page.NASTY[1] in said["head"]
    assert said["markup"] == 0
    assert said["rows"] > 1


def test_a_fact_shows_the_answers_that_count_and_folds_the_others(browse):
    said, errors = browse(
        """
        const fact = (await allFacts()).values().next().value;
        const rows = (where) => document.querySelectorAll(`#fact > ${where} tbody tr`).length;
        const shown = async () => {
          await showFact(fact.key);
          const summary = document.querySelector("#fact > details > summary");
          return [rows(".wide"), rows("details"), summary?.textContent.match(/\\d+/)[0]];
        };
        const before = await shown(), items = await answersTo(fact);
        const { columns, at } = items.find((one) => value(one.columns.outcome, one.at) !== "error");
        columns["*counted"].values[at] = false;
        return [items.length, before, await shown()];
        """
    )
    assert errors == []
    asked, (shown, folded, told), less = said
    assert shown + folded == asked and told == str(folded)
    assert less == [shown - 1, folded + 1, str(folded + 1)]


@pytest.mark.parametrize("width", [390, 820])
def test_the_page_is_never_wider_than_its_window_with_everything_unfolded(browse, width):
    said, _ = browse(
        """
        for (const one of document.querySelectorAll("details")) one.open = true;
        return { page: document.documentElement.scrollWidth, window: innerWidth };
        """,
        width,
    )
    assert said["window"] == width
    assert said["page"] <= width


@pytest.mark.skipif(not AXE.is_file(), reason="no axe-core here (npm install --no-save axe-core@4.14.1)")
@pytest.mark.parametrize("more", [(), (DARK,)], ids=["light", "dark"])
def test_axe_finds_nothing_that_keeps_anybody_out_on_the_page_with_all_unfolded_and_in_its_dialog(browse, more):
    said, _ = browse(
        """
        for (const one of document.querySelectorAll("details")) one.open = true;
        const [{ key, dataset, relation }] = (await allFacts()).values();
        location.hash = `#fact=${encodeURIComponent(key)}`;
        await wait(() => document.querySelector("#fact tr"));
        location.hash = `#relation=${encodeURIComponent(`${dataset}/${relation}`)}`;
        await wait(() => document.querySelector("#found li"));
        const found = async (where) => (await axe.run(where, { resultTypes: ["violations"] })).violations.map(
          (one) => [one.id, one.nodes.length, one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200))]);
        const page = await found(document);
        document.querySelector("button[data-n]").click();
        await wait(() => document.getElementById("items").open);
        const dark = matchMedia("(prefers-color-scheme: dark)").matches;
        return { page, dialog: await found(document.getElementById("items")), dark };
        """,
        script=AXE.read_text("utf-8"),
        more=more,
    )
    assert said == {"page": [], "dialog": [], "dark": bool(more)}


def test_the_keyboard_opens_a_number_sorts_a_table_and_unfolds_a_chapter(browse):
    said, _ = browse(
        """
        const reached = (one) => { one.focus(); return document.activeElement === one; };
        const found = document.querySelector("[id='answer.findings']");
        const number = found.querySelector("button[data-n]"), head = found.querySelector("th button");
        const chapter = document.querySelector("#methods summary"), table = found.querySelector(".wide");
        const focus = [number, head, chapter, table].map(reached);
        number.focus(); number.click();
        await wait(() => document.getElementById("items").open);
        const items = document.getElementById("items"), inside = items.contains(document.activeElement);
        items.querySelector("thead button").focus(); document.activeElement.click();
        const sorted = document.activeElement.closest("th").ariaSort, next = items.querySelector("[data-step='1']");
        for (let left = open.places.length; left > 0; left -= PAGE) { next.focus(); next.click(); }
        const last = document.activeElement === next && next.ariaDisabled;
        items.close();
        return { focus, inside, sorted, last, back: document.activeElement === number };
        """
    )
    assert said == {"focus": [True] * 4, "inside": True, "sorted": "ascending", "last": "true", "back": True}


def test_what_is_read_out_has_a_name_and_a_place(browse):
    """What axe-core finds too where it is there, and what it does not: tables' names, headings' order."""
    said, _ = browse(
        """
        for (const one of document.querySelectorAll("details")) one.open = true;
        const all = (what) => [...document.querySelectorAll(what)];
        const named = (one) => document.getElementById(one.getAttribute("aria-labelledby"))?.textContent;
        const name = (one) => one.ariaLabel ?? named(one);
        const plain = (one) => !getComputedStyle(one).textDecoration.includes("underline");
        const html = (found) => found.map((one) => one.outerHTML.slice(0, 120));
        const regions = all("main [role=region]").map(name);
        const levels = all("main :is(h2, h3, h4)").map((one) => Number(one.tagName[1]));
        return {
          nameless: html(all("main table, main .wide, .drawn").filter((one) => !name(one)?.trim())),
          alike: regions.length - new Set(regions).size,
          unscoped: html(all("main th:not([scope])")),
          headless: html(all("#answer tbody tr").filter((one) => one.cells[0].tagName !== "TH")),
          leaps: levels.filter((one, at) => one > (levels[at - 1] ?? 1) + 1).length,
          plain: html(all("main .here").filter(plain)),
        };
        """
    )
    assert said == {"nameless": [], "alike": 0, "unscoped": [], "headless": [], "leaps": 0, "plain": []}


def test_what_is_reached_backwards_is_not_hidden_by_the_heads_that_stay(browse):
    said, _ = browse(
        """
        const wide = document.querySelector("[id='answer.findings'] .wide"), head = wide.querySelector("th");
        const body = wide.querySelector("tbody");
        for (let more = 9; more > 0; more -= 1) body.append(body.rows[0].cloneNode(true));
        const shown = () => document.activeElement.getBoundingClientRect().top >= head.getBoundingClientRect().bottom;
        const buttons = [...wide.querySelectorAll("tbody button")].reverse();
        wide.style.maxHeight = `${head.offsetHeight + 300}px`;
        wide.scrollTop = wide.scrollHeight;
        return [wide.scrollTop, buttons.map((one) => { one.focus(); return shown(); })];
        """
    )
    assert said[0] > 100 and all(said[1]), said


def test_on_paper_every_table_is_there_and_what_was_folded_is_folded_again_afterwards(browse):
    said, _ = browse(
        """
        const tables = [...document.querySelectorAll("main table")];
        const seen = () => tables.filter((one) => one.checkVisibility({ contentVisibilityAuto: true })).length;
        const before = seen();
        dispatchEvent(new Event("beforeprint")); document.body.getBoundingClientRect(); const printed = seen();
        const print = [...document.styleSheets[0].cssRules].find((rule) => rule.conditionText === "print");
        print.media.mediaText = "all";
        const wide = document.documentElement.scrollWidth, head = getComputedStyle(document.querySelector("th button"));
        const boxed = head.display !== "contents"; // Chromium leaves a button out of a head that it repeats
        const cut = tables.filter(({ parentElement: one }) => one.scrollWidth > one.clientWidth).length;
        const low = tables.filter(({ parentElement: one }) => getComputedStyle(one).maxHeight !== "none").length;
        print.media.mediaText = "print";
        dispatchEvent(new Event("afterprint"));
        return { all: tables.length, printed, before, after: seen(), wide, cut, low, boxed };
        """,
        PAPER,
    )
    assert said["wide"] <= PAPER and said["cut"] == said["low"] == 0 and not said["boxed"]
    assert said["printed"] == said["all"] > said["before"] == said["after"]
