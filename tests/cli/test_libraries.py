"""The command loads MPI and ZeroMQ when a transport asks for them, and never before."""

import os
import re
import subprocess
import tempfile

from support import check, finish

tithe = os.environ["TITHE"]
TRAIN = ["train", "--data", "a9a-like:scale=0.01", "--steps", "1", "--no-optimum"]
env = {**os.environ, "LD_DEBUG": "files",
       "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}  # MPI leaves much, and it is not asked here


def loaded(words):
    """Libraries by their first names (libmpi, libtithe_zmq), as the dynamic linker tells, of all processes; and what was said."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([tithe, *words], env={**env, "LD_DEBUG_OUTPUT": folder + "/log"}, capture_output=True, text=True,
                              check=False)
        logs = "".join(open(f"{folder}/{name}", encoding="utf-8", errors="replace").read() for name in os.listdir(folder))
    return {os.path.basename(path).split(".so")[0] for path in re.findall("calling init: (.*)", logs)}, done


for words in (["--help"], ["list"], ["list", "transports"], ["list", "data"], ["plan", "--params", "1e6", "--bandwidth", "1Gbit"],
              TRAIN, [*TRAIN, "--transport", "inproc"]):
    libraries, done = loaded(words)
    check(done.returncode == 0, f"{words}: exit {done.returncode}, {done.stderr}")
    check({"libtithe", "libtithe_learn"} <= libraries, f"{words}: this test does not see what is loaded: {libraries}")
    check(not any(re.match("libtithe_(mpi|zmq)|libmpi|libzmq|libopen-|libpmi", name) for name in libraries),
          f"{words}: loads a transport: {libraries}")

for transport, more in (("zmq", ["--local", "1"]), ("mpi", [])):
    libraries, done = loaded([*TRAIN, "--transport", transport, *more])
    if "built without" in done.stderr:
        print(f"SKIP: no {transport} in this build")
        continue
    other = {"zmq": "mpi", "mpi": "zmq"}[transport]
    check(done.returncode == 0, f"{transport}: exit {done.returncode}, {done.stderr}")
    check({f"libtithe_{transport}", f"lib{transport}"} <= libraries or transport == "mpi" and "libtithe_mpi" in libraries,
          f"{transport} is not loaded: {libraries}")
    check(not {f"libtithe_{other}", f"lib{other}"} & libraries, f"{transport} also loads {other}: {libraries}")

done = subprocess.run([tithe, *TRAIN, "--transport", "pigeon"], capture_output=True, text=True, check=False)
check(done.returncode == 2 and "--transport takes inproc, mpi or zmq, not 'pigeon'" in done.stderr, f"pigeon: {done.stderr}")
finish()
