/* dithering_codes.h - levels as code words, fixed width or Elias gamma, between bit streams and bytes. A byte
 * holds level + 128 * sign, for up to 127 levels; what has more goes one by one. */
#ifndef CODEC_DITHERING_CODES_H
#define CODEC_DITHERING_CODES_H

#include "base/bits.h"
#include "kernels/kernels.h"

enum {
    FEW_LEVELS = 127,
    ELIAS_SPLIT = 1 << 16 /* codes from which on it pays to read from several places */
};

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

/* Elias words by table. */
typedef struct elias_words {
    uint16_t word[256];
    uint8_t width[256];
} elias_words;

void ti_elias_words(elias_words *words);
/* Words of levels above s (at most 127) stay out of the table, so what it reads is sound. */
void ti_elias_table(elias_table *table, unsigned s);

/* Codes of s levels, at most 127; words is NULL for fixed width. `left` codes, these among them, have room for their
 * greatest length. */
void ti_level_codes_write(bit_writer *w, const elias_words *words, unsigned s, const uint8_t *codes,
                          size_t many, size_t left);
/* `many` codes, as bytes; codes[] has room for CODES_SPARE more. table may be NULL. False for an Elias code of a level
 * above s (at most 127), and at the end of the bytes. */
bool ti_level_codes_read(bit_reader *r, bool elias, unsigned s, const elias_table *table, size_t many,
                         uint8_t *codes);
/* The same, but where a code is a byte of the stream, they are left there, and the room is not used. NULL for false. */
const uint8_t *ti_level_codes_view(bit_reader *r, bool elias, unsigned s, const elias_table *table,
                                   size_t many, uint8_t *room);
/* No level above s, no negative zero: what is left to ask of codes that were read at a fixed width. */
bool ti_level_codes_sound(const uint8_t *codes, size_t many, unsigned s);
/* Places of a long stream from which Elias codes can be read side by side. The first is where the reader stands. */
typedef struct elias_point {
    uint64_t position;
    size_t index; /* of the code that begins there */
} elias_point;

/* False where that does not work out, which says nothing about the stream. Else the reader has passed *passed sound
 * codes, all but the last few. */
bool ti_elias_split(bit_reader *r, unsigned s, const elias_table *table, size_t many,
                    elias_point points[ELIAS_CHAINS], size_t *passed);
/* Can so many Elias codes be read? */
bool ti_elias_codes_pass(bit_reader *r, unsigned s, const elias_table *table, size_t many);

#endif
