/* vectors.h - what the claims are tried on: Gaussian, heavy-tailed, sparse and adversarial vectors. */
#ifndef CHECK_VECTORS_H
#define CHECK_VECTORS_H

#include "tithe/codec.h"
#include "tithe/variant.h"

static inline tithe_claims codec_claims(const tithe_codec *codec, size_t n)
{
    tithe_claims claims = {.size = sizeof claims};
    tithe_codec_claims(codec, n, &claims);
    return claims;
}

/* Random numbers one by one, from the library's own generator. */
typedef struct check_random {
    tithe_key key;
    uint64_t block;
    unsigned used;
    uint32_t numbers[TITHE_BLOCK];
} check_random;

void ti_check_random_start(check_random *r, uint64_t seed, uint64_t stream);
double ti_check_random_uniform(check_random *r); /* in (0, 1) */
double ti_check_random_sign(check_random *r);    /* -1 or 1 */

typedef struct check_vector {
    const char *name;
    size_t n;
    double *x;          /* what the codec's type can hold, exactly */
    float *f32;         /* the same, for f32 codecs; else NULL */
    double norm2;       /* |x|^2 */
    size_t segments[3]; /* uneven layers, for per=layer */
} check_vector;

typedef struct check_vectors {
    check_vector *list;
    size_t count;
    size_t longest;
    uint32_t *given; /* every 7th index, as many as the longest vector has */
} check_vectors;

/* All test vectors for a codec, inside [smallest, largest] of its claims; around Delta/sqrt(n) where the
 * codec has an absolute error, so that some entries survive a threshold and some do not. */
tithe_status ti_check_vectors_make(const tithe_codec *codec, uint64_t seed, check_vectors *vectors);
/* One Gaussian vector of any length, by the same rules. */
tithe_status ti_check_vectors_gaussian(const tithe_codec *codec, uint64_t seed, size_t n,
                                       check_vectors *vectors);
/* One vector with these values, which the codec's type must be able to hold. */
tithe_status ti_check_vectors_own(const tithe_codec *codec, const char *name, const double *x, size_t n,
                                  check_vectors *vectors);
void ti_check_vector_set(check_vector *v, const double *x); /* other values, same length */
void ti_check_vectors_free(check_vectors *vectors);

/* How many entries of `given` lie below n. */
size_t ti_check_given_count(size_t n);

#endif
