"""What the tests of python/ share: the Python that has torch, and workers that are real processes of a real process group."""

import multiprocessing
import os
import queue
import subprocess
import sys
import tempfile
import time
import traceback

from support import HANG, check, counts, skip

SOURCE, BUILD = os.environ["TITHE_SOURCE"], os.environ["TITHE_BUILD"]
sys.path.insert(0, os.path.join(SOURCE, "python"))
os.environ["TITHE_LIBRARIES"] = BUILD
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MASTER_ADDR"] = "127.0.0.1"


def need(*modules):
    """Ends the test where no Python of this machine has these; goes on with the distribution's where that has them."""
    missing = []
    for module in modules:
        try:
            __import__(module)
        except ImportError:
            missing.append(module)
    if not missing:
        return
    other = "/usr/bin/python3"
    loads = "; ".join(f"import {module}" for module in modules)
    if "TITHE_KIT_AGAIN" not in os.environ and os.path.exists(other) and \
            subprocess.run([other, "-c", loads], capture_output=True, check=False).returncode == 0:
        os.execve(other, [other, *sys.argv], dict(os.environ, TITHE_KIT_AGAIN="yes"))
    skip(f"no {' and '.join(missing)} (Debian: {' '.join('python3-' + module for module in missing)})")


def need_library(part):
    with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as file:
        cache = file.read()
    if f"TITHE_{part}:BOOL=ON" not in cache:
        skip(f"no {part} in this build")
    if "TITHE_SANITIZE:STRING=\n" not in cache:
        skip("a Python that loads a sanitized library would have to be sanitized too")


def _work(function, rank, workers, folder, answers, arguments):
    try:
        import torch
        import torch.distributed as dist
        torch.set_num_threads(1)
        dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=workers)
        answer = function(rank, workers, *arguments)
        assert not counts[False], f"{counts[False]} checks failed in this process, which has printed them"
        answers.put((rank, "answer", answer))
    except BaseException as why:
        answers.put((rank, type(why).__name__, f"{why}\n{traceback.format_exc()}"))


def run(function, workers, *arguments, expected=None):
    """The function on every rank, with rank and workers ahead of its arguments: a list of (kind, value), where the kind is "answer" or the
    name of an exception. `expected`: ranks that answer at all; the others are ended by somebody."""
    spawn = multiprocessing.get_context("spawn")
    found, end = {}, time.monotonic() + HANG
    with tempfile.TemporaryDirectory() as folder:
        answers = spawn.Queue()
        processes = [spawn.Process(target=_work, args=(function, rank, workers, folder, answers, arguments), daemon=True)
                     for rank in range(workers)]
        for process in processes:
            process.start()
        wanted = set(range(workers)) if expected is None else set(expected)
        while wanted - set(found) and time.monotonic() < end:
            try:
                rank, kind, value = answers.get(timeout=1)
                found[rank] = (kind, value)
            except queue.Empty:
                gone = [rank for rank in wanted - set(found) if not processes[rank].is_alive()]
                if gone and answers.empty():
                    break
        for process in processes:
            process.join(timeout=20)
            process.kill()
    check(set(found) >= wanted, f"{function.__name__}: ranks {sorted(wanted - set(found))} never answered")
    return [found.get(rank, ("nothing", None)) for rank in range(workers)]


def answers(function, workers, *arguments):
    """The same, where all have to answer."""
    told = run(function, workers, *arguments)
    for rank, (kind, value) in enumerate(told):
        check(kind == "answer", f"{function.__name__}{arguments}: rank {rank} of {workers}: {kind}: {value}")
    return [value if kind == "answer" else None for kind, value in told]


def digest(tensors):
    """Of all bits of some tensors."""
    import hashlib
    total = hashlib.sha256()
    for tensor in tensors:
        total.update(tensor.detach().contiguous().numpy().tobytes())
    return total.hexdigest()
