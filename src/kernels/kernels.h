/* kernels.h - the passes over whole vectors, as one table of functions per instruction set.
 *
 * define.h says what each of them computes, to the bit; the tables may only differ in speed. Sums run in
 * double over sixteen lanes (element i goes to lane i mod 16) that are folded in halves at the end, and
 * nothing is fused or reordered beyond that, so every vector unit can give the same bits. */
#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H

#include "base/bits.h"
#include "tithe/variant.h"

/* Where a kernel reads: x itself, or, when g is there, e = x, which becomes e + gamma*g on the way (error
 * compensation). Where gamma*g is not finite, e is left as it was; where only the sum is not, it becomes
 * the largest number of that sign. Both can be told from g afterwards, so the gradient can be taken back. */
typedef struct kernel_source {
    float *x;
    const float *g;
    float gamma;
} kernel_source;

typedef struct natural_job {
    kernel_source source;
    size_t n;
    tithe_key key;
    uint64_t position; /* of the first value in the message: a multiple of NATURAL_SPAN */
    uint8_t *fields;   /* n exponent fields; zero for what is not finite */
    uint8_t *signs;    /* n bits; the last byte is padded with zeros */
    bool subtract;     /* leave v - factor * rounded in x */
    float factor;
} natural_job;

enum { NATURAL_SPAN = 2 * TITHE_BLOCK }; /* two values share a random number */
enum { ROWS_AT_ONCE = 4 };               /* data rows for one pass over x or g */

typedef struct select_job {
    kernel_source source;
    size_t n;
    uint32_t first;    /* index of source.x[0] */
    uint32_t min;      /* magnitude bits: |v| >= this survives */
    uint32_t *indices; /* room for capacity + 16 */
    float *values;     /* likewise */
    size_t capacity;   /* when more survive, the count says so, but the surplus may be missing */
    size_t expected;   /* a guess of how many will: the result does not depend on it, the time does */
} select_job;

/* A selection from e + gamma g that sums up what it passes by. */
typedef struct form_job {
    select_job select; /* with a gradient */
    float *memory;     /* becomes g; or NULL */
    bool drift;        /* it held a vector, to be multiplied with g */
} form_job;

typedef struct level_job {
    const float *x;
    size_t n;
    float lift, slope; /* t = |x| * lift * slope */
    unsigned s;        /* at most 127 */
    const uint32_t *random;
    uint8_t *codes; /* level + 128 * sign, a byte each */
    tithe_key key;  /* for the draws that one random number cannot decide */
    uint64_t position;
} level_job;

/* All Elias codes that lie wholly in a window of the stream, so that one look-up reads them. */
enum { ELIAS_WINDOW = 11, ELIAS_MANY = 14, ELIAS_CHAINS = 4, CODES_SPARE = 16 };

typedef struct elias_entry {
    uint8_t codes[ELIAS_MANY];
    uint8_t count, width; /* of the codes, and of their bits */
} elias_entry;

typedef struct elias_table {
    elias_entry entry[1 << ELIAS_WINDOW];
} elias_table;

typedef struct kernels {
    const char *name;
    bool (*runs_here)(void);

    size_t (*find_nonfinite)(const float *x, size_t n); /* the first, or n */
    double (*sum_abs)(const float *x, size_t n);
    double (*sum_squares)(const float *x, size_t n);
    /* Of the magnitudes below `limit`, which is not negative; and the number of the others. */
    double (*sum_below)(const float *x, size_t n, float limit, size_t *others);
    float (*max_abs)(const float *x, size_t n); /* what is not finite is more than any number */
    void (*add_scaled)(float *y, const float *x, float scale, size_t n); /* y += scale * x */
    /* <before, now> and |now|^2, over 32 lanes; then `before` becomes `now`. */
    void (*drift)(float *before, const float *now, size_t n, double sums[2]);
    /* |x|^2, likewise; the copy, if there is to be one, becomes x. */
    double (*keep)(float *copy, const float *x, size_t n);
    void (*random_block)(tithe_key key, uint64_t block, uint32_t *out);
    bool (*natural_encode)(const natural_job *job); /* false: a value is not finite */
    /* y += scale * (factor * value) */
    void (*natural_decode_add)(const uint8_t *fields, const uint8_t *signs, size_t n, float factor,
                               float scale, float *y);
    void (*bf16_encode)(const float *x, size_t n, uint8_t *dst);
    void (*f16_encode)(const float *x, size_t n, uint8_t *dst);
    /* y += scale * value, of finite halves */
    void (*bf16_add)(const uint8_t *src, size_t n, float scale, float *y);
    void (*f16_add)(const uint8_t *src, size_t n, float scale, float *y);
    void (*sign_encode)(const float *x, size_t n, uint8_t *signs); /* a bit for x < 0, padded with zeros */
    void (*sign_add)(const uint8_t *signs, size_t n, float value, float *y); /* y += value, or -value */
    /* Survivors in ascending order; *finite is false if a value is not. */
    size_t (*select)(const select_job *job, bool *finite);
    /* Likewise; and |e + gamma g|^2, <memory, g> if it is to `drift`, and |g|^2 if there is a memory, to the bit as `keep` and `drift` have
     * them. They mean nothing where a value is not finite. */
    size_t (*form)(const form_job *job, double sums[3], bool *finite);
    void (*dither_levels)(const level_job *job);
    void (*natdither_levels)(const level_job *job);
    /* Sums of t^2 and of E level(t)^2, for the factor of contractive scale. */
    void (*dither_moments)(const level_job *job, double *squares, double *expected);
    void (*natdither_moments)(const level_job *job, double *squares, double *expected);
    void (*pack_nibbles)(const uint8_t *codes, size_t n, uint8_t *dst); /* n even: (code & 7) + 8 * sign */
    /* y[i] += table[nibble i], n even */
    void (*nibbles_add)(const uint8_t *src, size_t n, const float table[16], float *y);
    /* Codes as dither_levels makes them, n a multiple of 8, to and from `width` bits each, 2 to 7: the level, and
     * the sign on top. */
    void (*pack_codes)(const uint8_t *codes, size_t n, unsigned width, uint8_t *dst);
    void (*unpack_codes)(const uint8_t *src, size_t n, unsigned width, uint8_t *codes);
    /* Up to 7 levels: the Elias words of eight codes at a time, one behind the other, and the bits they take. */
    void (*elias_groups)(const uint8_t *codes, size_t groups, uint64_t *words, uint8_t *widths);
    /* Up to `many` codes while the table has them and the stream has eight bytes; how many. Sixteen more bytes may be
     * written to. codes may be NULL. */
    size_t (*elias_read)(const elias_table *table, bit_reader *r, size_t many, uint8_t *codes);
    /* The same from several places at once, since each look-up waits for the one before. It stops when one of them has
     * no more; many[] becomes what was read. codes may be NULL, all of it. */
    void (*elias_chains)(const elias_table *table, bit_reader r[ELIAS_CHAINS], size_t many[ELIAS_CHAINS],
                         uint8_t *const codes[ELIAS_CHAINS]);
    /* y[i] += scale * (level * step), minus where the sign is set: even levels, without a table */
    void (*steps_add)(const uint8_t *codes, size_t n, float step, float scale, float *y);
    /* y[i] += table[codes[i]], with levels up to s */
    void (*codes_add)(const uint8_t *codes, size_t n, unsigned s, const float table[256], float *y);
    /* In place: entries whose magnitude has at least the bits `least`. */
    size_t (*compact)(uint32_t *indices, float *values, size_t n, uint32_t min);
    /* The magnitudes from `least` to `most`, into room for n + 16; *above is the number of larger ones. */
    size_t (*collect)(const float *values, size_t n, uint32_t min, uint32_t max, uint32_t *keys,
                      size_t *above);
    /* Bits of all gaps between ascending indices, but for the low bits: quotients by 2^shift (or 3 *
     * 2^shift) in unary, and the ternary digits; for this shift and the next two. */
    void (*gap_bits)(const uint32_t *indices, size_t n, unsigned shift, bool three, uint64_t bits[3]);
    /* The gaps in two planes, as docs/format.md section 4 has them, into `bytes` bytes. */
    void (*gap_write)(const uint32_t *indices, size_t n, unsigned shift, bool three, size_t bytes,
                      uint8_t *dst);
    uint32_t (*crc32c)(uint32_t crc, const uint8_t *bytes, size_t n); /* without the final and initial xor */

    /* Learning (rows.h). Up to ROWS_AT_ONCE rows of n floats, so that x and g are read once for all of them:
     * dots[r] = rows[r] . x, and g += scales[r] * rows[r], one row after the other. The two passes share the work of
     * asking memory for ROWS_AT_ONCE rows `ahead`; where there are none, these are rows that are there already. */
    void (*rows_dot)(const float *const *rows, unsigned count, const float *const *ahead, const double *x,
                     size_t n, double *dots);
    void (*rows_add)(const float *const *rows, unsigned count, const float *const *ahead,
                     const double *scales, size_t n, double *g);
    /* Sum of values[i] * x[indices[i]]; no index may be above INT32_MAX, which is where gathers end. */
    double (*sparse_dot)(const uint32_t *indices, const float *values, size_t n, const double *x);
    /* Loss and slope of log(1 + exp(-label * product)) for labels +1 and -1. */
    void (*logistic)(const double *products, const double *labels, size_t n, double *losses, double *slopes);
} kernels;

extern const kernels ti_kernels_ref, ti_kernels_avx2, ti_kernels_avx512, ti_kernels_neon;

/* The best table that runs here, or the one that TITHE_KERNELS names; found once. */
const kernels *ti_kernels(void);
/* Use another table from now on, in the whole process; returns the one that was used. For benchmarks and
 * tests: it must run here. */
const kernels *ti_kernels_force(const kernels *table);
/* All tables that were compiled in, ending with NULL; ref is the first. */
const kernels *const *ti_kernel_tables(void);

/* ---- for vectors of either type, on top of the table --------------------------------------------------- */

size_t ti_find_nonfinite(tithe_type type, const void *x, size_t n);
double ti_norm1(tithe_type type, const void *x, size_t n);
double ti_norm2(tithe_type type, const void *x, size_t n); /* never overflows on the way */
double ti_norm_max(tithe_type type, const void *x, size_t n);
/* The sum of values[i] * x[indices[i]], to the bit what `drift` says of x and a vector that is zero but for these values. */
double ti_dot_few(const uint32_t *indices, const float *values, size_t count, const float *x);

#endif
