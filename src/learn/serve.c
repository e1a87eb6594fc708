/* serve.c - the server of a run: it has no data, learns the number of parameters from the workers, and adds up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/comm.h"
#include "learn/run.h"

/* " n=123; ...": the workers agree with each other; what matters here is that they have the server's codecs. */
static tithe_status accept(void *context, const char *text, tithe_error *error)
{
    run *r = context;
    const unsigned long long n = strncmp(text, " n=", 3) == 0 ? strtoull(text + 3, NULL, 10) : 0;
    char codec[300];
    snprintf(codec, sizeof codec, "; codec %s;", tithe_codec_spec(r->codec));
    if (n == 0 || n > TITHE_MAX_N)
        return ti_fail(error, TITHE_E_MISMATCH, 0, "The workers do not say how many numbers they will send.");
    if (!strstr(text, codec))
        return ti_fail(error, TITHE_E_MISMATCH, 0,
                       "The server has the codec %s, but the workers do not: start all with the "
                       "same options.",
                       tithe_codec_spec(r->codec));
    r->size = (size_t)n;
    return ti_run_exchange(r, r->size, error);
}

static tithe_status step(void *context, tithe_error *error)
{
    run *r = context;
    if (!r->exchange) return ti_fail(error, TITHE_E_CORRUPT, 0, "A step came before the workers had agreed.");
    return tithe_exchange_serve(r->exchange, error);
}

tithe_status tithe_train_serve(const tithe_train_options *options, tithe_error *error)
{
    if (!options || !options->comm || options->comm->local)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "A server is a process of its own, without ranks.");
    run r = {.o = options, .comm = options->comm, .lane_count = 1};
    r.comm->phase = "serving them";
    tithe_status status = ti_run_codecs(&r, error);
    if (!status) {
        const comm_service service = {.context = &r, .accept = accept, .step = step};
        status = ti_comm_serve(r.comm, &service, error);
    }
    if (status) ti_comm_give_up(r.comm, error ? error->text : tithe_status_text(status));
    ti_run_free(&r);
    return status;
}
