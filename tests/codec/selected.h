/* selected.h - which positions a codec chose, read from the frame that it wrote. */
#ifndef TESTS_CODEC_SELECTED_H
#define TESTS_CODEC_SELECTED_H

#include "base/bytes.h"
#include "codec/indices.h"
#include "support.h"

/* One encoding, with everything it needs; freed by selected_free. */
typedef struct selected {
    tithe_status status;
    tithe_error error;
    tithe_frame_info info;
    uint8_t *frame;
    uint32_t *at;          /* the positions, ascending; only for selectors that send them */
    const uint8_t *values; /* where the values begin in the frame */
} selected;

static inline selected select_with(const tithe_codec *codec, tithe_call call, const void *x, size_t n)
{
    selected s = {0};
    const size_t bound = tithe_codec_bound(codec, n), scratch = tithe_codec_scratch(codec, n);
    s.frame = malloc(bound);
    call.scratch = malloc(scratch + 1);
    call.scratch_size = scratch;
    assert_true(s.frame && call.scratch);
    s.status = tithe_codec_type(codec) == TITHE_F32
                   ? tithe_encode(codec, &call, x, n, s.frame, bound, &s.info, &s.error)
                   : tithe_encode_f64(codec, &call, x, n, s.frame, bound, &s.info, &s.error);
    free(call.scratch);
    if (s.status || call.form == TITHE_EXCHANGE) return s;
    tithe_frame_header h;
    expect(tithe_frame_read(s.frame, s.info.bytes, &h, &s.error) == TITHE_OK, "%s", s.error.text);
    s.at = malloc((s.info.entries + 1) * sizeof *s.at);
    assert_non_null(s.at);
    /* golomb_m is 2^shift or 3 * 2^shift */
    index_plan plan = {.coding = h.coding, .shift = h.golomb_m ? (unsigned)__builtin_ctz(h.golomb_m) : 0};
    plan.three = h.golomb_m && h.golomb_m >> plan.shift == 3;
    s.values = s.frame + h.header_bytes;
    if (tithe_codec_selector(codec)->source == TITHE_INDICES_SENT) {
        expect(ti_indices_read(&plan, s.values, h.payload_bytes, s.info.entries, n, s.at),
               "%s: unreadable indices", tithe_codec_spec(codec));
        s.values += (plan.bits + 7) / 8;
    }
    return s;
}

static inline void selected_free(selected *s)
{
    free(s->frame);
    free(s->at);
    *s = (selected){0};
}

/* The k largest of [first, first + n) by sorting: larger magnitudes first, lower positions first among equals. */
typedef struct sort_entry {
    double magnitude;
    uint32_t position;
} sort_entry;

static inline int by_magnitude(const void *left, const void *right)
{
    const sort_entry *a = left, *b = right;
    if (a->magnitude != b->magnitude) return a->magnitude < b->magnitude ? 1 : -1;
    return a->position < b->position ? -1 : 1;
}

static inline int by_position(const void *left, const void *right)
{
    const sort_entry *a = left, *b = right;
    return a->position < b->position ? -1 : a->position > b->position;
}

/* Sorted largest first; the caller frees it. */
static inline sort_entry *sorted_magnitudes(tithe_type type, const void *x, size_t first, size_t n)
{
    sort_entry *list = malloc((n + 1) * sizeof *list);
    assert_non_null(list);
    for (size_t i = 0; i < n; i++)
        list[i] = (sort_entry){fabs(get_number(type, x, first + i)), (uint32_t)(first + i)};
    qsort(list, n, sizeof *list, by_magnitude);
    return list;
}

/* ---- vectors that make a choice hard ------------------------------------------------------- */

enum { RANDOM, TIES, FEW_NONZERO, ASCENDING, DESCENDING, TINY, BOTH_ZEROS, CORNER, HEAVY, FLAT, SHAPES };

static inline double shape_number(int shape, size_t i, size_t n, dice *d)
{
    switch (shape) {
    case RANDOM: return (double)(float)roll_gauss(d);
    case TIES: return (double)roll_below(d, 5) - 2;
    case FEW_NONZERO: return roll_below(d, 40) ? 0 : (double)(float)roll_gauss(d);
    case ASCENDING: return (double)i;
    case DESCENDING: return -(double)(n - i);
    case TINY: return (double)float_of_bits((uint32_t)roll(d) & 0x8000ffffu);
    case BOTH_ZEROS: return roll_below(d, 2) ? 0.0 : -0.0;
    case CORNER: return (i < n / 16 ? 100 : 0.01) * (double)(float)roll_gauss(d);
    case HEAVY: return (double)(float)(roll_gauss(d) * exp(4 * roll_gauss(d)));
    default: return i % 2 ? 0.5 : -0.5;
    }
}

static inline void fill_shape(tithe_type type, int shape, void *x, size_t n, dice *d)
{
    for (size_t i = 0; i < n; i++) set_number(type, x, i, (double)(float)shape_number(shape, i, n, d));
}

/* As a frame has it: little-endian. */
static inline double frame_number(tithe_type type, const uint8_t *p)
{
    return type == TITHE_F32 ? (double)get_f32(p) : get_f64(p);
}

/* The values are the numbers themselves. */
static inline void expect_values(const selected *s, tithe_type type, const void *x)
{
    for (size_t i = 0; i < s->info.entries; i++) {
        const double sent = frame_number(type, s->values + i * type_bytes(type)),
                     wanted = get_number(type, x, s->at[i]);
        assert_memory_equal(&sent, &wanted, sizeof sent);
    }
}

#endif
