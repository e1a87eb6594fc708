/* calls.c - rows that are whole calls of the public interface: error compensation, encoding, decoding. */
#include <math.h>
#include <stdlib.h>

#include "bench/exact.h"
#include "bench/job.h"
#include "tithe/feedback.h"

/* ---- error compensation ------------------------------------------------------------------------------- */

/* x is the gradient. Every call starts from the same e: left alone it would drift, and the share of a threshold with
 * it. */
static void ec_before(bench_job *job)
{
    memcpy(job->v->e, job->v->start, job->v->n * sizeof *job->v->e);
}

static tithe_status ec_run(bench_job *job, tithe_error *error)
{
    return tithe_ec_encode(job->codec, &job->call, job->v->e, job->v->x, 1, job->v->n, job->frame,
                           job->capacity, &job->info, error);
}

static tithe_status ec_open(bench_job *job, tithe_error *error)
{
    for (size_t i = 0; i < job->v->n; i++) job->v->e[i] = job->v->start[i] + job->v->x[i];
    const tithe_status status = ti_bench_job_codec(job, true, job->v->e, error);
    return status ? status : ti_bench_job_frame(job, tithe_codec_bound(job->codec, job->v->n), error);
}

/* Nothing may get lost: e + g is what was sent and what is left in e. Of a selection, both must be exact. */
static const char *ec_balance(bench_job *job, float *sum, uint32_t *indices, float *values)
{
    const bench_vectors *v = job->v;
    memset(v->y, 0, v->n * sizeof *v->y);
    if (tithe_decode_add(job->codec, &job->call, job->frame, job->info.bytes, 1, v->y, v->n, NULL))
        return "the frame cannot be decoded";
    size_t count = 0;
    for (size_t i = 0; i < v->n; i++) {
        sum[i] = v->start[i] + v->x[i];
        if (!(fabsf(sum[i] - v->y[i] - v->e[i]) <= 1e-6f * fabsf(sum[i])))
            return "what was sent and what is left do not add up";
        if (v->y[i] == 0) continue;
        indices[count] = (uint32_t)i;
        values[count++] = v->y[i];
    }
    if (job->codec->selector->source == TITHE_INDICES_ALL) return NULL;
    const size_t k = ti_bench_share_of(v->n, job->row->share);
    if (fabs((double)count - (double)k) > 0.05 * (double)k)
        return "it does not keep the share that its name says";
    if (job->codec->selector->absolute)
        return ti_bench_wrong_selection(sum, v->n, job->codec->selector_params[0], v->n, indices, values,
                                        count);
    const float kth = ti_bench_kth_magnitude(sum, v->n, k, v->y);
    return ti_bench_wrong_selection(sum, v->n, (double)kth, ti_bench_ties_among(sum, v->n, k, kth), indices,
                                    values, count);
}

static const char *ec_wrong(bench_job *job)
{
    float *sum = malloc(job->v->n * sizeof *sum), *values = malloc(job->v->n * sizeof *values);
    uint32_t *indices = malloc(job->v->n * sizeof *indices);
    const char *wrong =
        sum && values && indices ? ec_balance(job, sum, indices, values) : "there is no memory to check it";
    free(sum);
    free(values);
    free(indices);
    return wrong;
}

const bench_kind ti_bench_ec = {.open = ec_open, .before = ec_before, .run = ec_run, .wrong = ec_wrong};

/* ---- encode and decode -------------------------------------------------------------------------------- */

static tithe_status encode_run(bench_job *job, tithe_error *error)
{
    return tithe_encode(job->codec, &job->call, job->v->x, job->v->n, job->frame, job->capacity, &job->info,
                        error);
}

static tithe_status encode_open(bench_job *job, tithe_error *error)
{
    tithe_status status = ti_bench_job_codec(job, false, job->v->x, error);
    if (!status) status = ti_bench_job_frame(job, tithe_codec_bound(job->codec, job->v->n), error);
    return status ? status : encode_run(job, error); /* a decoder needs something to decode */
}

static tithe_status decode_run(bench_job *job, tithe_error *error)
{
    return tithe_decode_add(job->codec, &job->call, job->frame, job->info.bytes, 1, job->v->y, job->v->n,
                            error);
}

const bench_kind ti_bench_encode = {.open = encode_open, .run = encode_run, .wrong = ti_bench_wrong_bytes};
const bench_kind ti_bench_decode_add = {
    .open = encode_open, .run = decode_run, .wrong = ti_bench_wrong_sum, .closes = true};
