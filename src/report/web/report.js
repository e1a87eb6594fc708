// report.js - joins the parts: one state, and one function that draws it.
"use strict";

(() => {
  const get = (id) => document.getElementById(id);
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  const state = { visible: data.runs.map(() => true), cursor: null };

  const options = (axis) => data.axes[axis].filter(data.known);

  function fillSelect(id, names, chosen) {
    for (const name of names) get(id).append(new Option(data.quantities[name].label, name, false, name === chosen));
    get(id).disabled = names.length < 2;
  }

  // Runs that differ a lot in their bytes would be lines on the left edge without a logarithm.
  function spreadsWide(name) {
    const ends = data.runs.map((run) => data.values(run, name)?.filter(Number.isFinite).pop()).filter((v) => v > 0);
    return ends.length > 1 && Math.max(...ends) > 20 * Math.min(...ends);
  }

  function begin() {
    const [x, y, s] = ["x", "y", "s"].map(options);
    const first = (wanted, names) => wanted.find((name) => names.includes(name));
    fillSelect("x", x, first(["uplink_bytes", "step"], x));
    fillSelect("y", y, first(["gap", "loss"], y));
    fillSelect("s", s, s[0]);
    get("log-y").checked = ["gap", "average_gap"].includes(get("y").value);
    get("log-x").checked = spreadsWide(get("x").value);
    get("log-s").checked = ["residual", "level"].includes(get("s").value) && spreadsWide(get("s").value);
    get("bound").checked = true;
    get("bound-label").hidden = !data.known("bound");
  }

  const toggle = (index) => {
    state.visible[index] = !state.visible[index];
    draw();
  };
  const showAll = (on) => {
    state.visible.fill(on);
    draw();
  };

  const setCursor = (x) => {
    state.cursor = x;
    for (const panel of panels) showCursor(panel);
  };
  const panels = [
    { id: "progress", axis: "y", log: "log-y" },
    { id: "sent", axis: "s", log: "log-s" },
  ];
  for (const panel of panels) {
    panel.plot = new Plot(get(panel.id), setCursor);
    panel.legend = new Legend(get(`${panel.id}-legend`), toggle);
  }
  const time = new TimePlot(get("time"), get("phases"));
  const table = new ResultsTable(get("results"), toggle);

  function curveOf(run, x, y, logX, logY) {
    const curve = { run, points: data.points(run, x, y, logX, logY), settings: y === "bound" ? [] : data.settings(run, x) };
    const band = data.quantities[y]?.band;
    if (band && curve.points.length > 1) {
      const [low, high] = band.map((name) => data.points(run, x, name, logX, logY));
      // A band needs both its edges at every point.
      if (low.length === high.length && low.length > 1) Object.assign(curve, { low, high });
    }
    return curve;
  }

  function drawPanel(panel) {
    const [x, y] = [get("x").value, get(panel.axis).value];
    const [logX, logY] = [get("log-x").checked, get(panel.log).checked];
    const shown = data.runs.filter((run) => state.visible[run.index]);
    panel.curves = x && y ? shown.map((run) => curveOf(run, x, y, logX, logY)) : [];
    const bounds = get("bound").checked && ["gap", "average_gap"].includes(y)
      ? shown.map((run) => ({ ...curveOf(run, x, "bound", logX, logY), dashed: true })) : [];
    const missing = panel.curves.filter((curve) => curve.points.length === 0).map((curve) => curve.run.label);
    const why = logX || logY ? "has no positive value here (logarithmic axes show no other)" : "has no value here";
    get(`${panel.id}-note`).textContent = missing.length === 0 || missing.length === panel.curves.length ? ""
      : `Not shown, since it ${why}: ${missing.join(", ")}.`;
    panel.kind = data.quantities[y]?.kind;
    panel.band = data.quantities[y]?.band;
    const nothing = { label: "", kind: "plain" };
    panel.plot.draw([...bounds, ...panel.curves], {
      x: data.quantities[x] || nothing, y: data.quantities[y] || nothing, logX, logY,
      empty: data.runs.length === 0 ? "There is no run in this report."
        : shown.length === 0 ? "No run is switched on."
        : logX || logY ? "Nothing to show: no value that a logarithmic axis could show."
        : "Nothing to show: no run recorded this.",
    });
    panel.legend.setVisible(state.visible);
    showCursor(panel);
  }

  // The setting in use at a record, in its own words; "" where nobody steers.
  function settingAt(run, i) {
    const step = run.numbers.step?.[i] ?? 0;
    const [, , setting, reason] = (run.settings || []).filter(([from]) => from <= step).pop() || [];
    return setting ? `${setting.replaceAll(";", " ")} · ${reason}` : "";
  }

  function showCursor(panel) {
    const x = get("x").value;
    const words = new Array(data.runs.length).fill(null);
    if (state.cursor !== null) {
      for (const { run, points } of panel.curves) {
        const hit = data.at(points, state.cursor);
        if (!hit) {
          words[run.index] = { value: format.MISSING };
          continue;
        }
        const range = (panel.band || []).map((name) => data.values(run, name)?.[hit.point.i] ?? null);
        const spread = range.length && range[0] !== null && range[0] !== range[1]
          ? ` (${range.map((v) => format.number(v, panel.kind)).join(" … ")})` : "";
        words[run.index] = {
          value: format.number(hit.point.y, panel.kind) + spread,
          ended: hit.ended,
          reason: panel.id === "sent"
            ? (settingAt(run, hit.point.i) ||
               ["scheme", "collective", "reason"].map((c) => data.text(run, c, hit.point.i)).filter(Boolean).join(" · ")) : "",
        };
      }
    }
    panel.plot.setCursor(state.cursor);
    panel.legend.setValues(words);
    const { label, kind } = data.quantities[x] || { label: "", kind: "plain" };
    // Between two records a count is no whole number.
    const place = state.cursor === null ? "" : format.number(state.cursor, kind === "count" ? "plain" : kind);
    get(`${panel.id}-at`).textContent = place ? `At ${label.toLowerCase()} = ${place}:`
      : "Point at the plot, or focus it and use the arrow keys, to read values.";
  }

  function draw() {
    panels.forEach(drawPanel);
    time.draw(state.visible);
    table.setVisible(state.visible);
  }

  function describe() {
    const records = data.runs.reduce((sum, run) => sum + run.records, 0);
    const drawn = data.runs.reduce((sum, run) => sum + (Object.values(run.numbers)[0]?.length || 0), 0);
    const many = (n, word) => `${format.number(n, "count")} ${word}${n === 1 ? "" : "s"}`;
    get("about").textContent = `${many(data.runs.length, "run")}, ${many(records, "record")}` +
      (drawn < records ? `; drawn from ${format.number(drawn, "count")} of them, the extremes kept` : "");
    get("made").textContent = `Made by tithe ${data.version}. 1 kB is 1000 bytes.`;
    get("footnote").textContent = savingsNote();
  }

  begin();
  describe();
  fillRuns(get("runs"));
  for (const id of ["x", "y", "s", "log-x", "log-y", "log-s", "bound"]) {
    get(id).addEventListener("change", () => {
      state.cursor = null; // a place on one axis means nothing on another
      draw();
    });
  }
  get("all").addEventListener("click", () => showAll(true));
  get("none").addEventListener("click", () => showAll(false));
  theme.onChange(() => {
    document.querySelectorAll(".swatch").forEach(paintSwatch);
    draw();
  });
  draw();
})();
