"""tools/netlab: hosts, links, rates that change, settings; nothing arrives early, programs work over it, and nothing is left behind.

How fast a link is, and how well that is found out, is asked in timed_netlab.py, timed_link_in_netlab.py and timed_netlab_plan.py. Here a
message may be as late as the machine is busy."""

import json
import math
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from support import HANG, NEVER, check, finish, no_lab

netlab = os.path.join(os.environ["TITHE_SOURCE"], "tools", "netlab")
tithe, build = os.environ["TITHE"], os.environ["TITHE_BUILD"]
ENOUGH = 400  # messages
lab = f"test{os.getpid()}"  # others may have a lab, too
folder = tempfile.mkdtemp()
environment = dict(os.environ, NETLAB_NAME=lab, TITHE_THREADS="1", XDG_CACHE_HOME=folder)


def run(*command):
    return subprocess.run([netlab, *command], capture_output=True, text=True, timeout=2 * HANG, env=environment, check=False)


# ---- in a host: this file is also the program that it runs --------------------------------------------------------------

def send():
    """Short and long messages with the time in them, several at once, until the other one has enough."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(0.02)
        end = time.monotonic() + HANG
        while time.monotonic() < end:
            for size in (8, 1200, 8, 100):
                s.sendto(time.monotonic_ns().to_bytes(size, "little"), ("10.77.0.2", 5000))
            try:
                if s.recv(100):
                    return
            except OSError:  # nothing yet, or nobody listens yet
                continue


def receive():
    """The shortest time that a message was on its way; hosts have the clock of the machine."""
    least, count = math.inf, 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("10.77.0.2", 5000))
        s.settimeout(HANG)
        while count < ENOUGH:
            data, sender = s.recvfrom(2000)
            least, count = min(least, time.monotonic_ns() - int.from_bytes(data, "little")), count + 1
        print(least, flush=True)
        s.settimeout(5)
        try:
            while True:  # until the sender is silent: it may miss that it is enough
                s.sendto(b"enough", sender)
                s.recv(2000)
        except OSError:
            return


# ---- questions ------------------------------------------------------------------------------------------------------------

def nothing_arrives_early():
    for delay, least in (("5ms", 5_000_000), ("0.29ms", 290_000), ("1500.5us", 1_500_500)):
        done = run("--rate", "100mbit", "--delay", delay, "each", sys.executable, os.path.abspath(__file__), "host")
        check(done.returncode == 0 and done.stdout.strip().isdigit(), f"{delay}: exit {done.returncode}: {done.stdout!r} {done.stderr!r}")
        if done.stdout.strip().isdigit():
            print(f"{delay}: {int(done.stdout) / 1e6:.3f} ms at least")
            check(int(done.stdout) >= least, f"{delay}: {done.stdout.strip()} ns are too early")


def has(transport):
    done = subprocess.run([tithe, "train", "--data", "a9a-like:scale=0.03", "--transport", transport, "--steps", "1", "--no-optimum"],
                          capture_output=True, text=True, timeout=HANG, env=environment, check=False)
    return "built without" not in done.stderr and (transport != "mpi" or shutil.which("mpirun"))


def answer(what, *command):
    done = run(*command)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        check(False, f"{what}: exit {done.returncode}, {done.stdout[:300]!r} {done.stderr[:600]!r}")
        return None


def is_number(value):
    return isinstance(value, (int, float)) and 0 < value < math.inf


def programs_work(transport):
    """A probe and a run over two hosts: numbers that make sense, and the model of a run in one process."""
    here = ["--rate", "100mbit", "--delay", "5ms", transport, tithe]
    link = answer(f"probe, {transport}", *here, "probe", "--transport", transport, "--workers", "2", "--seconds", "1", "--deadline", NEVER,
                  "--json", "-")
    if link:
        check(is_number(link["latency_s"]) and is_number(link["bandwidth_Bps"]), f"probe, {transport}: {link}")
        check(link["latency_s"] >= 5e-3, f"probe, {transport}: {link['latency_s']} s are less than the link takes")
    options = ["--workers", "2", "--data", "gisette-like:scale=0.05", "--model", "mlp:hidden=4", "--estimator", "minibatch", "--batch", "4",
               "--step-size", "0.001", "--steps", "20", "--no-optimum", "--tuner", "fixed", "--json", "-"]
    alone = json.loads(subprocess.run([tithe, "train", *options], capture_output=True, text=True, timeout=HANG, env=environment,
                                      check=True).stdout)
    there = answer(f"train, {transport}", *here, "train", "--transport", transport, "--deadline", NEVER, *options)
    if there:
        link = there["link"]
        check(there["model_hash"] == alone["model_hash"], f"train, {transport}: another model than in one process")
        check(is_number(link["latency_s"]) and link["latency_s"] >= 5e-3, f"train, {transport}: {link}")
        check(link["bandwidth_Bps"] is None or is_number(link["bandwidth_Bps"]), f"train, {transport}: {link}")
        check(link["probe_bytes"] <= 0.01 * there["sent_bytes"], f"train, {transport}: {link['probe_bytes']} of {there['sent_bytes']} bytes")


def rates_change():
    schedule = os.path.join(folder, "schedule")
    with open(schedule, "w", encoding="ascii") as rates:
        rates.write("# a comment\n0.1 50mbit\n0.2 20mbit\n")
    wait = "until tc qdisc show dev e0 | grep -q 'rate 20Mbit'; do sleep 0.05; done; tc qdisc show dev e0"
    done = run("--rate", "100mbit", "--schedule", schedule, "first", "timeout", str(HANG), "sh", "-c", wait)
    check(done.returncode == 0 and "20Mbit" in done.stdout, f"a schedule: {done.stdout!r} {done.stderr!r}")


def settings():
    done = run("--sysctl", "net.ipv4.tcp_notsent_lowat=98765", "first", "sysctl", "-n", "net.ipv4.tcp_notsent_lowat")
    check(done.stdout == "98765\n", f"a setting: {done.stdout!r} {done.stderr!r}")
    for words, answer in ((["--hosts", "1"], "--hosts takes"), (["--rate", "fast"], "--rate takes"), (["--delay", "soon"], "--delay takes"),
                          (["--sysctl", "speed=3"], "--sysctl takes"), (["--sysctl", "net.core.rmem_max=1; reboot"], "--sysctl takes"),
                          (["--sysctl", "net.ipv4.no_such_thing=1"], "does not let a host have"), (["--schedule", "/no/file"], "schedule")):
        done = run(*words, "first", "true")
        check(done.returncode == 2 and answer in done.stderr and done.stderr.count("\n") == 1, f"{words}: {done.returncode} {done.stderr!r}")


def predictions_are_made():
    """bench/netlab.py from probe to prediction; how near it comes is for timed_netlab_plan.py to ask."""
    program = os.path.join(os.environ["TITHE_SOURCE"], "bench", "netlab.py")
    if shutil.which("setpriv"):
        done = subprocess.run(["setpriv", "--reuid", "65534", sys.executable, program], capture_output=True, text=True, check=False)
        check(done.returncode != 0 and ("root" in done.stderr or "Permission" in done.stderr), f"without root: {done.stderr!r}")
    if not transports or not os.path.exists(os.path.join(build, "tests/bench_exchange_steps")):
        return
    done = subprocess.run([sys.executable, program, "--hosts", "2", "--networks", "100mbit", "--transports", transports[0], "--rows",
                           "dense ring", "--steps", "1", "--build", build, "--json", "-"], capture_output=True, text=True,
                          timeout=2 * HANG, env=environment, check=False)
    check(done.returncode in (0, 1), f"predictions: exit {done.returncode}: {done.stderr!r}")
    told = json.loads(done.stdout)
    check(len(told["probes"]) == 1 and len(told["steps"]) == 1, f"predictions: {told}")
    check((done.returncode == 0) == (told["off"] == 0), f"predictions: exit {done.returncode}, but {told['off']} off")
    check(all(is_number(told["steps"][0][key]) for key in ("predicted_s", "measured_s")), f"predictions: {told['steps']}")
    check(told["settings"]["net.ipv4.tcp_congestion_control"], "the congestion control stands with the figures")


if sys.argv[1:] == ["host"]:
    send() if os.environ["NETLAB_HOST"] == "0" else receive()
    sys.exit()
reason = no_lab()
if reason:
    print("SKIP: " + reason)
    sys.exit(77)
try:
    transports = [transport for transport in ("zmq", "mpi") if has(transport)]
    for transport in ("zmq", "mpi"):
        if transport not in transports:
            print(f"SKIP: no {transport} in this build, or no mpirun")
    nothing_arrives_early()
    for transport in transports:
        programs_work(transport)
    rates_change()
    settings()
    predictions_are_made()
    left = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    check(lab not in left, f"namespaces are left behind: {left!r}")
finally:
    shutil.rmtree(folder, ignore_errors=True)
finish()
