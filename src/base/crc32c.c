/* crc32c.c - CRC-32C (Castagnoli polynomial, reflected: 0x82f63b78), eight bytes at a time by tables.
 *
 * The tables are constants of the program: no lazy initialisation, so no race. */
#include "tithe/frame.h"

#include "base/crc32c_table.h"

uint32_t tithe_crc32c(const uint8_t *bytes, size_t length)
{
    uint32_t crc = ~UINT32_C(0);
    for (; length >= 8; length -= 8, bytes += 8) {
        const uint32_t low = crc ^ ((uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
                                    (uint32_t)bytes[3] << 24);
        crc = crc32c_table[7][low & 0xff] ^ crc32c_table[6][low >> 8 & 0xff] ^ crc32c_table[5][low >> 16 & 0xff] ^
              crc32c_table[4][low >> 24] ^ crc32c_table[3][bytes[4]] ^ crc32c_table[2][bytes[5]] ^
              crc32c_table[1][bytes[6]] ^ crc32c_table[0][bytes[7]];
    }
    for (; length; length--, bytes++) crc = crc >> 8 ^ crc32c_table[0][(crc ^ *bytes) & 0xff];
    return ~crc;
}
