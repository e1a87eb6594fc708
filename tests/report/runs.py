"""Traces of runs that never happened, with curves as real ones have."""
import math
import random

COLUMNS = ("step epochs loss gap accuracy average_loss average_gap bound step_size uplink_bytes downlink_bytes sent_bytes paper_bits "
           "cost downlink_cost level level_least level_most kept residual unsent seconds compute encode wait transfer decode other "
           "scheme collective reason").split()

# name, codec, share that is sent, speed of convergence, noise, floor, bytes per step
DIMENSION, WORKERS, STEPS = 47_236, 4, 400
KINDS = [
    ("dense", "all|raw", 1.0, 0.030, 0.0, 0, 4 * DIMENSION + 12),
    ("natural", "all|natural", 1.0, 0.028, 0.05, 1e-6, 9 * DIMENSION // 8 + 12),
    ("top-1 % | natural, error compensated", "topk:keep=0.01|natural", 0.01, 0.024, 0.04, 0, 1124),
    ("cat on ethernet", "topk|sign", 0.02, 0.026, 0.06, 0, 1460),
    ("random-1 % without feedback", "randk:keep=0.01|raw", 0.01, 0.008, 0.25, 3e-4, 1910),
    ("qsgd 4 bit", "all|dither:s=7", 1.0, 0.022, 0.12, 2e-5, DIMENSION // 2 + 16),
]


def write_run(path, kind=0, records=STEPS + 1, name=None, facts=(), seed=1):
    label, codec, share, speed, noise, floor, size = KINDS[kind % len(KINDS)]
    dice = random.Random(seed * 1000 + kind)
    with open(path, "w", encoding="utf-8") as out:
        out.write(f"# name: {name or label}\n# codec: {codec}\n# data: invented\n# model: logistic\n# workers: {WORKERS}\n")
        out.write(f"# command: tithe train --data invented --workers {WORKERS} --codec '{codec}' --steps {STEPS} --trace run.csv\n")
        out.write(f"# dense_bytes: {WORKERS * (4 * DIMENSION + 12)}\n")
        if label == "dense":
            out.write("# baseline: yes\n")
        for key, value in facts:
            out.write(f"# {key}: {value}\n")
        out.write(",".join(COLUMNS) + "\n")
        gap, average, up, unsent, clock = 0.42, 0.42, 0, 0.0, dict.fromkeys("compute encode wait transfer decode other".split(), 0.0)
        seconds = 0.0
        for step in range(records):
            wobble = math.exp(noise * dice.gauss(0, 1))
            gap = max(0.42 * math.exp(-speed * step * STEPS / max(records - 1, 1) if records > 1 else 0) * wobble, 0) + floor * wobble
            average += (gap - average) * 0.03
            level = DIMENSION * share * (math.exp(0.25 * math.sin(step / 40)) if "cat" in label else 1)
            spread = 0.2 if "cat" in label else 0
            if step:
                up += WORKERS * size
                unsent += (1 - share ** 0.3) * gap
                for phase, mean in zip(clock, (4e-3, 2e-4 + 8e-4 * (share < 1), 3e-4, 2e-9 * WORKERS * size + 1e-4, 3e-4, 4e-4)):
                    clock[phase] += mean * dice.uniform(0.8, 1.3)
                seconds = sum(clock.values())
            row = dict(step=step, epochs=step, loss=0.271 + gap, gap=gap, accuracy=0.97 - 0.4 * gap, average_loss=0.271 + average,
                       average_gap=average, bound=0.9 / (1 + 0.02 * step) if kind in (0, 2) else "", step_size=0.5, uplink_bytes=up,
                       downlink_bytes=WORKERS * (4 * DIMENSION + 12) * step, sent_bytes=up * 2 + 4096, paper_bits=8 * up,
                       cost=up + 54 * WORKERS * step * math.ceil(size / 1472), level=round(level), level_least=round(level * (1 - spread)),
                       level_most=round(level * (1 + spread)), kept=1 if share == 1 else 0.3 + 0.2 * math.sin(step / 50),
                       residual=(1 - share) * gap, unsent=unsent, seconds=seconds, scheme="gather" if share < 1 else "dense",
                       collective="allgather" if share < 1 else "ring", reason='"fixed, as asked"', **clock)
            out.write(",".join(repr(v) if isinstance(v, float) else str(v) for v in (row.get(c, "") for c in COLUMNS)) + "\n")
    return path
