"""Over MPI two ranks that think differently of the length of a message: MPI itself takes a shorter one without a word, and we do
not."""

import os
import subprocess

from support import HANG, MPIRUN, check, finish, has_mpirun, mpirun, skip

program = os.path.join(os.environ["TITHE_BUILD"], "tests", "lengths_mpi")
if not os.path.exists(program) or not has_mpirun():
    skip(f"no {MPIRUN}, or a build without MPI")


def answer(expected, sent):
    done = subprocess.run([*mpirun(2), program, str(expected), str(sent)], capture_output=True, text=True, timeout=HANG,
                          check=False)
    return done.stdout.strip() or done.stderr[:300]


PIECE = 60 << 10  # longer ones travel in several
for length in (1, 1000, PIECE, 3 * PIECE + 5):
    check(answer(length, length) == "all is well", f"{length} bytes where {length} are expected")
for expected, sent in ((12, 5), (1000, 999), (PIECE, 1), (3 * PIECE + 5, 3 * PIECE + 4)):
    said = answer(expected, sent)
    check("message of rank 1 has" in said and "were expected." in said, f"{sent} bytes where {expected} are expected: {said!r}")
check("MPI could not receive from" in answer(5, 12), "12 bytes where 5 are expected")
finish()
