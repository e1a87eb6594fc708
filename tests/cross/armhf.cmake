# 32-bit ARM: size_t and long have 32 bits, and a file may still be longer.
set(triplet arm-linux-gnueabihf)
set(machine arm)
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
