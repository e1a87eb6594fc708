"""The package as others have it: a wheel made of this build, installed by pip into a fresh place, which finds its libraries in itself."""

import base64
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import venv
import zipfile

from kit import BUILD, SOURCE, need, need_library
from support import check, finish

need_library("ZMQ")
need("pip")
CODE = """
import array, os, tithe
g = array.array("f", range(1000))
frame = tithe.Codec("topk:k=10").encode(g)
ex = tithe.Exchange(tithe.Comm.local(1), 1000, codec="topk:k=10", feedback="ec:decay=0.5")
ex.put(g); ex.finish(g)
import tithe._library
tithe._library.library("tithe_zmq")
maps = {line.split()[-1] for line in open("/proc/self/maps") if "libtithe" in line}
print(len(frame), sum(1 for x in g if x), *sorted(maps), sep="\\n")
"""


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    check(done.returncode == 0, f"{command}: {done.stdout[-500:]} {done.stderr[-500:]}")
    return done.stdout


def records(wheel):
    """Every file of the wheel is in RECORD, with its hash."""
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
        (record,) = [name for name in names if name.endswith("/RECORD")]
        rows = [line.split(",") for line in file.read(record).decode().splitlines()]
        check({row[0] for row in rows} == names, "RECORD names the files")
        for name, digest, _ in rows:
            right = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(file.read(name)).digest()).rstrip(b"=").decode()
            check(name == record or digest == right, f"the hash of {name}")


with tempfile.TemporaryDirectory() as folder:
    wheel = run(sys.executable, f"{SOURCE}/tools/python_wheel.py", "--build", BUILD, "--out", folder).strip()
    records(wheel)
    place = pathlib.Path(folder, "fresh")
    venv.create(place, with_pip=False)
    (site,) = place.glob("lib/python3*/site-packages")
    bare = {key: value for key, value in os.environ.items() if not key.startswith(("TITHE_", "PYTHON"))}
    run(sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--target", str(site), wheel, env=bare)
    said = run(str(place / "bin/python3"), "-c", CODE, env=bare, cwd=folder).split()
    check(said[1] == "10" and len(said) == 4 and all(str(site.resolve()) in path for path in said[2:]), f"libraries of its own: {said}")
    other = pathlib.Path(folder, "by-pip")
    run(sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--no-build-isolation", "--target", str(other), SOURCE,
        env=dict(bare, TITHE_BUILD=BUILD))
    check((other / "tithe/lib/libtithe.so.0").exists() and (other / "tithe/torch/_local.py").exists(), "pip install of the tree")
finish()
