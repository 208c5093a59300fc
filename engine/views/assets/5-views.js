// The views of the whole run; each takes the rows that the filters leave and returns elements.

function overviewView(rows) {
  const by = params.get("by") || labelNames()[0];
  const found = standings(rows, by);
  const chooser = select("by", labelNames().map((name) => [name, name]), by, (value) => go("overview", { ...filterParams(), by: value }));
  const table = dataTable({
    name: "board",
    caption: `Leaderboard by ${by}`,
    rows: found,
    columns: [
      { key: "name", title: by, value: (one) => one.name, cell: (one) => link("evaluations", { ...filterParams(), [filterKey(by)]: one.name }, one.name) },
      { key: "share", title: "rate", kind: "number", hint: "evaluations passed, of those that count", value: (one) => one.share, cell: (one) => percent(one.share, 1) },
      { key: "low", title: "95 % interval", kind: "number", hint: "Wilson score interval; repeats count by how much they differ", value: (one) => one.interval?.[0] ?? null, cell: (one) => (one.interval ? `${percent(one.interval[0])} – ${percent(one.interval[1])}` : "–") },
      ...["passed", "failed", "broken"].map((verdict) => ({ key: verdict, title: verdict, kind: "number", value: (one) => one.verdicts[verdict] })),
      ...groupColumns(),
      { key: "mean", title: "mean time", kind: "number", value: (one) => one.seconds, cell: (one) => seconds(one.seconds) },
    ],
  });
  return [cards(rows), section("Leaderboard", el("p", { class: "controls" }, chooser), leaderboardPlot(found), table, note("Broken by the submission counts as not passed; broken by problem or infrastructure does not count."))];
}

function cards(rows) {
  const all = standing("", rows.length ? rows : [{ counts: false, verdict: "", seconds: 0, passed: [], total: [] }]);
  const broken = (fault) => rows.filter((row) => row.broken && row.broken[1] === fault).length;
  const faults = ["submission", "problem", "infrastructure"].filter(broken).map((fault) => `${broken(fault)} by ${fault}`).join(", ");
  const tests = sum(rows.map((row) => row.statuses.length));
  const card = (title, value, said, target, verdict) => el("a", { class: `card ${verdict || ""}`, href: target }, el("b", {}, value), el("span", {}, title), el("small", {}, said));
  return el(
    "div",
    { class: "cards" },
    card("passed", count(all.verdicts.passed), all.share === null ? "" : `${percent(all.share, 1)} of ${count(all.counted)} that count`, address("evaluations", { ...filterParams(), verdict: "passed" }), "passed"),
    card("failed", count(all.verdicts.failed), "", address("evaluations", { ...filterParams(), verdict: "failed" }), "failed"),
    card("broken", count(all.verdicts.broken), faults, address("trouble", filterParams()), "broken"),
    card("flaky", count(rows.filter((row) => row.flaky).length), "different when run again", address("trouble", filterParams()), "flaky"),
    card("tests", count(tests), `in ${plural(rows.length, "evaluation")}`, address("tests", filterParams())),
    card("time", seconds(data.run.seconds), `${count(rows.filter((row) => row.cached).length)} from the store`, address("time", filterParams())),
  );
}

function mapView(rows) {
  const by = params.get("by") || labelNames()[0];
  const kind = params.get("score") || "tests";
  const columns = [...groupBy(rows, (row) => labelOf(row, by)).keys()].sort((a, b) => compare(a, b));
  const lines = checkpointOrder(rows);
  const size = 60;
  const pages = Math.max(1, Math.ceil(lines.length / size));
  const page = Math.min(pages, Number(params.get("map.page")) || 1);
  const shown = lines.slice((page - 1) * size, page * size);
  const cells = shown.map(({ rows: some }) => columns.map((column) => heatCell(some.filter((row) => labelOf(row, by) === column), kind)));
  const names = shown.map((one) => `${one.problem} / ${one.checkpoint}`);
  const controls = el(
    "p",
    { class: "controls" },
    select("columns", labelNames().map((name) => [name, name]), by, (value) => go("map", { ...filterParams(), score: params.get("score"), by: value })),
    select("score", [["tests", "tests passed"], ["verdict", "evaluations passed"], ["core", "Core tests passed"], ["regression", "Regression tests passed"]], kind, (value) => go("map", { ...filterParams(), by: params.get("by"), score: value })),
  );
  const turn = pages > 1 ? pager(page, pages, lines.length, (next) => go("map", { ...filterParams(), by: params.get("by"), score: params.get("score"), "map.page": next })) : "";
  return section("Problems × checkpoints", controls, ...withTable("As a table", heatPlot(names, columns, cells), heatTable(by, names, columns, cells)), turn);
}

function checkpointOrder(rows) {
  const found = groupBy(rows, (row) => JSON.stringify([row.problem, row.checkpoint]));
  const lines = [];
  for (const [problem, names] of Object.entries(data.checkpoints)) {
    names.forEach((checkpoint, position) => {
      const some = found.get(JSON.stringify([problem, checkpoint]));
      if (some) lines.push({ problem, checkpoint, position, rows: some });
    });
  }
  return lines;
}

function heatCell(rows, kind) {
  if (!rows.length) return null;
  const groups = { core: [0], regression: [2] }[kind] || data.groups.map((_, index) => index);
  const share = kind === "verdict" ? standing("", rows).share : testShare(rows, groups);
  const broken = rows.filter((row) => row.broken);
  const verdicts = [...groupBy(rows, (row) => row.verdict)].map(([verdict, some]) => `${some.length} ${verdict}`).join(", ");
  const why = broken.length ? ` (${broken[0].broken[0]})` : "";
  const mark = broken.length === rows.length ? "✕ " : rows.every((row) => row.verdict === "passed") ? "✓ " : "";
  return { rows, share, text: `${mark}${share === null ? "" : Math.round(100 * share)}`, said: `${percent(share, 1)} · ${verdicts}${why}` };
}

function heatTable(by, names, columns, cells) {
  const rows = names.map((name, index) => ({ name, cells: cells[index] }));
  return dataTable({
    name: "heat",
    caption: "Scores by problem and checkpoint",
    rows,
    size: 60,
    columns: [
      { key: "name", title: "problem / checkpoint", value: (row) => row.name },
      ...columns.map((column, index) => ({
        key: `c${index}`,
        title: column,
        kind: "number",
        value: (row) => row.cells[index]?.share ?? null,
        cell: (row) => (row.cells[index] ? el("a", { href: rowsAddress(row.cells[index].rows), title: row.cells[index].said }, row.cells[index].text || "–") : "–"),
      })),
    ],
  });
}

const rowsAddress = (rows) => (rows.length === 1 ? address("evaluation", { ...filterParams(), id: rows[0].id }) : address("evaluations", { ...filterParams(), ...commonFilters(rows) }));

function commonFilters(rows) {
  const names = [...data.fields, ...data.labels].filter((name) => new Set(rows.map((row) => labelOf(row, name))).size === 1);
  return Object.fromEntries(names.map((name) => [filterKey(name), labelOf(rows[0], name)]));
}

function openRows(rows) {
  window.location.hash = rowsAddress(rows);
}

function progressView(rows) {
  const by = params.get("by") || labelNames()[0];
  const lines = checkpointOrder(rows);
  const problems = [...new Set(lines.map((line) => line.problem))];
  const positions = 1 + Math.max(0, ...lines.map((line) => line.position));
  const ticks = Array.from({ length: positions }, (_, position) => (problems.length === 1 ? data.checkpoints[problems[0]][position] : `${position + 1}.`));
  const series = standings(rows, by).slice(0, 20).map(({ name }) => ({
    name,
    points: ticks.map((_, position) => {
      const some = lines.filter((line) => line.position === position).flatMap((line) => line.rows).filter((row) => labelOf(row, by) === name);
      return { own: testShare(some, [0, 1, 3]), prior: testShare(some, [2]), passed: standing("", some.length ? some : rows.slice(0, 0)).share };
    }),
  }));
  const controls = el("p", { class: "controls" }, select("lines", labelNames().map((name) => [name, name]), by, (value) => go("checkpoints", { ...filterParams(), by: value })));
  const told = problems.length === 1 ? `Problem ${problems[0]}.` : `${plural(problems.length, "problem")} together, by the position of the checkpoint; choose one above to see its own.`;
  return [
    section("Scores over checkpoints", note(told), controls, ...withTable("As a table", progressPlot(series, ticks), progressTable(by, series, ticks))),
    section("What broke on the way", note("Tests that passed at one checkpoint and did not at the next, for the same submission labels."), regressionTable(rows)),
  ];
}

function progressTable(by, series, ticks) {
  const columns = ticks.map((tick, position) => ({
    key: `p${position}`,
    title: tick,
    kind: "number",
    value: (row) => row.points[position].own,
    cell: (row) => `${percent(row.points[position].own)} · ${percent(row.points[position].prior)}`,
  }));
  return dataTable({ name: "progress", caption: "Tests of the checkpoint itself and of earlier ones, by checkpoint", rows: series, columns: [{ key: "name", title: by, value: (row) => row.name }, ...columns] });
}

function regressionTable(rows) {
  const found = [];
  for (const chain of groupBy(rows, (row) => JSON.stringify([row.problem, row.labels, row.environment])).values()) {
    const order = data.checkpoints[chain[0].problem];
    const steps = order.map((name) => chain.find((row) => row.checkpoint === name)).filter(Boolean);
    for (let step = 1; step < steps.length; step += 1) {
      const broke = lostTests(steps[step - 1], steps[step]);
      if (broke.length) found.push({ row: steps[step], before: steps[step - 1], broke });
    }
  }
  return dataTable({
    name: "lost",
    caption: "Tests that stopped passing",
    rows: found,
    sort: "-number",
    size: 20,
    empty: "Nothing that passed at one checkpoint failed at the next.",
    columns: [
      { key: "of", title: "evaluation", value: (one) => nameOf(one.row), cell: (one) => link("evaluation", { ...filterParams(), id: one.row.id }, nameOf(one.row)) },
      { key: "number", title: "lost", kind: "number", value: (one) => one.broke.length, cell: (one) => count(one.broke.length) },
      { key: "tests", title: "tests", cell: (one) => el("span", { class: "code" }, one.broke.slice(0, 3).map((test) => testOf(test).id).join(", ") + (one.broke.length > 3 ? `, and ${one.broke.length - 3} more` : "")) },
    ],
  });
}

function lostTests(before, after) {
  if (after.broken) return [];
  const passed = new Set(before.tests.filter((_, place) => before.statuses[place] === "p"));
  return after.tests.filter((test, place) => passed.has(test) && "fe".includes(after.statuses[place]));
}
