"""What README.md, docs/design.md and tithe.h list is what there is: every room of src/, every public header, every scheme."""

import os
import re
import subprocess

from support import check, finish

source = os.environ["TITHE_SOURCE"]


def text(path):
    with open(os.path.join(source, path), encoding="utf-8") as file:
        return file.read()


def named(pattern, path):
    return re.findall(pattern, text(path), re.M)


rooms = sorted(name for name in os.listdir(os.path.join(source, "src")) if os.path.isdir(os.path.join(source, "src", name)))
for page in ("README.md", "docs/design.md"):
    listed = named(r"^src/(\w+)/ ", page)
    check(sorted(listed) == rooms, f"{page} lists {sorted(listed)}, and there is {rooms}")

# files that design.md names in the line of a room, or in those that go on with it
tree = re.search(r"```\n(include/tithe/.*?)```", text("docs/design.md"), re.S).group(1)
for room, entry in re.findall(r"^(\S+/)\s(.*?)(?=^\S|\Z)", tree, re.S | re.M):
    there = os.listdir(os.path.join(source, room))
    for name in re.findall(r"[\w*]+\.[ch]\b", entry):
        pattern = re.compile(name.replace("*", ".*").replace(".c", r"\.c").replace(".h", r"\.h") + "$")
        here = any(pattern.match(file) for file in there)
        check(here or name.startswith("_"), f"docs/design.md names {name} in {room}, where it is not")

# headers: each is named in the comment of tithe.h, and each that is named exists; what tithe.h includes is in libtithe
headers = sorted(name for name in os.listdir(os.path.join(source, "include/tithe")) if name.endswith(".h") and name != "tithe.h")
comment = text("include/tithe/tithe.h").split("*/")[0]
listed = sorted(set(re.findall(r"(\w+\.h)\b", comment)) - {"tithe.h"})
check(listed == headers, f"tithe.h names {sorted(set(headers) ^ set(listed))} wrongly or not at all")
apart = set(re.findall(r"\w+\.h", comment.split("has to be included by name")[1]))
included = set(named(r'^#include "tithe/(\w+\.h)"', "include/tithe/tithe.h"))
check(included == set(headers) - apart, f"tithe.h includes {sorted(included ^ (set(headers) - apart))} wrongly or not at all")

# members in one line each: clang-format tears one whose comment is too long, which then belongs above it
for header in headers:
    torn = named(r"^    [\w ]+\*?$", f"include/tithe/{header}")
    check(not torn, f"{header} has members torn over two lines: {torn}")

# the README's line of schemes, against the table
answer = subprocess.run([os.environ["TITHE"], "list", "schemes"], capture_output=True, text=True, check=True).stdout
schemes = set(re.findall(r"^  (\S+) ", answer, re.M))
line = re.search(r"^src/exchange/.*: (.*)$", text("README.md"), re.M).group(1)
told = {name.lower().replace("-", "") for name in line.split(", ")}
check(told == schemes, f"README.md lists the schemes {sorted(told)}, and there are {sorted(schemes)}")
finish()
