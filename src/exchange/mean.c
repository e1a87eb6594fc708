/* mean.c - for a host whose gradients are added by somebody else, such as the all-reduce of a process group: the sum becomes the mean, and
 * what is not finite is found in the same pass. */
#include "base/status.h"
#include "kernels/kernels.h"
#include "tithe/exchange.h"

enum { BLOCK = 1 << 12 }; /* stays in the nearest cache between the two looks at it */

tithe_status tithe_mean(float *sum, size_t n, unsigned ranks, tithe_error *error)
{
    if (!ranks) return ti_fail(error, TITHE_E_ARGUMENT, 0, "A mean is of at least one rank.");
    const float factor = 1 / (float)ranks;
    size_t bad = n;
    for (size_t first = 0; first < n; first += BLOCK) {
        float *x = sum + first;
        const size_t length = n - first < BLOCK ? n - first : BLOCK;
        for (size_t i = 0; i < length; i++) x[i] *= factor;
        if (bad == n) {
            const size_t found = ti_kernels()->find_nonfinite(x, length);
            if (found < length) bad = first + found;
        }
    }
    return bad == n
               ? TITHE_OK
               : ti_fail(error, TITHE_E_NONFINITE, bad, "The mean holds %g at %zu.", (double)sum[bad], bad);
}
