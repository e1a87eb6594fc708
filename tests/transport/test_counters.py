"""sent_bytes and downlink_bytes against the kernel's own count, for every scheme with 2, 4 and 8 workers: server and workers in network
namespaces of their own, joined by veth pairs and a bridge. What the interfaces carried is what was said to be sent, and the headers of
TCP/IP; what those of the workers received is what was said to come back, and where they own parts, what others sent up.

Needs root and ip (Debian: iproute2)."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

from support import HANG, check, finish, skip

tithe = os.environ["TITHE"]
WORKERS = 8
NAMES = [f"tithe{os.getpid()}-{i}" for i in range(WORKERS + 1)]  # the server is the last
BRIDGE = f"tb{os.getpid()}"
# What the workers receive besides: lengths under gather, frames of others where they own parts.
SCHEMES = [("dense over a ring", "--codec raw --collective ring", lambda a: a["downlink_bytes"]),
           ("dense, direct", "--codec raw --collective direct", lambda a: a["downlink_bytes"]),
           ("top-k, gathered", "--codec topk:keep=0.05 --scheme gather", lambda a: a["downlink_bytes"]),
           ("both ways over a star", "--codec natural --downlink natural", lambda a: a["downlink_bytes"]),
           ("shards", "--codec natural --scheme shards", lambda a: a["downlink_bytes"] + a["uplink_bytes"]),
           ("AR-Top-k", "--codec topk:keep=0.05 --scheme artopk --leader auto", lambda a: a["downlink_bytes"])]
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


def payloads(name):
    """Bytes sent and received, without headers: Ethernet 14, IP 20, TCP 20 and 12 of time stamps."""
    files = [f"/sys/class/net/eth/statistics/{way}_{what}" for way in ("tx", "rx") for what in ("bytes", "packets")]
    done = subprocess.run(["ip", "netns", "exec", name, "cat", *files], check=True, capture_output=True, text=True)
    numbers = [int(word) for word in done.stdout.split()]
    return numbers[0] - 66 * numbers[1], numbers[2] - 66 * numbers[3]


def start(name, workers, *arguments):
    return subprocess.Popen(["ip", "netns", "exec", name, tithe, "train", "--transport", "zmq", "--workers", str(workers),
                             *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def measure(workers, what, options, comes_back):
    """`comes_back`: of an answer, what the workers' interfaces receive."""
    common = ["--data", "gen:sparse:rows=400,features=20000,density=0.01", "--step-size", "0.1", "--l2", "1e-3", "--estimator", "sgd", "--steps", "40",
              *options.split()]
    endpoint = f"tcp://10.99.7.{WORKERS + 1}:5555"
    names = [*NAMES[:workers], NAMES[-1]]
    before = [payloads(name) for name in names]
    server = start(NAMES[-1], workers, *common, "--role", "server", "--listen", endpoint)
    started = [start(name, workers, *common, "--role", "worker", "--connect", endpoint, "--json", "-") for name in names[:-1]]
    outputs = [process.communicate(timeout=HANG) for process in [*started, server]]
    texts = [out for out, _ in outputs if out.strip()]
    check(len(texts) == 1, f"{what}, {workers} workers: {outputs}")
    if len(texts) != 1:
        return
    said = json.loads(texts[0])
    carried = [[now - then for now, then in zip(a, b)] for a, b in zip([payloads(name) for name in names], before)]
    sent, received = sum(tx for tx, _ in carried), sum(rx for _, rx in carried[:-1])
    # heads of ZeroMQ's messages, who is who when they meet, signs of life, the last words, a few ARPs; a packet that was sent twice
    room = 40 * said["messages"] + 25000 * workers + 0.01 * said["sent_bytes"]
    for name, claimed, counted in (("sent_bytes", said["sent_bytes"], sent), ("what comes back", comes_back(said), received)):
        figures = f"{what}, {workers} workers: {name} {claimed:,.0f}; by the kernel {counted:,}, {100 * (counted / claimed - 1):+.2f} %"
        print(figures)
        check(0 <= counted - claimed <= room, figures)
    check(0 < said["setup_bytes"] < 2000 * workers, f"{what}: {said['setup_bytes']} bytes of set-up")


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
    for count in (2, 4, 8):
        for title, words, back in SCHEMES:
            measure(count, title, words, back)
finally:
    tear_down()
    shutil.rmtree(environment["XDG_CACHE_HOME"], ignore_errors=True)
finish()
