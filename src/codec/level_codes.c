/* level_codes.c - see level_codes.h. */
#include "codec/level_codes.h"

void ti_elias_words(elias_words *words)
{
    for (unsigned code = 0; code < 256; code++) {
        uint8_t bytes[4] = {0};
        bit_writer w = bit_writer_at(bytes);
        put_level(&w, true, 0, code & 127, code >> 7);
        words->width[code] = (uint8_t)bits_finish(&w);
        words->word[code] = get_u16(bytes);
    }
}

/* Whole codes from the start of a window, as many as fit. */
static elias_entry read_window(unsigned window)
{
    uint8_t bytes[4];
    elias_entry entry = {0};
    put_u32(bytes, window);
    bit_reader r = bit_reader_at(bytes, sizeof bytes, 0);
    while (entry.count < ELIAS_MANY) {
        bool negative;
        const unsigned level = get_level(&r, true, 0, &negative);
        if (r.overrun || r.position > ELIAS_WINDOW || level > FEW_LEVELS) break;
        entry.codes[entry.count++] = (uint8_t)(level | (unsigned)negative << 7);
        entry.width = (uint8_t)r.position;
    }
    return entry;
}

void ti_elias_table(elias_table *table)
{
    for (unsigned window = 0; window < 1u << ELIAS_WINDOW; window++)
        table->entry[window] = read_window(window);
}

/* By the table, while a whole word can be read and more than a window's worth of codes is wanted. */
static size_t read_by_table(bit_reader *r, const elias_table *table, size_t many, uint8_t *codes)
{
    size_t i = 0;
    while (i + ELIAS_MANY <= many && r->position + 64 <= r->end) {
        uint64_t word = get_u64(r->bytes + r->position / 8) >> r->position % 8; /* at least 57 bits */
        unsigned used = 0;
        while (i + ELIAS_MANY <= many && used + ELIAS_WINDOW <= 57) {
            const elias_entry *entry = &table->entry[word & ((1u << ELIAS_WINDOW) - 1)];
            if (entry->count == 0) { /* a long code: the caller reads it */
                r->position += used;
                return i;
            }
            memcpy(codes + i, entry->codes, ELIAS_MANY);
            i += entry->count;
            used += entry->width;
            word >>= entry->width;
        }
        r->position += used;
    }
    return i;
}

bool ti_level_codes_read(bit_reader *r, bool elias, unsigned s, const elias_table *table, size_t many,
                         uint8_t *codes)
{
    size_t i = 0;
    while (i < many) {
        if (elias && table) i += read_by_table(r, table, many - i, codes + i);
        if (i == many) break;
        bool negative;
        const unsigned level = get_level(r, elias, s, &negative);
        if (r->overrun || level > s) return false;
        codes[i++] = (uint8_t)(level | (unsigned)negative << 7);
    }
    /* Over all codes at once, since bytes among bytes vectorise. */
    uint8_t bad = 0;
    for (i = 0; i < many; i++) bad |= (uint8_t)(((codes[i] & 127) > s) | (codes[i] == 128));
    return !bad;
}
