/* plan.c - the time of every scheme over every collective on a link, and what follows from it.
 *
 * The rows come from the tables of schemes and collectives, and their rounds from the schemes themselves: nothing here
 * knows any of them by name. */
#include "plan/plan.h"

#include <math.h>
#include <stdio.h>

#include "base/status.h"
#include "codec/codec.h"

/* ---- rows ------------------------------------------------------------------------------------------------- */

/* The options that make such a step. */
static void write_options(const tithe_scheme *scheme, const char *collective, const plan_level *l, char *text,
                          size_t room)
{
    char codec[PLAN_SPEC];
    if (l->codec)
        snprintf(codec, sizeof codec, "%s", l->codec);
    else
        snprintf(codec, sizeof codec, "topk:keep=%.12g", l->keep);
    int used = snprintf(text, room, "scheme=%s;collective=%s", scheme->name, collective);
    if (!scheme->whole) used += snprintf(text + used, room - (size_t)used, ";codec=%s", codec);
    if (scheme->back && !scheme->cuts) snprintf(text + used, room - (size_t)used, ";downlink=%s", codec);
}

tithe_plan_row ti_plan_row(const tithe_plan_request *q, const tithe_scheme *scheme, const char *collective,
                           const plan_level *l, const tithe_rounds *rounds)
{
    tithe_plan_row row = {
        .scheme = scheme->name,
        .collective = collective,
        .codec = l->codec,
        .keep = l->keep,
        .rounds = tithe_rounds_count(rounds),
        .bytes = tithe_rounds_bytes(rounds),
        .codec_seconds = rounds->encoded * l->encode + rounds->decoded * l->decode + rounds->formed * l->form,
        .network_seconds = tithe_rounds_seconds(rounds, &q->link),
    };
    row.seconds = row.network_seconds + row.codec_seconds;
    row.network_most = row.network_seconds;
    write_options(scheme, collective, l, row.options, sizeof row.options);
    return row;
}

static void list_rounds(const tithe_plan_request *q, const tithe_scheme *scheme, const char *collective,
                        const plan_level *l, bool crowded, tithe_rounds *rounds)
{
    tithe_step_shape shape = {.ranks = q->workers,
                              .collective = tithe_scheme_collective(scheme, collective),
                              .n = q->params,
                              .frames = {.count = q->workers, .length = l->frame},
                              .back = l->frame,
                              .indices = l->indices,
                              .values = l->values / sizeof(float),
                              .parts = {.count = q->workers},
                              .crowded = crowded};
    if (l->codec && scheme->foretell) {
        const tithe_exchange_config config = ti_plan_codec_config(l, scheme, collective);
        scheme->foretell(&config, (size_t)q->params, &shape);
    }
    tithe_rounds_start(rounds);
    scheme->rounds(&shape, rounds);
}

static tithe_plan_row own_row(const tithe_plan_request *q, const tithe_scheme *scheme, const char *collective,
                              const plan_level *l)
{
    tithe_rounds rounds;
    list_rounds(q, scheme, collective, l, false, &rounds);
    tithe_plan_row row = ti_plan_row(q, scheme, collective, l, &rounds);
    if (!scheme->cuts) return row;
    list_rounds(q, scheme, collective, l, true, &rounds);
    row.network_most = tithe_rounds_seconds(&rounds, &q->link);
    return row;
}

/* What nobody can foretell is left out, and a second name for the same thing too. */
static bool is_planned(const tithe_scheme *scheme, const char *const *name)
{
    const tithe_collective *c = tithe_scheme_collective(scheme, *name);
    for (const char *const *before = scheme->collectives; before < name; before++)
        if (tithe_scheme_collective(scheme, *before) == c) return false;
    return c->ordered;
}

/* Top-k goes as it always went: to cut what is short already is for those who name it. */
static bool takes(const tithe_scheme *scheme, const char *collective, const plan_level *l)
{
    if (!l->codec) return !scheme->cuts && !scheme->integers;
    const tithe_exchange_config config = ti_plan_codec_config(l, scheme, collective);
    return !scheme->refuse || !scheme->refuse(&config);
}

/* Which schemes have rows. */
typedef enum plan_part { PLAN_DENSE, PLAN_COMPRESSED, PLAN_SUMMED } plan_part;

static bool is_of(const tithe_scheme *scheme, plan_part part)
{
    if (part == PLAN_SUMMED) return scheme->integers;
    return scheme->whole == (part == PLAN_DENSE);
}

/* All rows that are dense, or of one level, into `rows`; NULL: only how many there are. */
static size_t walk(const tithe_plan_request *q, plan_part part, const plan_level *l, tithe_plan_row *rows)
{
    size_t count = 0;
    const bool dense = part == PLAN_DENSE;
    if (q->count_paper) {
        if (rows) ti_paper_fill(q, dense, l, rows);
        return ti_paper_rows(dense);
    }
    for (const tithe_scheme *const *s = tithe_schemes(); *s; s++)
        for (const char *const *name = (*s)->collectives; is_of(*s, part) && *name; name++) {
            if (!is_planned(*s, name) || !takes(*s, *name, l)) continue;
            if (rows) rows[count] = own_row(q, *s, *name, l);
            count++;
        }
    return count;
}

static const plan_level any_level = {.keep = 1};

static size_t dense_count(const tithe_plan_request *q)
{
    return walk(q, PLAN_DENSE, &any_level, NULL);
}

/* Of a codec; none, where it is refused. */
static tithe_status walk_codec(const tithe_plan_request *q, const tithe_plan_codec *codec, plan_part part,
                               tithe_plan_row *rows, size_t *count, tithe_error *error)
{
    plan_level level;
    const tithe_status status = ti_plan_codec_open(q, codec, &level, error);
    *count = status ? 0 : walk(q, part, &level, rows);
    if (!status) ti_plan_codec_close(&level);
    return status;
}

/* The papers have no formulas for it, and a frame no room for more numbers. */
static bool is_summed(const tithe_plan_request *q)
{
    return q->summed && !q->count_paper && q->params <= TITHE_MAX_N;
}

size_t tithe_plan_rows(const tithe_plan_request *request)
{
    size_t more = 0, count = dense_count(request) +
                             request->keep_count * walk(request, PLAN_COMPRESSED, &any_level, NULL);
    for (size_t i = 0; i < request->codec_count; i++, count += more)
        walk_codec(request, &request->codecs[i], PLAN_COMPRESSED, NULL, &more, NULL);
    more = 0;
    if (is_summed(request)) walk_codec(request, request->summed, PLAN_SUMMED, NULL, &more, NULL);
    return count + more;
}

/* ---- a level ------------------------------------------------------------------------------------------------ */

static tithe_status frame_length(const tithe_plan_request *q, double entries, double *frame,
                                 tithe_error *error)
{
    if (q->params > TITHE_MAX_N)
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "A frame holds up to %u numbers: take `count=paper`, or list the layers.",
                       TITHE_MAX_N);
    tithe_codec *codec;
    const tithe_codec_options open = {.open_level = true};
    const tithe_status status = tithe_codec_create("topk|raw", &open, &codec, error);
    if (status) return status;
    const tithe_codec at = ti_codec_at(codec, entries);
    *frame = (double)ti_codec_expected_length(&at, (size_t)q->params);
    tithe_codec_free(codec);
    return TITHE_OK;
}

/* The paper has 4 bytes for a value and 4 for an index, of as many as keep says, whole or not. */
static tithe_status make_level(const tithe_plan_request *q, double keep, plan_level *l, tithe_error *error)
{
    const double entries = q->count_paper ? keep * q->params : fmax(1, round(keep * q->params));
    *l = (plan_level){.keep = keep,
                      .frame = 8 * entries,
                      .values = 4 * entries,
                      .encode = q->speed.encode_value * q->params + q->speed.encode_entry * entries,
                      .decode = q->speed.decode_entry * entries,
                      .form = q->speed.form_value * q->params};
    const tithe_status status = q->count_paper ? TITHE_OK : frame_length(q, entries, &l->frame, error);
    l->indices = l->frame - l->values;
    return status;
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
    double max = 0;
    for (size_t i = dense_count(q); i < count; i++) {
        double from = 0, to = INFINITY; /* it has to beat every dense row */
        for (size_t d = 0; d < dense_count(q); d++) narrow(&rows[i], &rows[d], q->link.latency, &from, &to);
        if (from < to) max = fmax(max, to);
    }
    return max;
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
    if (q->workers < 1 || q->workers > TITHE_PLAN_WORKERS)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "A plan is for 1 to %d workers, not %u.",
                       TITHE_PLAN_WORKERS, q->workers);
    if (!(q->link.latency >= 0) || !isfinite(q->link.latency))
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "A latency is not negative, but this one is %g s.",
                       q->link.latency);
    if (!all_finite_positive(&q->link.bandwidth, 1))
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "A bandwidth is positive, but this one is %g B/s.",
                       q->link.bandwidth);
    if (q->count_paper && q->codec_count)
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "The paper's formulas are of top-k: leave out `count=paper`, or the codecs.");
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
    size_t count = walk(request, PLAN_DENSE, &any_level, rows);
    for (size_t i = 0; i < request->keep_count; i++) {
        plan_level level;
        status = make_level(request, request->keeps[i], &level, error);
        if (status) return status;
        count += walk(request, PLAN_COMPRESSED, &level, rows + count);
    }
    size_t more = 0;
    for (size_t i = 0; i < request->codec_count && !status; i++, count += more)
        status = walk_codec(request, &request->codecs[i], PLAN_COMPRESSED, rows + count, &more, error);
    more = 0;
    if (!status && is_summed(request))
        status = walk_codec(request, request->summed, PLAN_SUMMED, rows + count, &more, error);
    if (status) return status;
    count += more;
    *plan = (tithe_plan){0};
    for (size_t i = 0; i < count; i++) {
        if (rows[i].seconds < rows[plan->winner].seconds) plan->winner = i;
        if (rows[i].network_seconds < rows[plan->network_winner].network_seconds) plan->network_winner = i;
        if (i < dense_count(request) && rows[i].seconds < rows[plan->dense].seconds) plan->dense = i;
    }
    plan->break_even = break_even(request, rows, count);
    return TITHE_OK;
}
