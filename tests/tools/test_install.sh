#!/usr/bin/env bash
# What a user does: install, then build the examples against the installed tree, by pkg-config and by CMake.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
cc=${CC:-cc}
strict='-Wall -Wextra -Wpedantic -Werror'

cmake --install "$TITHE_BUILD" --prefix "$prefix" > "$work/install.log"
libdir=$(dirname "$(find "$prefix" -name libtithe.so)")
export PKG_CONFIG_PATH=$libdir/pkgconfig LD_LIBRARY_PATH=$libdir
[ -z "$TITHE" ] || "$prefix/bin/tithe" --version

version=$(sed -n 's/^#define TITHE_VERSION "\(.*\)"/\1/p' "$prefix/include/tithe/tithe.h")
[ "$(pkg-config --modversion tithe)" = "$version" ] || { echo "tithe.h says $version, tithe.pc does not" && exit 1; }

echo "== every header alone, as C and as C++"
have_cxx=$(command -v g++ || true)
[ -n "$have_cxx" ] || echo 'SKIP: no g++, so the headers were not tried from C++'
# shellcheck disable=SC2086
for header in "$prefix"/include/tithe/*.h; do
    echo "#include <tithe/$(basename "$header")>" > "$work/header.c"
    "$cc" -std=c17 $strict -I "$prefix/include" -fsyntax-only "$work/header.c"
    [ -z "$have_cxx" ] || g++ -std=c++17 $strict -I "$prefix/include" -fsyntax-only -x c++ "$work/header.c"
done

if [ -n "$have_cxx" ]; then
    # Takes the address of every public function: links only when each is declared extern "C".
    {
        for header in "$prefix"/include/tithe/*.h; do echo "#include <tithe/$(basename "$header")>"; done
        for name in $("$TITHE_SOURCE/tools/check_symbols" --list "$TITHE_SOURCE"); do
            echo "auto *volatile pointer_to_$name = &$name;"
        done
        echo 'int main() { return 0; }'
    } > "$work/all.cpp"
    # shellcheck disable=SC2046,SC2086
    g++ -std=c++17 $strict "$work/all.cpp" -o "$work/all" $(pkg-config --cflags --libs tithe)
    "$work/all"
fi

for example in "$TITHE_SOURCE"/examples/*.c; do
    case $example in */mpi_*) continue ;; esac # tests/transport has these
    name=$(basename "$example" .c)
    echo "== $name by pkg-config"
    # shellcheck disable=SC2046,SC2086 # -lm is for the example's own use of it
    "$cc" -std=c17 $strict "$example" -o "$work/$name" $(pkg-config --cflags --libs tithe) -lm
    (cd "$work" && "./$name")

    echo "== $name by CMake, shared and static"
    cmake -S "$TITHE_SOURCE/tests/install" -B "$work/$name-cmake" -DEXAMPLE="$example" -DVERSION="$version" \
        -DCMAKE_PREFIX_PATH="$prefix" > "$work/cmake.log" || { cat "$work/cmake.log" && exit 1; }
    cmake --build "$work/$name-cmake" > "$work/cmake.log" || { cat "$work/cmake.log" && exit 1; }
    (cd "$work" && "$work/$name-cmake/shared" && unset LD_LIBRARY_PATH && "$work/$name-cmake/static")
done
