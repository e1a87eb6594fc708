/* plan.c - the time of every scheme on a link, as rounds that follow each other; and what follows from it.
 *
 * With N workers, M bytes of gradient, log = log2, the paper has (tyagi2023artopk)
 *   dense    star 2a + 2(N-1)Mb    ring 2(N-1)a + 2(N-1)/N Mb    tree 2 log N a + 2 log N Mb
 *   gather   log N a + (N-1) frame b
 *   artopk   broadcast of the indices, log N (a + I b), and an all-reduce of the values V over a ring or a tree
 * and counts 4 bytes for each value and each index: frame = 2 V, I = V.
 *
 * What src/coll and src/exchange do differs: a tree has whole levels; frames are gathered around a ring, in N-1 rounds, or up
 * and down a tree; their lengths go ahead of them the same way; and where all frames together are longer than the vector,
 * the vector is summed instead. */
#include "tithe/plan.h"

#include <math.h>

#include "base/status.h"
#include "tithe/coll.h"

/* ---- rows ------------------------------------------------------------------------------------------------- */

enum {
    PAPER_DENSE = 3,
    PAPER_LEVEL = 3,
    OWN_DENSE = 4,
    OWN_LEVEL = 6,
};

static size_t dense_count(const tithe_plan_request *q)
{
    return q->count_paper ? PAPER_DENSE : OWN_DENSE;
}

static size_t level_count(const tithe_plan_request *q)
{
    return q->count_paper ? PAPER_LEVEL : OWN_LEVEL;
}

size_t tithe_plan_rows(const tithe_plan_request *request)
{
    return dense_count(request) + level_count(request) * request->keep_count;
}

/* Some rounds, one after the other, in each of which a link carries `bytes`. */
static void add_rounds(const tithe_plan_request *q, tithe_plan_row *row, double rounds, double bytes)
{
    row->rounds += rounds;
    row->bytes += rounds * bytes;
    row->network_seconds +=
        rounds * (q->cost ? tithe_cost_of(q->cost, 8 * bytes) : q->link.latency + bytes / q->link.bandwidth);
}

static tithe_plan_row begin_row(const char *scheme, const char *collective, double keep, double codec)
{
    return (tithe_plan_row){.scheme = scheme, .collective = collective, .keep = keep, .codec_seconds = codec};
}

/* Levels of a tree: the paper's may be broken, ours are whole. */
static double levels_of(const tithe_plan_request *q)
{
    const double levels = log2(q->workers);
    return q->count_paper ? levels : ceil(levels);
}

static void add_star(const tithe_plan_request *q, tithe_plan_row *row, double bytes)
{
    if (q->workers > 1) add_rounds(q, row, 2, (q->workers - 1.0) * bytes);
}

static void add_ring(const tithe_plan_request *q, tithe_plan_row *row, double bytes)
{
    add_rounds(q, row, 2 * (q->workers - 1.0), bytes / q->workers);
}

static void add_tree(const tithe_plan_request *q, tithe_plan_row *row, double bytes)
{
    add_rounds(q, row, 2 * levels_of(q), bytes);
}

static void add_direct(const tithe_plan_request *q, tithe_plan_row *row, double bytes)
{
    const double part = bytes / q->workers;
    if (q->workers > 2 && part > TITHE_DIRECT_AT_ONCE) { /* in turns, and a byte before all but the first */
        add_rounds(q, row, 2 * (q->workers - 1.0), part);
        add_rounds(q, row, 2 * q->workers - 3.0, 1);
    } else if (q->workers > 1) {
        add_rounds(q, row, 2, (q->workers - 1.0) * part);
    }
}

/* Runs of blocks go up, twice as long in each round; then all blocks go down. */
static void add_tree_gather(const tithe_plan_request *q, tithe_plan_row *row, double bytes)
{
    double run = 1, left = q->workers - 1.0;
    while (left > 0) {
        add_rounds(q, row, 1, fmin(run, left) * bytes);
        left -= run;
        run *= 2;
    }
    add_rounds(q, row, levels_of(q), q->workers * bytes);
}

static void dense_rows(const tithe_plan_request *q, tithe_plan_row *rows)
{
    const double bytes = 4 * q->params;
    rows[0] = begin_row("dense", "star", 1, 0);
    add_star(q, &rows[0], bytes);
    rows[1] = begin_row("dense", "ring", 1, 0);
    add_ring(q, &rows[1], bytes);
    rows[2] = begin_row("dense", "tree", 1, 0);
    add_tree(q, &rows[2], bytes);
    if (q->count_paper) return;
    rows[3] = begin_row("dense", "direct", 1, 0);
    add_direct(q, &rows[3], bytes);
}

/* ---- rows with a level ---------------------------------------------------------------------------------------- */

typedef struct level {
    double keep, frame, values, indices; /* bytes */
    double encode, decode, form;         /* seconds, for one frame, and to form the vector */
} level;

static tithe_status frame_length(const tithe_plan_request *q, double entries, double *frame,
                                 tithe_error *error)
{
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

static tithe_status make_level(const tithe_plan_request *q, double keep, level *l, tithe_error *error)
{
    const double entries = q->count_paper ? keep * q->params : fmax(1, round(keep * q->params));
    *l = (level){.keep = keep,
                 .frame = 8 * entries,
                 .values = 4 * entries,
                 .encode = q->speed.encode_value * q->params + q->speed.encode_entry * entries,
                 .decode = q->speed.decode_entry * entries,
                 .form = q->speed.form_value * q->params};
    const tithe_status status = q->count_paper ? TITHE_OK : frame_length(q, entries, &l->frame, error);
    l->indices = l->frame - l->values;
    return status;
}

/* The vector is formed, the leader selects, and everybody takes its values out and the sums in. */
static double of_artopk(const level *l)
{
    return l->form + l->encode + 2 * l->decode;
}

static void paper_rows(const tithe_plan_request *q, const level *l, tithe_plan_row *rows)
{
    const double n = q->workers, levels = levels_of(q);
    rows[0] = begin_row("gather", "allgather", l->keep, l->encode + n * l->decode);
    if (n > 1) add_rounds(q, &rows[0], levels, (n - 1) * l->frame / levels);
    rows[1] = begin_row("artopk", "ring", l->keep, of_artopk(l));
    rows[2] = begin_row("artopk", "tree", l->keep, of_artopk(l));
    for (int i = 1; i < PAPER_LEVEL; i++) add_rounds(q, &rows[i], levels, l->indices);
    add_ring(q, &rows[1], l->values);
    add_tree(q, &rows[2], l->values);
}

/* Lengths, then frames; or the vectors by their parts, where that is less. */
static tithe_plan_row gather_row(const tithe_plan_request *q, const level *l, bool tree)
{
    enum { LENGTH = 4 };
    const double n = q->workers;
    const bool by_parts = n * l->frame > 4 * q->params;
    tithe_plan_row row =
        begin_row("gather", tree ? "tree" : "allgather", l->keep, l->encode + (by_parts ? 1 : n) * l->decode);
    if (tree)
        add_tree_gather(q, &row, LENGTH);
    else
        add_rounds(q, &row, n - 1, LENGTH);
    if (by_parts)
        add_direct(q, &row, 4 * q->params);
    else if (tree)
        add_tree_gather(q, &row, l->frame);
    else
        add_rounds(q, &row, n - 1, l->frame);
    return row;
}

static void own_rows(const tithe_plan_request *q, const level *l, tithe_plan_row *rows)
{
    rows[0] = gather_row(q, l, false);
    rows[1] = gather_row(q, l, true);
    /* the server takes up all frames, makes one of the sum, and everybody takes that up */
    rows[2] = begin_row("star", "star", l->keep, 2 * l->encode + (q->workers + 1.0) * l->decode);
    add_star(q, &rows[2], l->frame);
    rows[3] = begin_row("artopk", "ring", l->keep, of_artopk(l));
    rows[4] = begin_row("artopk", "tree", l->keep, of_artopk(l));
    rows[5] = begin_row("artopk", "direct", l->keep, of_artopk(l));
    for (int i = 3; i < OWN_LEVEL; i++) add_rounds(q, &rows[i], levels_of(q), l->indices);
    add_ring(q, &rows[3], l->values);
    add_tree(q, &rows[4], l->values);
    add_direct(q, &rows[5], l->values);
}

static tithe_status level_rows(const tithe_plan_request *q, double keep, tithe_plan_row *rows,
                               tithe_error *error)
{
    level l;
    const tithe_status status = make_level(q, keep, &l, error);
    if (status) return status;
    if (q->count_paper)
        paper_rows(q, &l, rows);
    else
        own_rows(q, &l, rows);
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
    for (size_t i = dense_count(q); i < count; i++) {
        double from = 0, to = INFINITY; /* it has to beat every dense row */
        for (size_t d = 0; d < dense_count(q); d++) narrow(&rows[i], &rows[d], q->link.latency, &from, &to);
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
        status = level_rows(request, request->keeps[i],
                            rows + dense_count(request) + level_count(request) * i, error);
    if (status) return status;
    const size_t count = tithe_plan_rows(request);
    for (size_t i = 0; i < count; i++) rows[i].seconds = rows[i].network_seconds + rows[i].codec_seconds;
    *plan = (tithe_plan){0};
    for (size_t i = 0; i < count; i++) {
        if (rows[i].seconds < rows[plan->winner].seconds) plan->winner = i;
        if (rows[i].network_seconds < rows[plan->network_winner].network_seconds) plan->network_winner = i;
        if (i < dense_count(request) && rows[i].seconds < rows[plan->dense].seconds) plan->dense = i;
    }
    plan->break_even = break_even(request, rows, count);
    return TITHE_OK;
}
