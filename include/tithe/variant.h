/* variant.h - the shape of a selector and of a quantizer, the tables of those that come with Tithe, and
 * the way to bring your own. Nobody who only encodes and decodes needs this page. docs/add-a-quantizer.md
 * walks through one.
 *
 * A variant is one const struct in one file. It keeps no state: all that a call needs is in its arguments. */
#ifndef TITHE_VARIANT_H
#define TITHE_VARIANT_H

#include "tithe/codec.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TITHE_MAX_PARAMS = 8,
    TITHE_WIRE_NUMBER = 255,     /* tithe_param.wire: a number in the header of a self-contained frame */
    TITHE_WIRE_LEVEL = 254,      /* the same, and in the exchange form too, since a tuner may change it */
    TITHE_FIRST_PRIVATE_ID = 12, /* ids 12 to 15 are never given to a variant of Tithe's own */
    TITHE_BLOCK = 4096           /* values handled at a time: they stay in the first-level cache */
};

/* What an amount is measured in. A number without a unit is in the first one of the list. */
typedef enum tithe_unit {
    TITHE_UNIT_NONE = 0,
    TITHE_UNIT_SECONDS, /* s, ms, us, ns, min */
    TITHE_UNIT_RATE,    /* B, kB, MB, GB, bit, kbit, Mbit, Gbit, each for a second: 10Gbit is 1e10 bit/s */
    TITHE_UNIT_BYTES    /* B, kB, MB, GB, KiB, MiB, GiB */
} tithe_unit;

typedef struct tithe_param {
    const char *name; /* NULL ends a list */
    const char *doc;
    double fallback; /* the default; NAN: none */
    double min, max;
    const char *choices; /* "mean|norm": the value is the place in this list, from 0; NULL for a number */
    bool whole;          /* whole numbers only */
    uint8_t wire;    /* 0: the decoder can do without; 1..6: so many bits of the flags byte; NUMBER; LEVEL */
    tithe_unit unit; /* that may follow the number */
} tithe_param;

/* Names that mean the same wherever they stand: scale=unbiased|contractive and type=f32|f64 hold for the
 * pair, whichever of its two parts states them. */

/* ---- randomness --------------------------------------------------------------------------------------- */

typedef struct tithe_key {
    uint64_t a, b;
} tithe_key;

/* 4096 random 32-bit numbers: the same for the same key and block, on every machine, in any order of
 * calls. */
TITHE_API void tithe_random_block(tithe_key key, uint64_t block, uint32_t out[TITHE_BLOCK]);

/* 1 with probability p exactly (up to 2^-64), where `random` is a fresh number from a block; the few draws
 * that 32 bits cannot decide look up more bits by position. */
TITHE_API bool tithe_random_below(double p, uint32_t random, tithe_key key, uint64_t position);

/* ---- where values go ---------------------------------------------------------------------------------- */

/* y[at[i]] += scale * value[i], or y[i] += ... when at is NULL; nothing at all when y is NULL. The decoder's
 * output and the encoder's error feedback (scale = -1) are the same thing. */
typedef struct tithe_sink {
    void *y;
    const uint32_t *at;
    double scale;
    tithe_type type;
} tithe_sink;

TITHE_API void tithe_sink_add(const tithe_sink *sink, size_t first, const void *values, size_t count);

/* ---- selector ----------------------------------------------------------------------------------------- */

typedef enum tithe_index_source {
    TITHE_INDICES_ALL,   /* every position: nothing to send */
    TITHE_INDICES_SENT,  /* in the frame */
    TITHE_INDICES_DRAWN, /* both ends draw them from seed, step, rank and tensor */
    TITHE_INDICES_GIVEN  /* both ends were handed them */
} tithe_index_source;

/* Which of the coordinates a selector picks, as far as a tuner may count on it. */
typedef enum tithe_pick {
    TITHE_PICKS_ANY,     /* nothing can be said */
    TITHE_PICKS_LARGEST, /* the largest magnitudes, or nearly so */
    TITHE_PICKS_OPTIMAL  /* each with the probability that makes the error least */
} tithe_pick;

typedef struct tithe_select_call {
    /* In the order of the table; NAN where nothing was stated and there is no default. */
    const double *params;
    const void *x;
    size_t n;
    tithe_type type;
    bool contractive;
    const tithe_call *call;
    tithe_key key;
    void *scratch; /* scratch(n) bytes, 64-byte aligned */
    /* Error compensation, only where the selector `fuses`: x is to become x + gamma * gradient on the way. */
    const float *gradient;
    float gamma;
    /* With a gradient: survivors may be taken out of x at once, since they will be sent as they are. */
    bool take;
} tithe_select_call;

typedef struct tithe_selection {
    uint32_t *indices; /* room for 16 more than asked for; to be filled ascending */
    void *values;      /* likewise, for the survivors; `gathered` says that the selector filled it */
    bool gathered;
    bool taken; /* the survivors, which were gathered, left zeros in x */
    size_t count;
    double factor; /* survivors are multiplied by it before they are written; 1 when nothing is said */
    double shared; /* all survivors below `exact_from` have this magnitude; 0: no such group */
    double exact_from;
} tithe_selection;

typedef struct tithe_selector {
    const char *name, *summary, *paper;
    const tithe_param *params;
    uint8_t id;
    tithe_index_source source;
    bool projection; /* survivors keep their value: factor is 1 */
    bool scales;     /* a projection only under scale=contractive: unbiased, it multiplies */
    bool shares;     /* may set tithe_selection.shared */
    bool absolute; /* the level, its first parameter, is a magnitude in units of the gradient: not a count */
    bool fuses;    /* for floats: its own pass adds the gradient and finds what is not finite */
    bool told;     /* takes tithe_call.largest in place of a search of its own */
    tithe_pick picks;

    /* NULL, or a sentence that says why these parameters cannot be. May itself be NULL. */
    const char *(*refuse)(const double *params);
    /* Do the parameters say how much to send? If not, the codec is legal only under a tuner. NULL: always. */
    bool (*has_level)(const double *params);
    /* Put the level of a call (a number of entries, or a magnitude if `absolute`) in place of what the
     * parameters say. NULL: there is no level to set. */
    void (*set_level)(double *params, double level);
    /* NULL, or a sentence: why a tuner cannot set it under these parameters. May itself be NULL. */
    const char *(*untunable)(const double *params);
    size_t (*max_count)(const double *params, size_t n);
    /* Room that select needs in indices and values, where that is more than max_count. NULL: it is not. */
    size_t (*room)(const double *params, size_t n);
    size_t (*scratch)(const double *params, size_t n); /* bytes; NULL: none */
    tithe_status (*select)(const tithe_select_call *c, tithe_selection *s, tithe_error *error);
    /* The decoder's half of TITHE_INDICES_DRAWN: the same indices from the same call. */
    void (*draw)(tithe_key key, size_t n, size_t count, uint32_t *indices, void *scratch);
    void (*claims)(const double *params, size_t n, bool contractive, tithe_claims *claims);
} tithe_selector;

/* ---- quantizer ---------------------------------------------------------------------------------------- */

/* The CRC-32C of a payload, made while it was in the cache. */
typedef struct tithe_checksum {
    bool known;
    uint32_t crc;
} tithe_checksum;

/* What the values of a message have in common. */
typedef enum tithe_common {
    TITHE_COMMON_NOTHING, /* each is written by itself */
    TITHE_COMMON_MEAN,    /* one magnitude, the mean of theirs */
    TITHE_COMMON_NORM     /* a norm, of all or of each bucket */
} tithe_common;

typedef struct tithe_quant_call {
    const double *params;
    tithe_type type;
    bool contractive;
    size_t count;
    double whole_norm; /* l2 norm of the vector before selection, where needs_norm asks for it */
    tithe_key key;
    /* Error compensation, only where the quantizer `fuses`: what is to be written is values + gamma *
     * gradient, and what is not sent of it is to be left in `sent`, which is where the values came from. */
    const float *gradient;
    float gamma;
    struct tithe_pool *pool;  /* NULL: no other threads */
    tithe_checksum *checksum; /* NULL, or where encode may leave that of the bytes it wrote */
} tithe_quant_call;

typedef struct tithe_quantizer {
    const char *name, *summary, *paper;
    const tithe_param *params;
    uint8_t id;
    bool takes_f64;
    bool exact;     /* what the decoder sees is the value itself */
    bool rounds;    /* deterministic rounding: nearly, but not exactly, unbiased */
    bool saturates; /* what exceeds claims.largest is cut; otherwise it is refused before encode is called */
    tithe_common common;

    const char *(*refuse)(const double *params, tithe_type type);
    /* Does encode, for floats, add the gradient and find what is not finite in its own pass? It then
     * writes zeros for what is not, leaves it in place, and returns TITHE_E_NONFINITE at the end. NULL:
     * no. */
    bool (*fuses)(const double *params);
    bool (*needs_norm)(const double *params); /* NULL: never */
    bool (*fixed_size)(const double *params); /* NULL: always */
    /* Numbers that share a norm, which a vector is not cut between. NULL: it may be cut anywhere. */
    size_t (*bucket)(const double *params);
    uint64_t (*max_bits)(const tithe_quant_call *c);
    /* The bits that the papers would count for c->count values. NULL: 32 each, of doubles 64. */
    double (*paper_bits)(const tithe_quant_call *c);
    /* Write c->count values, none beyond claims.largest unless it saturates, into room for max_bits.
     * `sent` takes what the decoder will see, after the values of its block were read: it may write over
     * them. */
    tithe_status (*encode)(const tithe_quant_call *c, const void *values, uint8_t *dst, uint64_t *bits,
                           const tithe_sink *sent, tithe_error *error);
    /* Is src what encode could have written? Sets the bits that it takes. Reads inside length only. */
    tithe_status (*check)(const tithe_quant_call *c, const uint8_t *src, size_t length, uint64_t *bits);
    /* Only called after check said yes. */
    void (*decode)(const tithe_quant_call *c, const uint8_t *src, size_t length, const tithe_sink *out);
    void (*claims)(const tithe_quant_call *c, tithe_claims *claims);
    /* How vectors become whole numbers that a switch can add. NULL: they do not. */
    const struct quant_integers *integers;
} tithe_quantizer;

/* ---- tables ------------------------------------------------------------------------------------------- */

/* Both tables end with NULL. */
TITHE_API const tithe_selector *const *tithe_selectors(void);
TITHE_API const tithe_quantizer *const *tithe_quantizers(void);

/* A codec from two variants of any origin; params as in the table's order, NAN for "not stated". NULL for all
 * defaults. The structs must outlive the codec. */
TITHE_API tithe_status tithe_codec_make(const tithe_selector *selector, const double *selector_params,
                                        const tithe_quantizer *quantizer, const double *quantizer_params,
                                        const tithe_codec_options *options, tithe_codec **codec,
                                        tithe_error *error);

#ifdef __cplusplus
}
#endif
#endif
