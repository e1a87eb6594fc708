/* sums.c - see sums.h. */
#include "model/sums.h"

#include "comm/comm.h"

#include <stdlib.h>
#include <string.h>

enum {
    LINE = 64,
    MAX_BYTES = 1 << 25,   /* for the sums of parts that wait to be added up, unless the threads need more */
    SLOTS_PER_THREAD = 4,  /* so that threads seldom wait for each other */
    MIN_TO_SHARE = 1 << 13 /* numbers of g, for one thread */
};

tithe_batch ti_worker_rows(const tithe_data *data, unsigned local, double weight)
{
    return (tithe_batch){
        .first = data->begin[local], .count = data->begin[local + 1] - data->begin[local], .weight = weight};
}

static size_t round_up(size_t bytes)
{
    return (bytes + LINE - 1) / LINE * LINE;
}

size_t ti_scratch_bytes(const tithe_problem *p)
{
    return p->model->scratch ? round_up(p->model->scratch(p)) : 0;
}

/* A wave: some parts, each summed into a slot of its own. */
typedef struct wave {
    const row_sum *s;
    const double *x;
    unsigned first, count, parts; /* of the parts */
    uint8_t *slots;               /* for each: its gradient, then scratch */
    size_t gradient_bytes, slot_bytes;
    double *g;
    double *losses;  /* of all parts */
    size_t *correct; /* likewise; NULL: not wanted */
    unsigned threads;
} wave;

static double *slot_gradient(const wave *w, unsigned slot)
{
    /* The very first part is summed where its sum belongs. */
    return !w->g ? NULL : w->first + slot == 0 ? w->g : (double *)(void *)(w->slots + slot * w->slot_bytes);
}

static void sum_part(void *context, unsigned slot)
{
    const wave *w = context;
    const tithe_problem *p = w->s->problem;
    const tithe_data *data = p->data;
    const unsigned part = w->first + slot; /* a worker */
    tithe_batch rows = ti_worker_rows(data, part, w->s->weight);
    if (w->s->weights) rows.weights = w->s->weights + rows.first;

    double *g = slot_gradient(w, slot);
    size_t *correct = w->correct ? w->correct + part : NULL;
    if (g) memset(g, 0, p->size * sizeof *g);
    w->losses[part] =
        w->s->loss
            ? ti_linear_add(w->s->loss, data, &rows, w->x, g, correct)
            : p->model->add(p, &rows, w->x, g, w->slots + slot * w->slot_bytes + w->gradient_bytes, correct);
}

/* Each thread adds all parts of the wave, in their order, for its own stretch of g. */
static void add_stretch(void *context, unsigned stretch)
{
    const wave *w = context;
    const size_t n = w->s->problem->size;
    const size_t begin = pool_begin(n, LINE, w->threads, stretch),
                 end = pool_begin(n, LINE, w->threads, stretch + 1);
    enum { STEP = 512 }; /* of g, that stay in the first-level cache while all parts come by */
    for (size_t i = begin; i < end; i += STEP) {
        const size_t stop = end - i < STEP ? end : i + STEP;
        for (unsigned slot = w->first ? 0 : 1; slot < w->count; slot++) {
            const double *part = slot_gradient(w, slot);
            for (size_t j = i; j < stop; j++) w->g[j] += part[j];
        }
    }
}

static unsigned slots_for(const wave *w, unsigned threads)
{
    size_t slots =
        threads == 1 ? 1 : (size_t)threads * SLOTS_PER_THREAD; /* a single one stays in the cache */
    if (w->slot_bytes && slots > MAX_BYTES / w->slot_bytes) slots = MAX_BYTES / w->slot_bytes;
    if (slots < threads) slots = threads;
    return (unsigned)(slots < w->parts ? slots : w->parts);
}

/* What the workers of other processes have, in rank order: numbers, never vectors. */
static bool add_others(const tithe_problem *p, double *sum, size_t *correct)
{
    if (!p->comm) return true;
    double scalars[2] = {*sum, correct ? (double)*correct : 0};
    if (ti_comm_fold(p->comm, COMM_SUM, scalars, 2, NULL)) return false;
    *sum = scalars[0];
    if (correct) *correct = (size_t)scalars[1];
    return true;
}

bool ti_row_sum(const row_sum *s, tithe_pool *pool, const double *x, double *g, double *sum, size_t *correct)
{
    const tithe_problem *p = s->problem;
    const unsigned threads = tithe_pool_threads(pool);
    wave w = {.s = s, .x = x, .g = g, .parts = p->data->local};
    w.gradient_bytes = g ? round_up(p->size * sizeof *g) : 0;
    w.slot_bytes = w.gradient_bytes + (s->loss ? 0 : ti_scratch_bytes(p));
    w.threads = pool_parts(pool, p->size, MIN_TO_SHARE);
    const unsigned slots = slots_for(&w, threads);

    w.losses = malloc(w.parts * sizeof *w.losses);
    w.correct = correct ? malloc(w.parts * sizeof *w.correct) : NULL;
    w.slots = w.slot_bytes ? aligned_alloc(LINE, slots * w.slot_bytes) : NULL;
    const bool ok = w.losses && (w.correct || !correct) && (w.slots || !w.slot_bytes);
    for (w.first = 0; ok && w.first < w.parts; w.first += w.count) {
        w.count = w.parts - w.first < slots ? w.parts - w.first : slots;
        ti_pool_run(pool, w.count, sum_part, &w);
        if (g) ti_pool_run(pool, w.threads, add_stretch, &w);
    }
    if (ok) {
        *sum = 0;
        if (correct) *correct = 0;
        for (unsigned part = 0; part < w.parts; part++) {
            *sum += w.losses[part];
            if (correct) *correct += w.correct[part];
        }
    }
    free(w.losses);
    free(w.correct);
    free(w.slots);
    return ok && add_others(p, sum, correct);
}
