#!/usr/bin/env bash
# The tree keeps to its layers, and tools/check_layers would have noticed if it did not.
set -euo pipefail
check=$TITHE_SOURCE/tools/check_layers
"$check" "$TITHE_SOURCE"
"$check" "$TITHE_SOURCE" "$TITHE_BUILD"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# path, text, what the check must answer (empty: nothing): plants one file in a tree of its own.
try()
{
    local path=$1 text=$2 answer=$3 out
    rm -rf "$work/tree"
    mkdir -p "$work/tree/src/base" "$work/tree/$(dirname "$path")"
    echo '#include <mpi.h>' > "$work/tree/src/base/first.c"
    printf '%b\n' "$text" > "$work/tree/$path"
    if out=$("$check" "$work/tree"); then
        [ -z "$answer" ] || { echo "accepted, in $path: $text" && exit 1; }
    elif [ -z "$answer" ] || [[ $out != *"$answer"* ]]; then
        echo "in $path: $text"
        echo "expected: ${answer:-no complaint}"
        echo "got:      $out" && exit 1
    fi
}

try src/base/a.c '#include "codec/codec.h"' 'src/base/a.c:1: base must not include "codec/codec.h"'
try src/base/a.c '\n#include <codec/codec.h>' 'src/base/a.c:2: base must not'
try src/codec/a.c '#include "feedback/ec.h"' 'codec must not include'
try src/cost/a.c '#include "codec/codec.h"' 'cost must not include'
try src/base/a.c '#include "other.h"' 'write "other.h" as "base/..."'
try src/base/a.c '#include "../codec/codec.h"' 'the path names the layer'
try src/odd/a.c 'int x;' 'odd is no layer'
try src/comm/a.c '#include <mpi.h>' 'mpi.h is already included by src/base/first.c'
try cli/main.c '#include "base/bytes.h"' 'cli/main.c:1: "base/bytes.h" is not public'
try cli/main.c '#include "../src/base/bytes.h"' 'is not public'
try examples/a.c '#include "codec/codec.h"' 'is not public'
try include/tithe/a.h '#include "base/bytes.h"' 'is not public'
try src/base/a.c 'int f(void)\n{\n    exit(1);\n}' 'src/base/a.c:3: the library must not call exit()'
try src/base/a.c 'int f(void) { return rand(); }' 'must not call rand()'
try src/base/a.c 'void f(int x) { assert (x); }' 'must not call assert()'
try src/base/a.c 'void f(void) { abort(); }' 'must not call abort()'

try src/codec/a.c '#include "kernels/kernels.h"\n#include "tithe/codec.h"\n#include <sys/stat.h>' ''
try src/base/a.c '/* never\n exit() */ const char *s = "abort()"; // rand()\n_Static_assert(1, "");' ''
try cli/a.c '#include "a.h"\n#include <tithe/tithe.h>\nint main(void) { exit(1); }' '"a.h" is not public'

mkdir "$work/empty"
if "$check" "$work/empty" > /dev/null; then echo 'accepted an empty tree' && exit 1; fi

# path, text, what the check must answer (empty: nothing): compiles one file beside others that define something.
try_symbols()
{
    local path=$1 text=$2 answer=$3 out file
    rm -rf "$work/tree" "$work/build"
    mkdir -p "$work"/tree/src/{base,codec,plan} "$work/tree/cli"
    echo 'int tithe_low(void) { return 1; } int ti_low(void) { return 1; }' > "$work/tree/src/base/low.c"
    echo 'int tithe_high(void) { return 1; } const int ti_high[] = {1};' > "$work/tree/src/codec/high.c"
    echo 'int main(void) { return 0; }' > "$work/tree/cli/main.c"
    printf '%b\n' "$text" > "$work/tree/$path"
    for file in $(cd "$work/tree" && find . -name '*.c'); do
        file=${file#./}
        mkdir -p "$work/build/CMakeFiles/any.dir/$(dirname "$file")"
        "${CC:-cc}" -c "$work/tree/$file" -o "$work/build/CMakeFiles/any.dir/$file.o"
    done
    "$check" "$work/tree" > /dev/null || { echo "the includes of $path are refused: $text" && exit 1; }
    if out=$("$check" "$work/tree" "$work/build"); then
        [ -z "$answer" ] || { echo "accepted, in $path: $text" && exit 1; }
    elif [ -z "$answer" ] || [[ $out != *"$answer"* ]]; then
        echo "in $path: $text"
        echo "expected: ${answer:-no complaint}"
        echo "got:      $out" && exit 1
    fi
}

try_symbols src/base/a.c 'int tithe_high(void); int ti_a(void) { return tithe_high(); }' \
    'src/base/a.c: base must not need tithe_high of src/codec/high.c'
try_symbols src/base/a.c 'extern const int ti_high[]; const int *ti_a = ti_high;' 'base must not need ti_high of src/codec/high.c'
try_symbols src/base/a.c 'int tithe_high(void) __attribute__((weak)); int ti_a(void) { return tithe_high(); }' 'must not need tithe_high'
try_symbols src/codec/a.c 'int tithe_low(void); int ti_a(void) { return tithe_low(); }' ''
try_symbols src/base/a.c 'int ti_low(void), other(void); int ti_a(void) { return ti_low() + other(); }' ''
try_symbols src/plan/a.c 'extern const int ti_high[]; int tithe_low(void); int ti_a(void) { return *ti_high + tithe_low(); }' ''
try_symbols cli/a.c 'int tithe_low(void); int a(void) { return tithe_low(); }' ''
try_symbols cli/a.c 'int ti_low(void); int a(void) { return ti_low(); }' 'cli/a.c: ti_low of src/base/low.c is not public'

try_symbols src/base/a.c 'int tithe_high(void); int ti_a(void) { return tithe_high(); }' 'must not need'
rm "$work/tree/src/base/a.c" # its object stays behind, as in a build directory that is older than a move
"$check" "$work/tree" "$work/build" > /dev/null || { echo 'an object without a source counts' && exit 1; }
mkdir -p "$work/build/CMakeFiles/former.dir/src/base" # and so does that of a file that went to another target
cp "$work/build/CMakeFiles/any.dir/src/base/a.c.o" "$work/build/CMakeFiles/former.dir/src/base/low.c.o"
touch -d '1 hour ago' "$work/build/CMakeFiles/former.dir/src/base/low.c.o"
"$check" "$work/tree" "$work/build" > /dev/null || { echo 'the older of two objects counts' && exit 1; }
touch "$work/build/CMakeFiles/former.dir/src/base/low.c.o"
if "$check" "$work/tree" "$work/build" > /dev/null; then echo 'the newer of two objects does not count' && exit 1; fi
rm -rf "$work/build"
if "$check" "$work/tree" "$work/build" > /dev/null; then echo 'accepted a build without objects' && exit 1; fi
echo 'check_layers accepts this tree and refuses the bad ones'
