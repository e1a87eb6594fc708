"""The commands and the C of README.md, docs/plan.md, docs/add-a-quantizer.md and docs/add-a-scheme.md do what they say: they are taken from the page and run."""

import os
import re
import struct
import subprocess
import tempfile

from support import check, finish

source, build = os.environ["TITHE_SOURCE"], os.environ["TITHE_BUILD"]


def blocks(page, language):
    text = open(os.path.join(source, page), encoding="utf-8").read()
    return re.findall("```" + language + "\n(.*?)```", text, re.S)


def run(command, folder):
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, timeout=300)
    check(done.returncode == 0, f"{command}: exit {done.returncode}: {done.stderr.strip()}")


def shell_lines(page):
    """Lines that call the command. The two `make` lines are what runs this; bench takes minutes, so it is made small."""
    for block in blocks(page, "sh"):
        for line in block.splitlines():
            line = line.split("#")[0].strip()
            if line.startswith("build/tithe"):
                yield line + (" --n 2^12 --rounds 3" if line == "build/tithe bench" else "")


def compile_and_run(body, folder):
    """The C of the README, with the variables around it that a reader would have."""
    program = f"""#include <stdio.h>
#include <stdlib.h>
{body.splitlines()[0]}
int main(void)
{{
    enum {{ n = 5000 }};
    static float e[n], gradient[n], sum[n];
    tithe_error error = {{0}};
    tithe_frame_info info = {{0}};
    unsigned step = 3, rank = 0;
    const float step_size = 0.5f;
    for (int i = 0; i < n; i++) gradient[i] = (float)((i * 7919) % 1000 - 500);
    uint8_t *frame = malloc(100000);
    {chr(10).join(body.splitlines()[1:])}
    double got = 0;
    for (int i = 0; i < n; i++) got += sum[i] * sum[i];
    printf("%zu %d %g\\n", info.bytes, (int)error.code, got);
    return info.bytes > 0 && got > 0 ? 0 : 1;
}}
"""
    path = os.path.join(folder, "snippet.c")
    open(path, "w", encoding="utf-8").write(program)
    library = os.path.join(build, "libtithe.a")
    cache = open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8").read()
    sanitizers = re.search("^TITHE_SANITIZE:[A-Z]*=(.*)$", cache, re.M).group(1).replace(";", ",")
    flags = f"-fsanitize={sanitizers} " if sanitizers else ""  # the library's; a reader frees elsewhere what is made here
    run(f"cc -std=c17 -Wall {flags}-I{source}/include snippet.c {library} -lm -lpthread -o snippet && "
        "ASAN_OPTIONS=detect_leaks=0 ./snippet", folder)


with tempfile.TemporaryDirectory() as folder:
    os.symlink(build, os.path.join(folder, "build"))
    os.symlink(os.path.join(source, "examples"), os.path.join(folder, "examples"))
    with open(os.path.join(folder, "gradient.f32"), "wb") as out:
        out.write(struct.pack("<10000f", *((i * 7919 % 2003 - 1001) / 1000 for i in range(10000))))
    lines = list(shell_lines("README.md"))
    check(len(lines) >= 5, "README.md has fewer than five commands to try")
    for line in lines:
        run(line, folder)
    with open(os.path.join(folder, "link.csv"), "w", encoding="utf-8") as out:  # what a probe would have written
        out.write("bytes,seconds\n" + "".join(f"{4 ** i},{0.001 + 4 ** i / 1e8:.9g}\n" for i in range(13)))
    lines = list(shell_lines("docs/plan.md"))
    check(len(lines) >= 3, "docs/plan.md has fewer than three commands to try")
    for line in lines:
        run(line, folder)
    bodies = blocks("README.md", "c")
    check(len(bodies) == 1, "README.md has one piece of C")
    for body in bodies:
        compile_and_run(body, folder)
    # The functions on the page about quantizers are those of the example, which the installation test runs.
    example = re.sub(r"\s+", " ", open(os.path.join(source, "examples/own_quantizer.c"), encoding="utf-8").read())
    for body in blocks("docs/add-a-quantizer.md", "c"):
        for function in re.findall(r"static .*?\n}\n", body, re.S):
            check(re.sub(r"\s+", " ", function).strip() in example, "not in the example: " + function.split("\n")[0])
    # The scheme on its page compiles as it stands, against the tree; the tests of schemes go by the table, which it is not in.
    for body in blocks("docs/add-a-scheme.md", "c"):
        with open(os.path.join(folder, "scheme_hub.c"), "w", encoding="utf-8") as out:
            out.write(body)
        run(f"{os.environ.get('CC', 'cc')} -std=c17 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror -fsyntax-only -I{source}/include "
            f"-I{source}/src scheme_hub.c", folder)

finish()
