// The search for facts, and one fact's answers by all models and methods: `#fact=…` opens a fact, `#relation=…` lists
// those of a relation.
const MOST_FOUND = 50;
let facts = null;

// Every fact of the page, with its names, by dataset and id.
async function allFacts() {
  if (facts) return facts;
  const found = new Map();
  for (const [dataset, columns] of Object.entries(await piece(await block("facts"), "facts")))
    columns.fact.forEach((id, at) => {
      const relation = columns.relation[at], names = [columns.subject[at], data.relations[dataset]?.[relation] ?? relation, columns.object[at]].map((name) => name ?? "–");
      const key = `${dataset}/${id}`;
      found.set(key, { key, id, dataset, relation, names, dose: columns.dose[at], known: columns.known[at], asked: columns.asked[at] });
    });
  return (facts = found);
}

// All answers to a fact, from the blocks that hold its relation.
async function answersTo(fact) {
  const found = data.blocks.filter((one) => one.dataset === fact.dataset && one.relations?.includes(fact.relation));
  const parts = await Promise.all(found.flatMap((one) => one.models.map(async (model) => ({ ...(await partOf(one, model)), label: one.label, model }))));
  return parts.flatMap((part) => {
    const { fact: own, "*asked": codes } = part.columns, text = async (at) => (await part.texts())[codes.codes[at]];
    return Array.from(part.columns.item.values.keys()).filter((at) => own && value(own, at) === fact.id).map((at) => ({ ...part, text, at }));
  });
}

const factLink = (fact) => element("a", { href: `#fact=${encodeURIComponent(fact.key)}` }, fact.names.join(" — "));

const field = () => document.getElementById("search");

function list(found, none) {
  const lines = found.slice(0, MOST_FOUND).map((fact) => element("li", {}, factLink(fact), ` (${fact.dataset}${fact.asked ? `, known by ${fact.known} of ${fact.asked}` : ""})`));
  const place = document.getElementById("fact");
  if (!place.querySelector("table")) place.replaceChildren(); // what was said of another address
  document.getElementById("found").replaceChildren(...lines);
  document.getElementById("count").textContent = found.length ? `${found.length} found${found.length > MOST_FOUND ? `, the first ${MOST_FOUND} are listed: add words to narrow the search` : ""}.` : none;
}

async function search(text) {
  const words = folded(text).split(/\s+/).filter(Boolean);
  if (!words.length) { list([], ""); return; }
  const all = await allFacts();
  if (field().value !== text) return; // typed on since
  const found = [...all.values()].filter(({ names, dataset }) => {
    const all = folded([...names, dataset].join(" "));
    return words.every((word) => all.includes(word));
  });
  list(found, "No fact has these words.");
}

// List the facts of a relation, given as DATASET/RELATION by ids; words typed afterwards search all facts.
async function showRelation(key) {
  const found = [...(await allFacts()).values()].filter((fact) => `${fact.dataset}/${fact.relation}` === key);
  field().value = found[0]?.names[1] ?? key;
  list(found, `This page carries no facts of relation ${key}.`);
}

// How an item was asked and its answer read; with the experiment, if no method counts it.
function way(columns, at) {
  const names = [...(value(columns["*method"], at) ? [] : ["experiment"]), "*way", "template", "reading"];
  const said = names.map((name) => [name, value(columns[name], at)]).filter(([, one]) => one);
  const words = said.map(([name, one]) => (["experiment", "*way"].includes(name) ? plain(one) : `${name} ${one}`));
  return [...words, ...(value(columns["*false"], at) && !words.includes("a false object") ? ["a false object"] : [])].join(", ");
}

// The answer; items that are only scored have none.
const answered = (columns, at) => value(columns.prediction, at) ?? (value(columns.score, at) === null ? "–" : "none, its score is judged");

// A table of answers to a fact.
function answersTable(items, name) {
  const heads = ["model", "method", "asked as", "answer", "outcome", "score", "what was asked"];
  const rows = items.map(({ model, label, columns, text, at }) => {
    const [outcome, colour] = outcomeOf(columns, at), score = value(columns.score, at);
    const texts = [model, value(columns["*method"], at) ?? label, way(columns, at), answered(columns, at)].map((one, column) => (column < 2 ? element("th", { scope: "row" }, one) : element("td", {}, one)));
    return element("tr", {}, ...texts, element("td", { class: colour }, outcome), element("td", { class: "n" }, score === null ? "–" : String(Number(Number(score).toPrecision(4)))), element("td", {}, asked(text, at)));
  });
  return element("div", { class: "wide", tabindex: 0, role: "region", "aria-label": name }, element("table", { "aria-label": name }, element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))), element("tbody", {}, ...rows)));
}

async function showFact(key) {
  const facts = await allFacts(), place = document.getElementById("fact");
  const fact = facts.get(key) ?? [...facts].find(([one]) => one.endsWith(`/${key}`))?.[1];
  if (!fact) { place.replaceChildren(element("p", {}, `This page carries no fact ${key}; a key is DATASET/RELATION|SUBJECT|OBJECT, by their ids.`)); return; }
  const items = await answersTo(fact);
  const counts = ({ columns, at }) => value(columns["*counted"], at) && value(columns.outcome, at) !== "error";
  const counted = items.filter(counts), more = items.filter((one) => !counts(one));
  const right = counted.filter(({ columns, at }) => value(columns.outcome, at) === "correct").length;
  const taught = fact.dose === null ? "" : ` Taught ${fact.dose} time${fact.dose === 1 ? "" : "s"} (to the model that was taught it most often).`;
  const others = items.map(({ columns, at }) => columns.also_true && value(columns.also_true, at)).find(Boolean);
  const also = others ? ` Also true: ${others}.` : "";
  place.replaceChildren(
    element("h3", { tabindex: -1 }, fact.names.join(" — ")),
    element("p", {}, `Dataset ${fact.dataset}.${also} By the methods that the page counts the models answered ${counted.length} question${counted.length === 1 ? "" : "s"} about it, ${right} of them correctly; a method may ask a fact in several wordings.${taught}`),
    ...(counted.length ? [answersTable(counted, "answers")] : []),
    ...(more.length ? [element("details", {}, element("summary", {}, `Not counted: ${more.length} more (questions without an answer, false objects, further readings of an answer, other experiments)`), answersTable(more, "what is not counted"))] : []));
}

// Do something that loads files next to the page; report a missing one.
async function told(what) {
  try { await what(); } catch (error) { document.getElementById("fact").replaceChildren(element("p", {}, error.message)); }
}

// Go to the address: a fact, a relation's facts, or a place that may be in a folded chapter.
async function follow() {
  const hash = location.hash.slice(1);
  if (hash.startsWith("fact=")) {
    await ready;
    await told(() => showFact(decodeURIComponent(hash.slice(5))));
    const head = document.querySelector("#fact h3") ?? document.getElementById("facts");
    head.scrollIntoView();
    head.focus(); // a screen reader goes on from here
    return;
  }
  if (hash.startsWith("relation=")) {
    await ready;
    await told(() => showRelation(decodeURIComponent(hash.slice(9))));
    document.getElementById("facts").scrollIntoView();
    field().focus({ preventScroll: true });
    return;
  }
  const target = hash && document.getElementById(hash);
  if (!target) return;
  target.querySelector(":scope > details")?.setAttribute("open", "");
  for (let one = target.closest("details"); one; one = one.parentElement.closest("details")) one.open = true;
  target.scrollIntoView();
}

function beginFacts() {
  field().oninput = async (event) => { await ready; told(() => search(event.target.value)); };
  addEventListener("hashchange", follow);
  follow();
  let closed = []; // on paper nothing is folded
  addEventListener("beforeprint", () => { closed = [...document.querySelectorAll("main details:not([open])")]; for (const one of closed) one.open = true; });
  addEventListener("afterprint", () => { for (const one of closed) one.open = false; });
}

document.addEventListener("DOMContentLoaded", () => { beginTables(); beginDialog(); beginFacts(); });
