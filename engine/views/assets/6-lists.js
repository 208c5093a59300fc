// Lists: evaluations, tests, and what went wrong.

function evaluationsView(rows) {
  const columns = [
    ...identityColumns(),
    verdictColumn,
    { key: "why", title: "why", value: (row) => (row.broken ? row.broken[0] : ""), cell: (row) => (row.broken ? el("span", { title: row.broken[2] }, `${row.broken[0]} (${row.broken[1]})`) : "") },
    ...groupColumns(),
    secondsColumn,
    ...(rows.some((row) => row.attempts > 1) ? [{ key: "attempts", title: "tries", kind: "number", value: (row) => row.attempts }] : []),
    ...(rows.some((row) => row.cached) ? [{ key: "cached", title: "store", value: (row) => (row.cached ? "stored" : "") }] : []),
  ];
  const fails = params.get("fails");
  const told = fails === null ? "" : el("p", { class: "note" }, "Only where this test did not pass: ", el("span", { class: "code" }, testOf(Number(fails)).name), " ", link("evaluations", filterParams(), "show all"));
  return section(`Evaluations (${count(rows.length)})`, told, dataTable({ name: "list", caption: "Evaluations", rows, columns, empty: "No evaluation fits the filters." }));
}

function testsView(rows) {
  const found = new Map();
  for (const row of rows) {
    row.tests.forEach((test, place) => {
      if (!found.has(test)) found.set(test, { test, p: 0, f: 0, e: 0, s: 0, group: new Set() });
      const entry = found.get(test);
      entry[row.statuses[place]] += 1;
      entry.group.add(data.suites[row.suite].groups[place]);
    });
  }
  const words = (params.get("tests.q") || "").toLowerCase();
  const all = [...found.values()].map((entry) => ({ ...entry, ...testOf(entry.test), runs: entry.p + entry.f + entry.e + entry.s, groups: [...entry.group].map((group) => data.groups[group]).join(", ") }));
  const shown = words ? all.filter((one) => `${one.problem} ${one.name}`.toLowerCase().includes(words)) : all;
  const search = el("label", {}, el("span", {}, "name of a test"), el("input", { type: "search", value: params.get("tests.q") || "", oninput: later((event) => { setParam("tests.q", event.target.value); replaceTable(); }) }));
  const holder = el("div", {});
  const replaceTable = () => {
    const wanted = (params.get("tests.q") || "").toLowerCase();
    holder.replaceChildren(testsTable(wanted ? all.filter((one) => `${one.problem} ${one.name}`.toLowerCase().includes(wanted)) : all));
  };
  holder.append(testsTable(shown));
  return section("Tests", note("Every test of the evaluations that the filters leave, those that pass least first."), el("p", { class: "controls" }, search), holder);
}

function testsTable(rows) {
  const number = (key, title) => ({ key, title, kind: "number", value: (one) => one[key], cell: (one) => count(one[key]) });
  return dataTable({
    name: "tests",
    caption: "Tests",
    rows,
    sort: "rate",
    empty: "No test fits.",
    columns: [
      { key: "problem", title: "problem", value: (one) => one.problem },
      { key: "checkpoint", title: "checkpoint", value: (one) => one.checkpoint },
      { key: "name", title: "test", value: (one) => one.id, cell: (one) => el("span", { class: "code", title: one.name }, one.id) },
      { key: "groups", title: "groups", value: (one) => one.groups },
      { key: "rate", title: "passed", kind: "number", value: (one) => one.p / one.runs, cell: (one) => percent(one.p / one.runs) },
      number("runs", "runs"),
      { key: "f", title: "failed", kind: "number", value: (one) => one.f + one.e, cell: (one) => (one.f + one.e ? link("evaluations", { ...filterParams(), fails: one.test }, count(one.f + one.e)) : "0") },
      number("s", "skipped"),
    ],
  });
}

function troubleView(rows) {
  const broken = rows.filter((row) => row.broken);
  const flaky = rows.filter((row) => row.flaky);
  const doubtful = rows.filter((row) => row.integrity.length);
  const parts = [section(`Broken (${count(broken.length)})`, chips(broken, (row) => [`${row.broken[0]} (${row.broken[1]})`]), brokenTable(broken))];
  parts.push(section(`Flaky (${count(flaky.length)})`, flakyTable(flaky)));
  parts.push(section(`Integrity warnings (${count(doubtful.length)})`, chips(doubtful, (row) => row.integrity.map(([name]) => name)), doubtfulTable(doubtful)));
  if (data.warnings.length) parts.push(section("Warnings of the run", el("ul", {}, data.warnings.map((text) => el("li", {}, el("pre", { tabindex: "0" }, text))))));
  return parts;
}

function chips(rows, names) {
  const found = [...groupBy(rows.flatMap(names), (name) => name)].sort((a, b) => b[1].length - a[1].length);
  return el("p", { class: "chips" }, found.map(([name, some]) => el("span", { class: "chip" }, `${name}: ${count(some.length)}`)));
}

function brokenTable(rows) {
  return dataTable({
    name: "broken",
    caption: "Broken evaluations",
    rows,
    sort: "kind",
    size: 25,
    empty: "Everything could be judged.",
    columns: [
      ...identityColumns(),
      { key: "kind", title: "kind", value: (row) => row.broken[0] },
      { key: "fault", title: "fault", value: (row) => row.broken[1] },
      { key: "tries", title: "tries", kind: "number", value: (row) => row.attempts },
      { key: "detail", title: "reason", kind: "wide", value: (row) => row.broken[2], cell: (row) => el("span", { class: "clamp", title: row.broken[2] }, row.broken[2]) },
    ],
  });
}

function flakyTable(rows) {
  return dataTable({
    name: "flaky",
    caption: "Flaky evaluations",
    rows,
    size: 25,
    empty: "Nothing came out differently when it was run again.",
    columns: [
      ...identityColumns(),
      { key: "verdict", title: "verdict", value: (row) => row.verdict, cell: (row) => badge(row.verdict) },
      { key: "number", title: "tests", kind: "number", value: (row) => row.flaky.length },
      { key: "tests", title: "which", kind: "wide", cell: (row) => (row.flaky.length ? el("span", { class: "code clamp" }, row.flaky.map((test) => `${test.id}: ${test.statuses.map((status) => status || "not run").join(", ")}`).join("; ")) : "verdict or counts differ between repeats") },
    ],
  });
}

function doubtfulTable(rows) {
  return dataTable({
    name: "doubt",
    caption: "Evaluations with integrity warnings",
    rows,
    size: 25,
    empty: "None.",
    columns: [...identityColumns(), { key: "what", title: "warning", kind: "wide", value: (row) => row.integrity[0][0], cell: (row) => row.integrity.map(([name, detail]) => el("div", {}, el("b", {}, name), " ", detail)) }],
  });
}

function later(call) {
  let timer = 0;
  return (event) => {
    window.clearTimeout(timer);
    timer = window.setTimeout(call, 120, event);
  };
}
