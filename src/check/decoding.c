/* decoding.c - what decoding does with a frame: it adds, it agrees between the forms, and with error
 * feedback. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/frames.h"
#include "tithe/feedback.h"

enum { GUARD = 16 }; /* numbers on either side of y that must stay as they are */

/* Room for one vector of the codec's type, guards included. */
typedef struct buffers {
    void *y, *y0;
    double *c;      /* C(x) */
    uint8_t *frame; /* a second frame */
    size_t width;   /* bytes per number */
} buffers;

static double get(const check_run *run, const void *array, size_t i)
{
    return run->type == TITHE_F32 ? (double)((const float *)array)[i] : ((const double *)array)[i];
}

static void put(const check_run *run, void *array, size_t i, double value)
{
    if (run->type == TITHE_F32)
        ((float *)array)[i] = (float)value;
    else
        ((double *)array)[i] = value;
}

static double precision(const check_run *run)
{
    return run->type == TITHE_F32 ? (double)FLT_EPSILON : DBL_EPSILON;
}

static double tiniest(const check_run *run) /* below it, rounding is no longer relative */
{
    return run->type == TITHE_F32 ? (double)FLT_MIN : DBL_MIN;
}

/* The largest |y - (y0 + scale*c)| relative to |y0| + |scale*c|; 1 if a number was touched that should not
 * be. */
static double adds_error(check_run *run, size_t vector, double scale, const buffers *b)
{
    const check_vector *v = &run->vectors->list[vector];
    const tithe_call call = ti_check_run_call(run, vector, 0, TITHE_SELF_CONTAINED);
    const size_t all = v->n + 2 * GUARD;
    if (!ti_check_run_encode(run, &call, v) || !ti_check_run_decode(run, &call, v))
        return 0; /* "round trip" tells */

    for (size_t i = 0; i < all; i++) put(run, b->y0, i, (double)(i % 97) * 0.37 - 11.3);
    memcpy(b->y, b->y0, all * b->width);
    void *inside = (char *)b->y + GUARD * b->width;
    const tithe_status status =
        run->type == TITHE_F32
            ? tithe_decode_add(run->codec, &call, run->frame, run->info.bytes, (float)scale, inside, v->n,
                               NULL)
            : tithe_decode_add_f64(run->codec, &call, run->frame, run->info.bytes, scale, inside, v->n, NULL);
    if (status != TITHE_OK) return 1;

    double worst = 0;
    for (size_t i = 0; i < all; i++) {
        const double was = get(run, b->y0, i), is = get(run, b->y, i);
        const bool mine = i >= GUARD && i < GUARD + v->n;
        const double added = mine ? scale * run->y[i - GUARD] : 0;
        if (added == 0) {
            if (is != was) return 1;
            continue;
        }
        const double error = fabs(is - (was + added)) / (fabs(was) + fabs(added));
        if (!(error <= worst)) worst = error;
    }
    return worst;
}

/* Frames that differ between two equal calls, whatever lay in the scratch and in the buffer. */
static size_t unequal_frames(check_run *run, size_t vector, tithe_form form, const buffers *b)
{
    const check_vector *v = &run->vectors->list[vector];
    const tithe_call call = ti_check_run_call(run, vector, 1, form);
    memset(run->scratch, 0x00, run->scratch_size);
    memset(run->frame, 0x00, run->capacity);
    if (!ti_check_run_encode(run, &call, v)) return 0;
    const size_t bytes = run->info.bytes;
    memcpy(b->frame, run->frame, bytes);
    memset(run->scratch, 0xa5, run->scratch_size);
    memset(run->frame, 0xa5, run->capacity);
    if (!ti_check_run_encode(run, &call, v)) return 1;
    return run->info.bytes != bytes || memcmp(run->frame, b->frame, bytes) != 0;
}

/* Coordinates in which the two forms decode to different numbers. */
static size_t unequal_forms(check_run *run, size_t vector, const buffers *b)
{
    const check_vector *v = &run->vectors->list[vector];
    if (!ti_check_run_trial(run, vector, 2, TITHE_SELF_CONTAINED)) return 0;
    memcpy(b->c, run->y, v->n * sizeof *b->c);
    if (!ti_check_run_trial(run, vector, 2, TITHE_EXCHANGE)) return 0;
    size_t unequal = 0;
    for (size_t i = 0; i < v->n; i++) unequal += run->y[i] != b->c[i];
    return unequal;
}

/* Largest |(e_after + C) - (e + gamma*g)| relative to |e| + |gamma*g| + |C|; negative when the codec was
 * refused. */
static double feedback_error(check_run *run, size_t vector, const buffers *b)
{
    const check_vector *v = &run->vectors->list[vector];
    const tithe_call call = ti_check_run_call(run, vector, 3, TITHE_EXCHANGE);
    const double gamma = 0.5;
    void *e = b->y;
    for (size_t i = 0; i < v->n; i++) {
        put(run, e, i, 0.25 * v->x[v->n - 1 - i]);
        put(run, b->y0, i, get(run, e, i));
    }
    const tithe_status status = run->type == TITHE_F32
                                    ? tithe_ec_encode(run->codec, &call, e, v->f32, (float)gamma, v->n,
                                                      run->frame, run->capacity, &run->info, NULL)
                                    : tithe_ec_encode_f64(run->codec, &call, e, v->x, gamma, v->n, run->frame,
                                                          run->capacity, &run->info, NULL);
    if (status != TITHE_OK) return -1;
    if (!ti_check_run_decode(run, &call, v)) return 1;

    double worst = 0;
    for (size_t i = 0; i < v->n; i++) {
        const double before = get(run, b->y0, i), step = gamma * v->x[i], sent = run->y[i];
        const double size = fabs(before) + fabs(step) + fabs(sent) + tiniest(run) / precision(run);
        const double error = fabs(get(run, e, i) + sent - (before + step)) / size;
        if (!(error <= worst)) worst = error;
    }
    return worst;
}

static void feedback_row(check_run *run, check_output *out, const buffers *b)
{
    const tithe_claims claims = codec_claims(run->codec, run->vectors->longest);
    const bool allowed = (claims.traits & TITHE_CONTRACTIVE) || claims.omega < 1;
    double worst = 0;
    const char *on = "every vector";
    size_t refused = 0;
    for (size_t i = 0; i < run->vectors->count; i++) {
        const double error = feedback_error(run, i, b);
        refused += error < 0;
        if (error > worst) worst = error, on = run->vectors->list[i].name;
    }
    if (refused && !allowed) return;
    if (refused)
        ti_check_row(out, "error feedback", 0, (double)refused, false, "refused on %zu of %zu vectors",
                     refused, run->vectors->count);
    else
        ti_check_row(out, "error feedback", 2 * precision(run), worst, worst <= 2 * precision(run),
                     "e' + C(e + gamma g) against e + gamma g, relative, worst on %s", on);
}

static void measure(check_run *run, check_output *out, const buffers *b)
{
    const check_vectors *vectors = run->vectors;
    double adds = 0;
    const char *adds_on = "every vector";
    size_t frames = 0, forms = 0;
    for (size_t i = 0; i < vectors->count; i++) {
        for (int k = 0; k < 3; k++) {
            const double scales[] = {1, -0.375, 3.1};
            const double error = adds_error(run, i, scales[k], b);
            if (error > adds) adds = error, adds_on = vectors->list[i].name;
        }
        frames += unequal_frames(run, i, TITHE_SELF_CONTAINED, b) + unequal_frames(run, i, TITHE_EXCHANGE, b);
        forms += unequal_forms(run, i, b);
    }
    ti_check_row(out, "decode adds", 4 * precision(run), adds, adds <= 4 * precision(run),
                 "y + scale C(x) for three scales, relative, worst on %s; nothing else was touched", adds_on);
    ti_check_row(out, "same seed, same bytes", 0, (double)frames, frames == 0,
                 "frames of %zu that differ from those of an equal call", 2 * vectors->count);
    ti_check_row(out, "exchange form decodes the same", 0, (double)forms, forms == 0,
                 "coordinates that differ, over %zu vectors", vectors->count);
    feedback_row(run, out, b);
}

tithe_status ti_check_decode_rows(check_run *run, check_output *out)
{
    const size_t all = run->vectors->longest + 2 * GUARD;
    buffers b = {.width = run->type == TITHE_F32 ? sizeof(float) : sizeof(double)};
    b.y = malloc(all * b.width);
    b.y0 = malloc(all * b.width);
    b.c = malloc(all * sizeof *b.c);
    b.frame = malloc(run->capacity + 1);
    const bool fine = b.y && b.y0 && b.c && b.frame;
    if (fine) measure(run, out, &b);
    free(b.y);
    free(b.y0);
    free(b.c);
    free(b.frame);
    return fine ? TITHE_OK : TITHE_E_MEMORY;
}
