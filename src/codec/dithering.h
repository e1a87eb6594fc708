/* dithering.h - what standard and natural dithering share: a norm for every bucket, then a level and a sign
 * for every value. They differ in the grid of levels alone, which is what a level_grid holds. */
#ifndef CODEC_DITHERING_H
#define CODEC_DITHERING_H

#include "codec/dithering_codes.h"
#include "codec/quant.h"
#include "kernels/define.h"
#include "kernels/parallel.h"

enum { LEVEL_P = 0, LEVEL_S = 1, LEVEL_BUCKET = 2, LEVEL_NORM = 3, LEVEL_CODE = 4 };
enum { LEVEL_P_1, LEVEL_P_2, LEVEL_P_INF };

#define LEVEL_PARAMS(max_levels)                                              \
    {.name = "p",                                                             \
     .doc = "the norm that scales a bucket; inf, the largest, loses least",   \
     .fallback = LEVEL_P_2,                                                   \
     .max = 2,                                                                \
     .choices = "1|2|inf",                                                    \
     .wire = 2},                                                              \
        {.name = "s",                                                         \
         .doc = "non-zero levels; 7 make 4 bits with sign and zero",          \
         .fallback = 7,                                                       \
         .min = 1,                                                            \
         .max = (max_levels),                                                 \
         .whole = true,                                                       \
         .wire = TITHE_WIRE_LEVEL},                                           \
        {.name = "bucket",                                                    \
         .doc = "values that share a norm; 0: all, which a long tail spoils", \
         .fallback = 0,                                                       \
         .min = 0,                                                            \
         .max = 16383,                                                        \
         .whole = true,                                                       \
         .wire = TITHE_WIRE_NUMBER},                                          \
        {.name = "norm",                                                      \
         .doc = "raw writes a norm in 32 bits, natural in 8",                 \
         .fallback = 0,                                                       \
         .max = 1,                                                            \
         .choices = "raw|natural",                                            \
         .wire = 1},                                                          \
        {.name = "code",                                                      \
         .doc = "fixed width, or Elias gamma",                                \
         .fallback = 0,                                                       \
         .max = 1,                                                            \
         .choices = "fixed|elias",                                            \
         .wire = 1},                                                          \
        QUANT_SCALE

/* t = |x| * steps(s) / norm lies in [0, steps(s)]; the grid rounds it to a level in 0..s. */
typedef struct level_grid {
    double (*steps)(unsigned s);
    unsigned (*round)(float t, uint32_t random, tithe_key key, uint64_t position); /* E value(round(t)) = t */
    void (*levels)(const level_job *job); /* the same for a row of values, up to 127 levels */
    void (*moments)(const level_job *job, double *squares,
                    double *expected);                      /* of t, and of the level drawn for it */
    float (*value)(unsigned level, unsigned s, float norm); /* what the decoder makes of a level */
    void (*values)(unsigned count, unsigned s, float norm, float *value); /* of levels 0 to count - 1 */
    double (*variance)(double s, double reach); /* omega, where |x|_p <= reach/sqrt(d) |x|_2 */
    float (*step)(unsigned s, float norm); /* between even levels: value = level * step. NULL: they are not */
} level_grid;

#define LARGEST_NORM 0x1p127f /* so that no level is infinite, however norm / s was rounded */

static inline unsigned levels_of(const tithe_quant_call *c)
{
    return (unsigned)c->params[LEVEL_S];
}

static inline size_t levels_bucket(const tithe_quant_call *c)
{
    const size_t bucket = (size_t)c->params[LEVEL_BUCKET];
    return bucket && bucket < c->count ? bucket : c->count;
}

static inline size_t levels_bucket_count(const tithe_quant_call *c)
{
    return c->count ? (c->count - 1) / levels_bucket(c) + 1 : 0;
}

static inline size_t levels_bucket_end(const tithe_quant_call *c, size_t b)
{
    const size_t bucket = levels_bucket(c), begin = b * bucket;
    return c->count - begin < bucket ? c->count : begin + bucket;
}

static inline unsigned levels_norm_bytes(const tithe_quant_call *c)
{
    return c->params[LEVEL_NORM] == 1 ? 1 : 4;
}

static inline bool levels_are_elias(const tithe_quant_call *c)
{
    return c->params[LEVEL_CODE] == 1;
}

/* t = (|x| * lift) * slope. The lift, a power of two, keeps the slope a normal number for norms near
 * either end of the range of floats. */
typedef struct bucket_scale {
    float lift, slope;
} bucket_scale;

static inline bucket_scale levels_scale(double steps, float norm)
{
    bucket_scale b = {1, 0};
    if (norm < 0x1p-60f) b.lift = 0x1p100f;
    if (norm > 0x1p60f) b.lift = 0x1p-64f;
    if (norm > 0) b.slope = (float)(steps / ((double)norm * (double)b.lift));
    return b;
}

/* What the sixteen codes of four bits add to a vector. */
static inline void level_nibble_table(const level_grid *grid, unsigned s, float norm, float scale,
                                      float table[16])
{
    float value[8];
    grid->values(8, s, norm, value);
    for (unsigned level = 0; level < 8; level++) {
        table[level] = level <= s ? scale * value[level] : 0;
        table[8 + level] = level <= s ? scale * -value[level] : 0;
    }
}

/* scale * value[code] for a byte of level and sign; of sixteen levels at least, as many as a register holds. */
static inline void level_value_table(const level_grid *grid, unsigned s, float norm, float scale,
                                     float value[256])
{
    const unsigned count = s < 16 ? 16 : s + 1;
    grid->values(count, s, norm, value);
    for (unsigned level = 0; level < count; level++) {
        value[level] = scale * value[level];
        value[128 + level] = -value[level];
    }
}

/* From so many levels on products are faster than a table, which has to be filled for every bucket, and fetched from. Tables of fewer
 * stand in registers. */
enum { LEVELS_MULTIPLIED = 8 };

/* What codes stand for goes into the sink: straight into a dense one. */
static inline void level_codes_add(const level_grid *grid, unsigned s, float norm, const uint8_t *codes,
                                   size_t first, size_t many, const tithe_sink *out)
{
    if (grid->step && !out->at && s >= LEVELS_MULTIPLIED) {
        ti_kernels()->steps_add(codes, many, grid->step(s, norm), (float)out->scale, (float *)out->y + first);
        return;
    }
    float value[256], block[TITHE_BLOCK];
    level_value_table(grid, s, norm, out->at ? 1 : (float)out->scale, value);
    if (!out->at) {
        ti_kernels()->codes_add(codes, many, s, value, (float *)out->y + first);
        return;
    }
    for (size_t i = 0; i < many; i++) block[i] = value[codes[i]];
    tithe_sink_add(out, first, block, many);
}

/* Buckets [first, end) in parts, as threads take them: a part begins at a byte of the codes. */
enum { LEVEL_UNIT = 8, ELIAS_WORTH = 1 << 14 /* codes from which on a table to read them pays */ };

static inline unsigned levels_parts(const tithe_quant_call *c)
{
    if (levels_are_elias(c) || levels_bucket_count(c) < 2 * LEVEL_UNIT) return 1;
    return pool_parts(c->pool, c->count, PARALLEL_MIN);
}

double ti_levels_norm(const tithe_quant_call *c, const float *x, size_t count); /* as `p` says */
uint64_t ti_levels_max_bits(const tithe_quant_call *c);
/* `norm` bits for the norm of each bucket, `each` + log2 s for each value. */
double ti_levels_paper_bits(const tithe_quant_call *c, double norm, double each);
bool ti_levels_fixed_size(const double *params);
size_t ti_levels_bucket_of(const double *params);
bool ti_levels_fuse(const double *params);
tithe_status ti_levels_encode(const level_grid *grid, const tithe_quant_call *c, const float *values,
                              uint8_t *dst, uint64_t *bits, const tithe_sink *sent);
tithe_status ti_levels_check(const tithe_quant_call *c, const uint8_t *src, size_t length, uint64_t *bits);
void ti_levels_decode(const level_grid *grid, const tithe_quant_call *c, const uint8_t *src, size_t length,
                      const tithe_sink *out);
void ti_levels_claims(const level_grid *grid, const tithe_quant_call *c, tithe_claims *claims);

#endif
