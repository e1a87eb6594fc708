/* passes.c - rows that are one part of a call: a selector's or quantizer's slot as encode.c and decode.c call it, the
 * coding of indices, random numbers, the checksum. */
#include "bench/exact.h"
#include "bench/job.h"

/* ---- quantizers --------------------------------------------------------------------------------------- */

static tithe_status quant_run(bench_job *job, tithe_error *error)
{
    const tithe_sink nowhere = {.y = NULL};
    const tithe_status status = job->codec->quantizer->encode(&job->quant, job->v->x, job->frame,
                                                              &job->info.value_bits, &nowhere, error);
    job->info.bytes = bytes_of_bits(job->info.value_bits);
    return status;
}

static tithe_status quant_open(bench_job *job, tithe_error *error)
{
    tithe_status status = ti_bench_job_codec(job, false, job->v->x, error);
    if (status) return status;
    job->quant = ti_codec_quant_call(job->codec, &job->call, job->v->n);
    status = ti_bench_job_frame(job, bytes_of_bits(job->codec->quantizer->max_bits(&job->quant)) + 8, error);
    return status ? status : quant_run(job, error); /* a decoder needs something to decode */
}

static tithe_status quant_decode_run(bench_job *job, tithe_error *error)
{
    (void)error;
    const tithe_sink sum = {.y = job->v->y, .scale = 1, .type = TITHE_F32};
    job->codec->quantizer->decode(&job->quant, job->frame, job->info.bytes, &sum);
    return TITHE_OK;
}

const bench_kind ti_bench_quant_encode = {
    .open = quant_open, .run = quant_run, .wrong = ti_bench_wrong_bytes};
const bench_kind ti_bench_quant_decode = {
    .open = quant_open, .run = quant_decode_run, .wrong = ti_bench_wrong_sum};

/* ---- selectors ---------------------------------------------------------------------------------------- */

static tithe_status select_open(bench_job *job, tithe_error *error)
{
    tithe_status status = ti_bench_job_codec(job, false, job->v->x, error);
    if (!status)
        status = ti_workspace_carve(job->codec, TO_ENCODE, job->v->n, ti_codec_room(job->codec, job->v->n),
                                    &job->call, &job->w, error);
    return status;
}

static tithe_status select_run(bench_job *job, tithe_error *error)
{
    const tithe_codec *codec = job->codec;
    const tithe_select_call c = {
        .params = codec->selector_params,
        .x = job->v->x,
        .n = job->v->n,
        .type = TITHE_F32,
        .call = &job->call,
        .key = ti_bench_select_key(&job->call),
        .scratch = job->w.selector,
    };
    job->selection = (tithe_selection){.indices = job->w.indices, .values = job->w.values, .factor = 1};
    return codec->selector->select(&c, &job->selection, error);
}

static const char *select_wrong(bench_job *job)
{
    const size_t n = job->v->n, k = ti_bench_share_of(n, job->row->share);
    const tithe_selection *s = &job->selection;
    if (!s->gathered) return "the values were not gathered";
    if (job->codec->selector->absolute)
        return ti_bench_wrong_selection(job->v->x, n, job->codec->selector_params[0], n, s->indices,
                                        s->values, s->count);
    const float kth = ti_bench_kth_magnitude(job->v->x, n, k, job->v->y);
    const size_t ties = ti_bench_ties_among(job->v->x, n, k, kth);
    return ti_bench_wrong_selection(job->v->x, n, (double)kth, ties, s->indices, s->values, s->count);
}

const bench_kind ti_bench_select = {.open = select_open, .run = select_run, .wrong = select_wrong};

/* ---- indices ------------------------------------------------------------------------------------------ */

static tithe_status indices_run(bench_job *job, tithe_error *error)
{
    (void)error;
    job->plan = ti_indices_plan(job->selection.indices, job->selection.count, job->v->n);
    ti_indices_write(&job->plan, job->selection.indices, job->selection.count, job->v->n, job->frame);
    return TITHE_OK;
}

static tithe_status indices_open(bench_job *job, tithe_error *error)
{
    tithe_status status = select_open(job, error);
    if (!status) status = select_run(job, error);
    if (!status)
        status = ti_bench_job_frame(
            job, bytes_of_bits(ti_indices_max_bits(job->selection.count, job->v->n)) + 8, error);
    if (status) return status;
    indices_run(job, error);
    job->info = (tithe_frame_info){.entries = job->selection.count, .index_bits = job->plan.bits};
    return TITHE_OK;
}

/* The values of the selection are not needed any more: what is read back goes there. */
static tithe_status indices_decode_run(bench_job *job, tithe_error *error)
{
    index_plan plan = job->plan;
    const bool sound = ti_indices_read(&plan, job->frame, bytes_of_bits(job->plan.bits), job->selection.count,
                                       job->v->n, job->w.values);
    return sound ? TITHE_OK
                 : ti_fail(error, TITHE_E_CORRUPT, 0, "The indices that were written cannot be read.");
}

static const char *indices_wrong(bench_job *job)
{
    if (indices_decode_run(job, NULL)) return "the indices cannot be read back";
    return memcmp(job->w.values, job->selection.indices, job->selection.count * sizeof(uint32_t)) == 0
               ? NULL
               : "the indices that were read back are others";
}

const bench_kind ti_bench_indices_encode = {.open = indices_open, .run = indices_run, .wrong = indices_wrong};
const bench_kind ti_bench_indices_decode = {
    .open = indices_open, .run = indices_decode_run, .wrong = indices_wrong};

/* ---- random numbers and the checksum ------------------------------------------------------------------ */

/* As many numbers as the vector has, made where they are used: in the first-level cache. */
static tithe_status random_run(bench_job *job, tithe_error *error)
{
    (void)error;
    const tithe_key key = ti_bench_select_key(&job->call);
    uint32_t random[TITHE_BLOCK];
    double sum = 0;
    for (size_t block = 0; block < (job->v->n + TITHE_BLOCK - 1) / TITHE_BLOCK; block++) {
        tithe_random_block(key, block, random);
        sum += random[block % TITHE_BLOCK];
    }
    job->number = sum;
    return TITHE_OK;
}

static tithe_status crc_run(bench_job *job, tithe_error *error)
{
    (void)error;
    job->number = tithe_crc32c((const uint8_t *)job->v->x, job->v->n * sizeof *job->v->x);
    return TITHE_OK;
}

const bench_kind ti_bench_random = {.run = random_run, .wrong = ti_bench_wrong_number};
const bench_kind ti_bench_crc = {.run = crc_run, .wrong = ti_bench_wrong_number};
