/* group.h - an exchange with all it needs, gradients for it, and the same step computed without it. */
#ifndef TESTS_EXCHANGE_GROUP_H
#define TESTS_EXCHANGE_GROUP_H

#include "support.h"

typedef struct wanted {
    const char *codec, *downlink, *feedback, *downlink_feedback, *scheme, *collective, *cost, *leader;
    unsigned ranks;
    size_t n;
    bool measure, count_paper, skip_nonfinite;
    unsigned lanes, taking_part;
    tithe_pool *pool;
} wanted;

typedef struct group {
    tithe_comm comm;
    tithe_codec *codec, *downlink;
    tithe_cost *cost;
    const tithe_feedback *feedback;
    tithe_exchange *ex;
    size_t n;
    float *update;
    tithe_error error;
} group;

enum { SEED = 77 };

static inline const tithe_feedback *feedback_of(const char *name)
{
    const tithe_feedback *found = NULL;
    assert_int_equal(tithe_feedback_find(name ? name : "none", &found, NULL, NULL), TITHE_OK);
    return found;
}

/* Everything but the exchange. */
static inline group *group_start(const wanted *w, tithe_exchange_config *config)
{
    group *g = calloc(1, sizeof *g);
    assert_non_null(g);
    g->comm = ranks_here(w->ranks);
    g->n = w->n;
    g->update = calloc(w->n + 1, sizeof *g->update);
    g->feedback = feedback_of(w->feedback);
    g->codec = codec_with(w->codec, (tithe_codec_options){.contractive = g->feedback->contracts});
    if (w->downlink)
        g->downlink =
            codec_with(w->downlink, (tithe_codec_options){.contractive = w->downlink_feedback != NULL});
    if (w->cost) expect(tithe_cost_create(w->cost, &g->cost, &g->error) == TITHE_OK, "%s", g->error.text);
    *config = (tithe_exchange_config){.size = sizeof(tithe_exchange_config),
                                      .comm = &g->comm,
                                      .codec = g->codec,
                                      .feedback = g->feedback,
                                      .downlink = g->downlink,
                                      .downlink_feedback =
                                          w->downlink_feedback ? feedback_of(w->downlink_feedback) : NULL,
                                      .scheme = w->scheme,
                                      .collective = w->collective,
                                      .leader = w->leader,
                                      .cost = g->cost,
                                      .count_paper = w->count_paper,
                                      .taking_part = w->taking_part,
                                      .seed = SEED,
                                      .pool = w->pool,
                                      .lanes = w->lanes,
                                      .measure = w->measure,
                                      .skip_nonfinite = w->skip_nonfinite};
    return g;
}

static inline group *group_make(const wanted *w)
{
    tithe_exchange_config config;
    group *g = group_start(w, &config);
    if (tithe_exchange_create(&config, w->n, &g->ex, &g->error)) fail_msg("%s: %s", w->codec, g->error.text);
    return g;
}

static inline void group_free(group *g)
{
    tithe_exchange_free(g->ex);
    tithe_codec_free(g->codec);
    tithe_codec_free(g->downlink);
    tithe_cost_free(g->cost);
    free(g->update);
    free(g);
}

/* The gradient of a rank in a step: a direction that all share, noise of its own, and a few large entries. */
static inline void gradient_fill(float *x, size_t n, unsigned rank, unsigned step)
{
    dice shared = {step * 1009 + 3}, own = {step * 7919 + rank * 104729 + 11};
    for (size_t i = 0; i < n; i++) {
        const double common = roll_gauss(&shared), noise = roll_gauss(&own);
        x[i] = (float)((common + 0.5 * noise) * (i % 13 == 0 ? 8 : 1));
    }
}

static inline float *gradients_make(unsigned ranks, size_t n, unsigned step)
{
    float *x = malloc((ranks * n + 1) * sizeof *x);
    assert_non_null(x);
    for (unsigned r = 0; r < ranks; r++) gradient_fill(x + r * n, n, r, step);
    return x;
}

static inline void group_put_all(group *g, const float *gradients, double gamma)
{
    for (unsigned r = 0; r < g->comm.size; r++)
        if (tithe_exchange_put(g->ex, r, 0, gradients + r * g->n, gamma, &g->error))
            fail_msg("%s", g->error.text);
}

static inline void group_finish(group *g)
{
    if (tithe_exchange_finish(g->ex, g->update, &g->error)) fail_msg("%s", g->error.text);
}

/* One message, by codec calls alone: v = C(x) as its receiver sees it. Returns what is in the frame. */
static inline tithe_frame_info message(const tithe_codec *codec, uint32_t step, uint32_t rank, double level,
                                       const float *x, size_t n, float *v)
{
    const size_t bound = tithe_codec_bound(codec, n), scratch = tithe_codec_scratch(codec, n);
    uint8_t *frame = malloc(bound + 1);
    tithe_call call = {.seed = SEED,
                       .step = step,
                       .rank = rank,
                       .form = TITHE_EXCHANGE,
                       .level = level,
                       .scratch = malloc(scratch + 1),
                       .scratch_size = scratch};
    assert_true(frame && call.scratch);
    tithe_frame_info info;
    tithe_error error = {0};
    expect(tithe_encode(codec, &call, x, n, frame, bound, &info, &error) == TITHE_OK, "%s", error.text);
    memset(v, 0, n * sizeof *v);
    call.level = 0; /* a receiver is not told */
    expect(tithe_decode_add(codec, &call, frame, info.bytes, 1, v, n, &error) == TITHE_OK, "%s", error.text);
    free(frame);
    free(call.scratch);
    return info;
}

static inline bool same_floats(const float *a, const float *b, size_t n)
{
    return memcmp(a, b, n * sizeof *a) == 0;
}

/* Equal up to the rounding of a sum of `terms` floats, each at most `size`. */
static inline bool near_floats(const float *a, const double *b, size_t n, double terms, double size)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)a[i] - b[i]) <= terms * (double)FLT_EPSILON * size)) return false;
    return true;
}

#endif
