#!/usr/bin/env bash
# Every key of a paper that the code or a page names stands in the table of docs/design.md.
set -euo pipefail
cd "$TITHE_SOURCE"
table=$(sed -n '/^## Keys of the papers/,$p' docs/design.md)
names='alistarh|danilova|horvath|karimireddy|khirirat|richtarik|sahu|shi|stich|tyagi|wangni'
keys=$(grep -rhoE "\\b($names)[0-9]{4}[a-z]*" src include cli docs tests | sort -u;
       sed -nE 's/.*\.paper = "([a-z]+[0-9]{4}[a-z]*)".*/\1/p' src/*/*.c)
status=0
while read -r key; do
    if ! grep -q "^| $key |" <<< "$table"; then
        echo "docs/design.md does not say which paper $key is"
        status=1
    fi
done < <(sort -u <<< "$keys")
exit $status
