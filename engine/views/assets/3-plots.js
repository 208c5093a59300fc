// Plots, drawn by plotly.js, which is unpacked when the first plot is looked at.

const PALETTE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f5fc5", "#8c6d31", "#5c7f67", "#b0413e"];
let library = null;

async function plotly() {
  if (!byId("plots")) return null;
  if (!library) {
    library = unpack("plots").then((source) => {
      document.head.append(el("script", {}, source));
      return window.Plotly;
    });
  }
  return library;
}

// Plotly reads a little HTML in its texts: no name may be taken for any.
const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const brief = (text, length = 28) => plain(text.length > length ? `${text.slice(0, length - 1)}…` : text);
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const isNarrow = () => window.innerWidth < 800;

function layoutOf(more) {
  const axis = { gridcolor: colour("line"), zerolinecolor: colour("line"), linecolor: colour("line"), automargin: true };
  const { xaxis = {}, yaxis = {}, xaxis2, yaxis2, ...rest } = more;
  const layout = {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: colour("text"), family: "system-ui, sans-serif", size: 13 },
    hoverlabel: { bgcolor: colour("panel"), bordercolor: colour("line"), font: { color: colour("text") }, align: "left" },
    margin: { l: 10, r: 10, t: 10, b: 40 },
    showlegend: false,
    hovermode: "closest",
    dragmode: false,
    ...rest,
    xaxis: { ...axis, ...xaxis },
    yaxis: { ...axis, ...yaxis },
  };
  if (xaxis2) layout.xaxis2 = { ...axis, ...xaxis2 };
  if (yaxis2) layout.yaxis2 = { ...axis, ...yaxis2 };
  return layout;
}

// A plot that is drawn when it is near the screen; `make` gives traces, layout and what a click does.
function plot(description, height, make) {
  if (!byId("plots")) return note("No plots in this report: the package plotly was not there when it was made (pip install 'scbench-engine[report]'). The tables have the same numbers.");
  const holder = el("div", { class: "plot", role: "img", "aria-label": description, style: { height: `${height}px` } });
  const watcher = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    watcher.disconnect();
    void draw(holder, make);
  }, { rootMargin: "300px" });
  watcher.observe(holder);
  return holder;
}

async function draw(holder, make) {
  const tool = await plotly();
  if (!holder.isConnected) return;
  const { traces, layout, click } = make();
  await tool.newPlot(holder, traces, layoutOf(layout), { displayModeBar: false, responsive: true, doubleClick: "reset" });
  if (click) holder.on("plotly_click", (event) => click(event.points[0]));
  holder.dataset.drawn = "yes";
}

function withTable(title, figure, table) {
  return [figure, el("details", { open: !byId("plots") }, el("summary", {}, title), table)];
}

function leaderboardPlot(found) {
  const shown = found.filter((one) => one.share !== null).slice(0, 40).reverse();
  const make = () => ({
    traces: [{
      type: "scatter",
      mode: "markers",
      x: shown.map((one) => 100 * one.share),
      y: shown.map((_, index) => index),
      error_x: { type: "data", symmetric: false, array: shown.map((one) => 100 * (one.interval[1] - one.share)), arrayminus: shown.map((one) => 100 * (one.share - one.interval[0])), color: colour("accent"), thickness: 2, width: 6 },
      marker: { color: colour("accent"), size: 11 },
      text: shown.map((one) => `${brief(one.name, 60)}<br>${percent(one.share, 1)} of ${one.counted}, 95 %: ${percent(one.interval[0], 1)} to ${percent(one.interval[1], 1)}`),
      hoverinfo: "text",
    }],
    layout: {
      xaxis: { range: [-2, 102], ticksuffix: " %", title: { text: "evaluations passed, with 95 % interval" } },
      yaxis: { tickvals: shown.map((_, index) => index), ticktext: shown.map((one) => brief(one.name)), range: [-0.6, shown.length - 0.4] },
    },
    click: (point) => go("evaluations", { ...filterParams(), [filterKey(params.get("by") || labelNames()[0])]: shown[point.y].name }),
  });
  return plot("Pass rates with confidence intervals; the table below has the numbers", 90 + 30 * shown.length, make);
}

function heatPlot(rowNames, columns, cells) {
  const make = () => ({
    traces: [{
      type: "heatmap",
      z: cells.map((line) => line.map((one) => (one === null || one.share === null ? null : 100 * one.share))),
      x: columns.map((_, index) => index),
      y: rowNames.map((_, index) => index),
      text: cells.map((line) => line.map((one) => (one === null ? "" : one.text))),
      hovertext: cells.map((line, y) => line.map((one, x) => (one === null ? "" : `${brief(rowNames[y], 60)}<br>${brief(columns[x], 60)}: ${one.said}`))),
      hoverinfo: "text",
      texttemplate: rowNames.length * columns.length <= 800 ? "%{text}" : undefined,
      textfont: { size: 12, color: colour("text") },
      zmin: 0,
      zmax: 100,
      xgap: 2,
      ygap: 2,
      colorscale: [[0, colour("heat-0")], [0.5, colour("heat-1")], [1, colour("heat-2")]],
      colorbar: { ticksuffix: " %", thickness: 12, outlinewidth: 0, len: Math.min(260, 40 + 24 * rowNames.length), lenmode: "pixels", y: 1, yanchor: "top" },
      hoverongaps: false,
      showscale: !isNarrow(),
    }],
    layout: {
      xaxis: { side: "top", tickvals: columns.map((_, index) => index), ticktext: columns.map((name) => brief(name)), showgrid: false, zeroline: false },
      yaxis: { autorange: "reversed", tickvals: rowNames.map((_, index) => index), ticktext: rowNames.map((name) => brief(name, isNarrow() ? 24 : 44)), showgrid: false, zeroline: false },
      margin: { l: 10, r: 10, t: 40, b: 10 },
    },
    click: (point) => openRows(cells[point.y][point.x].rows),
  });
  return plot("Heat map of scores; the table below has the numbers", 70 + 24 * rowNames.length, make);
}

function progressPlot(series, ticks) {
  const panel = (part, index) => series.map(({ name, points }, number) => ({
    type: "scatter",
    mode: "lines+markers",
    name: brief(name),
    legendgroup: String(number),
    showlegend: index === 0,
    x: points.map((_, position) => position),
    y: points.map((point) => (point[part] === null ? null : 100 * point[part])),
    xaxis: index ? "x2" : "x",
    yaxis: index ? "y2" : "y",
    line: { color: PALETTE[number % PALETTE.length], width: 2, dash: ["solid", "dash", "dot"][Math.floor(number / PALETTE.length) % 3] },
    marker: { size: 7 },
    text: points.map((point) => `${brief(name, 60)}<br>${percent(point[part], 1)}`),
    hoverinfo: "text",
  }));
  const xaxis = { tickvals: ticks.map((_, index) => index), ticktext: ticks.map((name) => brief(name, 20)), range: [-0.3, ticks.length - 0.7] };
  const narrow = isNarrow();
  const make = () => ({
    traces: [...panel("own", 0), ...panel("prior", 1)],
    layout: {
      grid: narrow ? { rows: 2, columns: 1, pattern: "independent", ygap: 0.35 } : { rows: 1, columns: 2, pattern: "independent", xgap: 0.14 },
      showlegend: true,
      legend: { orientation: "h", y: narrow ? -0.14 : -0.28 },
      xaxis: { ...xaxis, title: { text: "tests of the checkpoint itself" } },
      xaxis2: { ...xaxis, title: { text: narrow ? "tests of earlier checkpoints" : "tests of earlier checkpoints (regressions)" } },
      yaxis: { range: [-3, 103], ticksuffix: " %" },
      yaxis2: { range: [-3, 103], ticksuffix: " %" },
    },
  });
  return plot("Scores over checkpoints; the table below has the numbers", narrow ? 640 : 400, make);
}
