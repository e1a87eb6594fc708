/* theory.h - what the theorems promise for a run. */
#ifndef LEARN_THEORY_H
#define LEARN_THEORY_H

#include "tithe/learn.h"

/* E f(averaged x_K) - f* <= 2 T_0 / (gamma W_K) + 2 gamma (D1 + F D2) + 6 L gamma^2 Delta^2, for a constant gamma of
 * at most 1 / (4 (A + C F)), F = 4B / (3 rho), and what is kept within |e|^2 <= gamma^2 Delta^2. docs/theory.md
 * derives it. */
typedef struct theory {
    bool holds;
    double gamma, eta;
    double start; /* 2 T_0 / gamma */
    double floor; /* the two terms that stay */
} theory;

/* mu is the l2 of the penalty, L counts it in; distance is |x_0 - x*|^2, gap that of x_0. */
theory ti_theory_make(const tithe_unified *u, double L, double mu, double script_L, double gamma,
                      double Delta, double distance, double gap);
/* The bound after `steps` steps; NAN where nothing is promised. */
double ti_theory_bound(const theory *t, double steps);

/* Predicted factor of steps for compression both ways (horvath2022natural): sigma is the variance of a worker's gradient,
 * epsilon the accuracy that is asked for (0: as fine as you like, and then sigma matters only if it is 0). */
double ti_theory_slowdown(double omega_up, double omega_down, double sigma, double n, double epsilon);

#endif
