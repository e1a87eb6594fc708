/* theory.c - the bounds that a report draws beside what was measured. */
#include "learn/theory.h"

#include <math.h>

/* The coefficients of 1 - p gamma - q gamma^2 >= 0, which the step size has to fulfil. */
static double longest_step(double p, double q)
{
    return 2 / (p + sqrt(p * p + 4 * q));
}

theory ti_theory_make(const theory_problem *p, const theory_kept *kept, double gamma)
{
    const tithe_unified *u = &p->unified;
    const double n = p->workers, L = p->L, lost = 1 - kept->delta;
    /* what a worker's own message is driven by: E' <= (1 - delta/2) E + gamma^2 (a (f - f*) + b s + d) */
    const bool drifts = lost > 0;
    const double grown = drifts ? 1 + 2 / kept->delta : 0;
    const double a = drifts ? lost * (4 * p->L_worker * grown + 2 * n * (u->A - L)) : 0;
    const double b = drifts ? lost * n * u->B : 0;
    const double d = drifts ? lost * (2 * p->zeta * grown + n * u->D1) : 0;
    const double h = drifts ? 12 * L * gamma / kept->delta : 0; /* weight of E in T */
    const double per_s = 4 / (3 * u->rho), F = u->B + h * b > 0 ? per_s * (u->B + h * b) : 0;
    /* sigma_0 of loopless SVRG, whose anchor starts at x_0, is at most 2 scriptL (f(x_0) - f*) */
    const double T0 = p->distance + (F > 0 ? F * gamma * gamma * 2 * p->script_L * p->gap : 0);
    theory t = {.gamma = gamma, .eta = fmin(gamma * p->mu / 2, u->rho / 4)};
    if (drifts) t.eta = fmin(t.eta, kept->delta / 4);
    t.start = 2 * T0 / gamma;
    t.floor = 2 * gamma * (u->D1 + F * u->D2 + h * d) + 6 * L * gamma * gamma * kept->Delta * kept->Delta;
    t.longest = longest_step(4 * (u->A + u->C * (u->B > 0 ? per_s * u->B : 0)),
                             drifts ? 48 * L / kept->delta * (u->C * (b > 0 ? per_s * b : 0) + a / 2) : 0);
    t.holds = gamma <= t.longest * (1 + 1e-12) && isfinite(t.start) && isfinite(t.floor) && p->mu > 0;
    return t;
}

double ti_theory_bound(const theory *t, double steps)
{
    if (!t->holds || steps < 1) return NAN;
    /* W_K = sum over k < steps of (1-eta)^-(k+1), by its closed form */
    const double growth = -log1p(-t->eta);
    const double W = t->eta > 0 ? expm1(growth * steps) / t->eta : steps;
    return t->start / W + t->floor;
}

double ti_theory_slowdown(double omega_up, double omega_down, double sigma, double n, double epsilon)
{
    const double noise = sigma / n;
    if (!(epsilon > 0))
        return (omega_down + 1) * (noise == 0 ? 1 + omega_up / n : 1 + omega_up); /* any noise counts */
    return (omega_down + 1) * ((omega_up + 1) * noise + (1 + omega_up / n) * epsilon) / (noise + epsilon);
}
