/* coll.h - collectives: ring, tree, star and broadcast as schedules of messages, direct and native as they are.
 *
 * A collective says who sends which part of a vector to whom in which step, and what that takes. One executor runs all
 * of them, over any transport and for any number of ranks in this process, so the order of additions, and with it
 * every bit of the result, is a property of the collective alone. `direct` adds in rank order, which a schedule of
 * additions in place cannot say, so it brings its own all-reduce; `native` is the transport's, and promises no order.
 *
 * Any of them may follow any other, so a job may change the collective between two steps. */
#ifndef TITHE_COLL_H
#define TITHE_COLL_H

#include <stdbool.h>

#include "tithe/comm.h"
#include "tithe/rounds.h"
#include "tithe/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TITHE_NOBODY = -1,
    TITHE_DIRECT_AT_ONCE =
        1 << 16 /* bytes of a part up to which `direct` sends to all at once; longer ones in turns */
};

/* What one rank does in one step of a schedule: send parts [send, send_end) and receive [receive, receive_end), of `parts` parts.
 * Both at once, so the two never overlap. */
typedef struct tithe_move {
    int to, from; /* TITHE_NOBODY: nothing to do */
    unsigned send, send_end;
    unsigned receive, receive_end;
    bool add; /* what is received is added to what is there; otherwise it replaces it */
} tithe_move;

typedef struct tithe_collective {
    const char *name, *summary, *paper; /* paper NULL: of no paper */
    const tithe_param *params;          /* NULL: none */
    const char *also;                   /* what schemes that only gather call it; NULL: the same */
    bool ordered; /* the same bits on every transport; only `native` cannot promise that */
    /* Everybody sends and receives in every round, and hears of everybody in size - 1 of them. */
    bool together;
    unsigned (*parts)(unsigned size); /* into how many parts a vector is cut */
    /* All-reduce: afterwards every rank has the sum. */
    unsigned (*reduce_steps)(unsigned size);
    void (*reduce)(unsigned size, unsigned rank, unsigned step, tithe_move *move);
    /* In place of a schedule; the arguments of tithe_all_reduce. NULL: there is a schedule. */
    tithe_status (*reduce_all)(tithe_comm *comm, float *const *vectors, size_t n, float *scratch,
                               tithe_error *error);
    /* Another way for vectors that are long, in a process with one rank: `weight` times the sum, weighed by those who finish a
     * part, goes to `out`, which may be the vector. The messages are those of the schedule. Where `bad` is not NULL, numbers are
     * looked at on the way: it becomes the place of the first that is not finite, or n, and all ranks get NaN for the whole piece. NULL:
     * there is none. */
    bool (*is_long)(unsigned size, size_t n);
    tithe_status (*reduce_long)(tithe_comm *comm, const float *vector, size_t n, double weight,
                                float *scratch, float *out, size_t *bad, tithe_error *error);
    /* All-gather of one block for each rank, of unequal lengths; a part is the block of a rank. NULL: it has none. */
    unsigned (*gather_steps)(unsigned size);
    void (*gather)(unsigned size, unsigned rank, unsigned step, tithe_move *move);
    /* What it takes, added to a list of rounds: an all-reduce of n floats, and an all-gather. Stated here and nowhere else;
     * bytes and seconds follow (rounds.h). Steps that do not wait for each other, as those of a star, are one round. */
    void (*reduce_rounds)(unsigned size, double n, tithe_rounds *rounds);
    void (*gather_rounds)(const tithe_blocks *blocks, tithe_rounds *rounds);
} tithe_collective;

TITHE_API const tithe_collective *const *tithe_collectives(void); /* ends with NULL */
/* From its spec; params takes TITHE_MAX_PARAMS values, NAN where nothing was stated, or is NULL. */
TITHE_API tithe_status tithe_collective_find(const char *spec, const tithe_collective **collective,
                                             double *params, tithe_error *error);

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

/* From rank `root` to all, along a binomial tree. blocks[i] belongs to local rank first + i and has room for
 * `capacity` bytes; ranks of one process may share it. *length is known where the root lives, and found out elsewhere:
 * it travels ahead of the block, in TITHE_LENGTH_BYTES. */
enum { TITHE_LENGTH_BYTES = 8 };
TITHE_API tithe_status tithe_broadcast(tithe_comm *comm, unsigned root, uint8_t *const *blocks,
                                       size_t capacity, size_t *length, tithe_error *error);
TITHE_API void tithe_broadcast_rounds(unsigned size, double bytes, tithe_rounds *rounds);

#ifdef __cplusplus
}
#endif
#endif
