"""Half a run, a checkpoint, and the other half: the same model and the same account as the whole run, to the last bit, on
every transport and from one to another; and what happens to files that are not what they should be."""

import json
import os
import shutil
import signal
import struct
import subprocess
import tempfile

from support import HANG, NEVER, check, finish, free_port, happens, mpirun, transports_here

tithe = os.environ["TITHE"]
folder = tempfile.mkdtemp()
environment = dict(os.environ, TITHE_THREADS="1")
environment["XDG_CACHE_HOME"] = folder
DATA = ["--data", "a9a-like:scale=0.03"]
WORKERS = 3


def path(name):
    return os.path.join(folder, name)


def run(command):
    return subprocess.run(command, capture_output=True, text=True, timeout=HANG, env=environment)


def train(transport, options, workers=WORKERS):
    """The command of a run."""
    start = {"inproc": ["--workers", str(workers)],
             "mpi": ["--transport", "mpi", "--workers", str(workers)],
             "zmq": ["--transport", "zmq", "--local", str(workers)]}[transport]
    return [*(mpirun(workers) if transport == "mpi" else []), tithe, "train", *start, *DATA, *options]


def answer(transport, options, what, workers=WORKERS):
    done = run(train(transport, [*options, "--json", "-"], workers))
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        check(False, f"{what}: exit {done.returncode}, {done.stdout[:200]!r} {done.stderr[:300]!r}")
        return None


def alone(transport, file, more, what):
    """With no other option than the checkpoint and where to run."""
    start = {"inproc": [], "mpi": ["--transport", "mpi"], "zmq": ["--transport", "zmq", "--local", str(WORKERS)]}[transport]
    done = run([*(mpirun(WORKERS) if transport == "mpi" else []), tithe, "train", *start, "--resume", file, *more, "--json", "-"])
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        check(False, f"{what}: exit {done.returncode}, {done.stdout[:200]!r} {done.stderr[:300]!r}")
        return None


LONGER = "--data gen:sparse:rows=210,features=3000,density=0.02 --no-optimum"  # three owners
# Workers that want different things, one entry at a time: it loses ground before step 12, and again after it.
APART = "--data gen:dense:rows=210,features=60,heterogeneity=5 --split sorted --no-optimum"
# The name, the options, and whether all transports are worth the time.
METHODS = {
    "dense": ("", False),
    "top-k": ("--codec topk:keep=0.05", True),
    "momentum": ("--codec topk:keep=0.1 --momentum 0.9", True),
    "no feedback": ("--codec randk:keep=0.2", False),
    "ef21": ("--codec topk:keep=0.05 --feedback ef21", True),
    "residuals that decay, local steps": ("--codec topk:keep=0.05 --feedback ec:decay=0.9 --local-steps 3", True),
    "both ways": ("--codec natural --downlink natural", False),
    "both ways, the server keeps": ("--codec topk:keep=0.1 --downlink topk|sign --downlink-feedback ec --cost ethernet-udp", True),
    "CAT": ("--codec topk|sign --cost 802.15.4", False),
    "CAT, one level": ("--codec topk|sign --cost 802.15.4 --level shared", False),
    "clients": ("--codec topk:keep=0.1 --clients 2/round --momentum 0.5", True),
    "clients, dense": ("--clients 2/round", False),
    "local steps": ("--codec topk:keep=0.1 --local-steps 3 --momentum 0.5 --average tail", False),
    "lsvrg": ("--estimator lsvrg --codec threshold:lambda=0.05 --average weighted", True),
    "sgd": ("--estimator sgd --sampling importance --codec randk:keep=0.2 --average tail", False),
    "minibatch": ("--estimator minibatch --batch 4 --codec stochastic:keep=0.1 --step-size auto/k", False),
    "costs that are no whole numbers": ("--codec topk:keep=0.1 --cost alphabeta:latency=1ms,bandwidth=3Mbit", False),
    "AR-Top-k": ("--codec topk:keep=0.05 --scheme artopk", True),
    "AR-Top-k, either rule": ("--codec topk:keep=0.05 --scheme artopk --leader auto --bucket 128B", True),
    "AR-Top-k, CAT": ("--codec topk --scheme artopk --leader auto --cost 802.15.4-127", True),
    "AR-Top-k that goes back": (f"{APART} --codec topk:k=1 --scheme artopk --momentum 0.1", True),
    "top-k that goes back": (f"{APART} --codec topk:k=1 --momentum 0.1", True),
    "buckets, both ways": ("--codec topk:keep=0.1 --downlink topk|sign --downlink-feedback ec --cost ethernet-udp --bucket 200B", True),
    "long vectors": ("--data gen:sparse:rows=60,features=300000,density=0.0001 --no-optimum --codec topk:keep=0.01 --momentum 0.5 "
                     "--downlink topk:keep=0.01 --downlink-feedback ec", True),
    "layers, CAT": ("--model mlp:hidden=4 --codec topk:per=layer --cost 802.15.4-127", False),
    "layers": ("--model mlp:hidden=4 --codec topk:keep=0.1,per=layer", False),
    "owners": (f"{LONGER} --codec natural --feedback ec", True),
    "owners, top-k both ways": (f"{LONGER} --codec topk:keep=0.05 --scheme shards --collective ring --momentum 0.5", True),
    "owners, buckets": (f"{LONGER} --codec topk|sign --cost 802.15.4 --scheme shards --bucket 3kB", True),
    "owners, another way back": (f"{LONGER} --codec natural --downlink topk:keep=0.1 --downlink-feedback ec --scheme shards", False),
    "owners of long parts": ("--data gen:sparse:rows=60,features=900000,density=0.00003 --no-optimum --codec natural --feedback ec", True),
}
SAME = ["model_hash", "steps", "epochs", "loss", "gap", "accuracy", "average_loss", "uplink_bytes", "downlink_bytes", "cost",
        "downlink_cost", "paper_bits", "unsent", "kept_mean", "kept_least", "speedup_mean", "speedup_least", "residual_share", "restarts"]
# Sums over processes and steps in another order.
ROUNDED = ["kept_mean", "speedup_mean", "unsent"]


def near(a, b):
    return a == b or (a is not None and b is not None and abs(a - b) <= 1e-12 * abs(a))


def same(whole, resumed, what, rounded=(), but=()):
    if whole and resumed:
        for key in (key for key in SAME if key not in but):
            equal = near(whole[key], resumed[key]) if key in rounded else whole[key] == resumed[key]
            check(equal, f"{what}: {key} is {resumed[key]}, but {whole[key]} in one go")


def halves(transports):
    for name, (text, everywhere) in METHODS.items():
        options = text.split()
        wholes = {}
        for transport in transports if everywhere else ["inproc"]:
            file = path("half-" + transport)
            wholes[transport] = answer(transport, [*options, "--steps", "24"], f"{name}, {transport}")
            half = answer(transport, [*options, "--steps", "12", "--checkpoint", file], f"{name}, {transport}, first half")
            second = answer(transport, [*options, "--steps", "24", "--resume", file], f"{name}, {transport}, second half")
            same(wholes[transport], second, f"{name}, {transport}")
            third = alone(transport, file, ["--steps", "24"], f"{name}, {transport}, nothing but the file")
            same(wholes[transport], third, f"{name}, {transport}, nothing but the file")
            if transport == "inproc" and second:
                check(second["sent_bytes"] == wholes[transport]["sent_bytes"], f"{name}: sent_bytes go on")
                again = answer(transport, [*options, "--steps", "12", "--resume", file], f"{name}, nothing left to do")
                same(half, again, f"{name}, nothing left to do")
        for first in wholes:  # from each transport to each other one
            for then in wholes:
                if first != then:
                    second = answer(then, [*options, "--steps", "24", "--resume", path("half-" + first)], f"{name}, {first} to {then}")
                    same(wholes[then], second, f"{name}, {first} to {then}", rounded=ROUNDED)
        # In the middle of a run, for its last multiple of K; and the file goes over itself.
        file = path("every")
        answer("inproc", [*options, "--steps", "20", "--checkpoint", file, "--every", "8"], f"{name}, every")
        check(step_of(file) == 20, f"{name}: the last state is written too")
        second = answer("inproc", [*options, "--steps", "24", "--resume", file, "--checkpoint", file], f"{name}, every")
        same(wholes["inproc"], second, f"{name}, resumed onto itself")
        check(step_of(file) == 24, f"{name}: the file of the resumed run")
    check(not [f for f in os.listdir(folder) if f.endswith(".part")], "no parts are left")


def step_of(file):
    done = run([tithe, "inspect", file, "--json", "-"])
    try:
        return json.loads(done.stdout)["step"]
    except (json.JSONDecodeError, KeyError):
        return f"{done.stdout!r} {done.stderr!r}"


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def by_the_page():
    """The file, read as docs/checkpoint.md says and by nothing else."""
    file = path("page")
    options = ["--codec", "topk:keep=0.1", "--momentum", "0.5", "--average", "tail", "--clients", "2/round", "--seed", "77"]
    here = answer("inproc", [*options, "--steps", "5", "--checkpoint", file], "by the page")
    data = open(file, "rb").read()
    magic, version, length, step, n, seed, _, workers, parts, epochs, _, _, count, earlier, averaged, learned = struct.unpack_from(
        "<8sIIQQQQIIdddQQQQ", data)
    check((magic, version, step, n, seed, workers, parts) == (b"TITHECKP", 4, 5, 123, 77, 3, 1 + 16 + 32 + 64 + 128), "page: head")
    check(epochs == here["epochs"] and (count, earlier, averaged, learned) == (2, 2, 6, 0), f"page: {epochs} epochs, {count}, {earlier}, {averaged}")
    facts = dict(line.split(": ", 1) for line in data[112:112 + length].decode().splitlines())
    check(facts["codec"].startswith("topk:keep=0.1") and facts["feedback"] == "ec" and facts["clients"] == "2/round", f"page: {facts}")
    at = 112 + length + 3 * 8 * n
    check(sorted(struct.unpack_from("<3I", data, at)) == [0, 1, 2], "page: clients")
    at += 4 * workers
    uplink = cost = 0
    for _ in range(workers):
        account = struct.unpack_from("<31d", data, at)
        uplink, cost = uplink + account[1], cost + account[5]
        at += 8 * 31 + 4 * n + 8 * n
    check(uplink == here["uplink_bytes"] and cost == here["cost"], f"page: {uplink}, {cost}")
    check(len(data) == at + 4 and struct.unpack_from("<I", data, at)[0] == crc32c(data[:at]), "page: length and checksum")


def refused(command, words, what):
    done = run(command)
    lines = done.stderr.strip().splitlines()
    check(done.returncode == 2, f"{what}: exit {done.returncode}, {done.stderr!r}")
    check(any(all(word in line for word in words) for line in lines), f"{what}: {words} are not in {lines}")
    return lines


def bad_files(transports):
    options = ["--codec", "topk:keep=0.1", "--steps", "6"]
    file = path("good")
    answer("inproc", [*options, "--checkpoint", file], "a good file")
    other = {
        "seed": (["--seed", "5"], ["seed is 1 there", "5 here"]),
        "codec": (["--codec", "topk:keep=0.2"], ["codec is", "keep=0.1", "keep=0.2"]),
        "feedback": (["--feedback", "ef21"], ["feedback is ec there", "ef21 here"]),
        "estimator": (["--estimator", "sgd"], ["estimator is full there", "sgd here"]),
        "model": (["--model", "least-squares"], ["model is logistic", "least-squares here"]),
        "data": (["--data", "w8a-like:scale=0.03"], ["data is", "a9a", "w8a"]),
        "l2": (["--l2", "0.5"], ["l2 is", "0.5 here"]),
        "momentum": (["--momentum", "0.5"], ["momentum is 0 there", "0.5 here"]),
    }
    for name, (more, words) in other.items():
        lines = refused(train("inproc", [*options, "--resume", file, *more]), words, f"another {name}")
        check(len(lines) == 1, f"another {name}: one sentence, not {lines}")
    for transport in transports:
        workers = refused(train(transport, [*options, "--resume", file], workers=2), ["workers is 3 there", "2 here"],
                          f"another number of workers, {transport}")
        check(workers, "a sentence")
        refused(train(transport, [*options, "--resume", path("nowhere")]), ["Cannot read", "No such file"], f"no file, {transport}")
        refused(train(transport, [*options, "--checkpoint", path("nowhere/file")]), ["Cannot write", "No such file"],
                f"unwritable, {transport}")
    refused(train("inproc", [*options, "--checkpoint", folder]), ["Cannot write"], "a folder")
    refused(train("inproc", [*options, "--every", "3"]), ["--checkpoint"], "--every alone")
    content = open(file, "rb").read()
    damaged = {
        "cut off": (content[:-100], ["cut off"]),
        "cut off early": (content[:50], ["cut off"]),
        "empty": (b"", ["no checkpoint"]),
        "longer": (content + b"x", ["damaged"]),
        "a bit": (content[:2000] + bytes([content[2000] ^ 4]) + content[2001:], ["damaged", "checksum"]),
        "a trace": (b"# name: run\n", ["no checkpoint"]),
        "a later version": (content[:8] + struct.pack("<I", 9) + content[12:], ["version 9", "versions 2 to 4"]),
    }
    for name, (data, words) in damaged.items():
        open(path("bad"), "wb").write(data)
        refused(train("inproc", [*options, "--resume", path("bad")]), words, name)
        if name not in ("empty", "a trace"):
            refused([tithe, "inspect", path("bad")], words, f"inspect, {name}")


def options_of_the_file(transports):
    """What is given besides overrides what may change, and nothing else."""
    file = path("options")
    first = ["--codec", "topk:keep=0.1", "--seed", "7", "--split", "sorted", "--momentum", "0.5", "--network", "C1"]
    half = answer("inproc", [*first, "--steps", "6", "--target-loss", "0.29", "--checkpoint", file], "options of the file")
    same(half, alone("inproc", file, [], "the end of the file"), "the end of the file")
    check(step_of(file) == 6, "a file that is only read stays as it is")
    for more, what in ((["--steps", "9"], "steps"), (["--epochs", "9"], "epochs")):
        longer = alone("inproc", file, more, f"another end, {what}")
        check(longer and longer["steps"] == 9 and longer["target_reached"] is None, f"another end replaces that of the file: {longer}")
    changed = alone("inproc", file, ["--steps", "9", "--step-size", "0.01", "--threads", "2", "--count", "frame"], "another step size")
    check(changed and changed["model_hash"] != longer["model_hash"], "another step size is taken")
    for transport in transports:  # where there is a real network, the computed one is left behind
        moved = alone(transport, file, ["--steps", "9"], f"to {transport}")
        check(moved and moved["model_hash"] == longer["model_hash"], f"to {transport}: another model")
    for more, words in ((["--seed", "8"], ["seed is 7 there", "8 here"]), (["--split", "shuffled"], ["split is sorted there", "shuffled here"]),
                        (["--momentum", "0"], ["momentum is 0.5 there", "0 here"]), (["--workers", "2"], ["workers is 3 there", "2 here"]),
                        (["--clients", "2/round"], ["clients is (not given) there", "2/round here"]),
                        (["--downlink", "natural"], ["downlink is (not given) there", "all|natural here"]),
                        (["--scheme", "star"], ["scheme is gather there", "star here"]),
                        (["--tuner", "best"], ["no tuner 'best'"]), (["--steps", "x"], ["--steps takes"])):
        lines = refused([tithe, "train", "--resume", file, *more], words, f"{more} with the file")
        check(len(lines) == 1, f"{more}: one sentence, not {lines}")
    refused([tithe, "train", "--resume", path("nowhere")], ["Cannot read", "No such file"], "no file and no options")
    long = answer("inproc", ["--cost", ";".join(["bits"] * 2000), "--steps", "2"], "a long option")
    check(long is not None, "a long option")
    refused(train("inproc", ["--cost", ";".join(["bits"] * 2000), "--steps", "2", "--checkpoint", file]), ["room for 4096 letters"],
            "a long option in a checkpoint")
    check(step_of(file) == 6, "what is refused leaves the file alone")


def roles_of_the_file():
    """Server and workers, started by hand, that were told where the file is and where to meet."""
    file = path("roles")
    options = ["--codec", "natural", "--downlink", "topk:keep=0.2", "--downlink-feedback", "ec", "--seed", "5"]
    whole = answer("inproc", [*options, "--steps", "12"], "roles, whole")
    answer("inproc", [*options, "--steps", "6", "--checkpoint", file], "roles, first half")
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    common = [tithe, "train", "--resume", file, "--steps", "12", "--transport", "zmq", "--role"]
    commands = [[*common, "server", "--listen", endpoint]] + [[*common, "worker", "--connect", endpoint, "--json", "-"]] * WORKERS
    processes = [subprocess.Popen(c, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for c in commands]
    outputs = [process.communicate(timeout=60) for process in processes]
    check(all(process.returncode == 0 for process in processes), f"roles: {outputs}")
    texts = [out for out, _ in outputs if out.strip()]
    check(len(texts) == 1, f"roles: one speaks: {outputs}")
    if len(texts) == 1:
        same(whole, json.loads(texts[0]), "roles", rounded=ROUNDED)


def only_rank_0_sees_the_file():
    """The other ranks are given the options of the first part, as they were; --l2 was not among them."""
    options = [*DATA, "--codec", "topk:keep=0.1", "--transport", "mpi", "--workers", "2"]
    file, parts = path("on-one-host"), []
    check(run([*mpirun(2), tithe, "train", *options, "--steps", "5", "--checkpoint", file]).returncode == 0, "one host: first part")
    one = mpirun(1)
    for where in (file, path("not-there")):
        parts.append([tithe, "train", *options, "--steps", "10", "--resume", where, "--json", "-"])
    both = run([*mpirun(1), *parts[0], ":", *one[one.index("-n"):], *parts[1]])
    whole = run([*mpirun(2), tithe, "train", *options, "--steps", "10", "--json", "-"])
    check(both.returncode == 0 and json.loads(both.stdout)["model_hash"] == json.loads(whole.stdout)["model_hash"],
          f"only rank 0 sees the file: exit {both.returncode}: {both.stderr!r}")


def version_2():
    """A file that Tithe wrote before options had a table: resumed with the options of then, and with none. Its l2 was summed up in another
    order, and the energy kept was defined otherwise."""
    file = os.path.join(os.environ["TITHE_SOURCE"], "tests", "transport", "version-2.tithe")
    options = ["--data", "gen:sparse:rows=60,features=12,density=0.4,noise=0.5", "--workers", "3", "--codec", "topk:k=3|natural", "--downlink",
               "topk:k=4", "--downlink-feedback", "ec", "--momentum", "0.5", "--clients", "2/round"]
    whole = run([tithe, "train", *options, "--steps", "9", "--json", "-"])
    for more in ([], options):
        resumed = run([tithe, "train", *more, "--resume", file, "--steps", "9", "--json", "-"])
        check(resumed.returncode == 0, f"version 2: {resumed.stderr!r}")
        if resumed.returncode == 0:
            same(json.loads(whole.stdout), json.loads(resumed.stdout), "version 2", ["gap"], ["kept_mean", "kept_least", "speedup_mean", "speedup_least"])
    refused([tithe, "train", "--resume", file, "--feedback", "ef21"], ["feedback is ec there", "ef21 here"], "version 2, another feedback")
    refused([tithe, "train", "--resume", file, "--bucket", "64"], ["bucket is off there", "64 here"], "version 2, buckets")


def version_3(transports):
    """A file of the version before: each account has a number less, and nobody remembered where the loss was lowest; everything else is the
    same."""
    new, old = path("version-4"), path("version-3")
    options = ["--codec", "topk:keep=0.1", "--momentum", "0.5"]
    whole = answer("inproc", [*options, "--steps", "9"], "version 3")
    answer("inproc", [*options, "--steps", "5", "--checkpoint", new], "version 3")
    data = open(new, "rb").read()
    length, n = struct.unpack_from("<I", data, 12)[0], struct.unpack_from("<Q", data, 24)[0]
    parts = struct.unpack_from("<I", data, 52)[0]
    check(parts & 256, "version 3: what is taken out was there")
    at = 112 + length + 8 * n
    short = data[:8] + struct.pack("<I", 3) + data[12:52] + struct.pack("<I", parts - 256) + data[56:at]
    at += 8 * (2 + n)
    for _ in range(WORKERS):
        short += data[at:at + 8 * 30] + data[at + 8 * 31:at + 8 * 31 + 12 * n]
        at += 8 * 31 + 12 * n
    check(at + 4 == len(data), "version 3: the file is as the page says")
    with open(old, "wb") as file:
        file.write(short + struct.pack("<I", crc32c(short)))
    for transport in transports:
        resumed = alone(transport, old, ["--steps", "9"], "version 3")
        if resumed:
            check(resumed["model_hash"] == whole["model_hash"] and resumed["uplink_bytes"] == whole["uplink_bytes"] and
                  resumed["cost"] == whole["cost"] and resumed["skipped"] == 0, f"version 3 over {transport}: {resumed}")
    check(run([tithe, "inspect", old]).returncode == 0, "version 3: inspect")


def trace():
    """The records of a resumed run go on where those of the first half ended."""
    options = ["--codec", "topk:keep=0.1"]
    answer("inproc", [*options, "--steps", "6", "--checkpoint", path("t"), "--trace", path("t1.csv")], "trace, first half")
    answer("inproc", [*options, "--steps", "12", "--resume", path("t"), "--trace", path("t2.csv")], "trace, second half")

    def rows(name):
        lines = [line.rstrip("\n").split(",") for line in open(name) if not line.startswith("#")]
        return [dict(zip(lines[0], line)) for line in lines[1:]]

    first, second = rows(path("t1.csv")), rows(path("t2.csv"))
    check([row["step"] for row in second] == [str(k) for k in range(6, 13)], f"trace: steps {[row['step'] for row in second]}")
    for key in ("uplink_bytes", "cost", "sent_bytes", "loss", "level", "kept", "residual", "unsent", "epochs"):
        check(first[-1][key] == second[0][key], f"trace: {key} was {first[-1][key]}, then {second[0][key]}")
    check(float(second[0]["seconds"]) >= float(first[-1]["seconds"]), "trace: seconds go on")


def inspect():
    answer("inproc", ["--codec", "topk:keep=0.1", "--steps", "5", "--checkpoint", path("i")], "inspect")
    done = run([tithe, "inspect", path("i"), "--json", "-"])
    about = json.loads(done.stdout)
    check(about["kind"] == "checkpoint" and about["step"] == 5 and about["workers"] == WORKERS and about["seed"] == 1
          and about["codec"].startswith("topk:keep=0.1") and about["uplink_bytes"] > 0, f"inspect: {about}")
    words = run([tithe, "inspect", path("i")])
    check(words.returncode == 0 and "step 5" in words.stdout, f"inspect in words: {words.stdout!r} {words.stderr!r}")


def stopped(transports):
    """Ctrl-C in the middle: the file is whole, and the rest of the run is as if nothing had been."""
    for transport in [t for t in transports if t != "mpi"]:  # mpirun ends its processes in its own way
        for options in (["--codec", "topk:keep=0.1", "--momentum", "0.9"], ["--estimator", "sgd", "--codec", "topk:keep=0.1"]):
            file = path("stopped")
            if os.path.exists(file):
                os.remove(file)
            limits = ["--steps", "100000000", "--epochs", "1e9"]
            process = subprocess.Popen(train(transport, [*options, *limits, "--checkpoint", file, "--every", "10"]), env=environment,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
            happens(lambda: os.path.exists(file) or process.poll() is not None, "a checkpoint is written")
            os.killpg(process.pid, signal.SIGINT)
            try:
                out, err = process.communicate(timeout=HANG)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                out, err = process.communicate()
            what = f"stopped, {transport}, {options}"
            check(process.returncode == 130 and "stopped by hand" in out, f"{what}: exit {process.returncode}, {out[-300:]!r} {err!r}")
            at = step_of(file)
            check(isinstance(at, int) and at > 0, f"{what}: {at}")
            if isinstance(at, int):
                ahead = [*options, "--steps", str(at + 5)]
                same(answer("inproc", ahead, what), answer("inproc", [*ahead, "--resume", file], what), what, rounded=ROUNDED if transport != "inproc" else ())


def folder_goes(transports):
    """A file that can no longer be written: all processes end without waiting for a deadline, and say why."""
    for transport in transports:
        inside = path("inside")
        os.makedirs(inside)
        options = ["--codec", "topk:keep=0.1", "--steps", "100000000", "--checkpoint", os.path.join(inside, "file"), "--every", "5", "--deadline", NEVER]
        process = subprocess.Popen(train(transport, options), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   text=True, start_new_session=True)
        happens(lambda: os.path.exists(os.path.join(inside, "file")) or process.poll() is not None, "a checkpoint is written")
        os.rename(inside, path("moved-" + transport))
        try:
            _, err = process.communicate(timeout=HANG)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            _, err = process.communicate()
        check(process.returncode == 2 and "Cannot write" in err, f"folder goes, {transport}: exit {process.returncode}, {err!r}")
        check(isinstance(step_of(path(f"moved-{transport}/file")), int), f"folder goes, {transport}: the file that was there is whole")


transports = ["inproc"] + transports_here()
halves(transports)
bad_files(transports)
options_of_the_file(transports)
if "zmq" in transports:
    roles_of_the_file()
if "mpi" in transports:
    only_rank_0_sees_the_file()
version_2()
version_3(transports)
by_the_page()
trace()
inspect()
stopped(transports)
folder_goes(transports)
shutil.rmtree(folder, ignore_errors=True)
finish()
