/* indices.h - a set of positions as few bits: fixed width, a bitmap, or Golomb-Rice coded gaps, whichever is
 * smallest for this set. docs/format.md section 4 has the layout. */
#ifndef CODEC_INDICES_H
#define CODEC_INDICES_H

#include "tithe/frame.h"

typedef struct index_plan {
    tithe_index_coding coding;
    unsigned shift; /* Golomb: m = 2^shift or 3 * 2^shift */
    bool three;
    uint64_t bits;
} index_plan;

/* The smallest coding of `count` ascending positions below n. No position at all, or every one, takes no
 * bits. */
index_plan ti_indices_plan(const uint32_t *indices, size_t count, size_t n);

/* What no plan exceeds: the index part of len(T) in docs/design.md. */
uint64_t ti_indices_max_bits(size_t count, size_t n);

/* What plans of positions take on average that are drawn evenly: to 1 % from a dozen of them on, to 8 % of fewer. Crowded
 * ones take less. */
uint64_t ti_indices_expected_bits(size_t count, size_t n);

/* Writes plan.bits bits, padded to a byte. */
void ti_indices_write(const index_plan *plan, const uint32_t *indices, size_t count, size_t n, uint8_t *dst);

/* Reads `count` positions, strictly ascending and below n, and sets plan->bits; false for anything else. */
bool ti_indices_read(index_plan *plan, const uint8_t *src, size_t length, size_t count, size_t n,
                     uint32_t *indices);

/* The coding as one byte of the header; sets with no entry or with all of them have no such byte. */
static inline bool indices_have_coding(size_t count, size_t n)
{
    return count > 0 && count < n;
}
uint8_t ti_indices_byte(const index_plan *plan);
bool ti_indices_from_byte(uint8_t byte, index_plan *plan);

static inline uint32_t indices_golomb_m(const index_plan *plan)
{
    return plan->coding == TITHE_INDEX_GOLOMB ? (plan->three ? 3u : 1u) << plan->shift : 0;
}

#endif
