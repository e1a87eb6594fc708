#!/usr/bin/env python3
"""tithe train and tithe compare from the outside: the JSON that others rely on, exit statuses, files, Ctrl-C, bad input."""
import json
import lzma
import math
import os
import re
import shlex
import signal
import subprocess
import tempfile
import time

from support import HANG, check, finish, happens

tithe = os.path.abspath(os.environ["TITHE"])


def run(*arguments, **environment):
    done = subprocess.run([tithe, *arguments], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "XDG_CACHE_HOME": os.getcwd(), **environment})
    return done.returncode, done.stdout, done.stderr


def train(*arguments, status=0, **environment):
    """The JSON of a run that ends as it should and says nothing on the way."""
    code, out, err = run("train", *arguments, "--json", "-", **environment)
    what = " ".join(arguments)
    check(code == status, f"{what}: exit status {code} in place of {status}: {err}")
    check(not err, f"{what}: standard error is not empty: {err}")
    try:
        return json.loads(out)
    except ValueError:
        check(False, f"{what}: standard output is not JSON alone: {out[:200]}")
        return {}


def refused(what, pattern, *arguments, files=()):
    code, out, err = run(*arguments)
    check(code == 2, f"{what}: exit status {code} in place of 2: {err}")
    check(not out, f"{what}: standard output is not empty: {out[:100]}")
    check(err.count("\n") == 1 and err.startswith("tithe "), f"{what}: not one sentence: {err}")
    check(re.search(pattern, err), f"{what}: '{pattern}' is not in: {err}")
    for file in files:
        check(not os.path.exists(file), f"{what}: left {file} behind")


def write(path, text):
    with open(path, "w" if isinstance(text, str) else "wb") as file:
        file.write(text)
    return path


def facts(path):
    with open(path, encoding="utf-8") as file:
        return dict(line[2:].rstrip("\n").split(": ", 1) for line in file if line.startswith("# "))


def rows(path):
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n").split(",") for line in file if not line.startswith("#")]


SMALL = ["--data", "gen:sparse:rows=400,features=60,density=0.2", "--workers", "4"]
NUMBER, TEXT = (int, float), str


def contract():
    """Keys and types as the contract has them; null where a number is not known."""
    kinds = {"steps": NUMBER, "loss": NUMBER, "gap": NUMBER, "accuracy": NUMBER, "uplink_bytes": NUMBER,
             "downlink_bytes": NUMBER, "sent_bytes": NUMBER, "cost": NUMBER, "downlink_cost": NUMBER,
             "paper_bits": NUMBER, "seconds": NUMBER, "model_hash": TEXT, "transport": TEXT, "scheme": TEXT,
             "collective": TEXT, "codec": TEXT, "tuner": TEXT, "L": NUMBER, "L_US": NUMBER, "L_IS": NUMBER}
    for options in ([], ["--estimator", "lsvrg", "--codec", "threshold:lambda=0.1"],
                    ["--codec", "natural", "--downlink", "natural", "--estimator", "sgd"]):
        j = train(*SMALL, "--steps", "20", *options)
        for key, kind in kinds.items():
            check(isinstance(j.get(key), kind) and not isinstance(j.get(key), bool),
                  f"{options}: {key} is {j.get(key)!r}")
        check("target_reached" in j and j["target_reached"] is None, f"{options}: target_reached without a target")
        check(re.fullmatch("[0-9a-f]{16}", j["model_hash"]), "model_hash is no hash")
        check(j["transport"] == "inproc" and j["tuner"] == "fixed" and j["steps"] == 20, "transport, tuner, steps")
        check(j["cost"] == 8 * j["uplink_bytes"], "bits are the default cost")
    check((j["scheme"], j["codec"]) == ("star", "all|natural"), "scheme and codec of a run both ways")
    j = train(*SMALL, "--steps", "3", "--l2", "0")
    check(j["gap"] is None, "gap without a penalty")
    j = train(*SMALL, "--steps", "3", "--model", "least-squares")
    check(j["accuracy"] is None, "accuracy of numbers")
    j = train(*SMALL, "--steps", "3", "--model", "nonconvex-logistic")
    check(j["gap"] is None and j["accuracy"] > 0.5, "a model that is not convex")
    j = train(*SMALL, "--steps", "200", "--target-loss", "0.6")
    check(j["target_reached"] is True and j["loss"] <= 0.6 and j["steps"] < 200, "a target that is reached")
    j = train(*SMALL, "--steps", "5", "--target-loss", "0.03", status=1)
    check(j["target_reached"] is False and j["steps"] == 5, "a target that is missed")
    j = train(*SMALL, "--steps", "500", "--target-gap", "1e-2", "--l2", "0.01")
    check(j["target_reached"] is True and j["gap"] <= 1e-2, "a gap that is reached")


def numbers():
    """Bytes and cost by hand: 10 steps of 4 workers, 5 entries each."""
    j = train(*SMALL, "--steps", "10", "--codec", "topk:k=5", "--cost", "packet:c0=64,c1=576,payload=512")
    check(j["cost"] == 40 * 640 and j["downlink_cost"] == 3 * 40 * 640, "one packet for each message, which comes to three others")
    check(j["downlink_bytes"] == 3 * j["uplink_bytes"], "others' frames come back")
    check(j["paper_bits"] == 40 * 5 * (32 + 6), "the paper's bits")
    dense = train(*SMALL, "--steps", "10")
    check(dense["downlink_bytes"] == 10 * 2 * 3 * 240, "what a ring brings")
    frame = dense["uplink_bytes"] / 40
    check(240 < frame <= 240 + 12, f"a raw frame of 60 numbers has {frame} bytes")
    check(dense["sent_bytes"] == 10 * 2 * 3 * 240, "bytes of a ring")
    check(j["uplink_bytes"] < 40 * 40, "five entries are short")
    paper = train(*SMALL, "--steps", "10", "--codec", "topk:k=5", "--count", "paper")
    check(paper["cost"] == paper["paper_bits"], "--count paper")


def tuned_levels():
    """The level that a tuner chose is the one that is counted: s of standard dithering, by the formulas of its omega and its bits."""
    d = 60

    def bits(s):
        return 31 + d * (3 + math.log2(s))

    def worth(s):
        return 1 / (1 + min(d ** 0.5 / s, d / (4 * s * s))) / bits(s)
    best = max(range(1, 16384), key=worth)
    up_and_down = {"gather": (4, 4 * 3), "shards": (3, 3), "star": (4, 4)}  # frames of a step; a short vector is one part, which its owner keeps
    for scheme, (up, down) in up_and_down.items():
        back = ["--downlink", "all|dither"] if scheme == "star" else []
        j = train(*SMALL, "--steps", "3", "--codec", "all|dither", "--tuner", "cat", "--count", "paper", "--scheme", scheme, *back)
        check(abs(j["paper_bits"] / (3 * up) - bits(best)) < 1e-6, f"{scheme}: {j['paper_bits'] / (3 * up)} bits, not those of s={best}")
        check(abs(j["cost"] - j["paper_bits"]) < 1e-6, f"{scheme}: what was charged")
        s = 7 if back else best  # a way back that is asked for has the level of its spec
        check(abs(j["downlink_cost"] / (3 * down) - bits(s)) < 1e-6, f"{scheme}: {j['downlink_cost'] / (3 * down)} bits back, not those of s={s}")


def shares():
    """Energy kept is a share, of unbiased codecs too, and the worst case is not better than what happened."""
    for codec in ("randk:keep=0.1", "natural", "all|dither:s=1", "all|natdither:s=1", "stochastic:k=5", "all|sign", "topk|sign",
                  "topk:k=5|natural", "threshold:lambda=0.01"):
        j = train(*SMALL, "--steps", "20", "--codec", codec)
        check(0 <= j["kept_least"] <= j["kept_mean"] <= 1, f"{codec}: kept {j['kept_least']}, {j['kept_mean']}")
        check(0 <= j["speedup_least"] <= j["speedup_mean"], f"{codec}: SpeedUp {j['speedup_least']}, {j['speedup_mean']}")
        for kind in ("strongly_convex", "convex", "nonconvex"):
            dense, here, worst = (j["complexity"][kind][key] for key in ("none", "data", "worst"))
            check(dense <= here <= worst, f"{codec}: {kind} {dense}, {here}, {worst}")


def steps_in_theory():
    """As the theory of CAT has them: kappa log((F0 - F*)/eps), and 2 L (F0 - F*) / eps where nothing is convex; F(0) is log 2."""
    j = train(*SMALL, "--steps", "4", "--l2", "0.01")
    smooth, gap, start = j["L"] + 0.01, j["gap"], math.log(2) - (j["loss"] - j["gap"])

    def close(a, b):
        return abs(a - b) <= 1e-6 * b
    theory = j["complexity"]
    check(close(theory["gap"], gap), "the gap that was reached")
    check(close(theory["strongly_convex"]["none"], smooth / 0.01 * math.log(start / gap)), f"strongly convex: {theory['strongly_convex']}")
    check(close(theory["nonconvex"]["none"], 2 * smooth * start / gap), f"not convex: {theory['nonconvex']}, not {2 * smooth * start / gap}")


def leaders():
    """The trace has the rank whose indices were taken; round-robin has them in turn."""
    def column(*options):
        train(*SMALL, "--steps", "9", "--codec", "topk:k=5", *options, "--trace", "led.csv")
        head, *lines = rows("led.csv")
        return [line[head.index("leader")] for line in lines]
    turns = column("--scheme", "artopk")
    check(turns == ["", *(str(step % 4) for step in range(9))], f"round-robin: {turns}")
    chosen = column("--scheme", "artopk", "--leader", "variance")
    check(chosen[0] == "" and set(chosen[1:]) <= set("0123") and chosen != turns, f"variance: {chosen}")
    check(set(column("--scheme", "gather")) == {""}, "nobody leads under gather")


def files():
    options = [*SMALL, "--estimator", "sgd", "--codec", "topk:k=5|natural", "--epochs", "3", "--average", "tail"]
    code, out, err = run("train", *options, "--trace", "a run's trace.csv", "--report", "run.html", "--json", "run.json")
    check(code == 0 and not err and "model " in out, f"files: {code} {err}")
    j = json.load(open("run.json", encoding="utf-8"))
    with open("run.html", encoding="utf-8") as file:
        page = file.read()
    check(page.lstrip().lower().startswith("<!doctype html") and page.rstrip().endswith("</html>"), "report")
    said = facts("a run's trace.csv")
    for key, value in {"model_hash": j["model_hash"], "codec": "topk:k=5|natural:scale=contractive", "feedback": "ec", "workers": "4",
                       "estimator": "sgd", "seed": "1", "scheme": "gather"}.items():
        check(said.get(key) == value, f"the trace says {key}: {said.get(key)}")
    table = rows("a run's trace.csv")
    last = dict(zip(table[0], table[-1]))
    check(float(last["step"]) == j["steps"] and float(last["loss"]) == j["loss"], "the last line is the result")
    check(float(table[1][0]) == 0 and all(len(row) == len(table[0]) for row in table), "lines of the trace")
    check(run("inspect", "a run's trace.csv")[0] == 0, "inspect reads the trace")
    check(run("report", "a run's trace.csv", "--output", "again.html")[0] in (0, 2), "report reads the trace")

    # The command that the trace records does the same again.
    words = shlex.split(said["command"])
    check(words[0] == "tithe" and "a run's trace.csv" in words, f"command: {said['command']}")
    os.remove("run.json")
    check(run(*words[1:])[0] == 0, f"it does not run again: {said['command']}")
    check(json.load(open("run.json", encoding="utf-8"))["model_hash"] == j["model_hash"], "the command, again")
    seed = train(*options, "--seed", "18446744073709551615", "--trace", "seed.csv")
    check(facts("seed.csv")["seed"] == "18446744073709551615", "a long seed")
    check(seed["model_hash"] != j["model_hash"], "another seed, the same model")

    # A long run that cannot leave its files behind is refused at once.
    forever = [*SMALL, "--steps", "1000000000"]
    for option in ("--trace", "--report", "--json"):
        refused(f"{option} to nowhere", "none/x", "train", *forever, option, "none/x")
        os.makedirs("folder", exist_ok=True)
        refused(f"{option} onto a directory", "folder", "train", *forever, option, "folder")


def determinism():
    """Same seed, same model: for any number of threads, and for every set of kernels that runs here."""
    options = ["--data", "gen:sparse:rows=2000,features=500,density=0.1", "--workers", "70", "--steps", "15",
               "--no-optimum"]
    for method in (["--estimator", "lsvrg", "--codec", "threshold:lambda=0.1"],
                   ["--codec", "topk:keep=0.05|natural"], ["--codec", "all|dither:s=7", "--downlink", "natural"]):
        plain = train(*options, *method, "--threads", "1")["model_hash"]
        check(train(*options, *method, "--threads", "2")["model_hash"] == plain, f"{method}: two threads")
        for kernels in ("ref", "avx2", "avx512", "neon"):
            code, out, err = run("train", *options, *method, "--json", "-", TITHE_KERNELS=kernels)
            check(code == 0 and json.loads(out)["model_hash"] == plain, f"{method}: kernels {kernels}: {err}")
        check(train(*options, *method, "--seed", "2")["model_hash"] != plain, f"{method}: another seed")


def interrupted(arguments, begun, cache="."):
    """Ctrl-C once there is a file of that name."""
    for path in ("cut.csv", "cut.html", begun):
        if os.path.exists(path):
            os.remove(path)
    process = subprocess.Popen([tithe, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "XDG_CACHE_HOME": os.path.abspath(cache)})
    check(happens(lambda: os.path.exists(begun) or process.poll() is not None, f"{begun} is written"), "Ctrl-C: the run begins")
    process.send_signal(signal.SIGINT)
    try:
        out, err = process.communicate(timeout=HANG)
    except subprocess.TimeoutExpired:
        process.kill()
        raise SystemExit(f"FAIL: Ctrl-C is not heard by: tithe {' '.join(arguments)}")
    return process.returncode, out, err


def ctrl_c():
    for estimator in ("full", "sgd"):
        code, out, err = interrupted(["train", *SMALL, "--estimator", estimator, "--steps", "1" + 15 * "0", "--trace", "cut.csv",
                                      "--report", "cut.html", "--json", "-", "--checkpoint", "cut.checkpoint", "--every", "100"], "cut.checkpoint")
        check(code == 130 and not err, f"Ctrl-C, {estimator}: exit status {code}: {err}")
        j = json.loads(out)
        table = rows("cut.csv")
        check(j["stopped"] is True and 0 < j["steps"] < 1e15, f"Ctrl-C, {estimator}: {j['steps']} steps")
        check(float(table[-1][0]) == j["steps"] and len(table[-1]) == len(table[0]), "Ctrl-C: the trace ends in a whole line")
        check(facts("cut.csv")["model_hash"] == j["model_hash"] and "ended" in facts("cut.csv"), "Ctrl-C: facts at the end")
        check(run("inspect", "cut.csv")[0] == 0 and os.path.getsize("cut.html") > 1000, "Ctrl-C: trace and report")
    write("two.txt", f"all: {shlex.join(SMALL)}\nlong: --estimator sgd --steps 1000000000000000\nnever: --steps 5\n")
    # The first run keeps the minimum that it finds, before its first step.
    code, out, err = interrupted(["compare", "two.txt", "--report", "cut.html", "--json", "-"], "cut.cache/tithe", "cut.cache")
    check(code == 130 and not err, f"Ctrl-C, compare: exit status {code}: {err}")
    check([r["name"] for r in json.loads(out)["runs"]] == ["long"], "Ctrl-C, compare: the runs so far")


def early_targets():
    """A target is noticed soon after it is reached, however long the run might have been."""
    j = train("--data", "w8a-like:scale=0.2", "--workers", "10", "--estimator", "sgd", "--target-loss", "0.5")
    check(j["target_reached"] is True and 0.4 < j["loss"] <= 0.5, f"a target that is passed: {j['steps']} steps, {j['loss']}")


def divergence():
    for estimator in ("full", "sgd"):
        code, out, err = run("train", "--data", "a9a-like:scale=0.02", "--workers", "4", "--estimator", estimator,
                             "--step-size", "1000", "--steps", "3000", "--trace", "bad.csv", "--report", "bad.html", "--json", "bad.json")
        check(code == 1 and err.count("\n") == 1, f"divergence, {estimator}: exit status {code}: {err}")
        check(re.search(r"step \d+", err) and "--step-size" in err, f"divergence, {estimator}: {err}")
        hint = float(re.search(r"--step-size ([0-9.e+-]*[0-9])", err).group(1))
        check(hint < 5, f"divergence, {estimator}: a hint that diverges, too: {err}")
        check(json.load(open("bad.json", encoding="utf-8"))["steps"] < 3000, "divergence: it went on")
        check("diverged" in facts("bad.csv").get("ended", "") and os.path.getsize("bad.html") > 1000, "divergence: files")
    code, out, err = run("train", "--data", "a9a-like:scale=0.02", "--workers", "4", "--step-size", "10", "--steps", "5", "--no-optimum")
    check(code == 1 and "diverged" in err and "after step 5" in err, f"a last loss above the first: exit status {code}: {err}")


def bad_data():
    good = "+1 1:0.5 3:1\n-1 2:1\n+1 1:1\n"
    check(train("--data", write("good.txt", good), "--steps", "2")["steps"] == 2, "a small file")
    for name, text, pattern in (
            ("zero", good + "-1 0:1\n", "zero, line 4"), ("descending", good + "-1 3:1 2:1\n", "descending, line 4"),
            ("twice", good + "-1 3:1 3:1\n", "twice, line 4"), ("nan", good + "-1 3:nan\n", "nan, line 4"),
            ("inf", good + "-1 3:inf\n", "inf, line 4"), ("word", good + "-1 three\n", "word, line 4"),
            ("label", good + "yes 1:1\n", "label, line 4"), ("three", good + "2 1:1\n", "three"),
            ("one", "+1 1:1\n+1 2:1\n", "one"), ("empty", "", "empty"), ("blank", "\n\n", "blank")):
        refused(f"data, {name}", pattern, "train", "--data", write(name, text), "--steps", "2", "--trace", "left.csv")
    packed = lzma.compress((good * 1000).encode())
    check(train("--data", write("good.xz", packed), "--steps", "2")["steps"] == 2, "a packed file")
    refused("truncated xz", "cut.xz", "train", "--data", write("cut.xz", packed[:-20]), "--steps", "2")
    refused("no data", "--data", "train")
    refused("missing data", "no-such-set", "train", "--data", "no-such-set")
    refused("more workers than rows", "3 rows", "train", "--data", "good.txt", "--workers", "4")


def bad_options():
    refused("a cost too long", "at most 511 letters", "train", *SMALL, "--steps", "2", "--cost", "table:" + "x" * 600)
    for way in ("--codec", "--downlink"):
        refused(f"{way} given", "'given' needs somebody who gives it indices", "train", *SMALL, "--steps", "2", way, "given")
    for option, value, pattern in (
            ("--model", "logistik", "logistic"), ("--estimator", "svrg", "lsvrg"), ("--codec", "topkk:k=3", "topk"),
            ("--codec", "topk:kep=3", "keep"), ("--downlink", "nat", "natural"), ("--feedback", "ef", "ef21"),
            ("--scheme", "ring", "dense"), ("--collective", "rin", "ring"), ("--cost", "paket", "packet"),
            ("--step-size", "fast", "decay"), ("--step-size", "-1", "positive"), ("--average", "mean", "tail"),
            ("--sampling", "importance", "full"), ("--workers", "0", "from 1"), ("--momentum", "1", "0.9999"),
            ("--steps", "0", "from 1"), ("--epochs", "0", "number from"),
            ("--split", "random", "shuffled"), ("--transport", "udp", "inproc"), ("--tuner", "best", "fixed"),
            ("--target-gap", "-1", "from 0"), ("--downlink-feedback", "ec", "--downlink"), ("--positive", "label=3", "label")):
        refused(f"{option} {value}", pattern, "train", *SMALL, option, value)
    refused("a gap that nobody knows", "--target-loss", "train", *SMALL, "--l2", "0", "--target-gap", "1")
    refused("ec with omega >= 1", "contractive", "train", *SMALL, "--codec", "randk:k=3,scale=unbiased", "--feedback", "ec")
    refused("no option", "nearest", "train", *SMALL, "--step", "3")


def compare():
    write("runs.txt", "# two runs\ntitle: Two runs\n\nall: --data 'gen:sparse:rows=400,features=60,density=0.2' --workers 4 "
                      "--steps 30 --codec topk:k=5\ndense: --codec all|raw\r\n  top-k:\n\"odd\": --seed 3\n")
    code, out, err = run("compare", "runs.txt", "--json", "-", "--report", "both.html")
    check(code == 0 and not err, f"compare: exit status {code}: {err}")
    runs = json.loads(out)["runs"]
    check([r["name"] for r in runs] == ["dense", "top-k", '"odd"'], "names of the runs")
    check(runs[0]["codec"] == "all|raw" and runs[1]["codec"] == "topk:k=5|raw", "a run's own option wins")
    alone = train(*SMALL, "--steps", "30", "--codec", "topk:k=5")
    check(runs[1]["model_hash"] == alone["model_hash"] and set(alone) < set(runs[1]), "the same as train alone")
    with open("both.html", encoding="utf-8") as file:
        check("Two runs" in file.read(), "the title")
    code, out, err = run("compare", "runs.txt")
    check(code == 0 and "cheaper" in out and "top-k" in out, "the table")
    write("slower.txt", f"all: {shlex.join(SMALL)} --steps 60\ndense:\nboth: --codec natural --downlink natural\n")
    code, out, err = run("compare", "slower.txt")
    check(code == 0 and re.search(r"both took [0-9.]+ times the steps.* predicted: at most 1\.16 times", out), f"the slowdown: {out}")
    write("kinds.txt", f"all: {shlex.join(SMALL)}\nGD: --steps 30\nSGD: --estimator sgd --epochs 3\n"
                       "top: --steps 30 --codec topk:k=5\ntop-sgd: --estimator sgd --epochs 3 --codec topk:k=5\n")
    code, out, err = run("compare", "kinds.txt", "--json", "-")
    runs = {r["name"]: r for r in json.loads(out)["runs"]}
    check({name: r["baseline"] for name, r in runs.items()} == {"GD": "GD", "SGD": "SGD", "top": "GD", "top-sgd": "SGD"},
          "a run is compared with the dense run of its own estimator")
    check(all(runs[name][key] == 1 for name in ("GD", "SGD") for key in ("cheaper_up", "cheaper_sent")), "a baseline is as dear as itself")
    check(all(r["cheaper_up"] > 0 and r["cheaper_sent"] > 0 and r["cheaper_loss"] < 0.7 for r in runs.values()), "savings of all runs")
    ranked = sorted(runs.values(), key=lambda r: r["rank"])
    check([r["rank"] for r in ranked] == [1, 2, 3, 4] and
          [r["cheaper_sent"] for r in ranked] == sorted((r["cheaper_sent"] for r in ranked), reverse=True), "ranked by what was sent")
    code, out, err = run("compare", "kinds.txt")
    check("cheapest by all that was sent: " + ranked[0]["name"] in out, f"the ranking: {out}")
    write("missed.txt", f"all: {shlex.join(SMALL)} --steps 3\na: --target-loss 0.03\nb:\n")
    code, out, err = run("compare", "missed.txt", "--json", "-")
    check(code == 1 and [r["target_reached"] for r in json.loads(out)["runs"]] == [False, None], "a target that is missed")

    head = f"# first line\nall: {shlex.join(SMALL)} --steps 1000000000\nfine: --seed 2\n"
    for name, text, pattern in (
            ("no colon", head + "x --codec raw\n", r"bad.txt:4.*name: options"),
            ("unknown option", head + "x: --codek raw\n", r"bad.txt:4.*--codec.*tithe train --help"),
            ("bad value", head + "x: --workers none\n", r"bad.txt:4.*whole number"), ("a word too many", head + "x: y\n", "bad.txt:4.*'y'"),
            ("open quote", head + "x: --codec 'raw\n", r"bad.txt:4.*quote"), ("twice", head + "fine:\n", r"bad.txt:4.*line 3"),
            ("all twice", head + "all: --seed 3\n", r"bad.txt:4.*line 2"), ("help", head + "x: --help\n", r"bad.txt:4.*--help"),
            ("many words", head + "x: " + "--seed 1 " * 62 + "\n", r"bad.txt:4.*128 words"),
            ("bad codec after a long run", head + "x: --codec topkk\n", r"bad.txt:4.*topk"),
            ("bad estimator after a long run", head + "x: --estimator svrg\n", r"bad.txt:4.*lsvrg"),
            ("no data", "x: --steps 3\n", r"bad.txt:1.*--data"), ("bad codec", f"x: {shlex.join(SMALL)} --codec topkk\n", "bad.txt:1.*topk"),
            ("missing data", "\nx: --data no-such-set\n", "bad.txt:2.*no-such-set"),
            ("no run", "# nothing\n", "bad.txt.*no run"), ("a NUL", b"x: --data a\0b\n", "bad.txt.*no text")):
        refused(f"compare, {name}", pattern, "compare", write("bad.txt", text))
    refused("compare, missing file", "none.txt", "compare", "none.txt")
    refused("compare, report", "none/x", "compare", "runs.txt", "--report", "none/x")
    code, _, err = run("compare", "runs.txt", OMPI_COMM_WORLD_SIZE="4")
    check(code == 2 and "without it" in err, f"compare under mpirun: {code} {err}")
    refused("compare, JSON", "none/x", "compare", "runs.txt", "--json", "none/x")


def examples():
    """Those of --help, shortened."""
    for verb in ("train", "compare"):
        code, out, err = run(verb, "--help")
        check(code == 0 and "--json FILE" in out, f"{verb} --help")
        for line in out.split("Examples:")[1].strip().splitlines():
            words = shlex.split(line)
            check(words[:2] == ["tithe", verb], f"{verb} --help: {line}")
            if verb == "compare" and not os.path.exists(words[2]):
                continue
            if verb == "train":
                words += ["--steps", "20"]
                words[words.index("--data") + 1] += ":scale=0.1"
            code, out, err = run(*words[1:])
            check(code in (0, 1) if "--target-gap" in words else code == 0, f"{line}: exit status {code}: {err}")
            check(not err, f"{line}: {err}")


with tempfile.TemporaryDirectory() as room:
    os.chdir(room)
    for test in (contract, numbers, tuned_levels, shares, steps_in_theory, leaders, files, determinism, ctrl_c, early_targets, divergence, bad_data, bad_options, compare, examples):
        start = time.time()
        test()
        print(f"{test.__name__}: {time.time() - start:.1f} s")
    os.chdir("/")
finish()
