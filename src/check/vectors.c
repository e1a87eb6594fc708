/* vectors.c - see vectors.h. */
#include "check/vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- random numbers ----------------------------------------------------------------------------------- */

void ti_check_random_start(check_random *r, uint64_t seed, uint64_t stream)
{
    r->key.a = seed ^ UINT64_C(0x636865636b206974); /* apart from the keys that the codec's own draws use */
    r->key.b = stream;
    r->block = 0;
    r->used = TITHE_BLOCK;
}

static uint32_t random_next(check_random *r)
{
    if (r->used == TITHE_BLOCK) {
        tithe_random_block(r->key, r->block++, r->numbers);
        r->used = 0;
    }
    return r->numbers[r->used++];
}

double ti_check_random_uniform(check_random *r)
{
    const double high = random_next(r), low = random_next(r) >> 12;
    return (high * 1048576.0 + low + 0.5) /
           4503599627370496.0; /* 52 bits, and half of the last: never 0 or 1 */
}

static double random_normal(check_random *r)
{
    /* Box and Muller; the second normal is thrown away to keep the draw free of state. */
    const double radius = sqrt(-2 * log(ti_check_random_uniform(r)));
    return radius * cos(2 * 3.14159265358979323846 * ti_check_random_uniform(r));
}

double ti_check_random_sign(check_random *r)
{
    return random_next(r) >> 31 ? 1.0 : -1.0;
}

/* ---- shapes ------------------------------------------------------------------------------------------- */

typedef void (*shape)(double *x, size_t n, check_random *r);

static void gaussian(double *x, size_t n, check_random *r)
{
    for (size_t i = 0; i < n; i++) x[i] = random_normal(r);
}

/* Student's t with two degrees of freedom: a normal over the root of an exponential of mean 1. A few entries
 * carry much of the norm, as in the gradients of embeddings. Beyond 16, one time in 500, it is cut: with a
 * single entry that outweighs all others this would be `one-hot` again, and a mean over many coordinates
 * would mean nothing. */
static void heavy_tailed(double *x, size_t n, check_random *r)
{
    for (size_t i = 0; i < n; i++) {
        const double t = random_normal(r) / sqrt(-log(ti_check_random_uniform(r)));
        x[i] = fmin(fmax(t, -16), 16);
    }
}

static void sparse(double *x, size_t n, check_random *r)
{
    for (size_t i = 0; i < n; i++) x[i] = ti_check_random_uniform(r) < 0.05 ? random_normal(r) : 0;
}

/* Every selection is a tie. */
static void all_equal(double *x, size_t n, check_random *r)
{
    (void)r;
    for (size_t i = 0; i < n; i++) x[i] = 1.3125;
}

/* All the energy in one place: the worst case of mean|x| * sign(x), and of every random selection. */
static void one_hot(double *x, size_t n, check_random *r)
{
    memset(x, 0, n * sizeof *x);
    x[random_next(r) % n] = 1;
}

/* |x| = 4/3 * 2^j: where rounding to a power of two has its largest variance, 1/8. */
static void four_thirds(double *x, size_t n, check_random *r)
{
    for (size_t i = 0; i < n; i++)
        x[i] = ti_check_random_sign(r) * ldexp(4.0 / 3.0, (int)(random_next(r) % 5) - 2);
}

static void geometric(double *x, size_t n, check_random *r)
{
    double value = 1.4;
    for (size_t i = 0; i < n; i++, value *= 0.98) x[i] = value * ti_check_random_sign(r);
}

static void alternating(double *x, size_t n, check_random *r)
{
    (void)r;
    for (size_t i = 0; i < n; i++) x[i] = (i % 2 ? -1.0 : 1.0) * (1 + (double)i / (double)n);
}

/* One entry far below what any level but zero can represent. */
static void tiny_among_large(double *x, size_t n, check_random *r)
{
    for (size_t i = 0; i < n; i++) x[i] = ti_check_random_sign(r) * (1 + ti_check_random_uniform(r));
    x[n / 3] = 1e-30;
}

static void zero(double *x, size_t n, check_random *r)
{
    (void)r;
    memset(x, 0, n * sizeof *x);
}

static void far_below(double *x, size_t n, check_random *r)
{
    for (size_t i = 0; i < n; i++) x[i] = ti_check_random_sign(r) * (0.1 + 0.2 * ti_check_random_uniform(r));
}

static const struct {
    const char *name;
    size_t n;
    shape fill;
    bool absolute_only; /* only of interest where a threshold decides */
} shapes[] = {
    {"gaussian", 1024, gaussian, false},
    {"heavy-tailed", 777, heavy_tailed, false},
    {"sparse", 777, sparse, false},
    {"all equal", 1024, all_equal, false},
    {"one-hot", 512, one_hot, false},
    {"mantissa 4/3", 1024, four_thirds, false},
    {"geometric", 512, geometric, false},
    {"alternating", 777, alternating, false},
    {"tiny among large", 512, tiny_among_large, false},
    {"zero", 777, zero, false},
    {"below the threshold", 1024, far_below, true},
};

enum { SHAPES = sizeof shapes / sizeof *shapes, GIVEN_STRIDE = 7 };

size_t ti_check_given_count(size_t n)
{
    return (n + GIVEN_STRIDE - 1) / GIVEN_STRIDE;
}

/* ---- into the codec's range --------------------------------------------------------------------------- */

/* A power of two that takes magnitudes around 1 to where the codec has something to decide: to its threshold,
 * else into the middle of [smallest, largest] if 1 is not well inside. */
static double scale_for(const tithe_claims *claims, size_t n)
{
    double centre = 1;
    if (claims->Delta > 0 && isfinite(claims->Delta))
        centre = claims->Delta / sqrt((double)n);
    else if (claims->largest < 1e3)
        centre = claims->largest / 1e3;
    else if (claims->smallest > 1e-3)
        centre = claims->smallest * 1e3;
    return ldexp(1, (int)lround(log2(fmin(fmax(centre, 1e-30), 1e30))));
}

static double into_range(double value, tithe_type type, const tithe_claims *claims)
{
    if (value == 0) return 0;
    double size = fabs(value);
    if (size < claims->smallest) size = claims->smallest;
    if (size > claims->largest) size = claims->largest;
    value = copysign(size, value);
    return type == TITHE_F32 ? (double)(float)value : value;
}

static tithe_status vector_room(const tithe_codec *codec, const char *name, size_t n, check_vector *v)
{
    const tithe_type type = tithe_codec_type(codec);
    v->name = name;
    v->n = n;
    v->x = malloc(n * sizeof *v->x);
    v->f32 = type == TITHE_F32 ? malloc(n * sizeof *v->f32) : NULL;
    v->segments[0] = n / 10;
    v->segments[1] = n / 3;
    v->segments[2] = n - v->segments[0] - v->segments[1];
    return v->x && (v->f32 || type != TITHE_F32) ? TITHE_OK : TITHE_E_MEMORY;
}

static tithe_status vector_make(const tithe_codec *codec, const char *name, size_t n, shape fill,
                                check_random *r, check_vector *v)
{
    const tithe_status status = vector_room(codec, name, n, v);
    if (status != TITHE_OK) return status;
    const tithe_claims claims = codec_claims(codec, n);
    const double scale = scale_for(&claims, n);
    fill(v->x, n, r);
    v->norm2 = 0;
    for (size_t i = 0; i < n; i++) {
        v->x[i] = into_range(v->x[i] * scale, tithe_codec_type(codec), &claims);
        if (v->f32) v->f32[i] = (float)v->x[i];
        v->norm2 += v->x[i] * v->x[i];
    }
    return TITHE_OK;
}

static tithe_status given_make(check_vectors *vectors)
{
    const size_t count = ti_check_given_count(vectors->longest);
    vectors->given = malloc(count * sizeof *vectors->given);
    if (!vectors->given) return TITHE_E_MEMORY;
    for (size_t i = 0; i < count; i++) vectors->given[i] = (uint32_t)(i * GIVEN_STRIDE);
    return TITHE_OK;
}

tithe_status ti_check_vectors_make(const tithe_codec *codec, uint64_t seed, check_vectors *vectors)
{
    memset(vectors, 0, sizeof *vectors);
    check_random *r = malloc(sizeof *r);
    vectors->list = calloc(SHAPES, sizeof *vectors->list);
    tithe_status status = r && vectors->list ? TITHE_OK : TITHE_E_MEMORY;
    if (r) ti_check_random_start(r, seed, 0);
    for (size_t i = 0; status == TITHE_OK && i < SHAPES; i++) {
        if (shapes[i].absolute_only && !(codec_claims(codec, shapes[i].n).Delta > 0)) continue;
        status = vector_make(codec, shapes[i].name, shapes[i].n, shapes[i].fill, r,
                             &vectors->list[vectors->count]);
        vectors->count++; /* also after a failure: free looks at all that was begun */
        if (shapes[i].n > vectors->longest) vectors->longest = shapes[i].n;
    }
    if (status == TITHE_OK) status = given_make(vectors);
    free(r);
    if (status != TITHE_OK) ti_check_vectors_free(vectors);
    return status;
}

static tithe_status single_make(size_t n, check_vectors *vectors)
{
    memset(vectors, 0, sizeof *vectors);
    vectors->list = calloc(1, sizeof *vectors->list);
    if (!vectors->list) return TITHE_E_MEMORY;
    vectors->count = 1;
    vectors->longest = n;
    return given_make(vectors);
}

tithe_status ti_check_vectors_gaussian(const tithe_codec *codec, uint64_t seed, size_t n,
                                       check_vectors *vectors)
{
    tithe_status status = single_make(n, vectors);
    check_random *r = status == TITHE_OK ? malloc(sizeof *r) : NULL;
    if (status == TITHE_OK && !r) status = TITHE_E_MEMORY;
    if (status == TITHE_OK) {
        ti_check_random_start(r, seed, 1);
        status = vector_make(codec, "gaussian", n, gaussian, r, &vectors->list[0]);
    }
    free(r);
    if (status != TITHE_OK) ti_check_vectors_free(vectors);
    return status;
}

tithe_status ti_check_vectors_own(const tithe_codec *codec, const char *name, const double *x, size_t n,
                                  check_vectors *vectors)
{
    tithe_status status = single_make(n, vectors);
    if (status == TITHE_OK) status = vector_room(codec, name, n, &vectors->list[0]);
    if (status != TITHE_OK) {
        ti_check_vectors_free(vectors);
        return status;
    }
    ti_check_vector_set(&vectors->list[0], x);
    return TITHE_OK;
}

void ti_check_vector_set(check_vector *v, const double *x)
{
    v->norm2 = 0;
    for (size_t i = 0; i < v->n; i++) {
        if (v->f32) v->f32[i] = (float)x[i];
        v->x[i] = v->f32 ? (double)v->f32[i] : x[i];
        v->norm2 += v->x[i] * v->x[i];
    }
}

void ti_check_vectors_free(check_vectors *vectors)
{
    for (size_t i = 0; i < vectors->count; i++) {
        free(vectors->list[i].x);
        free(vectors->list[i].f32);
    }
    free(vectors->list);
    free(vectors->given);
    memset(vectors, 0, sizeof *vectors);
}
