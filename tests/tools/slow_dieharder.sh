#!/usr/bin/env bash
# Puts streams of the generator through those tests of dieharder that take seconds each: a few minutes in all.
# usage: slow_dieharder.sh PROGRAM      PROGRAM stream NAME writes numbers to standard output without end
#
# The streams are fixed, so the answers are, too: WEAK (a chance of 1 in 100) is expected of a few among the hundreds,
# FAILED (1 in 10^6) of none.
set -euo pipefail

command -v dieharder > /dev/null || { echo 'SKIP: dieharder is not installed'; exit 77; }
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Test number and options, a line each. The Sums test is broken, and OPSO, OQSO and DNA are suspect, by dieharder's own
# account; GCD takes minutes.
tests='-d 0
-d 1
-d 2 -p 30
-d 3
-d 4
-d 8
-d 9
-d 10
-d 11
-d 12
-d 13
-d 15
-d 16
-d 100
-d 101
-d 102
-d 200 -n 1
-d 200 -n 4
-d 200 -n 6
-d 201 -n 2
-d 201 -n 3
-d 202 -n 3
-d 202 -n 5
-d 203 -n 0 -p 50
-d 203 -n 15 -p 10
-d 204
-d 205
-d 206
-d 207
-d 208
-d 209'

# Every answer is a line: test | n | samples | repetitions | p | assessment
ask() # stream, then options of dieharder
{
    local name=$1
    shift
    "$program" stream "$name" | dieharder -g 200 "$@" | grep -E '[|] +(PASSED|WEAK|FAILED) *$' |
        sed "s/^ */$(printf '%-6s' "$name")/" > "$work/$name$*"
}

for name in one ranks steps; do
    while read -r test; do
        while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n; done
        # shellcheck disable=SC2086 # several words
        ask "$name" $test &
    done <<< "$tests"
done
wait

cat "$work"/*
asked=$((3 * $(wc -l <<< "$tests")))
answers=$(cat "$work"/* | wc -l)
failed=$(cat "$work"/* | grep -c FAILED || true)
echo "$answers answers to $asked questions: $(cat "$work"/* | grep -c WEAK || true) weak, $failed failed"
[ "$answers" -ge "$asked" ] && [ "$failed" -eq 0 ]
