// Where the time went: what each slot did, second by second.

const PHASES = [
  ["waiting", "waiting", "for the store, for shared preparation or for an equal evaluation", "#b8b8b8"],
  ["prepare", "preparing", "environment and expected tests", "#e69f00"],
  ["start", "container", "starting and removing it", "#56b4e9"],
  ["layout", "laying out", "submission and tests", "#cc79a7"],
  ["setup", "set-up", "the submission's own commands", "#8c6d31"],
  ["tests", "tests", "pytest at work", "#0072b2"],
  ["store", "from the store", "answered without running", "#009e73"],
  ["retried", "retried", "attempts without an outcome", "#d55e00"],
];

// The phases of one attempt in the order in which they happen, as [phase, from, to].
function segmentsOf([index, , start, end, outcome]) {
  const row = data.rows[index];
  const total = Math.max(0, end - start);
  if (outcome === "retried") return [["retried", start, end]];
  if (row.cached) return [["store", start, end]];
  const { prepare = 0, run = 0, ...inner } = row.timings;
  const known = { prepare, start: Math.max(0, run - sum(Object.values(inner))) };
  for (const [name, spent] of Object.entries(inner)) {
    const phase = PHASES.some(([key]) => key === name) ? name : "start";
    known[phase] = (known[phase] || 0) + spent;
  }
  const used = sum(Object.values(known));
  const scale = used > total ? total / used : 1;
  known.waiting = Math.max(0, total - used * scale);
  let at = start;
  return PHASES.filter(([key]) => known[key]).map(([key]) => {
    const spent = key === "waiting" ? known.waiting : known[key] * scale;
    at += spent;
    return [key, at - spent, at];
  });
}

function slotsOf(spans) {
  const free = [];
  return [...spans].sort((a, b) => a[2] - b[2]).map((span) => {
    let slot = free.findIndex((until) => until <= span[2] + 1e-6);
    if (slot < 0) slot = free.push(0) - 1;
    free[slot] = span[3];
    return { span, slot, segments: segmentsOf(span) };
  });
}

function busyPlot(attempts, length) {
  const buckets = 240;
  const width = length / buckets || 1;
  const used = new Map(PHASES.map(([key]) => [key, new Array(buckets).fill(0)]));
  for (const { segments } of attempts) {
    for (const [key, from, to] of segments) {
      const line = used.get(key);
      for (let b = Math.floor(from / width); b < buckets && b * width < to; b += 1) {
        line[b] += Math.max(0, Math.min(to, (b + 1) * width) - Math.max(from, b * width)) / width;
      }
    }
  }
  const [unit, name] = timeUnit(length);
  const make = () => ({
    traces: PHASES.filter(([key]) => used.get(key).some(Boolean)).map(([key, title, , tint]) => ({
      type: "scatter",
      mode: "lines",
      stackgroup: "slots",
      name: title,
      line: { width: 0, shape: "hv", color: tint },
      fillcolor: tint,
      x: used.get(key).map((_, b) => (b * width) / unit),
      y: used.get(key),
      hovertemplate: `%{y:.1f} ${title}<extra></extra>`,
    })),
    layout: { hovermode: "x unified", showlegend: true, legend: { orientation: "h", y: -0.3 }, xaxis: { title: { text: name } }, yaxis: { title: { text: "slots" }, rangemode: "tozero" } },
  });
  return plot("What the slots did over time; the table below has the sums", 320, make);
}

function timeUnit(length) {
  if (length > 2 * 3600) return [3600, "hours since the start"];
  return length > 300 ? [60, "minutes since the start"] : [1, "seconds since the start"];
}

// Each phase is one broken line, so that thousands of bars cost no more than a few.
function slotPlot(attempts, length) {
  const slots = 1 + Math.max(...attempts.map((one) => one.slot));
  const [unit, name] = timeUnit(length);
  const thick = new Map(attempts.map(({ segments }) => [segments, withoutSlivers(segments, length / 3000)]));
  const traces = PHASES.map(([key, title, , tint]) => {
    const x = [], y = [], text = [], customdata = [];
    for (const { span, slot, segments } of attempts) {
      for (const [phase, from, to] of thick.get(segments)) {
        if (phase !== key) continue;
        const said = `${brief(nameOf(data.rows[span[0]]), 80)}<br>${title}: ${seconds(to - from)}${span[1] > 1 ? `<br>attempt ${span[1]}` : ""}`;
        x.push(from / unit, (from + to) / 2 / unit, to / unit, null);
        y.push(slot + 1, slot + 1, slot + 1, null);
        text.push(said, said, said, "");
        customdata.push(span[0], span[0], span[0], null);
      }
    }
    return { type: "scatter", mode: "lines", name: title, x, y, text, customdata, hoverinfo: "text", connectgaps: false, line: { color: tint, width: Math.max(4, Math.min(16, 400 / slots)) } };
  }).filter((trace) => trace.x.length);
  const make = () => ({
    traces,
    layout: { xaxis: { title: { text: name } }, yaxis: { title: { text: "slot" }, range: [slots + 0.6, 0.4], dtick: Math.ceil(slots / 20), showgrid: false } },
    click: (point) => go("evaluation", { ...filterParams(), id: data.rows[point.customdata].id }),
  });
  return plot("Time line of slots; the lists below have the slowest", Math.min(700, 110 + 24 * slots), make);
}

// What is thinner than a line of the screen would only cost time: its neighbours take its place.
function withoutSlivers(segments, least) {
  const kept = segments.filter(([, from, to]) => to - from >= least);
  if (!kept.length) return segments.slice(-1);
  return kept.map(([phase, from, to], index) => [phase, index ? from : segments[0][1], index + 1 < kept.length ? kept[index + 1][1] : to]);
}

function phaseTable(attempts, length) {
  const spent = new Map(PHASES.map(([key]) => [key, 0]));
  for (const { segments } of attempts) for (const [key, from, to] of segments) spent.set(key, spent.get(key) + to - from);
  const slots = 1 + Math.max(...attempts.map((one) => one.slot));
  const whole = slots * length;
  const idle = Math.max(0, whole - sum([...spent.values()]));
  const rows = [...PHASES.filter(([key]) => spent.get(key) > 0).map(([key, title, hint]) => ({ title, hint, spent: spent.get(key) })), { title: "idle", hint: "slots with nothing to do", spent: idle }];
  return dataTable({
    name: "phases",
    caption: "Time of slots by phase",
    rows,
    sort: "-spent",
    columns: [
      { key: "title", title: "phase", value: (row) => row.title },
      { key: "spent", title: "slot time", kind: "number", value: (row) => row.spent, cell: (row) => seconds(row.spent) },
      { key: "share", title: "share", kind: "number", value: (row) => row.spent, cell: (row) => percent(whole ? row.spent / whole : 0, 1) },
      { key: "hint", title: "what it is", value: (row) => row.hint },
    ],
  });
}

function timeView(rows) {
  const wanted = new Set(rows.map((row) => row.index));
  const spans = data.spans.filter(([index]) => wanted.has(index));
  const length = Math.max(data.run.seconds, ...spans.map((span) => span[3]));
  const attempts = slotsOf(spans);
  const slow = data.slow.filter(([index]) => wanted.has(index)).map(([index, test, ms]) => ({ row: data.rows[index], ...testOf(test), ms }));
  const parts = [];
  if (attempts.length) {
    const slots = 1 + Math.max(...attempts.map((one) => one.slot));
    parts.push(section("Where the time went", note(`${plural(attempts.length, "attempt")} in ${plural(slots, "slot")}, over ${seconds(length)}.`), ...withTable("Time by phase, as a table", busyPlot(attempts, length), phaseTable(attempts, length))));
    parts.push(section("Slots", note("Each bar is a part of one attempt; click it to open the evaluation."), slotPlot(attempts, length)));
  }
  parts.push(section("Slowest evaluations", dataTable({ name: "slow", caption: "Slowest evaluations", rows, sort: "-seconds", size: 20, columns: [...identityColumns(), verdictColumn, secondsColumn, ...phaseColumns(rows)] })));
  parts.push(section("Slowest tests", slowTests(slow)));
  return parts;
}

function phaseColumns(rows) {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row.timings)))];
  return names.map((name) => ({ key: `t.${name}`, title: name, kind: "number", value: (row) => row.timings[name] ?? null, cell: (row) => (row.timings[name] === undefined ? "–" : seconds(row.timings[name])) }));
}

function slowTests(rows) {
  return dataTable({
    name: "slowtests",
    caption: "Slowest tests",
    rows,
    sort: "-ms",
    size: 20,
    columns: [
      { key: "test", title: "test", value: (one) => one.name, cell: (one) => link("evaluation", { ...filterParams(), id: one.row.id, "tests.q": one.id }, one.name, { class: "code" }) },
      { key: "of", title: "evaluation", value: (one) => nameOf(one.row) },
      { key: "ms", title: "time", kind: "number", value: (one) => one.ms, cell: (one) => seconds(one.ms / 1000) },
    ],
  });
}
