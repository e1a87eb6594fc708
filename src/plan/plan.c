/* plan.c - the time of every scheme on a link, as rounds * latency + bytes / bandwidth; and what follows from it.
 *
 * With N workers, M bytes of gradient, log = log2 (tyagi2023artopk):
 *   dense    star 2a + 2(N-1)Mb    ring 2(N-1)a + 2(N-1)/N Mb    tree 2 log N a + 2 log N Mb
 *   gather   log N a + (N-1) frame b
 *   artopk   broadcast of the indices, log N (a + I b), and an all-reduce of the values V over a ring or a tree
 * The paper counts 4 bytes for each value and each index: frame = 2 V, I = V. */
#include "tithe/plan.h"

#include <math.h>

#include "base/status.h"

enum { DENSE_ROWS = 3, LEVEL_ROWS = 3 };

size_t tithe_plan_rows(const tithe_plan_request *request)
{
    return DENSE_ROWS + LEVEL_ROWS * request->keep_count;
}

/* ---- rows ------------------------------------------------------------------------------------------------- */

static tithe_plan_row row(const tithe_plan_request *q, const char *scheme, const char *collective,
                          double keep, double rounds, double bytes, double codec)
{
    const double network = rounds * q->link.latency + bytes / q->link.bandwidth;
    return (tithe_plan_row){.scheme = scheme,
                            .collective = collective,
                            .keep = keep,
                            .rounds = rounds,
                            .bytes = bytes,
                            .codec_seconds = codec,
                            .network_seconds = network,
                            .seconds = network + codec};
}

static void dense_rows(const tithe_plan_request *q, tithe_plan_row *rows)
{
    const double n = q->workers, bytes = 4 * q->params, levels = log2(n), others = n - 1;
    rows[0] = row(q, "dense", "star", 1, n > 1 ? 2 : 0, 2 * others * bytes, 0);
    rows[1] = row(q, "dense", "ring", 1, 2 * others, 2 * others / n * bytes, 0);
    rows[2] = row(q, "dense", "tree", 1, 2 * levels, 2 * levels * bytes, 0);
}

/* Bytes of a frame with `entries` entries, and of its values alone. */
static tithe_status frame_bytes(const tithe_plan_request *q, double entries, double *frame, double *values,
                                tithe_error *error)
{
    *values = 4 * entries;
    *frame = 8 * entries;
    if (q->count_paper) return TITHE_OK;
    if (q->params > TITHE_MAX_N)
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "A frame holds up to %u numbers: take --count paper, or list the layers.",
                       TITHE_MAX_N);
    tithe_codec *codec;
    const tithe_codec_options open = {.open_level = true};
    const tithe_status status = tithe_codec_create("topk|raw", &open, &codec, error);
    if (status) return status;
    *frame = (double)tithe_codec_length(codec, (size_t)q->params, (size_t)entries, TITHE_EXCHANGE);
    tithe_codec_free(codec);
    return TITHE_OK;
}

static tithe_status level_rows(const tithe_plan_request *q, double keep, tithe_plan_row *rows,
                               tithe_error *error)
{
    const double n = q->workers, levels = log2(n), others = n - 1;
    const double entries = q->count_paper ? keep * q->params : fmax(1, round(keep * q->params));
    double frame, values;
    const tithe_status status = frame_bytes(q, entries, &frame, &values, error);
    if (status) return status;
    const double indices = frame - values;
    const double encode = q->speed.encode_value * q->params + q->speed.encode_entry * entries;
    const double decode = q->speed.decode_entry * entries;
    rows[0] = row(q, "gather", "allgather", keep, levels, others * frame, encode + n * decode);
    rows[1] = row(q, "artopk", "ring", keep, 2 * others + levels, 2 * others / n * values + levels * indices,
                  encode + decode);
    rows[2] = row(q, "artopk", "tree", keep, 3 * levels, levels * (2 * values + indices), encode + decode);
    return TITHE_OK;
}

/* ---- what follows ------------------------------------------------------------------------------------------ */

/* Narrow the bandwidths between which r is faster than d: with t = fixed + bytes / bandwidth for both. */
static void narrow(const tithe_plan_row *r, const tithe_plan_row *d, double latency, double *from, double *to)
{
    const double fixed = (r->rounds - d->rounds) * latency + r->codec_seconds - d->codec_seconds;
    const double saved = d->bytes - r->bytes;
    if (saved > 0) {
        if (fixed > 0) *to = fmin(*to, saved / fixed);
    } else if (fixed < 0) {
        *from = fmax(*from, saved / fixed); /* more bytes in fewer rounds: good on a fast link only */
    } else {
        *to = 0;
    }
}

static double break_even(const tithe_plan_request *q, const tithe_plan_row *rows, size_t count)
{
    double most = 0;
    for (size_t i = DENSE_ROWS; i < count; i++) {
        double from = 0, to = INFINITY; /* it has to beat every dense row */
        for (size_t d = 0; d < DENSE_ROWS; d++) narrow(&rows[i], &rows[d], q->link.latency, &from, &to);
        if (from < to) most = fmax(most, to);
    }
    return most;
}

static bool all_finite_positive(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(values[i] > 0) || !isfinite(values[i])) return false;
    return true;
}

static tithe_status expect_sense(const tithe_plan_request *q, tithe_error *error)
{
    if (!(q->params >= 1) || !isfinite(q->params))
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "A gradient has at least one number, not %g.", q->params);
    if (q->workers < 1) return ti_fail(error, TITHE_E_ARGUMENT, 0, "There is at least one worker.");
    if (!(q->link.latency >= 0) || !isfinite(q->link.latency))
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "A latency is not negative, but this one is %g s.",
                       q->link.latency);
    if (!all_finite_positive(&q->link.bandwidth, 1))
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "A bandwidth is positive, but this one is %g B/s.",
                       q->link.bandwidth);
    for (size_t i = 0; i < q->keep_count; i++)
        if (!all_finite_positive(&q->keeps[i], 1) || q->keeps[i] > 1)
            return ti_fail(error, TITHE_E_ARGUMENT, i, "keep is a share, above 0 and up to 1, not %g.",
                           q->keeps[i]);
    return TITHE_OK;
}

tithe_status tithe_plan_make(const tithe_plan_request *request, tithe_plan_row *rows, tithe_plan *plan,
                             tithe_error *error)
{
    tithe_status status = expect_sense(request, error);
    if (status) return status;
    dense_rows(request, rows);
    for (size_t i = 0; i < request->keep_count && !status; i++)
        status = level_rows(request, request->keeps[i], rows + DENSE_ROWS + LEVEL_ROWS * i, error);
    if (status) return status;
    const size_t count = tithe_plan_rows(request);
    *plan = (tithe_plan){0};
    for (size_t i = 0; i < count; i++) {
        if (rows[i].seconds < rows[plan->winner].seconds) plan->winner = i;
        if (rows[i].network_seconds < rows[plan->network_winner].network_seconds) plan->network_winner = i;
        if (i < DENSE_ROWS && rows[i].seconds < rows[plan->dense].seconds) plan->dense = i;
    }
    plan->break_even = break_even(request, rows, count);
    return TITHE_OK;
}
