/* theory.h - what the theorems promise for a run. */
#ifndef LEARN_THEORY_H
#define LEARN_THEORY_H

#include "tithe/learn.h"

/* E f(averaged x_K) - f* <= 2 T_0 / (gamma W_K) + what stays, for error compensation with messages that are absolute (what is
 * kept is within |e|^2 <= gamma^2 Delta^2) or contractive, and a constant gamma that is small enough. docs/theory.md
 * derives it. */
typedef struct theory {
    bool holds;
    double gamma, eta;
    double start;   /* 2 T_0 / gamma */
    double floor;   /* the terms that stay */
    double longest; /* the largest gamma for which this is promised */
} theory;

/* All constants with the l2 of the penalty, mu, counted in. */
typedef struct theory_problem {
    tithe_unified unified;
    double L, mu, script_L;
    double L_worker;      /* no f_i is less smooth */
    double zeta;          /* zeta*^2 */
    double workers;       /* n */
    double distance, gap; /* |x_0 - x*|^2, and of the losses there */
} theory_problem;

/* What a message leaves: E|C(x) - x|^2 <= (1 - delta)|x|^2 + Delta^2, of which one is nothing. */
typedef struct theory_kept {
    double delta, Delta;
} theory_kept;

theory ti_theory_make(const theory_problem *p, const theory_kept *kept, double gamma);
/* The bound after `steps` steps; NAN where nothing is promised. */
double ti_theory_bound(const theory *t, double steps);

/* Predicted factor of steps for compression both ways (horvath2022natural): sigma is the variance of a worker's gradient,
 * epsilon the accuracy that is asked for (0: as fine as you like, and then sigma matters only if it is 0). */
double ti_theory_slowdown(double omega_up, double omega_down, double sigma, double n, double epsilon);

#endif
