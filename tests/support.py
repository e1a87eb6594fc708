"""What the tests in Python share: checks that are counted, and what is said at the end."""

import socket
import sys

counts = {True: 0, False: 0}


def check(ok, what):
    """Goes on after a failure, so that one run shows all of them."""
    counts[bool(ok)] += 1
    if not ok:
        print("FAIL " + what)


def finish(skipped=False, more=""):
    """`skipped`: nothing could be tried, and why was said."""
    print(f"{counts[True]} passed, {counts[False]} failed{more}")
    sys.exit(1 if counts[False] else 77 if skipped else 0)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]
