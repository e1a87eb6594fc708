/* serve.c - the server of a run: it has no data, learns the number of parameters from the workers, and adds up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/comm.h"
#include "learn/run.h"

/* "500+20": as many as there is room for are taken. False: it is none such. */
static bool read_layers(run *r, const char *text)
{
    const char *at = strstr(text, "; layers ");
    if (!at) return false;
    size_t sum = 0;
    r->layer_count = 0;
    at += strlen("; layers ");
    do {
        char *end;
        const unsigned long long length = strtoull(at, &end, 10);
        if (end == at || length > TITHE_MAX_N || r->layer_count == MOST_LAYERS) return false;
        r->layers[r->layer_count++] = (size_t)length;
        sum += (size_t)length;
        at = end;
    } while (*at++ == '+');
    return at[-1] == ';' && sum == r->size;
}

/* " n=123; ...": the workers agree with each other; what matters here is that they have the server's codecs. */
static tithe_status accept(void *context, const char *text, tithe_error *error)
{
    run *r = context;
    const unsigned long long n = strncmp(text, " n=", 3) == 0 ? strtoull(text + 3, NULL, 10) : 0;
    char codec[300], downlink[300], bucket[40];
    snprintf(downlink, sizeof downlink, "; downlink %s;", r->downlink ? tithe_codec_spec(r->downlink) : "-");
    snprintf(bucket, sizeof bucket, "; bucket %zu;", r->o->bucket_bytes);
    snprintf(codec, sizeof codec, "; codec %s;", tithe_codec_spec(r->codec));
    if (r->exchange)
        return ti_fail(error, TITHE_E_CORRUPT, 0, "The workers have agreed already, and now they do again.");
    if (n == 0 || n > TITHE_MAX_N)
        return ti_fail(error, TITHE_E_MISMATCH, 0, "The workers do not say how many numbers they will send.");
    if (!strstr(text, codec))
        return ti_fail(error, TITHE_E_MISMATCH, 0,
                       "The server has the codec %s, but the workers do not: start all with the "
                       "same options.",
                       tithe_codec_spec(r->codec));
    if (!strstr(text, downlink))
        return ti_fail(
            error, TITHE_E_MISMATCH, 0,
            "The server has another --downlink than the workers: start all with the same options.");
    r->size = (size_t)n;
    if (!strstr(text, bucket))
        return ti_fail(error, TITHE_E_MISMATCH, 0,
                       "The server has another --bucket than the workers: start all with the same options.");
    if (!read_layers(r, text))
        return ti_fail(error, TITHE_E_MISMATCH, 0, "The workers do not say of which layers their model is.");
    return ti_run_exchange(r, r->size, error);
}

static tithe_status step(void *context, tithe_error *error)
{
    run *r = context;
    if (!r->exchange) return ti_fail(error, TITHE_E_CORRUPT, 0, "A step came before the workers had agreed.");
    return tithe_exchange_serve(r->exchange, error);
}

/* For a checkpoint, which the first worker writes and reads: what the server itself kept, if anything. */
static tithe_status state(void *context, bool restore, uint64_t step, tithe_error *error)
{
    run *r = context;
    if (!r->exchange)
        return ti_fail(error, TITHE_E_CORRUPT, 0, "A checkpoint came before the workers had agreed.");
    if (restore) tithe_exchange_continue(r->exchange, (uint32_t)step, NULL, NULL);
    float *kept = tithe_exchange_server_kept(r->exchange);
    if (!kept) return TITHE_OK;
    const size_t bytes = r->size * sizeof *kept;
    if (restore) return ti_comm_receive(r->comm, r->comm->server, 0, kept, bytes, error);
    const tithe_status status = ti_comm_send(r->comm, r->comm->server, 0, kept, bytes, error);
    return status ? status : ti_comm_flush(r->comm, error);
}

tithe_status tithe_train_serve(const tithe_train_options *options, tithe_error *error)
{
    if (!options || !options->comm || options->comm->local)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "A server is a process of its own, without ranks.");
    run r = {.o = options, .comm = options->comm, .lane_count = 1};
    r.comm->phase = "serving them";
    tithe_status status = ti_run_codecs(&r, error);
    if (!status) {
        const comm_service service = {.context = &r, .accept = accept, .step = step, .state = state};
        status = ti_comm_serve(r.comm, &service, error);
    }
    if (status) ti_comm_give_up(r.comm, error ? error->text : tithe_status_text(status));
    ti_run_free(&r);
    return status;
}
