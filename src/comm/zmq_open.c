/* zmq_open.c - a group over ZeroMQ from text, for host programs in any language: "connect=tcp://127.0.0.1:5555;workers=3". */
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "comm/transport_fail.h"
#include "comm/zmq_wire.h"
#include "tithe/transport.h"

typedef struct group_options {
    const char *listen, *connect; /* one of them, which says what this process is */
    unsigned workers;
    bool peers;
    double timeout;
    unsigned rank, file;
} group_options;

enum { ANY = 1 << 20 };

#define OPTIONS group_options
static const tithe_option table[] = {
    {"listen", "ENDPOINT", "where the server waits for its workers: this process is the server", NULL,
     TITHE_OPTION_TEXT, 0, OPTION_PLACE(listen)},
    {"connect", "ENDPOINT", "where the server waits for its workers: this process is one of them", NULL,
     TITHE_OPTION_TEXT, 0, OPTION_PLACE(connect)},
    {"workers", "N", "how many there will be", NULL, TITHE_OPTION_WHOLE, 0, OPTION_PLACE(workers), .min = 1,
     .max = WIRE_MAX_SOCKETS - 1},
    {"peers", "yes|no", "workers talk to each other, too", "yes", TITHE_OPTION_CHOICE, 0, OPTION_PLACE(peers),
     .choices = "no|yes"},
    {"timeout", "SECONDS", "the longest that one process waits for another", "30", TITHE_OPTION_REAL, 0,
     OPTION_PLACE(timeout), .real_min = 0.1, .real_max = 1e6},
    {"rank", "R", "which one this worker wants to be (default: any that is free)", NULL, TITHE_OPTION_WHOLE,
     0, OPTION_PLACE(rank), .max = WIRE_MAX_SOCKETS - 2, .unset = ANY},
    {"file", "NUMBER", "of a socket that listens there already, which the server takes over", NULL,
     TITHE_OPTION_WHOLE, 0, OPTION_PLACE(file), .min = 3, .max = 1 << 20},
    {.name = NULL},
};

static tithe_status check(const group_options *o, tithe_error *error)
{
    if (!o->listen && !o->connect)
        return transport_fail(error, TITHE_E_ARGUMENT, 0,
                              "Neither listen nor connect is given: listen=tcp://127.0.0.1:5555 makes the "
                              "server, connect=tcp://127.0.0.1:5555 a worker.");
    if (o->listen && o->connect)
        return transport_fail(error, TITHE_E_ARGUMENT, 0,
                              "Both listen and connect are given: the server has listen, a worker connect.");
    if (!o->workers)
        return transport_fail(error, TITHE_E_ARGUMENT, 0,
                              "workers is not given: say how many there will be, such as workers=3.");
    if (o->rank != ANY && (o->listen || o->rank >= o->workers))
        return transport_fail(error, TITHE_E_ARGUMENT, 0,
                              "A worker may want a rank below %u, and a server has none: rank=%u cannot be.",
                              o->workers, o->rank);
    if (o->file && !o->listen)
        return transport_fail(error, TITHE_E_ARGUMENT, 0,
                              "Only a server takes over a socket that listens: leave file out.");
    return TITHE_OK;
}

/* The text is cut into pieces, so this one is a copy. */
static tithe_status open_pieces(char *text, tithe_comm **comm, tithe_error *error)
{
    group_options o;
    tithe_status status = tithe_options_read(table, text, &o, error);
    if (!status) status = check(&o, error);
    if (status) return status;
    const tithe_zmq_options options = {.size = sizeof options,
                                       .endpoint = o.listen ? o.listen : o.connect,
                                       .server = o.listen != NULL,
                                       .workers = o.workers,
                                       .peers = o.peers,
                                       .timeout = o.timeout,
                                       .wants = o.rank == ANY ? 0 : o.rank + 1,
                                       .listening = (int)o.file};
    return tithe_comm_zmq(&options, comm, error);
}

tithe_status tithe_comm_zmq_open(const char *text, tithe_comm **comm, tithe_error *error)
{
    if (!text || !comm)
        return transport_fail(error, TITHE_E_ARGUMENT, 0,
                              "A text such as connect=tcp://127.0.0.1:5555;workers=3 and room for the group "
                              "are needed.");
    const size_t length = strlen(text) + 1;
    char *pieces = malloc(length);
    if (!pieces)
        return transport_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for a group of ranks.");
    memcpy(pieces, text, length);
    const tithe_status status = open_pieces(pieces, comm, error);
    free(pieces);
    return status;
}
