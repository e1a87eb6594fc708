/* level_codes.h - levels as code words, fixed width or Elias gamma, between bit streams and bytes. A byte
 * holds level + 128 * sign, for up to 127 levels; what has more goes one by one. */
#ifndef CODEC_LEVEL_CODES_H
#define CODEC_LEVEL_CODES_H

#include "base/bits.h"

enum { FEW_LEVELS = 127 };

static inline unsigned log2_floor(unsigned v)
{
    return 31u - (unsigned)__builtin_clz(v);
}

static inline unsigned level_code_width(unsigned s)
{
    return 2 + log2_floor(s); /* sign, and ceil(log2(s + 1)) */
}

static inline void put_level(bit_writer *w, bool elias, unsigned s, unsigned level, bool negative)
{
    if (!elias) {
        const unsigned width = level_code_width(s);
        bits_put(w, level | (unsigned)negative << (width - 1), width);
        return;
    }
    const unsigned value = level + 1, extra = log2_floor(value);
    bits_put(w, 1u << extra, extra + 1); /* `extra` zeros, then a one */
    bits_put(w, value & ((1u << extra) - 1), extra);
    if (level) bits_put(w, negative, 1);
}

/* The next level, with its sign; more than s where the bytes make no sense. */
static inline unsigned get_level(bit_reader *r, bool elias, unsigned s, bool *negative)
{
    if (!elias) {
        const unsigned width = level_code_width(s), code = bits_get(r, width);
        *negative = code >> (width - 1);
        return code & ((1u << (width - 1)) - 1);
    }
    *negative = false;
    const uint64_t extra = bits_get_unary(r);
    if (extra > 14) return UINT32_MAX;
    const unsigned level = (1u << extra | bits_get(r, (unsigned)extra)) - 1;
    if (level) *negative = bits_get(r, 1);
    return level;
}

/* Elias words by table: a value is one look-up when it is written, and several are one when they are read. */
typedef struct elias_words {
    uint16_t word[256];
    uint8_t width[256];
} elias_words;

enum { ELIAS_WINDOW = 12, ELIAS_MANY = 6 };

typedef struct elias_entry {
    uint8_t count, width; /* codes that lie wholly in the window, and the bits they take */
    uint8_t codes[ELIAS_MANY];
} elias_entry;

typedef struct elias_table {
    elias_entry entry[1 << ELIAS_WINDOW];
} elias_table;

void ti_elias_words(elias_words *words);
void ti_elias_table(elias_table *table);

/* `many` codes, as bytes; codes[] has room for ELIAS_MANY more. table may be NULL. False where the bytes
 * make no sense: a level above s (at most 127), a negative zero, or the end. */
bool ti_level_codes_read(bit_reader *r, bool elias, unsigned s, const elias_table *table, size_t many,
                         uint8_t *codes);

#endif
