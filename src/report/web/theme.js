// theme.js - the colours of what is drawn on a canvas, which style sheets do not reach.
// Runs have the colours of Okabe and Ito, which people with any colour vision can tell apart, a little darker on
// white where the original is faint. After seven runs they begin again with a marker on the line.
"use strict";

const theme = (() => {
  // Phases have the muted colours of Tol, so that nobody takes them for runs.
  const light = {
    phases: ["#88ccee", "#cc6677", "#ddcc77", "#332288", "#117733", "#b3bac2"],
    runs: ["#0072b2", "#d55e00", "#009e73", "#a8467f", "#b8860b", "#2f9bd8", "#3d3d3d"],
    text: "#1f2328", muted: "#59636e", grid: "#e4e7eb", cursor: "#6e7781", surface: "#ffffff",
  };
  const dark = {
    phases: ["#88ccee", "#d9798a", "#ddcc77", "#8f84e8", "#4cae6c", "#6e7781"],
    runs: ["#4aa8e8", "#ff8a3d", "#2fc79b", "#e38fc0", "#e9b949", "#9ad4ff", "#e0e0e0"],
    text: "#e6edf3", muted: "#9da7b1", grid: "#2b323b", cursor: "#8b949e", surface: "#161b22",
  };
  const MARKERS = [
    { style: false, glyph: "" },
    { style: "circle", glyph: "●" },
    { style: "triangle", glyph: "▲" },
    { style: "rect", glyph: "■" },
    { style: "rectRot", glyph: "◆" },
    { style: "crossRot", glyph: "✕" },
    { style: "star", glyph: "✳" },
  ];

  const wantsDark = window.matchMedia("(prefers-color-scheme: dark)");
  let printing = false;
  const colours = () => (wantsDark.matches && !printing ? dark : light);

  // Paper is white: charts are drawn again in light colours for it, and back afterwards.
  function onChange(redraw) {
    wantsDark.addEventListener("change", redraw);
    for (const [event, now] of [["beforeprint", true], ["afterprint", false]]) {
      window.addEventListener(event, () => {
        printing = now;
        redraw();
      });
    }
  }

  function run(index) {
    const count = light.runs.length;
    return { colour: colours().runs[index % count], marker: MARKERS[Math.floor(index / count) % MARKERS.length] };
  }

  const faint = (colour, share) => colour + Math.round(share * 255).toString(16).padStart(2, "0");

  return { colours, run, faint, onChange };
})();
