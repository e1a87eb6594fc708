"""What docs/performance.md says of seconds, on two hosts of tools/netlab: phases with names cover a run, a step under star is not
shorter than its way back, whoever takes the time, and all but the last layer is sent behind a backward pass."""

import os
import re
import shutil
import subprocess
import sys

from support import HANG, check, finish, no_lab

source, build = os.environ["TITHE_SOURCE"], os.path.dirname(os.environ["TITHE"])


def bench(name, *options):
    done = subprocess.run([sys.executable, os.path.join(source, "bench", name), "--build", build, *options], capture_output=True, text=True,
                          timeout=HANG, check=False)
    print(done.stdout)
    check(done.returncode == 0, f"{name}: exit {done.returncode}: {done.stderr[-500:]!r}")
    return done.stdout


reason = no_lab() or ("" if shutil.which("mpirun") else "no mpirun") or \
    ("" if os.path.exists(os.path.join(build, "tests", "bench_exchange_steps")) else "bench_exchange_steps is not built")
if reason:
    print("SKIP: " + reason)
    sys.exit(77)
# 47,236 numbers of 9 bits come back: 42 ms at 10 Mbit/s, less the 13 ms that the shaper lets through at once
steps = re.findall(r"(mpi|zmq) star .* ([\d.]+) ms each", bench("phases.py", "--rates", "10mbit", "--schemes", "gather,star", "--seconds", "1"))
check(len(steps) == 2 and all(float(ms) > 25 for _, ms in steps), f"steps under star: {steps}")
hidden = re.findall(r"([-\d]+) % hidden", bench("overlap.py", "--hosts", "2", "--n", "2^20", "--steps", "5"))
check(len(hidden) == 2 and all(int(share) > 70 for share in hidden), f"hidden: {hidden} %, of 88 that could be")
finish()
