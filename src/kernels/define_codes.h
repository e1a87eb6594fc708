/* define_codes.h - the part of define.h that knows how levels are written: between bytes (level + 128 * sign, up to
 * 127 levels) and packed bits, Elias words, or sums. */
#ifndef KERNELS_DEFINE_CODES_H
#define KERNELS_DEFINE_CODES_H

#include "base/bits.h"
#include "kernels/kernels.h"

/* ---- fixed width -------------------------------------------------------------------------------------- */

/* Eight codes of `width` bits are `width` bytes: the level in the low bits of each, the sign on top. */
static inline uint64_t define_squeeze(const uint8_t *codes, unsigned width)
{
    uint64_t word = 0;
    for (unsigned j = 0; j < 8; j++) {
        const unsigned code = (codes[j] & ((1u << (width - 1)) - 1)) | (unsigned)codes[j] >> 7 << (width - 1);
        word |= (uint64_t)code << j * width;
    }
    return word;
}

static inline void define_pack_codes(const uint8_t *codes, size_t n, unsigned width, uint8_t *dst)
{
    for (size_t i = 0; i < n; i += 8, dst += width) {
        uint64_t word = define_squeeze(codes + i, width);
        for (unsigned b = 0; b < width; b++, word >>= 8) dst[b] = (uint8_t)word;
    }
}

static inline void define_unpack_codes(const uint8_t *src, size_t n, unsigned width, uint8_t *codes)
{
    const unsigned mask = (1u << (width - 1)) - 1;
    for (size_t i = 0; i < n; i += 8, src += width) {
        uint64_t word = 0;
        for (unsigned b = 0; b < width; b++) word |= (uint64_t)src[b] << 8 * b;
        for (size_t j = 0; j < 8; j++, word >>= width)
            codes[i + j] = (uint8_t)((word & mask) | (word >> (width - 1) & 1) << 7);
    }
}

/* ---- Elias gamma -------------------------------------------------------------------------------------- */

/* The words of levels 0 to 7, then of the same with a minus: docs/format.md section 6.6. */
static const uint8_t define_elias_word[16] = {1, 2, 6, 4, 12, 20, 28, 8, 1, 10, 14, 36, 44, 52, 60, 136};
static const uint8_t define_elias_width[16] = {1, 4, 4, 6, 6, 6, 6, 8, 1, 4, 4, 6, 6, 6, 6, 8};

static inline unsigned define_nibble(uint8_t code)
{
    return (code & 7u) | (code >> 4 & 8u);
}

static inline void define_elias_groups(const uint8_t *codes, size_t groups, uint64_t *words, uint8_t *widths)
{
    for (size_t g = 0; g < groups; g++) {
        uint64_t word = 0;
        unsigned width = 0;
        for (size_t j = 0; j < 8; j++) {
            const unsigned code = define_nibble(codes[8 * g + j]);
            word |= (uint64_t)define_elias_word[code] << width;
            width += define_elias_width[code];
        }
        words[g] = word;
        widths[g] = (uint8_t)width;
    }
}

/* `windows` look-ups in one word of the stream, while all that they can find is wanted. A code that is not in the table
 * takes no bits, however often it is looked up. */
static inline size_t define_elias_windows(const elias_table *table, bit_reader *r, size_t many,
                                          uint8_t *codes, const unsigned windows)
{
    const uint8_t *bytes = r->bytes;
    const uint64_t end = r->end;
    uint64_t at = r->position;
    size_t i = 0;
    while (i + windows * ELIAS_WINDOW <= many && at + 64 <= end) {
        uint64_t word = get_u64(bytes + at / 8) >> at % 8; /* at least 57 bits */
        unsigned used = 0;
        for (unsigned k = 0; k < windows; k++) {
            const elias_entry *entry = &table->entry[word & ((1u << ELIAS_WINDOW) - 1)];
            const unsigned count = entry->count, width = entry->width;
            if (codes) memcpy(codes + i, entry, sizeof *entry);
            i += count;
            used += width;
            word >>= width;
        }
        if (used == 0) break;
        at += used;
    }
    r->position = at;
    return i;
}

static inline size_t define_elias_read(const elias_table *table, bit_reader *r, size_t many, uint8_t *codes)
{
    if (!codes) {
        const size_t i = define_elias_windows(table, r, many, NULL, 5);
        return i + define_elias_windows(table, r, many - i, NULL, 1);
    }
    const size_t i = define_elias_windows(table, r, many, codes, 5);
    return i + define_elias_windows(table, r, many - i, codes + i, 1);
}

static inline void define_chains(const elias_table *table, bit_reader r[ELIAS_CHAINS],
                                 size_t many[ELIAS_CHAINS], uint8_t *const codes[ELIAS_CHAINS],
                                 const unsigned windows)
{
    const uint8_t *bytes = r[0].bytes;
    uint64_t at[ELIAS_CHAINS], last[ELIAS_CHAINS];
    size_t done[ELIAS_CHAINS] = {0};
    bool more = true;
    for (int k = 0; k < ELIAS_CHAINS; k++) {
        at[k] = r[k].position;
        last[k] = r[k].end;
    }
    while (more) {
        for (int k = 0; k < ELIAS_CHAINS; k++)
            more &= done[k] + windows * ELIAS_WINDOW <= many[k] && at[k] + 64 <= last[k];
        if (!more) break;
        uint64_t word[ELIAS_CHAINS], from[ELIAS_CHAINS];
        for (int k = 0; k < ELIAS_CHAINS; k++) {
            word[k] = get_u64(bytes + at[k] / 8) >> at[k] % 8;
            from[k] = at[k];
        }
        for (unsigned w = 0; w < windows; w++)
            for (int k = 0; k < ELIAS_CHAINS; k++) {
                const elias_entry *entry = &table->entry[word[k] & ((1u << ELIAS_WINDOW) - 1)];
                const unsigned count = entry->count, width = entry->width;
                if (codes) memcpy(codes[k] + done[k], entry, sizeof *entry);
                done[k] += count;
                at[k] += width;
                word[k] >>= width;
            }
        for (int k = 0; k < ELIAS_CHAINS; k++) more &= at[k] != from[k];
    }
    for (int k = 0; k < ELIAS_CHAINS; k++) {
        r[k].position = at[k];
        many[k] = done[k];
    }
}

static inline void define_elias_chains(const elias_table *table, bit_reader r[ELIAS_CHAINS],
                                       size_t many[ELIAS_CHAINS], uint8_t *const codes[ELIAS_CHAINS])
{
    if (codes)
        define_chains(table, r, many, codes, 5);
    else
        define_chains(table, r, many, NULL, 5);
}

/* ---- sums --------------------------------------------------------------------------------------------- */

static inline void define_codes_add(const uint8_t *codes, size_t n, unsigned s, const float table[256],
                                    float *y)
{
    (void)s;
    for (size_t i = 0; i < n; i++) y[i] += table[codes[i]];
}

/* Rounded after each product, as a table of these values would be. */
static inline void define_steps_add(const uint8_t *codes, size_t n, float step, float scale, float *y)
{
    for (size_t i = 0; i < n; i++) {
        const float value = scale * ((float)(codes[i] & 127) * step);
        y[i] += f32_from_bits(f32_bits(value) ^ (uint32_t)(codes[i] & 128) << 24);
    }
}

#define DEFINE_CODES                                                      \
    .pack_codes = define_pack_codes, .unpack_codes = define_unpack_codes, \
    .elias_groups = define_elias_groups, .elias_read = define_elias_read, \
    .elias_chains = define_elias_chains, .steps_add = define_steps_add, .codes_add = define_codes_add

#endif
