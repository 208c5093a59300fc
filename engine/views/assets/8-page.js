// The page itself: its address, its filters, its keys, its colours.

const VIEWS = [
  ["overview", "Overview", overviewView],
  ["map", "Heat map", mapView],
  ["checkpoints", "Checkpoints", progressView],
  ["evaluations", "Evaluations", evaluationsView],
  ["tests", "Tests", testsView],
  ["time", "Time", timeView],
  ["trouble", "Broken and flaky", troubleView],
];
const KEYS = [["/", "search"], ["1 – 7", "views"], ["j, k", "next, previous link in a list"], ["x", "clear filters"], ["t", "light or dark"], ["?", "this list"], ["Esc", "close, or leave the search"]];

let view = "overview";
let params = new URLSearchParams();

// --- the address: #/view?parameters

function address(name, wanted) {
  const search = new URLSearchParams(Object.entries(wanted || {}).filter(([, value]) => value !== null && value !== undefined && value !== ""));
  const text = search.toString();
  return `#/${name}${text ? `?${text}` : ""}`;
}

function go(name, wanted) {
  window.location.hash = address(name, wanted);
}

function setParam(name, value) {
  if (value) params.set(name, value);
  else params.delete(name);
  window.history.replaceState(null, "", address(view, Object.fromEntries(params)));
}

function readAddress() {
  const [path, search = ""] = window.location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  view = path === "evaluation" || VIEWS.some(([name]) => name === path) ? path : "overview";
  params = new URLSearchParams(search);
}

// --- filters, which hold for every view

const filterKey = (name) => (data.labels.includes(name) ? `label.${name}` : name);
const filterKeys = () => ["q", "verdict", ...data.fields, ...data.labels.map((name) => `label.${name}`)];
const filterParams = () => Object.fromEntries(filterKeys().filter((key) => params.get(key)).map((key) => [key, params.get(key)]));

function filtered() {
  const words = (params.get("q") || "").toLowerCase().split(/\s+/).filter(Boolean);
  const fails = params.get("fails") === null ? -1 : Number(params.get("fails"));
  const exact = [...data.fields, ...data.labels].map((name) => [name, params.get(filterKey(name))]).filter(([, value]) => value);
  const verdict = params.get("verdict");
  return data.rows.filter(
    (row) =>
      (!verdict || (verdict === "flaky" ? Boolean(row.flaky) : row.verdict === verdict)) &&
      exact.every(([name, value]) => labelOf(row, name) === value) &&
      words.every((word) => row.hay.includes(word)) &&
      (fails < 0 || notPassed(row, fails)),
  );
}

function notPassed(row, test) {
  const place = row.tests.indexOf(test);
  return place >= 0 && "fe".includes(row.statuses[place]);
}

function drawFilters() {
  const values = (name) => [["", "all"], ...[...new Set(data.rows.map((row) => labelOf(row, name)))].sort(compare).map((value) => [value, value])];
  const change = (key) => (value) => {
    for (const name of [...params.keys()]) if (name.endsWith(".page")) params.delete(name);
    go(view === "evaluation" ? "evaluations" : view, { ...Object.fromEntries(params), id: "", [key]: value });
  };
  const search = el("input", { type: "search", id: "search", placeholder: "name, label or reason", value: params.get("q") || "", oninput: later((event) => change("q")(event.target.value)) });
  const names = [...data.fields, ...data.labels].filter((name) => values(name).length > 2);
  byId("filters").replaceChildren(
    el("label", { class: "search" }, el("span", {}, "search"), search),
    select("verdict", [["", "all"], ...["passed", "failed", "broken", "flaky"].map((name) => [name, name])], params.get("verdict") || "", change("verdict")),
    ...names.map((name) => select(name, values(name), params.get(filterKey(name)) || "", change(filterKey(name)))),
    el("button", { type: "button", id: "clear", onclick: () => go(view === "evaluation" ? "evaluations" : view, {}) }, "Clear"),
  );
}

function syncFilters(rows) {
  const fields = byId("filters").querySelectorAll("input, select");
  const names = [...data.fields, ...data.labels].filter((name) => new Set(data.rows.map((row) => labelOf(row, name))).size > 1);
  const keys = ["q", "verdict", ...names.map(filterKey)];
  keys.forEach((key, index) => {
    const field = fields[index];
    if (field !== document.activeElement || field.tagName === "SELECT") field.value = params.get(key) || "";
  });
  byId("clear").disabled = !Object.keys(filterParams()).length && params.get("fails") === null;
  say(`${plural(rows.length, "evaluation")} of ${count(data.rows.length)}`);
}

// --- drawing

function drawPage() {
  readAddress();
  const rows = filtered();
  const found = VIEWS.find(([name]) => name === view);
  byId("views").replaceChildren(...VIEWS.map(([name, title]) => link(name, filterParams(), title, { "aria-current": name === view ? "page" : null })));
  syncFilters(rows);
  const main = byId("main");
  const content = !rows.length && view !== "evaluation" ? [note("No evaluation fits the filters.")] : [found ? found[2](rows) : evaluationView()].flat(3).filter(Boolean);
  main.replaceChildren(...content);
  main.dataset.view = view;
}

function navigate() {
  const before = view + (params.get("id") || "");
  drawPage();
  if (before !== view + (params.get("id") || "")) window.scrollTo(0, 0);
}

// --- colours

function theme(chosen) {
  const dark = chosen ? chosen === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  byId("theme").textContent = dark ? "Light" : "Dark";
}

function remembered(value) {
  // Some browsers give pages from disk nothing to remember with.
  try {
    if (value) window.localStorage.setItem("scbench-theme", value);
    return window.localStorage.getItem("scbench-theme");
  } catch {
    return null;
  }
}

function switchTheme() {
  const chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  remembered(chosen);
  theme(chosen);
  drawPage();
}

// --- keys

function showKeys() {
  const dialog = byId("keys");
  dialog.replaceChildren(
    el("h2", { id: "keys-title" }, "Keys"),
    el("dl", {}, KEYS.flatMap(([key, meaning]) => [el("dt", {}, key), el("dd", {}, meaning)])),
    el("button", { type: "button", onclick: () => dialog.close() }, "Close"),
  );
  dialog.showModal();
}

function step(direction) {
  const links = [...document.querySelectorAll("main tbody a, main tbody summary")];
  if (!links.length) return;
  const at = links.indexOf(document.activeElement);
  links[at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + direction))].focus();
}

function onKey(event) {
  const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName);
  if (event.key === "Escape" && typing) event.target.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
  const number = Number(event.key);
  const act = { "/": () => byId("search").focus(), j: () => step(1), k: () => step(-1), t: switchTheme, "?": showKeys, x: () => byId("clear").click() }[event.key];
  if (act) {
    event.preventDefault();
    act();
  } else if (number >= 1 && number <= VIEWS.length) go(VIEWS[number - 1][0], filterParams());
}

async function start() {
  theme(remembered());
  data = prepare(JSON.parse(await unpack("head")));
  const { run } = data;
  byId("title").textContent = run.name || "scbench";
  const when = run.started ? new Date(run.started).toISOString().replace("T", " ").slice(0, 16) : "";
  byId("about").textContent = [run.id, when && `${when} UTC`, plural(data.rows.length, "evaluation"), `policy ${run.policy}`, run.ending === "completed" ? "" : run.ending || "not finished", run.remaining ? `${run.remaining} to do` : ""].filter(Boolean).join(" · ");
  readAddress();
  drawFilters();
  drawPage();
  byId("theme").addEventListener("click", switchTheme);
  byId("help").addEventListener("click", showKeys);
  window.addEventListener("hashchange", navigate);
  document.addEventListener("keydown", onKey);
  document.documentElement.dataset.ready = "yes";
}

void start();
