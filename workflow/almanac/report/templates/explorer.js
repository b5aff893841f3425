// Shows the items behind a number: the page carries them, so nothing is fetched.
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

const marked = (marks, own) => marks.split(" | ").every((mark) => own.split(" | ").includes(mark));
const among = (list, value) => !list || list.split(" | ").includes(value);

// What an item asks, whatever its setting.
const question = (items, at) => items.item[at].replace(`/${items.setting[at]}/`, "/");

// Returns the columns of all that a model was asked: of all models, and of it alone.
function askedOf({ suite, model, dataset }) {
  const shared = data.asked[`${suite}/${dataset}`], own = data.asked[`${suite}/${dataset}/${model}`];
  return own ? Object.fromEntries(Object.entries(shared).map(([name, column]) => [name, [...column, ...own[name]]])) : shared;
}

// Returns the places of the items behind a number.
function behind({ experiment, setting, relation, metric, doses, role, first, end, marks, both }, items, found) {
  const all = [...items.item.keys()];
  const counted = (at) => !marks || marked(marks, data.texts[items.marks[at]]);
  // Of questions that must have a score in two settings, those that lack it in one.
  const lacking = (at) => both && among(both, items.setting[at]) && counted(at) && found.score[at] === null;
  const unanswered = new Set(all.filter(lacking).map((at) => question(items, at)));
  return all.filter((at) =>
    among(experiment, items.experiment[at]) && among(setting, items.setting[at]) &&
    (!relation || items.relation[at] === relation) && among(role, items.role[at]) &&
    (!first || (items.index[at] >= Number(first) && items.index[at] < Number(end))) &&
    (!doses || (doses === "any" ? found.dose[at] !== null : doses.split(", ").includes(String(found.dose[at])))) &&
    counted(at) && !unanswered.has(question(items, at)) &&
    (metric !== "followed" || found.prediction[at] !== null) &&
    (metric !== "accuracy_at_k" || found.confidence[at] >= 0.5));
}

function show(wanted) {
  const { suite, model, dataset, experiment, setting, relation, metric, doses, role, first, end, marks, reading } = wanted;
  const file = `${data.root}/outcomes/${model}/${suite}/${dataset}.parquet`;
  const title = [model, dataset, experiment.replaceAll("_", " "), setting, role, first && `places ${first} to ${end - 1}`, relation, doses && `taught ${doses}`, marks && marks.split(" | ").filter((mark) => mark.includes("=")).join(" · "), reading].filter(Boolean).join(" · ");
  dialog.querySelector("h3").textContent = title;
  const head = dialog.querySelector("thead"), body = dialog.querySelector("tbody");
  head.replaceChildren(); body.replaceChildren();
  const found = data.outcomes.find((one) => one.suite === suite && one.model === model && one.dataset === dataset);
  if (!found) {
    dialog.querySelector("p").textContent = `This edition has more items than a page can carry. They are in ${file}.`;
    dialog.showModal();
    return;
  }
  const items = askedOf(wanted);
  const chosen = behind(wanted, items, found);
  const judged = reading ? found.readings[reading] : found;
  const correct = chosen.filter((at) => judged.outcome[at] === "correct").length;
  dialog.querySelector("p").textContent =
    `${chosen.length} items, ${correct} correct` + (chosen.length > MOST_SHOWN ? `; the first ${MOST_SHOWN} are shown` : "") +
    `. Rest on a row for the text that was asked. All: ${file}`;
  // What is asked in several ways is shown fact by fact, with the way.
  const ways = new Set(chosen.map((at) => `${items.experiment[at]} ${items.setting[at]}`)).size > 1;
  const fact = (at) => [items.relation[at], items.subject[at], items.object[at]].join("\n");
  if (ways) chosen.sort((one, other) => (fact(one) < fact(other) ? -1 : fact(one) > fact(other) ? 1 : one - other));
  const taught = found.dose.some((dose) => dose !== null);
  head.append(row([...(ways ? [["asked"]] : []), ["relation"], ["subject"], ["true object"], ["chosen"], [""], ["confidence", "n"], [suite === "ic_lke" ? "log share, nats" : "score", "n"],
    ...(taught ? [["taught", "n"]] : []), ["request"]], "th"));
  for (const at of chosen.slice(0, MOST_SHOWN)) {
    const line = row([...(ways ? [[`${items.experiment[at].replaceAll("_", " ")} ${items.setting[at]}`]] : []), [items.relation[at]], [items.subject[at]], [items.object[at]], [found.prediction[at]],
      [judged.outcome[at], judged.outcome[at]], [found.confidence[at], "n"], [judged.score[at], "n"],
      ...(taught ? [[found.dose[at], "n"]] : []), [items.request[at]]]);
    const context = data.contexts[items.context[at]];
    line.title = `${items.item[at]}\n\nrequest ${items.request[at]}:\n${context}${data.texts[items.text[at]]}`;
    body.append(line);
  }
  dialog.showModal();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-model]");
  if (button) show(button.dataset);
});
