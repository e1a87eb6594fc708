"""Command lines over everything that has variants, with what they answered when they were recorded: the model to the bit, what
was sent and charged, and the keys of the JSON. A change of any of these is a change that users see.

    TITHE=build/tithe PYTHONPATH=tests python3 tests/recorded/test_commands.py --record     # writes answers.json anew

The diff of answers.json then shows what changed, and the commit says why."""

import json
import os
import subprocess
import sys
import tempfile

from support import check, finish, has_mpirun, mpirun

here = os.path.dirname(os.path.abspath(__file__))
tithe = os.environ["TITHE"]
ANSWERS = os.path.join(here, "answers.json")
VALUES = ["model_hash", "steps", "loss", "uplink_bytes", "downlink_bytes", "sent_bytes", "paper_bits", "cost", "downlink_cost",
          "scheme", "collective", "codec", "tuner"]


def commands():
    with open(os.path.join(here, "commands.txt"), encoding="ascii") as file:
        return [line.strip() for line in file if line.strip() and not line.startswith("#")]


def words_of(line):
    """The program and its arguments."""
    where, *words = line.split()
    transport, workers = where.split(":")
    start, more = [], ["--workers", workers]
    if transport == "mpi":
        start, more = mpirun(workers), ["--transport", "mpi", "--workers", workers]
    if transport == "zmq":
        more = ["--transport", "zmq", "--local", workers]
    return [*start, tithe, "train", *more, *words, "--json", "-"]


def keys_of(answer):
    """Of an object inside an object too: link.latency_s."""
    for key, value in answer.items():
        yield key
        if isinstance(value, dict):
            yield from (f"{key}.{inner}" for inner in keys_of(value))


def ask(line):
    """The cache is empty each time: where the minimum comes from changes what is sent."""
    with tempfile.TemporaryDirectory() as cache:
        environment = dict(os.environ, TITHE_THREADS="1", XDG_CACHE_HOME=cache)
        done = subprocess.run(words_of(line), capture_output=True, text=True, timeout=300, env=environment)
    try:
        answer = json.loads(done.stdout)
    except json.JSONDecodeError:
        check(False, f"{line}: exit {done.returncode}, {done.stderr[:300]!r}")
        return None, None
    values = {key: answer.get(key) for key in VALUES}
    if "--network" in line:
        values["seconds"] = answer["seconds"]
    return values, sorted(keys_of(answer))


def has(transport):
    if transport == "mpi" and not has_mpirun():
        return False
    done = subprocess.run([tithe, "train", "--data", "a9a-like:scale=0.01", "--transport", transport, "--steps", "1"],
                          capture_output=True, text=True, timeout=120, check=False)
    return "built without" not in done.stderr


def record():
    answers, all_keys = {}, None
    for line in commands():
        values, keys = ask(line)
        answers[line] = values
        check(all_keys in (None, keys), f"{line}: the keys differ from those of the first command")
        all_keys = keys
    with open(ANSWERS, "w", encoding="ascii") as file:
        rows = ",\n".join(f" {json.dumps(line)}:\n  {json.dumps(values)}" for line, values in answers.items())
        file.write(f'{{"keys":\n  {json.dumps(all_keys)},\n"answers": {{\n{rows}\n}}}}\n')


def compare():
    with open(ANSWERS, encoding="ascii") as file:
        recorded = json.load(file)
    lines = commands()
    check(lines == list(recorded["answers"]), "commands.txt and answers.json list the same commands: record them anew")
    absent = {t for t in ("mpi", "zmq") if not has(t)}
    for transport in sorted(absent):
        print(f"SKIP: commands over {transport}: not in this build, or no mpirun")
    for line in lines:
        if line.split(":")[0] in absent:
            continue
        values, keys = ask(line)
        if values is None:
            continue
        check(keys == recorded["keys"], f"{line}: keys {set(keys) ^ set(recorded['keys'])}")
        was = recorded["answers"].get(line) or {}
        for key in sorted(set(was) | set(values)):
            check(values.get(key) == was.get(key), f"{line}\n     {key} is {values.get(key)}, and was {was.get(key)}")


record() if "--record" in sys.argv else compare()
finish()
