"""Processes that were started with different options, over real mpirun and real sockets: all of them end at once, each with one
sentence that names the option and both sides. tests/learn/test_description.c does so for every option, in one process."""

import os
import shutil
import subprocess
import tempfile

from support import check, finish, free_port, mpirun, transports_here

tithe = os.environ["TITHE"]
folder = tempfile.mkdtemp()
environment = dict(os.environ, TITHE_THREADS="1")
environment["XDG_CACHE_HOME"] = folder
RUN = ["--data", "a9a-like:scale=0.03", "--codec", "topk:keep=0.1", "--steps", "5", "--deadline", "60"]
PATIENCE = 50  # seconds: less than the deadline, so who waits for that is found out
WEIGHTS = [os.path.join(folder, name) for name in ("a", "b")]
for i, path in enumerate(WEIGHTS):
    with open(path, "w", encoding="ascii") as file:
        file.writelines(f"{1 + (row + i) % 50}\n" for row in range(977))
DRAWN = ["--estimator", "sgd", "--sampling"]
# What one process has, what the others have, and what the sentence says of both.
DIFFERENCES = {
    "split": ([], ["--split", "sorted"], "split shuffled", "split sorted"),
    "count": ([], ["--count", "paper"], "count frame", "count paper"),
    "tuner": ([], ["--tuner", "cat"], "tuner fixed", "tuner cat"),
    "steps": ([], ["--steps", "7"], "steps 5", "steps 7"),
    "l2": ([], ["--l2", "0.25"], "l2 (not given)", "l2 0.25"),
    "scheme": ([], ["--scheme", "star"], "scheme gather", "scheme star"),
    "downlink": ([], ["--downlink", "natural"], "downlink (not given)", "downlink all|natural"),
    "no-optimum": ([], ["--no-optimum"], "no-optimum no", "no-optimum yes"),
    "data": ([], ["--data", "a9a-like:scale=0.02"], "data a9a-like:scale=0.03", "data a9a-like:scale=0.02"),
    "weights of rows": ([*DRAWN, WEIGHTS[0]], [*DRAWN, WEIGHTS[1]], "sampling " , "sampling "),
}
# What a server has to know too.
SERVERS = {
    "count": ([], ["--count", "paper"], "The server has count paper", "the workers have count frame"),
    "seed": ([], ["--seed", "3"], "The server has seed 3", "the workers have seed 1"),
    "scheme": ([], ["--scheme", "star"], "The server has scheme star", "the workers have scheme gather"),
}


def start(command):
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def end(process, what):
    try:
        return process.communicate(timeout=PATIENCE)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        check(False, f"{what}: it waits")
        return process.communicate()[1]


def sentences(errors):
    return [line for line in errors.splitlines() if line.startswith("tithe train: ")]


def over_mpi():
    """mpirun starts three processes, the last of which differs; its own exit status is that of the first one to end."""
    for name, (first, last, *words) in DIFFERENCES.items():
        both = [[tithe, "train", "--transport", "mpi", *RUN, *more] for more in (first, last)]
        one = mpirun(1)
        process = start([*mpirun(2), *both[0], ":", *one[one.index("-n"):], *both[1]])
        errors = end(process, f"mpi, {name}")
        said = sentences(errors)
        check(process.returncode == 2, f"mpi, {name}: exit {process.returncode}: {errors!r}")
        check(len(said) == 3 and len(set(said)) == 1, f"mpi, {name}: one sentence from each: {said}")
        check(all("Rank 0 has " + words[0] in line and "rank 2 has " + words[1] in line for line in said), f"mpi, {name}: {said}")


def workers_over_mpi():
    """Another number of workers than mpirun started, with a cost for each of them: a sentence, and nothing read behind the end."""
    for workers, ranks in (("2", 5), ("7", 3)):
        more = ["--workers", workers, "--codec", "topk", "--level", "shared", "--cost", "802.15.4;802.15.4"]
        process = start([*mpirun(ranks), tithe, "train", "--transport", "mpi", *RUN, *more])
        errors = end(process, f"mpi, {workers} workers")
        check(process.returncode == 2 and f"There are {ranks} ranks, but {workers} workers" in errors,
              f"mpi, {ranks} ranks and {workers} workers: exit {process.returncode}: {errors!r}")


def roles(server, workers):
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    common = [tithe, "train", "--transport", "zmq", "--workers", str(len(workers)), *RUN]
    processes = [start([*common, "--role", "server", "--listen", endpoint, *server])]
    return processes + [start([*common, "--role", "worker", "--connect", endpoint, *more]) for more in workers]


def all_refuse(processes, words, what):
    for process in processes:
        errors = end(process, what)
        said = sentences(errors)
        check(process.returncode == 2, f"{what}: exit {process.returncode}: {errors!r}")
        check(len(said) == 1 and len(errors.splitlines()) == 1, f"{what}: one sentence: {errors!r}")
        check(all(word in errors for word in words), f"{what}: {words} are not in {errors!r}")


def over_zmq():
    for name, (first, last, *words) in DIFFERENCES.items():
        # Ranks go by arrival, so either may be the first to be named.
        all_refuse(roles(first, [first, last]), ["Rank 0 has ", "rank 1 has ", *words], f"zmq, {name}")
    for name, (first, last, *words) in SERVERS.items():
        all_refuse(roles(last, [first, first]), words, f"zmq, the server's {name}")


transports = transports_here()
if "mpi" in transports:
    over_mpi()
    workers_over_mpi()
if "zmq" in transports:
    over_zmq()
shutil.rmtree(folder, ignore_errors=True)
finish(skipped=not transports)
