/* bytes.h - little-endian numbers and varints in byte arrays, on machines of any byte order. */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <float.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/little.h"

/* Computed in more bits than they have, floats would decode to other numbers than elsewhere. */
_Static_assert(FLT_EVAL_METHOD == 0, "add -fexcess-precision=fast, or on 32-bit x86 -msse2 -mfpmath=sse");

static inline uint32_t f32_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static inline float f32_from_bits(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static inline uint64_t f64_bits(double f)
{
    uint64_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static inline double f64_from_bits(uint64_t u)
{
    double f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static inline void put_f32(uint8_t *p, float f)
{
    put_u32(p, f32_bits(f));
}

static inline float get_f32(const uint8_t *p)
{
    return f32_from_bits(get_u32(p));
}

static inline void put_f64(uint8_t *p, double f)
{
    put_u64(p, f64_bits(f));
}

static inline double get_f64(const uint8_t *p)
{
    return f64_from_bits(get_u64(p));
}

static inline size_t bytes_of_bits(uint64_t bits)
{
    return (size_t)(bits / 8 + (bits % 8 != 0));
}

/* Varint: seven bits a byte, the lowest first; the top bit says that more follow. At most 5 bytes for 32
 * bits. */
static inline size_t varint_size(uint32_t v)
{
    size_t bytes = 1;
    while (v >>= 7) bytes++;
    return bytes;
}

static inline uint8_t *put_varint(uint8_t *p, uint32_t v)
{
    for (; v >= 0x80; v >>= 7) *p++ = (uint8_t)(v | 0x80);
    *p++ = (uint8_t)v;
    return p;
}

/* The byte after the varint, or NULL when it runs past end, past 32 bits, or is written longer than it
 * need be (one number has one spelling, so that equal frames have equal bytes). */
static inline const uint8_t *get_varint(const uint8_t *p, const uint8_t *end, uint32_t *v)
{
    uint64_t value = 0;
    for (unsigned shift = 0; p < end && shift < 35; shift += 7) {
        const uint8_t byte = *p++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            if (value > UINT32_MAX || (byte == 0 && shift > 0)) return NULL;
            *v = (uint32_t)value;
            return p;
        }
    }
    return NULL;
}

#endif
