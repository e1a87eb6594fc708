// data.js - the runs as the library wrote them, and points for a pair of axes. Nothing is computed here beyond what
// an axis needs: results, savings and thinning come from the library.
"use strict";

const data = (() => {
  const { version, columns, runs } = JSON.parse(document.getElementById("data").textContent);

  // Two runs may have one name; the second gets a number, so that they can be told apart.
  const seen = new Map();
  runs.forEach((run, index) => {
    const times = (seen.get(run.name) || 0) + 1;
    seen.set(run.name, times);
    run.index = index;
    run.label = times > 1 ? `${run.name} (${times})` : run.name || `run ${index + 1}`;
    run.fact = Object.fromEntries(run.facts);
  });

  const quantities = {
    step: { label: "Steps", kind: "count" },
    epochs: { label: "Epochs", kind: "plain" },
    uplink_bytes: { label: "Uplink bytes", kind: "bytes" },
    total_bytes: { label: "Total bytes (up + down)", kind: "bytes", sum: ["uplink_bytes", "downlink_bytes"] },
    sent_bytes: { label: "Sent bytes (all processes)", kind: "bytes" },
    cost: { label: "Cost (uplink)", kind: "amount" },
    seconds: { label: "Seconds", kind: "seconds" },
    loss: { label: "Loss", kind: "plain" },
    gap: { label: "Gap to the minimum", kind: "plain" },
    average_loss: { label: "Loss of the average", kind: "plain" },
    average_gap: { label: "Gap of the average", kind: "plain" },
    accuracy: { label: "Accuracy", kind: "share" },
    bound: { label: "Bound of the theorem", kind: "plain" },
    level: { label: "Level: entries that a worker sent", kind: "count", band: ["level_least", "level_most"] },
    kept: { label: "Energy kept", kind: "share" },
    residual: { label: "Residual |e|²", kind: "plain" },
    unsent: { label: "Not sent so far, |·|²", kind: "plain" },
    step_size: { label: "Step size", kind: "plain" },
    latency: { label: "Latency of the link", kind: "seconds" },
    bandwidth: { label: "Bandwidth of the link, bytes/s", kind: "bytes" },
  };
  // The unit of the cost is the cost model's, which is worth naming where all runs share one.
  const models = new Set(runs.map((run) => run.fact.cost));
  if (models.size === 1 && [...models][0]) quantities.cost.label += `: ${[...models][0]}`;

  const axes = {
    x: ["step", "epochs", "uplink_bytes", "total_bytes", "sent_bytes", "cost", "seconds"],
    y: ["loss", "gap", "accuracy", "average_loss", "average_gap"],
    s: ["level", "kept", "residual", "unsent", "step_size", "latency", "bandwidth"],
  };

  function values(run, name) {
    const parts = quantities[name]?.sum;
    if (!parts) return run.numbers[name] || null;
    const [a, b] = parts.map((part) => run.numbers[part]);
    return a && b ? a.map((v, i) => (v === null || b[i] === null ? null : v + b[i])) : null;
  }

  const known = (name) => runs.some((run) => values(run, name) !== null);

  // Points that an axis can show, each with its place i in the columns: a logarithm has no place for 0.
  function points(run, x, y, logX, logY) {
    const xs = values(run, x);
    const ys = values(run, y);
    const shows = (v, log) => Number.isFinite(v) && (!log || v > 0);
    const out = [];
    if (!xs || !ys) return out;
    for (let i = 0; i < xs.length; i++) {
      if (shows(xs[i], logX) && shows(ys[i], logY)) out.push({ x: xs[i], y: ys[i], i });
    }
    return out;
  }

  // The last point at or before x; `ended` where the run has no later one.
  function at(list, x) {
    if (list.length === 0 || x < list[0].x) return null;
    let low = 0;
    let high = list.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (list[middle].x <= x) low = middle;
      else high = middle - 1;
    }
    return { point: list[low], ended: low === list.length - 1 && x > list[low].x };
  }

  // Texts are kept as [from this point on, text].
  function text(run, column, i) {
    let found = "";
    for (const [from, words] of run.texts[column] || []) {
      if (from > i) break;
      found = words;
    }
    return found;
  }

  // Where steps of one setting begin and end on this axis, and what it is: of runs whose tuner steers.
  function settings(run, x) {
    const steps = run.numbers.step || [];
    const xs = values(run, x);
    const list = run.settings || [];
    if (!xs || list.length === 0) return [];
    const place = (step) => {
      let before = null;
      for (let i = 0; i < steps.length; i++) {
        if (!Number.isFinite(xs[i])) continue;
        if (steps[i] >= step) {
          if (before === null || steps[i] === step) return xs[i];
          return xs[before] + ((xs[i] - xs[before]) * (step - steps[before])) / (steps[i] - steps[before]);
        }
        before = i;
      }
      return before === null ? null : xs[before];
    };
    const ends = [...list.slice(1).map(([step]) => step), Infinity];
    return list.map(([step, , setting, reason], i) => ({ from: place(step), to: place(ends[i]), step, setting, reason }))
      .filter(({ from, to }) => from !== null && to !== null);
  }

  return { version, columns, runs, quantities, axes, values, known, points, at, text, settings };
})();
