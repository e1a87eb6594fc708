/* nsga2.c - NSGA-II for one variable (deb2002nsga2), with the numbers that tyagi2023artopk takes: 40 points, 10 new ones in each of 40
 * generations, simulated binary crossover (0.9, 15) and polynomial mutation (20).
 *
 * With one variable a grid would find the same front; this is here because the paper has it, and a test holds it to the grid. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/root.h"
#include "tuner/pareto.h"

enum { POPULATION = 40, OFFSPRING = 10, GENERATIONS = 40, ALL = POPULATION + OFFSPRING };
enum { CROSSOVER_INDEX = 15, MUTATION_INDEX = 20 };
static const double CROSSOVER = 0.9;

typedef struct individual {
    pareto_point point;
    unsigned rank;   /* how many fronts lie before its own */
    double crowding; /* how far its neighbours in the front are */
} individual;

typedef struct solver {
    const pareto_problem *problem;
    individual all[ALL];
    uint64_t seed, drawn;
} solver;

/* In [0, 1). */
static double draw(solver *s)
{
    return (double)(rng_mix(s->seed + ++s->drawn * RNG_GOLDEN) >> 11) * 0x1p-53;
}

static bool dominates(const individual *a, const individual *b, unsigned objectives)
{
    bool better = false;
    for (unsigned i = 0; i < objectives; i++) {
        if (a->point.f[i] > b->point.f[i]) return false;
        better = better || a->point.f[i] < b->point.f[i];
    }
    return better;
}

/* ---- order ----------------------------------------------------------------------------------------------------- */

/* Ranks, front by front: who is dominated by nobody that has none yet. */
static void find_ranks(solver *s, size_t count)
{
    enum { NONE = ALL };
    for (size_t i = 0; i < count; i++) s->all[i].rank = NONE;
    size_t left = count;
    for (unsigned rank = 0; left > 0; rank++) {
        bool here[ALL] = {false};
        for (size_t i = 0; i < count; i++) {
            here[i] = s->all[i].rank == NONE;
            for (size_t j = 0; j < count && here[i]; j++)
                here[i] =
                    s->all[j].rank != NONE || !dominates(&s->all[j], &s->all[i], s->problem->objectives);
        }
        for (size_t i = 0; i < count; i++)
            if (here[i]) {
                s->all[i].rank = rank;
                left--;
            }
    }
}

/* Of an individual, by one objective: the distance between its neighbours in its front, as a share of the front. */
static double distance(const solver *s, size_t count, size_t at, unsigned objective)
{
    const individual *me = &s->all[at];
    const double here = me->point.f[objective];
    double below = -INFINITY, above = INFINITY, least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        const double there = s->all[i].point.f[objective];
        if (s->all[i].rank != me->rank) continue;
        least = fmin(least, there);
        most = fmax(most, there);
        if (i == at) continue;
        if (there < here || (there <= here && i < at)) below = fmax(below, there);
        if (there > here || (there >= here && i > at)) above = fmin(above, there);
    }
    return most > least ? (above - below) / (most - least) : 0;
}

static void find_crowding(solver *s, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        s->all[i].crowding = 0;
        for (unsigned o = 0; o < s->problem->objectives; o++) s->all[i].crowding += distance(s, count, i, o);
    }
}

static bool is_better(const individual *a, const individual *b)
{
    return a->rank < b->rank || (a->rank == b->rank && a->crowding > b->crowding);
}

/* By insertion: few of them are out of place. */
static void sort(solver *s, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const individual moved = s->all[i];
        size_t at = i;
        for (; at > 0 && is_better(&moved, &s->all[at - 1]); at--) s->all[at] = s->all[at - 1];
        s->all[at] = moved;
    }
}

/* ---- new ones ---------------------------------------------------------------------------------------------------- */

static void place(const solver *s, individual *who, double x)
{
    *who = (individual){.point.x = fmin(s->problem->high, fmax(s->problem->low, x))};
    s->problem->value(s->problem->context, who->point.x, who->point.f);
}

/* The better of two. */
static const individual *tournament(solver *s)
{
    const individual *a = &s->all[(size_t)(draw(s) * POPULATION)],
                     *b = &s->all[(size_t)(draw(s) * POPULATION)];
    return is_better(b, a) ? b : a;
}

/* Simulated binary crossover: one of the two children. */
static double cross(solver *s, double a, double b)
{
    const double u = draw(s), side = draw(s) < 0.5 ? -1 : 1;
    const double spread =
        u <= 0.5 ? root_of(2 * u, CROSSOVER_INDEX + 1) : 1 / root_of(2 * (1 - u), CROSSOVER_INDEX + 1);
    return draw(s) < CROSSOVER ? ((1 + side * spread) * a + (1 - side * spread) * b) / 2 : a;
}

/* Polynomial mutation. */
static double mutate(solver *s, double x)
{
    const double u = draw(s);
    const double shift =
        u < 0.5 ? root_of(2 * u, MUTATION_INDEX + 1) - 1 : 1 - root_of(2 * (1 - u), MUTATION_INDEX + 1);
    return x + shift * (s->problem->high - s->problem->low);
}

size_t ti_nsga2(const pareto_problem *problem, uint64_t seed, pareto_point *front, size_t room)
{
    solver s = {.problem = problem, .seed = rng_mix(seed)};
    for (size_t i = 0; i < POPULATION; i++) /* evenly, so that both ends are in it */
        place(&s, &s.all[i], problem->low + (problem->high - problem->low) * (double)i / (POPULATION - 1));
    find_ranks(&s, POPULATION);
    find_crowding(&s, POPULATION);
    for (unsigned g = 0; g < GENERATIONS; g++) {
        for (size_t i = POPULATION; i < ALL; i++) {
            const double a = tournament(&s)->point.x, b = tournament(&s)->point.x;
            place(&s, &s.all[i], mutate(&s, cross(&s, a, b)));
        }
        find_ranks(&s, ALL);
        find_crowding(&s, ALL);
        sort(&s, ALL);
    }
    size_t count = 0;
    for (size_t i = 0; i < POPULATION && count < room; i++)
        if (s.all[i].rank == 0) front[count++] = s.all[i].point;
    return count;
}

/* ---- one of them ------------------------------------------------------------------------------------------------- */

/* From 0 at its best in the front to 1 at its worst there, times its weight: the worst objective. */
typedef struct scale {
    unsigned objectives;
    double least[MAX_OBJECTIVES], most[MAX_OBJECTIVES];
    const double *weights;
} scale;

static scale scale_of(const pareto_point *front, size_t count, unsigned objectives, const double *weights)
{
    scale s = {.objectives = objectives, .weights = weights};
    for (unsigned o = 0; o < objectives; o++) {
        s.least[o] = INFINITY;
        s.most[o] = -INFINITY;
        for (size_t i = 0; i < count; i++) {
            s.least[o] = fmin(s.least[o], front[i].f[o]);
            s.most[o] = fmax(s.most[o], front[i].f[o]);
        }
    }
    return s;
}

static double asf(const scale *s, const double *f)
{
    double worst = 0;
    for (unsigned o = 0; o < s->objectives; o++)
        if (s->most[o] > s->least[o])
            worst = fmax(worst, s->weights[o] * (f[o] - s->least[o]) / (s->most[o] - s->least[o]));
    return worst;
}

/* Points of a front lie evenly, which is too coarse where one objective counts for little: between the neighbours of the best. */
static double refine(const pareto_problem *problem, const scale *s, const pareto_point *front, size_t count,
                     double x)
{
    enum { STEPS = 200 };
    double from = problem->low, to = problem->high, best = x, least = INFINITY;
    for (size_t i = 0; i < count; i++) {
        if (front[i].x < x) from = fmax(from, front[i].x);
        if (front[i].x > x) to = fmin(to, front[i].x);
    }
    for (unsigned i = 0; i <= STEPS; i++) {
        double f[MAX_OBJECTIVES];
        const double here = from + (to - from) * i / STEPS;
        problem->value(problem->context, here, f);
        if (asf(s, f) < least) best = here;
        least = fmin(least, asf(s, f));
    }
    return best;
}

double ti_pareto_choose(const pareto_problem *problem, uint64_t seed, const double *weights)
{
    pareto_point front[POPULATION];
    const size_t count = ti_nsga2(problem, seed, front, POPULATION);
    const scale s = scale_of(front, count, problem->objectives, weights);
    double x = problem->low, least = INFINITY;
    for (size_t i = 0; i < count; i++) {
        const double here = asf(&s, front[i].f);
        if (here < least) x = front[i].x;
        least = fmin(least, here);
    }
    return refine(problem, &s, front, count, x);
}
