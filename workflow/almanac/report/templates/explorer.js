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

function show(wanted) {
  const { suite, model, dataset, experiment, setting, relation, metric, doses } = wanted;
  const file = `${data.root}/outcomes/${model}/${suite}/${dataset}.parquet`;
  const title = [model, dataset, experiment.replace("_", " "), setting, relation, doses && `taught ${doses}`].filter(Boolean).join(" · ");
  dialog.querySelector("h3").textContent = title;
  const head = dialog.querySelector("thead"), body = dialog.querySelector("tbody");
  head.replaceChildren(); body.replaceChildren();
  const found = data.outcomes.find((one) => one.suite === suite && one.model === model && one.dataset === dataset);
  if (!found) {
    dialog.querySelector("p").textContent = `This edition has more items than a page can carry. They are in ${file}.`;
    dialog.showModal();
    return;
  }
  const items = data.asked[`${suite}/${dataset}`];
  const chosen = [...items.item.keys()].filter((at) =>
    items.experiment[at] === experiment && (!setting || items.setting[at] === setting) &&
    (!relation || items.relation[at] === relation) &&
    (!doses || (doses === "any" ? found.dose[at] !== null : doses.split(", ").includes(String(found.dose[at])))) &&
    (metric !== "accuracy_at_k" || found.confidence[at] >= 0.5));
  const correct = chosen.filter((at) => found.outcome[at] === "correct").length;
  dialog.querySelector("p").textContent =
    `${chosen.length} items, ${correct} correct` + (chosen.length > MOST_SHOWN ? `; the first ${MOST_SHOWN} are shown` : "") +
    `. Rest on a row for the text that was asked. All: ${file}`;
  const taught = found.dose.some((dose) => dose !== null);
  head.append(row([["relation"], ["subject"], ["true object"], ["chosen"], [""], ["confidence", "n"], [suite === "ic_lke" ? "log share, nats" : "score", "n"],
    ...(taught ? [["taught", "n"]] : []), ["request"]], "th"));
  for (const at of chosen.slice(0, MOST_SHOWN)) {
    const line = row([[items.relation[at]], [items.subject[at]], [items.object[at]], [found.prediction[at]],
      [found.outcome[at], found.outcome[at]], [found.confidence[at], "n"], [found.score[at], "n"],
      ...(taught ? [[found.dose[at], "n"]] : []), [items.request[at]]]);
    const context = data.contexts[items.context[at]];
    line.title = `${items.item[at]}\n\nrequest ${items.request[at]}:\n${context}${items.text[at]}`;
    body.append(line);
  }
  dialog.showModal();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-model]");
  if (button) show(button.dataset);
});
