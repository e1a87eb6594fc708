#!/usr/bin/env bash
# What a user does: install, then build programs against the installed tree, by pkg-config and by CMake, with the shared
# libraries and with the archives.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix archives=$work/archives
cc=${CC:-cc}
strict='-Wall -Wextra -Wpedantic -Werror'

# It must not matter where the tree was installed at first.
cmake --install "$TITHE_BUILD" --prefix "$work/at-first" > "$work/install.log"
mv "$work/at-first" "$prefix"
libdir=$(dirname "$(find "$prefix" -name libtithe.so)")
if [ -n "$TITHE" ]; then
    "$prefix/bin/tithe" --version
    if [ -e "$libdir/libtithe_zmq.so.0" ]; then
        echo '== the command finds its transports, and says which is missing'
        run=(train --data a9a-like:scale=0.01 --steps 1 --no-optimum --transport zmq --local 2)
        "$prefix/bin/tithe" "${run[@]}" > "$work/run.log"
        cp -a "$prefix" "$work/without"
        find "$work/without" -name 'libtithe_zmq.so*' -delete
        if "$work/without/bin/tithe" "${run[@]}" > "$work/run.log" 2>&1; then echo 'it ran without libtithe_zmq' && exit 1; fi
        grep '^tithe train: The transport zmq cannot be loaded: libtithe_zmq.so.0: ' "$work/run.log" ||
            { cat "$work/run.log" && exit 1; }
    fi
fi

# The same without the shared libraries.
cp -a "$prefix" "$archives"
find "$archives" -name 'lib*.so*' -delete

export PKG_CONFIG_PATH=$libdir/pkgconfig LD_LIBRARY_PATH=$libdir

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
    for part in tithe tithe_measure tithe_learn; do
        [ -e "$libdir/pkgconfig/$part.pc" ] || continue
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

built() # part: is it in this build?
{
    [ -e "$libdir/pkgconfig/$1.pc" ]
}

pkg() # part, prefix: what pkg-config has to say about the part as it is installed there; -lm is for the program's own use
{
    local static=
    [ "$2" = "$prefix" ] || static=--static
    PKG_CONFIG_PATH=${libdir/$prefix/$2}/pkgconfig pkg-config $static --cflags --libs "$1"
    echo -lm
}

by_pkg_config() # program, part
{
    local name with=$cc
    name=$(basename "$1" .c)
    echo "== $name with $2 by pkg-config"
    # shellcheck disable=SC2046,SC2086
    "$cc" -std=c17 -D_POSIX_C_SOURCE=200809L $strict "$1" -o "$work/$name" $(pkg "$2" "$prefix")
    (cd "$work" && "./$name")

    [ "$2" != tithe_mpi ] || with=$(sed -n 's/^MPI_C_COMPILER:[A-Z]*=//p' "$TITHE_BUILD/CMakeCache.txt")
    # shellcheck disable=SC2046,SC2086
    "$with" -std=c17 -D_POSIX_C_SOURCE=200809L $strict "$1" -o "$work/$name" $(pkg "$2" "$archives")
    if readelf --dynamic "$work/$name" | grep -F '[libtithe'; then echo 'that was to be linked with archives' && exit 1; fi
    (cd "$work" && LD_LIBRARY_PATH='' "./$name")
}

configure() # folder, arguments: whatever it says is in cmake.log
{
    local folder=$1
    shift
    cmake -S "$TITHE_SOURCE/tests/install" -B "$work/$folder" -DVERSION="$version" -DCMAKE_PREFIX_PATH="$prefix" "$@" \
        > "$work/cmake.log" 2>&1
}

by_cmake() # program, component
{
    local name targets="tithe::$2;tithe::$2_static"
    name=$(basename "$1" .c)
    echo "== $name by CMake, with each of $targets"
    configure "$name-cmake" -DPROGRAM="$1" -DCOMPONENTS="$2" -DTARGETS="$targets" || { cat "$work/cmake.log" && exit 1; }
    cmake --build "$work/$name-cmake" > "$work/cmake.log" || { cat "$work/cmake.log" && exit 1; }
    for program in "$work/$name-cmake"/with_*; do
        # CMake tells a program where its libraries are
        (cd "$work" && LD_LIBRARY_PATH='' "$program")
    done
}

for example in "$TITHE_SOURCE"/examples/*.c; do
    case $example in */mpi_* | */hello.c) continue ;; esac # tests/transport has these
    component=tithe part=tithe
    ! grep -q '<tithe/check.h>' "$example" || component=measure part=tithe_measure
    by_pkg_config "$example" $part
    by_cmake "$example" $component
done
for program in "$TITHE_SOURCE"/tests/install/uses_*.c; do
    component=$(basename "$program" .c)
    component=${component#uses_}
    built "tithe_$component" || continue
    by_pkg_config "$program" "tithe_$component"
    by_cmake "$program" "$component"
done

echo '== components'
refused() # what it must say, components
{
    if configure components -DCOMPONENTS="$2"; then echo "$2 was found" && exit 1; fi
    tr -s '\n ' ' ' < "$work/cmake.log" | grep -qF "$1" || { cat "$work/cmake.log" && exit 1; }
}
refused "There is no component 'compressors' of tithe: take some of tithe, mpi, zmq, switch, learn and measure." 'measure;compressors'
configure components -DCOMPONENTS='tithe;measure' || { cat "$work/cmake.log" && exit 1; }
for component in mpi zmq switch learn; do
    rm -f "$libdir/cmake/tithe/tithe-$component-targets"*
    refused "This tithe was built without its component $component: build it with -DTITHE_${component^^}=ON." $component
done
