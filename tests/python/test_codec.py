"""tithe.Codec, decode and plan: numpy arrays and other buffers, frames that the command reads, and what is refused."""

import os
import subprocess
import tempfile

from kit import need, need_library
from support import check, finish

need_library("ZMQ")
need("numpy")
import numpy  # noqa: E402

import tithe  # noqa: E402

draw = numpy.random.default_rng(7)
x = draw.standard_normal(5000).astype("float32")


def refused(kind, words, call, *arguments, **named):
    try:
        call(*arguments, **named)
        check(False, f"{arguments} {named} is taken")
    except kind as why:
        check(all(word in str(why) for word in words), f"{words} are not in: {why}")


# top-k keeps the largest as they are, so numpy can say what comes back
codec = tithe.Codec("topk:k=50")
back = tithe.decode(codec.encode(x))
largest = numpy.argsort(-abs(x), kind="stable")[:50]
wanted = numpy.zeros_like(x)
wanted[largest] = x[largest]
check((back == wanted).all(), "the 50 largest come back, to the bit")
check(codec.spec == "topk:k=50|raw" and codec.type == "f32", codec.spec)
check(len(codec.encode(x)) <= codec.length(5000, 50) <= codec.bound(5000), "no frame is longer than its bound")
claims = codec.claims(5000)
check(claims["contractive"] and abs(claims["delta"] - 0.01) < 1e-12, f"{claims}")

doubles = tithe.Codec("natural", type="f64").encode(x.astype("float64"))
check(abs(tithe.decode(doubles) - x).max() <= abs(x).max(), "doubles")
total = numpy.ones(5000, "float32")
codec.decode(codec.encode(x), out=total, scale=-2.0)
check((total == 1 - 2 * wanted).all(), "added to what is there, times a scale")
check(tithe.Codec("randk:k=9", seed=3, rank=1).encode(x, step=4) == tithe.Codec("randk:k=9", seed=3, rank=1).encode(x, step=4), "no state")
check(tithe.Codec("randk:k=9").encode(x, step=4) != tithe.Codec("randk:k=9").encode(x, step=5), "another step, other positions")
check(tithe.Codec("all|raw").encode(bytearray(8).__class__(8) and memoryview(x)) == tithe.Codec("all|raw").encode(x), "any buffer")

# the command reads what was written here
with tempfile.TemporaryDirectory() as folder:
    frame, out = os.path.join(folder, "frame"), os.path.join(folder, "out")
    with open(frame, "wb") as file:
        file.write(tithe.Codec("topk:keep=0.1|natural").encode(x))
    subprocess.run([os.environ["TITHE"], "decode", frame, out], check=True, stdout=subprocess.DEVNULL)
    check((numpy.fromfile(out, "float32") == tithe.decode(open(frame, "rb").read())).all(), "tithe decode agrees")

refused(tithe.SpecError, ["topq", "topk"], tithe.Codec, "topq")
refused(tithe.SpecError, ["float32"], codec.encode, numpy.arange(5))
refused(tithe.SpecError, ["f32"], codec.encode, x.astype("float64"))
refused(tithe.SpecError, ["list"], codec.encode, [1.0, 2.0])
refused(tithe.SpecError, ["one after the other"], codec.encode, x[::2])
refused(tithe.NonfiniteError, ["position 2"], codec.encode, numpy.array([1, 2, numpy.nan], "float32"))
refused(tithe.Error, ["frame"], tithe.decode, b"no frame at all")
frozen = x.copy()
frozen.flags.writeable = False
refused(tithe.SpecError, ["read-only"], codec.decode, codec.encode(x), out=frozen)
check(codec.encode(frozen) == codec.encode(x), "what is only read may be read-only")

plan = tithe.plan(1e6, 4, bandwidth="10Mbit", codecs=["natural"], speed=False)
check(plan["pays"] and plan["winner"]["seconds"] < plan["dense"]["seconds"] and plan["winner"] in plan["rows"], "at 10 Mbit/s it pays")
check(any(row["codec"] and row["codec"].startswith("natural") or row["codec"] == "all|natural" for row in plan["rows"]), "codecs have rows")
refused(tithe.SpecError, ["workers"], tithe.plan, 1e6, 0, speed=False)
refused(tithe.SpecError, ["bandwidth"], tithe.plan, 1e6, 4, bandwidth="fast", speed=False)

# exchanges in one process: N times what is applied and what is kept add up to what was handed in
exchange = tithe.Exchange(tithe.Comm.local(3), [3000, 2000], codec="topk:keep=0.01", feedback="ec", bucket="layer")
handed, applied, update = numpy.zeros(5000), numpy.zeros(5000), numpy.zeros(5000, "float32")
for step in range(5):
    for rank in range(3):
        g = draw.standard_normal(5000).astype("float32")
        handed += 0.5 * g
        exchange.put(g, rank, gamma=0.5)
    exchange.finish(update)
    applied += 3 * update.astype("float64")
kept = sum(exchange.residual(rank).astype("float64") for rank in range(3))
check(abs(handed - applied - kept).max() < 1e-4, "nothing is lost")
seen = exchange.describe()
check(seen["steps"] == 5 and seen["buckets"] == 2 and seen["totals"]["uplink_bytes"] > 0 and seen["last"]["level"] == 50, f"{seen}")
refused(tithe.SpecError, ["5000", "4999"], exchange.put, numpy.zeros(4999, "float32"), 0)
refused(tithe.SpecError, ["codex"], tithe.Exchange, tithe.Comm.local(1), 5, codex="raw")
refused(tithe.SpecError, ["character"], tithe.Exchange, tithe.Comm.local(1), 5, codec="raw;feedback=ec")
finish()
