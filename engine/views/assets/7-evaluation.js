// One evaluation: its verdict, its tests with their messages, its output, and how to repeat it.

const STATUS = { p: "passed", f: "failed", e: "error", s: "skipped" };

function evaluationView() {
  const row = data.rowsById.get(params.get("id"));
  if (!row) return section("Not here", note("There is no such evaluation in this run."), link("evaluations", {}, "All evaluations"));
  const rest = el("div", {}, note("Reading tests …"));
  void chunk(row.chunk).then((found) => {
    const detail = { milliseconds: [], messages: {}, stdout: "", stderr: "", missing: "", ...found.details[row.index] };
    rest.replaceChildren(...details(row, detail, found.messages));
    rest.dataset.ready = "yes";
  });
  return [
    el("p", { class: "crumbs" }, link("evaluations", filterParams(), "Evaluations"), " › ", el("span", { class: "code" }, row.id)),
    el("h2", { class: "named" }, nameOf(row), " ", badge(row.verdict), row.flaky ? el("span", { class: "badge flaky" }, "flaky") : ""),
    row.broken ? el("div", { class: "box broken" }, el("b", {}, `${row.broken[0]}, by the fault of ${row.broken[1]}`), el("pre", { tabindex: "0" }, row.broken[2])) : "",
    row.integrity.map(([name, detail]) => el("div", { class: "box" }, el("b", {}, name), " ", detail)),
    neighbours(row),
    facts(row),
    rest,
  ];
}

function neighbours(row) {
  const order = data.checkpoints[row.problem];
  const same = data.rows.filter((one) => one.problem === row.problem && JSON.stringify(one.labels) === JSON.stringify(row.labels));
  const steps = order.flatMap((name) => same.filter((one) => one.checkpoint === name));
  const others = data.rows.filter((one) => one.problem === row.problem && one.checkpoint === row.checkpoint && !same.includes(one));
  const items = (rows, name) => rows.slice(0, 40).map((one) => (one === row ? el("b", { "aria-current": "true" }, name(one)) : link("evaluation", { ...filterParams(), id: one.id }, name(one), { class: one.verdict })));
  return el(
    "div",
    { class: "neighbours" },
    steps.length > 1 ? el("p", {}, el("span", { class: "dim" }, "other checkpoints: "), items(steps, (one) => one.checkpoint)) : "",
    others.length ? el("p", {}, el("span", { class: "dim" }, "others at this one: "), items(others, (one) => one.labels.join(" · ") || one.id)) : "",
  );
}

function facts(row) {
  const environment = data.environments[row.environment];
  const versions = (map) => Object.entries(map).map(([name, version]) => `${name} ${version}`).join(", ");
  const entries = [
    ["time", `${seconds(row.seconds)}${row.cached ? ", when it was run: this is from the store" : ""}`],
    ["phases", Object.entries(row.timings).map(([name, value]) => `${name} ${seconds(value)}`).join(", ")],
    ["tests", data.groups.map((name, group) => (row.total[group] ? `${name} ${row.passed[group]}/${row.total[group]}` : "")).filter(Boolean).join(", ")],
    ["attempts", row.attempts > 1 ? String(row.attempts) : ""],
    ["exit code", row.exit_code === undefined || row.exit_code === null ? "" : String(row.exit_code)],
    ["environment", [environment.sandbox, environment.image, environment.python && `Python ${environment.python}`, environment.sealed ? "sealed" : "not sealed"].filter(Boolean).join(", ")],
    ["image digest", environment.image_digest],
    ["toolchain", versions(environment.toolchain)],
    ["packages", versions(environment.packages)],
    ["fingerprint", row.fingerprint],
    ["files", `evaluations/${row.id}/`],
  ].filter(([, value]) => value);
  const debug = `scbench debug ${quoted(row.id)} --run ${quoted(data.run.id)}`;
  const commands = [["run its tests again", `${debug} --all-tests`], ["look at it from inside", debug]];
  return el(
    "div",
    { class: "pair" },
    el("dl", {}, entries.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    el("div", {}, el("h3", {}, "Repeat it"), ...commands.flatMap(([what, text]) => [el("span", { class: "dim" }, what), el("p", { class: "command" }, el("code", {}, text), el("button", { type: "button", "aria-label": `Copy the command: ${what}`, onclick: () => copy(text) }, "Copy"))])),
  );
}

const quoted = (text) => (/^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

function details(row, detail, messages) {
  const tests = row.tests.map((test, place) => ({
    place,
    ...testOf(test),
    status: STATUS[row.statuses[place]],
    group: data.groups[data.suites[row.suite].groups[place]],
    ms: detail.milliseconds[place] || 0,
    message: detail.messages[place] === undefined ? "" : messages[detail.messages[place]],
  }));
  const parts = detail.missing ? [note(`No tests here: ${detail.missing}.`)] : [testSection(tests, new Set((row.flaky || []).map((test) => `${test.file_path}::${test.id}`)))];
  for (const [name, text] of [["Output", detail.stdout], ["Errors", detail.stderr]]) {
    if (text.trim()) parts.push(section(name, el("pre", { class: "output", tabindex: "0" }, text)));
  }
  return parts;
}

function testSection(tests, flaky) {
  const bad = tests.filter((test) => test.status !== "passed").length;
  const place = { status: params.get("tests.status") || (bad && !params.get("tests.q") ? "bad" : "all"), words: params.get("tests.q") || "" };
  const holder = el("div", {});
  const draw = () => {
    setParam("tests.q", place.words);
    const words = place.words.toLowerCase();
    const shown = tests.filter((test) => (place.status === "all" || (place.status === "bad" ? test.status !== "passed" : test.status === place.status)) && (!words || `${test.name}\n${test.message}`.toLowerCase().includes(words)));
    holder.replaceChildren(testList(shown, flaky));
  };
  const choices = [["all", `all (${tests.length})`], ["bad", `not passed (${bad})`], ["failed", "failed"], ["error", "error"], ["skipped", "skipped"], ["passed", "passed"]];
  draw();
  return section(
    "Tests",
    el(
      "p",
      { class: "controls" },
      select("show", choices, place.status, (value) => { place.status = value; setParam("tests.status", value); draw(); }),
      el("label", {}, el("span", {}, "name or message"), el("input", { type: "search", value: place.words, oninput: later((event) => { place.words = event.target.value; draw(); }) })),
    ),
    holder,
  );
}

function testList(rows, flaky) {
  const named = (test) => (test.message ? el("details", {}, el("summary", {}, test.id), el("pre", { class: "message", tabindex: "0" }, test.message)) : test.id);
  return dataTable({
    name: "one",
    caption: "Tests of this evaluation",
    rows,
    empty: "No test fits.",
    columns: [
      { key: "status", title: "status", value: (test) => test.status, cell: (test) => [badge(test.status), flaky.has(test.name) ? el("span", { class: "badge flaky" }, "flaky") : ""] },
      { key: "id", title: "test", kind: "wide code", value: (test) => test.id, cell: named },
      { key: "group", title: "group", value: (test) => test.group },
      { key: "file", title: "file", kind: "code", value: (test) => test.file },
      { key: "ms", title: "time", kind: "number", value: (test) => test.ms, cell: (test) => seconds(test.ms / 1000) },
    ],
  });
}
