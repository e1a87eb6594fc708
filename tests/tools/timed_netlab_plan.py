"""Two hosts at 100 Mbit/s: the probe finds the link, and the plan made from it says how long a step takes. bench/netlab.py does it on more
networks."""

import os
import subprocess
import sys

from support import check, finish, no_lab

source, build = os.environ["TITHE_SOURCE"], os.environ["TITHE_BUILD"]
reason = no_lab()
with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as file:
    cache = file.read()
transport = next((t for t in ("zmq", "mpi") if f"TITHE_{t.upper()}:BOOL=ON" in cache), None)
if not reason and not (transport and os.path.exists(os.path.join(build, "tests/bench_exchange_steps"))):
    reason = "built without MPI and ZeroMQ"
if reason:
    print("SKIP: " + reason)
    sys.exit(77)
done = subprocess.run([sys.executable, os.path.join(source, "bench/netlab.py"), "--hosts", "2", "--networks", "100mbit", "--transports",
                       transport, "--rows", "dense ring,gather allgather", "--steps", "3", "--build", build], capture_output=True, text=True,
                      check=False)
print(done.stdout)
check(done.returncode == 0, f"exit {done.returncode}: {done.stderr}")
finish()
