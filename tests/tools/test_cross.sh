#!/usr/bin/env bash
# The stand-in for cmocka, with which make test-all compiles the unit tests for other processors, has everything of cmocka that they use.
set -euo pipefail
cd "$TITHE_SOURCE/tests"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

macros() # flags: those with arguments that are defined after it
{
    "${CC:-cc}" "$@" -E -dM -include stdarg.h -include stddef.h -include stdint.h -include setjmp.h -x c /dev/null |
        sed -n 's/^#define \([a-z_]*\)(.*/\1/p' | sort -u
}

comm -13 <(macros) <(macros -include cmocka.h) > "$work/cmocka"
macros -I cross -include cross/cmocka.h > "$work/there"
cat ./*.h ./*/*.[ch] | grep -oE '\b[a-z_]+\(' | tr -d '(' | sort -u > "$work/used"
comm -12 "$work/cmocka" "$work/used" > "$work/wanted"
[ "$(wc -l < "$work/wanted")" -ge 10 ] || { echo 'this test does not see what the tests use' && exit 1; }
missing=$(comm -23 "$work/wanted" "$work/there" | paste -sd' ')
[ -z "$missing" ] || { echo "tests/cross/cmocka.h lacks $missing" && exit 1; }
echo "$(wc -l < "$work/wanted") macros of cmocka are used, and all are there"
