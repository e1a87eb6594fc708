// time.js - where the time of a mean step went: one bar for each run.
"use strict";

const PHASES = [
  ["compute", "gradients and updates"], ["encode", "selecting and encoding"], ["wait", "waiting for others"],
  ["transfer", "moving frames"], ["decode", "decoding and adding"], ["record", "besides: losses, records, checkpoints"],
  ["other", "in none of these"],
];

class TimePlot {
  constructor(canvas, list) {
    this.canvas = canvas;
    this.box = canvas.parentElement;
    this.empty = this.box.querySelector(".empty");
    this.keys = PHASES.map(([name, doc]) => {
      const swatch = element("span", "block");
      const item = element("li");
      item.append(swatch, element("b", "", name), document.createTextNode(" " + doc));
      list.append(item);
      return swatch;
    });
    this.chart = new Chart(canvas, {
      type: "bar",
      data: { labels: [], datasets: [] },
      options: {
        indexAxis: "y", animation: false, responsive: true, maintainAspectRatio: false,
        layout: { padding: { right: 12 } },
        interaction: { mode: "nearest", axis: "y", intersect: false },
        plugins: {
          legend: { display: false },
          tooltip: {
            mode: "index",
            callbacks: { label: ({ dataset, raw }) => ` ${dataset.label}: ${format.number(raw, "seconds", 3)}` },
          },
        },
      },
    });
  }

  draw(visible) {
    const { phases: colours, text, muted, grid } = theme.colours();
    this.keys.forEach((swatch, i) => swatch.style.setProperty("--run", colours[i]));
    const shown = data.runs.filter((run, i) => visible[i] && PHASES.some(([name]) => run.per_step[name] > 0));
    this.empty.hidden = shown.length > 0;
    this.empty.textContent = visible.some(Boolean) ? "These runs did not record where their time went."
      : "No run is switched on.";
    this.canvas.classList.toggle("blank", shown.length === 0);
    this.box.style.minHeight = `${Math.max(11, 4 + 1.9 * shown.length)}rem`;
    this.canvas.setAttribute("aria-label", "Seconds per step. " + shown.map((run) => `${run.label}: ` +
      PHASES.map(([name]) => `${name} ${format.number(run.per_step[name], "seconds", 3)}`).join(", ")).join(". "));

    const narrow = this.box.clientWidth < 480;
    this.chart.data = {
      labels: shown.map((run) => run.per_step.overlap > 0
        ? `${run.label}, ${format.number(run.per_step.overlap, "seconds", 2)} of it side by side` : run.label),
      datasets: PHASES.map(([name], i) => ({
        label: name, data: shown.map((run) => run.per_step[name]), backgroundColor: colours[i], maxBarThickness: 26,
      })),
    };
    this.chart.options.scales = {
      x: {
        stacked: true, grid: { color: grid, borderColor: grid }, title: { display: true, text: "Time per step", color: text },
        ticks: { color: muted, maxRotation: 0, autoSkipPadding: 12, callback: (value) => format.tick(value, "seconds") },
      },
      y: {
        stacked: true, grid: { display: false, borderColor: grid },
        ticks: {
          color: text, autoSkip: false,
          callback: (value, i) => format.shorten(shown[i]?.label || "", narrow ? 13 : 26),
        },
      },
    };
    this.chart.resize();
    this.chart.update("none");
  }
}
