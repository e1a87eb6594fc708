# 64-bit ARM, built with Debian's cross compiler and run by qemu: cmake -DCMAKE_TOOLCHAIN_FILE=tests/cross/aarch64.cmake
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_CURRENT_LIST_DIR}) # a cmocka that needs no library
set(CMAKE_C_FLAGS_INIT -fno-builtin-fmax) # gcc 12 stops with an internal error where it vectorises a maximum by fmax
