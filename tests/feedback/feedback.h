/* feedback.h - one step of error compensation, put together from a rig: e, the gradient, and what must come of them. */
#ifndef TESTS_FEEDBACK_FEEDBACK_H
#define TESTS_FEEDBACK_FEEDBACK_H

#include "tithe/feedback.h"

#include "codec/contract.h"

/* A rig whose x holds e; g and the sum v = e + gamma*g beside it. */
typedef struct feedback {
    rig r;
    void *g, *v, *sent;
    double gamma;
} feedback;

static inline feedback feedback_make(const tithe_codec *codec, size_t n)
{
    feedback f = {.r = rig_make(codec, n, 0), .gamma = (double)0.7f};
    f.g = calloc(n + 1, sizeof(double));
    f.v = calloc(n + 1, sizeof(double));
    f.sent = calloc(n + 1, sizeof(double));
    assert_true(f.g && f.v && f.sent);
    return f;
}

static inline void feedback_free(feedback *f)
{
    free(f->g);
    free(f->v);
    free(f->sent);
    rig_free(&f->r);
}

/* Fresh e and g, and v as the page has it: a product that is rounded, a sum that is rounded. */
static inline void feedback_fill(feedback *f, uint64_t seed)
{
    rig *r = &f->r;
    fill_kind(r->type, GAUSSIAN, r->x, r->n, 2 * seed);
    fill_kind(r->type, seed % 2 ? GAUSSIAN : SIGNED_ZEROS, f->g, r->n, 2 * seed + 1);
    for (size_t i = 0; i < r->n; i++) {
        if (r->type == TITHE_F32) {
            volatile float product = (float)f->gamma * ((float *)f->g)[i];
            ((float *)f->v)[i] = ((float *)r->x)[i] + product;
        } else {
            volatile double product = f->gamma * ((double *)f->g)[i];
            ((double *)f->v)[i] = ((double *)r->x)[i] + product;
        }
    }
    memcpy(r->x_before, r->x, r->n * type_bytes(r->type));
}

static inline tithe_status ec_into(feedback *f, const void *g, size_t capacity)
{
    rig *r = &f->r;
    r->call.segments = r->segments;
    return r->type == TITHE_F32 ? tithe_ec_encode(r->codec, &r->call, r->x, g, (float)f->gamma, r->n,
                                                  r->frame.data, capacity, &r->info, &r->error)
                                : tithe_ec_encode_f64(r->codec, &r->call, r->x, g, f->gamma, r->n,
                                                      r->frame.data, capacity, &r->info, &r->error);
}

static inline tithe_status ec(feedback *f, const void *g)
{
    return ec_into(f, g, f->r.bound);
}

static inline double difference(tithe_type type, const void *a, const void *b, size_t i)
{
    return type == TITHE_F32 ? (double)(((const float *)a)[i] - ((const float *)b)[i])
                             : ((const double *)a)[i] - ((const double *)b)[i];
}

/* The frame decodes to C; e is v - C, rounded once; the frame is that of v itself. */
static inline void expect_step(feedback *f, const void *g, const void *v)
{
    rig *r = &f->r;
    expect(ec(f, g) == TITHE_OK, "%s n=%zu: %s", RIG_SAYS(r));
    expect(guarded_is_intact(&r->frame) && guarded_is_intact(&r->scratch), "%s n=%zu%s: spilt", RIG_SAYS(r));
    memset(f->sent, 0, r->n * type_bytes(r->type));
    expect(decode_any(r->codec, &r->call, r->frame.data, r->info.bytes, 1, f->sent, r->n, &r->error) ==
               TITHE_OK,
           "%s n=%zu: %s", RIG_SAYS(r));
    const bool raw = strcmp(tithe_codec_quantizer(r->codec)->name, "raw") == 0 &&
                     tithe_codec_selector(r->codec)->projection;
    for (size_t i = 0; i < r->n; i++) {
        const double kept = get_number(r->type, r->x, i), wanted = difference(r->type, v, f->sent, i);
        expect(kept == wanted, "%s n=%zu: e[%zu] is %.9g, but %.9g - %.9g was not sent",
               tithe_codec_spec(r->codec), r->n, i, kept, get_number(r->type, v, i),
               get_number(r->type, f->sent, i));
        if (raw && get_number(r->type, f->sent, i) != 0 &&
            strstr(tithe_codec_spec(r->codec), "randk") == NULL)
            expect(kept == 0, "%s: a number that was sent exactly leaves %g", tithe_codec_spec(r->codec),
                   kept);
    }
    /* The same bytes as encoding v: feedback is no codec of its own. */
    const size_t bytes = r->info.bytes;
    uint8_t *frame = malloc(bytes);
    assert_non_null(frame);
    memcpy(frame, r->frame.data, bytes);
    memcpy(r->x, v, r->n * type_bytes(r->type));
    const double level = r->call.level;
    if (tithe_codec_selector(r->codec)->absolute && strstr(tithe_codec_spec(r->codec), "lambda=0.8"))
        r->call.level = f->gamma * 0.8; /* in units of the update */
    expect(rig_encode(r) == TITHE_OK && r->info.bytes == bytes && memcmp(frame, r->frame.data, bytes) == 0,
           "%s n=%zu%s: the frame is not that of e + gamma*g", RIG_SAYS(r));
    r->call.level = level;
    free(frame);
}

static inline bool is_refused(const tithe_codec *codec, size_t n)
{
    return claims_of(codec, n).omega >= 1;
}

#endif
