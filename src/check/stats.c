/* stats.c - see stats.h. */
#include "check/stats.h"

#include <math.h>

void ti_check_moments_add(check_moments *m, double value)
{
    /* The update of all four sums by one value (Pebay 2008), stable because it never squares a large mean. */
    const double before = m->count;
    m->count += 1;
    const double n = m->count;
    const double d = value - m->mean, dn = d / n, dn2 = dn * dn;
    const double term = d * dn * before;
    m->mean += dn;
    m->m4 += term * dn2 * (n * n - 3 * n + 3) + 6 * dn2 * m->m2 - 4 * dn * m->m3;
    m->m3 += term * dn * (n - 2) - 3 * dn * m->m2;
    m->m2 += term;
}

double ti_check_variance(const check_moments *m)
{
    return m->count > 1 ? m->m2 / (m->count - 1) : 0;
}

double ti_check_half_width(const check_moments *m, double alpha)
{
    if (m->count < 2 || !(m->m2 > 0)) return 0;
    const double n = m->count, z = ti_check_normal_quantile(alpha);
    const double t = z + (z * z * z + z) / (4 * (n - 1));
    const double skewness = sqrt(n) * m->m3 / pow(m->m2, 1.5);
    const double widened = t + fabs(skewness) * (2 * z * z + 1) / (6 * sqrt(n));
    return widened * sqrt(ti_check_variance(m) / n);
}

bool ti_check_has_events(const check_moments *m)
{
    /* count / kurtosis = m2^2 / m4. A sample that varies by rounding alone counts as constant. */
    if (!(m->m2 > 1e-24 * m->count * (1 + m->mean * m->mean))) return false;
    return m->m2 * m->m2 >= 150 * m->m4;
}

double ti_check_normal_quantile(double alpha)
{
    if (!(alpha < 0.5)) return 0;
    /* From the tail's leading term by Newton on log P, which is nearly a parabola: few steps do. */
    double z = sqrt(-2 * log(2 * alpha));
    for (int i = 0; i < 60; i++) {
        const double p = 0.5 * erfc(z / sqrt(2.0));
        const double density = exp(-0.5 * z * z) / sqrt(2 * 3.14159265358979323846);
        const double step = (log(p) - log(alpha)) * p / density;
        z += step;
        if (fabs(step) < 1e-12 * (1 + z)) break;
    }
    return z;
}

double ti_check_chi2_quantile(double freedom, double alpha)
{
    if (!(freedom > 0)) return 0;
    const double spread = 2 / (9 * freedom);
    const double root = 1 - spread + ti_check_normal_quantile(alpha) * sqrt(spread);
    return root > 0 ? freedom * root * root * root : 0;
}

double ti_check_log2_subsets(double n, double k)
{
    return (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) / log(2.0);
}

double ti_check_two_samples(const double *a, const double *b, size_t cells, double min, double *freedom)
{
    double total_a = 0, total_b = 0;
    for (size_t i = 0; i < cells; i++) total_a += a[i], total_b += b[i];
    if (!(total_a > 0) || !(total_b > 0)) return total_a == total_b ? 0 : INFINITY;

    /* A cell needs a + b >= need so that the smaller sample expects `least` in it. What the last pool lacks
     * goes to the pool before it, hence a pool is counted only when the next one is complete. */
    const double need = min * (total_a + total_b) / (total_a < total_b ? total_a : total_b);
    const double ka = sqrt(total_b / total_a), kb = sqrt(total_a / total_b);
    double statistic = 0, pools = 0;
    double full_a = 0, full_b = 0, open_a = 0, open_b = 0;
    for (size_t i = 0; i < cells; i++) {
        open_a += a[i], open_b += b[i];
        if (open_a + open_b < need) continue;
        if (pools > 0)
            statistic += (ka * full_a - kb * full_b) * (ka * full_a - kb * full_b) / (full_a + full_b);
        pools += 1;
        full_a = open_a, full_b = open_b, open_a = 0, open_b = 0;
    }
    full_a += open_a, full_b += open_b;
    if (pools > 0) statistic += (ka * full_a - kb * full_b) * (ka * full_a - kb * full_b) / (full_a + full_b);
    if (pools > 1) *freedom += pools - 1;
    return pools > 1 ? statistic : 0;
}
