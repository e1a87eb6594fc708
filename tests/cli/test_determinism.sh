#!/usr/bin/env bash
# Randomness is a function of seed, step, rank and tensor, and of nothing else.
# shellcheck source=tests/cli/kit.sh
. "$(dirname "$0")/kit.sh"
need_python
floats in.f32 '[(i * 37 % 101 - 50) / 7 + 0.01 for i in range(1000)]'

for spec in 'randk:k=50|raw' 'stochastic:k=50|raw' natural natdither:s=7 dither:s=7 'topk:k=50|natural' 'randk:k=50|dither:s=3'; do
    works "$spec" "$TITHE" encode "$spec" in.f32 a --seed 5 --step 6 --rank 7 --tensor 8
    works "$spec" "$TITHE" encode "$spec" in.f32 b --seed 5 --step 6 --rank 7 --tensor 8
    same "$spec, twice" a b
    for other in '--seed 4 --step 6 --rank 7 --tensor 8' '--seed 5 --step 5 --rank 7 --tensor 8' \
        '--seed 5 --step 6 --rank 6 --tensor 8' '--seed 5 --step 6 --rank 7 --tensor 7'; do
        # shellcheck disable=SC2086 # several words
        works "$spec" "$TITHE" encode "$spec" in.f32 c $other
        differ "$spec $other" a c
    done
done

# Nothing is drawn here, so nothing may change but the step in the header.
for spec in raw f16 bf16 sign 'topk:k=50|raw' 'topk:k=50|sign' threshold:lambda=3 mstopk:k=50; do
    works "$spec" "$TITHE" encode "$spec" in.f32 a --seed 5 --rank 7
    works "$spec" "$TITHE" encode "$spec" in.f32 b --seed 6 --rank 8
    same "$spec, another seed" a b
done

# The decoder of drawn indices needs the same seed and rank: with others the values would go elsewhere.
works 'randk' "$TITHE" encode 'randk:k=50|raw' in.f32 a --seed 5 --step 6 --rank 7
works 'same seed' "$TITHE" decode a right.f32 --seed 5 --rank 7
refused 'other seed' 'another seed' "$TITHE" decode a OUT --seed 6 --rank 7
finish
