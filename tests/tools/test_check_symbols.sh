#!/usr/bin/env bash
# The library exports what its headers say, and tools/check_symbols would have noticed if it did not.
set -euo pipefail
check=$TITHE_SOURCE/tools/check_symbols
"$check" "$TITHE_BUILD" "$TITHE_SOURCE"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/include/tithe"
cat > "$work/include/tithe/a.h" << 'C'
#define TITHE_API __attribute__((visibility("default")))
/* TITHE_API int tithe_in_a_comment(void); */
TITHE_API int tithe_one(int x);
TITHE_API const char *
tithe_two(void);
TITHE_API extern const int tithe_three[3];
C
good='int tithe_one(int x) { return x; } const char *tithe_two(void) { return ""; } const int tithe_three[3] = {1};'

echo 'int other(void) { return 1; }' > "$work/other.c"
"${CC:-cc}" -shared -fPIC "$work/other.c" -o "$work/libother.so"

# source text, extra library, what the check must answer (empty: nothing)
try()
{
    local text=$1 libs=$2 answer=$3 out
    echo "$text" > "$work/a.c"
    "${CC:-cc}" -shared -fPIC "$work/a.c" -o "$work/libtithe.so" -Wl,--no-as-needed ${libs:+"$libs"}
    if out=$("$check" "$work" "$work"); then
        [ -z "$answer" ] || { echo "accepted: $text" && exit 1; }
    elif [ -z "$answer" ] || [[ $out != *"$answer"* ]]; then
        echo "expected: ${answer:-no complaint}"
        echo "got:      $out" && exit 1
    fi
}

try "$good" '' ''
try "$good" -lm ''
try "$good int helper(void) { return 1; }" '' 'helper: an exported name must start with tithe_.'
try "$good int tithe_extra(void) { return 1; }" '' 'tithe_extra: exported, but no header declares it'
try "${good#*\}}" '' 'tithe_one: declared TITHE_API, but not exported.'
try "$good" "$work/libother.so" 'the library must need nothing beyond the C library'
echo 'check_symbols accepts this library and refuses the bad ones'
