// The page's data: its numbers, and their items as columns, in blocks inside the page or in files next to it.
let data = { numbers: [], blocks: [], evidence: {}, relations: {}, root: "" };

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text.trim()), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}
const ready = unpacked(document.getElementById("data").textContent).then((found) => { data = found; });

// A text as it is searched: in lower case, without accents, with straight apostrophes.
const folded = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").replace(/[‘’]/g, "'").toLowerCase();

// Each file of a block is a script that calls this, since a browser loads nothing else from disk.
const loads = {};
function arrived(name, pieces) { data.evidence[name] = pieces; }
function block(name) {
  if (data.evidence[name]) return Promise.resolve(data.evidence[name]);
  return (loads[name] ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = `${data.folder}/${encodeURIComponent(name)}.js`;
    script.onload = () => done(data.evidence[name]);
    script.onerror = () => { delete loads[name]; failed(new Error(`${data.folder}/${name}.js cannot be read: it belongs next to this page.`)); };
    document.head.append(script);
  }));
}
// A piece of a block, unpacked; pieces inside the page were unpacked with it.
const piece = async (pieces, name) => (typeof pieces[name] === "string" ? unpacked(pieces[name]) : pieces[name]);

// A model's items in a block: their columns, the index of the first among all, and a function for their texts.
async function partOf({ name }, model) {
  const pieces = await block(name), [shared, own] = await Promise.all([piece(pieces, "shared"), piece(pieces, `model ${model}`)]);
  for (const [column, found] of Object.entries(own)) if (typeof found === "number") own[column] = shared[found];
  return { columns: own, texts: () => (pieces.unpackedTexts ??= piece(pieces, "texts")) };
}

// The value of an item in a column.
const value = (column, at) => (column.names ? (column.codes[at] === null ? null : column.names[column.codes[at]]) : column.values[at]);

// An item's outcome in words, and its colour class: that a false object counts as known is no knowledge.
const OF_FALSE = { correct: ["called known, wrongly", "incorrect"], incorrect: ["not called known, rightly", "correct"] };
function outcomeOf(columns, at) {
  const own = value(columns.outcome, at);
  return (value(columns["*false"], at) && OF_FALSE[own]) || [own, own];
}

// Whether a value meets a condition: equal, in a list, in a range, or not equal.
function meets(found, condition) {
  if (Array.isArray(condition)) return condition.some((one) => meets(found, one));
  if (condition !== null && typeof condition === "object") {
    if ("not" in condition) return found !== null && found !== condition.not;
    return found !== null && (condition.from === undefined || found >= condition.from) && (condition.below === undefined || found < condition.below);
  }
  return found === condition;
}

// The indices of the items that meet all conditions.
function chosen(columns, where) {
  const count = columns.item.values.length, conditions = Object.entries(where);
  return [...Array(count).keys()].filter((at) => conditions.every(([name, one]) => meets(value(columns[name], at), one)));
}

// The items among which a number counts, from all blocks that have any; null if the page has none.
async function itemsOf({ suite, dataset, model, where }) {
  const { relation } = JSON.parse(where);
  const found = data.blocks.filter((one) => one.suite === suite && one.dataset === dataset && one.models.includes(model) && (relation === undefined || one.relations.some((own) => meets(own, relation))));
  if (!found.length) return null;
  const parts = await Promise.all(found.map((one) => partOf(one, model)));
  const names = Object.keys(parts[0].columns), count = (part) => part.columns.item.values.length;
  const { scores, label } = found[0];
  if (parts.length === 1) return { scores, label, columns: parts[0].columns, text: async (at) => (await parts[0].texts())[parts[0].columns["*asked"].codes[at]] };
  const all = (name) => parts.flatMap((part) => Array.from({ length: count(part) }, (_, at) => value(part.columns[name], at)));
  const columns = Object.fromEntries(names.filter((name) => name !== "*asked").map((name) => [name, { values: all(name), text: Boolean(parts[0].columns[name].names) }]));
  const places = parts.flatMap((part) => part.columns["*asked"].codes.map((code) => [part, code]));
  return { scores, label, columns, text: async (at) => (await places[at][0].texts())[places[at][1]] };
}

// Another model's answers to the same items, as columns; none if the page has none.
async function answersOf(number, columns) {
  const found = await itemsOf({ ...number, model: number.other });
  if (!found) return {};
  const key = (own, at) => `${value(own.item, at)} ${own.reading ? value(own.reading, at) : ""}`;
  const places = new Map(found.columns.item.values.map((_, at) => [key(found.columns, at), at]));
  const theirs = (name) =>
    columns.item.values.map((_, at) => (places.has(key(columns, at)) ? value(found.columns[name], places.get(key(columns, at))) : null));
  return Object.fromEntries(
    ["prediction", "outcome", "score"].filter((name) => found.columns[name]).map((name) => [`other ${name}`, { values: theirs(name), text: name !== "score" }]));
}
const isText = (column) => Boolean(column.names) || column.text === true;
const mean = (numbers) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

// The items' indices, grouped by their values in a column.
function grouped(places, column) {
  const groups = new Map();
  for (const at of places) {
    const key = value(column, at);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(at);
  }
  return [...groups.values()];
}

// How numbers are computed from items, in words and as code; other formulas only the command line computes.
const FORMULAS = {
  mean: { words: "mean of “OF” over the items that have a value", of: (own, places) => mean(own(places)) },
  macro: {
    words: "mean over relations of the mean of “OF” within each",
    of: (own, places, columns) => mean(grouped(places, columns.relation).map((group) => mean(own(group)))),
  },
  macro_of_facts: {
    words: "mean over relations of the mean over a relation's facts of “OF” (each fact's items are averaged first)",
    of: (own, places, columns) =>
      mean(grouped(places, columns.relation).map((group) => mean(grouped(group, columns.fact).map((fact) => mean(own(fact)))))),
  },
  ratio: { words: "sum of “OF” over sum of “WHOLE”" },
  count: { words: "how many facts these items are of", of: (own, places, columns) => grouped(places, columns.fact).length },
};

// Compute a number from its items; null if its formula is none of these or a column is missing, undefined if no item has a value.
function recomputed({ formula, of }, columns, places) {
  const found = FORMULAS[formula], used = of.map((name) => columns[name]);
  if (!found || !used.length || used.some((one) => !one)) return null;
  const observed = places.filter((at) => used.every((one) => value(one, at) !== null));
  if (!observed.length) return undefined;
  const own = (column) => (group) => group.map((at) => Number(value(column, at)));
  if (formula !== "ratio") return found.of(own(used[0]), observed, columns);
  const counted = observed.filter((at) => value(used[1], at) > 0);
  return mean(own(used[0])(counted)) / mean(own(used[1])(counted));
}

// A recomputed number as text: the page's own text if only rounding differs.
const again = (number, found) => (Math.abs(found - number.value) < 1e-9 ? number.shown : share(found));

// A number as the page writes shares: .873; zero has no sign.
const share = (number) => number === null || number === undefined || Number.isNaN(number) ? "–" : number.toFixed(3).replace(/^-(0\.0+)$/, "$1").replace(/^(-?)0\./, "$1.").replace("-", "−");
const plain = (name) => String(name).replaceAll("_", " ");
const said = (condition) =>
  Array.isArray(condition) ? condition.map(said).join(" or ") :
  condition === null ? "none" : typeof condition !== "object" ? String(condition) :
  "not" in condition ? (condition.not === null ? "any" : `not ${condition.not}`) :
  [condition.from !== undefined && `from ${condition.from}`, condition.below !== undefined && `below ${condition.below}`].filter(Boolean).join(" ");

// An element with attributes and children; strings become text nodes.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, one] of Object.entries(attributes)) if (one !== null && one !== undefined && one !== false) made.setAttribute(name, one);
  made.append(...children);
  return made;
}
