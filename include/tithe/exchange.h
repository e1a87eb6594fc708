/* exchange.h - gradients in, one update out, the same for every rank: what stands in place of an all-reduce.
 *
 *     tithe_exchange *ex;
 *     tithe_exchange_open(comm, "codec=topk:keep=0.01;feedback=ec", n, &ex, &error);
 *     for (;;) {
 *         ... gradient of this rank into g ...
 *         tithe_exchange_step(ex, g, step_size, &error);      // g is now the update
 *         for (size_t i = 0; i < n; i++) x[i] -= g[i];
 *     }
 *
 * A process that holds several ranks hands in their gradients one by one (tithe_exchange_put), on as many threads as
 * it likes, and then takes the update (tithe_exchange_finish). Nothing is allocated after create. */
#ifndef TITHE_EXCHANGE_H
#define TITHE_EXCHANGE_H

#include "tithe/coll.h"
#include "tithe/feedback.h"
#include "tithe/options.h"
#include "tithe/pool.h"
#include "tithe/tuner.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tithe_exchange tithe_exchange;
struct tithe_exchange_config;

/* A reduction by a switch, with heads of packets: what each rank sends, what comes back to it, and the last packet of that. */
typedef struct tithe_reduced {
    double up, down, last, packets;
} tithe_reduced;
enum { TITHE_REDUCTIONS = 3 }; /* of a step: scales that ranks agree on, and the sum */

/* The shape of a step: all that its rounds depend on. Lengths in bytes. */
typedef struct tithe_step_shape {
    unsigned ranks;
    const tithe_collective *collective;
    bool server_apart;   /* the server is none of the ranks; otherwise it is rank 0 */
    double n;            /* numbers in the vector */
    tithe_blocks frames; /* of the ranks */
    double back;         /* the frame of the way back */
    /* under a leader */
    double statistics;  /* of each rank, from which the leader is chosen */
    double indices;     /* the leader's frame of indices */
    double values;      /* numbers of each rank at these indices, */
    bool quantized;     /* whose sums are sent as */
    tithe_blocks parts; /* frames by their owners */
    /* where ranks own parts, to which all send theirs */
    unsigned owners;        /* ranks that own one */
    double share, shares;   /* the longest frame to an owner, and all of them together; */
    double share_frames;    /* how many that are */
    bool heads, back_heads; /* lengths go ahead of frames, to the owners and back */
    bool crowded; /* for `foretell`: all that a rank sends lies in one part; otherwise in all alike */
    /* where a switch sums */
    unsigned reductions;
    tithe_reduced reduced[TITHE_REDUCTIONS];
    bool lets_go; /* for `foretell`: of one that is lost. Then ranks ask each other whether it is */
} tithe_step_shape;

typedef struct tithe_scheme {
    const char *name, *summary, *paper; /* paper NULL: of no paper */
    const tithe_param *params;          /* NULL: none */
    bool whole;                         /* takes the gradients as they are: no frames */
    bool forms;                         /* put only forms what is to be sent; run makes the messages */
    bool back;                          /* sends a frame back, which a downlink codec may compress */
    bool served;   /* by a server, to which all frames go: ranks need not know each other */
    bool gathers;  /* every rank gets the frames of all */
    bool cuts;     /* frames are of parts of the vector; back as they came, unless told otherwise */
    bool led;      /* ranks send what one of them selected, which promises nothing of what the others keep */
    bool integers; /* sums are of whole numbers: only codecs go with it that can be written as such */
    const char *const *collectives; /* names of those that it can use, the default first; ends with NULL */
    /* Is this the one to take where none is named, for so many numbers? The first in the table that says so. NULL: never. */
    bool (*suits)(const struct tithe_exchange_config *config, size_t n);
    /* Another default for this configuration and so many numbers. NULL: the first one. */
    const char *(*collective)(const struct tithe_exchange_config *config, size_t n);
    /* NULL, or a sentence: why it cannot be used like this. */
    const char *(*refuse)(const struct tithe_exchange_config *config);
    /* What it keeps of its own. NULL: nothing. */
    tithe_status (*open)(tithe_exchange *ex, tithe_error *error);
    void (*close)(tithe_exchange *ex);
    tithe_status (*run)(tithe_exchange *ex, float *update, tithe_error *error);
    /* The shape of a step before there is one, of codecs that state how much they send: likely lengths of its messages, or
     * under `crowded` what they do not exceed, are added to ranks, n and frames of the whole. NULL: nothing is to be added. */
    void (*foretell)(const struct tithe_exchange_config *config, size_t n, tithe_step_shape *shape);
    /* What a step of this shape takes, added to a list of rounds. Stated here and nowhere else (rounds.h). */
    void (*rounds)(const tithe_step_shape *shape, tithe_rounds *rounds);
    /* Numbers that it learned from step to step, for a checkpoint. NULL: none. */
    size_t (*learned)(const tithe_exchange *ex, double *numbers);
    void (*relearn)(tithe_exchange *ex, const double *numbers);
} tithe_scheme;
TITHE_API const tithe_scheme *const *tithe_schemes(void); /* ends with NULL */
/* From its spec; params takes TITHE_MAX_PARAMS values, NAN where nothing was stated, or is NULL. */
TITHE_API tithe_status tithe_scheme_find(const char *spec, const tithe_scheme **scheme, double *params,
                                         tithe_error *error);
/* The collective that a scheme uses under this name ('allgather' is a ring that passes frames on); NULL: it cannot. */
TITHE_API const tithe_collective *tithe_scheme_collective(const tithe_scheme *scheme, const char *name);

/* Who leads, under a scheme whose ranks all take the indices of one (artopk). A function of numbers that all ranks have. */
struct tithe_leader_state;
typedef struct tithe_leader {
    const char *name, *summary, *paper;
    const tithe_param *params;
    bool known;    /* before anybody has selected, so that only the leader has to */
    bool measures; /* what a step gains, for which the energies of all ranks are gathered */
    unsigned slot; /* of its gains in the state */
    /* The rule of the coming step. NULL: itself. */
    const struct tithe_leader *(*next)(const struct tithe_leader_state *s);
    /* The rank that leads; energies[r] is what rank r selected. NULL: `next` names one that can tell. */
    unsigned (*choose)(const struct tithe_leader_state *s, const double *energies, unsigned size);
} tithe_leader;
TITHE_API const tithe_leader *const *tithe_leaders(void); /* ends with NULL */
TITHE_API tithe_status tithe_leader_find(const char *spec, const tithe_leader **leader, double *params,
                                         tithe_error *error);

/* What must outlive the exchange: everything that is pointed to. */
typedef struct tithe_exchange_config {
    size_t size; /* sizeof(tithe_exchange_config): what was compiled against this header */
    tithe_comm *comm;
    /* Of floats; with open_level under a tuner; contractive where the feedback asks for it. */
    const tithe_codec *codec;
    const tithe_feedback *feedback; /* NULL: none */
    /* Of the way back; NULL: all|raw, or under a scheme that cuts the codec above. */
    const tithe_codec *downlink;
    /* Of the server, or of the owners of parts: none or ec. NULL: none, or under a scheme that cuts ec where feedback is ec. */
    const tithe_feedback *downlink_feedback;
    /* NULL or "auto", the first that suits: star with a downlink, dense for all|raw without feedback, shards where the frames of
     * all ranks would be longer than two vectors, otherwise gather. */
    const char *scheme;
    const char *collective;              /* NULL or "auto": the scheme's first */
    const char *leader;                  /* of artopk: round-robin (also NULL), variance or auto */
    bool deterministic;                  /* refuse what gives other bits on other transports */
    const tithe_tuner *tuner;            /* NULL: the level of the codec */
    const double *tuner_params;          /* from tithe_tuner_find; NULL: its defaults */
    bool shared_level;                   /* one level for all ranks, from the sum of their curves (tuner.h) */
    const tithe_tuner *downlink_tuner;   /* the server's own: how much goes back; NULL: as the codec says */
    const tithe_cost *cost;              /* NULL: bits */
    const tithe_cost *const *rank_costs; /* of each rank, in place of `cost`; NULL: the same for all */
    bool count_paper;                    /* charge the papers' bits in place of the frames */
    unsigned taking_part; /* ranks that take part in every step, the others are skipped; 0: all of them */
    uint64_t seed;
    tithe_pool *pool;
    unsigned lanes; /* threads that may put at the same time; 0: those of the pool */
    bool measure;   /* energies too: a few more passes over each vector */
    /* Gradients stay as they are from put to finish: shards then encode a part while another one travels. As in
     * tithe_exchange_step, where that is so anyway. */
    bool stays;
    const size_t *layers; /* lengths of the layers, which lie one after the other; NULL: it is one */
    size_t layer_count;
    /* 0: one message for all. Otherwise short layers are fused up to so many bytes, and longer ones cut; each of these buckets
     * has a level, a frame and a message of its own. */
    size_t bucket_bytes;
    /* Send a bucket, on a thread that the exchange starts, while the next one is put. The bits of the update do not depend on
     * it. From the first put to finish nobody else may use the ranks. */
    bool overlap;
    /* A gradient that cannot be sent skips the step, in place of ending the exchange (below). */
    bool skip_nonfinite;
    const double *feedback_params; /* from tithe_feedback_find; NULL: its defaults */
    /* Whoever has the model can go back to where it was, as a tuner that makes trials asks for (tithe_steering.trial). */
    bool restores;
    /* That of the host, which moves along m <- M m + update: ranks then compress u <- M u + g in place of g, and the update is such that m
     * becomes the mean of what was sent. What waits in a residual has the momentum of its wait, so top-k takes fewer steps. For SGD with
     * momentum (Nesterov's, too), the same gamma and all ranks in every step. Not for a host that dampens, or that looks at the norm of
     * what it gets, as one that clips does: that is no gradient. 0: none. */
    double momentum;
} tithe_exchange_config;

#define TITHE_EACH_LAYER ((size_t)-1) /* bucket_bytes: a bucket for each layer, neither fused nor cut */

TITHE_API tithe_status tithe_exchange_create(const tithe_exchange_config *config, size_t n,
                                             tithe_exchange **ex, tithe_error *error);
/* The same from text, so that every language and every file says it alike: options of the table below, as
 * "codec=topk:keep=0.01|natural;feedback=ec;scheme=artopk;bucket=1MiB"; NULL or "" sends dense vectors. All processes of the
 * group call it together, and hear of it when they do not agree. */
TITHE_API tithe_status tithe_exchange_open(tithe_comm *comm, const char *options, size_t n,
                                           tithe_exchange **ex, tithe_error *error);
/* Of a vector whose layers have these lengths. */
TITHE_API tithe_status tithe_exchange_open_layers(tithe_comm *comm, const char *options, const size_t *layers,
                                                  size_t layer_count, tithe_exchange **ex,
                                                  tithe_error *error);
TITHE_API const tithe_option *tithe_exchange_option_table(void); /* its places are of no use outside */
TITHE_API void tithe_exchange_free(tithe_exchange *ex);          /* NULL is fine */

/* Another collective from the next step on, the same on all ranks; nothing is restarted, and what was kept stays. Between
 * two steps only. */
TITHE_API tithe_status tithe_exchange_switch(tithe_exchange *ex, const char *collective, tithe_error *error);
/* Another scheme, by its spec, over this collective (NULL: its default). What the old one had learned is gone. Memory is
 * allocated; if there is not enough, and there are buckets, free the exchange. From or to a server without a rank there is
 * no way, since that would not know. */
TITHE_API tithe_status tithe_exchange_switch_scheme(tithe_exchange *ex, const char *scheme,
                                                    const char *collective, tithe_error *error);
/* Another codec, feedback, way back, scheme and collective, by options as tithe_exchange_open takes them; what is not named is
 * the default, not what it was. The codec states its level. What was kept stays, and goes on under `feedback=ec`; under
 * `scheme=dense` it goes with the next gradient, and nothing is left. Otherwise as above. */
TITHE_API tithe_status tithe_exchange_change(tithe_exchange *ex, const char *options, tithe_error *error);

/* Under a tuner that steers: the link as it is known, in place of what messages tell of it, and the seconds that a step takes
 * besides. Between two steps, and the same on all ranks; it may change the setting. Otherwise nothing happens. */
TITHE_API tithe_status tithe_exchange_tell_link(tithe_exchange *ex, const tithe_link *link, double compute,
                                                tithe_error *error);

/* How the reason ends where the switch was lost, and with it a step: that one cannot be made again. */
#define TITHE_SWITCH_LOST "so all go on without it"
/* How the next step will be made, as options for tithe_exchange_change, and why; and how often that has changed. */
typedef struct tithe_steering {
    size_t size;                  /* sizeof(tithe_steering), set by whoever asks: so much is filled in */
    const char *options, *reason; /* good until the next step */
    unsigned changes;
    unsigned settings; /* that there are to choose from */
    /* The next step is one of a trial, and of another one than the last if the number is another (tuner.h). 0: of none. */
    unsigned trial;
} tithe_steering;
/* False: nobody steers. */
TITHE_API bool tithe_exchange_steering(const tithe_exchange *ex, tithe_steering *now);
/* With which options it would have made all steps so far, as far as is known by now. False: nobody knows. */
TITHE_API bool tithe_exchange_hindsight(const tithe_exchange *ex, char *options, size_t room);

/* Take up the gradient of one local rank: feedback, level, frame. Different ranks may be put at the same time, each
 * on a lane of its own. With a shared level, g must stay as it is until finish.
 *
 * gamma is the step size, the same on all ranks: the update is gamma times the mean of the gradients, and what is not sent
 * is kept in units of the update, so that a gamma that changes does no harm to it. A host that applies momentum, Adam or
 * weight decay to what comes back passes 1: then the update is a mean of gradients, and what is kept is in units of the gradient.
 *
 * ---- A gradient that cannot be sent, because it holds a NaN or an infinity, or a number that is too large for the codec, is no
 * failure of put, since the other ranks would wait: it is taken, and finish says the same on all ranks, with a sentence that
 * names the rank and, for a NaN or an infinity, the position.
 *
 *   on-nonfinite=fail (default): TITHE_E_NONFINITE or TITHE_E_RANGE. No rank takes the step, and no other one can be taken:
 *       free the exchange. The ranks are in step, and another one can be opened over them.
 *   on-nonfinite=skip: TITHE_E_SKIPPED. Every number of the update is NaN on all ranks, so that whoever looks at gradients after
 *       the exchange, as a gradient scaler does, sees it everywhere; do not apply it. Residuals, aggregates and what schemes
 *       learned are as before the step, to the bit, and the next step can be taken. It takes a copy of each residual in every step.
 *
 * Of several buckets the first that somebody refuses ends the step: no other one leaves, and what those before it have changed is put
 * back. A step that is not taken is in sent_bytes, messages and seconds, and in no other total. Each exchange is for itself: a host that
 * has several of them for one model leaves the step out in all of them. */
TITHE_API tithe_status tithe_exchange_put(tithe_exchange *ex, unsigned rank, unsigned lane, const float *g,
                                          double gamma, tithe_error *error);
/* The same, layer by layer, as they become ready, in any order: a bucket goes when the last of its layers was put, and
 * those before it. All layers of a rank on one lane. Needs bucket_bytes. */
TITHE_API tithe_status tithe_exchange_put_layer(tithe_exchange *ex, unsigned rank, unsigned lane,
                                                size_t layer, const float *g, double gamma,
                                                tithe_error *error);
/* The same for several layers, which lie one after the other at g in this order: a bucket of somebody else's. */
TITHE_API tithe_status tithe_exchange_put_layers(tithe_exchange *ex, unsigned rank, unsigned lane,
                                                 const size_t *layers, size_t count, const float *g,
                                                 double gamma, tithe_error *error);
/* And back: layers of a vector of the exchange's, such as an update or a residual, to g, one after the other in this order. */
TITHE_API tithe_status tithe_exchange_copy_layers(const tithe_exchange *ex, const float *vector,
                                                  const size_t *layers, size_t count, float *g,
                                                  tithe_error *error);
/* A rank that takes no part in this step. It gets the update all the same, so it has to know gamma. */
TITHE_API tithe_status tithe_exchange_skip(tithe_exchange *ex, unsigned rank, double gamma,
                                           tithe_error *error);
/* After all local ranks: move the frames, and set update to what is to be subtracted from the model; under `momentum`, to what the host's
 * momentum takes in. */
TITHE_API tithe_status tithe_exchange_finish(tithe_exchange *ex, float *update, tithe_error *error);
/* The server's part of a step, in a process that has no rank (comm.h). A step that the ranks do not take is none of its failures. */
TITHE_API tithe_status tithe_exchange_serve(tithe_exchange *ex, tithe_error *error);
/* All of it, for a process with one rank: g becomes the update. After a failure in the middle of it g is of no use; after
 * TITHE_E_SKIPPED it is NaN, as above. */
TITHE_API tithe_status tithe_exchange_step(tithe_exchange *ex, float *g, double gamma, tithe_error *error);

/* Without an exchange, for a host whose gradients were added by others, such as the all-reduce of a process group: the sum over so many
 * ranks becomes their mean. TITHE_E_NONFINITE: it was made, but one of its numbers is a NaN or an infinity; all that have the same sum
 * get the same answer. */
TITHE_API tithe_status tithe_mean(float *sum, size_t n, unsigned ranks, tithe_error *error);

/* Four numbers that are never mixed, and what they cost; totals since create, over the ranks of this process. */
typedef struct tithe_exchange_totals {
    size_t size; /* sizeof(tithe_exchange_totals), set by whoever asks: so much is filled in */
    double uplink_bytes, downlink_bytes, sent_bytes, paper_bits, cost, downlink_cost;
    double sent_messages;
    double encode, wait, transfer, decode; /* seconds */
    /* Seconds that sending (all of finish: what the scheme still encodes, wait, transfer, decode) ran beside other work, because
     * a thread of its own did it: what was gained. */
    double overlap;
    /* Sum over the steps of the mean of |not sent|^2 over all ranks that took part, if measured: what the ranks of this process
     * add to it. */
    double unsent;
    /* Steps, in the process of rank 0; 0 in others, so that a sum over all of them is right. */
    double skipped;
} tithe_exchange_totals;
TITHE_API void tithe_exchange_total(const tithe_exchange *ex, tithe_exchange_totals *totals);

/* The counters among them, for those who add up, save or print all of them. Ends with a NULL name. */
enum {
    TITHE_COUNTER_ALL = 1, /* a run adds it up over all processes; otherwise each has its own */
    TITHE_COUNTER_PAID = 2 /* what messages are paid with: whoever looks at a checkpoint is told */
};
typedef struct tithe_counter {
    const char *name, *unit, *doc; /* as in a trace and in JSON */
    size_t offset;                 /* of a double in tithe_exchange_totals */
    unsigned flags;
    unsigned place; /* in the account of a checkpoint (docs/checkpoint.md): never another one */
} tithe_counter;
TITHE_API const tithe_counter *tithe_counters(void);
/* 0 where these totals are of an older header, and do not have it. */
static inline double tithe_counter_of(const tithe_exchange_totals *totals, const tithe_counter *counter)
{
    const void *at = (const char *)totals + counter->offset;
    return counter->offset < totals->size ? *(const double *)at : 0;
}

/* The last step. */
typedef struct tithe_exchange_record {
    size_t size; /* sizeof(tithe_exchange_record), as above */
    unsigned long step;
    double level, level_least, level_most; /* entries that a rank sent: mean, least, most */
    double energy, unsent;                 /* mean of |to be sent|^2 and |not sent|^2, if measured */
    double unsent_max;                     /* largest of any rank */
    /* Energy kept of what was to be sent, x, by what was, C(x): <x, C(x)>^2 / (|x|^2 |C(x)|^2), the share of the descent
     * of a step along x that a step along C(x) of the best length makes. From 0 to 1, whatever C(x) is multiplied with;
     * |C(x)|^2 / |x|^2 where entries are sent as they are. Mean over ranks, least. */
    double kept, kept_least;
    double speedup, speedup_least; /* kept / (entries / n): SpeedUp(T) of CAT; mean, least */
    unsigned ranks;                /* that were put here */
    unsigned measured;             /* that had something to send: kept and speedup are means over these */
    double residual;               /* mean of |e|^2 under error compensation */
    int leader; /* whose indices were taken, under artopk; -1: nobody's, or different ones by bucket */
    const char *scheme, *collective, *reason;
} tithe_exchange_record;
TITHE_API void tithe_exchange_last(const tithe_exchange *ex, tithe_exchange_record *last);

/* The rounds of the last step's bucket (counted from 0), and the seconds that all of them would have taken on a network of
 * such links. Lengths are those that were sent, so all ranks have to be here, or their frames be known to all. */
TITHE_API void tithe_exchange_rounds(const tithe_exchange *ex, unsigned bucket, tithe_rounds *rounds);
TITHE_API double tithe_exchange_seconds(const tithe_exchange *ex, const tithe_link *link);

/* What it is, what it has counted and what the last step was like, as JSON: "n", "ranks", "rank", "codec", "feedback", "momentum", "tuner",
 * "scheme", "collective", "served" (by a server), "buckets", "totals" (the counters, by name), "last" and, under a tuner that
 * steers, "steering" (as tithe_steering has it). NULL: there is no memory for it; otherwise tithe_text_free ends it. */
TITHE_API char *tithe_exchange_describe(const tithe_exchange *ex);

/* Into how many buckets a vector goes: 1 without bucket_bytes. */
TITHE_API unsigned tithe_exchange_buckets(const tithe_exchange *ex);

/* ---- what is kept from step to step, for checkpoints and tests (n numbers each; NULL: nothing) ------------ */

TITHE_API float *tithe_exchange_residual(tithe_exchange *ex, unsigned rank); /* of a local rank */
/* The mean of all that was sent, where the feedback keeps one: the same on all ranks. */
TITHE_API float *tithe_exchange_aggregate(tithe_exchange *ex);
/* That of the server, or of the owners of parts: every process has room for all of it, but only what its ranks own is used. */
TITHE_API float *tithe_exchange_server_residual(tithe_exchange *ex);
/* What a rank owns of a bucket (shards): how many numbers, and where they begin. 0: nothing. */
TITHE_API size_t tithe_exchange_owned(const tithe_exchange *ex, unsigned rank, unsigned bucket,
                                      size_t *begin);
/* Under `momentum`: u of a local rank, and the mean of what was sent in the last step, the same on all ranks. Good until the next step. */
TITHE_API float *tithe_exchange_momentum(tithe_exchange *ex, unsigned rank);
TITHE_API float *tithe_exchange_direction(tithe_exchange *ex);
/* Numbers that the scheme and the tuner learned, the same on all ranks (artopk: who led, and what it gained); under cat:late=on each
 * process has its own ranks', and zeros for the others. Returns how many; copies them to `numbers`, if that is not NULL. */
TITHE_API size_t tithe_exchange_learned(const tithe_exchange *ex, double *numbers);
TITHE_API void tithe_exchange_relearn(tithe_exchange *ex, const double *numbers);
/* What a tuner that steers knows in this process: returns how many numbers (0: nobody steers), and copies them to `numbers`, if that is
 * not NULL. And back, before anything else of a checkpoint, since the setting says what there is to keep. */
TITHE_API size_t tithe_exchange_steered(const tithe_exchange *ex, double *numbers);
TITHE_API tithe_status tithe_exchange_steer_on(tithe_exchange *ex, const double *numbers, size_t count,
                                               uint32_t step, tithe_error *error);
/* The update of the last step, which such a tuner remembers, too; NULL: nobody steers. */
TITHE_API float *tithe_exchange_before(tithe_exchange *ex);
/* The update that a local rank remembers where a tuner asks what waiting costs (cat:late=on), which lies in the buckets: that of one of
 * them, and how many numbers it has. NULL: of a rank that is not here; with a count of 0, nobody remembers any. */
TITHE_API float *tithe_exchange_moved(tithe_exchange *ex, unsigned rank, unsigned bucket, size_t *count);
/* Go on as after `step` steps, of which the totals and the last one are given (NULL: leave them); the names in `last`
 * are not taken. All that is random is a function of seed, step and rank, so this, the vectors and
 * the numbers above are all. */
TITHE_API void tithe_exchange_continue(tithe_exchange *ex, uint32_t step, const tithe_exchange_totals *totals,
                                       const tithe_exchange_record *last);

#ifdef __cplusplus
}
#endif
#endif
