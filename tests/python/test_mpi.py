"""Exchanges under mpirun: of all of it, and of a communicator, which mpi4py hands over as Fortran's number (py2f)."""

import os
import subprocess
import sys

from kit import SOURCE, need, need_library
from support import HANG, check, finish, has_mpirun, mpirun, skip

need_library("MPI")
need("numpy")
if not has_mpirun():
    skip("no mpirun")
CODE = """
import os, sys
import numpy
import tithe

class World:  # what mpi4py's COMM_WORLD says where there is Open MPI
    def py2f(self):
        return 0

try:
    from mpi4py import MPI
    world = MPI.COMM_WORLD
except ImportError:
    world = World() if "OMPI_COMM_WORLD_SIZE" in os.environ else None
comms = []  # the first one has started MPI, and would end it
for given in (None, world):
    comm = tithe.Comm.mpi(given)
    comms.append(comm)
    ex = tithe.Exchange(comm, 1000, codec="topk:k=1000", feedback="ec")
    g = numpy.arange(1000, dtype="float32") * (1 + comm.rank)
    ex.step(g, gamma=0.5)
    right = numpy.arange(1000) * 0.5 * (1 + comm.size) / 2
    ex.close()
    sys.stdout.write(f"rank {comm.rank} of {comm.size} over {comm.transport}: {numpy.allclose(g, right)} {comm.sent_bytes > 0}\\n")
    sys.stdout.flush()
for comm in reversed(comms):
    comm.close()
"""
for ranks in (2, 3):
    done = subprocess.run([*mpirun(ranks), sys.executable, "-c", CODE], capture_output=True, text=True, check=False, timeout=HANG,
                          env=dict(os.environ, PYTHONPATH=os.path.join(SOURCE, "python")))
    said = sorted(line for line in done.stdout.splitlines() if line.startswith("rank"))
    right = sorted(2 * [f"rank {rank} of {ranks} over mpi: True True" for rank in range(ranks)])
    check(done.returncode == 0 and said == right, f"{ranks} ranks: {said} {done.stderr[-600:]}")
finish()
