// plot.js - a line plot over Chart.js with a cursor: moved by pointer or arrow keys, read by the legend.
"use strict";

// Chart.js draws 1, 2, ... 9 of every decade; labels need room, so decades go first, and with few of them 2 and 5.
function sparseLogTicks(scale) {
  const decade = (v) => Math.log10(v);
  const isPower = (v) => Math.abs(decade(v) - Math.round(decade(v))) < 1e-9;
  // Chart.js rounds outwards to the next tick, even where the axis ends at the data.
  scale.ticks = scale.ticks.filter((t) => t.value >= scale.min && t.value <= scale.max);
  const powers = scale.ticks.filter((t) => isPower(t.value));
  if (powers.length < 2) {
    const leading = (v) => Number(v.toExponential(6).split("e")[0]);
    scale.ticks = scale.ticks.filter((t) => [1, 2, 5].includes(leading(t.value)));
    return;
  }
  const room = scale.isHorizontal() ? scale.chart.width / 75 : scale.chart.height / 34;
  const every = Math.ceil(powers.length / Math.max(2, room));
  scale.ticks = powers.filter((t) => Math.round(decade(t.value)) % every === 0);
}

// The vertical line at the cursor, and on every curve the value that the legend shows.
const cursorPlugin = {
  id: "cursor",
  afterDatasetsDraw(chart) {
    const { ctx, chartArea, scales, $cursor } = chart;
    if ($cursor === null || $cursor === undefined || !chartArea) return;
    const px = scales.x.getPixelForValue($cursor);
    if (!(px >= chartArea.left - 1 && px <= chartArea.right + 1)) return;
    ctx.save();
    ctx.strokeStyle = theme.colours().cursor;
    ctx.lineWidth = 1;
    ctx.setLineDash([3, 3]);
    ctx.beginPath();
    ctx.moveTo(px, chartArea.top);
    ctx.lineTo(px, chartArea.bottom);
    ctx.stroke();
    ctx.setLineDash([]);
    for (const set of chart.data.datasets) {
      const hit = set.run === undefined ? null : data.at(set.data, $cursor);
      if (!hit) continue;
      ctx.beginPath();
      ctx.arc(scales.x.getPixelForValue(hit.point.x), scales.y.getPixelForValue(hit.point.y), 3.5, 0, 2 * Math.PI);
      ctx.fillStyle = set.borderColor;
      ctx.strokeStyle = theme.colours().surface;
      ctx.lineWidth = 1.5;
      ctx.fill();
      ctx.stroke();
    }
    ctx.restore();
  },
};

// A strip along the bottom for each run whose tuner steers: its shade changes where the setting does.
const bandPlugin = {
  id: "bands",
  afterDatasetsDraw(chart) {
    const { ctx, chartArea, scales, $bands } = chart;
    if (!$bands || !chartArea) return;
    const height = 6;
    $bands.forEach(({ colour, parts }, row) => {
      const top = chartArea.bottom - (row + 1) * (height + 2);
      parts.forEach(({ from, to }, i) => {
        const left = Math.max(chartArea.left, scales.x.getPixelForValue(from));
        const right = Math.min(chartArea.right, scales.x.getPixelForValue(to));
        if (!(right > left)) return;
        ctx.fillStyle = theme.faint(colour, i % 2 ? 0.35 : 0.8);
        ctx.fillRect(left, top, right - left, height);
      });
    });
  },
};

class Plot {
  // onCursor(x or null) is told where the cursor is.
  constructor(canvas, onCursor) {
    this.canvas = canvas;
    this.empty = canvas.parentElement.querySelector(".empty");
    this.onCursor = onCursor;
    this.chart = new Chart(canvas, {
      type: "line",
      data: { datasets: [] },
      options: {
        animation: false, parsing: false, normalized: true, responsive: true, maintainAspectRatio: false,
        events: [], layout: { padding: { right: 12, top: 6 } },
        elements: { line: { borderWidth: 2, borderJoinStyle: "round" } },
        plugins: { legend: { display: false }, tooltip: { enabled: false } },
        scales: { x: this.axis("linear", "", "plain"), y: this.axis("linear", "", "plain", true) },
      },
      plugins: [bandPlugin, cursorPlugin],
    });
    canvas.addEventListener("pointermove", (event) => this.point(event));
    canvas.addEventListener("pointerdown", (event) => this.point(event));
    canvas.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && this.onCursor(null));
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("blur", () => this.onCursor(null));
  }

  axis(type, label, kind, upright) {
    const { text, muted, grid } = theme.colours();
    return {
      type,
      bounds: type === "logarithmic" && !upright ? "data" : "ticks",
      title: { display: label !== "", text: label, color: text },
      grid: { color: grid, borderColor: grid, tickLength: 4 },
      ticks: {
        color: muted, maxRotation: 0, autoSkipPadding: 12, precision: kind === "count" ? 0 : undefined,
        autoSkip: type === "linear",
        callback: (value) => format.tick(value, kind, type === "logarithmic"),
      },
      afterBuildTicks: type === "logarithmic" ? sparseLogTicks : undefined,
    };
  }

  // Curves of { run, points, low, high, dashed }; `what` names the two axes.
  draw(curves, what) {
    const drawn = curves.filter((curve) => curve.points.length > 0);
    this.empty.hidden = drawn.length > 0;
    this.empty.textContent = what.empty;
    this.canvas.classList.toggle("blank", drawn.length === 0);
    const names = drawn.filter((curve) => !curve.dashed).map((curve) => curve.run.label).join(", ");
    this.canvas.setAttribute("aria-label", `${what.y.label} against ${what.x.label}: ${names}. Left and right arrows move the cursor.`);
    this.chart.$bands = drawn.filter((curve) => curve.settings?.length)
      .map((curve) => ({ colour: theme.run(curve.run.index).colour, parts: curve.settings }));
    this.chart.data.datasets = drawn.flatMap((curve) => this.datasets(curve));
    this.chart.options.scales = {
      x: this.axis(what.logX ? "logarithmic" : "linear", what.x.label, what.x.kind),
      y: this.axis(what.logY ? "logarithmic" : "linear", what.y.label, what.y.kind, true),
    };
    this.chart.update("none");
  }

  datasets({ run, points, low, high, dashed }) {
    const { colour, marker } = theme.run(run.index);
    const every = Math.max(1, Math.floor(points.length / 8));
    const line = {
      data: points, clip: 5, borderColor: dashed ? theme.faint(colour, 0.8) : colour, backgroundColor: colour,
      borderDash: dashed ? [6, 5] : [], borderWidth: dashed ? 1.5 : 2, pointStyle: marker.style || "circle",
      pointBorderColor: colour,
      // A run of one record has no line, only its point.
      pointRadius: (context) => (points.length === 1 || (marker.style && !dashed && context.dataIndex % every === 0) ? 4 : 0),
    };
    if (!dashed) line.run = run.index;
    if (!low || !high) return [line];
    const edge = { borderWidth: 0, pointRadius: 0 };
    return [{ ...edge, data: low }, { ...edge, data: high, fill: "-1", backgroundColor: theme.faint(colour, 0.16) }, line];
  }

  setCursor(x) {
    this.chart.$cursor = x;
    this.chart.draw();
  }

  point(event) {
    const { left, right, top, bottom } = this.chart.chartArea;
    const { offsetX, offsetY } = event;
    const inside = offsetX >= left && offsetX <= right && offsetY >= top && offsetY <= bottom;
    this.onCursor(inside && this.chart.data.datasets.length > 0 ? this.chart.scales.x.getValueForPixel(offsetX) : null);
  }

  key(event) {
    const { left, right } = this.chart.chartArea;
    const x = this.chart.scales.x;
    const old = this.chart.$cursor ?? null;
    const from = old === null ? (left + right) / 2 : x.getPixelForValue(old);
    const stride = (right - left) / (event.shiftKey ? 10 : 100);
    const places = { ArrowLeft: from - stride, ArrowRight: from + stride, Home: left, End: right };
    if (event.key === "Escape") this.onCursor(null);
    if (!(event.key in places) || this.chart.data.datasets.length === 0) return;
    event.preventDefault();
    this.onCursor(x.getValueForPixel(Math.min(right, Math.max(left, places[event.key]))));
  }
}
