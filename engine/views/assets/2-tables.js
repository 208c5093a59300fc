// Tables that are sorted and paged, and keep both in the address of the page.

const PAGE = 50;

function dataTable({ name, caption, columns, rows, sort = "", size = PAGE, empty = "Nothing here.", mark = null }) {
  const place = { sort: params.get(`${name}.sort`) || sort, page: Number(params.get(`${name}.page`)) || 1 };
  const holder = el("div", { class: "table" });

  function ordered() {
    const descending = place.sort.startsWith("-");
    const column = columns.find((one) => one.key === place.sort.replace("-", ""));
    if (!column || !column.value) return rows;
    const keyed = rows.map((row, index) => [column.value(row), index, row]);
    keyed.sort(([a, i], [b, j]) => compare(a, b) * (descending ? -1 : 1) || i - j);
    return keyed.map(([, , row]) => row);
  }

  function keep(change) {
    Object.assign(place, change);
    setParam(`${name}.sort`, place.sort === sort ? "" : place.sort);
    setParam(`${name}.page`, place.page === 1 ? "" : String(place.page));
    draw();
  }

  function draw(focus) {
    const pages = Math.max(1, Math.ceil(rows.length / size));
    place.page = Math.min(Math.max(1, place.page), pages);
    const shown = ordered().slice((place.page - 1) * size, place.page * size);
    const body = shown.map((row) => el("tr", { class: mark ? mark(row) : null }, columns.map((column) => cell(column, row))));
    const table = el("table", {}, el("caption", { class: "unseen" }, caption), el("thead", {}, el("tr", {}, columns.map((column) => heading(column, place, keep)))), el("tbody", {}, body));
    holder.replaceChildren(
      rows.length ? el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, table) : note(empty),
      pages > 1 ? pager(place.page, pages, rows.length, (page) => keep({ page })) : "",
    );
    if (focus) holder.querySelector(focus)?.focus();
  }

  draw();
  return holder;
}

function compare(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;
  if (b === null || b === undefined) return -1;
  if (typeof a === "string") return a.localeCompare(b, "en", { numeric: true });
  return a < b ? -1 : 1;
}

function cell(column, row) {
  const content = column.cell ? column.cell(row) : String(column.value(row) ?? "");
  return el("td", { class: column.kind || null, title: column.kind === "name" ? column.value(row) : null }, content);
}

function heading(column, place, keep) {
  if (!column.value) return el("th", { scope: "col", class: column.kind || null }, column.title);
  const current = place.sort.replace("-", "") === column.key;
  const descending = place.sort.startsWith("-");
  const next = current ? (descending ? column.key : `-${column.key}`) : column.kind === "number" ? `-${column.key}` : column.key;
  const arrow = current ? (descending ? " ↓" : " ↑") : "";
  return el(
    "th",
    { scope: "col", class: column.kind || null, title: column.hint || null, "aria-sort": current ? (descending ? "descending" : "ascending") : null },
    el("button", { type: "button", onclick: () => keep({ sort: next, page: 1 }) }, column.title + arrow),
  );
}

function pager(page, pages, total, go) {
  const button = (text, target, label) => el("button", { type: "button", disabled: target < 1 || target > pages || target === page, "aria-label": label, onclick: () => go(target) }, text);
  return el(
    "p",
    { class: "pager" },
    button("«", 1, "First page"),
    button("‹", page - 1, "Page before"),
    el("span", {}, `page ${count(page)} of ${count(pages)} · ${count(total)} in all`),
    button("›", page + 1, "Next page"),
    button("»", pages, "Last page"),
  );
}

// --- columns that several tables share

const verdictColumn = { key: "verdict", title: "verdict", value: (row) => row.verdict, cell: (row) => [badge(row.verdict), row.flaky ? el("span", { class: "badge flaky" }, "flaky") : ""] };
const secondsColumn = { key: "seconds", title: "time", kind: "number", value: (row) => row.seconds, cell: (row) => seconds(row.seconds) };

function identityColumns() {
  const labels = data.labels.map((name, index) => ({ key: `label.${name}`, title: name, kind: "name", value: (row) => row.labels[index] }));
  return [
    { key: "problem", title: "problem", kind: "name", value: (row) => row.problem, cell: (row) => link("evaluation", { ...filterParams(), id: row.id }, row.problem) },
    { key: "checkpoint", title: "checkpoint", kind: "name", value: (row) => row.checkpoint },
    ...labels,
    ...(data.fields.includes("environment") ? [{ key: "environment", title: "environment", kind: "name", value: (row) => data.places[row.environment] }] : []),
    ...(data.repeats > 1 ? [{ key: "repeat", title: "repeat", kind: "number", value: (row) => row.repeat }] : []),
  ];
}

function groupColumns() {
  return data.groups.map((name, group) => ({
    key: name,
    title: name,
    kind: "number",
    value: (row) => (row.total[group] ? row.passed[group] / row.total[group] : null),
    cell: (row) => (row.total[group] ? el("span", { title: percent(row.passed[group] / row.total[group], 1) }, `${row.passed[group]}/${row.total[group]}`) : "–"),
  }));
}
