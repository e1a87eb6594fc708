/* run.c - see run.h. */
#include "check/run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ti_check_row(check_output *out, const char *claim, double bound, double measured, bool holds,
                  const char *format, ...)
{
    if (out->stopped) return;
    tithe_check_row row = {
        .spec = out->spec, .claim = claim, .bound = bound, .measured = measured, .holds = holds};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(row.detail, sizeof row.detail, format, arguments);
    va_end(arguments);
    out->stopped = !out->report(out->context, &row);
}

tithe_status ti_check_run_open(const tithe_codec *codec, uint64_t seed, const check_vectors *vectors,
                               check_run *run)
{
    memset(run, 0, sizeof *run);
    run->codec = codec;
    run->type = tithe_codec_type(codec);
    run->seed = seed;
    run->vectors = vectors;
    run->capacity = tithe_codec_bound(codec, vectors->longest);
    run->scratch_size = tithe_codec_scratch(codec, vectors->longest);
    run->frame = malloc(run->capacity + 1);
    run->scratch = malloc(run->scratch_size + 1);
    run->y = malloc(vectors->longest * sizeof *run->y);
    run->f32 = malloc(vectors->longest * sizeof *run->f32);
    if (run->frame && run->scratch && run->y && run->f32) return TITHE_OK;
    ti_check_run_close(run);
    return TITHE_E_MEMORY;
}

void ti_check_run_close(check_run *run)
{
    free(run->frame);
    free(run->scratch);
    free(run->y);
    free(run->f32);
    memset(run, 0, sizeof *run);
}

tithe_call ti_check_run_call(const check_run *run, size_t vector, uint32_t trial, tithe_form form)
{
    const check_vector *v = &run->vectors->list[vector];
    /* Steps from 2^16 up to 2^21 all take three bytes as varints: the step has no say in a frame's length. */
    return (tithe_call){.seed = run->seed,
                        .step = 65536 + trial,
                        .rank = 1,
                        .tensor = (uint32_t)vector,
                        .form = form,
                        .given = run->vectors->given,
                        .given_count = ti_check_given_count(v->n),
                        .segments = v->segments,
                        .segment_count = 3,
                        .scratch = run->scratch,
                        .scratch_size = run->scratch_size};
}

static bool failed(check_run *run, const check_vector *v, const tithe_error *error)
{
    if (run->failures++ == 0) {
        run->error = *error;
        run->failed_on = v->name;
    }
    return false;
}

static void note(check_run *run, const check_vector *v, tithe_form form)
{
    check_frames *seen = &run->seen[form];
    const tithe_frame_info *info = &run->info;
    size_t length = tithe_codec_length(run->codec, v->n, info->entries, form);
    const size_t bound = tithe_codec_bound(run->codec, v->n);
    if (length > bound) length = bound; /* both are promises */
    const double fullness = (double)info->bytes / (double)length;
    if (fullness > seen->fullest) seen->fullest = fullness, seen->fullest_on = v->name;
    if (info->header_bytes + 4 > seen->header) seen->header = info->header_bytes + 4;
    seen->frames++;

    const size_t places = sizeof seen->first_n / sizeof *seen->first_n;
    for (size_t i = 0; i < places; i++) {
        if (seen->first_n[i] == 0) seen->first_n[i] = v->n, seen->first_bytes[i] = info->bytes;
        if (seen->first_n[i] != v->n) continue;
        const size_t first = seen->first_bytes[i];
        const size_t difference = first > info->bytes ? first - info->bytes : info->bytes - first;
        if (difference > seen->uneven) seen->uneven = difference, seen->uneven_on = v->name;
        break;
    }
}

bool ti_check_run_encode(check_run *run, const tithe_call *call, const check_vector *v)
{
    tithe_error error = {0};
    const tithe_status status =
        run->type == TITHE_F32
            ? tithe_encode(run->codec, call, v->f32, v->n, run->frame, run->capacity, &run->info, &error)
            : tithe_encode_f64(run->codec, call, v->x, v->n, run->frame, run->capacity, &run->info, &error);
    if (status != TITHE_OK) return failed(run, v, &error);
    note(run, v, call->form);
    return true;
}

bool ti_check_run_decode(check_run *run, const tithe_call *call, const check_vector *v)
{
    tithe_error error = {0};
    tithe_status status;
    if (run->type == TITHE_F32) {
        memset(run->f32, 0, v->n * sizeof *run->f32);
        status = tithe_decode_add(run->codec, call, run->frame, run->info.bytes, 1, run->f32, v->n, &error);
        for (size_t i = 0; i < v->n; i++) run->y[i] = (double)run->f32[i];
    } else {
        memset(run->y, 0, v->n * sizeof *run->y);
        status = tithe_decode_add_f64(run->codec, call, run->frame, run->info.bytes, 1, run->y, v->n, &error);
    }
    return status == TITHE_OK || failed(run, v, &error);
}

bool ti_check_run_trial(check_run *run, size_t vector, uint32_t trial, tithe_form form)
{
    const check_vector *v = &run->vectors->list[vector];
    const tithe_call call = ti_check_run_call(run, vector, trial, form);
    return ti_check_run_encode(run, &call, v) && ti_check_run_decode(run, &call, v);
}
