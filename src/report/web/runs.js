// runs.js - what is known about each run, its command first, with a button that copies it.
"use strict";

// The clipboard of the browser needs leave that a page from a file may not have; a selection does not.
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = element("textarea", "aside", text);
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}

function makeCommand(command) {
  const box = element("div", "command");
  const button = element("button", "copy", "Copy");
  button.type = "button";
  button.setAttribute("aria-live", "polite");
  button.addEventListener("click", async () => {
    button.textContent = (await copyText(command)) ? "Copied" : "Not copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  box.append(element("code", "", command), button);
  return box;
}

function makeFacts(run) {
  const list = element("dl");
  const rows = run.facts.filter(([key]) => key !== "command");
  rows.push(["records", format.number(run.records, "count")]);
  for (const [key, value] of rows) {
    list.append(element("dt", "", key), element("dd", "", value));
  }
  return list;
}

// What a tuner that steers changed, when, and why.
function makeSettings(run) {
  const table = element("table", "settings");
  const head = element("tr");
  for (const word of ["from step", "setting", "reason"]) head.append(element("th", "", word));
  table.append(element("thead"), element("tbody"));
  table.tHead.append(head);
  for (const [step, , setting, reason] of run.settings) {
    const row = element("tr");
    row.append(element("td", "", format.number(step, "count")), element("td", "", setting.replaceAll(";", " ")), element("td", "", reason));
    table.tBodies[0].append(row);
  }
  return table;
}

function fillRuns(box) {
  for (const run of data.runs) {
    const details = element("details");
    const summary = element("summary");
    details.open = data.runs.length === 1;
    const words = element("span", "words");
    words.append(element("span", "", run.label));
    if (run.fact.codec) words.append(element("code", "brief", run.fact.codec));
    summary.append(makeSwatch(run.index), words);
    details.append(summary);
    if (run.fact.command) details.append(makeCommand(run.fact.command));
    if (run.settings?.length) details.append(makeSettings(run));
    details.append(makeFacts(run));
    box.append(details);
  }
  // Paper cannot be opened: all of it is shown there.
  const all = [...box.children];
  let open = [];
  window.addEventListener("beforeprint", () => {
    open = all.map((details) => details.open);
    all.forEach((details) => (details.open = true));
  });
  window.addEventListener("afterprint", () => all.forEach((details, i) => (details.open = open[i])));
}
