"""Two hosts at 100 Mbit/s: the probe finds the link, and the plan made from it says how long a step takes. bench/netlab.py does it on more
networks; here it is asked once more before it fails, since others may be at work on this machine."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

source, build = os.environ["TITHE_SOURCE"], os.environ["TITHE_BUILD"]
ROWS = "dense ring,gather allgather"


def skip(why):
    print("SKIP: " + why)
    sys.exit(77)


if not os.environ["TITHE"]:
    skip("no command was built")
if os.geteuid() != 0:
    skip("not root, and namespaces need root")
for tool in ("ip", "tc", "ethtool"):
    if not shutil.which(tool):
        skip("no " + tool)
if subprocess.run(["ip", "netns", "add", "tithe-plan"], capture_output=True).returncode:
    skip("namespaces cannot be made here")
subprocess.run(["ip", "netns", "del", "tithe-plan"], check=True)
if not os.path.exists(os.path.join(build, "tests/bench_exchange_steps")):
    skip("built without MPI and ZeroMQ")
with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as file:
    cache = file.read()
transport = next((t for t in ("zmq", "mpi") if f"TITHE_{t.upper()}:BOOL=ON" in cache), None)
if not transport:
    skip("built without MPI and ZeroMQ")

# Without root it says so, in one sentence.
with tempfile.TemporaryDirectory() as folder:
    if shutil.which("setpriv"):
        done = subprocess.run(["setpriv", "--reuid", "65534", sys.executable, os.path.join(source, "bench/netlab.py")], capture_output=True, text=True)
        assert done.returncode != 0 and ("root" in done.stderr or "Permission" in done.stderr), done.stderr

for attempt in (1, 2):
    done = subprocess.run([sys.executable, os.path.join(source, "bench/netlab.py"), "--hosts", "2", "--networks", "100mbit", "--transports",
                           transport, "--rows", ROWS, "--steps", "3", "--build", build, "--json", "-"], capture_output=True, text=True)
    print(done.stderr)
    assert done.returncode in (0, 1), done.stderr
    answer = json.loads(done.stdout)
    assert len(answer["probes"]) == 1 and len(answer["steps"]) == 2, answer
    assert (done.returncode == 0) == (answer["off"] == 0), answer
    assert answer["settings"]["net.ipv4.tcp_congestion_control"], "the congestion control stands with the figures"
    if done.returncode == 0:
        break
sys.exit(done.returncode)
