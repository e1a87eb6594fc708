/* serve.c - the server of a program that is no trainer: it opens what the workers open, and adds up. */
#include "tithe/serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/description.h"
#include "exchange/exchange.h"
#include "exchange/options.h"
#include "serve/serve.h"

enum { MAX_EXCHANGES = 1 << 16 };

typedef struct server {
    tithe_comm *comm;
    tithe_exchange **exchanges; /* in the order in which the workers opened them */
    unsigned count;
} server;

/* "784000+850" into room for as many as the text has letters; how many there are. 0: it is no such list. */
static size_t read_layers(const char *text, size_t *layers)
{
    size_t count = 0;
    for (const char *at = text;; at++) {
        char *end;
        const unsigned long long length = strtoull(at, &end, 10);
        if (end == at || length > TITHE_MAX_N) return 0;
        layers[count++] = (size_t)length;
        at = end;
        if (!*at) return count;
        if (*at != '+') return 0;
    }
}

/* The rows that are options, as "key=value;key=value;": as long as the lines "key: value" that they stand in, at most. */
static void write_options(const char *text, char *options, size_t room)
{
    description_row row;
    size_t used = 0;
    while (ti_description_next(&text, &row)) {
        char key[40];
        snprintf(key, sizeof key, "%.*s", (int)(row.key_length < 39 ? row.key_length : 39), row.key);
        if (!ti_option_in(ti_exchange_option_table, key)) continue;
        used += (size_t)snprintf(options + used, room - used, "%s=", key);
        memcpy(options + used, row.value, row.value_length); /* may be longer than an int can say */
        used += row.value_length;
        options[used++] = ';';
    }
    options[used] = 0;
}

static tithe_status open_exchange(server *s, const char *text, char *options, char *layer_text,
                                  size_t *layers, tithe_error *error)
{
    description_row row;
    if (!ti_description_find(text, "layers", &row))
        return ti_fail(error, TITHE_E_MISMATCH, 0, "The workers do not say how many numbers they will send.");
    ti_description_copy(&row, layer_text, strlen(text) + 1, NULL);
    const size_t count = read_layers(layer_text, layers);
    if (count == 0)
        return ti_fail(error, TITHE_E_MISMATCH, 0, "The workers speak of layers '%.60s'.", layer_text);
    write_options(text, options, 2 * strlen(text) + 2);
    return ti_exchange_open_here(s->comm, options, layers, count, &s->exchanges[s->count], error);
}

/* Called once for each exchange that the workers open. */
static tithe_status accept(void *context, const char *text, tithe_error *error)
{
    server *s = context;
    const size_t room = strlen(text) + 1;
    tithe_exchange **more = realloc(s->exchanges, (s->count + 1) * sizeof(tithe_exchange *));
    char *options = malloc(2 * room), *layer_text = malloc(room);
    size_t *layers = malloc(room * sizeof *layers);
    tithe_status status = TITHE_OK;
    if (more) s->exchanges = more;
    if (!more || !options || !layer_text || !layers)
        status = ti_fail(error, TITHE_E_MEMORY, 0, "The server has not enough memory for another exchange.");
    else if (s->count == MAX_EXCHANGES)
        status = ti_fail(error, TITHE_E_ARGUMENT, 0, "The server holds up to %d exchanges.", MAX_EXCHANGES);
    else
        status = open_exchange(s, text, options, layer_text, layers, error);
    if (!status) s->count++;
    free(options);
    free(layer_text);
    free(layers);
    return status;
}

static tithe_status step(void *context, unsigned exchange, tithe_error *error)
{
    const server *s = context;
    if (exchange >= s->count)
        return ti_fail(error, TITHE_E_CORRUPT, exchange, "A step of exchange %u, but %u were opened.",
                       exchange, s->count);
    return tithe_exchange_serve(s->exchanges[exchange], error);
}

tithe_status tithe_serve(tithe_comm *comm, tithe_error *error)
{
    if (!comm || comm->local)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "A server is a process of its own, without ranks.");
    server s = {.comm = comm};
    tithe_error own = {0};
    if (!error) error = &own;
    const comm_service service = {.context = &s, .accept = accept, .step = step};
    const tithe_status status = ti_serve(comm, &service, error);
    if (status) tithe_comm_give_up(comm, error->text);
    for (unsigned i = 0; i < s.count; i++) tithe_exchange_free(s.exchanges[i]);
    free(s.exchanges);
    return status;
}
