"""What an exchange needs does not grow with the number of ranks: frames that together are longer than two vectors are not
gathered, but go to the owners of parts; and shorter ones take no more than two vectors."""

import json
import os
import subprocess

from support import HANG, MPIRUN, check, finish, has_mpirun, is_sanitized, mpirun, skip

program = os.path.join(os.environ["TITHE_BUILD"], "tests", "bench_exchange_mpi")
N = 4_000_000
VECTOR = 4 * N  # bytes
# by how many vectors eight ranks may need more than four
CODECS = {"natural": 0.5,  # parts
          "topk:keep=0.4": 0.5,  # frames of 1.7 vectors together, then parts
          "topk:keep=0.2": 1.25}  # of 0.9, then of 1.8

if not os.path.exists(program) or not has_mpirun():
    skip(f"no {MPIRUN}, or a build without MPI")
if is_sanitized():
    skip("a sanitizer takes memory of its own")


def growth(ranks, codec):
    """Bytes by which the exchange raised the peak of a process."""
    done = subprocess.run([*mpirun(ranks), program, f"codec={codec};feedback=ec", str(N), "3"], capture_output=True, text=True, timeout=HANG,
                          check=False)
    check(done.returncode == 0, f"{codec}, {ranks} ranks: {done.stderr[:300]}")
    return json.loads(done.stdout)["peak_bytes"] if done.returncode == 0 else 0


for codec, more in CODECS.items():
    few, many = growth(4, codec), growth(8, codec)
    figures = f"{codec}: {few / 1e6:.1f} MB with 4 ranks, {many / 1e6:.1f} MB with 8; a vector has {VECTOR / 1e6:.0f} MB"
    print(figures)
    check(many < few + more * VECTOR, figures)
finish()
