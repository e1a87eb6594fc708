"""What make.sh runs: writes the inputs, has the command encode them, and forges the frames that must be refused.

good/NAME.frame   the frame                 good/NAME.json   what made it: spec, seed, step, rank, indices, input
good/NAME.f32     the vector it decodes to (.f64 for doubles)
bad/NAME.frame    to be refused as corrupt  bad/NAME.txt     why, in one line
"""

import json
import pathlib
import struct
import subprocess
import sys

command, here = sys.argv[1], pathlib.Path(sys.argv[2])


# ---- inputs: the same numbers on every machine, so integers only until the last step ------------------------


class Numbers:
    def __init__(self, seed):
        self.state = seed

    def integer(self, limit):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % limit

    def bell(self):
        """Nearly normal: twelve uniform numbers, summed."""
        return (sum(self.integer(1 << 20) for _ in range(12)) - 6 * (1 << 20)) / (1 << 20)


def bell(n, seed):
    numbers = Numbers(seed)
    return [numbers.bell() for _ in range(n)]


def wide(n, seed, low, high):
    """Powers of two over a wide range, times a mantissa."""
    numbers = Numbers(seed)
    return [
        (-1) ** numbers.integer(2) * (1 + numbers.integer(1 << 20) / (1 << 20)) * 2.0 ** (low + numbers.integer(high - low))
        for _ in range(n)
    ]


def clustered(n, seed):
    """Runs of large entries with long gaps of small ones between them."""
    numbers = Numbers(seed)
    x, i = [0.001 * numbers.bell() for _ in range(n)], 5
    while i < n:
        for j in range(i, min(n, i + 1 + numbers.integer(4))):
            x[j] = 5 + numbers.bell()
        i += 20 + numbers.integer(90)
    return x


INPUTS = {
    "empty.f32": [],
    "one.f32": [-0.7],
    "zeros20.f32": [0.0, -0.0] * 10,
    "flat100.f32": [0.25] * 100,
    "denormals60.f32": [2.0**-149 * (i * i * 1234 % 8388608) * (-1) ** i for i in range(60)],
    "bell64.f32": bell(64, 1),
    "bell300.f32": bell(300, 2),
    "bell1500.f32": bell(1500, 3),
    "wide200.f32": wide(200, 4, -140, 100),
    "clusters2000.f32": clustered(2000, 5),
    "bell70.f64": bell(70, 6),
    "wide120.f64": wide(120, 7, -1000, 900),
    "empty.f64": [],
}
for name, values in INPUTS.items():
    (here / "input" / name).write_bytes(struct.pack("<%d%s" % (len(values), "d" if name.endswith("64") else "f"), *values))

# ---- good frames --------------------------------------------------------------------------------------------

QUANTIZERS = ["raw", "f16", "bf16", "natural", "sign", "dither", "natdither", "int32"]
SELECTORS = {
    "all": "all",
    "topk": "topk:keep=0.1",
    "threshold": "threshold:lambda=1.2",
    "mstopk": "mstopk:k=40",
    "randk": "randk:k=33",
    "stochastic": "stochastic:keep=0.15",
    "given": "given",
}
GIVEN = list(range(3, 300, 7))
TOP = 2**32 - 1

good = []


def add(name, spec, source, seed=0, step=0, rank=0, indices=None, segments=None):
    good.append((name, spec, source, seed, step, rank, indices, segments))


for selector, spec in SELECTORS.items():
    for place, quantizer in enumerate(QUANTIZERS):
        if (selector, quantizer) == ("stochastic", "sign"):
            continue
        scale = ",scale=contractive" if (selector, quantizer) == ("randk", "sign") else ""
        add(selector + "-" + quantizer, spec + scale + "|" + quantizer, "bell300.f32", seed=11 + place, step=place * 1000,
            rank=place, indices=GIVEN if selector == "given" else None)

add("empty-all", "all|raw", "empty.f32")
add("empty-topk-sign", "topk:k=5|sign", "empty.f32", step=TOP)
add("empty-stochastic", "stochastic:k=5|dither", "empty.f32")
add("empty-f64", "natural", "empty.f64")
add("one-all-natural", "natural", "one.f32", seed=3)
add("one-topk", "topk:k=1|raw", "one.f32", step=1)
add("one-sign", "sign", "one.f32")
add("zeros-natdither", "natdither", "zeros20.f32", seed=1)
add("zeros-stochastic", "stochastic:keep=0.5", "zeros20.f32", seed=1)
add("none-kept", "threshold:lambda=100|natural", "bell300.f32", seed=5, step=2**28)
add("all-kept", "threshold:lambda=0|bf16", "bell64.f32")
add("all-kept-k-above-n", "topk:k=1000|natural", "bell64.f32", seed=2, step=127)
add("step-largest", "topk:k=10|raw", "bell64.f32", step=TOP)
add("step-128", "sign", "bell64.f32", step=128)
add("seed-rank-largest", "randk:k=20|natural", "bell64.f32", seed=2**64 - 1, step=TOP, rank=TOP)
add("indices-fixed", "topk:k=2|raw", "clusters2000.f32")
add("indices-bitmap", "topk:keep=0.55|sign", "bell300.f32")
add("indices-golomb-power", "topk:keep=0.01|natural", "bell1500.f32", seed=8)
add("indices-golomb-three", "topk:keep=0.2|natural", "bell1500.f32", seed=8)
add("indices-clusters", "threshold:lambda=1|f16", "clusters2000.f32")
add("randk-most", "randk:keep=0.9|natural", "bell64.f32", seed=21, step=4, rank=2)
add("randk-contractive", "randk:keep=0.3,scale=contractive|natural:scale=contractive", "bell300.f32", seed=22)
add("given-none", "given|raw", "bell64.f32", indices=[])
add("given-every", "given|natural:bits=8", "bell64.f32", seed=4, indices=list(range(64)))
add("per-layer", "topk:keep=0.1,per=layer|raw", "bell300.f32", segments=[100, 0, 150, 50])
add("rule-l2", "topk:rule=l2|sign:scale=norm", "bell300.f32")
add("natural-8", "natural:bits=8", "wide200.f32", seed=31)
add("natural-9", "natural:bits=9", "wide200.f32", seed=32)
add("natural-contractive", "natural:scale=contractive", "wide200.f32", seed=33)
add("natural-denormals", "natural", "denormals60.f32", seed=34)
add("natural-f64", "natural:type=f64", "wide120.f64", seed=35)
add("natural-f64-contractive", "natural:type=f64,scale=contractive", "bell70.f64", seed=36)
add("raw-f64", "raw:type=f64", "wide120.f64")
add("topk-f64", "topk:keep=0.2|natural:type=f64", "bell70.f64", seed=37)
add("stochastic-f64", "stochastic:k=12|raw:type=f64", "bell70.f64", seed=38)
add("stochastic-flat", "stochastic:keep=0.2|raw", "flat100.f32", seed=39)
add("stochastic-exact", "stochastic:k=150|raw", "flat100.f32", seed=40)
add("stochastic-wide", "stochastic:k=30|natural", "wide200.f32", seed=41)
add("stochastic-contractive", "stochastic:keep=0.3,scale=contractive|natural:scale=contractive", "bell300.f32", seed=42)
add("dither-p1", "dither:p=1,s=31", "bell300.f32", seed=51)
add("dither-max", "dither:p=inf,s=3", "bell300.f32", seed=52)
add("dither-buckets", "dither:s=5,bucket=64", "bell300.f32", seed=53)
add("dither-most", "dither:s=16383,bucket=16383", "bell300.f32", seed=54)
add("dither-elias", "dither:s=127,code=elias", "bell300.f32", seed=55)
add("dither-norms", "dither:norm=natural,bucket=16,code=elias,p=inf,s=1", "bell300.f32", seed=56)
add("dither-contractive", "dither:s=2,bucket=50,scale=contractive", "bell300.f32", seed=57)
add("dither-wide", "dither:bucket=1,s=4", "wide200.f32", seed=58)
add("natdither-s1", "natdither:s=1,p=inf", "bell64.f32", seed=61)
add("natdither-s64", "natdither:s=64,p=1", "wide200.f32", seed=62)
add("natdither-elias", "natdither:s=20,code=elias,bucket=31", "bell300.f32", seed=63)
add("natdither-norms", "natdither:norm=natural,bucket=10", "wide200.f32", seed=64)
add("natdither-contractive", "natdither:s=3,scale=contractive,norm=natural", "bell300.f32", seed=65)
add("int32-wide", "int32", "wide200.f32", seed=71)
add("int32-denormals", "int32:block=7", "denormals60.f32", seed=72)
add("int32-whole", "int32:block=0", "bell1500.f32", seed=73)
add("zeros-int32", "int32:block=8", "zeros20.f32", seed=74)
add("f16-small", "f16", "denormals60.f32")
add("bf16-wide", "bf16", "wide200.f32")
add("sign-zeros", "sign", "zeros20.f32")

drawn = []
for name, spec, source, seed, step, rank, indices, segments in good:
    type_name = source[-3:]
    frame, vector = here / "good" / (name + ".frame"), here / "good" / (name + "." + type_name)
    outside = ["--seed", str(seed), "--rank", str(rank)]
    if indices is not None:
        listing = here / "good" / "indices.tmp"
        listing.write_text(" ".join(map(str, indices)))
        outside += ["--indices", str(listing)]
    layers = ["--segments", ",".join(map(str, segments))] if segments else []
    encode = [command, "encode", spec, str(here / "input" / source), str(frame), "--type", type_name, "--step", str(step)]
    subprocess.run(encode + outside + layers, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([command, "decode", str(frame), str(vector)] + outside, check=True, stdout=subprocess.DEVNULL)
    made = {"spec": spec, "seed": seed, "step": step, "rank": rank, "indices": indices, "input": source}
    if segments:
        made["segments"] = segments
    (here / "good" / (name + ".json")).write_text(json.dumps(made) + "\n")
    drawn.extend([name] if frame.read_bytes()[0] == 0xD2 else [])
    if indices is not None:
        listing.unlink()

# ---- bad frames ---------------------------------------------------------------------------------------------


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def varint(number):
    out = b""
    while number >= 128:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def closed(body):
    return body + struct.pack("<I", crc32c(body))


def bits(*fields):
    """(value, width) pairs as a bit stream, lowest bit first."""
    stream, length = 0, 0
    for value, width in fields:
        stream |= value << length
        length += width
    return stream.to_bytes((length + 7) // 8, "little")


def floats(*values):
    return struct.pack("<%df" % len(values), *values)


ALL, TOPK, THRESHOLD, MSTOPK, RANDK, STOCHASTIC, GIVEN_ID = range(7)
RAW, F16, BF16, NATURAL, SIGN, DITHER, NATDITHER, INT32 = range(8)


def body(selector, quantizer, rest, flags=0, n=varint(5), step=b"\0"):
    return bytes([0xD1, selector << 4 | quantizer, flags]) + n + step + rest


bad = {}


def refuse(name, why, frame):
    assert name not in bad
    bad[name] = why
    (here / "bad" / (name + ".frame")).write_bytes(frame)
    (here / "bad" / (name + ".txt")).write_text(why + "\n")


def forged(name, why, *arguments, **more):
    refuse(name, why, closed(body(*arguments, **more)))


# ---- version 1 of frames whose positions are drawn: the same without the check of the seed, and read for ever ----

for name in drawn:
    frame = (here / "good" / (name + ".frame")).read_bytes()
    at = 3
    for _ in ("n", "step"):
        while frame[at] & 128:
            at += 1
        at += 1
    old = here / "good" / ("version-1-" + name)
    old.with_suffix(".frame").write_bytes(closed(b"\xd1" + frame[1:at] + frame[at + 4:-4]))
    made = json.loads((here / "good" / (name + ".json")).read_text())
    old.with_suffix(".json").write_text(json.dumps({**made, "version": 1}) + "\n")
    old.with_suffix("." + made["input"][-3:]).write_bytes((here / "good" / (name + "." + made["input"][-3:])).read_bytes())

FIVE = floats(1, -2, 3, -4, 5)
sound = closed(body(ALL, RAW, FIVE))
refuse("short", "four bytes cannot be a frame", sound[:4])
refuse("cut-checksum", "the last byte is missing", sound[:-1])
refuse("cut-values", "a value is missing, though the checksum fits", closed(sound[:-8]))
refuse("cut-header", "the header ends inside, though the checksum fits", closed(sound[:3]))
refuse("flip-value", "one bit of a value is flipped", sound[:7] + bytes([sound[7] ^ 16]) + sound[8:])
refuse("flip-checksum", "one bit of the checksum is flipped", sound[:-1] + bytes([sound[-1] ^ 1]))
refuse("mark", "the first byte is not the mark of a frame", closed(b"\xc1" + sound[1:-4]))
refuse("version-2", "wire version 2 is of drawn positions alone", closed(b"\xd2" + sound[1:5] + b"\0" * 4 + sound[5:-4]))
refuse("version-2-cut", "wire version 2 has a check of four bytes", closed(b"\xd2\x40\0\x05\0\1\2\3"))
refuse("version-2-exchange", "the exchange form has no version 2", closed(b"\xda\0\0\5" + FIVE))
refuse("version-3", "wire version 3 is not known", closed(b"\xd3" + sound[1:-4]))
refuse("version-0", "wire version 0 never was", closed(b"\xd0" + sound[1:-4]))
refuse("exchange", "the exchange form does not say what it holds", closed(b"\xd9\0\0" + FIVE))
refuse("trailing-before", "a byte between the values and the checksum", closed(sound[:-4] + b"\0"))
refuse("trailing-after", "a byte after the checksum", sound + b"\0")

forged("selector-unknown", "there is no selector 7", 7, RAW, b"\x05" + FIVE)
forged("quantizer-unknown", "there is no quantizer 8", ALL, 8, FIVE)
forged("quantizer-private", "ids from 12 on are private", ALL, 12, FIVE)
forged("stochastic-sign", "there is no stochastic with sign", STOCHASTIC, SIGN, b"\x00\x00")
forged("flag-undefined", "raw has no flags of its own", ALL, RAW, FIVE, flags=4)
forged("flag-scale", "neither all nor raw has a scale", ALL, RAW, FIVE, flags=2)
forged("flag-top", "the flags of dither end below bit 6", ALL, DITHER, b"\x01\x00" + floats(1) + b"\0\0", flags=64)
forged("flag-p-3", "there is no fourth norm", ALL, DITHER, b"\x01\x00" + floats(1) + b"\0\0", flags=12)
forged("flag-f64-f16", "f16 does not write doubles", ALL, F16, b"\0" * 10, flags=1)
forged("flag-f64-bits-8", "natural writes doubles in twelve bits", ALL, NATURAL, b"\0" * 8, flags=1 | 1 << 2)
forged("flag-f32-bits-12", "natural writes floats in nine or eight bits", ALL, NATURAL, b"\0" * 6, flags=3 << 2)
forged("varint-long-n", "n is written in more bytes than it needs", ALL, RAW, FIVE, n=b"\x85\x00")
forged("varint-long-step", "step is written in more bytes than it needs", ALL, RAW, FIVE, step=b"\x80\x80\x00")
forged("varint-long-entries", "entries is written in more bytes than it needs", TOPK, RAW, b"\x85\x00" + FIVE)
forged("varint-overflow", "step is 2^32", ALL, RAW, FIVE, step=b"\x80\x80\x80\x80\x10")
forged("varint-endless", "n never ends", ALL, RAW, b"", n=b"\x80" * 8, step=b"")
forged("entries-above-n", "6 entries of 5 numbers", TOPK, RAW, b"\x06" + FIVE + floats(6))
forged("entries-above-n-randk", "6 entries of 5 numbers", RANDK, RAW, b"\x06" + FIVE + floats(6))
forged("absurd-n", "2^32-1 numbers in 4 bytes", ALL, RAW, floats(1), n=varint(TOP))
forged("absurd-entries", "2^32-1 entries in 4 bytes", TOPK, RAW, varint(TOP) + floats(1), n=varint(TOP))
forged("absurd-elias", "2^32-1 levels in 8 bytes", ALL, DITHER, b"\x07\x00" + floats(1) + b"\xff" * 4, flags=32 | 4, n=varint(TOP))

forged("fixed-out-of-range", "position 5 of 5 numbers", TOPK, RAW, b"\x02\x00" + bits((1, 3), (5, 3)) + floats(1, 2))
forged("fixed-twice", "position 3 stands there twice", TOPK, RAW, b"\x02\x00" + bits((3, 3), (3, 3)) + floats(1, 2))
forged("fixed-descending", "position 1 comes after position 3", TOPK, RAW, b"\x02\x00" + bits((3, 3), (1, 3)) + floats(1, 2))
forged("fixed-padding", "the padding after the positions is not zero", TOPK, RAW, b"\x02\x00" + bits((1, 3), (3, 3), (2, 2)) + floats(1, 2))
forged("bitmap-too-few", "one bit is set for two entries", TOPK, RAW, b"\x02\x01" + bits((0b00100, 5)) + floats(1, 2))
forged("bitmap-too-many", "three bits are set for two entries", TOPK, RAW, b"\x02\x01" + bits((0b10110, 5)) + floats(1, 2))
forged("bitmap-padding", "a bit beyond n is set", TOPK, RAW, b"\x02\x01" + bits((0b01000001, 8)) + floats(1, 2))
forged("golomb-out-of-range", "the gaps lead beyond n", TOPK, RAW, b"\x02\x02" + bits((0, 2), (1, 1), (0, 2), (1, 1)) + floats(1, 2))
forged("golomb-three-out-of-range", "the gaps lead beyond n", TOPK, RAW, b"\x02\x03" + bits((0, 1), (1, 1), (0, 1), (1, 1), (1, 1), (1, 1)) + floats(1, 2))
forged("golomb-endless", "the zeros of a quotient run to the end", TOPK, RAW, b"\x02\x02" + b"\0" * 9)
forged("golomb-padding", "the padding after the gaps is not zero", TOPK, RAW, b"\x02\x02" + bits((1, 1), (1, 1), (1, 6)) + floats(1, 2))
forged("golomb-unknown", "there is no coding 65", TOPK, RAW, b"\x02\x41" + bits((3, 2)) + floats(1, 2))
forged("coding-superfluous", "all entries need no coding byte", TOPK, RAW, b"\x05\x00" + FIVE)

forged("raw-nan", "a value is not a number", ALL, RAW, floats(1, 2, float("nan"), 4, 5))
forged("raw-infinite", "a value is infinite", ALL, RAW, floats(1, 2, 3, 4, -float("inf")))
forged("raw-f64-nan", "a value is not a number", ALL, RAW, struct.pack("<2d", 1, float("nan")), flags=1, n=varint(2))
forged("f16-infinite", "a half is infinite", ALL, F16, struct.pack("<2H", 0x3C00, 0x7C00), n=varint(2))
forged("bf16-nan", "a half is not a number", ALL, BF16, struct.pack("<2H", 0x3F80, 0xFF81), n=varint(2))
forged("natural-255", "the exponent field 255 is not finite", ALL, NATURAL, bytes([127, 255, 3]) + b"\0", n=varint(3))
forged("natural-2047", "the exponent field 2047 is not finite", ALL, NATURAL, bits((1023, 12), (2047, 12)), flags=1, n=varint(2))
forged("natural-padding", "the padding after the signs is not zero", ALL, NATURAL, bytes([127, 126, 3]) + b"\x08", n=varint(3))
forged("sign-negative", "the magnitude is negative", ALL, SIGN, floats(-1) + b"\0")
forged("sign-negative-zero", "the magnitude is minus zero", ALL, SIGN, floats(-0.0) + b"\0")
forged("sign-infinite", "the magnitude is infinite", ALL, SIGN, floats(float("inf")) + b"\0")
forged("sign-padding", "the padding after the signs is not zero", ALL, SIGN, floats(1) + b"\x20")
forged("sign-of-nothing", "no entries have no magnitude", TOPK, SIGN, b"\x00" + floats(1))

L2 = 1 << 2
codes = [(3, 4)] * 5
forged("level-above-s", "level 6 where s is 5", ALL, DITHER, b"\x05\x00" + floats(1) + bits(*codes[:4], (6, 4)), flags=L2)
forged("level-minus-zero", "a negative level 0", ALL, DITHER, b"\x05\x00" + floats(1) + bits(*codes[:4], (8, 4)), flags=L2)
forged("level-padding", "the padding after the levels is not zero", ALL, DITHER, b"\x05\x00" + floats(1) + bits(*codes, (1, 4)), flags=L2)
forged("s-zero", "s is 0", ALL, DITHER, b"\x00\x00" + floats(1) + bits(*codes), flags=L2)
forged("s-too-large", "s of dither is 16384", ALL, DITHER, varint(16384) + b"\x00" + floats(1) + bits(*[(3, 16)] * 5), flags=L2)
forged("s-too-large-natdither", "s of natdither is 65", ALL, NATDITHER, b"\x41\x00" + floats(1) + bits(*[(3, 8)] * 5), flags=L2)
forged("bucket-too-large", "bucket is 16384", ALL, DITHER, b"\x05" + varint(16384) + floats(1) + bits(*codes), flags=L2)
forged("norm-infinite", "the norm is infinite", ALL, DITHER, b"\x05\x00" + floats(float("inf")) + bits(*codes), flags=L2)
forged("norm-negative", "the norm is negative", ALL, NATDITHER, b"\x05\x00" + floats(-1) + bits(*codes), flags=L2)
forged("norm-above-2-127", "a norm above 2^127 could make a level infinite", ALL, DITHER,
       b"\x05\x00" + floats(1.5 * 2.0**127) + bits(*codes), flags=L2)
forged("norm-natural-255", "the norm 255 is not finite", ALL, DITHER, b"\x05\x00" + b"\xff" + bits(*codes), flags=L2 | 16)
forged("norm-missing", "one norm for two buckets", ALL, DITHER, b"\x05\x03" + floats(1) + bits(*codes), flags=L2)
forged("elias-endless", "the zeros of a level run to the end", ALL, DITHER, b"\x05\x00" + floats(1) + b"\0\0\0", flags=L2 | 32)
forged("elias-above-s", "level 6 where s is 5", ALL, DITHER, b"\x05\x00" + floats(1) + bits((4, 3), (3, 2), (0, 1), (15, 4)), flags=L2 | 32)

words = struct.pack("<5i", 1, -2, 2**30, -2**30, 0)
forged("int32-255", "the exponent 255 is not finite", ALL, INT32, b"\x00" + b"\xff" + words)
forged("int32-too-large", "2^30 + 1 is above 2^30", ALL, INT32, b"\x00" + b"\x7f" + words[:-4] + struct.pack("<i", 2**30 + 1))
forged("int32-too-small", "-2^31 is below -2^30", ALL, INT32, b"\x00" + b"\x7f" + words[:-4] + struct.pack("<I", 2**31))
forged("int32-not-zero", "the block says that all are zero", ALL, INT32, b"\x00" + b"\x00" + words)
forged("int32-infinite", "2^128 is no float", ALL, INT32, b"\x00" + b"\xfe" + words)
forged("int32-short", "a number is missing", ALL, INT32, b"\x00" + b"\x7f" + words[:-4])
forged("int32-block-missing", "one exponent for two blocks", ALL, INT32, b"\x03" + b"\x7f" + words)
forged("int32-block-too-large", "block is 16384", ALL, INT32, varint(16384) + b"\x7f" + words)
forged("int32-f64", "int32 does not write doubles", ALL, INT32, b"\x00" + b"\x7f" + words, flags=1)
forged("shared-above-entries", "3 of 2 entries share a magnitude", STOCHASTIC, RAW, b"\x02\x00" + bits((1, 3), (3, 3)) + b"\x03" + floats(1) + b"\0")
forged("shared-negative", "the shared magnitude is negative", STOCHASTIC, RAW, b"\x02\x00" + bits((1, 3), (3, 3)) + b"\x02" + floats(-1) + b"\0")
forged("shared-nan", "the shared magnitude is not a number", STOCHASTIC, RAW, b"\x02\x00" + bits((1, 3), (3, 3)) + b"\x02" + floats(float("nan")) + b"\0")
forged("shared-padding", "the padding after the signs is not zero", STOCHASTIC, RAW, b"\x02\x00" + bits((1, 3), (3, 3)) + b"\x02" + floats(1) + b"\x04")
forged("shared-places", "place 2 of 2 entries", STOCHASTIC, RAW, b"\x02\x00" + bits((1, 3), (3, 3)) + b"\x01" + floats(1) + b"\x02" + bits((0, 2), (1, 1)) + b"\0" + floats(2))
forged("shared-exact-missing", "the exact value is missing", STOCHASTIC, RAW, b"\x02\x00" + bits((1, 3), (3, 3)) + b"\x01" + floats(1) + b"\x00" + bits((1, 1)) + b"\0")
forged("shared-cut", "the frame ends before the magnitude", STOCHASTIC, RAW, b"\x02\x00" + bits((1, 3), (3, 3)) + b"\x02")

print("%d good frames, %d bad ones" % (len(good), len(bad)))
