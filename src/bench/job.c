/* job.c - what a row needs, made and freed in one place. */
#include "bench/job.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/exact.h"
#include "kernels/kernels.h"

tithe_status ti_bench_job_open(const bench_row *row, const bench_vectors *v, const tithe_call *call,
                               unsigned rounds, bench_job *job, tithe_error *error)
{
    *job = (bench_job){.row = row, .v = v, .call = *call};
    job->seconds = calloc(rounds, sizeof *job->seconds);
    if (!job->seconds) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for the times.");
    return row->kind->open ? row->kind->open(job, error) : TITHE_OK;
}

void ti_bench_job_close(bench_job *job)
{
    ti_bench_ranks_free(job->ranks); /* before its codecs */
    tithe_codec_free(job->codec_back);
    tithe_codec_free(job->codec);
    tithe_cost_free(job->cost);
    free(job->tuner_scratch);
    ti_late_close(&job->late);
    free(job->call.scratch);
    free(job->frame);
    free(job->seconds);
    *job = (bench_job){0};
}

/* The spec of the row; where its level is a magnitude that is left open, with the one that leaves the row's share. */
static tithe_status write_spec(const bench_job *job, const float *magnitudes, char *spec, size_t size,
                               tithe_error *error)
{
    const size_t n = job->v->n;
    const tithe_codec_options open = {.open_level = true};
    tithe_codec *codec;
    const tithe_status status = tithe_codec_create(job->row->spec, &open, &codec, error);
    if (status) return status;
    const tithe_selector *selector = codec->selector;
    const bool missing = selector->absolute && !codec->has_level;
    tithe_codec_free(codec);
    snprintf(spec, size, "%s", job->row->spec);
    if (!missing) return TITHE_OK;
    float *room = malloc(n * sizeof *room);
    if (!room)
        return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for vectors of %zu numbers.", n);
    const float level = ti_bench_kth_magnitude(magnitudes, n, ti_bench_share_of(n, job->row->share), room);
    snprintf(spec, size, "%s:%s=%.17g", selector->name, selector->params[0].name, (double)level);
    free(room);
    return TITHE_OK;
}

tithe_status ti_bench_job_codec(bench_job *job, bool contractive, const float *magnitudes, tithe_error *error)
{
    const size_t n = job->v->n;
    char spec[128];
    tithe_status status = write_spec(job, magnitudes, spec, sizeof spec, error);
    if (status) return status;
    const tithe_codec_options options = {.contractive = contractive};
    status = tithe_codec_create(spec, &options, &job->codec, error);
    if (status) return status;
    job->call.scratch_size = tithe_codec_scratch(job->codec, n);
    if (job->call.scratch_size == 0) return TITHE_OK;
    job->call.scratch = malloc(job->call.scratch_size);
    return job->call.scratch ? TITHE_OK
                             : ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for scratch.");
}

tithe_status ti_bench_job_frame(bench_job *job, size_t bytes, tithe_error *error)
{
    job->capacity = bytes;
    job->frame = malloc(bytes ? bytes : 1);
    return job->frame ? TITHE_OK
                      : ti_fail(error, TITHE_E_MEMORY, 0,
                                "There is not enough memory for a frame of %zu bytes.", bytes);
}

/* ---- what is right ------------------------------------------------------------------------------------ */

static tithe_status run_with_reference(bench_job *job)
{
    const kernels *used = ti_kernels_force(&ti_kernels_ref);
    const tithe_status status = job->row->kind->run(job, NULL);
    ti_kernels_force(used);
    return status;
}

const char *ti_bench_wrong_bytes(bench_job *job)
{
    uint8_t *mine = job->frame, *other = malloc(job->capacity);
    if (!other) return "there is no memory to check it";
    const size_t bytes = job->info.bytes;
    job->frame = other;
    const tithe_status status = run_with_reference(job);
    job->frame = mine;
    const bool same = !status && job->info.bytes == bytes && memcmp(mine, other, bytes) == 0;
    free(other);
    return same ? NULL : "the bytes are not those of the reference kernels";
}

const char *ti_bench_wrong_sum(bench_job *job)
{
    const bench_vectors *v = job->v;
    const size_t size = v->n * sizeof *v->y;
    float *mine = malloc(size);
    if (!mine) return "there is no memory to check it";
    memcpy(v->y, v->x, size);
    tithe_status status = job->row->kind->run(job, NULL);
    memcpy(mine, v->y, size);
    memcpy(v->y, v->x, size);
    if (!status) status = run_with_reference(job);
    const bool same = !status && memcmp(mine, v->y, size) == 0;
    free(mine);
    return same ? NULL : "the sum is not that of the reference kernels";
}

const char *ti_bench_wrong_number(bench_job *job)
{
    const double mine = job->number;
    const tithe_status status = run_with_reference(job);
    return !status && mine == job->number ? NULL : "the number is not that of the reference kernels";
}
