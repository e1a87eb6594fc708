#!/usr/bin/env python3
"""The package for Python as a wheel that carries the shared libraries of a build tree.

    tools/python_wheel.py [--build build] [--out build]      # prints the name of the wheel
    python3 -m pip install --no-build-isolation .            # the same by pip, which finds this file in pyproject.toml

The libraries are those that `cmake --install` would install. libzmq and MPI are not in it: it is for machines that have them, as Debian's."""
import argparse
import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PARTS = ("tithe", "tithe_zmq", "tithe_mpi")  # the last two where they were built


def version():
    return re.search(r'TITHE_VERSION "([^"]+)"', (ROOT / "include/tithe/tithe.h").read_text(encoding="utf-8")).group(1)


def tag():
    """Any Python 3 on this kind of machine: there is no extension module in it."""
    return "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())


def libraries(build):
    """Name in the wheel and bytes, as installed: without the path of the build tree in them."""
    with tempfile.TemporaryDirectory() as stage:
        subprocess.run(["cmake", "--install", str(build), "--prefix", stage], check=True, stdout=subprocess.DEVNULL)
        for part in PARTS:
            found = sorted(pathlib.Path(stage).rglob(f"lib{part}.so.0"))
            if found:
                yield f"tithe/lib/lib{part}.so.0", found[0].resolve().read_bytes()
            elif part == "tithe":
                raise SystemExit(f"{build} has no libtithe.so.0: run make first.")


def metadata():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return (f"Metadata-Version: 2.1\nName: tithe\nVersion: {version()}\nSummary: Makes distributed learning cheap to communicate\n"
            "Requires-Python: >=3.9\nProvides-Extra: torch\nRequires-Dist: torch>=1.13; extra == 'torch'\n"
            f"Requires-Dist: numpy; extra == 'torch'\nDescription-Content-Type: text/markdown\n\n{readme}").encode()


def files(build):
    for path in sorted((ROOT / "python").rglob("*")):
        if path.suffix == ".py" or path.name == "py.typed":
            yield str(path.relative_to(ROOT / "python")), path.read_bytes()
    yield from libraries(build)
    info = f"tithe-{version()}.dist-info"
    yield f"{info}/METADATA", metadata()
    yield f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: tithe\nRoot-Is-Purelib: false\nTag: {tag()}\n".encode()
    yield f"{info}/LICENSE", (ROOT / "LICENSE").read_bytes()


def make(build, out):
    name, info = f"tithe-{version()}-{tag()}.whl", f"tithe-{version()}.dist-info"
    record = []
    with zipfile.ZipFile(out / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files(build):
            wheel.writestr(zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(content)}\n")
        wheel.writestr(zipfile.ZipInfo(f"{info}/RECORD", (1980, 1, 1, 0, 0, 0)), "".join(record) + f"{info}/RECORD,,\n")
    return name


# ---- for pip (PEP 517) ------------------------------------------------------------------------------------------------

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    del config_settings, metadata_directory
    return make(pathlib.Path(os.environ.get("TITHE_BUILD", ROOT / "build")), pathlib.Path(wheel_directory))


def build_sdist(sdist_directory, config_settings=None):
    raise RuntimeError("Tithe is built by make, and has no source distribution of its package alone: take the repository.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="the build tree")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build", help="where the wheel goes")
    wanted = parser.parse_args()
    print(wanted.out / make(wanted.build, wanted.out))


if __name__ == "__main__":
    sys.exit(main())
