/* native.c - the all-reduce that the transport brings along: that of the MPI library.
 *
 * It may add in any order, and in another one tomorrow, so the result is a sum but no promise of bits: --deterministic
 * refuses it. The library does not say what it sends nor how; what is counted, and stated, is what every all-reduce has to
 * send at least, the ring's 2(N-1)/N of the vector for each rank. It does not wait inside MPI (MPI_Iallreduce), where no
 * timeout would hold: docs/plan.md, "Limits", has what that costs. */
#include "coll/coll.h"

static void reduce_rounds(unsigned size, double n, tithe_rounds *rounds)
{
    ti_coll_ring.reduce_rounds(size, n, rounds);
}

/* What this rank has of it: the first ones take the rest of the division. */
static uint64_t own_share(const tithe_comm *comm, size_t n)
{
    tithe_rounds rounds;
    tithe_rounds_start(&rounds);
    reduce_rounds(comm->size, (double)n, &rounds);
    const uint64_t all = (uint64_t)tithe_rounds_sent(&rounds);
    return all / comm->size + (comm->first < all % comm->size);
}

static tithe_status reduce_all(tithe_comm *comm, float *const *vectors, size_t n, float *scratch,
                               tithe_error *error)
{
    (void)scratch;
    if (!comm->transport || !comm->transport->all_reduce || comm->local != 1)
        return ti_fail(
            error, TITHE_E_SPEC, 0,
            "The collective 'native' is the MPI library's own, and there is none on '%s': take ring or tree.",
            comm->transport ? comm->transport->name : "inproc");
    ti_comm_count(comm, 1, own_share(comm, n));
    comm->seen.together = false; /* nobody knows */
    return ti_comm_all_reduce(comm, vectors[0], n, error);
}

static unsigned one_part(unsigned size)
{
    (void)size;
    return 1;
}

const tithe_collective ti_coll_native = {
    .name = "native",
    .summary = "the MPI library's own all-reduce (MPI_Iallreduce), in no promised order",
    .paper = "tyagi2023artopk",
    .parts = one_part,
    .reduce_all = reduce_all,
    .reduce_rounds = reduce_rounds,
};
