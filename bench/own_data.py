#!/usr/bin/env python3
"""Data sets of our own, as LIBSVM files, for claims that were first seen on others.

    bench/own_data.py FOLDER

text.svm        documents of 8 topics with a Zipf vocabulary, log counts, rows of length 1: 2000 x 5000, 3 % of the labels wrong
long-text.svm   long documents of 4 topics, and 40 heavy words in every one of them: 700 x 3000, a quarter of the values stored
correlated.svm  dense rows with one common factor: 600 x 300, labels from a planted model

Equal on every machine and for every version of Python's generator that keeps random()."""
import itertools
import math
import os
import random
import sys


def pick(rng, sums):
    """A place, with probabilities of which these are the sums."""
    at, low, high = rng.random() * sums[-1], 0, len(sums) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if sums[middle] <= at else (low, middle)
    return low


def normal(rng):
    return math.sqrt(-2 * math.log(1 - rng.random())) * math.cos(2 * math.pi * rng.random())


def counts(rng, topic, words, spread):
    found = {}
    for _ in range(max(5, int(words * math.exp(spread * normal(rng))))):
        word = pick(rng, topic)
        found[word] = found.get(word, 0) + 1
    return {word: 1 + math.log(count) for word, count in found.items()}


def topics(rng, base, many, share, boost, first=0):
    return [list(itertools.accumulate(b * (boost if i >= first and rng.random() < share else 1) for i, b in enumerate(base)))
            for _ in range(many)]


def label_of(rng, topic, many):
    label = 1 if topic < many // 2 else -1
    return -label if rng.random() < 0.03 else label


def text(rng):
    all_topics = topics(rng, [1 / (i + 2.7) ** 1.05 for i in range(5000)], 8, 0.05, 20, first=20)
    for _ in range(2000):
        topic = int(8 * rng.random())
        row = counts(rng, all_topics[topic], 80, 0.6)
        length = math.sqrt(sum(v * v for v in row.values()))
        yield label_of(rng, topic, 8), {word: v / length for word, v in row.items()}


def long_text(rng):
    heavy = 40
    base = [0 if i < heavy else (1 - rng.random()) ** (-1 / 1.5) for i in range(3000)]
    all_topics = topics(rng, base, 4, 0.3, 3)
    for _ in range(700):
        topic = int(4 * rng.random())
        row = counts(rng, all_topics[topic], 1000, 0.3)
        row.update((word, 8 * (0.5 + rng.random())) for word in range(heavy))
        yield label_of(rng, topic, 4), row


def correlated(rng):
    features, shared = 300, 0.05
    planted = [normal(rng) / math.sqrt(features) for _ in range(features)]
    for _ in range(600):
        common = normal(rng)
        row = [math.sqrt(shared) * common + math.sqrt(1 - shared) * normal(rng) for _ in range(features)]
        score = 3 * sum(a * b for a, b in zip(planted, row))
        yield 1 if rng.random() < 1 / (1 + math.exp(-score)) else -1, dict(enumerate(row))


SETS = {"text": text, "long-text": long_text, "correlated": correlated}


def write(folder):
    """Paths of the sets, which are made where they are not there yet."""
    os.makedirs(folder, exist_ok=True)
    paths = {}
    for seed, (name, make) in enumerate(SETS.items()):
        paths[name] = os.path.join(folder, name + ".svm")
        if os.path.exists(paths[name]):
            continue
        with open(paths[name] + ".part", "w", encoding="ascii") as file:
            for label, row in make(random.Random(seed + 1)):
                file.write(f"{label:+d} " + " ".join(f"{i + 1}:{row[i]:.6g}" for i in sorted(row)) + "\n")
        os.rename(paths[name] + ".part", paths[name])
    return paths


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for path in write(sys.argv[1]).values():
        print(path)
