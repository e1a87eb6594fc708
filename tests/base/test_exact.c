/* test_exact.c - functions that are the same bits on every machine, beside those of libm, which are not. */
#include <math.h>

#include "base/ln.h"
#include "base/root.h"
#include "support.h"

static void logarithms(void **state)
{
    (void)state;
    for (int i = -2000; i < 2000; i++) {
        const double x = pow(1.4, i), here = ln_of(x), there = log(x);
        expect(fabs(here - there) <= 1e-15 * fmax(1, fabs(there)), "ln %g is %.17g, not %.17g", x, here,
               there);
    }
    for (int i = 500; i < 2000; i++) {
        const double x = 1e-3 * i, here = ln_of(x), there = log(x);
        expect(fabs(here - there) <= 4e-16, "ln %g is %.17g, not %.17g", x, here, there);
    }
    assert_true(ln_of(1) == 0);
}

static void roots(void **state)
{
    (void)state;
    for (unsigned n = 1; n < 20; n++)
        for (int i = 0; i < 30; i++) {
            const double x = 0.1 * pow(1.26, i), here = root_of(x, n), there = pow(x, 1.0 / n);
            expect(fabs(here - there) <= 1e-14 * there, "%g^(1/%u) is %.17g, not %.17g", x, n, here, there);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(logarithms), cmocka_unit_test(roots)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
