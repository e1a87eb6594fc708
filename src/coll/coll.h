/* coll.h - the collectives. */
#ifndef COLL_COLL_H
#define COLL_COLL_H

#include "comm/comm.h"
#include "tithe/coll.h"

extern const tithe_collective ti_coll_ring, ti_coll_tree, ti_coll_star, ti_coll_direct, ti_coll_native;

/* The first half of `direct`: afterwards rank p has the sum of part p (of `size` parts), added up in rank order; its
 * other parts are of no use. Arguments as for tithe_all_reduce. */
tithe_status ti_direct_scatter(tithe_comm *comm, float *const *vectors, size_t n, float *scratch,
                               tithe_error *error);

/* Count what an all-reduce by `direct` of n numbers would send, where nothing has to move. */
void ti_direct_count(tithe_comm *comm, size_t n);

/* Numbers in a part. */
static inline size_t coll_part(size_t n, unsigned parts, unsigned p)
{
    return tithe_part_begin(n, parts, p + 1) - tithe_part_begin(n, parts, p);
}

/* Children of a rank in a binomial tree with root 0: rank + 1, rank + 2, rank + 4, ... below its own lowest bit. */
static inline unsigned coll_children(unsigned size, unsigned rank)
{
    unsigned children = 0;
    for (unsigned bit = 1; bit < size && !(rank & bit); bit *= 2) children += rank + bit < size;
    return children;
}

/* The smallest b with 2^b >= size. */
static inline unsigned coll_log2(unsigned size)
{
    unsigned b = 0;
    while (b < 32 && (UINT64_C(1) << b) < size) b++;
    return b;
}

#endif
