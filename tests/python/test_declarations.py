"""What python/tithe declares is what the headers say, letter by letter; statuses have the numbers of status.h; and what can be
refused is refused with the library's own sentence."""

import os
import re
import subprocess
import sys

from kit import BUILD, SOURCE, need_library
from support import check, finish

need_library("ZMQ")
import tithe  # noqa: E402
from tithe import _library  # noqa: E402

headers = ""
for name in sorted(os.listdir(os.path.join(SOURCE, "include/tithe"))):
    if name.endswith(".h"):
        with open(os.path.join(SOURCE, "include/tithe", name), encoding="utf-8") as file:
            headers += re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)


def words(text):
    return re.sub(r"\s*([*(),;])\s*", r"\1", re.sub(r"\s+", " ", text)).strip()


declared = {words(text) for text in re.findall(r"TITHE_API ([^;{]*;)", headers)}
mine = [words(line) for part in _library.DECLARATIONS.values() for line in part.strip().splitlines()]
check(len(mine) > 40, "the declarations were found")
for line in mine:
    check(line in declared, f"no header has: {line}")
check(not re.search(r"\b(Structure|Union)\b", open(_library.__file__, encoding="utf-8").read()), "no struct is mirrored")

with open(os.path.join(SOURCE, "include/tithe/status.h"), encoding="utf-8") as file:
    numbers = {name: int(number) for name, number in re.findall(r"TITHE_(?:E_)?(\w+) = (\d+)", file.read())}
check({status.name: status.value for status in tithe.Status} == numbers, f"statuses: {numbers}")

# a folder without libraries, and no system that has them: one sentence, which says what to do
without = dict(os.environ, TITHE_LIBRARIES="/nonexistent", PYTHONPATH=os.path.join(SOURCE, "python"))
code = ("import tithe._library as l, pathlib\n"
        "l._places = lambda: [pathlib.Path('/nonexistent')]\n"
        "import tithe\n"
        "try: tithe.version()\n"
        "except tithe.MissingLibrary as why: print(why)")
said = subprocess.run([sys.executable, "-c", code], env=without, capture_output=True, text=True, check=False)
check("libtithe.so.0" in said.stdout and "TITHE_LIBRARIES" in said.stdout, f"a missing library: {said.stdout} {said.stderr}")
# a library of another version, which has a function less
code = ("import tithe._library as l, tithe\n"
        "l.DECLARATIONS['tithe'] += 'void tithe_of_tomorrow(void);'\n"
        "try: tithe.version()\n"
        "except tithe.MissingLibrary as why: print(why)")
said = subprocess.run([sys.executable, "-c", code], env=dict(without, TITHE_LIBRARIES=BUILD), capture_output=True, text=True, check=False)
check("another version, without tithe_of_tomorrow" in said.stdout, f"another version: {said.stdout} {said.stderr}")
check(tithe.version() in open(os.path.join(SOURCE, "include/tithe/tithe.h"), encoding="utf-8").read(), f"from {BUILD}")
finish()
