"""A switch that one rank alone loses, over real transports: the others have the sum that it lacks. Under auto all of them go on without
the switch; where nothing else was asked for all of them end, and nobody waits for ever."""

import json
import os
import signal
import subprocess

from support import HANG, check, finish, free_port, happens, mpirun, transports_here
from switches import DATA, WORKERS, Relay, Switch, environment, loses, path, says, tithe

ALONE = 1  # the rank, or over ZeroMQ, where ranks are given out as they come, the worker


def commands(transport, options, ways, traces):
    """One process for each rank, with a way of its own to the switch, or one command that starts them."""
    train = [tithe, "train", *DATA, "--scheme", "switch", "--codec", "all|natural", "--steps", "1000000000", "--transport", transport,
             "--workers", str(WORKERS), *options]
    own = [["--switch", way, "--trace", trace, "--json", trace + ".json"] for way, trace in zip(ways, traces)]
    if transport == "mpi":
        start = mpirun(1)
        words = [*start, *train, *own[0]]
        for more in own[1:]:
            words += [":", *start[start.index("-n"):], *train, *more]
        return [words]
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    server = [*train, "--role", "server", "--listen", endpoint, "--switch", ways[0]]
    return [server, *([*train, "--role", "worker", "--connect", endpoint, *more] for more in own)]


def start(transport, options):
    """Some steps later."""
    switch = Switch()
    relay = Relay(switch.address)
    traces = [path(f"{transport}-{os.urandom(4).hex()}.csv") for _ in range(WORKERS)]
    ways = [relay.address if r == ALONE else switch.address for r in range(WORKERS)]
    processes = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
                 for words in commands(transport, options, ways, traces)]
    happens(lambda: any_says(traces, lambda line: line.startswith("8,")) or any(p.poll() is not None for p in processes),
            "some steps go through the switch")
    relay.cut.set()
    return switch, traces, processes


def any_says(traces, what):
    return any(says(trace, what) for trace in traces)


def size(traces):
    return sum(os.path.getsize(trace) for trace in traces if os.path.exists(trace))


def result(name):
    with open(name, encoding="utf-8") as file:
        return json.load(file)


def end(processes):
    """What each said; nobody waits for another one."""
    said = []
    for process in processes:
        try:
            said.append(process.communicate(timeout=HANG)[1])
        except subprocess.TimeoutExpired:
            process.kill()
            said.append(process.communicate()[1] + " (it waits)")
    return said


def all_go_on(transport):
    switch, traces, processes = start(transport, ["--tuner", "auto", "--deadline", "60"])

    def is_over():
        return any(process.poll() is not None for process in processes)

    happens(lambda: any_says(traces, lambda line: loses(line) and "scheme=switch" not in line) or is_over(), "all go on without the switch")
    before = size(traces)
    happens(lambda: size(traces) > before + 200 or is_over(), "steps go on")
    check(not is_over() and switch.process.poll() is None, f"{transport}: all are there, and the switch is, too")
    processes[-1].send_signal(signal.SIGINT)  # a worker, or all of them; it tells the others
    said = end(processes)
    check(any_says(traces, loses) and not any("(it waits)" in each for each in said), f"auto over {transport}: {said}")
    answers = [result(trace + ".json") for trace in traces if os.path.exists(trace + ".json")]
    check(answers and all(a["loss"] < 0.3 and a["steering"]["changes"] >= 1 and "scheme=switch" not in a["steering"]["setting"]
                          for a in answers), f"auto over {transport}: {answers}")
    switch.end()


def all_end(transport):
    switch, _, processes = start(transport, ["--tuner", "fixed", "--deadline", "6"])
    said = end(processes)
    check(all(process.returncode not in (0, None) for process in processes), f"fixed over {transport}: {[p.returncode for p in processes]}")
    check(any("is gone: start it again" in each for each in said), f"fixed over {transport}: {said}")
    check(all("The switch at" in each or "Rank" in each for each in said), f"fixed over {transport}: {said}")
    switch.end()


for name in transports_here():
    all_go_on(name)
    all_end(name)
finish()
