"""What an exchange needs does not grow with the number of ranks: frames that together are longer than two vectors are not
gathered, but go to the owners of parts; and shorter ones take no more than two vectors."""

import os
import re
import shutil
import subprocess
import sys

program = os.path.join(os.environ["TITHE_BUILD"], "tests", "bench_exchange_mpi")
environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
mpirun = os.environ.get("MPIRUN", "mpirun")
N = 4_000_000
VECTOR = 4 * N  # bytes
# by how many vectors eight ranks may need more than four
CODECS = {"natural": 0.5,  # parts
          "topk:keep=0.4": 0.5,  # frames of 1.7 vectors together, then parts
          "topk:keep=0.2": 1.25}  # of 0.9, then of 1.8
failed = 0

if not os.path.exists(program) or not shutil.which(mpirun):
    print(f"SKIP: no {mpirun}, or a build without MPI")
    sys.exit(77)
with open(os.path.join(os.environ["TITHE_BUILD"], "CMakeCache.txt"), encoding="utf-8") as file:
    if re.search(r"^TITHE_SANITIZE:[A-Z]*=.", file.read(), re.M):
        print("SKIP: a sanitizer takes memory of its own")
        sys.exit(77)


def growth(ranks, codec):
    """Bytes by which the exchange raised the peak of a process."""
    more = ["--oversubscribe"] if "Open MPI" in subprocess.run([mpirun, "--version"], capture_output=True, text=True).stdout else []
    done = subprocess.run([mpirun, *more, "-n", str(ranks), program, codec, str(N), "3"], capture_output=True, text=True,
                          env=environment, timeout=300)
    if done.returncode:
        print(f"FAIL {codec}, {ranks} ranks: {done.stderr[:300]}")
        sys.exit(1)
    return int(done.stdout.split()[4])


for codec, more in CODECS.items():
    few, many = growth(4, codec), growth(8, codec)
    fine = many < few + more * VECTOR
    failed += not fine
    print(f"{'' if fine else 'FAIL '}{codec}: {few / 1e6:.1f} MB with 4 ranks, {many / 1e6:.1f} MB with 8; a vector has {VECTOR / 1e6:.0f} MB")
sys.exit(1 if failed else 0)
