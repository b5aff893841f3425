// The page's data: items as columns, and for each number which of them it counts and how it is made of them.
let data = { judged: [], texts: [], numbers: [], root: "" };

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text.trim()), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}
const ready = unpacked(document.getElementById("data").textContent).then((found) => {
  for (const judged of found.judged) for (const [name, at] of Object.entries(judged.columns)) judged.columns[name] = found.columns[at];
  data = found;
});

// The value that an item has in a column.
const value = (column, at) => (column.names ? (column.codes[at] === null ? null : column.names[column.codes[at]]) : column.values[at]);

// Whether a value meets a condition: a value, one of a list, within a range, or not a value.
function meets(found, condition) {
  if (Array.isArray(condition)) return condition.some((one) => meets(found, one));
  if (condition !== null && typeof condition === "object") {
    if ("not" in condition) return condition.not === null ? found !== null : found !== condition.not;
    return found !== null && (condition.from === undefined || found >= condition.from) && (condition.below === undefined || found < condition.below);
  }
  return found === condition;
}

// The places of the items that meet all conditions.
function chosen(columns, where) {
  const count = columns.item.values.length, conditions = Object.entries(where);
  return [...Array(count).keys()].filter((at) => conditions.every(([name, one]) => meets(value(columns[name], at), one)));
}

const itemsOf = ({ suite, dataset, model }) => data.judged.find((one) => one.suite === suite && one.dataset === dataset && one.model === model);
const mean = (numbers) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

// Numbers in groups: what is said of each place, by the value that it has in a column.
function grouped(places, column) {
  const groups = new Map();
  for (const at of places) {
    const key = value(column, at);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(at);
  }
  return [...groups.values()];
}

// How numbers are made of items: in words, and computed; other formulas are computed by commands alone.
const FORMULAS = {
  share: { words: "items for which “OF” is true, of all that have a value", of: (own, places) => mean(own(places)) },
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
};

// Compute a number from its items; null where its formula is none of these, undefined where nothing has a value.
function recomputed({ formula, of }, columns, places) {
  const found = FORMULAS[formula], used = of.map((name) => columns[name]);
  if (!found || used.some((one) => !one)) return null;
  const observed = places.filter((at) => used.every((one) => value(one, at) !== null));
  if (!observed.length) return undefined;
  const own = (column) => (group) => group.map((at) => Number(value(column, at)));
  if (formula !== "ratio") return found.of(own(used[0]), observed, columns);
  const counted = observed.filter((at) => value(used[1], at) > 0);
  return mean(own(used[0])(counted)) / mean(own(used[1])(counted));
}

// A number as the page writes shares: .873.
const share = (number) => number === null || number === undefined || Number.isNaN(number) ? "–" : number.toFixed(3).replace(/^(-?)0\./, "$1.").replace("-", "−");
const plain = (name) => String(name).replaceAll("_", " ");
const said = (condition) =>
  Array.isArray(condition) ? condition.map(said).join(" or ") :
  condition === null ? "none" : typeof condition !== "object" ? String(condition) :
  "not" in condition ? (condition.not === null ? "any" : `not ${condition.not}`) :
  [condition.from !== undefined && `from ${condition.from}`, condition.below !== undefined && `below ${condition.below}`].filter(Boolean).join(" ");

// An element with attributes and children; texts stay texts.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, one] of Object.entries(attributes)) if (one !== null && one !== undefined && one !== false) made.setAttribute(name, one);
  made.append(...children);
  return made;
}
