// The table of trials: sorts, filters, and saves what is shown.
(() => {
  "use strict";
  const { columns, rows } = JSON.parse(document.getElementById("rows").textContent);
  const table = document.getElementById("table");
  if (!table) return;
  const PAGE = 200;
  const field = Object.fromEntries(["filter", "state", "csv", "count", "more"].map((id) => [id, document.getElementById(id)]));
  const order = { column: 0, down: false };
  let limit = PAGE;

  const text = (value, column) => {
    if (value === null) return "";
    if (typeof value !== "number" || Number.isInteger(value)) return String(value);
    if (column.digits) return String(Number(value.toPrecision(column.digits)));
    const size = Math.abs(value);
    return size >= 1e-4 && size < 1e6 ? String(Number(value.toPrecision(5))) : value.toExponential(3);
  };
  const asNumber = (value) => ({ inf: Infinity, "-inf": -Infinity })[value] ?? value;
  const compare = (a, b) => {
    const [x, y] = [asNumber(a), asNumber(b)];
    return typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), undefined, { numeric: true });
  };

  const tests = {
    "<": (a, b) => a < b, ">": (a, b) => a > b, "<=": (a, b) => a <= b, ">=": (a, b) => a >= b,
    "=": (a, b) => String(a) === b || (b !== "" && a === Number(b)),
  };
  const condition = (word) => {
    const match = /^(.+?)(<=|>=|<|>|=)(.*)$/.exec(word);
    const at = match ? columns.findIndex((c) => c.label.toLowerCase() === match[1].toLowerCase()) : -1;
    if (at >= 0) {
      const [, , sign, wanted] = match;
      if (sign === "=") return (row) => row.cells[at] !== null && tests["="](row.cells[at], wanted);
      return (row) => typeof asNumber(row.cells[at]) === "number" && tests[sign](asNumber(row.cells[at]), Number(wanted));
    }
    return (row) => row.cells.some((value, i) => text(value, columns[i]).toLowerCase().includes(word.toLowerCase()));
  };

  const shown = () => {
    const words = field.filter.value.trim().replace(/\s*(<=|>=|<|>|=)\s*/g, "$1").split(/\s+/).filter(Boolean);
    const conditions = words.map(condition);
    const stateAt = columns.findIndex((c) => c.role === "state");
    const wanted = field.state.value;
    const kept = rows.filter((row) => (!wanted || row.cells[stateAt] === wanted) && conditions.every((c) => c(row)));
    const { column, down } = order;
    return kept.sort((p, q) => {
      const [a, b] = [p.cells[column], q.cells[column]];
      if (a === null || b === null) return (a === null) - (b === null);
      return compare(a, b) * (down ? -1 : 1);
    });
  };

  const cell = (value, column) => {
    const td = document.createElement("td");
    td.textContent = text(value, column);
    if (column.numeric) td.className = "number";
    if (value !== null) td.title = String(value);
    if (column.role === "state") {
      const dot = document.createElement("span");
      dot.className = `dot state-${value}`;
      td.prepend(dot);
    }
    return td;
  };

  const draw = () => {
    const kept = shown();
    table.tBodies[0].replaceChildren(...kept.slice(0, limit).map((row) => {
      const tr = document.createElement("tr");
      if (row.best) tr.className = "best";
      tr.append(...row.cells.map((value, i) => cell(value, columns[i])));
      return tr;
    }));
    [...table.tHead.rows[0].cells].forEach((th, i) => {
      th.ariaSort = i === order.column ? (order.down ? "descending" : "ascending") : "none";
    });
    field.count.value = kept.length === rows.length ? `${rows.length} trials` : `${kept.length} of ${rows.length} trials`;
    field.more.hidden = kept.length <= limit;
  };

  const sortBy = (index) => {
    order.down = order.column === index ? !order.down : columns[index].down === true;
    order.column = index;
    draw();
  };
  const head = table.tHead.insertRow();
  columns.forEach((column, index) => {
    const th = document.createElement("th");
    th.textContent = column.label;
    th.scope = "col";
    th.tabIndex = 0;
    if (column.numeric) th.className = "number";
    th.addEventListener("click", () => sortBy(index));
    th.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sortBy(index); } });
    head.append(th);
  });

  const refilter = () => { limit = PAGE; draw(); };
  field.filter.addEventListener("input", refilter);
  field.state.addEventListener("change", refilter);
  field.more.addEventListener("click", () => { limit += PAGE; draw(); });
  field.csv.addEventListener("click", () => {
    const quote = (value) => (value === null ? "" : `"${String(value).replaceAll('"', '""')}"`);
    const lines = [columns.map((c) => quote(c.label)), ...shown().map((row) => row.cells.map(quote))];
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([lines.map((l) => l.join(",")).join("\r\n")], { type: "text/csv" }));
    link.download = "trials.csv";
    link.click();
    URL.revokeObjectURL(link.href);
  });
  draw();
})();
