/* stats.h - means with honest intervals.
 *
 * The claims are tested at a confidence (one false alarm in 10^7 rows, split among all comparisons of a row)
 * where the plain "mean +- z sigma/sqrt(N)" is only right for nearly normal samples. So the interval is
 * widened by what the sample's own skewness does to a t-statistic, and samples that hang on a few rare events
 * are recognised. */
#ifndef CHECK_STATS_H
#define CHECK_STATS_H

#include <stdbool.h>
#include <stddef.h>

/* Budget of false alarms per row: a tenth of what check.h promises, for the parts that are approximations. */
#define CHECK_ALPHA 1e-7

/* Count, mean, and the sums of the second, third and fourth power of the distance from the mean. */
typedef struct check_moments {
    double count, mean, m2, m3, m4;
} check_moments;

void ti_check_moments_add(check_moments *m, double value);
double ti_check_variance(const check_moments *m);

/* Half the width of the interval around the mean: sigma/sqrt(N) times a quantile of Student's t, widened by
 * |skewness| (2 z^2 + 1) / (6 sqrt(N)), the first term of the expansion of a t-statistic's quantile. `alpha`
 * is the chance of an error on one side. */
double ti_check_half_width(const check_moments *m, double alpha);

/* Is the sample worth an interval of its own? count / kurtosis is about the number of rare events in a sample
 * that consists of rare events; below 150 the formula above is not to be trusted. A constant sample gives
 * false. */
bool ti_check_has_events(const check_moments *m);

/* z with P(Z > z) = alpha, for 1e-300 < alpha <= 1/2. */
double ti_check_normal_quantile(double alpha);

/* c with P(chi^2 > c) = alpha, by Wilson and Hilferty: (chi^2/k)^(1/3) is nearly normal. For few degrees of
 * freedom and small alpha it errs on the wide side. */
double ti_check_chi2_quantile(double freedom, double alpha);

/* log2 of the number of subsets with k of n elements: the entropy of a uniform random index set. */
double ti_check_log2_subsets(double n, double k);

/* Two samples of counts over the same cells: sum over cells of (sqrt(B/A) a - sqrt(A/B) b)^2 / (a + b). Cells
 * in which fewer than `least` are expected in either sample are pooled with their neighbours. Adds to
 * *freedom. */
double ti_check_two_samples(const double *a, const double *b, size_t cells, double min, double *freedom);

#endif
