/* coll.h - the collectives. */
#ifndef COLL_COLL_H
#define COLL_COLL_H

#include "tithe/coll.h"

extern const tithe_collective ti_coll_ring, ti_coll_tree, ti_coll_star;

/* The smallest b with 2^b >= size. */
static inline unsigned coll_log2(unsigned size)
{
    unsigned b = 0;
    while (b < 32 && (UINT64_C(1) << b) < size) b++;
    return b;
}

#endif
