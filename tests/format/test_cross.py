#!/usr/bin/env python3
"""The command and the decoder that was written from docs/format.md alone, side by side.

Frames of every selector with every quantizer must decode to the same bits. Frames made by hand lie on either side of
the page's rules. Damaged frames are refused by both; with the checksum made right again, both refuse them or both read
the same from them.
"""

import itertools
import os
import pathlib
import random
import struct
import subprocess
import tempfile

from decoder import QUANTIZERS, SELECTORS, Corrupt, crc32c, decode
from support import check, finish

TITHE = os.environ.get("TITHE", "tithe")
LENGTHS = (0, 1, 7, 8, 9, 31, 32, 33, 1000, 5000)
LONG = {  # large gaps; more draws than a block has numbers
    "topk:k=1|raw": 200000,
    "topk:k=5|f16": 200000,
    "mstopk:k=70|bf16": 200000,
    "randk:keep=0.3|natural": 20000,
    "randk:keep=0.6,scale=contractive|sign": 20000,
}
KINDS = ("gaussian", "sparse", "equal", "zeros", "wide")
LARGEST = 1 << 20  # sound frames that stand for more numbers than this are not written out

# Every selector with every quantizer but stochastic|sign, each with parameters in turn; then what that leaves out.
SELECTOR_SPECS = {
    "all": ("all",),
    "topk": ("topk:k=5", "topk:keep=0.01", "topk:keep=0.4", "topk:rule=l2", "topk:k=3,per=layer"),
    "threshold": ("threshold:lambda=1", "threshold:lambda=0.01", "threshold:lambda=0"),
    "mstopk": ("mstopk:k=5", "mstopk:keep=0.1", "mstopk:keep=0.5,rounds=4"),
    "randk": ("randk:k=6", "randk:keep=0.1", "randk:keep=0.7", "randk:keep=0.3,scale=contractive"),
    "stochastic": ("stochastic:k=8", "stochastic:keep=0.05", "stochastic:keep=0.5,scale=contractive"),
    "given": ("given",),
}
QUANTIZER_SPECS = {
    "raw": ("raw", "raw:type=f64"),
    "f16": ("f16",),
    "bf16": ("bf16",),
    "natural": ("natural", "natural:bits=8", "natural:type=f64", "natural:scale=contractive", "natural:bits=9"),
    "sign": ("sign", "sign:scale=norm"),
    "dither": ("dither", "dither:p=inf,s=1,bucket=8", "dither:s=127,code=elias", "dither:p=1,s=100,norm=natural",
               "dither:s=15,bucket=64,scale=contractive"),
    "natdither": ("natdither", "natdither:p=inf,bucket=5,norm=natural", "natdither:s=64,code=elias",
                  "natdither:p=1,s=1,scale=contractive"),
    "int32": ("int32", "int32:block=5", "int32:block=0"),
}
MORE_SPECS = (
    "all|natural:type=f64,scale=contractive", "all|natural:bits=8,scale=contractive", "all|dither:s=16383,bucket=100",
    "all|dither:bucket=1,norm=natural,code=elias", "all|dither:p=1,s=3,bucket=33", "all|natdither:s=10,bucket=32",
    "all|natdither:p=inf,norm=natural,code=elias", "topk:k=1|raw", "topk:keep=1|raw", "topk:keep=0.002|f16",
    "topk:keep=0.1,per=layer|dither:bucket=16,code=elias", "topk:rule=l2|natural:type=f64",
    "randk:keep=0.5|raw:type=f64", "randk:keep=0.999|bf16", "randk:keep=1|raw", "stochastic:keep=0.2|raw:type=f64",
    "stochastic:keep=0.9|bf16", "stochastic:keep=0.1,scale=contractive|natural:type=f64",
    "stochastic:k=3|natural:bits=8,scale=contractive", "stochastic:keep=0.3|dither:bucket=4,norm=natural",
    "mstopk:k=9,rounds=0|natdither:code=elias", "sign", "dither",
)


def all_specs():
    specs, turn = [], 0
    for selector in SELECTORS:
        for quantizer in QUANTIZERS:
            if (selector, quantizer) == ("stochastic", "sign"):
                continue
            first = SELECTOR_SPECS[selector][turn % len(SELECTOR_SPECS[selector])]
            if (selector, quantizer) == ("randk", "sign"):
                first = "randk:keep=0.3,scale=contractive"  # the other scale is refused
            specs.append(first + "|" + QUANTIZER_SPECS[quantizer][turn % len(QUANTIZER_SPECS[quantizer])])
            turn += 1
    return specs + list(MORE_SPECS)


def names(spec):
    """The names of selector and quantizer in a spec, either of which may have been left out."""
    words = [part.split(":")[0] for part in spec.split("|")]
    return words[0] if words[0] in SELECTORS else "all", words[-1] if words[-1] in QUANTIZERS else "raw"


def vector(dice, kind, n, spec):
    double = "type=f64" in spec
    if kind == "gaussian":
        numbers = [dice.gauss(0, 1) for _ in range(n)]
    elif kind == "sparse":
        numbers = [dice.gauss(0, 1) if dice.random() < 0.1 else 0.0 for _ in range(n)]
    elif kind == "equal":
        numbers = [-1.25] * n
    elif kind == "zeros":
        numbers = [dice.choice((0.0, -0.0)) for _ in range(n)]
    else:  # from far below the smallest normal number up to what the codec can still write
        low, high = (-1070, 900) if double else (-148, 3) if "|f16" in spec else (-148, 100)
        numbers = [dice.choice((-1, 1)) * 2.0 ** dice.uniform(low, high) for _ in range(n)]
    return struct.pack("<%d%s" % (n, "d" if double else "f"), *numbers)


def sealed(body):
    return bytes(body) + struct.pack("<I", crc32c(bytes(body)))


class Bench:
    """Runs both decoders and compares what comes out."""

    def __init__(self, folder):
        self.indices = pathlib.Path(folder) / "indices"
        self.skipped = 0

    def note(self, name, wrong, frame=b""):
        shown = frame.hex() if len(frame) <= 200 else frame[:200].hex() + "..."
        check(not wrong, "%s: %s%s" % (name, wrong, "; frame " + shown if frame else ""))

    def tithe(self, arguments, data):
        """(output or None if refused, message); a crash is neither, and raises."""
        run = subprocess.run([TITHE] + arguments, input=data, capture_output=True, check=False)
        message = run.stderr.decode("utf-8", "replace").strip()
        if run.returncode == 0:
            return run.stdout, message
        if run.returncode not in (1, 2) or not message.startswith("tithe "):
            raise RuntimeError("the command ended with %d: %s" % (run.returncode, message))
        return None, message

    def with_indices(self, indices):
        if indices is None:
            return []
        if len(indices) % 2:  # either form of the file
            self.indices.write_text(", ".join(map(str, indices)))
        else:
            self.indices.write_bytes(struct.pack("<%dI" % len(indices), *indices))
        return ["--indices", str(self.indices)]

    def compare(self, name, frame, seed=0, rank=0, tensor=0, indices=None, refused=None):
        """Both must do the same with the frame; and refuse it or not, if `refused` is not None. Returns the Frame."""
        if len(frame) > 1 and frame[1] >> 4 != SELECTORS.index("given"):
            indices = None
        mine = None
        try:
            mine = decode(frame, seed, rank, tensor, indices)
            if mine.n > LARGEST:
                self.skipped += 1
                return mine
            expected, reason = mine.tobytes(), ""
        except Corrupt as corrupt:
            expected, reason = None, str(corrupt)
        options = ["--seed", str(seed), "--rank", str(rank), "--tensor", str(tensor)] + self.with_indices(indices)
        try:
            actual, message = self.tithe(["decode", "-", "-"] + options, frame)
        except RuntimeError as crash:
            self.note(name, str(crash), frame)
            return mine
        wrong = None
        if expected is None and actual is not None:
            wrong = "the command reads it, the decoder refuses it (%s)" % reason
        elif expected is not None and actual is None:
            wrong = "the decoder reads it, the command refuses it (%s)" % message
        elif expected != actual:
            wrong = "both read it, but differently"
        elif refused is not None and refused != (actual is None):
            wrong = "it should be refused" if refused else "it should not be refused (%s)" % reason
        self.note(name, wrong, frame)
        return mine

    def encode(self, spec, data, n, step, keys, indices=None):
        options = [item for name, value in keys.items() for item in ("--" + name, str(value))]
        options += ["--step", str(step)] + self.with_indices(indices)
        if "per=layer" in spec:
            options += ["--segments", "%d,%d,%d" % (n // 3, n // 2 - n // 3, n - n // 2)]
        return self.tithe(["encode", spec, "-", "-"] + options, data)


def given(dice, n):
    return sorted(dice.sample(range(n), dice.choice((0, n // 3, n // 2, n))))


def check_spec(bench, dice, spec, n, kind):
    """What the command encodes, both decode to the same bits."""
    name = "%s, %d numbers, %s" % (spec, n, kind)
    selector, quantizer = names(spec)
    keys = {"seed": dice.getrandbits(64), "rank": dice.getrandbits(32), "tensor": dice.getrandbits(32)}
    step = dice.choice((0, 1, 127, 128, 70000, 2**32 - 1))
    indices = given(dice, n) if selector == "given" else None
    frame, message = bench.encode(spec, vector(dice, kind, n, spec), n, step, keys, indices)
    if frame is None:
        bench.note(name, "it is not encoded (%s)" % message)
        return
    head = bench.compare(name, frame, indices=indices, refused=False, **keys)
    if head:
        said = (head.n, head.step, head.selector, head.quantizer)
        bench.note(name, None if said == (n, step, selector, quantizer) else "the header says %s" % (said,), frame)


def check_specs(bench, dice):
    kinds = itertools.cycle(KINDS)
    for spec in all_specs():
        for n in LENGTHS:
            for _ in range(2 if n < 1000 else 1):
                check_spec(bench, dice, spec, n, next(kinds))
    for spec, n in LONG.items():
        check_spec(bench, dice, spec, n, "gaussian")


def by_hand():
    """(name, body, refused) on either side of the rules of the page."""

    def f(x):
        return list(struct.pack("<f", x))

    minus_zero, largest, nan, inf = [0, 0, 0, 0x80], [0xFF, 0xFF, 0x7F, 0x7F], [0, 0, 0xC0, 0x7F], [0, 0, 0x80, 0x7F]
    one, two = f(1), f(2)
    yield from (
        ("raw", [0xD1, 0x00, 0, 1, 0] + one, False),
        ("no bytes but the checksum", [], True),
        ("exchange form", [0xD9, 0, 0] + one, True),
        ("wire version 0", [0xD0, 0, 0, 1, 0] + one, True),
        ("wire version 3", [0xD3, 0, 0, 1, 0] + one, True),
        ("a check of the seed for all", [0xD2, 0, 0, 1, 0, 0, 0, 0, 0] + one, True),
        ("a check of another seed", [0xD2, 0x40, 0, 1, 0, 1, 2, 3, 4, 1] + one, True),
        ("randk of version 1", [0xD1, 0x40, 0, 1, 0, 1] + one, False),
        ("another mark", [0xC1, 0, 0, 1, 0] + one, True),
        ("a byte left over", [0xD1, 0, 0, 1, 0] + one + [0], True),
        ("a byte short", [0xD1, 0, 0, 1, 0] + one[:3], True),
        ("step of five bytes", [0xD1, 0, 0, 1, 255, 255, 255, 255, 15] + one, False),
        ("step of 2^32", [0xD1, 0, 0, 1, 128, 128, 128, 128, 16] + one, True),
        ("varint of six bytes", [0xD1, 0, 0, 1, 255, 255, 255, 255, 143, 0] + one, True),
        ("varint with a zero group", [0xD1, 0, 0, 0x81, 0, 0] + one, True),
        ("more entries than n", [0xD1, 0x10, 0, 1, 0, 2] + one + one, True),
        ("raw, NaN", [0xD1, 0, 0, 1, 0] + nan, True),
        ("raw, infinite", [0xD1, 0, 0, 1, 0] + inf, True),
        ("raw, -0", [0xD1, 0, 0, 1, 0] + minus_zero, False),
        ("f16, infinite", [0xD1, 1, 0, 1, 0, 0, 0x7C], True),
        ("f16, subnormal", [0xD1, 1, 0, 1, 0, 1, 0x80], False),
        ("bf16, infinite", [0xD1, 2, 0, 1, 0, 0x80, 0xFF], True),
        ("bf16, subnormal", [0xD1, 2, 0, 1, 0, 1, 0], False),
        ("f64 raw", [0xD1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F], False),
        ("f64 sign", [0xD1, 4, 1, 1, 0] + one + [0], True),
        ("natural of 9 bits in f64", [0xD1, 3, 9, 1, 0, 0, 0], True),
        ("natural of 8 bits in f64", [0xD1, 3, 5, 1, 0, 0], True),
        ("natural of 12 bits in f32", [0xD1, 3, 12, 1, 0, 0, 0], True),
        ("natural, exponent 255", [0xD1, 3, 0, 1, 0, 255, 0], True),
        ("natural, exponent 254", [0xD1, 3, 0, 1, 0, 254, 0], False),
        ("natural, smallest exponent, contractive", [0xD1, 3, 2, 1, 0, 1, 1], False),
        ("natural, zero with a sign", [0xD1, 3, 0, 1, 0, 0, 1], False),
        ("natural of 8 bits, largest", [0xD1, 3, 4, 1, 0, 255], False),
        ("natural of 8 bits, zero with a sign", [0xD1, 3, 4, 1, 0, 128], False),
        ("natural of 12 bits, zero with a sign", [0xD1, 3, 1, 1, 0, 0, 8], False),
        ("natural of 12 bits, smallest, contractive", [0xD1, 3, 3, 1, 0, 1, 8], False),
        ("natural of 12 bits, exponent 2047", [0xD1, 3, 1, 1, 0, 255, 7], True),
        ("natural, padding", [0xD1, 3, 0, 1, 0, 127, 2], True),
        ("sign of nothing", [0xD1, 4, 0, 0, 0], False),
        ("sign of nothing, with a magnitude", [0xD1, 4, 0, 0, 0] + one, True),
        ("sign, negative magnitude", [0xD1, 4, 0, 1, 0] + f(-1) + [0], True),
        ("sign, magnitude -0", [0xD1, 4, 0, 1, 0] + minus_zero + [0], True),
        ("sign, NaN", [0xD1, 4, 0, 1, 0] + nan + [0], True),
        ("sign, padding", [0xD1, 4, 0, 1, 0] + one + [2], True),
        ("dither of nothing", [0xD1, 5, 4, 0, 0, 7, 0], False),
        ("dither of nothing, with a norm", [0xD1, 5, 4, 0, 0, 7, 0] + f(0), True),
        ("dither, p = 3", [0xD1, 5, 12, 1, 0, 1, 0] + one + [1], True),
        ("dither, negative level 0", [0xD1, 5, 4, 1, 0, 1, 0] + one + [2], True),
        ("dither, level above s", [0xD1, 5, 4, 1, 0, 2, 0] + one + [3], True),
        ("dither, norm -0", [0xD1, 5, 4, 1, 0, 1, 0] + minus_zero + [0], True),
        ("dither, infinite norm", [0xD1, 5, 4, 1, 0, 1, 0] + inf + [1], True),
        ("dither, natural norm 255", [0xD1, 5, 0x14, 1, 0, 2, 0, 255, 1], True),
        ("dither, natural norm 254", [0xD1, 5, 0x14, 1, 0, 2, 0, 254, 1], False),
        ("dither, natural norm 1", [0xD1, 5, 0x14, 1, 0, 3, 0, 1, 1], False),
        ("natdither, natural norm 1", [0xD1, 6, 0x14, 1, 0, 3, 0, 1, 1], False),
        ("natdither, subnormal norm", [0xD1, 6, 4, 1, 0, 3, 0, 5, 0, 0, 0, 2], False),
        ("dither, subnormal norm", [0xD1, 5, 4, 1, 0, 3, 0, 5, 0, 0, 0, 2], False),
        ("dither, norm above 2^127", [0xD1, 5, 4, 1, 0, 31, 0] + largest + [31], True),
        ("dither, Elias, 40 zeros", [0xD1, 5, 0x24, 1, 0, 7, 0] + one + [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0], True),
        ("stochastic without u", [0xD1, 0x50, 0, 0, 0, 0], True),
        ("stochastic of nothing", [0xD1, 0x50, 0, 0, 0, 0, 0], False),
        ("stochastic, all shared", [0xD1, 0x50, 0, 2, 0, 2, 2] + one + [2], False),
        ("stochastic, none shared", [0xD1, 0x50, 0, 2, 0, 2, 0] + one + two, False),
        ("stochastic, some shared", [0xD1, 0x50, 0, 3, 0, 3, 2] + one + [1, 2, 1] + two, False),
        ("stochastic, more shared than entries", [0xD1, 0x50, 0, 2, 0, 2, 3] + one + [2], True),
        ("stochastic, magnitude -0", [0xD1, 0x50, 0, 1, 0, 1, 1] + minus_zero + [0], True),
        ("stochastic with sign", [0xD1, 0x54, 0, 1, 0, 1, 0] + one + [0], True),
        ("fixed", [0xD1, 0x10, 0, 8, 0, 1, 0, 3] + one, False),
        ("fixed, padding", [0xD1, 0x10, 0, 8, 0, 1, 0, 11] + one, True),
        ("fixed, the same twice", [0xD1, 0x10, 0, 8, 0, 2, 0, 0o33] + one + one, True),
        ("fixed, descending", [0xD1, 0x10, 0, 8, 0, 2, 0, 0o23] + one + one, True),
        ("fixed, position n", [0xD1, 0x10, 0, 7, 0, 1, 0, 7] + one, True),
        ("bitmap", [0xD1, 0x10, 0, 8, 0, 1, 1, 8] + one, False),
        ("bitmap with two", [0xD1, 0x10, 0, 8, 0, 1, 1, 9] + one, True),
        ("bitmap, padding", [0xD1, 0x10, 0, 7, 0, 1, 1, 0x81] + one, True),
        ("Golomb, m = 1", [0xD1, 0x10, 0, 8, 0, 1, 2, 8] + one, False),
        ("Golomb, m = 1, position n", [0xD1, 0x10, 0, 7, 0, 1, 2, 128] + one, True),
        ("Golomb, m = 3", [0xD1, 0x10, 0, 8, 0, 1, 3, 0b1110] + one, False),
        ("Golomb, m = 2^31", [0xD1, 0x10, 0, 8, 0, 1, 64, 3, 0, 0, 0x80] + one, False),
        ("Golomb, m = 3 * 2^30", [0xD1, 0x10, 0, 8, 0, 1, 63, 3, 0, 0, 0x40] + one, False),
        ("Golomb, m = 3 * 2^30, far", [0xD1, 0x10, 0, 8, 0, 1, 63, 3, 0, 0, 0x80, 3] + one, True),
        ("coding 65", [0xD1, 0x10, 0, 8, 0, 1, 65, 3, 0, 0, 0x80] + one, True),
        ("coding where none belongs", [0xD1, 0x10, 0, 1, 0, 1, 0] + one, True),
    )
    for s, refused in ((0, True), (1, False), (16383, False), (16384, True), (32767, True), (32768, True)):
        yield "dither, s = %d" % s, [0xD1, 5, 0x24, 1, 0] + varint(s) + [0] + one + [2], refused
    for s, refused in ((0, True), (64, False), (65, True)):
        yield "natdither, s = %d" % s, [0xD1, 6, 0x24, 1, 0] + varint(s) + [0] + one + [2], refused
    for bucket, refused in ((1, False), (2, False), (16383, False), (16384, True), (1 << 20, True)):
        yield "dither, bucket = %d" % bucket, [0xD1, 5, 0x24, 1, 0, 7] + varint(bucket) + one + [2], refused
    # Each pair of ids with each bit of the flags, around one value that is as plain as the quantizer can write it.
    plain = {0: one, 1: [0, 0x3C], 2: [0x80, 0x3F], 3: [127, 0], 4: one + [0]}
    plain[5] = plain[6] = [1, 0] + one + [1]
    for codec in range(256):
        selector, quantizer = codec >> 4, codec & 15
        for flags in (0, 1, 2, 4, 8, 16, 32, 64, 128):
            if flags and (selector > 6 or quantizer > 6):
                continue
            numbers = plain.get(quantizer, one)
            first = numbers[:2] if quantizer in (5, 6) else []
            shared = [0] if selector == 5 else []
            body = [0xD1, codec, flags, 1, 0] + ([1] if selector else []) + first + shared + numbers[len(first) :]
            yield "codec %02x with flags %02x" % (codec, flags), body, True if selector > 6 or quantizer > 6 else None


def varint(number):
    groups = []
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    return groups + [number]


def check_by_hand(bench):
    for name, body, refused in by_hand():
        bench.compare(name, sealed(body), indices=[0], refused=refused)
    frame = sealed([0xD1, 0x60, 0, 3, 0, 2] + list(struct.pack("<2f", 1, 2)))
    for indices in ([0, 2], [2, 0], [0], [0, 1, 2], [1, 1], [0, 3]):
        bench.compare("given, handed %s" % indices, frame, indices=indices, refused=sorted(indices) != [0, 2])


def short_frames(bench, dice):
    """(spec, frame, what decoders are told) for short frames of many kinds."""
    for spec in (
        "topk:k=3|raw", "topk:k=4|natural", "topk:k=5|dither:s=5,bucket=2,norm=natural", "threshold:lambda=1|sign",
        "mstopk:k=2|natdither:code=elias", "stochastic:k=6|natural:bits=8", "stochastic:k=5|f16",
        "stochastic:k=6|dither:code=elias,norm=natural", "randk:k=4|bf16", "randk:keep=0.7|natural", "given|f16",
        "given|dither:code=elias", "all|sign", "all|dither:s=3,bucket=8", "all|natural:type=f64",
        "all|natdither:code=elias",
    ):
        n = 20 if spec.startswith("all") else 45
        keys = {"seed": dice.getrandbits(64), "rank": dice.getrandbits(4), "tensor": dice.getrandbits(4)}
        indices = sorted(dice.sample(range(n), 7)) if spec.startswith("given") else None
        data = vector(dice, "gaussian", n, spec)
        frame, message = bench.encode(spec, data, n, dice.choice((0, 200)), keys, indices)
        if frame is None:
            bench.note(spec, "it is not encoded (%s)" % message)
        else:
            yield spec, frame, dict(keys, indices=indices)


def changed(dice, body):
    """The body with a few bytes replaced, put in, taken out or swapped."""
    body = bytearray(body)
    for _ in range(dice.choice((1, 1, 2, 3))):
        at = dice.randrange(len(body)) if body else 0
        what = dice.randrange(5)
        if what == 0 or not body:
            body.insert(at, dice.choice((0, 1, 127, 128, 255, dice.randrange(256))))
        elif what == 1:
            del body[at]
        elif what == 2:
            del body[dice.randrange(len(body)) :]
        else:  # the header most of the time
            at = at if what == 3 else dice.randrange(min(len(body), 10))
            body[at] = dice.choice((0, 1, 2, 3, 127, 128, 255, dice.randrange(256), body[at] + 1 & 255))
    return bytes(body)


def check_damage(bench, dice):
    for number, (spec, frame, told) in enumerate(short_frames(bench, dice)):
        bench.compare(spec, frame, refused=False, **told)
        whole = int.from_bytes(frame, "little")
        flips = [(whole ^ 1 << bit).to_bytes(len(frame), "little") for bit in range(8 * len(frame))]
        if number % 5 == 0:
            for bit, flipped in enumerate(flips):
                bench.compare("%s, bit %d flipped" % (spec, bit), flipped, refused=True, **told)
        for bit, flipped in enumerate(flips[:-32]):
            bench.compare("%s, bit %d flipped and sealed" % (spec, bit), sealed(flipped[:-4]), **told)
        for length in range(0, len(frame) - 4):
            bench.compare("%s, cut to %d bytes and sealed" % (spec, length), sealed(frame[:length]), **told)
        for _ in range(100):
            bench.compare("%s, changed and sealed" % spec, sealed(changed(dice, frame[:-4])), **told)


def main():
    dice = random.Random(20210917)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        check_specs(bench, dice)
        check_by_hand(bench)
        check_damage(bench, dice)
    print("%d damaged frames were sound, but too long to write out" % bench.skipped)
    finish()


if __name__ == "__main__":
    main()
