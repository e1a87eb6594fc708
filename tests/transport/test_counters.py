"""sent_bytes against the kernel's own count: server and workers in network namespaces of their own, joined by a veth pair
and a bridge. What the interfaces carried is what was said to be sent, and the headers of TCP/IP.

Needs root and ip (Debian: iproute2)."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

from support import HANG, check, finish, skip

tithe = os.environ["TITHE"]
WORKERS = 2
NAMES = [f"tithe{os.getpid()}-{i}" for i in range(WORKERS + 1)]  # the server is the last
BRIDGE = f"tb{os.getpid()}"
environment = dict(os.environ, TITHE_THREADS="1", XDG_CACHE_HOME=tempfile.mkdtemp())


def ip(*words, must=True):
    return subprocess.run(["ip", *words], check=must, capture_output=True, text=True)


def build():
    """All in a namespace of their own, the bridge too: nothing is to be seen from outside."""
    ip("netns", "add", BRIDGE)
    ip("-n", BRIDGE, "link", "add", "bridge", "type", "bridge")
    ip("-n", BRIDGE, "link", "set", "bridge", "up")
    for i, name in enumerate(NAMES):
        ip("netns", "add", name)
        ip("-n", BRIDGE, "link", "add", f"v{i}", "type", "veth", "peer", "name", "eth", "netns", name)
        ip("-n", BRIDGE, "link", "set", f"v{i}", "master", "bridge", "up")
        ip("-n", name, "addr", "add", f"10.99.7.{i + 1}/24", "dev", "eth")
        ip("-n", name, "link", "set", "eth", "up")
        ip("-n", name, "link", "set", "lo", "up")


def tear_down():
    for name in [*NAMES, BRIDGE]:
        ip("netns", "del", name, must=False)


def sent(name):
    done = subprocess.run(["ip", "netns", "exec", name, "cat", "/sys/class/net/eth/statistics/tx_bytes",
                           "/sys/class/net/eth/statistics/tx_packets"], check=True, capture_output=True, text=True)
    return [int(word) for word in done.stdout.split()]


def start(name, *arguments):
    return subprocess.Popen(["ip", "netns", "exec", name, tithe, "train", "--transport", "zmq", "--workers", str(WORKERS),
                             *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def measure(what, options, most):
    common = ["--data", "rcv1-like:scale=0.05", "--no-optimum", "--steps", "60", *options.split()]
    endpoint = f"tcp://10.99.7.{WORKERS + 1}:5555"
    before = [sent(name) for name in NAMES]
    server = start(NAMES[-1], *common, "--role", "server", "--listen", endpoint)
    workers = [start(name, *common, "--role", "worker", "--connect", endpoint, "--json", "-") for name in NAMES[:-1]]
    outputs = [process.communicate(timeout=HANG) for process in [*workers, server]]
    texts = [out for out, _ in outputs if out.strip()]
    check(len(texts) == 1, f"{what}: {outputs}")
    if len(texts) != 1:
        return
    said = json.loads(texts[0])["sent_bytes"]
    after = [sent(name) for name in NAMES]
    carried = sum(a[0] - b[0] for a, b in zip(after, before))
    packets = sum(a[1] - b[1] for a, b in zip(after, before))
    headers = 66 * packets  # Ethernet 14, IP 20, TCP 20 and 12 of time stamps
    rest = carried - headers - said
    figures = (f"{what}: sent_bytes {said:,.0f}; the interfaces carried {carried:,} in {packets:,} packets; "
               f"without headers {carried - headers:,} ({100 * rest / said:+.2f} %)")
    print(figures)
    check(0 <= rest <= most * said + 20000, figures)  # heads of messages, the handshake, the last words, a few ARPs


if os.geteuid() != 0 or not shutil.which("ip"):
    skip("network namespaces need root and ip")
if "built without" in subprocess.run([tithe, "train", "--data", "a9a-like:scale=0.03", "--transport", "zmq"], capture_output=True, text=True,
                                     env=environment).stderr:
    skip("no zmq in this build")
try:
    build()
except (subprocess.CalledProcessError, OSError) as error:
    tear_down()
    skip(f"no network namespaces here: {getattr(error, 'stderr', error)}".strip())
try:
    measure("dense over a ring", "--codec raw --collective ring", 0.02)
    measure("both ways over a star", "--codec natural --downlink natural", 0.02)
    measure("top-k, gathered", "--codec topk:keep=0.01", 0.05)
finally:
    tear_down()
    shutil.rmtree(environment["XDG_CACHE_HOME"], ignore_errors=True)
finish()
