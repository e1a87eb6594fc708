#!/usr/bin/env python3
"""A decoder of Tithe frames, written from docs/format.md alone.

It shares no code with the library: where the two agree bit for bit, the page says all that a decoder has to know.
It is made to be read beside the page, whose section numbers it uses, not to be fast.

    decoder.py FRAME OUT [--seed S] [--rank R] [--tensor T] [--indices FILE]
"""

import argparse
import itertools
import math
import pathlib
import struct
import sys

SELECTORS = ("all", "topk", "threshold", "mstopk", "randk", "stochastic", "given")
QUANTIZERS = ("raw", "f16", "bf16", "natural", "sign", "dither", "natdither", "int32")
SENDS_INDICES = ("topk", "threshold", "mstopk", "stochastic")
HAS_SCALE = ("randk", "stochastic", "natural", "dither", "natdither")  # the flag has no meaning for a pair of others
MOST_LEVELS = {"dither": 16383, "natdither": 64}
MOST_BUCKET = 16383

M64 = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
SILVER = 0xD1342543DE82EF95


class Corrupt(Exception):
    """The frame breaks a rule of the page, or does not fit what the caller handed in."""


def require(condition, reason):
    if not condition:
        raise Corrupt(reason)


class Frame:
    """What a frame says. `held` has a value for each of `positions`; `values` is the dense vector."""

    @property
    def values(self):
        y = [0.0] * self.n
        for i, value in zip(self.positions, self.held):
            y[i] += value  # decoding adds, so that a negative zero leaves 0
        return y

    def tobytes(self):
        return struct.pack("<%d%s" % (self.n, self.letter), *self.values)


def f32(x):
    """x, rounded to the nearest f32 (ties to even); infinite beyond the largest one, as in IEEE arithmetic."""
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


CRC_TABLE = list(range(256))
for _ in range(8):
    CRC_TABLE = [entry >> 1 ^ (0x82F63B78 if entry & 1 else 0) for entry in CRC_TABLE]


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 255] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


class Reader:
    """The bytes of a frame before its checksum, read from the front; `at` counts bits."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def need(self, bits):
        require(bits <= 8 * len(self.data) - self.at, "the frame ends too soon")

    def bits(self, width):
        self.need(width)
        first, shift = divmod(self.at, 8)
        self.at += width
        chunk = int.from_bytes(self.data[first : (self.at + 7) // 8], "little")
        return chunk >> shift & ((1 << width) - 1)

    def list(self, count, width):
        self.need(count * width)
        return [self.bits(width) for _ in range(count)]

    def unary(self):
        start = self.at
        while not self.bits(1):
            pass
        return self.at - start - 1

    def pad(self):
        require(self.bits(-self.at % 8) == 0, "padding that is not zero")

    def signs(self, count):
        signs = [-1.0 if bit else 1.0 for bit in self.list(count, 1)]
        self.pad()
        return signs

    def bytes(self, count):
        self.need(8 * count)
        self.at += 8 * count
        return self.data[self.at // 8 - count : self.at // 8]

    def varint(self):
        byte = self.bits(8)
        number, shift = byte & 127, 0
        while byte & 128:
            byte, shift = self.bits(8), shift + 7
            number |= (byte & 127) << shift
            require(byte, "a varint is longer than it need be")
            require(number < 1 << 32 and shift <= 28, "a varint of 2^32 or more")
        return number

    def floats(self, count, letter):
        floats = struct.unpack("<%d%s" % (count, letter), self.bytes(count * struct.calcsize("<" + letter)))
        require(all(map(math.isfinite, floats)), "a number that is not finite")
        return floats

    def magnitudes(self, count, letter):
        magnitudes = self.floats(count, letter)
        require(all(math.copysign(1, number) > 0 for number in magnitudes), "a norm or magnitude is negative")
        return magnitudes


def read_set(reader, coding, n, entries):
    """Section 4: `entries` positions below n, where 0 < entries < n."""
    require(coding <= 64, "unknown coding of the indices")
    if coding == 0:
        positions = reader.list(entries, (n - 1).bit_length())
    elif coding == 1:
        reader.need(n)
        positions = [i for i in range(n) if reader.bits(1)]
    else:
        j, triple = (coding - 2) // 2, coding % 2
        reader.need(entries * (j + 1))
        positions, last = [], -1
        for low in reader.list(entries, j):
            high = reader.unary()
            if triple:
                high = 3 * high + (1 + reader.bits(1) if reader.bits(1) else 0)
            last += 1 + (high << j | low)
            positions.append(last)
    reader.pad()
    return checked(positions, n, entries)


def checked(positions, n, entries):
    require(len(positions) == entries, "not as many positions as the header says")
    require(all(a < b for a, b in zip(positions, positions[1:])), "the positions do not ascend")
    require(all(0 <= i < n for i in positions), "a position of n or more")
    return positions


def mix(z):
    """From here to draw(): section 5, the indices of randk."""
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & M64
    z = (z ^ z >> 27) * 0x94D049BB133111EB & M64
    return z ^ z >> 31


def key(seed, step, rank, tensor, purpose):
    a, b = 0, SILVER
    for word in (seed, step << 32 | rank, tensor << 32 | purpose):
        a, b = mix((a ^ word) + GOLDEN & M64), mix((b ^ word) + GOLDEN & M64)
    return a, b


def stream(seed, step, rank, tensor, purpose=1):
    """The 32-bit numbers of a key, block after block."""
    a, b = key(seed, step, rank, tensor, purpose)
    for block in itertools.count():
        lanes = []
        for c in range(8 * block, 8 * block + 8):
            lanes.append((mix(mix(a + c * GOLDEN & M64) + b & M64), mix(mix(b + c * SILVER & M64) + a & M64)))
        for _ in range(256):
            for lane, (x, y) in enumerate(lanes):
                x ^= x << 23 & M64
                s1 = x ^ y ^ x >> 18 ^ y >> 5
                lanes[lane] = (y, s1)
                v = s1 + y & M64
                yield v & 0xFFFFFFFF
                yield v >> 32


def below(numbers, limit):
    p = next(numbers) * limit
    if p & 0xFFFFFFFF < limit:
        surplus = (1 << 32) % limit
        while p & 0xFFFFFFFF < surplus:
            p = next(numbers) * limit
    return p >> 32


def draw(numbers, n, entries):
    complement = entries > n // 2
    marked = set()
    for j in range(entries if complement else n - entries, n):
        t = below(numbers, j + 1)
        marked.add(j if t in marked else t)
    return [i for i in range(n) if i not in marked] if complement else sorted(marked)


def read_natural(reader, frame, c):
    """Section 6.4, with c values."""
    width = (12 if frame.type == "f64" else 9, 8, 9, 12)[frame.flags]
    require((width == 12) == (frame.type == "f64"), "eight and nine bits go with f32, twelve with f64")
    if width == 9:
        fields = reader.list(c, 8)
        signs = reader.signs(c)
    else:
        codes = reader.list(c, width)
        reader.pad()
        fields = [code & (1 << width - 1) - 1 for code in codes]
        signs = [-1.0 if code >> width - 1 else 1.0 for code in codes]
    require({9: 255, 8: None, 12: 2047}[width] not in fields, "an exponent that is not finite")
    bias = {9: 127, 8: 109, 12: 1023}[width]
    values = [sign * math.ldexp(1.0, field - bias) if field else 0.0 for sign, field in zip(signs, fields)]
    if frame.contractive:
        values = [value * (8.0 / 9.0) for value in values]
    return values if frame.type == "f64" else [f32(value) for value in values]


def read_dither(reader, frame, c):
    """Section 6.6, with c values."""
    natural_norm, elias = frame.flags & 4, frame.flags & 8
    s, bucket = frame.s, frame.bucket if 0 < frame.bucket < c else max(c, 1)
    buckets = (c + bucket - 1) // bucket  # none if c = 0
    if natural_norm:
        fields = reader.bytes(buckets)
        require(255 not in fields, "a norm that is not finite")
        norms = [math.ldexp(1.0, field - 127) if field else 0.0 for field in fields]
    else:
        norms = reader.magnitudes(buckets, "f")
        require(all(norm <= 2.0**127 for norm in norms), "a norm above 2^127")
    values = []
    for place in range(c):
        if elias:
            e = reader.unary()
            level = (1 << e | reader.bits(e)) - 1
            negative = level and reader.bits(1)
        else:
            level = reader.bits(s.bit_length())
            negative = reader.bits(1)
        require(level <= s, "a level above s")
        require(level or not negative, "a negative level 0")
        norm = norms[place // bucket]
        even = frame.quantizer == "dither"
        value = f32(level * f32(norm / s) if even else math.ldexp(norm, level - s) if level else 0.0)
        values.append(-value if negative else value)
    reader.pad()
    return values


def read_int32(reader, frame, c):
    """Section 6.7, with c values."""
    block = frame.bucket if 0 < frame.bucket < c else max(c, 1)
    fields = reader.bytes((c + block - 1) // block)
    require(255 not in fields, "an exponent that is not finite")
    values = []
    for place in range(c):
        number, field = int.from_bytes(reader.bytes(4), "little", signed=True), fields[place // block]
        most = 0 if field == 0 else 2**30 - 64 if field == 254 else 2**30
        require(abs(number) <= most, "a number that its block does not hold")
        values.append(f32(math.ldexp(float(number), field - 156)))
    return values


def read_values(reader, frame, c):
    """Section 6: c values, as the quantizer writes them."""
    if frame.quantizer in ("raw", "f16"):
        return reader.floats(c, frame.letter if frame.quantizer == "raw" else "e")
    if frame.quantizer == "bf16":
        return Reader(b"".join(b"\0\0" + reader.bytes(2) for _ in range(c))).floats(c, "f")
    if frame.quantizer == "natural":
        return read_natural(reader, frame, c)
    if frame.quantizer == "sign":
        magnitudes = reader.magnitudes(min(c, 1), "f")
        return [sign * magnitudes[0] for sign in reader.signs(c)]
    if frame.quantizer == "int32":
        return read_int32(reader, frame, c)
    return read_dither(reader, frame, c)


def read_stochastic(reader, frame, entries):
    """Section 6.1: the entries that share a magnitude, and the exact ones between them."""
    shared = reader.varint()
    require(shared <= entries, "more entries share the magnitude than there are")
    exact = range(0 if shared else entries)
    magnitude = reader.magnitudes(min(shared, 1), frame.letter)
    if 0 < shared < entries:
        exact = set(read_set(reader, reader.bits(8), entries, entries - shared))
    signs = iter(reader.signs(shared))
    values = iter(read_values(reader, frame, entries - shared))
    return [next(values) if place in exact else next(signs) * magnitude[0] for place in range(entries)]


def read_header(reader):
    """Section 2."""
    frame = Frame()
    mark, codec, flags = reader.bits(8), reader.bits(8), reader.bits(8)
    require(mark >> 4 == 0b1101, "not a frame of Tithe")
    require(mark & 7 in (1, 2), "unknown wire version")
    require(not mark & 8, "an exchange frame, which does not say what it holds")
    require(codec >> 4 < len(SELECTORS) and codec & 15 < len(QUANTIZERS), "unknown selector or quantizer")
    frame.selector, frame.quantizer = SELECTORS[codec >> 4], QUANTIZERS[codec & 15]
    require(codec != 0x54, "there is no stochastic with sign")
    require(codec != 0x44 or flags & 2, "randk with sign is always contractive")

    frame.type, frame.letter = ("f64", "d") if flags & 1 else ("f32", "f")
    frame.contractive = bool(flags & 2)
    frame.flags = flags >> 2
    levels = MOST_LEVELS.get(frame.quantizer, 0)
    require(frame.type == "f32" or frame.quantizer in ("raw", "natural"), "f64 goes with raw and natural only")
    require(not frame.contractive or {frame.selector, frame.quantizer} & set(HAS_SCALE), "a flag without meaning")
    require(frame.flags < (16 if levels else 4 if frame.quantizer == "natural" else 1), "a flag without meaning")
    require(not levels or frame.flags & 3 != 3, "unknown norm p")

    frame.n = reader.varint()
    frame.step = reader.varint()
    require(mark & 7 == 1 or frame.selector == "randk", "a check of the seed without use for one")
    frame.check = reader.bits(32) if mark & 7 == 2 else None
    frame.entries = frame.n if frame.selector == "all" else reader.varint()
    require(frame.entries <= frame.n, "more entries than positions")
    coded = frame.selector in SENDS_INDICES and 0 < frame.entries < frame.n
    frame.coding = reader.bits(8) if coded else None
    if levels:
        frame.s, frame.bucket = reader.varint(), reader.varint()
        require(1 <= frame.s <= levels, "s out of range")
        require(frame.bucket <= MOST_BUCKET, "bucket out of range")
    if frame.quantizer == "int32":
        frame.bucket = reader.varint()
        require(frame.bucket <= MOST_BUCKET, "block out of range")
    return frame


def decode(frame, seed=0, rank=0, tensor=0, indices=None):
    """The Frame in the bytes `frame`; raises Corrupt. `indices` are the positions of `given`, in any order."""
    require(len(frame) >= 4, "the frame ends too soon")
    body, checksum = frame[:-4], int.from_bytes(frame[-4:], "little")
    require(crc32c(body) == checksum, "the checksum does not match")
    reader = Reader(body)
    frame = read_header(reader)
    n, entries = frame.n, frame.entries
    frame.positions = range(entries)
    if frame.coding is not None:
        frame.positions = read_set(reader, frame.coding, n, entries)
    elif frame.selector == "given":
        require(indices is not None, "the indices of given are missing")
        frame.positions = checked(sorted(indices), n, entries)
    read = read_stochastic if frame.selector == "stochastic" else read_values
    frame.held = read(reader, frame, entries)
    require(reader.at == 8 * len(body), "bytes left over before the checksum")
    if frame.check is not None:
        require(frame.check == key(seed, frame.step, rank, tensor, 9)[0] & 0xFFFFFFFF, "another seed, rank or tensor")
    if frame.selector == "randk":
        frame.positions = draw(stream(seed, frame.step, rank, tensor), n, entries)
    return frame


def read_indices(data):
    """Positions as text, with blanks or commas between them, or as little-endian 32-bit numbers."""
    if not data.strip(b"0123456789, \t\r\n"):
        return [int(word) for word in data.replace(b",", b" ").split()]
    return list(struct.unpack("<%dI" % (len(data) // 4), data))


def main():
    parser = argparse.ArgumentParser(description="Decode a self-contained Tithe frame to raw little-endian floats.")
    parser.add_argument("frame", metavar="FRAME")
    parser.add_argument("out", metavar="OUT")
    for name in ("--seed", "--rank", "--tensor"):
        parser.add_argument(name, metavar="N", type=int, default=0)
    parser.add_argument("--indices", metavar="FILE", help="file with the positions of 'given'")
    options = parser.parse_args()
    indices = read_indices(pathlib.Path(options.indices).read_bytes()) if options.indices else None
    try:
        frame = decode(pathlib.Path(options.frame).read_bytes(), options.seed, options.rank, options.tensor, indices)
    except Corrupt as reason:
        sys.exit("decoder.py: %s: %s" % (options.frame, reason))
    pathlib.Path(options.out).write_bytes(frame.tobytes())


if __name__ == "__main__":
    main()
