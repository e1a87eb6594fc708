// table.js - the final result of every run, sorted by any column; the check boxes switch runs on and off.
"use strict";

const RESULTS = [
  { head: "Run", text: (run) => run.label },
  { head: "Loss", value: (run) => run.final.loss, digits: 6 },
  { head: "Gap", value: (run) => run.final.gap },
  { head: "Accuracy", value: (run) => run.final.accuracy, kind: "share" },
  { head: "Steps", value: (run) => run.final.step, kind: "count" },
  { head: "Up", value: (run) => run.final.uplink_bytes, kind: "bytes" },
  { head: "Down", value: (run) => run.final.downlink_bytes, kind: "bytes" },
  { head: "Cost", value: (run) => run.final.cost, kind: "amount" },
  { head: "Time", value: (run) => run.final.seconds, kind: "seconds" },
  { head: "× up", value: (run) => run.cheaper.times, kind: "times" },
  { head: "× sent", value: (run) => run.cheaper.sent, kind: "times" },
];

class ResultsTable {
  constructor(table, onToggle) {
    // A column that no run knows would only take room.
    this.columns = RESULTS.filter((column) => column.text || data.runs.some((run) => column.value(run) !== null));
    this.body = table.tBodies[0];
    this.sorted = { column: null, direction: 1 };
    this.heads = this.columns.map((column) => {
      const head = element("th");
      head.scope = "col";
      const button = element("button", "sort", column.head);
      button.type = "button";
      button.addEventListener("click", () => this.sort(column));
      head.append(button);
      table.tHead.rows[0].append(head);
      return head;
    });
    this.rows = data.runs.map((run) => this.row(run, onToggle));
    this.body.append(...this.rows.map((row) => row.element));
  }

  row(run, onToggle) {
    const made = element("tr");
    const check = element("input");
    check.type = "checkbox";
    check.addEventListener("change", () => onToggle(run.index));
    for (const column of this.columns) {
      if (column.text) {
        const cell = element("th");
        const label = element("label");
        const name = element("span", "name", run.label);
        name.title = run.label;
        cell.scope = "row";
        label.append(check, makeSwatch(run.index), name);
        if (run.fact.baseline === "yes") label.append(element("span", "tag", "baseline"));
        cell.append(label);
        made.append(cell);
      } else {
        const value = column.value(run);
        const times = column.kind === "times";
        const words = times ? this.times(value, run.cheaper) : format.number(value, column.kind, column.digits);
        const cell = element("td", times ? "times" : "", words);
        cell.dataset.head = column.head; // the style sheet shows it where the table is drawn as cards
        made.append(cell);
      }
    }
    return { run, element: made, check };
  }

  times(value, cheaper) {
    return format.times(value) + (value !== null && cheaper.kind === "dense" ? " †" : "");
  }

  setVisible(visible) {
    this.rows.forEach(({ run, element: row, check }) => {
      check.checked = visible[run.index];
      row.classList.toggle("off", !visible[run.index]);
    });
  }

  // The first click sorts upwards (for savings: downwards), the second the other way. Unknown values stay last.
  sort(column) {
    const again = this.sorted.column === column;
    this.sorted = { column, direction: again ? -this.sorted.direction : column.kind === "times" ? -1 : 1 };
    const { direction } = this.sorted;
    const key = column.text || column.value;
    const ordered = [...this.rows].sort((a, b) => {
      const [p, q] = [key(a.run), key(b.run)];
      if (column.text) return direction * p.localeCompare(q, "en", { numeric: true });
      if (p === null || q === null) return (p === null) - (q === null);
      return direction * (p - q) || a.run.index - b.run.index;
    });
    this.body.append(...ordered.map((row) => row.element));
    this.heads.forEach((head, i) => {
      if (this.columns[i] === column) head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
  }
}

// How the savings were computed (src/report/summary.h), for the kinds of savings that there are.
function savingsNote() {
  const compared = data.runs.filter((run) => run.cheaper.kind === "baseline");
  const notes = [];
  if (compared.length > 0) {
    const unit = compared[0].final.cost === null ? "uplink bytes" : "cost";
    const names = [...new Set(compared.map((run) => data.runs[run.cheaper.baseline].label))].join(", ");
    notes.push(`× up, × sent: how many times cheaper than dense. The ${unit} of the way up, or all bytes that were sent, of the baseline ` +
      `(${names}) divided by those of the run, both until their loss was first at or below the lowest that both reached. ` +
      "A run's baseline is the dense run with its own estimator, where there is one.");
  }
  if (data.runs.some((run) => run.cheaper.kind === "dense")) {
    notes.push("† Without a baseline to compare with: the uplink bytes that dense frames would have taken in as many steps, " +
      "divided by those that were sent.");
  }
  return notes.join(" ");
}
