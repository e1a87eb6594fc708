"""Runs a program on the hosts of a network that tools/netlab makes, or on this machine's loopback."""
import json
import os
import shlex
import socket
import subprocess
import sys

MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}
# Congestion control that fills the link, no more of a message in the socket than is about to leave, and a window that does not
# close between two steps (docs/plan.md says what happens without).
SETTINGS = {"net.ipv4.tcp_congestion_control": "reno", "net.ipv4.tcp_notsent_lowat": "131072", "net.ipv4.tcp_slow_start_after_idle": "0"}


def in_lab(network, hosts, transport, command, settings=SETTINGS, inside=None, schedule=None, tries=2):
    """What rank 0 prints: one line of JSON. A network is RATE or RATE+DELAY; the rate none is as fast as it goes.
    `inside` runs inside the switch; `schedule` is a file of seconds and rates."""
    rate, _, delay = network.partition("+")
    lab = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools/netlab"), "--hosts", str(hosts), "--rate", rate, "--delay", delay or "0"]
    for key, value in settings.items():
        lab += ["--sysctl", f"{key}={value}"]
    if schedule:
        lab += ["--schedule", schedule]
    if inside:
        lab += ["--inside", shlex.join(inside)]
    for _ in range(tries):  # starting several processes in several hosts is what fails, if anything does
        done = subprocess.run([*lab, transport, *command], capture_output=True, text=True, timeout=900)
        start = done.stdout.find("{")
        if done.returncode in (0, 1) and start >= 0:
            return json.loads(done.stdout[start:])
    sys.exit(f"{os.path.basename(sys.argv[0])}: {shlex.join(command)}: exit {done.returncode}: {done.stderr.strip()[-500:]}")


def on_loopback(ranks, transport, command):
    """The same, with one process for each rank here, over TCP."""
    if transport == "mpi":
        start = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks), "--mca", "pml", "ob1", "--mca", "btl", "tcp,self"]
        text = subprocess.run([*start, *command], capture_output=True, text=True, env=dict(os.environ, **MPI), check=True, timeout=900).stdout
        return json.loads(text)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        endpoint = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
    roles = [["--role", "server", "--listen", endpoint]] + [["--role", "worker", "--connect", endpoint]] * ranks
    running = [subprocess.Popen([*command, *role], stdout=subprocess.PIPE, text=True) for role in roles]
    return json.loads("".join(process.communicate(timeout=900)[0] for process in running))


def run(network, ranks, transport, command):
    """On the loopback, or in_lab."""
    return on_loopback(ranks, transport, command) if network == "loopback" else in_lab(network, ranks, transport, command)


def take_precedence():
    """Ahead of what else runs here: a network does not get slower because a compiler is at work. Needs root, as namespaces do."""
    if os.geteuid() != 0:
        name = os.path.basename(sys.argv[0])
        sys.exit(f"{name}: needs root, since it makes network namespaces: sudo bench/{name}")
    os.setpriority(os.PRIO_PROCESS, 0, -15)
