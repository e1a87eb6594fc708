/* exchange.h - what exchange.c and the schemes know of each other. */
#ifndef EXCHANGE_EXCHANGE_H
#define EXCHANGE_EXCHANGE_H

#include <stdlib.h>

#include "base/status.h"
#include "comm/comm.h"
#include "exchange/refusal.h"
#include "tithe/exchange.h"
#include "tuner/late.h"

typedef enum worker_state { WORKER_IDLE, WORKER_PUT, WORKER_SKIPS } worker_state;

/* One way of the messages, to the others or back from a server: how they are compressed. */
typedef struct exchange_way {
    const tithe_codec *codec;
    const tithe_feedback *feedback;
    const tithe_tuner *tuner;
    void *tuner_state; /* NULL: it has none, or it is the way back */
    bool waits;        /* the tuner asks what waiting costs */
    bool count_paper;
    size_t n;
    const size_t *layers; /* their lengths; NULL: it is one */
    size_t segment_count;
    size_t capacity, scratch_size, tuner_scratch_size; /* of a frame, and of a lane */
} exchange_way;

/* The lengths of the layers, for as long as the way is there. */
static inline const size_t *exchange_segments(const exchange_way *way)
{
    return way->layers ? way->layers : &way->n;
}

/* Who compresses: a local rank, or the server. */
typedef struct exchange_worker {
    worker_state state;
    bool was_put;           /* in the last step */
    const tithe_cost *cost; /* of its messages */
    float *residual;        /* feedback.h; where there is one but nothing is kept, what was kept before */
    bool owes;              /* of that, something is to go with the next gradient */
    uint8_t *frame;
    tithe_frame_info info;
    double energy, sent, unsent; /* |x|^2, |C(x)|^2, |x - C(x)|^2, where they are measured */
    double gamma;                /* with which it was put */
    const char *reason;
    exchange_refusal refusal; /* of its gradient, in this step */
    exchange_copy before;     /* of its residual */
    late_memory late;         /* where the tuner asks what waiting costs */
    /* The gradient, where it is needed after put: a level that all share is known only then, shards encode then what stays,
     * and a whole gradient is read where it is. */
    const float *g;
    double *curve, *costs; /* of the former */
} exchange_worker;

/* What a thread needs while it puts. */
typedef struct exchange_lane {
    void *scratch, *tuner_scratch;
    size_t *levels; /* of each layer, where a tuner names them */
    float *work;
    double seconds;
} exchange_lane;

/* The last step, for those who ask for its rounds: from the next one on all of it may be another. */
typedef struct exchange_stepped {
    const tithe_scheme *scheme; /* NULL: no step was taken here */
    tithe_step_shape shape;
} exchange_stepped;

/* Memory that a bucket has from the exchange that it belongs to: what is kept is kept by parameter, not by bucket. */
typedef struct exchange_slice {
    size_t begin;
    float *const *residual;             /* of each local rank */
    float *aggregate, *server_residual; /* NULL: nobody keeps such */
} exchange_slice;

/* What an exchange does: one that sends its vector whole (leaf.c), and one that is made of such (buckets.c). */
typedef struct exchange_kind {
    tithe_status (*put)(tithe_exchange *ex, unsigned rank, unsigned lane, const float *g, double gamma,
                        tithe_error *error);
    tithe_status (*put_layer)(tithe_exchange *ex, unsigned rank, unsigned lane, size_t layer, const float *g,
                              double gamma, tithe_error *error);
    tithe_status (*skip)(tithe_exchange *ex, unsigned rank, double gamma, tithe_error *error);
    tithe_status (*finish)(tithe_exchange *ex, float *update, tithe_error *error);
    tithe_status (*serve)(tithe_exchange *ex, tithe_error *error);
    void (*close)(tithe_exchange *ex);
    /* The exchanges that send: itself, or its buckets. */
    unsigned (*parts)(const tithe_exchange *ex);
    tithe_exchange *(*part)(const tithe_exchange *ex, unsigned i);
} exchange_kind;
extern const exchange_kind ti_exchange_leaf, ti_exchange_buckets;

/* What a configuration means (choose.c). */
typedef struct exchange_choice {
    const tithe_scheme *scheme;
    double params[TITHE_MAX_PARAMS]; /* of the scheme */
    const tithe_collective *collective;
    const char *known_as; /* the collective, under this scheme */
} exchange_choice;
/* Feedback and tuner of the configuration are never NULL. Fills in the scheme and the way back, where nothing was said of them. The
 * second leaves the scheme as it is. */
tithe_status ti_exchange_choose(tithe_exchange_config *c, size_t n, exchange_choice *choice,
                                tithe_error *error);
tithe_status ti_exchange_choose_collective(const tithe_exchange_config *c, size_t n, exchange_choice *choice,
                                           tithe_error *error);

struct exchange_buckets;
struct exchange_opened;
struct exchange_methods;
struct exchange_control;
struct exchange_momentum;
void ti_exchange_opened_free(struct exchange_opened *opened); /* NULL is fine */

struct tithe_exchange {
    const exchange_kind *kind;
    tithe_exchange_config config;
    struct exchange_buckets *buckets; /* of one that is made of others */
    bool sliced;                      /* it is a bucket, and what it keeps belongs to another one */
    uint32_t tensor;                  /* which bucket it is */
    unsigned number;                  /* among those that were opened over the same ranks */
    tithe_pool *put_pool;             /* for put; that of the configuration is for finish */
    const tithe_scheme *scheme;
    double scheme_params[TITHE_MAX_PARAMS];
    const tithe_collective *collective;
    const char *collective_name; /* as it was asked for: the gathering of frames calls its ring 'allgather' */
    tithe_step_shape shape;      /* as its scheme fills it in */
    exchange_stepped stepped;
    bool back_given; /* the caller named a codec for the way back: it is not the scheme\'s choice */
    void *own;       /* the scheme's */
    size_t n;
    uint32_t step;
    double gamma; /* of this step */
    exchange_way up, down;
    float decay; /* what residuals are multiplied with ahead of each step */
    exchange_worker *workers;
    exchange_worker server; /* where a server is: one more who compresses */
    exchange_lane server_lane;
    float **vectors; /* of the local ranks, where the scheme wants gradients as they are; otherwise NULL */
    float *in_place; /* the one rank\'s own vector, where that is to become the update; otherwise NULL */
    exchange_lane *lanes;
    unsigned lane_count;
    struct exchange_opened *opened;     /* what was made from text; NULL: all is the caller's (open.c) */
    struct exchange_control *control;   /* NULL: nobody steers, or it is a bucket (control.h) */
    struct exchange_momentum *momentum; /* NULL: the host has none, or it is a bucket (momentum.h) */
    bool lets_go;                       /* of a switch that is lost: somebody takes another scheme then */
    struct exchange_methods *changed;   /* what it was changed to by text; NULL: it was not (change.c) */
    tithe_codec *raw;                   /* all|raw, for what is not compressed */
    size_t raw_bytes;                   /* of its frames */
    float *aggregate;         /* where the feedback aggregates: the mean of what all ranks sent so far */
    exchange_refusal refusal; /* of this step, as all ranks know it */
    tithe_error failed;       /* why no step can be taken any more. Code 0: they can */
    exchange_copy aggregate_before; /* of a bucket, where others may refuse after it was sent; */
    double *learned_before;         /* likewise what scheme and tuner learned, before step learned_at */
    uint32_t learned_at;
    float *sum;     /* the server's */
    uint8_t *inbox; /* inbox_size bytes for frames of other processes, where there are any */
    size_t inbox_size;
    uint8_t **blocks; /* of all ranks, for collectives */
    size_t *lengths;
    uint8_t *length_bytes;
    double levels[TITHE_GRID_MAX]; /* among which a shared level is chosen */
    size_t level_count;
    tithe_exchange_totals totals;
    tithe_exchange_record last;
};

extern const tithe_scheme ti_scheme_dense, ti_scheme_gather, ti_scheme_star, ti_scheme_artopk,
    ti_scheme_shards, ti_scheme_switch;

/* The exchanges that send: itself, or its buckets. */
static inline unsigned ti_exchange_parts(const tithe_exchange *ex)
{
    return ex->kind->parts(ex);
}

static inline tithe_exchange *ti_exchange_part(const tithe_exchange *ex, unsigned i)
{
    return ex->kind->part(ex, i);
}

/* All of finish for an exchange that sends its vector whole, but for what becomes of a refusal (leaf.c). */
tithe_status ti_exchange_run(tithe_exchange *ex, float *update, tithe_error *error);
/* An exchange that sends its vector whole (create.c). */
tithe_status ti_exchange_create_whole(const tithe_exchange_config *config, size_t n,
                                      const exchange_slice *slice, tithe_exchange **ex, tithe_error *error);
/* Who leads, however it was said; NULL: nobody does under this scheme (choose.c). */
const char *ti_exchange_leader_name(const tithe_exchange *ex);
/* What the last step was like, from its ranks (record.c). */
void ti_exchange_record(tithe_exchange *ex);
double ti_exchange_squares(const float *x, size_t n); /* |x|^2 (compress.c) */
/* NaN or infinity (compress.c). */
tithe_status ti_exchange_expect_finite(const float *g, size_t n, tithe_error *error);

/* The call that encodes or decodes the frame of a rank in this step. */
tithe_call ti_exchange_call(const tithe_exchange *ex, unsigned rank, void *scratch, size_t scratch_size);

/* What tuner and feedback are told of a worker (compress.c). */
tithe_tuner_call ti_exchange_tuner_call(const exchange_way *way, const exchange_worker *w,
                                        const exchange_lane *lane, const float *x, double gamma);
/* The level that the tuner names, and what else it knows, into the call; what such a message costs. */
tithe_status ti_exchange_choose_level(const exchange_way *way, exchange_worker *w, const tithe_tuner_call *c,
                                      tithe_call *call, double *cost, tithe_error *error);
tithe_feedback_call ti_exchange_feedback_call(const exchange_way *way, const exchange_worker *w,
                                              const tithe_call *call, const exchange_lane *lane,
                                              const float *g, double gamma);
/* Feedback, level, frame: of a rank, or of the server. `measure`: energies too. */
tithe_status ti_exchange_compress(const exchange_way *way, exchange_worker *w, exchange_lane *lane,
                                  tithe_call *call, const float *g, double gamma, bool measure,
                                  tithe_error *error);
/* The same of a sum of messages, on the way back from a server or an owner; the sum is changed. What it is multiplied with where it
 * is decoded: ti_exchange_weight, and the unit. */
tithe_status ti_exchange_compress_back(tithe_exchange *ex, const exchange_way *way, exchange_worker *w,
                                       tithe_call *call, float *sum, tithe_error *error);
double ti_exchange_weight_back(const tithe_exchange *ex);
/* The largest number that a codec can write; below EXCHANGE_SENSE there are some that make sense, and cannot be written. */
#define EXCHANGE_SENSE 0x1p100
double ti_exchange_largest(const tithe_codec *codec);
/* What sums are divided by before such a codec writes them, so that it can write the sum of numbers each of which it can: the
 * least power of two that is no less than the number of ranks, by which nothing is rounded. 1: nothing is to be done. */
double ti_exchange_unit(const tithe_codec *codec, unsigned ranks);
/* Its last part: encode at the level of the call, and measure what was left. x is what was formed, where it was. */
tithe_status ti_exchange_encode(const exchange_way *way, exchange_worker *w, const tithe_feedback_call *c,
                                bool formed, const float *x, bool measure, tithe_error *error);
/* Its first part, for a level that is chosen later: what is to be compressed. */
tithe_status ti_exchange_form(const exchange_way *way, exchange_worker *w, const tithe_feedback_call *c,
                              bool measure, const float **x, tithe_error *error);

/* One level for all ranks (shared_level.c): what this rank would gain and pay at each level; then, when all were put,
 * the level and the frames. */
tithe_status ti_exchange_curve(tithe_exchange *ex, exchange_worker *w, exchange_lane *lane, const float *x,
                               const float *g, double gamma, tithe_error *error);
tithe_status ti_exchange_share_level(tithe_exchange *ex, tithe_error *error);

/* What ranks remember for a tuner that asks what waiting costs (late.c). */
bool ti_exchange_waits(const tithe_exchange_config *c);
const char *ti_exchange_refuse_waiting(const tithe_exchange_config *c, const tithe_scheme *scheme);
/* After a step that was taken, and after one that was not. */
void ti_exchange_learn(tithe_exchange *ex, const float *update);
void ti_exchange_forget(tithe_exchange *ex);
/* As numbers, as `learned` and `relearn` of a scheme. */
size_t ti_exchange_remembered(const tithe_exchange *ex, double *numbers);
void ti_exchange_remember(tithe_exchange *ex, const double *numbers);

/* Do something for each local rank that was put, on as many threads as there are lanes (each_rank.c). */
typedef tithe_status exchange_job(tithe_exchange *ex, void *context, unsigned local, exchange_lane *lane,
                                  tithe_error *error);
tithe_status ti_exchange_each(tithe_exchange *ex, exchange_job *job, void *context, tithe_error *error);

/* Ranks that were put in this step: here, and in all processes (scheme.c). */
unsigned ti_exchange_put_here(const tithe_exchange *ex);
unsigned ti_exchange_taking_part(const tithe_exchange *ex);
/* Was every rank here put? For schemes that cannot do without one. */
tithe_status ti_exchange_expect_all(const tithe_exchange *ex, tithe_error *error);
/* Is the step size in the messages already, or does it come in by other means? */
bool ti_exchange_scaled(const tithe_exchange *ex);
/* What a decoded message is multiplied with: 1 / ranks that took part, and gamma unless it is `scaled` already. */
double ti_exchange_weight(const tithe_exchange *ex, bool scaled);

/* Are values sent as they are, and may be added by a collective? And is that all that it does, so that
 * gradients need no frames (scheme.c)? */
bool ti_exchange_sums(const tithe_codec *codec);
bool ti_exchange_sums_whole(const tithe_codec *codec);

/* Are there ranks in other processes? */
static inline bool exchange_is_remote(const tithe_exchange *ex)
{
    return ex->config.comm->local < ex->config.comm->size;
}

/* Zeroed, and without touching the pages: a long frame that never comes costs nothing. */
static inline void *exchange_room(size_t count, size_t size, bool *enough)
{
    void *p = calloc(count ? count : 1, size);
    if (!p) *enough = false;
    return p;
}

/* Add the message of one rank, wherever it came from, to y, times weight. One that is a refusal adds nothing, and is noted in
 * ex->refusal. */
tithe_status ti_exchange_decode(tithe_exchange *ex, unsigned rank, const uint8_t *frame, size_t length,
                                double weight, float *y, tithe_error *error);

/* A length goes ahead of a frame where the other side cannot know it (TITHE_LENGTH_BYTES), and is checked before it is used. */
tithe_status ti_exchange_expect_length(unsigned rank, size_t length, size_t longest, tithe_error *error);
/* ex->lengths has those of the local ranks; afterwards it has those of all, as they were announced. */
tithe_status ti_exchange_gather_lengths(tithe_exchange *ex, tithe_error *error);

/* What a frame costs this rank. */
double ti_exchange_charged(const tithe_exchange *ex, const exchange_worker *w, const tithe_frame_info *info);
/* Count one message of a rank, or one that came back to it. */
void ti_exchange_count_up(tithe_exchange *ex, const exchange_worker *w, const tithe_frame_info *info);
void ti_exchange_count_down(tithe_exchange *ex, const exchange_worker *w, const tithe_frame_info *info);
/* Count what the ranks here sent in this step, a frame each. */
void ti_exchange_count_own(tithe_exchange *ex);
/* The same, and what the rounds of an all-reduce brought each of them: what all send, all receive. */
void ti_exchange_count_reduced(tithe_exchange *ex);

#endif
