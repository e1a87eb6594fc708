#!/usr/bin/env bash
# A program with names of its own that a library might have taken (check_row, bench_run, message) links with every
# archive that is installed, with all of its objects: which of them a program pulls in is an accident.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$TITHE_BUILD" --prefix "$work/prefix" > "$work/install.log"
libdir=$(dirname "$(find "$work/prefix" -name libtithe.a)")
export PKG_CONFIG_PATH=$libdir/pkgconfig
find "$libdir" -maxdepth 1 -name 'lib*.so*' -delete # archives are meant

cat > "$work/own.c" << 'C'
#include <stdio.h>

int check_row = 1;
int bench_run(int x);
int message(void);

int bench_run(int x)
{
    return x + check_row;
}

int message(void)
{
    return bench_run(2);
}

int main(void)
{
    printf("%d\n", message());
    return message() == 3 ? 0 : 1;
}
C

link_with() # name of a part, whose archive is linked as a whole
{
    local compiler=${CC:-cc} libs
    [ "$1" != tithe_mpi ] || compiler=$(sed -n 's/^MPI_C_COMPILER:[A-Z]*=//p' "$TITHE_BUILD/CMakeCache.txt")
    libs=$(pkg-config --static --libs "$1")
    # shellcheck disable=SC2086 # several words
    "$compiler" "$work/own.c" -o "$work/own" -Wl,--whole-archive "$libdir/lib$1.a" -Wl,--no-whole-archive $libs
}

archives=$(find "$libdir" -maxdepth 1 -name 'lib*.a' | sort)
for archive in $archives; do
    part=$(basename "$archive" .a)
    part=${part#lib}
    link_with "$part"
    [ "$("$work/own")" = 3 ] || { echo "with $part, the program's own names were not its own" && exit 1; }
    echo "$part leaves a program its names"
done
[ -n "$archives" ] || { echo 'no archive was installed, so nothing was tried' && exit 1; }

# An archive with a check_row of its own must not get through.
echo 'int check_row(void) { return 1; }' > "$work/taken.c"
"${CC:-cc}" -c "$work/taken.c" -o "$work/taken.o"
ar r "$libdir/libtithe.a" "$work/taken.o"
if link_with tithe 2> "$work/link.log"; then echo 'a check_row of the library went unnoticed' && exit 1; fi
grep -q 'multiple definition.*check_row' "$work/link.log" || { cat "$work/link.log" && exit 1; }
