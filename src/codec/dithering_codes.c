/* dithering_codes.c - see dithering_codes.h. */
#include "codec/dithering_codes.h"

/* ---- write -------------------------------------------------------------------------------------------- */

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

/* While there is room for eight bytes, which sixteen codes have: none takes less than four bits at its greatest. */
enum { ROOMY = 16 };

/* Up to seven levels: a kernel joins eight words, which are 64 bits at most. */
static size_t write_groups(bit_writer *w, const uint8_t *codes, size_t many, size_t left)
{
    uint64_t word[64];
    uint8_t width[64];
    size_t i = 0;
    while (many - i >= 8 && left - i >= ROOMY) {
        const size_t all = (many - i) / 8, safe = (left - i - ROOMY) / 8 + 1;
        size_t groups = all < safe ? all : safe;
        if (groups > 64) groups = 64;
        ti_kernels()->elias_groups(codes + i, groups, word, width);
        for (size_t g = 0; g < groups; g++) bits_put_long(w, word[g], width[g]);
        i += 8 * groups;
    }
    return i;
}

/* Up to 127: three words of up to sixteen bits. */
static size_t write_threes(bit_writer *w, const elias_words *words, const uint8_t *codes, size_t many,
                           size_t left)
{
    size_t i = 0;
    for (; many - i >= 3 && left - i >= ROOMY; i += 3) {
        const unsigned a = codes[i], b = codes[i + 1], c = codes[i + 2];
        const unsigned two = (unsigned)words->width[a] + words->width[b];
        const uint64_t word =
            words->word[a] | (uint64_t)words->word[b] << words->width[a] | (uint64_t)words->word[c] << two;
        bits_put_long(w, word, two + words->width[c]);
    }
    return i;
}

void ti_level_codes_write(bit_writer *w, const elias_words *words, unsigned s, const uint8_t *codes,
                          size_t many, size_t left)
{
    size_t i = 0;
    if (words) {
        bits_at_byte(w);
        i = s <= 7 ? write_groups(w, codes, many, left) : write_threes(w, words, codes, many, left);
        for (; i < many; i++) bits_put(w, words->word[codes[i]], words->width[codes[i]]);
        return;
    }
    const unsigned width = level_code_width(s);
    while (i < many && !bits_at_byte(w)) {
        put_level(w, false, s, codes[i] & 127, codes[i] >> 7);
        i++;
    }
    const size_t whole = (many - i) / 8 * 8;
    if (whole) {
        uint8_t *dst = bits_take_bytes(w, whole / 8 * width);
        if (width == 8)
            memcpy(dst, codes + i, whole);
        else
            ti_kernels()->pack_codes(codes + i, whole, width, dst);
    }
    for (i += whole; i < many; i++) put_level(w, false, s, codes[i] & 127, codes[i] >> 7);
}

/* ---- read --------------------------------------------------------------------------------------------- */

/* Whole codes from the start of a window, as many as there are. */
static elias_entry read_window(unsigned window, unsigned s)
{
    elias_entry entry = {.count = 0};
    while (window >> entry.width) {
        const unsigned rest = window >> entry.width, extra = (unsigned)__builtin_ctz(rest);
        const unsigned width = extra ? 2 * extra + 2 : 1;
        const unsigned level = (1u << extra | (rest >> (extra + 1) & ((1u << extra) - 1))) - 1;
        if (entry.width + width > ELIAS_WINDOW || level > s) break;
        const unsigned negative = extra ? rest >> (width - 1) & 1 : 0;
        entry.codes[entry.count++] = (uint8_t)(level | negative << 7);
        entry.width = (uint8_t)(entry.width + width);
    }
    return entry;
}

void ti_elias_table(elias_table *table, unsigned s)
{
    for (unsigned window = 0; window < 1u << ELIAS_WINDOW; window++)
        table->entry[window] = read_window(window, s);
}

/* codes may be NULL */
static inline bool read_elias(bit_reader *r, unsigned s, const elias_table *table, size_t many,
                              uint8_t *codes)
{
    size_t i = 0;
    while (i < many) {
        if (table) i += ti_kernels()->elias_read(table, r, many - i, codes ? codes + i : NULL);
        if (i == many) break;
        bool negative;
        const unsigned level = get_level(r, true, s, &negative);
        if (r->overrun || level > s) return false;
        if (codes) codes[i] = (uint8_t)(level | (unsigned)negative << 7);
        i++;
    }
    return true;
}

/* A place where a code begins, in all likelihood: read from anywhere, a stream of such codes soon falls into step. */
static uint64_t fall_into_step(bit_reader r, unsigned s)
{
    for (int codes = 0; codes < 64; codes++) {
        const uint64_t here = r.position;
        bool negative;
        if (get_level(&r, true, s, &negative) > s) r.position = here + 1;
    }
    return r.position;
}

/* Go on to `limit`, a place that may be beside a code; what is left to it is less than a word, or nothing. */
static bool walk_to(bit_reader *r, unsigned s, const elias_table *table, uint64_t limit, bool exactly,
                    size_t *passed)
{
    while (exactly ? r->position < limit : r->position + 64 <= limit) {
        bit_reader part = *r;
        part.end = limit;
        *passed += ti_kernels()->elias_read(table, &part, SIZE_MAX / 2, NULL);
        r->position = part.position;
        if (exactly ? r->position == limit : r->position + 64 > limit) break;
        if (!read_elias(r, s, NULL, 1, NULL)) return false; /* a code too long for the table, or at the end */
        ++*passed;
    }
    return !exactly || r->position == limit;
}

/* Readers start at quarters of the stream, and each must arrive where the next one began: then all of them are in step
 * with the first. */
bool ti_elias_split(bit_reader *r, unsigned s, const elias_table *table, size_t many,
                    elias_point points[ELIAS_CHAINS], size_t *passed)
{
    bit_reader chain[ELIAS_CHAINS];
    const uint64_t length = r->end - r->position;
    size_t done[ELIAS_CHAINS];
    for (unsigned k = 0; k < ELIAS_CHAINS; k++) {
        chain[k] = *r;
        done[k] = SIZE_MAX / 2; /* no matter how many */
        chain[k].position += length / ELIAS_CHAINS * k;
        if (k) chain[k].position = fall_into_step(chain[k], s);
        if (k) chain[k - 1].end = chain[k].position;
    }
    ti_kernels()->elias_chains(table, chain, done, NULL);
    *passed = 0;
    for (unsigned k = 0; k < ELIAS_CHAINS; k++) {
        const uint64_t limit = chain[k].end;
        chain[k].end = r->end;
        if (!walk_to(&chain[k], s, table, limit, k + 1 < ELIAS_CHAINS, &done[k])) return false;
        points[k] = (elias_point){k ? chain[k - 1].position : r->position, *passed};
        *passed += done[k];
    }
    if (*passed > many) return false;
    r->position = chain[ELIAS_CHAINS - 1].position;
    return true;
}

bool ti_elias_codes_pass(bit_reader *r, unsigned s, const elias_table *table, size_t many)
{
    elias_point points[ELIAS_CHAINS];
    size_t passed = 0;
    if (table && many >= ELIAS_SPLIT && !ti_elias_split(r, s, table, many, points, &passed)) passed = 0;
    return read_elias(r, s, table, many - passed, NULL);
}

static uint8_t read_one(bit_reader *r, unsigned s)
{
    bool negative;
    const unsigned level = get_level(r, false, s, &negative);
    return (uint8_t)(level | (unsigned)negative << 7);
}

static bool read_fixed(bit_reader *r, unsigned s, size_t many, uint8_t *codes)
{
    const unsigned width = level_code_width(s);
    if ((uint64_t)many * width > r->end - r->position) return false;
    size_t i = 0;
    while (i < many && r->position % 8) codes[i++] = read_one(r, s);
    const size_t whole = (many - i) / 8 * 8;
    const uint8_t *src = r->bytes + r->position / 8;
    if (width == 8)
        memcpy(codes + i, src, whole);
    else
        ti_kernels()->unpack_codes(src, whole, width, codes + i);
    r->position += (uint64_t)whole * width;
    for (i += whole; i < many; i++) codes[i] = read_one(r, s);
    return true;
}

bool ti_level_codes_sound(const uint8_t *codes, size_t many, unsigned s)
{
    uint8_t max = 0, min = 255; /* bytes among bytes vectorise; a negative zero becomes the least of all */
    for (size_t i = 0; i < many; i++) {
        const uint8_t level = codes[i] & 127, flipped = codes[i] ^ 128;
        max = level > max ? level : max;
        min = flipped < min ? flipped : min;
    }
    return max <= s && min > 0;
}

bool ti_level_codes_read(bit_reader *r, bool elias, unsigned s, const elias_table *table, size_t many,
                         uint8_t *codes)
{
    return elias ? read_elias(r, s, table, many, codes) : read_fixed(r, s, many, codes);
}

const uint8_t *ti_level_codes_view(bit_reader *r, bool elias, unsigned s, const elias_table *table,
                                   size_t many, uint8_t *room)
{
    if (elias || level_code_width(s) != 8 || r->position % 8)
        return ti_level_codes_read(r, elias, s, table, many, room) ? room : NULL;
    if ((uint64_t)many * 8 > r->end - r->position) return NULL;
    const uint8_t *codes = r->bytes + r->position / 8;
    r->position += (uint64_t)many * 8;
    return codes;
}
