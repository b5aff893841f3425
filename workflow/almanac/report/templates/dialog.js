// The items of a number: how it is computed from them, and their list, a hundred a page.
const PAGE = 100;
const NAMED = 3; // values of a condition that the title of a window names; of more, and of facts, it says how many there are
const HEADS = { object: "true object", prediction: "answer", dose: "times taught", "*asked": "what was asked" };
const ALWAYS = ["relation", "subject", "object", "also_true", "prediction", "outcome", "confidence", "score", "dose"];
const OUTCOMES = ["correct", "incorrect", "missing", "invalid", "error"];
const METRICS = { headline: "known", headline_other_relations: "known", headline_above_chance: "above chance", headline_chance: "chance", right_alone: "known alone" };
const open = { other: null, places: [], columns: null, text: null, relations: {}, shown: [], page: 0, by: null, down: false, filter: "" };

// The head of a column; for another model's answers with its name.
function headOf(name) {
  const own = name.replace(/^other /, ""), title = plain(HEADS[own] ?? own);
  return own === name ? title : `${title} of ${open.other}`;
}

// The text of an item's request: its end and, unfolded, all of it with the notes below it, in brackets.
function asked(text, at) {
  const summary = element("summary", {}, "…"), whole = element("pre");
  text(at).then((found = "") => {
    const end = found.split("\n[")[0];
    summary.textContent = end.length > 60 ? `…${end.slice(-60)}` : end || "–";
    whole.textContent = found;
  });
  return element("details", {}, summary, whole);
}

// What a cell shows: a relation's label, an outcome in words, four digits of a number.
function shownOf(columns, name, at) {
  const own = name === "outcome" ? outcomeOf(columns, at)[0] : value(columns[name], at);
  const found = name === "relation" ? open.relations[own] ?? own : own;
  return typeof found === "number" && !Number.isInteger(found) ? String(Number(found.toPrecision(4))) : String(found ?? "–");
}

function itemCell(columns, name, at) {
  const colour = name === "outcome" ? outcomeOf(columns, at)[1] : typeof value(columns[name], at) === "number" ? "n" : null;
  return element("td", { class: colour }, shownOf(columns, name, at));
}

// Whether an item's cells contain these words; outcomes must match as a whole, since “incorrect” contains “correct”.
const fits = (columns, shown, at, words) =>
  "outcome" in columns && OUTCOMES.includes(words)
    ? outcomeOf(columns, at)[0] === words
    : shown.some((name) => folded(shownOf(columns, name, at)).includes(words));

function draw() {
  const { columns, text, shown, by, down } = open, dialog = document.getElementById("items"), words = folded(open.filter.trim());
  let places = words ? open.places.filter((at) => fits(columns, shown, at, words)) : [...open.places];
  if (by) places.sort((one, other) => compared(value(columns[by], one), value(columns[by], other), down));
  const pages = Math.max(1, Math.ceil(places.length / PAGE));
  open.page = Math.min(Math.max(open.page, 0), pages - 1);
  dialog.querySelector(".place").textContent = `${places.length} of ${open.places.length} items · page ${open.page + 1} of ${pages}`;
  dialog.querySelector("[data-step='-1']").ariaDisabled = open.page === 0;
  dialog.querySelector("[data-step='1']").ariaDisabled = open.page === pages - 1;
  const heads = [...shown, "*asked"].map((name) => {
    const sort = by === name ? (down ? "descending" : "ascending") : null, title = headOf(name);
    if (name === "*asked") return element("th", { scope: "col" }, title);
    const button = element("button", { class: "sort", type: "button" }, title);
    button.onclick = () => { open.down = by === name && !down; open.by = name; draw(); };
    return element("th", { scope: "col", "aria-sort": sort, class: isText(columns[name]) ? null : "n" }, button);
  });
  const sorting = dialog.querySelector("thead :focus")?.closest("th").cellIndex;
  dialog.querySelector("thead").replaceChildren(element("tr", {}, ...heads));
  heads[sorting]?.firstChild.focus(); // the head that was pressed is another element now
  const rows = places.slice(open.page * PAGE, (open.page + 1) * PAGE);
  dialog.querySelector("tbody").replaceChildren(
    ...rows.map((at) => element("tr", {}, ...shown.map((name) => itemCell(columns, name, at)), element("td", {}, asked(text, at)))));
}

// Describe how a number is computed, with its value recomputed from these items.
function madeOf(number, columns, places) {
  const found = recomputed(number, columns, places), [of, whole] = number.of.map(plain);
  if (found === null) return `Computed from ${number.of.map(plain).join(", ") || "its items"} by a formula that the page does not repeat; “almanac verify edition” on the frozen edition computes it again.`;
  const words = FORMULAS[number.formula].words.replace("OF", of).replace("WHOLE", whole ?? "");
  return `Formula: ${words}. Recomputed here from the items below: ${again(number, found)}.`;
}

async function show(number) {
  await ready;
  let found = null, missing = "";
  try { found = await itemsOf(number); } catch (error) { missing = error.message; }
  const conditions = JSON.parse(number.where), dialog = document.getElementById("items");
  const file = `${data.root}/outcomes/${number.model}/${number.suite}/${number.dataset}/outcomes.parquet`;
  const title = (method, label = null) => {
    const words = Object.entries(conditions).filter(([name]) => !(method && name === "experiment")).map(([name, one]) => Array.isArray(one) && (one.length > NAMED || name === "fact") ? `${one.length} ${plain(name)}${one.length === 1 ? "" : "s"}` : `${plain(name)} ${name === "relation" ? data.relations[number.dataset]?.[one] ?? said(one) : plain(said(one))}`);
    return `${METRICS[number.metric] ?? plain(number.metric)} ${number.shown}: ${[number.model, ...(number.other ? [`not ${number.other}`] : []), number.dataset, ...(method || label ? [method ?? label] : []), ...words].join(" · ")}`;
  };
  dialog.querySelector("h3").textContent = title(null);
  const lines = dialog.querySelectorAll("p");
  dialog.classList.toggle("empty", !found);
  if (!found) {
    lines[0].textContent = missing || "This page carries none of its items.";
    lines[1].textContent = `They are in ${file}.`;
  } else {
    const { text } = found, theirs = number.other ? await answersOf(number, found.columns) : {};
    const columns = { ...found.columns, ...theirs }, places = chosen(columns, conditions);
    const counts = new Map(OUTCOMES.map((name) => [name, 0]));
    for (const [name] of places.map((at) => outcomeOf(columns, at))) counts.set(name, (counts.get(name) ?? 0) + 1);
    const methods = new Set(places.map((at) => value(columns["*method"], at)));
    dialog.querySelector("h3").textContent = title(methods.size === 1 ? [...methods][0] : null, found.label);
    const compared = number.compared ? ` How models are compared: ${number.compared} The outcomes below are those of the table of methods.` : "";
    lines[0].textContent = madeOf(number, columns, places) + compared;
    lines[1].textContent = `${places.length} item${places.length === 1 ? "" : "s"}: ${[...counts].filter(([, own]) => own).map(([name, own]) => `${own} ${name}`).join(", ")}. Score: ${found.scores}. File: ${file}`;
    // Columns that differ between these items, and those always shown if any item has a value.
    const hidden = new Set([...ALWAYS, ...Object.keys(theirs), ...number.of, "item", "*asked", "*way", "*method", "*counted", "*false", "hit", "reading", "fact"]);
    const more = Object.keys(columns).filter((name) => isText(columns[name]) && !hidden.has(name) && new Set(places.map((at) => value(columns[name], at))).size > 1);
    const used = number.of.filter((name) => columns[name] && !isText(columns[name]) && !ALWAYS.includes(name) && name !== "hit");
    const shown = [...more, ...ALWAYS, ...Object.keys(theirs), ...used].filter((name) => columns[name] && places.some((at) => value(columns[name], at) !== null));
    Object.assign(open, { other: number.other, relations: data.relations[number.dataset] ?? {}, places, columns, text, shown, page: 0, by: null, down: false, filter: "" });
    dialog.querySelector("input").value = "";
    draw();
  }
  dialog.showModal();
}

function beginDialog() {
  const dialog = document.getElementById("items");
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-n]");
    if (!button) return;
    await ready;
    show(data.numbers[Number(button.dataset.n)]);
  });
  for (const button of dialog.querySelectorAll("[data-step]")) button.onclick = () => { open.page += Number(button.dataset.step); draw(); };
  dialog.querySelector("input").oninput = (event) => { Object.assign(open, { filter: event.target.value, page: 0 }); draw(); };
}
