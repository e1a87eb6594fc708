#!/usr/bin/env python3
"""The page of tithe report in a real browser: it draws, it answers, it asks the network for nothing.

With TITHE_SHOTS=FOLDER it leaves screenshots there, for people to look at."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser
import runs
from support import check, finish, happens

tithe = os.path.abspath(os.environ["TITHE"])
shots = os.environ.get("TITHE_SHOTS")
shots = shots and os.path.abspath(shots)


def report(out, *traces, title=None):
    subprocess.run([tithe, "report", *traces, "--out", out, *(["--title", title] if title else [])], check=True,
                   stdout=subprocess.DEVNULL)
    return out


# The pixels of a canvas, by way of a copy: reading the original often makes the browser complain.
READ = """
const c = document.querySelector(arguments[0]);
const copy = new OffscreenCanvas(c.width, c.height).getContext('2d', {willReadFrequently: true});
copy.drawImage(c, 0, 0);
const p = copy.getImageData(0, 0, c.width, c.height).data;
"""

# What is on a canvas: how many pixels are painted, and a hash of all of them.
PIXELS = READ + """
let painted = 0, hash = 0;
for (let i = 0; i < p.length; i += 4) {
  if (p[i + 3] > 0) painted++;
  hash = (hash * 31 + p[i] + 256 * p[i + 1] + 65536 * p[i + 2] + p[i + 3]) | 0;
}
return [painted, hash];"""

# How many pixels of a canvas have about this colour.
COLOURED = READ + """
const want = [1, 3, 5].map((i) => parseInt(arguments[1].slice(i, i + 2), 16));
let n = 0;
for (let i = 0; i < p.length; i += 4)
  if (p[i + 3] > 200 && want.every((v, k) => Math.abs(p[i + k] - v) < 24)) n++;
return n;"""

AXES = "const s = Chart.getChart(arguments[0]).scales; return [s.x.type, s.y.type, s.x.options.title.text, s.y.options.title.text]"
VALUES = "return [...document.querySelectorAll(arguments[0] + ' .value')].map((e) => e.textContent)"
WIDTHS = "return [document.documentElement.scrollWidth, innerWidth]"


def quiet(b, what):
    """No message of any kind on the console, and no request but the page itself."""
    said = b.log("browser")
    check(not said, f"{what}: the console says {said}")
    requests = [json.loads(entry["message"])["message"] for entry in b.log("performance")]
    urls = [r["params"]["request"]["url"] for r in requests if r["method"] == "Network.requestWillBeSent"]
    check(all(url.startswith(("file://", "data:")) for url in urls), f"{what}: asked for {urls}")


def until(b, script, *args):
    """The page's own timers may need a moment."""
    return happens(lambda: b.run(script, *args), script)


def test_curves(b, page):
    b.size(1280, 900)
    b.open(page)
    quiet(b, "opening")
    colours = b.run("return data.runs.map((r) => theme.run(r.index).colour)")
    for canvas in ("#progress", "#sent", "#time"):
        check(b.run(PIXELS, canvas)[0] > 2000, f"{canvas} is blank")
    for i, colour in enumerate(colours):
        check(b.run(COLOURED, "#progress", colour) > 100, f"run {i} has no curve")
    check(b.run("return document.querySelectorAll('#results tbody tr').length") == 6, "rows of the table")

    # A run is switched off in the legend, and on again in the table; everything follows.
    full = b.run(PIXELS, "#progress")
    b.click("#progress-legend li:nth-child(2) button")
    check(b.run(COLOURED, "#progress", colours[1]) < 20, "the curve stays after its run was switched off")
    check(b.run(PIXELS, "#progress") != full, "the plot did not change")
    states = "return ['#progress-legend', '#sent-legend'].map((l) => document.querySelector(l + ' li:nth-child(2) button').ariaPressed)"
    check(b.run(states) == ["false", "false"], "the legends do not say that a run is off")
    box = "#results tbody tr:nth-child(2) input"
    check(b.run("return document.querySelector(arguments[0]).checked", box) is False, "the table does not say it")
    b.click(box)
    check(b.run(PIXELS, "#progress") == full, "on again is not as before")
    b.click("#none")
    check(b.run("return !document.querySelector('#progress + .empty').hidden"), "no words where no run is on")
    b.click("#all")
    check(b.run(PIXELS, "#progress") == full, "all on is not as before")
    b.click("#bound")
    check(b.run(PIXELS, "#progress") != full, "the bound cannot be switched off")
    b.click("#bound")
    quiet(b, "switching runs")


def test_axes(b, page):
    b.open(page)
    check(b.run(AXES, "progress") == ["logarithmic", "logarithmic", "Uplink bytes", "Gap to the minimum"], "the first view")
    seen = set()
    for x in ("step", "epochs", "uplink_bytes", "total_bytes", "sent_bytes", "cost", "seconds"):
        b.choose("#x", x)
        title = b.run("return data.quantities[arguments[0]].label", x)
        check(b.run(AXES, "progress")[2] == title == b.run(AXES, "sent")[2], f"axis {x}")
        seen.add(b.run(PIXELS, "#progress")[1])
    check(len(seen) == 7, "some horizontal axes look the same")
    for y in ("loss", "gap", "accuracy", "average_loss", "average_gap"):
        b.choose("#y", y)
        check(b.run(AXES, "progress")[3] == b.run("return data.quantities[arguments[0]].label", y), f"axis {y}")
    for s in ("level", "kept", "residual", "unsent", "step_size"):
        b.choose("#s", s)
        check(b.run(AXES, "sent")[3] == b.run("return data.quantities[arguments[0]].label", s), f"axis {s}")
    for box, place in (("#log-x", 0), ("#log-y", 1)):
        before, picture = b.run(AXES, "progress")[place], b.run(PIXELS, "#progress")
        b.click(box)
        check(b.run(AXES, "progress")[place] != before, f"{box} does nothing")
        check(b.run(PIXELS, "#progress") != picture, f"{box} does not change the picture")
    b.click("#log-s")
    # A residual of exactly 0 has no place on a logarithmic axis; the plot says so, and shows the rest.
    b.choose("#s", "residual")
    b.run("const c = document.querySelector('#log-s'); c.checked = true; c.dispatchEvent(new Event('change'))")
    check("dense" in b.run("return document.querySelector('#sent-note').textContent"), "no word about runs that a log axis hides")
    check(b.run("return Chart.getChart('sent').data.datasets.length") > 0, "a log axis hides all")
    quiet(b, "axes")


def test_cursor(b, page):
    b.open(page)
    b.choose("#x", "step")
    empty = b.run(PIXELS, "#progress")
    check(not any(b.run(VALUES, "#progress-legend")), "values without a cursor")
    b.move_to("#progress", 50, 10)
    values = b.run(VALUES, "#progress-legend")
    check(len(values) == 6 and all(values), f"values under the cursor: {values}")
    at = b.run("return Chart.getChart('progress').$cursor")
    for i, run_values in enumerate(b.run("return data.runs.map((r) => [r.numbers.step, r.numbers.gap])")):
        last = [gap for step, gap in zip(*run_values) if step <= at][-1]
        words = b.run("return format.number(arguments[0])", last)
        check(values[i] == words, f"run {i} at {at}: {values[i]} in place of {words}")
    check(b.run(PIXELS, "#progress") != empty, "no line at the cursor")
    check(all(b.run(VALUES, "#sent-legend")), "the other plot does not follow")
    b.move_to("#progress", 120, 10)
    check(b.run(VALUES, "#progress-legend") != values, "values do not follow the cursor")
    b.move_to("#results-title", 0, 0)
    check(not any(b.run(VALUES, "#progress-legend")), "values stay when the cursor is gone")
    # The same without a mouse: End is E010, the arrows are E012 and E014.
    b.run("document.querySelector('#progress').focus()")
    b.keys("#progress", "\ue010")
    last = b.run("return Chart.getChart('progress').$cursor")
    b.keys("#progress", "\ue012\ue012")
    check(b.run("return Chart.getChart('progress').$cursor") < last, "arrow keys do not move the cursor")
    check(all(b.run(VALUES, "#progress-legend")), "no values by keyboard")
    quiet(b, "cursor")


def test_table(b, page):
    b.open(page)
    order = "return [...document.querySelectorAll('#results tbody .name')].map((e) => e.textContent)"
    heads = b.run("return [...document.querySelectorAll('#results th[scope=col]')].map((e) => e.textContent)")
    check(heads == ["Run", "Loss", "Gap", "Accuracy", "Steps", "Up", "Down", "Cost", "Time", "× up", "× sent"],
          f"columns: {heads}")
    first = b.run(order)
    b.click("#results th:nth-child(6) button")
    ups = """return [...document.querySelectorAll('#results tbody .name')].map((name) =>
        data.runs.find((run) => run.label === name.textContent).final.uplink_bytes)"""
    check(b.run(ups) == sorted(b.run(ups)) and b.run(order) != first, "not sorted by bytes")
    b.click("#results th:nth-child(6) button")
    check(b.run(ups) == sorted(b.run(ups), reverse=True), "not sorted the other way")
    check(b.run("return document.querySelector('#results th:nth-child(6)').ariaSort") == "descending", "aria-sort")
    cells = b.run("""return [...document.querySelectorAll('#results tbody tr')].map((row) =>
        [row.querySelector('.name'), row.cells[5], row.cells[9], row.cells[10]].map((cell) => cell.textContent))""")
    cells = {name: rest for name, *rest in cells}
    check(cells["dense"] == ["302.3 MB", "1 ×", "1 ×"], f"the row of dense: {cells['dense']}")
    savings = float(cells["cat on ethernet"][1].split()[0])
    check(100 < savings < 200, f"savings of cat: {savings}")
    sent = b.run("return data.runs.find((run) => run.label === 'cat on ethernet').cheaper.sent")
    check(cells["cat on ethernet"][2] == b.run("return format.times(arguments[0])", sent) and 50 < sent < 150, f"sent by cat: {sent}")
    b.click("#results th:nth-child(11) button")
    order_sent = """return [...document.querySelectorAll('#results tbody .name')].map((name) =>
        data.runs.find((run) => run.label === name.textContent).cheaper.sent)"""
    check(b.run(order_sent) == sorted(b.run(order_sent), reverse=True), "not ranked by what was sent")
    check("baseline (dense)" in b.run("return document.querySelector('#footnote').textContent"), "the footnote names the baseline")


def test_commands(b, page):
    b.open(page)
    b.devtools("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    b.click("#runs details:nth-child(3) summary")
    b.click("#runs details:nth-child(3) .copy")
    check(until(b, "return document.querySelector('#runs details:nth-child(3) .copy').textContent === 'Copied'"), "the copy button")
    b.run("navigator.clipboard.readText().then((t) => { window.pasted = t; }, (e) => { window.pasted = String(e); })")
    until(b, "return window.pasted !== undefined")
    command = b.run("return data.runs[2].fact.command")
    check(b.run("return window.pasted") == command and command.startswith("tithe train"), "what was copied is not the command")
    facts = b.run("return document.querySelector('#runs details:nth-child(3) dl').textContent")
    check("invented" in facts and "logistic" in facts, f"facts: {facts}")
    # Where the clipboard is refused, a selection does it.
    b.run("navigator.clipboard.writeText = () => Promise.reject(new Error('no'))")
    b.click("#runs details:nth-child(1) summary")
    b.click("#runs details:nth-child(1) .copy")
    check(until(b, "return document.querySelector('#runs details:nth-child(1) .copy').textContent === 'Copied'"), "copying without leave")
    quiet(b, "commands")


def test_schemes(b, page):
    b.open(page)
    light = b.run("return [getComputedStyle(document.body).backgroundColor, theme.colours().text]"), b.run(PIXELS, "#progress")
    b.scheme("dark")
    happens(lambda: b.run(PIXELS, "#progress") != light[1], "the plot turns dark")  # the page hears of it one frame later
    dark = b.run("return [getComputedStyle(document.body).backgroundColor, theme.colours().text]"), b.run(PIXELS, "#progress")
    check(dark[0][0] != light[0][0] and dark[1] != light[1], "the page does not turn dark")
    # Paper is white, whatever the screen is.
    b.run("dispatchEvent(new Event('beforeprint'))")
    check(b.run("return theme.colours().text") == light[0][1], "print is not light")
    check(b.run("return [...document.querySelectorAll('details')].every((d) => d.open)"), "print hides commands")
    b.run("dispatchEvent(new Event('afterprint'))")
    check(b.run("return theme.colours().text") == dark[0][1], "the screen stays light after printing")
    check(b.run("return [...document.querySelectorAll('details')].every((d) => !d.open)"), "details stay open after printing")
    pdf = b.devtools("Page.printToPDF")
    check(len(pdf["data"]) > 10000, "no print")
    b.scheme("light")
    quiet(b, "schemes")


def test_phone(b, page):
    b.size(360, 740, mobile=True)
    b.open(page)
    wide, inner = b.run(WIDTHS)
    check(wide <= inner == 360, f"the page is {wide} wide on a phone of {inner}")
    for canvas in ("#progress", "#sent", "#time"):
        check(b.run(PIXELS, canvas)[0] > 1000, f"{canvas} is blank on a phone")
    for selector in ("#log-x", "#log-y", "#progress-legend li:last-child button", "#none", "#all",
                     "#results tbody tr:first-child input", "#runs details:last-child summary", "#runs details:last-child .copy"):
        b.click(selector)
    small = b.run("return [...document.querySelectorAll('button, select, summary')].filter((e) => e.offsetParent && "
                  "(e.getBoundingClientRect().right > innerWidth || e.getBoundingClientRect().height < 20) && !e.closest('.scroll')).length")
    check(small == 0, f"{small} controls are cut off or too small")
    check(b.run(WIDTHS)[0] <= 360, "the page grows wider when it is used")
    b.move_to("#progress", 30, 0)
    check(any(b.run(VALUES, "#progress-legend")), "no values on a phone")
    quiet(b, "phone")
    b.size(1280, 900)


def test_odd(b):
    """Traces that have nothing or one record, hostile texts, and many runs."""
    open("none.csv", "w").write("# name: stopped at once\n")
    open("cut.csv", "w").write("# name: header only\nstep,loss\n")
    open("one.csv", "w").write("# name: one record\nstep,loss,uplink_bytes,seconds\n0,0.69,0,0\n")
    open("bad.csv", "w").write("# name: diverged\nstep,loss,gap\n1,0.5,-1\n2,inf,inf\n")
    for traces in (["none.csv"], ["one.csv"], ["none.csv", "cut.csv", "one.csv", "bad.csv"]):
        b.open(report("odd.html", *traces))
        for box in ("#log-x", "#log-y", "#log-x", "#log-y"):
            b.click(box)
        b.move_to("#progress", 0, 0)
        quiet(b, f"odd traces {traces}")
        check(b.run("return document.querySelectorAll('#results tbody tr').length") == len(traces), "rows")
    check("∞" in b.run("return document.querySelector('#results tbody').textContent"), "an infinite loss is not shown as one")

    evil = "</script><img src=x onerror=\"window.hit=1\"><script>window.hit=1</script> & <b>\u2028'\""
    runs.write_run("evil.csv", 1, name=evil, facts=[("codec", evil), ("command", evil), ("<i>key", evil)])
    b.open(report("evil.html", "evil.csv", title=evil + "{{data}}"))
    check(b.run("return window.hit === undefined && document.images.length === 0"), "a text of the trace was run")
    check(b.run("return data.runs[0].name") == evil, "the name is not what it was")
    check(b.run("return document.querySelector('h1').textContent") == evil + "{{data}}", "the title is not what it was")
    check(b.run("return document.querySelector('.command code').textContent") == evil, "the command is not what it was")
    quiet(b, "hostile texts")

    many = [runs.write_run(f"many{i}.csv", i, 60, name=f"run number {i} of forty", seed=i) for i in range(40)]
    b.open(report("many.html", *many))
    looks = b.run("return new Set(data.runs.map((r) => JSON.stringify(theme.run(r.index)))).size")
    check(looks == 40, f"40 runs have {looks} looks")
    check(b.run("return Chart.getChart('progress').data.datasets.filter((d) => d.run !== undefined).length") == 40, "40 curves")
    quiet(b, "forty runs")
    if shots:
        b.screenshot(f"{shots}/many.png")

    runs.write_run("long.csv", 4, 100_001)
    b.open(report("long.html", "long.csv", "many0.csv"))
    points = b.run("return data.runs[0].numbers.step.length")
    check(1000 < points <= 2000 and b.run("return data.runs[0].records") == 100_001, f"{points} points of 100,001 records")
    check(os.path.getsize("long.html") < 2e6, "the page of a long run is large")
    quiet(b, "a long run")


def take_shots(b, page):
    for name, scheme, size in (("light", "light", (1280, 900)), ("dark", "dark", (1280, 900)), ("phone", "light", (360, 740))):
        b.scheme(scheme)
        b.size(*size, mobile=size[0] < 500)
        b.open(page)
        b.run("document.querySelector('#progress').focus()")
        b.keys("#progress", "\ue014" * 5)
        b.run("scrollTo(0, 0)")
        b.screenshot(f"{shots}/{name}.png")
    b.scheme("light")


why = browser.missing()
if why:
    print("SKIP:", why)
    sys.exit(77)

with tempfile.TemporaryDirectory() as room:
    os.chdir(room)
    page = report("page.html", *[runs.write_run(f"run{i}.csv", i) for i in range(6)],
                  title="Six ways to send a gradient (invented runs)")
    with browser.Browser() as b:
        for test in (test_curves, test_axes, test_cursor, test_table, test_commands, test_schemes, test_phone):
            test(b, page)
        test_odd(b)
        if shots:
            take_shots(b, page)
    os.chdir("/")

finish()
