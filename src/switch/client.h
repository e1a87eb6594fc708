/* client.h - the two halves of the way to a switch: client.c, which joins and hears, and client_reduce.c, which sends what is to be added. */
#ifndef SWITCH_CLIENT_H
#define SWITCH_CLIENT_H

#include <poll.h>

#include "aggregate/reduction.h"
#include "aggregate/window.h"
#include "base/status.h"
#include "switch/mail.h"
#include "switch/patience.h"
#include "switch/seal.h"

enum { CLIENT_TIMEOUT = 30 }; /* seconds, where nothing is said */

typedef struct client_rank {
    int socket;
    bool joined; /* the switch has said that all are here */
    window w;
    void *memory;
} client_rank;

typedef struct client {
    net_address at;
    char where[NET_TEXT];
    seal seal;
    bool (*stop)(void *context);
    void *stop_context;
    uint64_t job;
    unsigned ranks, first, local;
    client_rank *of;
    uint8_t place;
    uint32_t here; /* workers that have come */
    uint32_t slots;
    packet_limits limits;
    inbox *in;
    outbox *out;
    size_t room;      /* of what is written of a packet: its head, under a key all of it */
    uint8_t *written; /* MAIL_DATAGRAMS of these */
    patience patience;
    struct pollfd *polls;
    /* of the reduction that runs */
    const agg_reduction *r;
    packet_cut cut;
    const uint8_t *const *up;
    uint8_t *down;
    double heard;    /* when anything last came from the switch */
    double advanced; /* when a sum did */
    unsigned closed;
} client;

/* ---- client.c ---------------------------------------------------------------------------------------------- */

/* A packet without numbers, of local rank i. What is lost is sent again by whoever waits for its answer. */
void ti_client_send(client *c, unsigned i, packet_kind kind);
/* What has come to local rank i; *some: anything. */
tithe_status ti_client_receive(client *c, unsigned i, bool *some, tithe_error *error);
/* Until something comes, or the time is over. */
void ti_client_wait(client *c, double until);
/* TITHE_E_STOPPED, if the caller says so. */
tithe_status ti_client_stopped(const client *c, tithe_error *error);

/* ---- client_reduce.c --------------------------------------------------------------------------------------- */

/* A sum goes into place, whichever rank here gets it first. */
void ti_client_take_sum(client *c, unsigned i, const packet_head *h, const uint8_t *body, size_t length,
                        double now);
/* As an aggregator does (aggregate/reduction.h); `self` is a client that has joined. */
tithe_status ti_client_reduce(void *self, const agg_reduction *r, const uint8_t *const *up, uint8_t *down,
                              double timeout, tithe_error *error);

#endif
