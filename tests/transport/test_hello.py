"""The hello-worlds in C, Fortran and Python, built against the installed tree: over real sockets each is a server or a worker for the
others, and all of them have the same sum, to the last bit. Where two do not agree, all hear of it."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

from support import HANG, NEVER, check, finish, free_port, run_together, skip

source, build = os.environ["TITHE_SOURCE"], os.environ["TITHE_BUILD"]
EXAMPLES = os.path.join(source, "examples")
N = 8
HALF, WHOLE, STAR = "codec=topk:keep=0.5;feedback=ec", "", "codec=topk:keep=0.5;feedback=ec;scheme=star"


with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as file:
    cache = dict(re.findall("^([A-Za-z_]+):[A-Z]+=(.*)$", file.read(), re.M))
if cache["TITHE_SANITIZE"]:
    skip("a program of somebody else would have to be sanitized too")
if cache["TITHE_ZMQ"] != "ON":
    skip("no ZeroMQ in this build")


# ---- building them ---------------------------------------------------------------------------------------------------

room = tempfile.mkdtemp()
prefix = os.path.join(room, "prefix")
subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
libraries = next(folder for folder, _, files in os.walk(prefix) if "libtithe_zmq.so" in files)
environment = dict(os.environ, LD_LIBRARY_PATH=libraries, PKG_CONFIG_PATH=os.path.join(libraries, "pkgconfig"))


def pkg_config(*words):
    return subprocess.run(["pkg-config", *words], check=True, capture_output=True, text=True, env=environment).stdout.split()


def compiled(name, compiler, *files):
    program = os.path.join(room, name)
    done = subprocess.run([*compiler, *files, "-o", program, *pkg_config("--cflags", "--libs", "tithe_zmq")], cwd=room,
                          capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"{name} does not compile: {done.stderr}")
    return [program]


module = os.path.join(*pkg_config("--variable=includedir", "tithe"), "tithe", "tithe.f90")
hello = {"C": compiled("in_c", ["cc", "-std=c17", "-Wall", "-Wextra", "-Wpedantic", "-Werror"], os.path.join(EXAMPLES, "hello.c")),
         "Python": [sys.executable, os.path.join(EXAMPLES, "hello.py")]}
if shutil.which("gfortran"):
    hello["Fortran"] = compiled("in_fortran", ["gfortran", "-std=f2018", "-Wall", "-Wextra", "-Werror"], module,
                                os.path.join(EXAMPLES, "hello.f90"))
else:
    print("SKIP: no gfortran, so there is no Fortran in the groups")


# ---- groups ------------------------------------------------------------------------------------------------------------

def run(server, workers, options, peers="yes"):
    """A server, and workers as pairs of language and options: exit status, output and errors of each, the server's first."""
    where = f"tcp://127.0.0.1:{free_port()};workers={len(workers)};peers={peers};timeout={NEVER}"
    commands = [[*hello[server], "listen=" + where]]
    commands += [[*hello[language], "connect=" + where, own if own is not None else options] for language, own in workers]
    return run_together(commands, environment)


def updates(workers, options):
    """What each step brings. The larger half of each vector goes first, the rest when nothing else is to be sent."""
    total = [workers * (workers + 1) // 2 * (i + 1) for i in range(N)]
    if options == WHOLE:
        return [total, [0] * N]
    return [[0] * (N // 2) + total[N // 2:], total[:N // 2] + [0] * (N // 2)]


def agrees(server, languages, options=HALF, peers="yes"):
    what = f"a server in {server}, workers in {', '.join(languages)}, '{options}'"
    (status, out, errors), *answers = run(server, [(language, None) for language in languages], options, peers)
    check((status, out, errors) == (0, "", ""), f"{what}: the server: {status}, {out!r}, {errors!r}")
    for language, (status, out, errors) in zip(languages, answers):
        steps = [[float(word) for word in line.split(":")[1].split()] for line in out.splitlines()]
        check(status == 0 and errors == "" and steps == updates(len(languages), options),
              f"{what}: {language}: {status}, {out!r}, {errors!r}")


def all_refuse(answers, words, what):
    for status, out, errors in answers:
        check(status == 1 and out == "", f"{what}: exit {status}: {out!r}")
        check(errors.startswith("hello: ") and errors.count("\n") == 1 and errors.endswith(".\n"), f"{what}: one sentence: {errors!r}")
        check(all(word in errors for word in words), f"{what}: {words} are not in {errors!r}")
    check(len({errors for _, _, errors in answers}) == 1, f"{what}: the same sentence: {answers}")


def one_differs(server, workers):
    """The last one in the list has another codec; ranks go by arrival, so any may be the first to be named."""
    last = [(workers[-1], "codec=topk:keep=0.25;feedback=ec")]
    answers = run(server, [(language, None) for language in workers[:-1]] + last, HALF)
    all_refuse(answers, ["Rank 0 has codec topk:keep=", ", but rank ", "keep=0.5|raw", "keep=0.25|raw"],
               f"{workers[-1]} has another codec")


def one_is_wrong(server, workers):
    """It cannot even open its exchange, and says so to the others."""
    wrong = [(workers[-1], "codec=topk:keeep=0.5")]
    answers = run(server, [(language, None) for language in workers[:-1]] + wrong, HALF)
    for status, _, errors in answers:
        check(status == 1 and errors.count("\n") == 1 and "keeep" in errors, f"{workers[-1]} has no codec: {status}, {errors!r}")


def texts():
    """Mistakes in the text of a group: one sentence, and nobody is waited for. tests/comm/test_zmq_open.c has all of them."""
    for language, program in hello.items():
        for text, word in (("", "listen"), ("listen=tcp://127.0.0.1:1;connect=tcp://127.0.0.1:1;workers=1", "Both"),
                           ("connect=tcp://127.0.0.1:1;workers=none", "'none'")):
            done = subprocess.run([*program, text], capture_output=True, text=True, env=environment, timeout=HANG, check=False)
            all_refuse([(done.returncode, done.stdout, done.stderr)], [word], f"{language}, '{text}'")


# ---- the module ----------------------------------------------------------------------------------------------------------

def interfaces():
    """Every function of the module is one of the headers, with its arguments in their order; and the text of an error is as long."""
    headers = ""
    for name in ("comm", "exchange", "serve", "status", "transport"):
        with open(os.path.join(prefix, "include", "tithe", name + ".h"), encoding="utf-8") as file:
            headers += re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    with open(module, encoding="utf-8") as file:
        text = file.read()
    declared = {name: re.findall(r"(\w+)\s*(?:,|$)", arguments)
                for name, arguments in re.findall(r"TITHE_API\b[^;(]*?(\w+)\(([^;]*)\);", headers)}
    found = re.findall(r"(?:function|subroutine) (\w+)\((.*?)\) bind\(C\)", text)
    check(len(found) > 15, f"the module has {len(found)} functions")
    for name, arguments in found:
        check(declared.get(name) == arguments.split(", "), f"{name}({arguments}) in Fortran, {declared.get(name)} in C")
    check(re.findall(r"char text\[(\d+)\]", headers) == re.findall(r"text\((\d+)\)", text), "the text of an error has another length")


try:
    interfaces()
    everybody = sorted(hello)
    for language in hello:
        for workers in (2, 3):
            agrees(language, [language] * workers)
        agrees(language, everybody)
    agrees("C", everybody, WHOLE)
    agrees("Python", everybody, STAR, peers="no")
    for language in hello:
        others = [other for other in everybody if other != language]
        one_differs(language, [*others, language])
        one_is_wrong(others[0], [*others, language])
    texts()
finally:
    shutil.rmtree(room, ignore_errors=True)
finish(more=f", in {', '.join(hello)}")
