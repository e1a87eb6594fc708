#!/usr/bin/env bash
# Nobody outside a table asks which variant it has, and tools/check_variants would have noticed.
set -euo pipefail
check=$TITHE_SOURCE/tools/check_variants
"$check" "$TITHE_SOURCE"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$TITHE_SOURCE/src" "$TITHE_SOURCE/cli" "$work"

# path, text to add, what the check must answer
try()
{
    local path=$1 text=$2 answer=$3 out
    cp "$TITHE_SOURCE/$path" "$work/$path"
    printf '%s\n' "$text" >> "$work/$path"
    if out=$("$check" "$work"); then
        echo "accepted, in $path: $text" && exit 1
    elif [[ $out != *"$answer"* ]]; then
        echo "in $path: $text"
        echo "expected: $answer"
        echo "got:      $out" && exit 1
    fi
    cp "$TITHE_SOURCE/$path" "$work/$path"
}

try src/learn/loop.c 'static bool f(run *r) { return r->estimator == &ti_estimator_lsvrg; }' 'src/learn/loop.c: compares'
try src/learn/train.c 'static bool f(const char *n) { return strcmp(n, "minibatch") == 0; }' '(minibatch)'
try cli/cmd_list.c 'static bool f(const char *n) { return strcmp(n, "artopk") == 0; }' 'cli/cmd_list.c: compares'
"$check" "$work"
