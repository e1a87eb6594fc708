#!/usr/bin/env bash
# Programs with an MPI of their own that replace MPI_Allreduce by Tithe: built against the installed tree, and run.
set -euo pipefail

skip() # reason
{
    echo "SKIP: $1"
    exit 77
}

cached() # name: what CMake found
{
    sed -n "s/^$1:[A-Z]*=//p" "$TITHE_BUILD/CMakeCache.txt"
}

[ -z "$(cached TITHE_SANITIZE)" ] || skip 'a program of somebody else would have to be sanitized too'
[ "$(cached TITHE_MPI)" = ON ] || skip 'no MPI in this build'
mpicc=$(cached MPI_C_COMPILER)
mpirun=${MPIRUN:-mpirun}
command -v "$mpirun" > /dev/null || skip "$mpirun is not installed"
[ -x "$mpicc" ] || skip 'no mpicc'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$TITHE_BUILD" --prefix "$work/prefix" > "$work/install.log"
PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name tithe_mpi.pc)")
export PKG_CONFIG_PATH LD_LIBRARY_PATH=${PKG_CONFIG_PATH%/pkgconfig}
cd "$work"

start() # ranks, program
{
    local more=()
    if "$mpirun" --version 2>&1 | grep -q 'Open MPI'; then more=(--oversubscribe); fi
    "$mpirun" "${more[@]}" -n "$1" "$2"
}

echo '== C'
# shellcheck disable=SC2046 # several words
"$mpicc" -std=c17 -O2 -Wall -Wextra -Wpedantic -Werror "$TITHE_SOURCE/examples/mpi_allreduce.c" -o in_c \
    $(pkg-config --cflags --libs tithe_mpi)
for ranks in 1 2 3; do start "$ranks" ./in_c; done

echo '== Fortran'
# Debian: mpicc.openmpi is the sibling of mpifort.openmpi
mpifort=$(dirname "$mpicc")/$(basename "$mpicc" | sed 's/mpicc/mpifort/')
if [ ! -x "$mpifort" ] || ! command -v gfortran > /dev/null; then
    echo 'SKIP: no mpifort, so the Fortran example was not tried'
    exit 0
fi
# shellcheck disable=SC2046
# MPICH has no interfaces for buffers of any type, and warns.
"$mpifort" -O2 -Wall "$(pkg-config --variable=includedir tithe)/tithe/tithe.f90" \
    "$TITHE_SOURCE/examples/mpi_allreduce.f90" -o in_fortran $(pkg-config --libs tithe_mpi)
for ranks in 1 3; do start "$ranks" ./in_fortran; done
