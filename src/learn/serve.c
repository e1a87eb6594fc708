/* serve.c - the server of a run: it has no data, learns the number of parameters from the workers, and adds up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/comm.h"
#include "learn/run_description.h"
#include "learn/run_options.h"
#include "serve/serve.h"

/* "500+20": as many as there is room for are taken. False: it is none such. */
static bool read_layers(run *r, const description_row *row)
{
    const char *at = row->value, *end = row->value + row->value_length;
    size_t sum = 0;
    r->layer_count = 0;
    do {
        char *behind;
        const unsigned long long length = strtoull(at, &behind, 10);
        if (behind == at || behind > end || length > TITHE_MAX_N || r->layer_count == MAX_LAYERS)
            return false;
        r->layers[r->layer_count++] = (size_t)length;
        sum += (size_t)length;
        at = behind;
    } while (*at++ == '+');
    return at - 1 == end && sum == r->size;
}

static tithe_status read_shape(run *r, const char *text, tithe_error *error)
{
    description_row row;
    const unsigned long long n = ti_description_find(text, "n", &row) ? strtoull(row.value, NULL, 10) : 0;
    if (n == 0 || n > TITHE_MAX_N)
        return ti_fail(error, TITHE_E_MISMATCH, 0, "The workers do not say how many numbers they will send.");
    r->size = (size_t)n;
    if (!ti_description_find(text, "layers", &row) || !read_layers(r, &row))
        return ti_fail(error, TITHE_E_MISMATCH, 0, "The workers do not say of which layers their model is.");
    return TITHE_OK;
}

/* Options, and what is in the files that they name: "cost contents" is of the cost. */
static bool needs(const char *key)
{
    char name[40];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(key, " "), key);
    const tithe_option *row = ti_option_find(name);
    return row && row->flags & TITHE_OPTION_SERVER;
}

/* The workers agree with each other. Do they with the server? */
static tithe_status compare(run *r, const char *text, tithe_error *error)
{
    const tithe_train_options resolved = ti_run_resolved(r);
    description mine = {0};
    description_difference d;
    tithe_status status = ti_describe_files(r, error);
    ti_describe_options(&resolved, TITHE_OPTION_SERVER, DESCRIBE_ALL, &mine);
    ti_description_append(&mine, r->files.text);
    if (!status && (mine.spoilt || r->files.spoilt))
        status = ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to describe the run.");
    if (!status && ti_description_differ(mine.text, text, needs, &d))
        status = ti_fail(error, TITHE_E_MISMATCH, 0,
                         "The server has %s %s, but the workers have %s %s: start all with the same options.",
                         d.key, d.first, d.key, d.second);
    ti_description_free(&mine);
    return status;
}

static tithe_status accept(void *context, const char *text, tithe_error *error)
{
    run *r = context;
    if (r->exchange)
        return ti_fail(error, TITHE_E_CORRUPT, 0, "The workers have agreed already, and now they do again.");
    tithe_status status = read_shape(r, text, error);
    if (!status) status = ti_run_exchange(r, r->size, error);
    return status ? status : compare(r, text, error);
}

static tithe_status step(void *context, unsigned exchange, tithe_error *error)
{
    (void)exchange; /* a run has one */
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
    float *residual = tithe_exchange_server_residual(r->exchange);
    if (!residual) return TITHE_OK;
    const size_t bytes = r->size * sizeof *residual;
    if (restore) return ti_comm_receive(r->comm, r->comm->server, 0, residual, bytes, error);
    const tithe_status status = ti_comm_send(r->comm, r->comm->server, 0, residual, bytes, error);
    return status ? status : ti_comm_flush(r->comm, error);
}

tithe_status tithe_train_serve(const tithe_train_options *options, tithe_error *error)
{
    tithe_train_options o;
    tithe_status status = ti_train_options_take(options, &o, error);
    if (status) return status;
    if (!o.comm || o.comm->local)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "A server is a process of its own, without ranks.");
    ti_options_complete(&o, tithe_train_option_table());
    run r = {.o = &o, .comm = o.comm, .lane_count = 1};
    r.comm->phase = "serving them";
    status = ti_run_codecs(&r, error);
    if (!status) {
        const comm_service service = {.context = &r, .accept = accept, .step = step, .state = state};
        status = ti_serve(r.comm, &service, error);
    }
    if (status) tithe_comm_give_up(r.comm, error ? error->text : tithe_status_text(status));
    ti_run_free(&r);
    return status;
}
