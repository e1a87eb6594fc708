#!/usr/bin/env python3
"""The golden frames, read by the decoder that was written from docs/format.md alone.

tests/golden/good/NAME.frame decodes to NAME.f32 or NAME.f64, bit for bit; NAME.json says what a decoder must be told.
tests/golden/bad/NAME.frame is refused; NAME.txt says why. A bad frame may have a NAME.json too.
"""

import json
import os
import pathlib

from decoder import Corrupt, decode
from support import check, finish

LEAST_GOOD = 40
LEAST_BAD = 20


def told(path):
    """What NAME.json says, as arguments of decode(), and the rest of it."""
    case = json.loads(path.read_text()) if path.exists() else {}
    return {name: case[name] for name in ("seed", "rank", "tensor", "indices") if name in case}, case


def wrong_with_good(path):
    """What is wrong with how a good frame is read, or None."""
    if not path.with_suffix(".json").exists():
        return "it has no .json"
    expected = [other for other in (path.with_suffix(".f32"), path.with_suffix(".f64")) if other.exists()]
    if len(expected) != 1:
        return "it needs either a .f32 or a .f64"
    arguments, case = told(path.with_suffix(".json"))
    try:
        frame = decode(path.read_bytes(), **arguments)
    except Corrupt as reason:
        return "it is refused: %s" % reason
    if frame.type != expected[0].suffix[1:]:
        return "it says %s, but its vector is %s" % (frame.type, expected[0].name)
    if frame.step != case.get("step", 0):
        return "it says step %d, but its .json says %s" % (frame.step, case.get("step", 0))
    actual, vector = frame.tobytes(), expected[0].read_bytes()
    if len(actual) != len(vector):
        return "it decodes to %d bytes, but %s has %d" % (len(actual), expected[0].name, len(vector))
    width = 8 if frame.type == "f64" else 4
    for at in range(0, len(vector), width):
        if actual[at : at + width] != vector[at : at + width]:
            here = actual[at : at + width].hex(), vector[at : at + width].hex()
            return "position %d: bytes %s, but expected %s" % ((at // width,) + here)
    return None


def wrong_with_bad(path):
    """What is wrong with how a bad frame is read, or None."""
    why = path.with_suffix(".txt")
    if not why.exists():
        return "it has no .txt that says why it is bad"
    try:
        decode(path.read_bytes(), **told(path.with_suffix(".json"))[0])
    except Corrupt:
        return None
    return "it is accepted, though: %s" % why.read_text().strip()


def main():
    here = pathlib.Path(__file__).resolve().parent
    golden = pathlib.Path(os.environ.get("TITHE_SOURCE") or here.parent.parent) / "tests" / "golden"
    for folder, least, wrong_with in (("good", LEAST_GOOD, wrong_with_good), ("bad", LEAST_BAD, wrong_with_bad)):
        paths = sorted((golden / folder).glob("*.frame"))
        for path in paths:
            wrong = wrong_with(path)
            check(not wrong, "golden/%s/%s: %s" % (folder, path.name, wrong))
        check(len(paths) >= least, "golden/%s: %d frames are too few: at least %d" % (folder, len(paths), least))
    finish()


if __name__ == "__main__":
    main()
