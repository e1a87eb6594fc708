"""With --overlap a bucket is sent while the next one is encoded: over every transport some of the time is saved."""

import json
import os
import shutil
import subprocess
import tempfile

from support import HANG, check, finish, has_mpirun, mpirun

tithe = os.environ["TITHE"]
folder = tempfile.mkdtemp()
environment = dict(os.environ, TITHE_THREADS="1", XDG_CACHE_HOME=folder)
WAYS = {"inproc": ["--workers", "2"], "mpi": ["--transport", "mpi", "--workers", "2"], "zmq": ["--transport", "zmq", "--local", "2"]}

for name, way in WAYS.items():
    before = mpirun(2) if name == "mpi" and has_mpirun() else []
    done = subprocess.run([*before, tithe, "train", *way, "--data", "gen:sparse:rows=60,features=1000000,density=0.0001", "--no-optimum",
                           "--codec", "topk:keep=0.05", "--bucket", "256kB", "--steps", "10", "--json", "-"],
                          capture_output=True, text=True, timeout=HANG, env=environment, check=False)
    if "built without" in done.stderr or (name == "mpi" and not before):
        print(f"SKIP: no {name} in this build, or no mpirun")
        continue
    check(done.returncode == 0, f"{name}: exit {done.returncode}: {done.stderr[:300]!r}")
    if done.returncode == 0:
        check(json.loads(done.stdout)["overlap_seconds"] > 0, f"overlap over {name}: nothing went on the side")
shutil.rmtree(folder, ignore_errors=True)
finish()
