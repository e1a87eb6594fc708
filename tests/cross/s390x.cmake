# IBM Z: the high byte comes first, and a float is computed as a double unless the compiler is told otherwise.
set(triplet s390x-linux-gnu)
set(machine s390x)
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
