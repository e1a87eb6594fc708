/* tuner.c - rows that choose a level: CAT over several costs, the sort and scan that it replaces, and a choice together
 * with the encoding that follows it. */
#include <math.h>
#include <stdlib.h>

#include "bench/job.h"
#include "tithe/tuner.h"
#include "tuner/search.h"

static tithe_tuner_call call_of(const bench_job *job)
{
    return (tithe_tuner_call){.codec = job->codec,
                              .cost = job->cost,
                              .count_paper = job->row->paper,
                              .form = TITHE_EXCHANGE,
                              .x = job->v->x,
                              .n = job->v->n,
                              .gamma = 1,
                              .scratch = job->tuner_scratch,
                              .scratch_size = job->tuner_scratch_size};
}

static tithe_status choose(bench_job *job, tithe_error *error)
{
    const tithe_tuner_call call = call_of(job);
    tithe_choice choice;
    const tithe_status status = ti_tuner_cat.choose(&call, &choice, error);
    if (status) return status;
    job->number = choice.level;
    job->call.largest = choice.largest;
    job->call.largest_count = choice.largest_count;
    return TITHE_OK;
}

static tithe_status choose_open(bench_job *job, tithe_error *error)
{
    const tithe_codec_options options = {.contractive = true, .open_level = true};
    tithe_status status = tithe_codec_create(job->row->spec, &options, &job->codec, error);
    if (!status) status = tithe_cost_create(job->row->cost, &job->cost, error);
    if (status) return status;
    job->tuner_scratch_size = ti_tuner_cat.scratch(job->codec, job->v->n);
    job->tuner_scratch = malloc(job->tuner_scratch_size + 1);
    return job->tuner_scratch ? TITHE_OK
                              : ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for scratch.");
}

const bench_kind ti_bench_choose = {.open = choose_open, .run = choose, .wrong = ti_bench_wrong_number};

/* ---- sort and scan ------------------------------------------------------------------------------------------ */

enum { DIGIT = 11, DIGITS = 1 << DIGIT };

/* Three passes of eleven bits, descending. The last one leaves the keys in the upper half of the room. */
static const uint32_t *sort_keys(const float *x, size_t n, uint32_t *room)
{
    static const unsigned shifts[] = {0, DIGIT, 2 * DIGIT};
    uint32_t *from = room, *to = room + n, place[3][DIGITS] = {{0}};
    for (size_t i = 0; i < n; i++) {
        from[i] = f32_bits(x[i]) & 0x7fffffffu;
        for (int p = 0; p < 3; p++) place[p][from[i] >> shifts[p] & (DIGITS - 1)]++;
    }
    for (int p = 0; p < 3; p++) {
        uint32_t before = 0;
        for (size_t d = DIGITS; d-- > 0;) {
            const uint32_t here = place[p][d];
            place[p][d] = before;
            before += here;
        }
        for (size_t i = 0; i < n; i++) to[place[p][from[i] >> shifts[p] & (DIGITS - 1)]++] = from[i];
        uint32_t *other = from;
        from = to;
        to = other;
    }
    return from;
}

static tithe_status sort_and_scan(bench_job *job, tithe_error *error)
{
    (void)error;
    const size_t n = job->v->n;
    const double *c = tithe_cost_params(job->cost);
    const double each =
        c[1] * (tithe_codec_paper_bits(job->codec, n, 2) - tithe_codec_paper_bits(job->codec, n, 1));
    const uint32_t *keys = sort_keys(job->v->x, n, job->tuner_scratch);
    double squares = 0, best = 0;
    for (size_t t = 1; t <= n; t++) {
        const double a = (double)f32_from_bits(keys[t - 1]), cost = c[0] + each * (double)t;
        squares += a * a;
        if (squares <= best * cost) continue;
        best = squares / cost;
        job->number = (double)t;
    }
    return TITHE_OK;
}

/* Sums in another order may prefer a neighbour. */
static const char *sort_wrong(bench_job *job)
{
    const double mine = job->number;
    const tithe_status status = choose(job, NULL);
    return !status && fabs(job->number - mine) <= 1e-4 * mine
               ? NULL
               : "cat chooses another level than a sort and scan";
}

const bench_kind ti_bench_sort_and_scan = {.open = choose_open, .run = sort_and_scan, .wrong = sort_wrong};

/* ---- and then encode ------------------------------------------------------------------------------------------ */

static tithe_status encode_open(bench_job *job, tithe_error *error)
{
    tithe_status status = choose_open(job, error);
    if (!status) status = ti_bench_job_frame(job, tithe_codec_bound(job->codec, job->v->n), error);
    if (status) return status;
    job->call.form = TITHE_EXCHANGE;
    job->call.scratch_size = tithe_codec_scratch(job->codec, job->v->n);
    job->call.scratch = malloc(job->call.scratch_size + 1);
    if (!job->call.scratch)
        return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for scratch.");
    status = choose(job, error);
    job->call.level = job->number;
    job->call.largest = NULL; /* as if nobody had looked */
    return status;
}

static tithe_status encode_alone(bench_job *job, tithe_error *error)
{
    return tithe_encode(job->codec, &job->call, job->v->x, job->v->n, job->frame, job->capacity, &job->info,
                        error);
}

static tithe_status choose_and_encode(bench_job *job, tithe_error *error)
{
    const tithe_status status = choose(job, error);
    job->call.level = job->number;
    return status ? status : encode_alone(job, error);
}

const bench_kind ti_bench_encode_chosen = {
    .open = encode_open, .run = encode_alone, .wrong = ti_bench_wrong_bytes};
const bench_kind ti_bench_choose_and_encode = {
    .open = encode_open, .run = choose_and_encode, .wrong = ti_bench_wrong_bytes};
