// legend.js - the runs of a plot as buttons that switch them on and off, each with its value at the cursor.
"use strict";

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function paintSwatch(swatch) {
  const { colour, marker } = theme.run(Number(swatch.dataset.run));
  swatch.style.setProperty("--run", colour);
  swatch.textContent = marker.glyph;
}

function makeSwatch(index) {
  const swatch = element("span", "swatch");
  swatch.setAttribute("aria-hidden", "true");
  swatch.dataset.run = index;
  paintSwatch(swatch);
  return swatch;
}

class Legend {
  constructor(list, onToggle) {
    this.rows = data.runs.map((run) => {
      const button = element("button", "run");
      button.type = "button";
      const name = element("span", "name", run.label);
      name.title = run.label;
      const value = element("span", "value");
      const reason = element("span", "reason");
      button.append(makeSwatch(run.index), name, value, reason);
      button.addEventListener("click", () => onToggle(run.index));
      const item = element("li");
      item.append(button);
      list.append(item);
      return { button, value, reason };
    });
  }

  setVisible(visible) {
    this.rows.forEach(({ button }, i) => button.setAttribute("aria-pressed", String(visible[i])));
  }

  // words[i]: { value, reason, ended } of run i, or null for nothing to say.
  setValues(words) {
    this.rows.forEach(({ value, reason }, i) => {
      const said = words[i];
      value.textContent = said ? said.value : "";
      value.classList.toggle("ended", Boolean(said && said.ended));
      reason.textContent = (said && said.reason) || "";
      reason.title = reason.textContent;
    });
  }
}
