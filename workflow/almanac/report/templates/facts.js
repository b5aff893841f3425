// Facts: found by subject, relation or object; one fact by all models and methods; `#fact=…` opens it.
const MOST_FOUND = 50;
let facts = null;

// Every fact of the page, by its dataset and id, with its names and the places of its items.
function allFacts() {
  if (facts) return facts;
  facts = new Map();
  for (const judged of data.judged) {
    const { columns } = judged;
    if (!columns.fact) continue;
    for (let at = 0; at < columns.item.values.length; at++) {
      const id = value(columns.fact, at);
      if (id === null) continue;
      const key = `${judged.dataset}/${id}`;
      if (!facts.has(key)) {
        const names = ["subject", "relation", "object"].map((name) => value(columns[name], at) ?? "–");
        names[1] = data.relations[judged.dataset]?.[names[1]] ?? names[1];
        facts.set(key, { key, dataset: judged.dataset, names, dose: columns.dose ? value(columns.dose, at) : null, items: [] });
      }
      facts.get(key).items.push([judged, at]);
    }
  }
  return facts;
}

const factLink = (fact) => element("a", { href: `#fact=${encodeURIComponent(fact.key)}` }, fact.names.join(" — "));

function search(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean), list = document.getElementById("found");
  if (!words.length) { list.replaceChildren(); return; }
  const found = [...allFacts().values()].filter(({ names, dataset }) => {
    const all = [...names, dataset].join(" ").toLowerCase();
    return words.every((word) => all.includes(word));
  });
  const more = found.length > MOST_FOUND ? [element("li", {}, `and ${found.length - MOST_FOUND} more: say more words`)] : [];
  const lines = found.slice(0, MOST_FOUND).map((fact) => element("li", {}, factLink(fact), ` (${fact.dataset})`));
  list.replaceChildren(...(found.length ? lines : [element("li", {}, "No fact has these words.")]), ...more);
}

// How an item was asked: what its columns of settings say.
function setting(columns, at) {
  const hidden = new Set([...ALWAYS, "item", "asked", "fact", "hit", "bucket"]);
  const names = ["experiment", "prompting", "style", "form", "shots", "draw", "template", "reading", "instruction"].filter((name) => columns[name] && !hidden.has(name));
  return names.map((name) => [name, value(columns[name], at)]).filter(([, one]) => one !== null && one !== "").map(([name, one]) => name === "experiment" ? plain(one) : `${plain(name)} ${plain(one)}`).join(", ");
}

function showFact(key) {
  const fact = allFacts().get(key), place = document.getElementById("fact");
  if (!fact) { place.replaceChildren(element("p", {}, "This page carries no such fact.")); return; }
  const heads = ["model", "method", "asked as", "answer", "outcome", "score", "what was asked"];
  const rows = fact.items.map(([{ model, suite, columns }, at]) => {
    const outcome = value(columns.outcome, at), score = value(columns.score, at);
    const texts = [model, plain(suite), setting(columns, at), value(columns.prediction, at) ?? "–"].map((text) => element("td", {}, text));
    return element("tr", {}, ...texts, element("td", { class: outcome }, outcome), element("td", { class: "n" }, score === null ? "–" : String(Number(Number(score).toPrecision(4)))), element("td", {}, asked(columns, at)));
  });
  const right = fact.items.filter(([{ columns }, at]) => value(columns.outcome, at) === "correct").length;
  const taught = fact.dose === null ? "" : ` Taught ${fact.dose} times.`;
  place.replaceChildren(
    element("h3", {}, fact.names.join(" — ")),
    element("p", {}, `Of ${fact.dataset}: ${fact.items.length} answers, ${right} correct.${taught}`),
    element("div", { class: "wide", tabindex: 0 }, element("table", {}, element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))), element("tbody", {}, ...rows))));
}

// Go where the address says: to a fact, or to a place that may lie in a folded chapter.
async function follow() {
  const hash = location.hash.slice(1);
  if (hash.startsWith("fact=")) {
    await ready;
    showFact(decodeURIComponent(hash.slice(5)));
    document.getElementById("facts").scrollIntoView();
    return;
  }
  const target = hash && document.getElementById(hash);
  if (!target) return;
  target.querySelector(":scope > details")?.setAttribute("open", "");
  for (let one = target.closest("details"); one; one = one.parentElement.closest("details")) one.open = true;
  target.scrollIntoView();
}

function beginFacts() {
  document.getElementById("search").oninput = async (event) => { await ready; search(event.target.value); };
  addEventListener("hashchange", follow);
  follow();
  let closed = []; // on paper nothing is folded
  addEventListener("beforeprint", () => { closed = [...document.querySelectorAll("main details:not([open])")]; for (const one of closed) one.open = true; });
  addEventListener("afterprint", () => { for (const one of closed) one.open = false; });
}

document.addEventListener("DOMContentLoaded", () => { beginTables(); beginDialog(); beginFacts(); });
