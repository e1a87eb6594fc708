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
    for part in tithe tithe_measure; do
        names=$("$TITHE_SOURCE/tools/check_symbols" --list "$TITHE_SOURCE" "$part")
        {
            for header in "$prefix"/include/tithe/*.h; do echo "#include <tithe/$(basename "$header")>"; done
            for name in $names; do echo "auto *volatile pointer_to_$name = &$name;"; done
            echo 'int main() { return 0; }'
        } > "$work/all.cpp"
        # shellcheck disable=SC2046,SC2086
        g++ -std=c++17 $strict "$work/all.cpp" -o "$work/all" $(pkg-config --cflags --libs "$part")
        "$work/all"
    done
fi

# The measuring layers are not in the library that a device links.
if nm -D --defined-only "$libdir/libtithe.so" | grep -E ' tithe_(bench|check)_' ||
    nm -g --defined-only "$libdir/libtithe.a" | grep -E ' ti(the)?_(bench|check)_'; then
    echo 'libtithe measures: src/bench and src/check belong to libtithe_measure' && exit 1
fi

for example in "$TITHE_SOURCE"/examples/*.c; do
    case $example in */mpi_*) continue ;; esac # tests/transport has these
    name=$(basename "$example" .c)
    part=tithe targets='tithe::tithe;tithe::tithe_static'
    ! grep -q '<tithe/check.h>' "$example" || part=tithe_measure targets=tithe::measure
    echo "== $name by pkg-config"
    # shellcheck disable=SC2046,SC2086 # -lm is for the example's own use of it
    "$cc" -std=c17 $strict "$example" -o "$work/$name" $(pkg-config --cflags --libs "$part") -lm
    (cd "$work" && "./$name")

    echo "== $name by CMake, with each of $targets"
    cmake -S "$TITHE_SOURCE/tests/install" -B "$work/$name-cmake" -DEXAMPLE="$example" -DVERSION="$version" \
        -DTARGETS="$targets" -DCMAKE_PREFIX_PATH="$prefix" > "$work/cmake.log" || { cat "$work/cmake.log" && exit 1; }
    cmake --build "$work/$name-cmake" > "$work/cmake.log" || { cat "$work/cmake.log" && exit 1; }
    for program in "$work/$name-cmake"/with_*; do
        case $program in *with_tithe) path=$libdir ;; *) path= ;; esac # only the shared library has to be found
        (cd "$work" && LD_LIBRARY_PATH=$path "$program")
    done
done
