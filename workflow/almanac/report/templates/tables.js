// Tables can be sorted by column, and copied as CSV, Markdown, LaTeX or spreadsheet cells.

// Compare two values: numbers before texts, empty values last in either direction.
function compared(one, other, down) {
  const none = (found) => found === null || found === undefined || found === "–" || found === "";
  if (none(one) || none(other)) return none(one) - none(other);
  const numbers = typeof one === "number" && typeof other === "number";
  const order = numbers ? one - other : typeof one === typeof other ? String(one).localeCompare(String(other), "en", { numeric: true }) : typeof one === "number" ? -1 : 1;
  return down ? -order : order;
}

// The sort key of a cell: its number without the interval, or its text.
function sortedBy(cell) {
  const text = (cell.querySelector("button")?.textContent ?? cell.textContent.replace(/\[[−\d.]+, [−\d.]+\]/, "")).trim();
  const number = Number(text.replaceAll(",", "").replace("−", "-").replace("<.001", ".0005"));
  return text !== "" && !Number.isNaN(number) ? number : text;
}

const cells = (line) => [...line.cells].map((cell) => cell.textContent.replace(/\s+/g, " ").trim());
const body = (table) => [...table.tBodies].flatMap((one) => [...one.rows]);

function sort(table, head) {
  const at = head.cellIndex, down = head.getAttribute("aria-sort") === "ascending";
  const lines = body(table).map((line) => [sortedBy(line.cells[at]), line]);
  for (const one of table.tHead.querySelectorAll("th")) one.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  table.tBodies[0].append(...lines.sort((one, other) => compared(one[0], other[0], down)).map(([, line]) => line));
  cut(table);
}

// Show only the first rows of a long table, in the current order, until all are requested.
function cut(table) {
  const first = Number(table.dataset.first ?? Infinity);
  body(table).forEach((line, at) => line.classList.toggle("later", at >= first));
}

// A button that shows all rows of a long table, and then moves the focus to the table.
function whole(table, wide) {
  cut(table);
  const button = element("button", { class: "copy", type: "button" }, `Show all ${body(table).length} rows`);
  button.onclick = () => {
    delete table.dataset.first;
    cut(table);
    button.remove();
    wide.focus();
  };
  return [button, " "];
}

const LATEX = {{ latex|tojson }};
const latex = (text) => [...text].map((one) => LATEX[one] ?? one).join("");
const FORMATS = {
  cells: (lines) => lines.map((line) => line.join("\t").replaceAll("−", "-")).join("\n"),
  CSV: (lines) => lines.map((line) => line.map((one) => (/[",\n]/.test(one) ? `"${one.replaceAll('"', '""')}"` : one)).join(",")).join("\n"),
  Markdown: ([head, ...rest]) => [head, head.map(() => "---"), ...rest].map((line) => `| ${line.map((one) => one.replaceAll("|", "\\|")).join(" | ")} |`).join("\n"),
  LaTeX: ([head, ...rest], sides) => {
    const written = (line) => `${line.map(latex).join(" & ").replace(/^(?=[[*])/, "{}")} \\\\\n`, long = rest.length > {{ short }};
    const kind = long ? "longtable" : "tabular", before = long ? "\\endhead\n\\bottomrule\n\\endfoot\n" : "";
    const lines = `\\toprule\n${written(head)}\\midrule\n${before}${rest.map(written).join("")}`;
    return `\\begin{${kind}}{${sides}}\n${lines}${long ? "" : "\\bottomrule\n"}\\end{${kind}}`;
  },
};
function copied(table, format) {
  const [head] = table.tHead.rows, sides = [...head.cells].map((cell) => (cell.classList.contains("n") ? "r" : "l"));
  return `${FORMATS[format]([cells(head), ...body(table).map(cells)], sides.join(""))}\n`;
}

// Copy a text; by a selection where a browser denies the clipboard to pages from disk.
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.body.appendChild(element("textarea", {}, text));
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

function beginTables() {
  for (const wide of document.querySelectorAll("main .wide")) {
    const table = wide.querySelector("table");
    for (const head of table.tHead.querySelectorAll("th")) {
      const button = element("button", { class: "sort", type: "button" }, ...head.childNodes);
      button.onclick = () => sort(table, head);
      head.append(button);
    }
    const buttons = Object.keys(FORMATS).map((format) => {
      const button = element("button", { class: "copy", type: "button" }, format);
      button.onclick = async () => {
        await copy(copied(table, format));
        button.textContent = "copied";
        setTimeout(() => { button.textContent = format; }, 1200);
      };
      return button;
    });
    wide.after(element("p", { class: "tools" }, ...(table.dataset.first ? whole(table, wide) : []), "Copy as ", ...buttons));
  }
}
