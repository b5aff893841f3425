// Shows the items behind a number: the page carries them as columns, and each number says which of them it counts.
const data = JSON.parse(document.getElementById("data").textContent);
const dialog = document.getElementById("items");
const MOST_SHOWN = 500;

function row(cells, tag = "td") {
  const line = document.createElement("tr");
  for (const [text, kind] of cells) {
    const cell = line.appendChild(document.createElement(tag));
    cell.textContent = text ?? "–";
    if (kind) cell.className = kind;
  }
  return line;
}

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

const said = (condition) =>
  Array.isArray(condition) ? condition.map(said).join(" or ") :
  condition === null ? "none" : typeof condition !== "object" ? String(condition) :
  "not" in condition ? (condition.not === null ? "any" : `not ${condition.not}`) :
  [condition.from !== undefined && `from ${condition.from}`, condition.below !== undefined && `below ${condition.below}`].filter(Boolean).join(" ");

function show({ suite, dataset, model, where }) {
  const conditions = JSON.parse(where), found = data.judged.find((one) => one.suite === suite && one.dataset === dataset && one.model === model);
  const file = `${data.root}/outcomes/${model}/${suite}/${dataset}/outcomes.parquet`;
  const words = Object.entries(conditions).map(([name, one]) => `${name.replaceAll("_", " ")} ${said(one)}`.replaceAll("_", " "));
  dialog.querySelector("h3").textContent = [model, dataset, ...words].join(" · ");
  const head = dialog.querySelector("thead"), body = dialog.querySelector("tbody");
  head.replaceChildren(); body.replaceChildren();
  if (!found) {
    dialog.querySelector("p").textContent = `This edition has more items than a page can carry. They are in ${file}.`;
    dialog.showModal();
    return;
  }
  const columns = found.columns, places = chosen(columns, conditions);
  const correct = places.filter((at) => value(columns.outcome, at) === "correct").length;
  dialog.querySelector("p").textContent =
    `${places.length} items, ${correct} correct` + (places.length > MOST_SHOWN ? `; the first ${MOST_SHOWN} are shown` : "") +
    `. Rest on a row for the text that was asked. All: ${file}`;
  // What tells these items apart, beside what is always shown.
  const always = ["relation", "subject", "object", "prediction", "outcome", "confidence", "score", "dose"];
  const hidden = new Set([...always, "item", "asked", "hit", "reading"]);
  const more = Object.keys(columns).filter((name) => !hidden.has(name) && new Set(places.map((at) => value(columns[name], at))).size > 1);
  const shown = [...more.filter((name) => columns[name].names), ...always].filter((name) => columns[name] && (name !== "dose" || places.some((at) => value(columns.dose, at) !== null)));
  const heads = { object: "true object", prediction: "answer", dose: "taught" };
  head.append(row(shown.map((name) => [(heads[name] ?? name).replaceAll("_", " "), columns[name].values && "n"]), "th"));
  for (const at of places.slice(0, MOST_SHOWN)) {
    const line = row(shown.map((name) => [value(columns[name], at), name === "outcome" ? value(columns.outcome, at) : columns[name].values && "n"]));
    line.title = data.texts[columns.asked.codes[at]];
    body.append(line);
  }
  dialog.showModal();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-where]");
  if (button) show(button.dataset);
});
