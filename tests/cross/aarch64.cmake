# 64-bit ARM: cmake -DCMAKE_TOOLCHAIN_FILE=tests/cross/aarch64.cmake
set(triplet aarch64-linux-gnu)
set(machine aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
set(CMAKE_C_FLAGS_INIT -fno-builtin-fmax) # gcc 12 stops with an internal error where it vectorises a maximum by fmax
