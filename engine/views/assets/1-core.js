// What everything else needs: the data, elements, numbers as people read them, rates.
// Text of submissions enters the page as text nodes only.

const byId = (id) => document.getElementById(id);
let data = null;
const chunks = new Map();

async function unpack(id) {
  const text = atob(byId(id).textContent);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
}

async function chunk(number) {
  if (!chunks.has(number)) chunks.set(number, unpack(`chunk-${number}`).then(JSON.parse));
  return chunks.get(number);
}

function prepare(head) {
  const defaults = { counts: true, attempts: 1, cached: false, timings: {}, integrity: [], statuses: "", chunk: 0 };
  head.rows = head.rows.map((row, index) => ({ ...defaults, ...row, index }));
  for (const row of head.rows) {
    row.tests = head.suites[row.suite].tests;
    row.unit = JSON.stringify([row.problem, row.checkpoint, row.labels]);
    row.hay = [row.id, row.problem, row.checkpoint, ...row.labels, ...(row.broken || [])].join("\n").toLowerCase();
  }
  // Rows that only their repeat tells apart.
  for (const same of groupBy(head.rows, (row) => `${row.unit} ${row.environment}`).values()) same.forEach((row, index) => { row.repeat = index + 1; });
  head.repeats = Math.max(0, ...head.rows.map((row) => row.repeat));
  // What broke early does not know its Python: it belongs with the others of its image.
  const complete = (one) => (one.python ? one : head.environments.find((other) => other.python && other.image === one.image) || one);
  head.places = head.environments.map(complete).map((one) => [one.image || one.sandbox, one.python && `Python ${one.python}`].filter(Boolean).join(", "));
  head.fields = ["problem", "checkpoint", ...(new Set(head.rows.map((row) => head.places[row.environment])).size > 1 ? ["environment"] : [])];
  head.rowsById = new Map(head.rows.map((row) => [row.id, row]));
  return head;
}

// --- elements

function el(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const link = (view, params, text, more) => el("a", { href: address(view, params), ...more }, text);
const badge = (verdict) => el("span", { class: `badge ${verdict}` }, verdict);
const note = (text) => el("p", { class: "note" }, text);

function section(title, ...children) {
  return el("section", {}, el("h2", {}, title), ...children);
}

function select(label, options, value, change) {
  const entries = options.map(([key, text]) => el("option", { value: key, selected: key === value }, text));
  return el("label", {}, el("span", {}, label), el("select", { "aria-label": label, onchange: (event) => change(event.target.value) }, entries));
}

function say(text) {
  byId("said").textContent = text;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    say("Copied");
    return true;
  } catch {
    say("This browser does not let the page copy: select the text instead");
    return false;
  }
}

// --- numbers

const percent = (share, digits = 0) => (share === null ? "–" : `${(100 * share).toFixed(digits)} %`);
const numbers = new Intl.NumberFormat("en");
const count = (number) => numbers.format(number);

function seconds(value) {
  if (value < 0.9995) return `${Math.round(value * 1000)} ms`;
  if (value < 60) return `${value.toFixed(1)} s`;
  const whole = Math.round(value);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
  return `${Math.floor(whole / 3600)} h ${String(Math.floor((whole % 3600) / 60)).padStart(2, "0")} min`;
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

function groupBy(values, key) {
  const groups = new Map();
  for (const value of values) {
    const name = key(value);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(value);
  }
  return groups;
}

// --- labels

const labelNames = () => [...new Set([...data.labels, ...data.fields])];

function labelOf(row, name) {
  const index = data.labels.indexOf(name);
  if (index >= 0) return row.labels[index] || "-";
  return name === "environment" ? data.places[row.environment] : row[name];
}

const nameOf = (row) => [row.problem, row.checkpoint, ...row.labels.filter(Boolean), ...(row.repeat > 1 ? [`repeat ${row.repeat}`] : [])].join(" · ");

function testOf(number) {
  const [problem, file, id, checkpoint] = data.tests[number];
  return { problem, file, id, checkpoint, name: `${file}::${id}` };
}

// --- rates, as engine/views/leaderboard.py has them

function wilson(share, size) {
  const z = 1.959963984540054;
  const centre = share + (z * z) / (2 * size);
  const spread = z * Math.sqrt((share * (1 - share)) / size + (z * z) / (4 * size * size));
  const scale = 1 + (z * z) / size;
  return [Math.max(0, (centre - spread) / scale), Math.min(1, (centre + spread) / scale)];
}

function effectiveSize(rows) {
  const units = [...groupBy(rows, (row) => row.unit).values()].map((unit) => unit.map((row) => +(row.verdict === "passed")));
  const size = rows.length;
  if (units.length < 2 || size === units.length) return size;
  const mean = sum(units.map(sum)) / size;
  const between = sum(units.map((unit) => unit.length * (sum(unit) / unit.length - mean) ** 2)) / (units.length - 1);
  const within = sum(units.map((unit) => sum(unit) * (1 - sum(unit) / unit.length))) / (size - units.length);
  const typical = (size - sum(units.map((unit) => unit.length ** 2)) / size) / (units.length - 1);
  const spread = between + (typical - 1) * within;
  const correlation = spread ? Math.min(1, Math.max(0, (between - within) / spread)) : 1;
  return size / (1 + (size / units.length - 1) * correlation);
}

function standing(name, rows) {
  const counted = rows.filter((row) => row.counts);
  const passed = counted.filter((row) => row.verdict === "passed").length;
  const share = counted.length ? passed / counted.length : null;
  return {
    name,
    rows,
    share,
    interval: share === null ? null : wilson(share, effectiveSize(counted)),
    counted: counted.length,
    verdicts: Object.fromEntries(["passed", "failed", "broken"].map((verdict) => [verdict, rows.filter((row) => row.verdict === verdict).length])),
    passed: data.groups.map((_, group) => sum(counted.map((row) => row.passed[group]))),
    total: data.groups.map((_, group) => sum(counted.map((row) => row.total[group]))),
    seconds: sum(rows.map((row) => row.seconds)) / rows.length,
  };
}

function standings(rows, label) {
  const found = [...groupBy(rows, (row) => labelOf(row, label))].map(([name, some]) => standing(name, some));
  return found.sort((a, b) => (b.share ?? -1) - (a.share ?? -1) || (a.name < b.name ? -1 : 1));
}

function testShare(rows, groups) {
  const counted = rows.filter((row) => row.counts);
  const total = sum(counted.flatMap((row) => groups.map((group) => row.total[group])));
  return total ? sum(counted.flatMap((row) => groups.map((group) => row.passed[group]))) / total : null;
}
