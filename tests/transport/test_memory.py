"""What an exchange needs under `gather` does not grow with the number of ranks: frames that together are longer than the vector
are not collected, but summed part by part; and shorter ones fit where the vector would."""

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
# of four ranks together they are about as long as the vector, of eight twice as long
CODECS = ["natural", "topk:keep=0.2"]
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


for codec in CODECS:
    few, many = growth(4, codec), growth(8, codec)
    fine = many < few + VECTOR / 2
    failed += not fine
    print(f"{'' if fine else 'FAIL '}{codec}: {few / 1e6:.1f} MB with 4 ranks, {many / 1e6:.1f} MB with 8; a vector has {VECTOR / 1e6:.0f} MB")
sys.exit(1 if failed else 0)
