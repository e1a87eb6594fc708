/* late.h - how much may wait under error compensation, where what is not sent is not lost but late.
 *
 * CAT takes the level that maximises kept(T)/cost(T) as if an entry that does not go were gone. Under error compensation it
 * goes later, grown meanwhile, so that one price buys a longer move. Let an entry grow by gamma g in each step, and gain
 * g x - rho x^2 / (2 gamma) when it goes at last, with rho/gamma the curvature of the loss. Gained per step, less what it costs
 * at the rate of the whole run, is most where rho x^2 / (2 gamma) is that cost. CAT's rate R counts x^2 / (2 gamma) as gained where
 * g x is, which is too much by |x| / (2 gamma |g|). So entries go as long as a share r of what CAT counts is worth what CAT's best bargain costs:
 *
 *     w   = product of 1 - kept(T)/|x|^2 over all steps so far: what still waits of the first gradient
 *     a   = mean of <g_before, u> / mean of (1 - w) gamma |g_before|^2, at most 1; u: the update that came of it, of all ranks
 *     rho = gamma <g_before - g, u> / |u|^2 / a^(1/4)
 *     r   = min(1, rho |x| / (gamma |g|))
 *     R   = max kept(T)/cost(T), at Tc           plain CAT
 *     T   = argmax over T <= Tc of r kept(T) - R cost(T), the smallest of equals
 *
 * a is what the run has gained of what gradient descent on this rank's own loss would have, over the last steps, less what a run that has just
 * begun cannot have gained yet: in the first step that is what the rank's own message promises. It falls where ranks pull
 * in different directions (sqrt(a) |g| is then the norm of the mean gradient), and where what goes has waited too long.
 *
 * There are two reins. A message keeps up with the gradient: kept(T) >= 1.5 rho |x|^2, since an entry waits for about |x|^2 / kept(T)
 * steps, and the gradient is another one after 1/rho of them. And a level changes little from step to step, down by at most a third (of
 * two, to one) and up by at most a fifth, or one: what has waited long must not go all at once, since it would be too long a step. It is a heuristic,
 * and there is no proof: curvature is measured along u and not along what waits, and the fourth root, in place of the square root of the
 * derivation, is what trials on the sets of docs/cat.md took. Without a step before this one T is CAT's.
 * docs/cat.md has what it gains. */
#ifndef TUNER_LATE_H
#define TUNER_LATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"

enum { LATE_NUMBERS = 7 };

/* Of one rank, from step to step. */
typedef struct late_memory {
    float
        *vector; /* n numbers: from look to learn the gradient, and then the last update, if that is `full` */
    /* Otherwise, as where few entries were sent, what of the update is not zero, in order: `moved` of at most `room` numbers. */
    bool full;
    uint32_t *indices;
    float *values;
    size_t moved, room, seen; /* `seen`: so many of them by the look so far */
    /* What a checkpoint holds besides: was there a step before; <g, u> and |u|^2 of it; entries of the rank's message; the means of
     * <g, u> and (1 - w) gamma |g|^2 over the last steps; and 1 - w. */
    double numbers[LATE_NUMBERS];
    double along, squares; /* of this step: <g, u> and |g|^2, */
    double energy;         /* |x|^2, */
    double expected;       /* gamma |g|^2, */
    double kept;           /* and kept(T)/|x|^2, which whoever chooses the level says */
    /* Of this step, for the members of tithe_tuner_call. */
    double lost, pace, before;
} late_memory;

bool ti_late_open(late_memory *m, size_t n); /* false: there is not enough memory */
void ti_late_close(late_memory *m);
void ti_late_forget(late_memory *m); /* as before the first step */

/* Before a level is chosen for x = e + gamma g: a look at g, part by part from position 0 on, where every part but the last is a multiple of 32
 * long. False: something in this part is not finite. Then, with |x|^2, what is to be known of all of it. */
bool ti_late_look(late_memory *m, const float *g, size_t first, size_t n);
/* The same, of whoever passes over g anyway: what `form` is to do besides for the part from `first` on, and what it has then said of
 * <memory, g> and |g|^2, where all was finite. */
void ti_late_join(const late_memory *m, size_t first, form_job *job);
void ti_late_note(late_memory *m, const float *g, size_t first, size_t n, const double sums[2]);
void ti_late_judge(late_memory *m, double gamma, double energy);
/* After the step: what came of it, and how many entries the rank had sent. */
void ti_late_learn(late_memory *m, const float *update, size_t entries, size_t n);
/* The last update, as n numbers, to read and to write between two steps. */
float *ti_late_update(late_memory *m, size_t n);

/* The levels that follow one of `before` entries: at least, and at most. */
double ti_late_min(double before);
double ti_late_max(double before);

#endif
