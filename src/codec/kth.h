/* kth.h - the k-th largest of many magnitudes, by counting digits. Magnitudes are the lower 31 bits of floats, which
 * compare as integers do. */
#ifndef CODEC_KTH_H
#define CODEC_KTH_H

#include <stddef.h>
#include <stdint.h>

#define KTH_MAX 0x7fffffffu /* no magnitude is larger */

typedef struct kth_range {
    uint32_t low, high; /* both included */
} kth_range;

/* Of n numbers, the k-th largest magnitude lies in *range, which becomes about 2000 times narrower, or one value.
 * Afterwards *above magnitudes are larger than those in it, and *inside are in it. One pass. */
void ti_kth_narrow(const void *numbers, size_t n, size_t k, kth_range *range, size_t *above, size_t *inside);

/* The k-th largest of *n magnitudes, which lies in `range`. Those that are smaller go; *n says how many are left. */
uint32_t ti_kth_largest(uint32_t *numbers, size_t *n, size_t k, kth_range range);

#endif
