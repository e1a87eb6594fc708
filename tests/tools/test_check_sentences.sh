#!/usr/bin/env bash
# The library's sentences hold no flags of the command, and tools/check_sentences would have noticed.
set -euo pipefail
check=$TITHE_SOURCE/tools/check_sentences
"$check" "$TITHE_SOURCE"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$TITHE_SOURCE/src" "$work"

# text to add, what the check must answer; nothing: it is fine
try()
{
    local path=src/learn/loop.c text=$1 answer=$2 out status=0
    cp "$TITHE_SOURCE/$path" "$work/$path"
    printf '%s\n' "$text" >> "$work/$path"
    out=$("$check" "$work") || status=1
    if [ "$status" = 0 ] && [ -n "$answer" ]; then
        echo "accepted: $text" && exit 1
    elif [ "$status" = 1 ] && [[ -z $answer || $out != *"$answer"* ]]; then
        echo "refused:  $text"
        echo "expected: $answer"
        echo "got:      $out" && exit 1
    fi
}

try 'static const char a[] = "take --feedback ec.";' 'src/learn/loop.c:'
try 'static const char a[] = "take "
                                "--scheme star.";' '--scheme is a flag'
try 'static const char a[] = "--%s takes a number.";' '--%s is a flag'
# shellcheck disable=SC2016 # backquotes of a sentence
try 'static const char a[] = "take `feedbak=ec`.";' 'no option `feedbak`'
# shellcheck disable=SC2016
try 'static const char a[] = "take `feedback=ec` -- or see `tithe list`."; /* --feedback ec */' ''
