/* test_exact.c - functions that are the same bits on every machine, beside those of libm, which are not. */
#include <math.h>

#include "base/ln.h"
#include "base/root.h"
#include "support.h"

static void logarithms(void **state)
{
    (void)state;
    for (double x = 1e-300; x < 1e300; x *= 1.37) {
        const double here = ln_of(x), there = log(x);
        expect(fabs(here - there) <= 1e-15 * fmax(1, fabs(there)), "ln %g is %.17g, not %.17g", x, here,
               there);
    }
    for (double x = 0.5; x < 2; x += 1e-3) {
        const double here = ln_of(x), there = log(x);
        expect(fabs(here - there) <= 4e-16, "ln %g is %.17g, not %.17g", x, here, there);
    }
    assert_true(ln_of(1) == 0);
}

static void roots(void **state)
{
    (void)state;
    for (unsigned n = 1; n < 20; n++)
        for (double x = 0.1; x < 100; x *= 1.3) {
            const double here = root_of(x, n), there = pow(x, 1.0 / n);
            expect(fabs(here - there) <= 1e-14 * there, "%g^(1/%u) is %.17g, not %.17g", x, n, here, there);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(logarithms), cmocka_unit_test(roots)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
