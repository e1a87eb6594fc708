/* crc32c.c - see crc32c.h. Bytes that follow multiply what was before by a power of x, modulo the polynomial; the rest
 * adds up. Polynomials have their highest coefficient, that of x^31, in the lowest bit. */
#include "base/crc32c.h"

static uint32_t multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (; a; a <<= 1) { /* from the constant term of a on; b becomes x b */
        if (a & 0x80000000u) product ^= b;
        b = b >> 1 ^ (b & 1 ? 0x82f63b78u : 0);
    }
    return product;
}

uint32_t ti_crc32c_join(uint32_t first, uint32_t second, size_t bytes)
{
    uint32_t power = 0x00800000u; /* x^8, then its square, and so on */
    for (; bytes; bytes >>= 1) {
        if (bytes & 1) first = multiply(power, first);
        power = multiply(power, power);
    }
    return first ^ second;
}
