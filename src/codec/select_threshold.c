/* select_threshold.c - every coordinate with |x_i| >= lambda: an absolute compressor, |C(x) - x|^2 <=
 * lambda^2 d.
 *
 * Any number may survive, none included. Keys: danilova2022, sahu2021. */
#include "codec/select.h"
#include "kernels/parallel.h"

enum { LAMBDA = 0 };

static const tithe_param threshold_params[] = {
    {.name = "lambda", .doc = "smallest magnitude that is sent", .fallback = NAN, .min = 0, .max = 1e300},
    {0}};

static bool threshold_has_level(const double *params)
{
    return !isnan(params[LAMBDA]);
}

static void threshold_set_level(double *params, double level)
{
    params[LAMBDA] = level;
}

static size_t threshold_max_count(const double *params, size_t n)
{
    (void)params;
    return n;
}

/* All may survive, on each of several threads. */
static size_t threshold_room(const double *params, size_t n)
{
    (void)params;
    return ti_parallel_room(n);
}

/* The bits of the smallest float that is not below lambda. */
static uint32_t min_bits(double lambda)
{
    if (lambda > 0x1.fffffep127) return 0x7f800000u; /* no finite number is */
    const float near = (float)lambda;
    return f32_bits((double)near < lambda ? nextafterf(near, INFINITY) : near);
}

static tithe_status select_floats(const tithe_select_call *c, uint32_t min, tithe_selection *s)
{
    float *x = (float *)c->x;
    const select_job job = {
        .source = {x, c->gradient, c->gamma},
        .n = c->n,
        .min = min,
        .indices = s->indices,
        .values = s->values,
        .capacity = ti_parallel_room(c->n),
    };
    bool finite;
    s->count = c->take ? ti_parallel_take(c->call->pool, &job, &finite)
                       : ti_parallel_select(c->call->pool, &job, &finite);
    s->gathered = true;
    s->taken = c->take && finite;
    if (finite) return TITHE_OK;
    for (size_t i = 0; c->take && i < s->count; i++) /* refused: what was taken goes back */
        if (isfinite(job.values[i])) x[s->indices[i]] = job.values[i];
    return TITHE_E_NONFINITE;
}

static tithe_status threshold_select(const tithe_select_call *c, tithe_selection *s, tithe_error *error)
{
    (void)error;
    const double lambda = c->params[LAMBDA];
    s->count = 0;
    if (c->type == TITHE_F32) return select_floats(c, min_bits(lambda), s);
    for (size_t i = 0; i < c->n; i++) {
        s->indices[s->count] =
            (uint32_t)i; /* always stored, kept only if it counts: no branch to mispredict */
        s->count += select_magnitude(c, i) >= lambda;
    }
    return TITHE_OK;
}

static void threshold_claims(const double *params, size_t n, bool contractive, tithe_claims *claims)
{
    (void)contractive;
    claims->traits = TITHE_ABSOLUTE;
    claims->omega = 0;
    claims->delta = 1;
    claims->Delta = threshold_has_level(params) ? params[LAMBDA] * sqrt((double)n) : INFINITY;
}

const tithe_selector ti_select_threshold = {
    .name = "threshold",
    .summary = "every magnitude of at least lambda",
    .paper = "danilova2022",
    .params = threshold_params,
    .id = 2,
    .source = TITHE_INDICES_SENT,
    .picks = TITHE_PICKS_LARGEST,
    .projection = true,
    .absolute = true,
    .fuses = true,
    .has_level = threshold_has_level,
    .set_level = threshold_set_level,
    .max_count = threshold_max_count,
    .room = threshold_room,
    .select = threshold_select,
    .claims = threshold_claims,
};
