/* check.h - measure what a codec claims.
 *
 * Every claim is tested on Gaussian, heavy-tailed, sparse and adversarial vectors. Statistical claims hold
 * when they lie inside their interval of confidence; a true claim is called false less than once in 10^6
 * rows. In libtithe_measure (pkg-config: tithe_measure; CMake: tithe::measure). */
#ifndef TITHE_CHECK_H
#define TITHE_CHECK_H

#include "tithe/codec.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tithe_check_row {
    const char *spec;
    const char *claim; /* such as "unbiased", "second moment", "contraction" */
    double bound;
    double measured;
    bool holds;       /* measured <= bound, or inside the interval that detail states */
    char detail[160]; /* on which vector, how many trials, which confidence */
} tithe_check_row;

/* Rows come one by one; return false to stop. */
typedef bool (*tithe_check_report)(void *context, const tithe_check_row *row);

TITHE_API tithe_status tithe_check_codec(const tithe_codec *codec, uint64_t seed, tithe_check_report report,
                                         void *context);

/* Facts about the family rather than one pair: D_nat(s) against C_nat after D_sta(2^(s-1)), and the 9/8 that
 * natural compression attains at mantissa 1/3. */
TITHE_API tithe_status tithe_check_identities(uint64_t seed, tithe_check_report report, void *context);

#ifdef __cplusplus
}
#endif
#endif
