/* theory.c - the bounds that a report draws beside what was measured. */
#include "learn/theory.h"

#include <math.h>

theory ti_theory_make(const tithe_unified *u, double L, double mu, double script_L, double gamma,
                      double Delta, double distance, double gap)
{
    const double F = u->B > 0 ? 4 * u->B / (3 * u->rho) : 0;
    const double max = 1 / (4 * (u->A + u->C * F));
    /* sigma_0 of loopless SVRG, whose anchor starts at x_0, is at most 2 scriptL (f(x_0) - f*) */
    const double T0 = distance + (F > 0 ? F * gamma * gamma * 2 * script_L * gap : 0);
    theory t = {.gamma = gamma, .eta = fmin(gamma * mu / 2, u->rho / 4)};
    t.start = 2 * T0 / gamma;
    t.floor = 2 * gamma * (u->D1 + F * u->D2) + 6 * L * gamma * gamma * Delta * Delta;
    t.holds = gamma <= max * (1 + 1e-12) && isfinite(t.start) && isfinite(t.floor) && mu > 0;
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
