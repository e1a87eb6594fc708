"""Two hosts at 100 Mbit/s with 5 ms one way: the probe finds both. TCP leaves 95.6 % of the rate to the payload."""

import json
import os
import subprocess
import sys

from support import HANG, check, finish, no_lab

tithe = os.environ["TITHE"]
reason = no_lab()
if reason:
    print("SKIP: " + reason)
    sys.exit(77)
done = subprocess.run([os.path.join(os.environ["TITHE_SOURCE"], "tools", "netlab"), "--rate", "100mbit", "--delay", "5ms", "zmq", tithe, "probe",
                       "--transport", "zmq", "--workers", "2", "--seconds", "3", "--json", "-"], capture_output=True, text=True,
                      timeout=HANG, check=False)
if "built without" in done.stderr:
    print("SKIP: built without ZeroMQ")
    sys.exit(77)
check(done.returncode == 0, f"exit {done.returncode}: {done.stderr!r}")
if done.returncode == 0:
    link = json.loads(done.stdout)
    latency, bandwidth = link["latency_s"], 8 * link["bandwidth_Bps"]
    print(f"latency {1e3 * latency:.2f} ms, bandwidth {1e-6 * bandwidth:.1f} Mbit/s")
    check(0.8 * 95.6e6 < bandwidth < 1.1 * 100e6, f"bandwidth {bandwidth}")
    check(5e-3 <= latency < 7e-3, f"latency {latency}")
finish()
