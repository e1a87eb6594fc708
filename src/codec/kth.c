/* kth.c - see kth.h.
 *
 * A digit is eleven bits of the distance from the lower end of the range, so a range that was bracketed well takes one
 * pass over its numbers and two over hardly any. */
#include "codec/kth.h"

#include <string.h>

enum { DIGIT = 11, DIGITS = 1 << DIGIT, BLOCK = 1024 };

static inline uint32_t magnitude_at(const void *numbers, size_t i)
{
    uint32_t bits; /* of a float or of a number: memcpy may read either */
    memcpy(&bits, (const char *)numbers + i * sizeof bits, sizeof bits);
    return bits & KTH_MAX;
}

/* Places are found in a loop that vectorises, and counted in one that does not. Four counters for each, since equal
 * neighbours would wait for each other. Place 0 is for what lies below the range, the last one for what lies above. */
static void count_digits(const void *numbers, size_t n, uint32_t low, unsigned shift, uint32_t (*counts)[4])
{
    uint32_t place[BLOCK];
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t many = n - first < BLOCK ? n - first : BLOCK;
        for (size_t i = 0; i < many; i++) {
            const int32_t distance = (int32_t)magnitude_at(numbers, first + i) - (int32_t)low;
            const int32_t digit = distance < 0 ? -1 : distance >> shift;
            place[i] = (uint32_t)(digit > DIGITS ? DIGITS : digit) + 1;
        }
        size_t i = 0;
        for (; i + 4 <= many; i += 4) {
            counts[place[i]][0]++;
            counts[place[i + 1]][1]++;
            counts[place[i + 2]][2]++;
            counts[place[i + 3]][3]++;
        }
        for (; i < many; i++) counts[place[i]][0]++;
    }
}

void ti_kth_narrow(const void *numbers, size_t n, size_t k, kth_range *range, size_t *above, size_t *inside)
{
    uint32_t counts[DIGITS + 2][4] = {{0}};
    unsigned shift = 0;
    while ((range->high - range->low) >> shift >= DIGITS) shift++;
    count_digits(numbers, n, range->low, shift, counts);
    size_t larger = 0;
    for (uint32_t place = DIGITS + 1;; place--) {
        const uint32_t *c = counts[place];
        const size_t here = (size_t)c[0] + c[1] + c[2] + c[3];
        if (larger + here >= k || place == 1) {
            range->low += (place - 1) << shift;
            range->high = range->low + ((1u << shift) - 1);
            *above = larger;
            *inside = here;
            return;
        }
        larger += here;
    }
}

uint32_t ti_kth_largest(uint32_t *numbers, size_t *n, size_t k, kth_range range)
{
    while (range.low < range.high) {
        size_t above, inside, left = 0;
        ti_kth_narrow(numbers, *n, k, &range, &above, &inside);
        for (size_t i = 0; i < *n; i++) { /* always stored, kept only if it counts: no branch to mispredict */
            const uint32_t number = numbers[i];
            numbers[left] = number;
            left += (number & KTH_MAX) >= range.low;
        }
        *n = left;
    }
    return range.low;
}
