/* waiting.c - rows of what a rank does with its gradient under error compensation, as an exchange does it: with a level that is given, with CAT's,
 * and with one that knows what waits. What the last two take over the first is the price of the choice. */
#include "bench/job.h"
#include "exchange/exchange.h"
#include "feedback/kinds.h"
#include "tithe/feedback.h"
#include "tuner/search.h"

/* x is the gradient. Every call starts from the same e, */
static void before(bench_job *job)
{
    memcpy(job->v->e, job->v->start, job->v->n * sizeof *job->v->e);
}

/* and with the memory of a step with CAT's level, which brought the update y. */
static void before_late(bench_job *job)
{
    before(job);
    ti_late_forget(&job->late);
    ti_late_learn(&job->late, job->v->y, (size_t)job->number, job->v->n);
}

/* What the rank itself has sent, which is what every one of these calls does. */
static void before_few(bench_job *job)
{
    const bench_vectors *v = job->v;
    memset(v->y, 0, v->n * sizeof *v->y);
    tithe_decode_add(job->codec, &job->call, job->frame, job->info.bytes, 1, v->y, v->n, NULL);
    before_late(job);
}

/* Every number is about as large as that of the gradient. */
static void before_full(bench_job *job)
{
    for (size_t i = 0; i < job->v->n; i++) job->v->y[i] = job->v->x[i] / 2;
    before_late(job);
}

static tithe_status put_fixed(bench_job *job, tithe_error *error)
{
    const bench_vectors *v = job->v;
    job->call.level = job->number;
    job->call.largest = NULL; /* nobody has looked */
    return tithe_ec_encode(job->codec, &job->call, v->e, v->x, 1, v->n, job->frame, job->capacity, &job->info,
                           error);
}

static tithe_status put_chosen(bench_job *job, tithe_error *error)
{
    const bench_vectors *v = job->v;
    const exchange_way way = {.codec = job->codec,
                              .feedback = &ti_feedback_ec,
                              .tuner = &ti_tuner_cat,
                              .n = v->n,
                              .capacity = job->capacity,
                              .scratch_size = job->call.scratch_size,
                              .tuner_scratch_size = job->tuner_scratch_size};
    exchange_lane lane = {.scratch = job->call.scratch, .tuner_scratch = job->tuner_scratch};
    exchange_worker w = {.cost = job->cost, .residual = v->e, .frame = job->frame, .late = job->late};
    const tithe_status status = ti_exchange_compress(&way, &w, &lane, &job->call, v->x, 1, false, error);
    job->info = w.info;
    if (w.late.vector) ti_late_learn(&w.late, v->y, w.info.entries, v->n);
    return status;
}

/* job->number: CAT's level. */
static tithe_status open_chosen(bench_job *job, tithe_error *error)
{
    tithe_status status = ti_bench_choose_and_encode.open(job, error);
    if (status) return status;
    before(job);
    status = put_chosen(job, error);
    job->number = job->call.level;
    return status;
}

static tithe_status open_late(bench_job *job, tithe_error *error)
{
    const tithe_status status = open_chosen(job, error);
    if (status || ti_late_open(&job->late, job->v->n)) return status;
    return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for an update.");
}

static const char *wrong(bench_job *job)
{
    job->row->kind->before(job);
    return ti_bench_wrong_bytes(job);
}

const bench_kind ti_bench_put = {.open = open_chosen, .before = before, .run = put_fixed, .wrong = wrong};
const bench_kind ti_bench_put_cat = {
    .open = open_chosen, .before = before, .run = put_chosen, .wrong = wrong};
const bench_kind ti_bench_put_late = {
    .open = open_late, .before = before_few, .run = put_chosen, .wrong = wrong};
const bench_kind ti_bench_put_late_full = {
    .open = open_late, .before = before_full, .run = put_chosen, .wrong = wrong};
