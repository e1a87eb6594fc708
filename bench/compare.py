#!/usr/bin/env python3
"""Puts Tithe beside what people use now: numpy, torch and zfp, on the same vectors, in one run.

usage: bench/compare.py [--n 2^20,2^24] [--data gaussian,lognormal] [--rounds 5] [--library FILE] [--json FILE]

Tithe writes whole frames (selection, indices, values, checksum) through its public interface; the others only find or
compute what would go into one. Everything runs on one thread. The rows take turns, each after an untimed call of its
own on 2^20 numbers and fewer, and "x slower" is the median over the rounds of its time by Tithe's.
"""
import argparse
import ctypes
import ctypes.util
import json
import os
import pathlib
import statistics
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # before the libraries that read them are loaded

try:
    import numpy as np
except ImportError:
    print("compare: numpy is not installed (Debian: apt-get install python3-numpy), so there is nothing to compare with.")
    sys.exit(0)
try:
    import torch

    torch.set_num_threads(1)
except ImportError:
    torch = None

ROOT = pathlib.Path(__file__).resolve().parent.parent
WARM = 1 << 22  # shorter vectors stay in the caches: call once before the clock starts
BUCKET = 512


# ---- Tithe, through ctypes ---------------------------------------------------------------------------


class Call(ctypes.Structure):  # tithe_call in tithe/codec.h
    _fields_ = [("seed", ctypes.c_uint64), ("step", ctypes.c_uint32), ("rank", ctypes.c_uint32),
                ("tensor", ctypes.c_uint32), ("form", ctypes.c_int), ("level", ctypes.c_double),
                ("given", ctypes.c_void_p), ("given_count", ctypes.c_size_t), ("segments", ctypes.c_void_p),
                ("segment_count", ctypes.c_size_t), ("scratch", ctypes.c_void_p), ("scratch_size", ctypes.c_size_t),
                ("pool", ctypes.c_void_p)]


class Info(ctypes.Structure):  # tithe_frame_info
    _fields_ = [("bytes", ctypes.c_size_t), ("entries", ctypes.c_size_t), ("header_bytes", ctypes.c_size_t),
                ("index_bits", ctypes.c_uint64), ("value_bits", ctypes.c_uint64)]


class Error(ctypes.Structure):  # tithe_error
    _fields_ = [("code", ctypes.c_int), ("position", ctypes.c_size_t), ("text", ctypes.c_char * 240)]


class Tithe:
    def __init__(self, path):
        self.lib = ctypes.CDLL(str(path))
        for size in (self.lib.tithe_codec_bound, self.lib.tithe_codec_scratch):
            size.restype, size.argtypes = ctypes.c_size_t, [ctypes.c_void_p, ctypes.c_size_t]
        self.lib.tithe_encode.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t,
                                          ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
        self.lib.tithe_decode_add.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t,
                                              ctypes.c_float, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]

    def encoder(self, spec, x):
        """A function that writes the frame of x, and one that reads it back as a vector."""
        codec, error, info = ctypes.c_void_p(), Error(), Info()

        def expect(status):
            if status:
                sys.exit("compare: %s: %s" % (spec, error.text.decode()))

        expect(self.lib.tithe_codec_create(spec.encode(), None, ctypes.byref(codec), ctypes.byref(error)))
        frame = np.zeros(self.lib.tithe_codec_bound(codec, x.size), np.uint8)
        scratch = np.zeros(max(1, self.lib.tithe_codec_scratch(codec, x.size)), np.uint8)
        call = Call(seed=1, scratch=scratch.ctypes.data, scratch_size=scratch.size)
        places = codec, ctypes.byref(call), x.ctypes.data, x.size, frame.ctypes.data, frame.size, ctypes.byref(info)

        def encode():
            expect(self.lib.tithe_encode(*places, ctypes.byref(error)))

        def decode():
            y = np.zeros_like(x)
            expect(self.lib.tithe_decode_add(codec, ctypes.byref(call), frame.ctypes.data, info.bytes, 1, y.ctypes.data,
                                             x.size, ctypes.byref(error)))
            return y

        encode.keep = scratch, frame, call, codec  # alive as long as the function is
        return encode, decode


# ---- the others --------------------------------------------------------------------------------------


def zfp_encoder(x, rate):
    """zfp, one-dimensional, `rate` bits a value; None where it is not installed."""
    path = ctypes.util.find_library("zfp")
    if not path:
        return None
    lib = ctypes.CDLL(path)
    for function in ("zfp_field_1d", "zfp_stream_open", "stream_open"):
        getattr(lib, function).restype = ctypes.c_void_p
    for function in ("zfp_stream_maximum_size", "zfp_compress"):
        getattr(lib, function).restype = ctypes.c_size_t
    lib.zfp_stream_set_rate.restype = ctypes.c_double
    kind = 3  # zfp_type_float
    field = ctypes.c_void_p(lib.zfp_field_1d(ctypes.c_void_p(x.ctypes.data), kind, ctypes.c_size_t(x.size)))
    stream = ctypes.c_void_p(lib.zfp_stream_open(None))
    lib.zfp_stream_set_rate(stream, ctypes.c_double(rate), kind, 1, 0)
    room = np.zeros(lib.zfp_stream_maximum_size(stream, field), np.uint8)
    bits = ctypes.c_void_p(lib.stream_open(ctypes.c_void_p(room.ctypes.data), ctypes.c_size_t(room.size)))
    lib.zfp_stream_set_bit_stream(stream, bits)

    def encode():
        lib.zfp_stream_rewind(stream)
        if not lib.zfp_compress(stream, field):
            sys.exit("compare: zfp failed")

    encode.keep = room, x
    return encode


def numpy_natural(x):
    """The bit trick of natural compression: add 23 random bits to the magnitude, keep sign and exponent."""
    bits = x.view(np.uint32)
    generator = np.random.Generator(np.random.SFC64(1))

    def encode():
        random = generator.integers(0, 1 << 23, x.size, np.uint32)
        exponent = (((bits & 0x7FFFFFFF) + random) >> 23).astype(np.uint8)
        return exponent, np.packbits(bits >> 31 != 0)

    return encode


def torch_natural(t):
    def encode():
        mantissa, exponent = torch.frexp(t)
        up = torch.rand_like(t) < mantissa.abs() * 2 - 1
        return (exponent - 1 + up.int()).to(torch.int8), mantissa < 0

    return encode


def torch_qsgd(t, levels):
    """QSGD in tensor operations, with buckets: a signed byte for each value."""

    def encode():
        rows = t.view(-1, BUCKET)
        norm = rows.norm(dim=1, keepdim=True)
        position = rows.abs() * (levels / norm)
        level = position.floor()
        level += torch.rand_like(rows) < position - level
        return norm, (level * rows.sign()).to(torch.int8)

    return encode


# ---- the rows ----------------------------------------------------------------------------------------


def check_top(decode, x, k, what):
    """Tithe's frame holds the k largest magnitudes, as numpy finds them."""
    y = decode()
    kept = np.flatnonzero(y)
    kth = np.partition(np.abs(x), x.size - k)[x.size - k]
    if kept.size != k or not np.array_equal(y[kept], x[kept]) or np.abs(x[kept]).min() != kth:
        sys.exit("compare: %s is not the top %d" % (what, k))


def contests(tithe, x):
    """(what, Tithe's function, [(name, function or None if it is not installed)])"""
    t = torch.from_numpy(x) if torch else None
    magnitudes = np.abs(x)
    for share in (0.001, 0.01, 0.1):
        k = round(share * x.size)
        what = "topk:keep=%g" % share
        encode, decode = tithe.encoder(what, x)
        encode()
        check_top(decode, x, k, what)
        others = [("np.argpartition(abs)", lambda k=k: np.argpartition(np.abs(x, out=magnitudes), x.size - k)[x.size - k:]),
                  ("torch.topk(abs)", t is not None and (lambda k=k: torch.topk(t.abs(), k))),
                  ("torch.topk(abs), unsorted", t is not None and (lambda k=k: torch.topk(t.abs(), k, sorted=False)))]
        yield what, encode, others
    zfp = zfp_encoder(x, 8)
    yield "all|natural", tithe.encoder("all|natural", x)[0], [
        ("numpy, bit trick", numpy_natural(x)), ("torch, frexp", t is not None and torch_natural(t)), ("zfp, rate 8", zfp)]
    yield "all|dither:s=7,bucket=512", tithe.encoder("all|dither:s=7,bucket=512", x)[0], [
        ("torch QSGD, 4 bit", t is not None and torch_qsgd(t, 7))]
    yield "all|dither:s=127,bucket=512", tithe.encoder("all|dither:s=127,bucket=512", x)[0], [
        ("torch QSGD, 8 bit", t is not None and torch_qsgd(t, 127)), ("zfp, rate 8", zfp)]


def vector(data, n):
    generator = np.random.default_rng(1)
    x = generator.standard_normal(n, np.float32)
    if data == "lognormal":
        x = np.exp(2 * x) * np.where(generator.random(n) < 0.5, np.float32(1), np.float32(-1))
    return np.ascontiguousarray(x, np.float32)


def seconds(function, warm):
    if warm:
        function()
    start = time.process_time()
    function()
    return time.process_time() - start


def compare(tithe, data, n, rounds):
    """Every contest of one vector, in turn, `rounds` times."""
    x = vector(data, n)
    copy = np.empty_like(x)
    jobs = [("memcpy", None, lambda: np.copyto(copy, x))]
    for what, mine, others in contests(tithe, x):
        jobs.append((what, None, mine))
        jobs += [(name, what, function) for name, function in others]
    times = [[] for _ in jobs]
    for turn in range(rounds):
        for (name, _, function), taken in zip(jobs, times):
            if sys.stderr.isatty():
                print("\r\033[Kround %d of %d: %s" % (turn + 1, rounds, name), end="", file=sys.stderr, flush=True)
            if function:
                taken.append(seconds(function, n <= WARM))
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    mine = {name: taken for (name, against, _), taken in zip(jobs, times) if against is None}
    for (name, against, _), taken in zip(jobs, times):
        ratio = None
        if against and taken:
            ratio = statistics.median(other / own for other, own in zip(taken, mine[against]))
        yield {"name": name, "against": against, "n": n, "data": data,
               "seconds": statistics.median(taken) if taken else None, "times_slower": ratio}


def show(rows):
    print("\nn = %s, %s, one thread" % (power(rows[0]["n"]), rows[0]["data"]))
    for row in rows:
        indent = "    " if row["against"] else "  "
        left = "%s%s" % (indent, row["name"])
        if row["seconds"] is None:
            print("%-40s  not installed" % left)
        elif row["against"]:
            print("%-40s%11.2f ms%9.1f x slower" % (left, row["seconds"] * 1e3, row["times_slower"]))
        else:
            print("%-40s%11.2f ms" % (left, row["seconds"] * 1e3))


def power(n):
    return "2^%d" % (n.bit_length() - 1) if n & (n - 1) == 0 else str(n)


def lengths(text):
    values = [1 << int(word[2:]) if word.startswith("2^") else int(word) for word in text.split(",")]
    if any(n < BUCKET or n % BUCKET for n in values):
        raise argparse.ArgumentTypeError("lengths are multiples of %d" % BUCKET)
    return values


def main():
    parser = argparse.ArgumentParser(description="Tithe beside numpy, torch and zfp, in one run, on one thread.")
    parser.add_argument("--n", type=lengths, default=[1 << 20, 1 << 24], help="lengths, such as 2^20,2^24 (the default)")
    parser.add_argument("--data", default="gaussian,lognormal", help="gaussian, lognormal, or both (the default)")
    parser.add_argument("--rounds", type=int, default=5, help="timed calls of each row (default 5)")
    parser.add_argument("--library", default=ROOT / "build/libtithe.so", help="default: build/libtithe.so")
    parser.add_argument("--json", help="also write the rows to this file")
    options = parser.parse_args()
    if not pathlib.Path(options.library).exists():
        sys.exit("compare: %s is missing: run make first." % options.library)
    if set(options.data.split(",")) - {"gaussian", "lognormal"}:
        parser.error("--data is gaussian, lognormal, or both")

    tithe = Tithe(options.library)
    zfp = ctypes.util.find_library("zfp")
    print("numpy %s; torch %s; zfp %s" % (np.__version__,
                                          torch.__version__ if torch else "not installed (Debian: python3-torch)",
                                          zfp if zfp else "not installed (Debian: libzfp1)"))
    results = []
    for n in options.n:
        for data in options.data.split(","):
            rows = list(compare(tithe, data, n, options.rounds))
            show(rows)
            results += rows
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


main()
