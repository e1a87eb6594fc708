#!/usr/bin/env bash
# The libraries export what their headers say, and tools/check_symbols would have noticed if they did not.
set -euo pipefail
check=$TITHE_SOURCE/tools/check_symbols
"$check" "$TITHE_BUILD" "$TITHE_SOURCE"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/include/tithe"
api='#define TITHE_API __attribute__((visibility("default")))'
{
    echo "$api"
    cat << 'C'
/* TITHE_API int tithe_in_a_comment(void); */
TITHE_API int tithe_one(int x);
TITHE_API const char *
tithe_two(void);
TITHE_API extern const int tithe_three[3];
C
} > "$work/include/tithe/a.h"
printf '%s\nTITHE_API int tithe_train(void);\n' "$api" > "$work/include/tithe/learn.h"
printf '%s\nTITHE_API int tithe_check(void);\n' "$api" > "$work/include/tithe/check.h"
printf '%s\nTITHE_API int tithe_far(void);\nTITHE_API int tithe_near(void);\n' "$api" > "$work/include/tithe/transport.h"
printf '%s\nTITHE_API int tithe_switch(void);\n' "$api" > "$work/include/tithe/switch.h"
good='int tithe_one(int x) { return x; } const char *tithe_two(void) { return ""; } const int tithe_three[3] = {1};'
far='int tithe_far(void) { return 1; }' near='int tithe_near(void) { return 1; }'
stranger='int check_row(void) { return 1; }'

public='TITHE_0 { global: *; };'
private='TITHE_0 { global: tithe_*; local: *; }; TITHE_PRIVATE { global: ti_*; };'

shared() # name, versions, source text, libraries
{
    echo "$3" > "$work/part.c"
    echo "$2" > "$work/part.map"
    "${CC:-cc}" -shared -fPIC "$work/part.c" -o "$work/lib$1.so" "-Wl,--no-as-needed,--version-script=$work/part.map" "${@:4}"
}

archive() # name, source text
{
    echo "$2" > "$work/part.c"
    "${CC:-cc}" -c "$work/part.c" -o "$work/part.o"
    rm -f "$work/lib$1.a"
    ar rc "$work/lib$1.a" "$work/part.o"
}

expect() # what the check must answer; empty: no complaint
{
    local out
    if out=$("$check" "$work" "$work"); then
        [ -z "$1" ] || { echo "accepted, instead of: $1" && exit 1; }
    elif [ -z "$1" ] || [[ $out != *"$1"* ]]; then
        echo "expected: ${1:-no complaint}"
        echo "got:      $out" && exit 1
    fi
}

shared tithe "$private" "$good"
archive tithe "$good"
expect ''
shared tithe "$private" "$good" -lm
expect ''
shared tithe "$public" "$good int helper(void) { return 1; }"
expect 'helper: a name of libtithe.so must start with tithe_ or ti_.'
shared tithe "$private" "$good int ti_helper(void) { return 1; }"
expect ''
shared tithe "$public" "$good int ti_helper(void) { return 1; }"
expect 'ti_helper: exported by libtithe.so as TITHE_0 in place of TITHE_PRIVATE.'
shared tithe 'TITHE_PRIVATE { global: *; };' "$good"
expect 'tithe_one: exported by libtithe.so as TITHE_PRIVATE in place of TITHE_0.'
shared tithe '{ global: *; };' "$good"
expect 'tithe_one: exported by libtithe.so as no version in place of TITHE_0.'
shared tithe "$private" "$good int tithe_extra(void) { return 1; }"
expect 'tithe_extra: exported by libtithe.so, but no header of it declares it'
shared tithe "$private" "${good#*\}}"
expect 'tithe_one: declared TITHE_API, but not exported by libtithe.so.'
shared tithe "$private" "$good int tithe_train(void) { return 1; }"
expect 'tithe_train: exported by libtithe.so, but no header of it declares it'

mkdir "$work/elsewhere"
echo "$far" > "$work/part.c"
"${CC:-cc}" -shared -fPIC "$work/part.c" -o "$work/elsewhere/libother.so"
shared tithe "$private" "$good" "$work/elsewhere/libother.so"
expect 'the library must need nothing beyond the C library'
shared tithe "$private" "$good int ti_helper(void) { return 1; }" -Wl,-soname,libtithe.so.0

archive tithe "$good int ti_helper(void) { return 1; } static int mine; int *ti_mine(void) { return &mine; }"
expect ''
archive tithe "$good $stranger"
expect 'check_row: a name of libtithe.a must start with tithe_ or ti_.'
archive tithe "${good%const int*}"
expect 'tithe_three: declared TITHE_API, but not exported by libtithe.a.'
archive tithe "$good"

train='int tithe_train(void) { return 1; }' looks_inside='int ti_helper(void);'
archive tithe_learn "$train int *message;"
expect 'message: a name of libtithe_learn.a must start with tithe_ or ti_.'
archive tithe_learn "int ti_other(void) { return 1; }"
expect 'tithe_train: declared TITHE_API, but not exported by libtithe_learn.a.'
archive tithe_learn "$train"
expect 'libtithe_learn: there must be both, libtithe_learn.a and libtithe_learn.so.'
shared tithe_learn "$public" "$looks_inside int tithe_train(void) { return ti_helper(); }" "$work/libtithe.so"
expect ''
shared tithe_learn "$private" "$train int ti_learn(void) { return 1; }"
expect 'ti_learn: a name of libtithe_learn.so must start with tithe_.'
shared tithe_learn "$public" "$train"
expect ''

archive tithe_mpi "$far"
shared tithe_mpi "$public" "$far"
expect '' # the other transport may have been left out
shared tithe_mpi "$public" "$looks_inside int tithe_far(void) { return ti_helper(); }" "$work/libtithe.so"
expect 'ti_helper: libtithe_mpi.so must do with what is public in libtithe.'
shared tithe_mpi "$public" "$far"
archive tithe_mpi "$far $stranger"
expect 'check_row: a name of libtithe_mpi.a'
archive tithe_mpi "$far"
archive tithe_zmq "int ti_zmq(void) { return 1; }"
expect 'tithe_near: declared TITHE_API, but not exported by libtithe_mpi.a and libtithe_zmq.a.'
archive tithe_zmq "$near"
shared tithe_zmq "$public" "$near"
expect ''
shared tithe_zmq "$public" "$near $stranger"
expect 'check_row: a name of libtithe_zmq.so must start with tithe_.'
shared tithe_zmq "$public" "$near"

archive tithe_new "$stranger"
expect 'libtithe_new.a: no library is called so'
echo 'check_symbols accepts these libraries and refuses the bad ones'
