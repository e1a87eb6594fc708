/* exchange.h - what exchange.c and the schemes know of each other. */
#ifndef EXCHANGE_EXCHANGE_H
#define EXCHANGE_EXCHANGE_H

#include "base/status.h"
#include "comm/comm.h"
#include "tithe/exchange.h"

typedef enum worker_state { WORKER_IDLE, WORKER_PUT, WORKER_SKIPS } worker_state;

/* A local rank. */
typedef struct exchange_worker {
    worker_state state;
    float *kept;   /* feedback.h */
    uint8_t *frame;
    tithe_frame_info info;
    double energy, unsent;
    double gamma; /* with which it was put */
    const char *reason;
} exchange_worker;

/* What a thread needs while it puts. */
typedef struct exchange_lane {
    void *scratch, *tuner_scratch;
    float *work;
    double seconds;
} exchange_lane;

struct tithe_exchange {
    tithe_exchange_config config;
    const tithe_scheme *scheme;
    const tithe_collective *collective;
    size_t n;
    uint32_t step;
    double gamma;    /* of this step */
    size_t capacity; /* of a frame */
    size_t scratch_size, tuner_scratch_size;
    exchange_worker *workers;
    float **vectors; /* of the local ranks, where the scheme wants gradients as they are; otherwise NULL */
    exchange_lane *lanes;
    unsigned lane_count;
    tithe_codec *raw;    /* all|raw, for what is not compressed */
    size_t raw_bytes;    /* of its frames */
    float *aggregate;    /* where the feedback aggregates: the mean of what all ranks sent so far */
    float *sum;          /* the server's */
    float *server_kept;  /* the server's own feedback */
    uint8_t *down_frame;
    size_t down_capacity;
    void *down_scratch;
    size_t down_scratch_size;
    tithe_exchange_totals totals;
    tithe_exchange_record last;
};

extern const tithe_scheme ti_scheme_dense, ti_scheme_gather, ti_scheme_star;

/* The call that encodes or decodes the frame of a rank in this step. */
tithe_call ti_exchange_call(const tithe_exchange *ex, unsigned rank, void *scratch, size_t scratch_size);

/* Is the step size in the messages already, or does it come in by other means? */
bool ti_exchange_scaled(const tithe_exchange *ex);
/* What a decoded message is multiplied with: 1 / ranks that took part, and gamma unless it is `scaled` already. */
double ti_exchange_weight(const tithe_exchange *ex, bool scaled);

/* Add the messages of all ranks to y, times weight, in rank order. */
tithe_status ti_exchange_decode_all(tithe_exchange *ex, double weight, float *y, tithe_error *error);

/* Count the messages of this step: each rank's own, and the way back, `down` bytes to each rank. */
void ti_exchange_count(tithe_exchange *ex, double down_bytes, double down_paper_bits);

#endif
