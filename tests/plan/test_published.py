"""tithe plan --count paper against the published table of tyagi2023artopk (published.csv): all winners, and the times of the models
whose sizes are known (the size of ViT there was fitted)."""

import csv
import json
import os
import subprocess

from support import check, finish

tithe, here = os.environ["TITHE"], os.path.dirname(os.path.abspath(__file__))
worst = 0.0


COLUMNS = {("gather", "allgather"): "allgather_ms", ("artopk", "ring"): "artopk_ring_ms", ("artopk", "tree"): "artopk_tree_ms"}
with open(os.path.join(here, "published.csv"), encoding="utf-8") as file:
    published = list(csv.DictReader(file))
for row in published:
    name = f"{row['model']} at {row['bandwidth_gbit']} Gbit/s, keep {row['keep']}"
    command = [tithe, "plan", "--params", row["parameters"], "--workers", row["workers"], "--latency", row["latency_ms"] + "ms",
               "--bandwidth", row["bandwidth_gbit"] + "Gbit", "--keep", row["keep"], "--count", "paper", "--no-codec", "--json", "-"]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    times = {(r["scheme"], r["collective"]): r["network_seconds"] * 1e3 for r in answer["rows"] if r["scheme"] != "dense"}
    winner = min(COLUMNS, key=lambda method: float(row[COLUMNS[method]]))
    ours = min(times, key=times.get)
    check(ours == winner, f"{name}: {ours} wins, published {winner}")
    check(answer["network_winner"]["scheme"] == winner[0], f"{name}: {answer['network_winner']}")
    if row["model"] != "ViT":
        for method, column in COLUMNS.items():
            off = abs(times[method] / float(row[column]) - 1)
            worst = max(worst, off)
            check(off <= 0.11, f"{name}, {method}: {times[method]:.4g} ms, published {row[column]}")
check(len(published) == 36, f"{len(published)} rows were read")

# Crossing points (tyagi2023artopk): at N = 8 the ring of AR-Top-k beats its tree where latency * bandwidth < 0.531 M c, and so on.
for (one, other, coefficient) in [("artopk ring", "artopk tree", 0.531), ("artopk ring", "gather allgather", 0.661),
                                  ("artopk tree", "gather allgather", 0.833)]:
    for side in (0.98, 1.02):
        bandwidth, keep, params = 1.25e8, 0.01, 1e7
        latency = side * coefficient * 4 * params * keep / bandwidth
        command = [tithe, "plan", "--params", str(params), "--workers", "8", "--latency", f"{latency:.9g}", "--bandwidth",
                   f"{bandwidth:.9g}", "--keep", str(keep), "--count", "paper", "--no-codec", "--json", "-"]
        answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        times = {f"{r['scheme']} {r['collective']}": r["network_seconds"] for r in answer["rows"]}
        check((times[one] < times[other]) == (side < 1), f"{one} and {other} at {side} of their crossing point")

for workers in ("1", "2"):
    command = [tithe, "plan", "--params", "1000", "--workers", workers, "--no-codec", "--json", "-"]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    check(all(r["network_seconds"] >= 0 for r in answer["rows"]) and (workers == "2" or answer["winner"]["scheme"] == "dense"),
          f"{workers} workers: {answer['winner']}")

for wrong in (["--bandwidth", "0"], ["--bandwidth", "-1Gbit"], ["--latency", "-1ms"], ["--latency", "fast"], ["--keep", "2"],
              ["--keep", "0.1,x"], ["--workers", "0"], ["--workers", "9..3"], ["--params", "0"], ["--params", "many"]):
    done = subprocess.run([tithe, "plan", "--params", "1000", "--no-codec", *wrong], capture_output=True, text=True)
    check(done.returncode == 2 and done.stderr.count("\n") == 1, f"{wrong}: exit {done.returncode}, {done.stderr!r}")

finish(more=f"; the farthest time is {100 * worst:.1f} % off")
