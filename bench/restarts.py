#!/usr/bin/env python3
"""The automatic step where ranks keep what they did not send, beside the same step stated, which never goes back: last losses.

    [TITHE_DATA=folder] bench/restarts.py [--tithe build/tithe] [--steps 200] [--scheme gather] [DATA ...]

Without names of data: the sets of own_data.py and five that are generated. Prints the runs that went back, and how many there were."""
import argparse
import json
import os
import subprocess
import tempfile

import own_data

CODECS = {"top-k 0.1": ["topk:keep=0.1", "ec"], "top-k 0.01": ["topk:keep=0.01", "ec"], "top-k 0.001": ["topk:keep=0.001", "ec"],
          "CAT signs": ["topk|sign", "ec"], "CAT raw": ["topk|raw", "ec"], "rand-k 0.01": ["randk:keep=0.01", "ec"],
          "top-k 0.1, EF21": ["topk:keep=0.1", "ef21"], "top-k 0.01, EF21": ["topk:keep=0.01", "ef21"], "signs": ["sign", "ec"]}
GENERATED = ("a9a-like:scale=0.05", "w8a-like:scale=0.05", "rcv1-like:scale=0.005", "gen:dense:rows=500,features=200",
             "gen:dense:rows=500,features=200,heterogeneity=5")
SPLITS = ((1, "shuffled"), (4, "sorted"), (4, "shuffled"), (20, "sorted"))


def train(a, path, workers, split, codec, *more):
    words = [a.tithe, "train", "--data", path, "--workers", str(workers), "--split", split, "--scheme", a.scheme, "--codec", codec[0],
             "--feedback", codec[1], "--steps", a.steps, "--no-optimum", "--threads", "1", *more]
    with tempfile.NamedTemporaryFile() as trace:
        done = subprocess.run([*words, "--trace", trace.name, "--json", "-"], capture_output=True, text=True)
        if done.returncode not in (0, 1) or not done.stdout:
            raise SystemExit(f"{' '.join(words)}: {done.stderr.strip()}")
        step = next(line.split(b": ")[1].decode().strip() for line in trace if line.startswith(b"# step_size: "))
    return {**json.loads(done.stdout), "diverged": done.returncode == 1, "step": step}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tithe", default=os.environ.get("TITHE", "build/tithe"))
    parser.add_argument("--steps", default="200")
    parser.add_argument("--scheme", default="gather")
    parser.add_argument("data", nargs="*")
    a = parser.parse_args()
    a.tithe = os.path.abspath(a.tithe)
    runs, back = [], []
    with tempfile.TemporaryDirectory() as folder:
        sets = {name: name for name in a.data} or {**own_data.write(folder), **{name: name for name in GENERATED}}
        print("| data | workers | split | messages | automatic | the same step, stated |\n|" + "---|" * 6)
        for name, path in sets.items():
            for (workers, split), (codec, words) in ((s, c) for s in SPLITS for c in CODECS.items()):
                run = train(a, path, workers, split, words)
                runs.append(run)
                if not run["restarts"]:
                    continue
                stated = train(a, path, workers, split, words, "--step-size", run["step"])
                back.append((run, stated))
                cells = [f"{'!' if r['diverged'] else ''}{r['loss']:.4f}" + (f" ({r['restarts']})" if r["restarts"] else "") for r in (run, stated)]
                print(f"| {name} | {workers} | {split} | {codec} | {' | '.join(cells)} |", flush=True)
    print(f"\n{len(back)} of {len(runs)} runs went back; {sum(r['diverged'] for r in runs)} diverged, and {sum(s['diverged'] for _, s in back)} "
          f"with the step stated; {sum(r['loss'] > s['loss'] for r, s in back)} ended above what the stated step reached.")


if __name__ == "__main__":
    main()
