/* coll.h - collectives: ring, tree and star, as schedules of messages.
 *
 * A collective says who sends which part of a vector to whom in which round, and nothing else. One executor runs all
 * of them, over any transport and for any number of ranks in this process, so the order of additions, and with it
 * every bit of the result, is a property of the collective alone. */
#ifndef TITHE_COLL_H
#define TITHE_COLL_H

#include <stdbool.h>

#include "tithe/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TITHE_NOBODY = -1 };

/* What one rank does in one round: send parts [send, send_end) and receive [receive, receive_end), of `parts` parts.
 * Both at once, so the two never overlap. */
typedef struct tithe_move {
    int to, from; /* TITHE_NOBODY: nothing to do */
    unsigned send, send_end;
    unsigned receive, receive_end;
    bool add; /* what is received is added to what is there; otherwise it replaces it */
} tithe_move;

typedef struct tithe_collective {
    const char *name, *summary, *paper;
    unsigned (*parts)(unsigned size); /* into how many parts a vector is cut */
    /* All-reduce: afterwards every rank has the sum. */
    unsigned (*reduce_rounds)(unsigned size);
    void (*reduce)(unsigned size, unsigned rank, unsigned round, tithe_move *move);
    /* All-gather of one block for each rank, of unequal lengths; a part is the block of a rank. NULL: it has none. */
    unsigned (*gather_rounds)(unsigned size);
    void (*gather)(unsigned size, unsigned rank, unsigned round, tithe_move *move);
    /* Seconds by the model of latency (one way) and bandwidth (bytes per second); key: tyagi2023artopk. `bytes` is the
     * whole vector for reduce, the mean block for gather. */
    double (*reduce_seconds)(unsigned size, double bytes, double latency, double bandwidth);
    double (*gather_seconds)(unsigned size, double bytes, double latency, double bandwidth);
} tithe_collective;

TITHE_API const tithe_collective *const *tithe_collectives(void);          /* ends with NULL */
TITHE_API const tithe_collective *tithe_collective_find(const char *name); /* NULL: there is none */

/* Where part p of a vector of n numbers begins; part `parts` begins at n. */
static inline size_t tithe_part_begin(size_t n, unsigned parts, unsigned p)
{
    return parts ? n / parts * p + (n % parts < p ? n % parts : p) : 0;
}

/* vectors[i] belongs to local rank first + i; all are replaced by the sum. `scratch` takes one vector (n floats) and
 * is needed only when ranks live elsewhere. */
TITHE_API tithe_status tithe_all_reduce(tithe_comm *comm, const tithe_collective *how, float *const *vectors,
                                        size_t n, float *scratch, tithe_error *error);

/* blocks[r] and lengths[r] for all ranks: the local ones are given; the others must have room for lengths[r], which
 * everybody knows by now, and are filled. */
TITHE_API tithe_status tithe_all_gather(tithe_comm *comm, const tithe_collective *how, uint8_t *const *blocks,
                                        const size_t *lengths, tithe_error *error);

#ifdef __cplusplus
}
#endif
#endif
