"""Little input that wants much memory, memory that ends, and files that end early: one sentence each, and exit 2."""

import bz2
import gzip
import lzma
import os
import re
import subprocess
import tempfile

from support import HANG, check, finish

tithe = os.environ["TITHE"]
shim = os.path.join(os.environ["TITHE_BUILD"], "tests", "libfailing_malloc.so")
ROWS = b"".join(b"%+d %d:1 %d:0.5\n" % (i % 2 * 2 - 1, 1 + i % 50, 60 + i % 40) for i in range(5000))


def run(*words, **more):
    return subprocess.run([tithe, *words], capture_output=True, text=True, timeout=HANG, check=False, **more)


def refused(done, words, what):
    sentences = done.stderr.strip().splitlines()
    check(done.returncode == 2 and len(sentences) == 1 and all(word in done.stderr for word in words),
          f"{what}: exit {done.returncode} {done.stderr[:300]!r}")


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return (crc ^ 0xFFFFFFFF).to_bytes(4, "little")


# ---- little input, much memory ---------------------------------------------------------------------------------------

def a_short_frame():
    """One value of very many: 17 GB of zeros."""
    with open("x.f32", "wb") as file:
        file.write(bytes(4 * 1000))
    check(run("encode", "randk:k=1", "x.f32", "x.frame").returncode == 0, "a frame is made")
    with open("x.frame", "rb") as file:
        frame = file.read()
    body = frame[:-4].replace(b"\xe8\x07", b"\xff\xff\xff\xff\x0f", 1)  # n, a varint
    with open("wide.frame", "wb") as file:
        file.write(body + crc32c(body))
    asked = ["decode", "wide.frame", "y.f32"]
    refused(run(*asked, "--max-memory", "1GB"), ["4,294,967,295", "MB of memory", "--max-memory"], f"a frame of {len(body) + 4} bytes")
    check(not os.path.exists("y.f32"), "nothing is written")
    check(run("decode", "x.frame", "y.f32", "--max-memory", "1MB").returncode == 0, "a frame that fits is decoded")
    refused(run("decode", "x.frame", "y.f32", "--max-memory", "4000"), ["--max-memory"], "a frame that does not fit")
    with open("/proc/meminfo", encoding="ascii") as lines:
        free = int(re.search(r"MemAvailable: *(\d+)", lines.read()).group(1))
    if free < 30 << 20:  # without the option: half of that, in kB
        refused(run(*asked), ["--max-memory"], "a frame, with the machine's own limit")


def short_files():
    kinds = {"blanks without end": b" " * 100_000_000, "a number without end": b"1" * 100_000_000, "many rows": b"1\n" * 20_000_000,
             "many values": (b"1 " + b" ".join(b"%d:1" % i for i in range(1, 1000)) + b"\n") * 10_000}
    for what, text in kinds.items():
        with open("bomb.gz", "wb") as file:
            file.write(gzip.compress(text, 1))
        done = run("train", "--data", "./bomb.gz", "--steps", "1", "--no-optimum", "--max-memory", "50MB")
        refused(done, ["./bomb.gz takes more than 50 MB", "--max-memory"], what)
    for made in ("gen:dense:rows=100000,features=1000", "gen:sparse:rows=1000000,features=1000,density=0.5"):
        refused(run("train", "--data", made, "--steps", "1", "--no-optimum", "--max-memory", "50MB"), [made[:10], "--max-memory"], made)
    with open("images-idx3-ubyte", "wb") as file:
        file.write(bytes([0, 0, 8, 3]) + b"\xff\xff\xff\xff" + (1000).to_bytes(4, "big") * 2)
    refused(run("train", "--data", "./images-idx3-ubyte", "--steps", "1", "--max-memory", "1GB"), ["--max-memory"], "images that are only announced")
    refused(run("train", "--data", "./bomb.gz", "--max-memory", "much"), ["--max-memory takes"], "no amount")


# ---- files that end early -------------------------------------------------------------------------------------------

def cut_files():
    for suffix, pack in (("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)):
        whole = pack(ROWS)
        for length in (5, 13, 25, len(whole) // 2, len(whole) - 9, len(whole) - 1):
            name = f"./cut-{length}.{suffix}"
            with open(name, "wb") as file:
                file.write(whole[:length])
            refused(run("train", "--data", name, "--steps", "1", "--no-optimum"), [name, "ends early", "seems cut"], f"{length} of {len(whole)} bytes, {suffix}")
        with open(f"./whole.{suffix}", "wb") as file:
            file.write(whole)
        check(run("train", "--data", f"./whole.{suffix}", "--steps", "1", "--no-optimum").returncode == 0, f"all bytes, {suffix}")


# ---- memory that ends ---------------------------------------------------------------------------------------------------

def failing_malloc():
    if not os.path.exists(shim):
        print("SKIP: memory that ends: no library for it in this build")
        return
    for words in (["list"], ["list", "--json", "-"], ["list", "pairs"], ["list", "pairs", "--json", "-"], ["list", "costs"]):
        whole = run(*words).stdout
        for after in (*range(60), 80, 100, 121, 122, 123, 150, 500, 800):
            done = run(*words, env=dict(os.environ, LD_PRELOAD=shim, FAIL_AFTER=str(after)))
            if done.returncode == 0:
                check(done.stdout == whole, f"{words} after {after} allocations: something is missing")
            else:
                refused(done, ["memory"], f"{words} after {after} allocations")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    a_short_frame()
    short_files()
    cut_files()
    failing_malloc()
    os.chdir("/")
finish()
