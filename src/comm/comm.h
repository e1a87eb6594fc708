/* comm.h - send and receive, counted and with a timeout. */
#ifndef COMM_COMM_H
#define COMM_COMM_H

#include "aggregate/reduction.h"
#include "base/status.h"
#include "tithe/comm.h"
#include "tithe/rounds.h"

#include <stdbool.h>

/* Who keeps rank `me` waiting, which waits for `from`? Whoever has waited for long says so: waits[r] is 1 + the one that r
 * waits for, or 0. The last of the chain waits for nobody, and has to answer for it; *waiter waits for it. */
static inline unsigned comm_culprit(const unsigned *waits, unsigned count, unsigned me, unsigned from,
                                    unsigned *waiter)
{
    unsigned who = from, hops = 0;
    *waiter = me;
    for (; waits[who] && waits[who] - 1 != me && hops < count; hops++) {
        *waiter = who;
        who = waits[who] - 1;
    }
    if (hops < count) return who;
    *waiter = me; /* a circle */
    return from;
}

/* What this process has seen of the link since all last told each other; link_estimate.h makes an estimate of it. */
enum { LINK_ROUNDS = 4, LINK_WINDOW = 3, LINK_PINGS = 5, LINK_LATENCIES = 16 };
typedef struct link_round {
    uint64_t longest; /* message of any rank in this round, in bytes: the same on all ranks; 0: no round */
    double bytes;     /* that this rank received */
    double seconds;   /* from its sending to its having received */
} link_round;
typedef struct link_seen {
    /* All ranks have just heard of each other, so that none is late by more than a few latencies. Set by collectives in
     * which everybody sends and receives; whoever computes between two of them clears it, as the exchange does. */
    bool together;
    link_round rounds[LINK_ROUNDS];  /* the longest of those that began together */
    double latency[LINK_LATENCIES];  /* of this process, the last ones that it heard of; */
    unsigned heard, unheard;         /* so many in all, and updates since the last one */
    unsigned turn;                   /* of a server without ranks: whom it asks first */
    double server_sent;              /* bytes, by that server, at the last update */
    double ping_bytes, ping_seconds; /* of a message that was sent to be timed, and its answer; 0: none */
} link_seen;

struct tithe_comm {
    unsigned size;         /* ranks in all */
    unsigned first, local; /* those of this process: first, first + 1, ... */
    unsigned server;       /* who collects: rank 0, or `size`, which is a process without a rank of its own */
    const tithe_transport *transport; /* NULL: all are here */
    void *self;
    bool one_thread;    /* only the thread that opened it may use it: nothing can be sent on the side */
    double timeout;     /* seconds that any one wait may take; 0: 30 */
    const char *phase;  /* what is being done, for the sentence when a wait fails; static, or NULL */
    unsigned exchanges; /* that were opened over it from text, by all ranks in one order */
    bool dismissed;     /* the server was told that there is no more to do */
    bool all_know;      /* all were told why this process cannot go on */
    /* counted here and nowhere else */
    uint64_t sent_bytes, sent_messages; /* by the ranks of this process */
    double waited;                      /* seconds */
    link_seen seen;
    const aggregator *aggregator; /* a switch that adds for these ranks; NULL: none was attached */
    void *aggregator_self;
    bool joined;       /* its job has begun */
    bool lost;         /* it is, and all ranks know */
    char lost_as[128]; /* and how: the beginning of a sentence */
    /* the first of its waits that failed; from then on nothing is sent or waited for. Code 0: none */
    tithe_error failed;
};

static inline bool comm_is_local(const tithe_comm *comm, unsigned rank)
{
    return rank - comm->first < comm->local; /* wraps around below first */
}

/* A message that needs no sending, because both ranks are here: it counts all the same. */
void ti_comm_count(tithe_comm *comm, uint64_t messages, uint64_t bytes);
/* Back to what the counts were, after something that happens by the clock. */
void ti_comm_uncount(tithe_comm *comm, uint64_t bytes, uint64_t messages);

tithe_status ti_comm_send(tithe_comm *comm, unsigned from, unsigned to, const void *bytes, size_t length,
                          tithe_error *error);
tithe_status ti_comm_receive(tithe_comm *comm, unsigned at, unsigned from, void *bytes, size_t length,
                             tithe_error *error);
/* Pieces of a long message (tithe_transport). */
tithe_status ti_comm_send_piece(tithe_comm *comm, unsigned from, unsigned to, const void *bytes,
                                size_t length, tithe_error *error);
tithe_status ti_comm_expect(tithe_comm *comm, unsigned at, unsigned from, void *room, size_t length,
                            tithe_error *error);
tithe_status ti_comm_take(tithe_comm *comm, unsigned at, unsigned from, void *room, size_t length,
                          const void **bytes, tithe_error *error);
tithe_status ti_comm_flush(tithe_comm *comm, tithe_error *error);
/* The transport's own all-reduce; what it sends is for the caller to count. */
tithe_status ti_comm_all_reduce(tithe_comm *comm, float *vector, size_t n, tithe_error *error);

/* ---- a switch that adds (reduce.c) ------------------------------------------------------------------------- */

/* From now on it belongs to the group, and ends with it. */
void ti_comm_attach(tithe_comm *comm, const aggregator *by, void *self);
void ti_comm_detach(tithe_comm *comm);
/* Before the first reduction: all ranks agree on a name for the job, and the switch hears of them. `lets_go`: they can do without it, and
 * tell each other how it went. */
tithe_status ti_comm_join_switch(tithe_comm *comm, bool lets_go, tithe_error *error);
tithe_status ti_comm_reduce(tithe_comm *comm, const agg_reduction *r, const uint8_t *const *up, uint8_t *down,
                            bool lets_go, tithe_error *error);
/* By all ranks that can do without it, after the reductions of a step, with how they ended here. A switch that has failed one of them
 * is lost for all of them, which is TITHE_OK with comm->lost.
 * `error` is where the sentence stands that belongs to `status`. */
tithe_status ti_comm_agree_on_switch(tithe_comm *comm, tithe_status status, tithe_error *error);

/* ---- small things that all processes need (fold.c) -------------------------------------------------- */

typedef enum comm_fold {
    COMM_SUM,
    COMM_MAX,
    COMM_ASK /* a sum, but the most of the last number, that is timed (comm/link_estimate.h) and not counted: it happens by the
              * clock, and no count may depend on that */
} comm_fold;

/* Fold the numbers of all processes, in rank order, and hand the result to all of them. `values` holds those of this
 * process's ranks, already folded. Does nothing when all ranks are here. */
tithe_status ti_comm_fold(tithe_comm *comm, comm_fold how, double *values, size_t n, tithe_error *error);
/* What that takes among so many ranks, but for COMM_ASK. */
void ti_comm_fold_rounds(unsigned ranks, bool server_apart, size_t n, tithe_rounds *list);

/* The handshake: do all processes say the same? `text` has rows "key: value" (base/description.h), as many as there are. Where
 * two processes differ, or a server without ranks has something against it, all of them get TITHE_E_MISMATCH and the same
 * sentence. */
tithe_status ti_comm_agree(tithe_comm *comm, const char *text, tithe_error *error);
/* Takes the place of ti_comm_agree in a process that failed before it: all others get TITHE_E_MISMATCH and its sentence. */
void ti_comm_disagree(tithe_comm *comm, const char *why);

/* Bytes of one rank to rank 0, or back. Called by all processes with the same rank and length; `bytes` matters to the two
 * ends only, and nothing happens where both are one process. At most COMM_BLOCK bytes. */
enum { COMM_BLOCK = 1 << 20 };
tithe_status ti_comm_collect(tithe_comm *comm, unsigned rank, void *bytes, size_t length, tithe_error *error);
tithe_status ti_comm_deliver(tithe_comm *comm, unsigned rank, void *bytes, size_t length, tithe_error *error);

/* What a process without ranks does: it serves the others until they are done. `step` is called for each exchange that
 * wants the server. What the workers agreed on is checked by `accept`, whose sentence becomes theirs. */
typedef struct comm_service {
    void *context;
    tithe_status (*accept)(void *context, const char *text, tithe_error *error);
    tithe_status (*step)(void *context, unsigned exchange, tithe_error *error);
    /* The first worker saves or restores what the server keeps after `step` steps (ti_comm_call_state). */
    tithe_status (*state)(void *context, bool restore, uint64_t step, tithe_error *error);
} comm_service;
enum { COMM_CALL_BYTES = 16 }; /* of a call to the server */
/* To the server, by the first worker: a step of the exchange with this number begins; or, there will be no more. Nothing where no such server is. */
tithe_status ti_comm_call_server(tithe_comm *comm, unsigned exchange, tithe_error *error);
tithe_status ti_comm_dismiss_server(tithe_comm *comm, tithe_error *error);
tithe_status ti_comm_call_state(tithe_comm *comm, bool restore, uint64_t step, tithe_error *error);
tithe_status ti_comm_call_ping(tithe_comm *comm, unsigned rank, uint64_t length, tithe_error *error);
/* Is there a server that is none of the ranks? */
bool ti_comm_has_own_server(const tithe_comm *comm);
/* What this process has sent; the first worker also answers for a server without ranks. */
tithe_status ti_comm_sent(tithe_comm *comm, double *bytes, tithe_error *error);

/* ---- a message that is timed (ping.c) --------------------------------------------------------------------- */

/* From this rank to rank 0, or to a server that has none, with a byte in return: how long both took. Called by all
 * processes; *seconds is set by that rank alone. Not counted. At most 2 COMM_BLOCK bytes. */
tithe_status ti_comm_ping(tithe_comm *comm, unsigned rank, uint64_t length, double *seconds,
                          tithe_error *error);
tithe_status ti_comm_answer_ping(tithe_comm *comm, unsigned rank, uint64_t length, tithe_error *error);

#endif
