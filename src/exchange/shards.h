/* shards.h - a vector in parts, each with a rank that owns it: where they lie, and their frames. */
#ifndef EXCHANGE_SHARDS_H
#define EXCHANGE_SHARDS_H

#include "exchange/exchange.h"

/* One way of the frames: to the owners, or back from them. */
typedef struct shard_frames {
    size_t *at;             /* where the frame of a part begins; with the end of the last one */
    size_t *fixed;          /* their lengths, where these are known beforehand; otherwise NULL */
    tithe_frame_info *info; /* of each part; to the owners, of all parts of a local rank, then of the next */
    size_t top; /* so many of the whole vector go, the largest; 0: each part has a level of its own */
} shard_frames;

/* What feedback and level made of a part, where that is measured (exchange_worker). */
typedef struct shard_energy {
    double all, sent, unsent;
} shard_energy;

typedef struct shards {
    unsigned count;  /* parts, all of which hold numbers; fewer than ranks where the vector is short */
    unsigned mine;   /* the part of this process's first rank; `count`: it owns none */
    unsigned *owner; /* of each part: ascending ranks */
    unsigned *part;  /* of each rank; `count`: none */
    size_t *begin;   /* with the end of the last one */
    shard_frames up, back;
    shard_energy *energy; /* of all parts of a local rank, then of the next */
    bool later;           /* in this step the parts of the one rank here are encoded while others travel */
    bool heads;     /* lengths go ahead of the frames to the owners: they differ, or somebody may skip */
    uint8_t *inbox; /* frames of the other ranks for the part of this process, inbox_room bytes each */
    size_t inbox_room;
    size_t *came;     /* their lengths, by rank */
    size_t entries;   /* in the frames that were added to the sum of a part */
    uint32_t *chosen; /* positions of the largest, `up.top` for each lane */
} shards;

/* The layout for a vector and its codecs, and memory for all frames; sets ex->own. */
tithe_status ti_shards_open(tithe_exchange *ex, tithe_error *error);
void ti_shards_close(tithe_exchange *ex);

/* What a step will be like: its longest part stands for all of them, and has its share of the largest of the whole vector, or
 * as many as it can hold where the shape says that they crowd. */
void ti_shards_foretell(const tithe_exchange_config *config, size_t n, tithe_step_shape *shape);

/* What a step was like, as far as it is known here: the frames to the owners take no longer than N-1 of `share` bytes, one
 * after the other. And what a step of a shape takes. */
void ti_shards_describe(tithe_exchange *ex);
void ti_shards_rounds(const tithe_step_shape *shape, tithe_rounds *list);

static inline size_t shard_length(const shards *s, unsigned part)
{
    return s->begin[part + 1] - s->begin[part];
}

/* Entries that a frame of this part may have, where these are the largest of the whole vector; otherwise 0. */
static inline size_t shard_most(const shards *s, const shard_frames *way, unsigned part)
{
    const size_t length = shard_length(s, part);
    return way->top < length ? way->top : length * (way->top > 0);
}

static inline uint8_t *shard_frame(const exchange_worker *w, const shard_frames *way, unsigned part)
{
    return w->frame + way->at[part];
}

/* Bytes that a frame of this part may have. */
static inline size_t shard_room(const shard_frames *way, unsigned part)
{
    return way->at[part + 1] - way->at[part];
}

/* Compress all parts of a local rank; or, where g stays and there is something to gain, only look at them. */
tithe_status ti_shards_put(tithe_exchange *ex, exchange_worker *w, exchange_lane *lane, const float *g,
                           double gamma, tithe_pool *pool, tithe_error *error);
/* In the latter case: compress this part now, and say what they are together when all are done. */
tithe_status ti_shards_make(tithe_exchange *ex, unsigned part, tithe_error *error);
void ti_shards_made(tithe_exchange *ex);
/* Have all frames of a local rank say that it refuses, and the answer of an owner say what is in ex->refusal. */
void ti_shards_refuse(tithe_exchange *ex, exchange_worker *w);
void ti_shards_refuse_answer(tithe_exchange *ex, unsigned part);
/* Add a rank's frame of a part to ex->sum; a refusal goes into ex->refusal. */
tithe_status ti_shards_add(tithe_exchange *ex, unsigned rank, unsigned part, const uint8_t *frame,
                           size_t length, tithe_error *error);
/* Compress the sum of a part, as its owner does; or refuse to. */
void ti_shards_answer(tithe_exchange *ex, unsigned part);
/* Set the part's numbers of the update from its owner's frame. */
tithe_status ti_shards_take(tithe_exchange *ex, unsigned part, size_t length, float *update,
                            tithe_error *error);
/* The numbers that a rank owns: how many, and from where on. */
size_t ti_shards_owned(const tithe_exchange *ex, unsigned rank, size_t *begin);

#endif
