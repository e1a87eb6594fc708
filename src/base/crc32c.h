/* crc32c.h - the CRC-32C of two stretches of bytes in a row, from those of each. */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* `bytes` is the length of the second stretch. */
uint32_t ti_crc32c_join(uint32_t first, uint32_t second, size_t bytes);

#endif
