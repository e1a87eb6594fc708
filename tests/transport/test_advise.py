#!/usr/bin/env python3
"""tithe advise over a live link: what is measured between real processes is the link of the trials, every process ends well and only
one of them speaks, the command that is recommended runs on that transport; and a group that is not whole, or is stopped."""
import json
import os
import shlex
import signal
import subprocess
import tempfile

from support import HANG, check, connections, finish, free_port, happens, mpirun, run_together, transports_here

tithe = os.path.abspath(os.environ["TITHE"])
SMALL = ["--data", "a9a-like:scale=0.02"]


def environment():
    return {**os.environ, "XDG_CACHE_HOME": os.getcwd(), "TMPDIR": os.path.abspath("t")}


def call(*words, before=()):
    done = subprocess.run([*before, tithe, *words], capture_output=True, text=True, env=environment(), timeout=10 * HANG)
    return done.returncode, done.stdout, done.stderr


def answered(said, what, transport, workers):
    status, out, errors = said
    check(status == 0, f"{what}: status {status}: {errors}")
    if status:
        return None
    answer = json.loads(out)
    check(answer["transport"] == transport and answer["workers"] == workers, f"{what}: {answer['transport']}, {answer['workers']} workers")
    check(0 < answer["latency_s"] < 10 and 0 < answer["bandwidth_Bps"] < 1e12, f"{what}: {answer['latency_s']} s, {answer['bandwidth_Bps']} B/s")
    check(f"latency={answer['latency_s']:.9g}s,bandwidth={answer['bandwidth_Bps']:.9g}B" in answer["cost"], f"{what}: messages cost {answer['cost']}")
    check(answer["rows"][0]["reached"] and len(answer["rows"]) >= 8, f"{what}: {answer['rows']}")
    return answer


def runs(words, what, before=()):
    status, out, errors = call(*words, "--no-optimum", "--steps", "20000", "--json", "-", before=before)
    check(status == 0 and json.loads(out)["target_reached"], f"{what}: {words} ends with {status}: {errors}")


def by_mpirun():
    answer = answered(call("advise", *SMALL, "--json", "-", before=mpirun(3)), "mpirun", "mpi", 3)
    if answer:
        words = shlex.split(answer["recommended"]["command"])
        check(words[:5] == ["mpirun", "-n", "3", "tithe", "train"] and "--workers" not in words, f"mpirun: {words}")
        runs(words[4:], "mpirun", before=mpirun(3))
    status, out, errors = call("advise", *SMALL, "--workers", "5", before=mpirun(2))
    check(status and out == "" and "--workers says 5" in errors, f"five workers of two: {errors}")


def all_here():
    answer = answered(call("advise", *SMALL, "--local", "3", "--json", "-"), "--local", "zmq", 3)
    if answer:
        words = shlex.split(answer["recommended"]["command"])
        check(words[:6] == ["tithe", "train", "--transport", "zmq", "--data", SMALL[1]] and "--local" in words, f"--local: {words}")
        runs(words[1:], "--local")


def by_roles():
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    server = [tithe, "advise", "--workers", "2", "--listen", endpoint]
    worker = [tithe, "advise", *SMALL, "--workers", "2", "--connect", endpoint, "--json", "-"]
    said = run_together([server, worker, worker], environment())
    check(all(status == 0 and errors == "" for status, _, errors in said), f"roles: {said}")
    answers = [one for one in said[1:] if one[1]]
    check(len(answers) == 1 and said[0][1] == "", f"one worker speaks: {[one[1][:80] for one in said]}")
    answer = answered(answers[0], "roles", "zmq", 2)
    check("--role worker --connect " + endpoint in answer["recommended"]["command"], f"roles: {answer['recommended']['command']}")
    words = shlex.split(answer["recommended"]["command"])[1:]
    again = [tithe, *words, "--no-optimum", "--steps", "20000"]
    serving = [{"worker": "server", "--connect": "--listen"}.get(word, word) for word in again]
    said = run_together([serving, again, again], environment())
    check(all(status == 0 for status, _, _ in said), f"the recommended command, by roles: {said}")


def complaints():
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    for options, says in ((["--connect", endpoint, "--workers", "2", "--deadline", "1"], "did not answer"),
                          (["--listen", endpoint, "--workers", "2", "--deadline", "1"], "0 of 2 workers came"),
                          (["--local", "2", "--connect", endpoint], "--local starts all processes here, and --connect"),
                          (["--local", "2", "--latency", "1ms"], "--latency"), (["--local", "2", "--cost", "bits"], "--cost"),
                          (["--local", "1"], "two ranks"), (["--transport", "pigeon"], "pigeon"), (["--transport", "zmq"], "--local")):
        status, out, errors = call("advise", *SMALL, *options)
        check(status == 2 and out == "" and errors.count("\n") == 1 and says in errors, f"{options}: status {status}: {errors}")


def stopped():
    """While it waits for others, and while it tries a part of long data, when the others are gone."""
    port = free_port()
    waiting = subprocess.Popen([tithe, "advise", "--workers", "2", "--listen", f"tcp://127.0.0.1:{port}"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environment())
    worker = subprocess.Popen([tithe, "advise", *SMALL, "--workers", "2", "--connect", f"tcp://127.0.0.1:{port}"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env=environment())
    happens(lambda: len(connections(port)) == 2, "one has come")
    for process in (worker, waiting):
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=HANG)[1]
        check(process.returncode == 130 and said.count("\n") == 1, f"stopped while waiting: status {process.returncode}, {said}")
    long = ["--data", "gen:sparse:rows=30000,features=3000,density=0.05", "--local", "2"]
    process = subprocess.Popen([tithe, "advise", *long], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
    happens(lambda: any(name.startswith("tithe-advise-") for name in os.listdir("t")) or process.poll() is not None, "a part of the data is written")
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=HANG)[1]
    check(process.returncode == 130, f"stopped: status {process.returncode}, {said}")


def main():
    transports = transports_here()
    with tempfile.TemporaryDirectory(prefix="a", dir="/tmp") as room:  # a short path: a socket lives in it
        os.chdir(room)
        os.mkdir("t")
        if "mpi" in transports:
            by_mpirun()
        if "zmq" in transports:
            all_here()
            by_roles()
            complaints()
            stopped()
        check(os.listdir("t") == [], f"left behind: {os.listdir('t')}")
        os.chdir("/")
    finish(skipped=not transports)


main()
